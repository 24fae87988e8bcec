//! Compressed traces, which the libraries of their formats unpack.

use super::input::BUFFER_BYTES;
use super::packing::Packing;
use std::io::{self, BufRead, BufReader};

/// The largest accepted zstd window, log2 of bytes: 128 MiB, which the zstd tool itself accepts by default. The window
/// is the only memory that a frame's header can make the decoder allocate.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// The most memory that an xz header can make the decoder allocate: `xz -9` needs 65 MiB.
const XZ_MEMORY_MAX: u64 = 128 << 20;

/// `input` itself, or its decompressed contents if it begins like compressed data.
pub(super) fn decompressed(mut input: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    // The buffer may hold fewer bytes than a magic number (files and bytes in memory have them all); such input is read
    // as it is.
    let Some(packing) = Packing::of(input.fill_buf()?) else { return Ok(Box::new(input)) };
    Ok(match packing {
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            buffered(decoder)
        }
        Packing::Gzip => buffered(flate2::bufread::MultiGzDecoder::new(input)),
        Packing::Xz => {
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_MAX, liblzma::stream::CONCATENATED);
            buffered(liblzma::bufread::XzDecoder::new_stream(input, stream.map_err(io::Error::from)?))
        }
        Packing::Bzip2 => buffered(bzip2::bufread::MultiBzDecoder::new(input)),
    })
}

fn buffered(decoder: impl io::Read + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
}

//! How a file is compressed, by its first bytes.

/// The first bytes of a zstd frame (RFC 8878 section 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The first bytes of a gzip member (RFC 1952 section 2.3.1), with the only method that exists.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];
/// The first bytes of an xz stream (xz file format 1.2.1, section 2.1.1.1).
const XZ_MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0x00];
/// The first bytes of a bzip2 stream, which the size of its blocks follows: a digit from 1 to 9, in 100,000 bytes. The
/// decoder allocates 4 bytes for each byte of a block.
const BZIP2_MAGIC: [u8; 3] = *b"BZh";

/// How a file is compressed.
pub enum Packing {
    Zstd,
    Gzip,
    Xz,
    Bzip2,
}

impl Packing {
    /// That of a file that begins with `head`; `None` if it is read as it is.
    pub fn of(head: &[u8]) -> Option<Self> {
        let block = head.strip_prefix(&BZIP2_MAGIC).and_then(|size| size.first());
        match head {
            _ if head.starts_with(&ZSTD_MAGIC) => Some(Packing::Zstd),
            _ if head.starts_with(&GZIP_MAGIC) => Some(Packing::Gzip),
            _ if head.starts_with(&XZ_MAGIC) => Some(Packing::Xz),
            _ if block.is_some_and(|size| matches!(size, b'1'..=b'9')) => Some(Packing::Bzip2),
            _ => None,
        }
    }
}

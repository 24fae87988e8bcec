//! Copies of files that may be large and mostly empty: by reference if the file system can, otherwise without the
//! holes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Number of bytes copied at a time.
const PIECE: usize = 1 << 20;

/// Copies `from` to the empty file `to`. `shares` says whether to ask the file system to share blocks, and becomes
/// false when it cannot.
pub fn copy(from: &File, to: &File, shares: &mut bool) -> io::Result<()> {
    if *shares {
        if share(from, to).is_ok() {
            return Ok(());
        }
        *shares = false;
    }
    copy_data(from, to)
}

#[cfg(target_os = "linux")]
fn share(from: &File, to: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

#[cfg(not(target_os = "linux"))]
fn share(_from: &File, _to: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Copies everything except the holes of `from` to the empty file `to`.
pub fn copy_data(from: &File, to: &File) -> io::Result<()> {
    let length = from.metadata()?.len();
    to.set_len(length)?;
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    while let Some((start, end)) = next_data(from, at, length)? {
        at = start;
        while at < end {
            let count = buffer.len().min((end - at) as usize);
            let piece = &mut buffer[..count];
            from.read_exact_at(piece, at)?;
            to.write_all_at(piece, at)?;
            at += count as u64;
        }
    }
    Ok(())
}

/// Whether two files are equal, if the shorter one goes on with zeros.
pub fn same(one: &File, other: &File) -> io::Result<bool> {
    // What is a hole in both is equal.
    Ok(has_data_of(one, other)? && has_data_of(other, one)?)
}

/// Whether `other` has all of `one` that is no hole.
fn has_data_of(one: &File, other: &File) -> io::Result<bool> {
    let length = one.metadata()?.len();
    let (mut piece, mut compared) = (vec![0; PIECE], vec![0; PIECE]);
    let mut at = 0;
    while let Some((start, end)) = next_data(one, at, length)? {
        at = start;
        while at < end {
            let count = PIECE.min((end - at) as usize);
            one.read_exact_at(&mut piece[..count], at)?;
            read_with_zeros(other, &mut compared[..count], at)?;
            if piece[..count] != compared[..count] {
                return Ok(false);
            }
            at += count as u64;
        }
    }
    Ok(true)
}

/// Reads from `file`, and zeros beyond its end.
pub fn read_with_zeros(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    let length = file.metadata()?.len().saturating_sub(at).min(bytes.len() as u64) as usize;
    file.read_exact_at(&mut bytes[..length], at)?;
    bytes[length..].fill(0);
    Ok(())
}

/// The next part of `file` at or after `at` that is not a hole; all of it if the file system does not report holes.
fn next_data(file: &File, at: u64, length: u64) -> io::Result<Option<(u64, u64)>> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;
    if at >= length {
        return Ok(None);
    }
    let start = match seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL) => return Ok(Some((at, length))),
        Err(error) => return Err(error.into()),
    };
    let end = seek(file, SeekFrom::Hole(start))?;
    Ok(Some((start, end.min(length))))
}

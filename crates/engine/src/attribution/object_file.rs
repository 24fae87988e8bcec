//! Reads from an object file (ELF) what it says about its code: source lines with inlined functions (DWARF), and
//! symbols.
//!
//! A recording names the files; they may be missing, differ from those that ran, or be malicious. Unreadable
//! information is ignored. Files are read, not mapped, so that nobody can truncate them during the read. Debug
//! information may be nested arbitrarily deep and is walked recursively, so a thread with a large stack reads it.

use super::found::{Found, SourceLine};
use addr2line::Context;
use addr2line::gimli::{DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use object::{CompressedData, CompressionFormat, Object, ObjectSection, ObjectSegment};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The largest object file that is read, in bytes, and the largest size of its unpacked debug information: far above
/// that of real programs.
const BYTES_MAX: u64 = 1 << 30;
/// Stack of the thread that reads debug information, in bytes; only address space until it is used.
const STACK_BYTES: usize = 256 << 20;
/// Most frames that are taken from one address: deeper inlining is unlikely.
const INLINED_MAX: usize = 64;
/// Where distributions keep debug information by build id.
const DEBUG_FOLDER: &str = "/usr/lib/debug/.build-id";

/// What the object file at `path` says about the code at each of the byte `offsets` in the file.
pub(super) fn find(path: &[u8], offsets: &[u64]) -> Vec<Found> {
    let nothing = || vec![Found::default(); offsets.len()];
    if offsets.is_empty() {
        return nothing();
    }
    std::thread::scope(|scope| {
        let look = || read(Path::new(OsStr::from_bytes(path))).and_then(|bytes| look_up(&bytes, offsets));
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, look);
        let found = thread.ok().and_then(|thread| thread.join().ok()?);
        found.unwrap_or_else(nothing)
    })
}

/// The contents of a regular file.
fn read(path: &Path) -> Option<Vec<u8>> {
    if !path.is_absolute() || !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= BYTES_MAX).then_some(bytes)
}

pub(super) fn look_up(bytes: &[u8], offsets: &[u64]) -> Option<Vec<Found>> {
    let object = object::File::parse(bytes).ok()?;
    let symbols = object.symbol_map();
    let mut found: Vec<Found> = Vec::with_capacity(offsets.len());
    let addresses: Vec<Option<u64>> = offsets.iter().map(|&offset| address_of(&object, offset)).collect();
    for address in &addresses {
        let symbol = address.and_then(|address| {
            let symbol = symbols.containing(address)?;
            Some((demangled(symbol.name()), address.checked_sub(symbol.address())?))
        });
        found.push(Found { sources: Vec::new(), symbol });
    }
    let separate = if has_lines(&object) { None } else { separate(&object) };
    let separate = separate.as_deref().and_then(|bytes| object::File::parse(bytes).ok());
    add_lines(separate.as_ref().unwrap_or(&object), &addresses, &mut found);
    Some(found)
}

/// The address in the object's memory of byte `offset` of the file.
fn address_of(object: &object::File<'_>, offset: u64) -> Option<u64> {
    object.segments().find_map(|segment| {
        let (start, length) = segment.file_range();
        let behind = offset.checked_sub(start).filter(|&behind| behind < length)?;
        segment.address().checked_add(behind)
    })
}

fn has_lines(object: &object::File<'_>) -> bool {
    object.section_by_name(SectionId::DebugLine.name()).is_some()
}

/// The separate debug information of the distribution.
fn separate(object: &object::File<'_>) -> Option<Vec<u8>> {
    let id = object.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let folder = PathBuf::from(DEBUG_FOLDER).join(hex(&[*first]));
    read(&folder.join(format!("{}.debug", hex(rest))))
}

/// A section, unpacked if that takes at most `left` bytes, which it then reduces.
fn section<'a>(object: &object::File<'a>, id: SectionId, left: &mut u64) -> Cow<'a, [u8]> {
    let data = object.section_by_name(id.name()).and_then(|section| section.compressed_data().ok());
    let Some((data, rest)) = data.and_then(|data| Some((data, left.checked_sub(data.uncompressed_size)?))) else {
        return Cow::default();
    };
    *left = rest;
    unpacked(data).unwrap_or_default()
}

/// The contents of a section, if they are as long as its header says.
pub(super) fn unpacked(data: CompressedData<'_>) -> Option<Cow<'_, [u8]>> {
    let packed: Box<dyn Read> = match data.format {
        CompressionFormat::None => return Some(Cow::Borrowed(data.data)),
        CompressionFormat::Zlib => Box::new(flate2::read::ZlibDecoder::new(data.data)),
        CompressionFormat::Zstandard => Box::new(zstd::Decoder::with_buffer(data.data).ok()?),
        _ => return None,
    };
    let mut bytes = Vec::new();
    packed.take(data.uncompressed_size.checked_add(1)?).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == data.uncompressed_size).then_some(Cow::Owned(bytes))
}

/// Adds the source lines of `addresses` to `found`.
fn add_lines(object: &object::File<'_>, addresses: &[Option<u64>], found: &mut [Found]) {
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let mut left = BYTES_MAX;
    let Ok(sections) = DwarfSections::load(|id| Ok::<_, std::convert::Infallible>(section(object, id, &mut left)));
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let Ok(context) = Context::from_dwarf(dwarf) else { return };
    for (address, found) in addresses.iter().zip(found) {
        let Some(address) = *address else { continue };
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { continue };
        while let Ok(Some(frame)) = frames.next()
            && found.sources.len() < INLINED_MAX
        {
            let Some((file, line)) = frame.location.and_then(|at| at.file.zip(at.line)) else { continue };
            let function = frame.function.as_ref().and_then(|function| function.demangle().ok()).map(Cow::into_owned);
            found.sources.push(SourceLine { file: file.to_owned(), line, function });
        }
    }
}

fn demangled(symbol: &str) -> String {
    addr2line::demangle_auto(Cow::Borrowed(symbol), None).into_owned()
}

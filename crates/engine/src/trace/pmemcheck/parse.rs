//! Parses one record of a pmemcheck store log. Numbers are written as `0x` and lower-case hexadecimal digits.

use super::super::recording::Expected;
use super::stack;

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    /// The program stored the low `size` bytes (1 to 8) of `value`, little-endian, at `address`. Wider stores are
    /// several records. `stack`: the text of its stack, empty if there is none.
    Store { address: u64, value: u64, size: u8, stack: &'a [u8] },
    /// The program flushed the cache lines of `[address, address + size)`.
    Flush { address: u64, size: u64 },
    /// The program executed a store fence.
    Fence,
    /// `size` bytes from `offset` of the file `path` are mapped at `base`.
    RegisterFile { path: &'a [u8], base: u64, size: u64, offset: u64 },
    /// The program requested `[address, address + length)` in the most reliable persistence domain.
    DeepSync { address: u64, length: u64 },
    /// A function of the library begins or ends.
    Marker { name: &'a [u8], edge: Edge },
}

/// The end of a marked function that is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    Begin,
    End,
}

const STORE: Expected = Expected("STORE;0xaddress;0xvalue;0xsize with 1 to 8 bytes and a value that fits in them");
const STACK: Expected =
    Expected("STORE;0xaddress;0xvalue;0xsize and its stack, in which each frame is like ;0x401A3F: main (list.c:44)");
const FLUSH: Expected = Expected("FLUSH;0xaddress;0xsize");
const REGISTER_FILE: Expected = Expected("REGISTER_FILE;path;0xbase;0xsize;0xoffset");
const DEEP_SYNC: Expected = Expected("DEEP_SYNC;0xaddress;0xlength");
const ANY: Expected =
    Expected("STORE, FLUSH, FENCE, REGISTER_FILE, DEEP_SYNC, STOP, or a marker that ends in .BEGIN or .END");

/// Parses `text`, one record without its bars. `glued`: a Valgrind message may follow the record without a separator;
/// otherwise nothing may follow.
pub fn parse(text: &[u8], glued: bool) -> Result<Record<'_>, Expected> {
    let (record, rest) = if let Some(fields) = text.strip_prefix(b"STORE;") {
        store(fields, glued)?
    } else if let Some(fields) = text.strip_prefix(b"FLUSH;") {
        let ([address, size], rest) = numbers(fields).ok_or(FLUSH)?;
        (Record::Flush { address, size }, rest)
    } else if let Some(fields) = text.strip_prefix(b"REGISTER_FILE;") {
        register_file(fields).ok_or(REGISTER_FILE)?
    } else if let Some(fields) = text.strip_prefix(b"DEEP_SYNC;") {
        let ([address, length], rest) = numbers(fields).ok_or(DEEP_SYNC)?;
        (Record::DeepSync { address, length }, rest)
    } else if let Some((name, edge, rest)) = marker(text, glued) {
        (Record::Marker { name, edge }, rest)
    } else if let Some(rest) = text.strip_prefix(b"FENCE") {
        (Record::Fence, rest)
    } else {
        return Err(ANY);
    };
    if rest.is_empty() || glued {
        return Ok(record);
    }
    Err(match record {
        Record::Store { .. } => STORE,
        Record::Flush { .. } => FLUSH,
        Record::RegisterFile { .. } => REGISTER_FILE,
        Record::DeepSync { .. } => DEEP_SYNC,
        Record::Fence | Record::Marker { .. } => ANY,
    })
}

fn store(fields: &[u8], glued: bool) -> Result<(Record<'_>, &[u8]), Expected> {
    let ([address, value, size], rest) = numbers(fields).ok_or(STORE)?;
    let fits = match size {
        8 => true,
        1..=7 => value >> (8 * size) == 0,
        _ => false,
    };
    if !fits {
        return Err(STORE);
    }
    let (stack, rest) = if rest.starts_with(b";") { stack::split(rest, glued).ok_or(STACK)? } else { (&[][..], rest) };
    Ok((Record::Store { address, value, size: size as u8, stack }, rest))
}

/// A path may contain any byte except the bar, so it ends where three numbers follow.
fn register_file(fields: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let mut from = 0;
    while let Some(length) = fields[from..].iter().position(|&byte| byte == b';') {
        let end = from + length;
        if end > 0
            && let Some(([base, size, offset], rest)) = numbers(&fields[end + 1..])
        {
            return Some((Record::RegisterFile { path: &fields[..end], base, size, offset }, rest));
        }
        from = end + 1;
    }
    None
}

/// Parses `name.BEGIN` or `name.END`; the name is visible ASCII without semicolons. With a message glued on, the first
/// such ending counts; otherwise the record ends with it.
fn marker(text: &[u8], glued: bool) -> Option<(&[u8], Edge, &[u8])> {
    let at = |position: usize| -> Option<(&[u8], Edge, &[u8])> {
        let (name, tail) = text.split_at(position);
        if let Some(rest) = tail.strip_prefix(b".BEGIN") {
            return Some((name, Edge::Begin, rest));
        }
        tail.strip_prefix(b".END").map(|rest| (name, Edge::End, rest))
    };
    let found = if glued {
        (1..text.len()).find_map(at)
    } else {
        let dot = text.iter().rposition(|&byte| byte == b'.')?;
        at(dot)
    };
    found.filter(|(name, ..)| !name.is_empty() && name.iter().all(|&byte| byte.is_ascii_graphic() && byte != b';'))
}

/// Parses `N` numbers with semicolons between them; returns also what follows the last one.
fn numbers<const N: usize>(mut text: &[u8]) -> Option<([u64; N], &[u8])> {
    let mut values = [0; N];
    for (index, value) in values.iter_mut().enumerate() {
        if index > 0 {
            text = text.strip_prefix(b";")?;
        }
        (*value, text) = number(text)?;
    }
    Some((values, text))
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.strip_prefix(b"0x")?;
    let mut value: u64 = 0;
    let mut length = 0;
    for &byte in digits {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => break,
        };
        value = value << 4 | u64::from(digit);
        length += 1;
        if length > 16 {
            return None;
        }
    }
    (length > 0).then_some((value, &digits[length..]))
}

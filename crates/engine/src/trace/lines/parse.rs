//! Parses one text line of a line trace.

use super::super::recording::Expected;
use super::{LineAccess, LineFormat};
use crate::message::LineBytes;

const NVMAIN: Expected = Expected("cycle R|W address [data [thread]] with the address in hexadecimal");
const NVMAIN_DATA: Expected = Expected("data of 1 to 128 hexadecimal digits");
const DRAMSIM3: Expected = Expected("address READ|WRITE cycle with the address in hexadecimal");
const RAMULATOR: Expected = Expected("LD|ST address or R|W address, in decimal or with 0x in hexadecimal");
const RAMULATOR_VECTOR: Expected =
    Expected("one address: an address vector (channel,rank,...) says nothing of addresses on another device");

/// The most fields of a line.
const FIELDS_MAX: usize = 6;

pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// The version in a first line of NVMain.
pub(super) fn nvmain_version(line: &[u8]) -> Option<u64> {
    decimal(line.strip_prefix(b"NVMV")?.trim_ascii_end())
}

/// The access in `line`. `old_data`: NVMain's second version, which has the replaced data before the thread.
pub(super) fn access(format: LineFormat, old_data: bool, line: &[u8]) -> Result<LineAccess, Expected> {
    let mut fields: [&[u8]; FIELDS_MAX] = [&[]; FIELDS_MAX];
    let mut count = 0;
    for field in line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()) {
        if count == FIELDS_MAX {
            count += 1;
            break;
        }
        fields[count] = field;
        count += 1;
    }
    match format {
        LineFormat::Nvmain => nvmain(&fields, count, old_data),
        LineFormat::Dramsim3 => dramsim3(&fields, count),
        LineFormat::Ramulator => ramulator(&fields, count),
    }
}

fn nvmain(fields: &[&[u8]; FIELDS_MAX], count: usize, old_data: bool) -> Result<LineAccess, Expected> {
    if !(3..=5 + usize::from(old_data)).contains(&count) {
        return Err(NVMAIN);
    }
    let write = match fields[1] {
        b"R" => false,
        b"W" => true,
        _ => return Err(NVMAIN),
    };
    let bytes = if count > 3 { data(fields[3]).ok_or(NVMAIN_DATA)? } else { None };
    Ok(LineAccess {
        cycle: Some(decimal(fields[0]).ok_or(NVMAIN)?),
        write,
        address: hexadecimal(fields[2]).ok_or(NVMAIN)?,
        bytes: bytes.filter(|_| write),
    })
}

fn dramsim3(fields: &[&[u8]; FIELDS_MAX], count: usize) -> Result<LineAccess, Expected> {
    let write = match fields[1] {
        _ if count != 3 => return Err(DRAMSIM3),
        b"READ" | b"read" | b"P_MEM_RD" | b"P_FETCH" => false,
        // DRAMsim3 treats these four as writes.
        b"WRITE" | b"write" | b"P_MEM_WR" | b"BOFF" => true,
        _ => return Err(DRAMSIM3),
    };
    let (address, cycle) = hexadecimal(fields[0]).zip(decimal(fields[2])).ok_or(DRAMSIM3)?;
    Ok(LineAccess { cycle: Some(cycle), write, address, bytes: None })
}

fn ramulator(fields: &[&[u8]; FIELDS_MAX], count: usize) -> Result<LineAccess, Expected> {
    if count != 2 {
        return Err(RAMULATOR);
    }
    let (write, address) = match (fields[0], fields[1]) {
        (b"LD" | b"R", address) | (address, b"R") => (false, address),
        (b"ST" | b"W", address) | (address, b"W") => (true, address),
        _ => return Err(RAMULATOR),
    };
    if address.contains(&b',') {
        return Err(RAMULATOR_VECTOR);
    }
    let prefixed = address.starts_with(b"0x") || address.starts_with(b"0X");
    let address = if prefixed { hexadecimal(address) } else { decimal(address) };
    Ok(LineAccess { cycle: None, write, address: address.ok_or(RAMULATOR)?, bytes: None })
}

fn decimal(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if digits { std::str::from_utf8(text).ok()?.parse().ok() } else { None }
}

/// A hexadecimal number, with or without `0x`.
fn hexadecimal(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit);
    if digits { u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok() } else { None }
}

/// The bytes of a line in hexadecimal: all 64, the lowest address first; or fewer digits, a number whose lowest byte
/// has the lowest address. `Some(None)`: zero in fewer digits, which means that the data was not recorded.
fn data(text: &[u8]) -> Option<Option<LineBytes>> {
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if text.is_empty() || text.len() > 128 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut bytes: LineBytes = [0; 64];
    let whole = text.len() == 128;
    for (index, &byte) in text.iter().enumerate() {
        let digit = digit(byte)?;
        let from_end = text.len() - 1 - index;
        let at = if whole { index / 2 } else { from_end / 2 };
        bytes[at] |= if from_end.is_multiple_of(2) { digit } else { digit << 4 };
    }
    Some((whole || bytes != [0; 64]).then_some(bytes))
}

//! Parses one text line of a line trace, and tells its format by it.

use super::super::recording::Expected;
use super::{LineAccess, LineFormat};
use crate::message::{LINE_BYTES, LineBytes};

const NVMAIN: Expected = Expected("NVMain's cycle R|W address [data [thread]] with the address in hexadecimal");
const NVMAIN_DATA: Expected = Expected("NVMain's data of 1 to 128 hexadecimal digits");
/// A first line that gives the version, or one that is not the first.
pub(super) const NVMAIN_VERSION: Expected = Expected("NVMain's NVMV0 or NVMV1, in the first line only");
const PROSPERO: Expected =
    Expected("Prospero's cycle R|W address size with the address in decimal and a size of 1 to 4096 bytes");
const DRAMSIM2: Expected = Expected(
    "DRAMSim2's address P_FETCH|P_MEM_RD|P_MEM_WR|P_LOCK_RD|P_LOCK_WR|P_INT_ACK|BOFF|IFETCH|READ|WRITE cycle with the \
     address in hexadecimal",
);
const DRAMSIM3: Expected = Expected("DRAMsim3's address READ|WRITE cycle with the address in hexadecimal");
const RAMULATOR: Expected = Expected("Ramulator's LD|ST address or R|W address, in decimal or with 0x in hexadecimal");
const RAMULATOR_VECTOR: Expected =
    Expected("one address: Ramulator's address vector (channel,rank,...) says nothing of addresses on another device");

/// The most fields of a line.
const FIELDS_MAX: usize = 6;
/// The largest access of Prospero; XSAVE stores the most, up to 2.7 KiB.
const PROSPERO_BYTES_MAX: u64 = 4096;

pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// The version in a first line of NVMain.
pub(super) fn nvmain_version(line: &[u8]) -> Option<u64> {
    decimal(line.strip_prefix(b"NVMV")?.trim_ascii_end())
}

/// What a line asks for: no access if it is not one of memory, and two if it crosses the end of a memory line.
pub(super) type Accesses = [Option<LineAccess>; 2];

/// The fields of a line.
struct Fields<'a> {
    first: [&'a [u8]; FIELDS_MAX],
    /// How many there are; one more than the most if there are more.
    count: usize,
}

impl<'a> Fields<'a> {
    fn of(line: &'a [u8]) -> Self {
        let (mut first, mut count): ([&[u8]; FIELDS_MAX], _) = ([&[]; FIELDS_MAX], 0);
        for field in line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).take(FIELDS_MAX + 1) {
            if let Some(place) = first.get_mut(count) {
                *place = field;
            }
            count += 1;
        }
        Fields { first, count }
    }
}

/// The accesses in `line`. `old_data`: NVMain's second version, which has the replaced data before the thread.
pub(super) fn accesses(format: LineFormat, old_data: bool, line: &[u8]) -> Result<Accesses, Expected> {
    let fields = Fields::of(line);
    let one = match format {
        LineFormat::Nvmain => nvmain(&fields, old_data)?,
        LineFormat::Prospero => return prospero(&fields),
        LineFormat::Dramsim2 => return dramsim(&fields).ok_or(DRAMSIM2),
        LineFormat::Dramsim3 => return dramsim(&fields).ok_or(DRAMSIM3),
        LineFormat::Ramulator => ramulator(&fields)?,
    };
    Ok([Some(one), None])
}

/// The format of a trace that begins with `line`, if the line is a good one.
pub(super) fn format_of(line: &[u8]) -> Option<LineFormat> {
    if nvmain_version(line).is_some() {
        return Some(LineFormat::Nvmain);
    }
    let fields = Fields::of(line);
    if prospero(&fields).is_ok() {
        // NVMain would have 128 digits of data here, or zero in fewer.
        return Some(LineFormat::Prospero);
    }
    if dramsim(&fields).is_some() {
        let of_three = matches!(fields.first[1], b"READ" | b"read" | b"WRITE" | b"write");
        return Some(if of_three { LineFormat::Dramsim3 } else { LineFormat::Dramsim2 });
    }
    if nvmain(&fields, false).is_ok() {
        return Some(LineFormat::Nvmain);
    }
    ramulator(&fields).is_ok().then_some(LineFormat::Ramulator)
}

/// What was expected in place of a first line that is no good one of any format, if it is most like one of a format:
/// by its word, and by where that is.
pub(super) fn expected_of(line: &[u8]) -> Option<Expected> {
    let fields = Fields::of(line);
    let [first, second, third, ..] = fields.first;
    let number = |field: &[u8]| field.first().is_some_and(u8::is_ascii_digit);
    let is_word =
        |field: &[u8]| field.len() > 1 && field.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    if first.starts_with(b"NVMV") {
        return Some(NVMAIN_VERSION);
    }
    if matches!(first, b"LD" | b"ST" | b"R" | b"W") && number(second) || matches!((second, third), (b"R" | b"W", b"")) {
        return ramulator(&fields).err();
    }
    if number(first) && second.len() == 1 && second[0].is_ascii_alphabetic() && (number(third) || third.is_empty()) {
        return nvmain(&fields, false).err();
    }
    if second.starts_with(b"P_") || matches!(second, b"BOFF" | b"IFETCH") {
        return Some(DRAMSIM2);
    }
    let prefixed = first.starts_with(b"0x") || first.starts_with(b"0X");
    let known = matches!(second, b"READ" | b"read" | b"WRITE" | b"write");
    (known || (prefixed && is_word(second) && fields.count <= 3)).then_some(DRAMSIM3)
}

fn nvmain(fields: &Fields<'_>, old_data: bool) -> Result<LineAccess, Expected> {
    let &Fields { first: ref fields, count } = fields;
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

/// Prospero sends no more than a line of an access, and two requests for what crosses the end of one.
fn prospero(fields: &Fields<'_>) -> Result<Accesses, Expected> {
    let &Fields { first: [cycle, word, address, size, ..], count } = fields;
    let write = match word {
        _ if count != 4 => return Err(PROSPERO),
        b"R" | b"r" => false,
        b"W" | b"w" => true,
        _ => return Err(PROSPERO),
    };
    let size = decimal(size).filter(|size| (1..=PROSPERO_BYTES_MAX).contains(size)).ok_or(PROSPERO)?;
    let (cycle, address) = decimal(cycle).zip(decimal(address)).ok_or(PROSPERO)?;
    let last = address.checked_add(size.min(LINE_BYTES) - 1).ok_or(PROSPERO)?;
    let access = |address| LineAccess { cycle: Some(cycle), write, address, bytes: None };
    let next = last - last % LINE_BYTES;
    Ok([Some(access(address)), (next > address).then(|| access(next))])
}

/// The words of DRAMsim3 and of DRAMSim2's k6 and mase traces.
fn dramsim(fields: &Fields<'_>) -> Option<Accesses> {
    let &Fields { first: [address, word, cycle, ..], count } = fields;
    let write = match word {
        _ if count != 3 => return None,
        // Both simulators take a locked write for a read.
        b"READ" | b"read" | b"IFETCH" | b"P_MEM_RD" | b"P_FETCH" | b"P_LOCK_RD" | b"P_LOCK_WR" => Some(false),
        // And these four for writes.
        b"WRITE" | b"write" | b"P_MEM_WR" | b"BOFF" => Some(true),
        // The acknowledgement of an interrupt, which is no access to memory.
        b"P_INT_ACK" => None,
        _ => return None,
    };
    let (address, cycle) = hexadecimal(address).zip(decimal(cycle))?;
    Some([write.map(|write| LineAccess { cycle: Some(cycle), write, address, bytes: None }), None])
}

fn ramulator(fields: &Fields<'_>) -> Result<LineAccess, Expected> {
    let &Fields { first: [first, second, ..], count } = fields;
    if count != 2 {
        return Err(RAMULATOR);
    }
    let (write, address) = match (first, second) {
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

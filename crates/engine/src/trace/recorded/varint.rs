//! Reads unsigned LEB128 numbers, zigzag numbers and byte fields from a buffer that may end anywhere.

use super::super::recording::Expected;

/// Why a field could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Problem {
    /// The buffer ends before the field does.
    Short,
    /// The field is not what is expected there.
    Wrong(Expected),
}

impl From<Expected> for Problem {
    fn from(expected: Expected) -> Self {
        Problem::Wrong(expected)
    }
}

/// Bytes of the longest number: 64 bits, seven per byte.
pub(super) const VARINT_BYTES_MAX: usize = 10;

/// The fields of a record, read from the start of a buffer.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Fields { bytes, at: 0 }
    }

    /// Number of bytes read so far.
    pub fn taken(&self) -> usize {
        self.at
    }

    /// Reads one byte.
    pub fn byte(&mut self) -> Result<u8, Problem> {
        let byte = *self.bytes.get(self.at).ok_or(Problem::Short)?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads an unsigned number.
    #[inline]
    pub fn unsigned(&mut self) -> Result<u64, Problem> {
        match self.bytes.get(self.at) {
            // Most numbers are small.
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long(),
        }
    }

    /// Reads an unsigned number of any length.
    fn long(&mut self) -> Result<u64, Problem> {
        let mut value: u64 = 0;
        for index in 0..VARINT_BYTES_MAX {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte may have only one bit of the 64.
            if index == VARINT_BYTES_MAX - 1 && byte > 1 {
                break;
            }
            value |= bits << (7 * index);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Expected("a number below 2^64 of at most 10 bytes").into())
    }

    /// Reads a signed number.
    #[inline]
    pub fn signed(&mut self) -> Result<i64, Problem> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a length of at most `max`, and that many bytes.
    pub fn bytes(&mut self, max: u64, expected: Expected) -> Result<&'a [u8], Problem> {
        let length = self.unsigned()?;
        if length > max {
            return Err(expected.into());
        }
        let end = self.at + length as usize;
        let bytes = self.bytes.get(self.at..end).ok_or(Problem::Short)?;
        self.at = end;
        Ok(bytes)
    }
}

/// Appends `value` to `out` as LEB128.
pub(super) fn put(out: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::super::varint::*;
    use proptest::prelude::*;

    fn unsigned(bytes: &[u8]) -> Result<u64, Problem> {
        Fields::new(bytes).unsigned()
    }

    #[test]
    fn number_is_at_most_ten_bytes_and_64_bits() {
        assert_eq!(unsigned(&[0x00]), Ok(0));
        assert_eq!(unsigned(&[0x7f]), Ok(127));
        assert_eq!(unsigned(&[0x80, 0x01]), Ok(128));
        assert_eq!(unsigned(&[0x80, 0x80, 0x00]), Ok(0), "the shortest form is not required");
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(unsigned(&most), Ok(u64::MAX));
        assert_eq!(unsigned(&most[..9]), Err(Problem::Short));
        let mut over = most;
        over[9] = 0x02;
        assert!(matches!(unsigned(&over), Err(Problem::Wrong(_))));
        over[9] = 0x81;
        assert!(matches!(unsigned(&over), Err(Problem::Wrong(_))));
        assert_eq!(Fields::new(&[0x01]).signed(), Ok(-1));
        assert_eq!(Fields::new(&most).signed(), Ok(i64::MIN));
    }

    proptest! {
        #[test]
        fn what_is_put_is_taken(value in any::<u64>(), shift in 0u32..64) {
            let mut out = Vec::new();
            put(&mut out, value >> shift);
            prop_assert_eq!(unsigned(&out), Ok(value >> shift));
        }
    }
}

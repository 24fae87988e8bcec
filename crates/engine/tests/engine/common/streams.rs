//! What the numbers of a recorded stream are, by the description of the format.

/// A number.
pub fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A number that may be negative.
pub fn signed(value: i64) -> Vec<u8> {
    number((value.unsigned_abs() << 1).wrapping_sub(u64::from(value < 0)))
}

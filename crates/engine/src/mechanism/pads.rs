//! Counter-mode pads over lines, from the cipher room.

use crate::cipher::PadCipher;
use crate::design::parts::{Counter, PadSource};
use crate::message::{Line, LineBytes};

impl PadSource for PadCipher {
    fn pad(&self, line: Line, counter: Counter) -> LineBytes {
        PadCipher::pad(self, line, counter.major, counter.minor)
    }
}

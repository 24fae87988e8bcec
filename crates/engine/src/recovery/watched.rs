//! The program's memory during a boot, watched.

use super::{Boot, BootStep};
use crate::message::{ByteView, Observer, pieces};

/// The program's memory, with a callback after every step of its writes.
pub(super) struct Watched<'v, 'a, O> {
    pub boot: &'v mut Boot<'a, O>,
    pub after: &'v mut dyn FnMut(&Boot<'a, O>, BootStep),
}

impl<O: Observer> ByteView for Watched<'_, '_, O> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        self.boot.read(address, buffer);
    }

    fn write(&mut self, address: u64, data: &[u8]) {
        for (line, offset, piece) in pieces(address, data.len()) {
            self.boot.check(line);
            let mut bytes = self.boot.line(line);
            bytes[offset..offset + piece.len()].copy_from_slice(&data[piece]);
            self.boot.write_line_watched(line, &bytes, self.after);
        }
    }
}

//! A plain byte map: the simplest memory, as the reference.

use crate::message::ByteView;

#[derive(Clone)]
pub(in crate::workload) struct Flat(pub Vec<u8>);

impl Flat {
    pub fn new(bytes: u64) -> Self {
        Self(vec![0; bytes as usize])
    }
}

impl ByteView for Flat {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.0[address as usize..][..buffer.len()]);
    }
    fn write(&mut self, address: u64, data: &[u8]) {
        self.0[address as usize..][..data.len()].copy_from_slice(data);
    }
}

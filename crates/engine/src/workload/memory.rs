//! A program's view of its memory: the shared base, of which blocks are copied on the first write.

use super::base::Base;
use crate::message::{ByteView, PAGE_BYTES};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are copied at once: a page has many that a program of small items never writes.
pub(super) const BLOCK_BYTES: u64 = 1024;
const BLOCK: usize = BLOCK_BYTES as usize;
/// Blocks in one chunk, which is small enough for an allocator to keep.
const CHUNK: usize = 64;

/// A copy-on-write view of one core's range of a [`Base`]. An address is found by two indexed loads, without hashing.
pub struct Memory {
    base: Arc<Base>,
    start: u64,
    /// For each block of the range the number of its copy, counted from 1; 0 if it has none. The host makes the pages of
    /// this table when they are first written.
    copies: Vec<u32>,
    /// The copies, [`CHUNK`] in each.
    chunks: Vec<Vec<u8>>,
    copied: usize,
}

impl Memory {
    /// A view of the page-aligned `range` of `base`. Nothing outside it may be written.
    pub(super) fn new(base: Arc<Base>, range: Range<u64>) -> Self {
        debug_assert!(range.start.is_multiple_of(PAGE_BYTES) && range.end.is_multiple_of(PAGE_BYTES));
        let blocks = ((range.end - range.start) / BLOCK_BYTES) as usize;
        Self { base, start: range.start, copies: vec![0; blocks], chunks: Vec::new(), copied: 0 }
    }

    /// Bytes that were copied.
    pub fn private_bytes(&self) -> u64 {
        self.copied as u64 * BLOCK_BYTES
    }

    /// Fills `buffer` from `address`.
    pub(super) fn copy_out(&self, mut address: u64, mut buffer: &mut [u8]) {
        while !buffer.is_empty() {
            let source = self.rest_of_block(address);
            let length = source.len().min(buffer.len());
            let (now, later) = buffer.split_at_mut(length);
            now.copy_from_slice(&source[..length]);
            buffer = later;
            address += length as u64;
        }
    }

    /// Writes `data` at `address`.
    pub(super) fn copy_in(&mut self, mut address: u64, mut data: &[u8]) {
        while !data.is_empty() {
            let offset = (address % BLOCK_BYTES) as usize;
            let length = (BLOCK - offset).min(data.len());
            let block = self.private_block(address);
            block[offset..offset + length].copy_from_slice(&data[..length]);
            data = &data[length..];
            address += length as u64;
        }
    }

    fn rest_of_block(&self, address: u64) -> &[u8] {
        let offset = (address % BLOCK_BYTES) as usize;
        match self.copies[self.block(address)].checked_sub(1) {
            Some(copy) => &self.chunks[copy as usize / CHUNK][copy as usize % CHUNK * BLOCK..][offset..BLOCK],
            None => &self.base.rest_of_page(address)[..BLOCK - offset],
        }
    }

    fn private_block(&mut self, address: u64) -> &mut [u8] {
        let block = self.block(address);
        let copy = match self.copies[block].checked_sub(1) {
            Some(copy) => copy as usize,
            None => {
                let copy = self.copied;
                if copy.is_multiple_of(CHUNK) {
                    self.chunks.push(Vec::with_capacity(CHUNK * BLOCK));
                }
                let original = &self.base.rest_of_page(address - address % BLOCK_BYTES)[..BLOCK];
                self.chunks[copy / CHUNK].extend_from_slice(original);
                self.copied += 1;
                self.copies[block] = self.copied as u32;
                copy
            }
        };
        &mut self.chunks[copy / CHUNK][copy % CHUNK * BLOCK..][..BLOCK]
    }

    fn block(&self, address: u64) -> usize {
        ((address - self.start) / BLOCK_BYTES) as usize
    }
}

impl ByteView for Memory {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        self.copy_out(address, buffer);
    }
    fn write(&mut self, address: u64, data: &[u8]) {
        self.copy_in(address, data);
    }
}

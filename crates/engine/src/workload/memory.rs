//! A program's view of its memory: the shared base, whose pages are copied on the first write.

use super::base::Base;
use crate::message::{ByteView, PAGE_BYTES};
use std::ops::Range;
use std::sync::Arc;

const PAGE: usize = PAGE_BYTES as usize;
/// Pages in one second-level table.
const FAN: usize = 1024;
/// Marks a page that is not copied yet.
const SHARED: u32 = u32::MAX;

/// A copy-on-write view of one core's range of a [`Base`], with a two-level page table: an address is found by two
/// indexed loads, without hashing.
pub struct Memory {
    base: Arc<Base>,
    start: u64,
    directory: Vec<Option<Box<[u32; FAN]>>>,
    pages: Vec<Box<[u8; PAGE]>>,
}

impl Memory {
    /// A view of the page-aligned `range` of `base`. Nothing outside it may be written.
    pub(super) fn new(base: Arc<Base>, range: Range<u64>) -> Self {
        debug_assert!(range.start.is_multiple_of(PAGE_BYTES) && range.end.is_multiple_of(PAGE_BYTES));
        let pages = ((range.end - range.start) / PAGE_BYTES) as usize;
        Self { base, start: range.start, directory: vec![None; pages.div_ceil(FAN)], pages: Vec::new() }
    }

    /// Bytes of pages that were copied.
    pub fn private_bytes(&self) -> u64 {
        (self.pages.len() * PAGE) as u64
    }

    /// Fills `buffer` from `address`.
    pub(super) fn copy_out(&self, mut address: u64, mut buffer: &mut [u8]) {
        while !buffer.is_empty() {
            let source = self.rest_of_page(address);
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
            let offset = (address % PAGE_BYTES) as usize;
            let length = (PAGE - offset).min(data.len());
            let page = self.private_page(address);
            page[offset..offset + length].copy_from_slice(&data[..length]);
            data = &data[length..];
            address += length as u64;
        }
    }

    fn rest_of_page(&self, address: u64) -> &[u8] {
        let offset = (address % PAGE_BYTES) as usize;
        let (table, entry) = self.place(address);
        match &self.directory[table] {
            Some(table) if table[entry] != SHARED => &self.pages[table[entry] as usize][offset..],
            _ => self.base.rest_of_page(address),
        }
    }

    fn private_page(&mut self, address: u64) -> &mut [u8; PAGE] {
        let (table, entry) = self.place(address);
        let table = self.directory[table].get_or_insert_with(|| Box::new([SHARED; FAN]));
        if table[entry] == SHARED {
            table[entry] = self.pages.len() as u32;
            let mut copy = Box::new([0; PAGE]);
            copy.copy_from_slice(self.base.rest_of_page(address - address % PAGE_BYTES));
            self.pages.push(copy);
        }
        &mut self.pages[table[entry] as usize]
    }

    fn place(&self, address: u64) -> (usize, usize) {
        let page = ((address - self.start) / PAGE_BYTES) as usize;
        (page / FAN, page % FAN)
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

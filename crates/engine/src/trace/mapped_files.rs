//! Maps virtual addresses of the traced program to files and offsets.
//!
//! libpmemobj maps a pool header for a short time while it creates a pool whose whole file is mapped elsewhere: both
//! mappings lead to the same bytes of the same file, and so to the same device lines. Where mappings overlap, the
//! newest is valid: an address can be mapped again only after its earlier mapping is gone, which pmemcheck does not
//! report.

use super::recording::Expected;
use crate::message::LINE_BYTES;
use std::collections::BTreeMap;

/// The most files in one recording; libpmemobj uses a few per pool set.
pub const FILES_MAX: usize = 1024;
/// The most disjoint ranges that registrations may leave; a program maps far fewer files.
pub const RANGES_MAX: usize = 4096;
/// One past the highest byte of all files together: 48 bits of physical address, as x86 processors have.
pub const EXTENT_MAX: u64 = 1 << 48;

/// What a run of virtual addresses is mapped to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// File, by order of first registration.
    pub file: usize,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes from here on that are in the same file without a gap.
    pub length: u64,
}

/// A file that the log has registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisteredFile {
    /// The file's path, as logged.
    pub path: Vec<u8>,
    /// One past the file's highest byte in any registration.
    pub extent: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Range {
    start: u64,
    end: u64,
    file: usize,
    offset: u64,
}

impl Range {
    fn place(&self, address: u64) -> Place {
        let into = address - self.start;
        Place { file: self.file, offset: self.offset + into, length: self.end - address }
    }

    /// The part of the range from `start` to `end`.
    fn part(&self, start: u64, end: u64) -> Range {
        Range { start, end, file: self.file, offset: self.offset + (start - self.start) }
    }
}

/// All registrations so far, as disjoint ranges of virtual addresses.
#[derive(Default)]
pub struct Mappings {
    files: Vec<RegisteredFile>,
    ranges: BTreeMap<u64, Range>,
    /// The range found last, because stores come in runs; empty if there is none.
    last: Range,
}

impl Mappings {
    /// The files, in order of first registration.
    pub fn files(&self) -> &[RegisteredFile] {
        &self.files
    }

    /// Maps `size` bytes from `offset` of `path` at `base`, replacing earlier mappings.
    pub fn register(&mut self, path: &[u8], base: u64, size: u64, offset: u64) -> Result<(), Expected> {
        check_range(base, size, offset)?;
        let file = match self.files.iter().position(|file| file.path == path) {
            Some(file) => file,
            None => self.add_file(path)?,
        };
        self.map(file, base, size, offset)
    }

    /// Adds a file; returns its number.
    pub fn add_file(&mut self, path: &[u8]) -> Result<usize, Expected> {
        if self.files.len() == FILES_MAX {
            return Err(Expected("at most 1024 registered files"));
        }
        self.files.push(RegisteredFile { path: path.to_vec(), extent: 0 });
        Ok(self.files.len() - 1)
    }

    /// Records that file number `file` has at least `extent` bytes.
    pub fn extend(&mut self, file: usize, extent: u64) {
        self.files[file].extent = self.files[file].extent.max(extent);
    }

    /// Maps `size` bytes from `offset` of file number `file`, which must exist, at `base`, replacing earlier mappings.
    pub fn map(&mut self, file: usize, base: u64, size: u64, offset: u64) -> Result<(), Expected> {
        let (end, extent) = check_range(base, size, offset)?;
        self.extend(file, extent);
        self.last = Range::default();
        self.carve(base, end);
        self.ranges.insert(base, Range { start: base, end, file, offset });
        if self.ranges.len() > RANGES_MAX {
            return Err(Expected("registrations that leave at most 4096 separate ranges"));
        }
        Ok(())
    }

    /// Unmaps `[base, end)`.
    pub fn unmap(&mut self, base: u64, end: u64) -> Result<(), Expected> {
        self.last = Range::default();
        self.carve(base, end);
        if self.ranges.len() > RANGES_MAX {
            return Err(Expected("mappings that leave at most 4096 separate ranges"));
        }
        Ok(())
    }

    /// Removes `[start, end)` from all ranges.
    fn carve(&mut self, start: u64, end: u64) {
        if let Some((_, &below)) = self.ranges.range(..start).next_back()
            && below.end > start
        {
            self.ranges.insert(below.start, below.part(below.start, start));
            if below.end > end {
                self.ranges.insert(end, below.part(end, below.end));
            }
        }
        while let Some((&key, &covered)) = self.ranges.range(start..end).next() {
            self.ranges.remove(&key);
            if covered.end > end {
                self.ranges.insert(end, covered.part(end, covered.end));
            }
        }
    }

    /// What `address` is mapped to, if it is mapped.
    pub fn place(&mut self, address: u64) -> Option<Place> {
        if address < self.last.start || address >= self.last.end {
            let (_, range) = self.ranges.range(..=address).next_back()?;
            if address >= range.end {
                return None;
            }
            self.last = *range;
        }
        Some(self.last.place(address))
    }

    /// Returns the error `outside` if a byte of `[address, address + size)` is not mapped.
    pub fn check_mapped(&mut self, address: u64, size: u64, outside: Expected) -> Result<(), Expected> {
        let end = address.checked_add(size).ok_or(outside)?;
        let mut at = address;
        while at < end {
            at += self.place(at).ok_or(outside)?.length;
        }
        Ok(())
    }

    /// The first mapped address at or after `address`, and what it is mapped to.
    pub fn place_from(&mut self, address: u64) -> Option<(u64, Place)> {
        if let Some(place) = self.place(address) {
            return Some((address, place));
        }
        let (&start, range) = self.ranges.range(address..).next()?;
        Some((start, range.place(start)))
    }
}

/// The ends of the range and of its part of the file, if it can be mapped.
fn check_range(base: u64, size: u64, offset: u64) -> Result<(u64, u64), Expected> {
    if size == 0 {
        return Err(Expected("a registration of at least one byte"));
    }
    if !(base ^ offset).is_multiple_of(LINE_BYTES) {
        return Err(Expected("a base and an offset in the file that agree in their place in a 64-byte line"));
    }
    let Some(end) = base.checked_add(size) else {
        return Err(Expected("a registration that ends within 64 bits of address"));
    };
    let Some(extent) = offset.checked_add(size).filter(|&extent| extent <= EXTENT_MAX) else {
        return Err(Expected("a registration that ends within the first 2^48 bytes of its file"));
    };
    Ok((end, extent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_mappings_of_a_file_lead_to_the_same_bytes() {
        let mut mappings = Mappings::default();
        mappings.register(b"pool", 0x5_0000, 0x8000, 0).unwrap();
        mappings.register(b"pool", 0x1000, 0x1000, 0).unwrap();
        assert_eq!(mappings.place(0x5_0040), Some(Place { file: 0, offset: 0x40, length: 0x7fc0 }));
        assert_eq!(mappings.place(0x1040), Some(Place { file: 0, offset: 0x40, length: 0xfc0 }));
        assert_eq!(mappings.files(), [RegisteredFile { path: b"pool".to_vec(), extent: 0x8000 }]);
    }

    #[test]
    fn newest_registration_holds_where_two_overlap() {
        let mut mappings = Mappings::default();
        mappings.register(b"old", 0x1000, 0x3000, 0x1000).unwrap();
        mappings.register(b"new", 0x2000, 0x1000, 0).unwrap();
        assert_eq!(mappings.place(0x1fff), Some(Place { file: 0, offset: 0x1fff, length: 1 }));
        assert_eq!(mappings.place(0x2000), Some(Place { file: 1, offset: 0, length: 0x1000 }));
        assert_eq!(mappings.place(0x3000), Some(Place { file: 0, offset: 0x3000, length: 0x1000 }));
        assert_eq!(mappings.place(0x4000), None);
        assert_eq!(mappings.place(0xfff), None);
        assert_eq!(mappings.place_from(0), Some((0x1000, Place { file: 0, offset: 0x1000, length: 0x1000 })));
        assert_eq!(mappings.place_from(0x4000), None);
    }

    #[test]
    fn what_is_unmapped_is_gone_and_the_rest_stays() {
        let mut mappings = Mappings::default();
        let file = mappings.add_file(b"pool").unwrap();
        mappings.map(file, 0x1000, 0x3000, 0).unwrap();
        mappings.unmap(0x2000, 0x3000).unwrap();
        assert_eq!(mappings.place(0x1fff), Some(Place { file: 0, offset: 0xfff, length: 1 }));
        assert_eq!(mappings.place(0x2000), None);
        assert_eq!(mappings.place(0x3000), Some(Place { file: 0, offset: 0x2000, length: 0x1000 }));
        mappings.unmap(0, u64::MAX).unwrap();
        assert_eq!(mappings.place_from(0), None);
    }

    #[test]
    fn bounds_are_exact() {
        let mut mappings = Mappings::default();
        assert!(mappings.register(b"a", u64::MAX - 63, 63, 0).is_ok());
        assert!(mappings.register(b"a", u64::MAX - 63, 64, 0).is_err());
        assert!(mappings.register(b"a", 0, 64, EXTENT_MAX - 64).is_ok());
        assert!(mappings.register(b"a", 0, 65, EXTENT_MAX - 64).is_err());
        assert!(mappings.register(b"a", 0, 0, 0).is_err());
        assert!(mappings.register(b"a", 0x20, 64, 0).is_err());
    }

    #[test]
    fn files_and_ranges_are_limited() {
        let mut mappings = Mappings::default();
        let results: Vec<_> = (0..=FILES_MAX as u64).map(|n| mappings.register(&n.to_le_bytes(), 0, 64, 0)).collect();
        assert!(results[..FILES_MAX].iter().all(Result::is_ok) && results[FILES_MAX].is_err());
        let mut mappings = Mappings::default();
        let results: Vec<_> = (0..=RANGES_MAX as u64).map(|n| mappings.register(b"f", n * 128, 64, 0)).collect();
        assert!(results[..RANGES_MAX].iter().all(Result::is_ok) && results[RANGES_MAX].is_err());
    }

    proptest! {
        /// Compares with the rule itself: search the registrations from the newest to the oldest.
        #[test]
        fn like_a_search_from_the_newest(list in prop::collection::vec((0u64..40, 1u64..20, 0u64..4, 0u8..3), 1..20)) {
            let mut mappings = Mappings::default();
            let mut names: Vec<u8> = Vec::new();
            for &(base, size, offset, name) in &list {
                mappings.register(&[name], base * 64, size * 64, offset * 64).unwrap();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            for line in 0..64 {
                let wanted = list.iter().rev().find(|(base, size, ..)| (*base..base + size).contains(&line));
                let found = mappings.place(line * 64);
                prop_assert_eq!(found.is_some(), wanted.is_some());
                if let (Some(place), Some((base, _, offset, name))) = (found, wanted) {
                    prop_assert_eq!(place.offset, (line - base + offset) * 64);
                    prop_assert_eq!(names[place.file], *name);
                    prop_assert!(place.length >= 64);
                }
            }
        }
    }
}

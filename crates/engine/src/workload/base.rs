//! The populated memory before timing begins: plaintext, never modified, shared by all designs of a comparison.
//!
//! One lazily mapped allocation covers the memory of all programs, so only populated pages cost host memory. What lies
//! between programs whose cores have banks of their own is not in it.

use super::plan::Plan;
use super::structure::Structure;
use crate::config::{ByteSize, ConfigError};
use crate::kernel::HostMemory;
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes, PAGE_BYTES};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Free host memory that a footprint needs, as a percentage of it: the runs' copy-on-write pages need more.
const HOST_MEMORY_PERCENT: u64 = 120;

/// A page of memory that no program has.
const NO_PAGE: [u8; PAGE_BYTES as usize] = [0; PAGE_BYTES as usize];

/// The populated bytes of all cores.
pub struct Base {
    /// The bytes of all regions, one after another.
    bytes: Vec<u8>,
    /// The addresses of `bytes`, in whole pages, ascending and disjoint, each with its place in `bytes`.
    regions: Vec<(Range<u64>, usize)>,
    /// The populated extents, ascending and disjoint.
    extents: Vec<Range<u64>>,
}

impl Base {
    /// Populates every structure of `plan`. The bytes depend only on the plan, not on the number of threads. Returns
    /// `None` if `stop` was set before the end.
    pub fn populate(plan: &Plan, stop: &AtomicBool) -> Result<Option<Self>, ConfigError> {
        let regions = plan.regions();
        let addresses = regions.iter().map(|region| region.end - region.start).sum();
        fits_host_memory(plan.populated_bytes(), addresses, HostMemory::ask())?;
        let base = Self::build(plan.structures().iter().map(|structure| &**structure), &regions, stop);
        Ok((!stop.load(Ordering::Relaxed)).then_some(base))
    }

    /// Populates `structures`, which are in the order of their addresses, in a base of the ascending `regions`.
    pub(super) fn build<'a>(
        structures: impl Iterator<Item = &'a dyn Structure>,
        regions: &[Range<u64>],
        stop: &AtomicBool,
    ) -> Self {
        let mut end = 0;
        let placed = regions.iter().map(|region| {
            let place = end;
            end += (region.end - region.start) as usize;
            (region.clone(), place)
        });
        let regions: Vec<_> = placed.collect();
        let mut bytes = vec![0; end];
        let mut extents: Vec<Range<u64>> = Vec::new();
        let mut rest = bytes.as_mut_slice();
        let mut filled = 0;
        for structure in structures {
            for (index, extent) in structure.populated().into_iter().enumerate() {
                let place = place(&regions, extent.start).expect("a structure lies in its program's memory");
                let length = (extent.end - extent.start) as usize;
                let (part, after) = rest[place - filled..].split_at_mut(length);
                structure.populate(index, part, stop);
                rest = after;
                filled = place + length;
                extents.push(extent);
            }
        }
        Self { bytes, regions, extents }
    }

    /// Every byte of every program's memory, in the order of addresses; bytes that were never written are zero.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes from `address` to the end of its page.
    pub(super) fn rest_of_page(&self, address: u64) -> &[u8] {
        let rest = (PAGE_BYTES - address % PAGE_BYTES) as usize;
        match place(&self.regions, address) {
            Some(place) => &self.bytes[place..place + rest],
            None => &NO_PAGE[..rest],
        }
    }

    /// The populated extents, ascending and disjoint.
    pub fn extents(&self) -> &[Range<u64>] {
        &self.extents
    }
}

impl BaseImage for Base {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        if !self.populated(line) {
            return None;
        }
        self.bytes[place(&self.regions, line.address())?..].first_chunk()
    }

    fn populated(&self, line: Line) -> bool {
        let address = line.address();
        let after = self.extents.partition_point(|extent| extent.start <= address);
        after > 0 && address + LINE_BYTES <= self.extents[after - 1].end
    }

    fn end(&self) -> u64 {
        self.regions.last().map_or(0, |(region, _)| region.end)
    }
}

/// Where the byte at `address` is among the bytes of `regions`.
fn place(regions: &[(Range<u64>, usize)], address: u64) -> Option<usize> {
    let (region, place) = regions.get(regions.partition_point(|(region, _)| region.end <= address))?;
    region.contains(&address).then(|| place + (address - region.start) as usize)
}

fn fits_host_memory(needed: u64, end: u64, host: HostMemory) -> Result<(), ConfigError> {
    let with_copies = u128::from(needed) * u128::from(HOST_MEMORY_PERCENT) / 100;
    if host.available.is_some_and(|available| with_copies > u128::from(available)) {
        return Err(ConfigError(format!(
            "footprint of {} does not fit in this machine's memory: a run needs {HOST_MEMORY_PERCENT} percent of the \
             footprint and {} are available",
            ByteSize(needed),
            ByteSize(host.available.unwrap_or_default()),
        )));
    }
    // The room for growth costs nothing until it is written, but the operating system refuses to map more memory than
    // it has.
    if host.total.is_some_and(|total| end > total) {
        return Err(ConfigError(format!(
            "footprint of {} with room for the transactions to grow takes {} of addresses, more than this machine's {} \
             of memory",
            ByteSize(needed),
            ByteSize(end),
            ByteSize(host.total.unwrap_or_default()),
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footprint_needs_a_fifth_more_than_itself() {
        let host = |available| HostMemory { total: Some(1_000), available };
        assert!(fits_host_memory(100, 1_000, host(Some(120))).is_ok());
        assert!(fits_host_memory(100, 1_000, host(Some(119))).unwrap_err().0.contains("does not fit in this machine"));
        assert!(fits_host_memory(100, 1_001, host(None)).unwrap_err().0.contains("room for the transactions"));
        assert!(fits_host_memory(u64::MAX, 1_000, host(None)).is_ok());
    }

    #[test]
    fn only_lines_inside_an_extent_are_populated() {
        let base = Base { bytes: vec![1; 1024], regions: vec![(0..1024, 0)], extents: vec![64..192, 512..576] };
        let populated: Vec<u64> = (0..16).filter(|&line| base.populated(Line(line))).collect();
        assert_eq!(populated, [1, 2, 8]);
        assert_eq!(base.line(Line(1)), Some(&[1; 64]));
        assert_eq!(base.line(Line(3)), None);
        assert_eq!(base.line(Line(1 << 40)), None);
    }

    #[test]
    fn a_place_is_found_up_to_the_edges_of_every_region() {
        let regions = [(0..4096, 0), (4096..8192, 4096), (1 << 30..(1 << 30) + 4096, 8192)];
        let at = |address| place(&regions, address);
        assert_eq!([0, 4095, 4096, 8191].map(at), [Some(0), Some(4095), Some(4096), Some(8191)]);
        assert_eq!([8192, (1 << 30) - 1, (1 << 30) + 4096].map(at), [None; 3]);
        assert_eq!([1 << 30, (1 << 30) + 4095].map(at), [Some(8192), Some(12287)]);
        let base = Base { bytes: vec![7; 12288], regions: regions.to_vec(), extents: Vec::new() };
        assert_eq!(base.end(), (1 << 30) + 4096);
        assert_eq!(base.rest_of_page((1 << 30) + 4000), [7; 96]);
        assert_eq!(base.rest_of_page((1 << 29) + 1), [0; 4095]);
    }
}

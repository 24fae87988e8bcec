//! The populated memory before timing begins: plaintext, never modified, shared by all designs of a comparison.
//!
//! One lazily mapped allocation covers every address, so only populated pages cost host memory.

use super::plan::Plan;
use super::structure::Structure;
use crate::config::{ByteSize, ConfigError};
use crate::kernel::HostMemory;
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Free host memory that a footprint needs, as a percentage of it: the runs' copy-on-write pages need more.
const HOST_MEMORY_PERCENT: u64 = 120;

/// The populated bytes of all cores.
pub struct Base {
    bytes: Vec<u8>,
    /// The populated extents, ascending and disjoint.
    extents: Vec<Range<u64>>,
}

impl Base {
    /// Populates every structure of `plan`. The bytes depend only on the plan, not on the number of threads. Returns
    /// `None` if `stop` was set before the end.
    pub fn populate(plan: &Plan, stop: &AtomicBool) -> Result<Option<Self>, ConfigError> {
        fits_host_memory(plan.populated_bytes(), plan.end(), HostMemory::ask())?;
        let base = Self::build(plan.structures().iter().map(|structure| &**structure), plan.end(), stop);
        Ok((!stop.load(Ordering::Relaxed)).then_some(base))
    }

    /// Populates `structures`, which are in the order of their addresses, in a base of `end` bytes.
    pub(super) fn build<'a>(structures: impl Iterator<Item = &'a dyn Structure>, end: u64, stop: &AtomicBool) -> Self {
        let mut bytes = vec![0; end as usize];
        let mut extents: Vec<Range<u64>> = Vec::new();
        let mut rest = bytes.as_mut_slice();
        for structure in structures {
            for (index, extent) in structure.populated().into_iter().enumerate() {
                let gap = extent.start - extents.last().map_or(0, |before| before.end);
                let (part, after) = rest[gap as usize..].split_at_mut((extent.end - extent.start) as usize);
                structure.populate(index, part, stop);
                rest = after;
                extents.push(extent);
            }
        }
        Self { bytes, extents }
    }

    /// Every byte from address 0 to [`BaseImage::end`]; bytes that were never written are zero.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
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
        self.bytes[line.address() as usize..].first_chunk()
    }

    fn populated(&self, line: Line) -> bool {
        let address = line.address();
        let after = self.extents.partition_point(|extent| extent.start <= address);
        after > 0 && address + LINE_BYTES <= self.extents[after - 1].end
    }

    fn end(&self) -> u64 {
        self.bytes.len() as u64
    }
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
        let base = Base { bytes: vec![1; 1024], extents: vec![64..192, 512..576] };
        let populated: Vec<u64> = (0..16).filter(|&line| base.populated(Line(line))).collect();
        assert_eq!(populated, [1, 2, 8]);
        assert_eq!(base.line(Line(1)), Some(&[1; 64]));
        assert_eq!(base.line(Line(3)), None);
        assert_eq!(base.line(Line(1 << 40)), None);
    }
}

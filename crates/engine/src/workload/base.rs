//! The populated memory before timing begins: plaintext, never modified, shared by all designs of a comparison.
//!
//! What lies between programs whose cores have banks of their own is not in it.

use super::initial::{InitialContents, Part};
use crate::config::ByteSize;
use crate::kernel::{ConfigError, HostMemory};
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes, PAGE_BYTES, mask_from_ranges};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Free host memory that a footprint needs, as a percentage of it: the runs' copy-on-write pages need more.
const HOST_MEMORY_PERCENT: u64 = 120;

/// A page of memory that no program has.
static NO_PAGE: BasePage = [0; PAGE_BYTES as usize];

type BasePage = [u8; PAGE_BYTES as usize];

/// The populated bytes of all cores. A page is made when it is first read, so host memory and time follow what runs
/// access and not the footprint.
pub struct Base {
    /// The addresses of the programs, in whole pages, ascending and disjoint, each with the number of pages before it.
    regions: Vec<(Range<u64>, usize)>,
    /// The populated extents, ascending and disjoint.
    extents: Vec<Extent>,
    /// The pages of all regions, one region after another.
    pages: Vec<OnceLock<Box<BasePage>>>,
}

/// Adjacent populated bytes, and what knows them.
struct Extent {
    addresses: Range<u64>,
    contents: Arc<dyn InitialContents>,
    /// Index among its extents.
    index: usize,
}

impl Extent {
    /// The numbers of the lines that it has whole.
    fn lines(&self) -> Range<u64> {
        self.addresses.start.div_ceil(LINE_BYTES)..self.addresses.end / LINE_BYTES
    }
}

impl Base {
    /// `contents`, which are in the order of their addresses, in the ascending `regions`.
    ///
    /// # Errors
    /// The host has too little memory for them.
    pub(super) fn new(contents: &[Arc<dyn InitialContents>], regions: &[Range<u64>]) -> Result<Self, ConfigError> {
        let bytes = |range: &Range<u64>| range.end - range.start;
        let populated = contents.iter().flat_map(|contents| contents.populated()).map(|extent| bytes(&extent)).sum();
        fits_host_memory(populated, regions.iter().map(bytes).sum(), HostMemory::ask())?;
        Ok(Self::of(contents, regions))
    }

    pub(super) fn of(contents: &[Arc<dyn InitialContents>], regions: &[Range<u64>]) -> Self {
        let mut count = 0;
        let placed = regions.iter().map(|region| {
            let before = count;
            count += ((region.end - region.start) / PAGE_BYTES) as usize;
            (region.clone(), before)
        });
        let regions: Vec<_> = placed.collect();
        let extents_of = |contents: &Arc<dyn InitialContents>| {
            let contents = Arc::clone(contents);
            let extents = contents.populated().into_iter().enumerate();
            extents.map(move |(index, addresses)| Extent { addresses, contents: Arc::clone(&contents), index })
        };
        let extents = contents.iter().flat_map(extents_of).collect();
        Self { regions, extents, pages: (0..count).map(|_| OnceLock::new()).collect() }
    }

    /// Every byte of every program's memory, in the order of addresses; bytes that were never written are zero.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> Vec<u8> {
        let pages = self.regions.iter().flat_map(|(region, _)| region.clone().step_by(PAGE_BYTES as usize));
        pages.flat_map(|address| self.page(address)).copied().collect()
    }

    /// The bytes from `address` to the end of its page.
    pub(super) fn rest_of_page(&self, address: u64) -> &[u8] {
        &self.page(address)[(address % PAGE_BYTES) as usize..]
    }

    /// The populated extents, ascending and disjoint.
    #[cfg(test)]
    pub(super) fn extents(&self) -> impl Iterator<Item = &Range<u64>> {
        self.extents.iter().map(|extent| &extent.addresses)
    }

    /// The page of `address`.
    fn page(&self, address: u64) -> &BasePage {
        let Some(page) = place(&self.regions, address).map(|place| &self.pages[place]) else { return &NO_PAGE };
        if let Some(made) = page.get() {
            return made;
        }
        let start = address - address % PAGE_BYTES;
        match self.extents_from(start).next() {
            Some(extent) if extent.addresses.start < start + PAGE_BYTES => page.get_or_init(|| self.populate(start)),
            _ => &NO_PAGE,
        }
    }

    /// The extents that end after `address`.
    fn extents_from(&self, address: u64) -> impl Iterator<Item = &Extent> {
        self.extents[self.extents.partition_point(|extent| extent.addresses.end <= address)..].iter()
    }

    /// The populated bytes of the page at `start`.
    fn populate(&self, start: u64) -> Box<BasePage> {
        let mut page = Box::new(NO_PAGE);
        let end = start + PAGE_BYTES;
        for Extent { addresses, contents, index } in
            self.extents_from(start).take_while(|extent| extent.addresses.start < end)
        {
            let part = addresses.start.max(start)..addresses.end.min(end);
            contents.populate(
                *index,
                &mut Part {
                    before: part.start - addresses.start,
                    extent: addresses.end - addresses.start,
                    bytes: &mut page[(part.start - start) as usize..(part.end - start) as usize],
                },
            );
        }
        page
    }
}

impl BaseImage for Base {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        if !self.populated(line) {
            return None;
        }
        self.rest_of_page(line.address()).first_chunk()
    }

    fn populated(&self, line: Line) -> bool {
        self.extents_from(line.address()).next().is_some_and(|extent| extent.lines().contains(&line.0))
    }

    fn populated_mask(&self, lines: Range<u64>) -> u64 {
        let extents = self.extents_from(lines.start * LINE_BYTES);
        mask_from_ranges(lines, extents.map(Extent::lines).filter(|lines| !lines.is_empty()))
    }

    fn populated_lines(&self) -> Vec<Range<u64>> {
        self.extents.iter().map(Extent::lines).filter(|lines| !lines.is_empty()).collect()
    }

    fn end(&self) -> u64 {
        self.regions.last().map_or(0, |(region, _)| region.end)
    }
}

/// Which of the pages of `regions` has the byte at `address`.
fn place(regions: &[(Range<u64>, usize)], address: u64) -> Option<usize> {
    let (region, before) = regions.get(regions.partition_point(|(region, _)| region.end <= address))?;
    region.contains(&address).then(|| before + ((address - region.start) / PAGE_BYTES) as usize)
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
    fn footprint_needs_a_fifth_more_than_itself() {
        let host = |available| HostMemory { total: Some(1_000), available };
        assert!(fits_host_memory(100, 1_000, host(Some(120))).is_ok());
        assert!(fits_host_memory(100, 1_000, host(Some(119))).unwrap_err().0.contains("does not fit in this machine"));
        assert!(fits_host_memory(100, 1_001, host(None)).unwrap_err().0.contains("room for the transactions"));
        assert!(fits_host_memory(u64::MAX, 1_000, host(None)).is_ok());
    }

    /// Bytes that say their offset in their extent.
    struct Counted(Vec<Range<u64>>);

    impl InitialContents for Counted {
        fn populated(&self) -> Vec<Range<u64>> {
            self.0.clone()
        }
        fn populate(&self, extent: usize, part: &mut Part<'_>) {
            assert_eq!(part.extent, self.0[extent].end - self.0[extent].start);
            for (place, byte) in part.bytes.iter_mut().enumerate() {
                *byte = (1 + extent as u64 * 100 + (part.before + place as u64) % 97) as u8;
            }
        }
    }

    fn base(extents: &[Range<u64>], regions: &[Range<u64>]) -> Base {
        Base::of(&[Arc::new(Counted(extents.to_vec()))], regions)
    }

    #[test]
    fn only_lines_inside_an_extent_are_populated() {
        let base = base(&[64..192, 512..576], std::slice::from_ref(&(0..4096)));
        let populated: Vec<u64> = (0..16).filter(|&line| base.populated(Line(line))).collect();
        assert_eq!(populated, [1, 2, 8]);
        for lines in [0..16, 1..3, 2..9, 3..8, 8..72] {
            let asked = lines.clone().filter(|line| populated.contains(line));
            let expected = asked.fold(0, |mask, line| mask | 1 << (line - lines.start));
            assert_eq!(base.populated_mask(lines.clone()), expected, "{lines:?}");
        }
        assert_eq!(base.line(Line(1)).map(|bytes| bytes[..2].to_vec()), Some(vec![1, 2]));
        assert_eq!(base.line(Line(8)).map(|bytes| bytes[0]), Some(101));
        assert_eq!(base.line(Line(3)), None);
        assert_eq!(base.line(Line(1 << 40)), None);
    }

    #[test]
    fn page_is_made_when_it_is_first_read() {
        let base = base(&[64..3 * 4096 + 64, 20_480..20_544], std::slice::from_ref(&(0..32_768)));
        let made = |base: &Base| -> Vec<usize> {
            (0..base.pages.len()).filter(|&page| base.pages[page].get().is_some()).collect()
        };
        assert!(base.populated(Line(0)) || base.populated(Line(65)));
        assert_eq!(made(&base), [0; 0], "asking whether a line is populated makes nothing");
        assert_eq!(base.rest_of_page(2 * 4096 + 5)[0], (1 + (2 * 4096 + 5 - 64) % 97) as u8);
        assert_eq!(base.rest_of_page(4 * 4096 + 5), [0; 4091]);
        assert_eq!(made(&base), [2], "a page without populated bytes is not kept");
        let whole = base.bytes();
        assert_eq!(whole[3 * 4096 + 63], (1 + (3 * 4096 - 1) % 97) as u8);
        assert_eq!(whole[3 * 4096 + 64..20_480].iter().max(), Some(&0));
        assert_eq!(made(&base), [0, 1, 2, 3, 5]);
    }

    #[test]
    fn place_is_found_up_to_the_edges_of_every_region() {
        let regions = [(0..4096, 0), (4096..8192, 1), (1 << 30..(1 << 30) + 4096, 2)];
        let at = |address| place(&regions, address);
        assert_eq!([0, 4095, 4096, 8191].map(at), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!([8192, (1 << 30) - 1, (1 << 30) + 4096].map(at), [None; 3]);
        assert_eq!([1 << 30, (1 << 30) + 4095].map(at), [Some(2), Some(2)]);
        let base = base(std::slice::from_ref(&(1 << 30..(1 << 30) + 4096)), &regions.map(|(region, _)| region));
        assert_eq!(base.end(), (1 << 30) + 4096);
        assert_eq!(base.rest_of_page((1 << 30) + 4000).len(), 96);
        assert_ne!(base.rest_of_page((1 << 30) + 4095), [0]);
        assert_eq!(base.rest_of_page((1 << 29) + 1), [0; 4095]);
    }
}

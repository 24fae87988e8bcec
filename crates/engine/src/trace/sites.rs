//! The places in the recorded program that its operations come from: a number for each program counter with its
//! callers, and the meaning of the number in terms of object files, which stays valid when mappings change.

use super::told::{Stack, Told};
use crate::message::{NO_SITE, Site};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The most distinct places; further operations have a place without callers, and after as many of these an unknown one.
/// Programs have thousands.
pub const SITES_MAX: usize = 1 << 16;
/// The most object files and executable mappings that are tracked. Programs have dozens.
const OBJECTS_MAX: usize = 4096;
const MAPPINGS_MAX: usize = 1 << 16;
/// The most addresses whose place is remembered. Enough for all places, unless code is mapped again and again.
const REMEMBERED_MAX: usize = 1 << 18;

/// The most callers that can be referred to by their number.
pub(super) const CALLERS_NUMBERED: usize = 1 << 16;

/// An address of code, independent of where it was mapped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// Index into [`Sites::objects`]; `None` if no object file was mapped there.
    pub object: Option<u32>,
    /// Byte offset in the object file, or the address if `object` is `None`.
    pub offset: u64,
}

/// The places of a recorded program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sites {
    /// The paths of object files.
    pub objects: Vec<Vec<u8>>,
    /// By number from 1: the code and its callers, innermost first.
    frames: Vec<Arc<[Frame]>>,
    /// The same as the recording tells it, if it names no code to look up.
    told: Vec<Stack>,
}

impl Sites {
    /// A table for tests.
    #[cfg(test)]
    pub(crate) fn made_of(objects: &[&[u8]], frames: &[&[Frame]]) -> Self {
        let objects = objects.iter().map(|path| path.to_vec()).collect();
        Sites { objects, frames: frames.iter().map(|&frames| frames.into()).collect(), told: Vec::new() }
    }

    /// The table of a recording that tells its places.
    pub(super) fn told_by(told: Vec<Stack>) -> Self {
        Sites { told, ..Sites::default() }
    }

    /// The number of sites.
    pub fn count(&self) -> Site {
        self.frames.len().max(self.told.len()) as Site
    }

    /// The code of `site` and its callers, innermost first; empty if it is not known.
    pub fn frames(&self, site: Site) -> &[Frame] {
        (site as usize).checked_sub(1).and_then(|index| self.frames.get(index)).map_or(&[], |frames| frames)
    }

    /// What the recording tells of the code of `site` and its callers, innermost first; empty if it tells nothing.
    pub fn told(&self, site: Site) -> &[Arc<Told>] {
        (site as usize).checked_sub(1).and_then(|index| self.told.get(index)).map_or(&[], |frames| frames)
    }
}

/// An executable mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Code {
    end: u64,
    object: u32,
    offset: u64,
    library: bool,
}

/// Callers that the recording has given: where they lie in [`SiteFinder::addresses`], and their number in `stacks` once it
/// has been requested.
struct Given {
    range: Range<usize>,
    stack: Option<u64>,
}

/// Finds the site of each operation while the recording is read.
#[derive(Default)]
pub(super) struct SiteFinder {
    sites: Sites,
    /// Executable mappings by start address. They do not overlap.
    code: BTreeMap<u64, Code>,
    /// The addresses of the callers since SYNC, one after another.
    addresses: Vec<u64>,
    /// By number. One more, the last, has none: it holds the newest callers if there are too many.
    given: Vec<Given>,
    /// The current callers; `None`: there are none.
    in_force: Option<usize>,
    stacks: FxHashMap<Box<[u64]>, u64>,
    stacks_seen: u64,
    /// Sites by program counter and stack, for the current mappings; stack 0 is for code whose callers are not
    /// recorded.
    known: FxHashMap<(u64, u64), Site>,
    numbers: FxHashMap<Arc<[Frame]>, Site>,
}

impl SiteFinder {
    /// From now on, byte `range.start + n` is byte `offset + n` of the object file at `path`.
    pub fn code(&mut self, range: Range<u64>, offset: u64, path: &[u8]) {
        let known = self.sites.objects.iter().position(|object| object == path);
        let object = known.unwrap_or(self.sites.objects.len());
        if range.is_empty() || object >= OBJECTS_MAX {
            return;
        }
        if known.is_none() {
            self.sites.objects.push(path.to_vec());
        }
        let code = Code { end: range.end, object: object as u32, offset, library: is_library(path) };
        if self.code.get(&range.start) == Some(&code) {
            // Reported again, so that reading can begin here.
            return;
        }
        self.known.clear();
        self.vacate(&range);
        if self.code.len() < MAPPINGS_MAX {
            self.code.insert(range.start, code);
        }
    }

    /// Removes `range` from the mappings.
    fn vacate(&mut self, range: &Range<u64>) {
        while let Some((&start, &old)) = self.code.range(..range.end).next_back() {
            if old.end <= range.start {
                return;
            }
            self.code.remove(&start);
            if range.end < old.end {
                let offset = old.offset.wrapping_add(range.end - start);
                self.code.insert(range.end, Code { offset, ..old });
            }
            if start < range.start {
                self.code.insert(start, Code { end: range.start, ..old });
            }
        }
    }

    /// The following code has no callers, and none has a number.
    pub fn forget_callers(&mut self) {
        self.addresses.clear();
        self.given.clear();
        self.in_force = None;
    }

    /// Sets the callers of the following code.
    pub fn callers(&mut self, addresses: impl Iterator<Item = u64>) {
        if self.given.len() > CALLERS_NUMBERED
            && let Some(last) = self.given.pop()
        {
            self.addresses.truncate(last.range.start);
        }
        let start = self.addresses.len();
        self.addresses.extend(addresses);
        self.in_force = Some(self.given.len());
        self.given.push(Given { range: start..self.addresses.len(), stack: None });
    }

    /// The following code has the callers that were given after `number` others since SYNC.
    pub fn callers_again(&mut self, number: usize) {
        debug_assert!(number < self.given.len().min(CALLERS_NUMBERED));
        self.in_force = Some(number);
    }

    /// The site of the code at `pc`; `called`: with the current callers.
    pub fn find(&mut self, pc: u64, called: bool) -> Site {
        let stack = if called { self.stack() } else { 0 };
        if let Some(&site) = self.known.get(&(pc, stack)) {
            return site;
        }
        let callers = if called { self.callers_in_force() } else { &[] };
        let frames: Arc<[Frame]> = std::iter::once(&pc).chain(callers).map(|&address| self.frame(address)).collect();
        let site = self.number(&frames).or_else(|| self.number(&frames[..1].into())).unwrap_or(NO_SITE);
        if self.known.len() >= REMEMBERED_MAX {
            self.known.clear();
        }
        self.known.insert((pc, stack), site);
        site
    }

    /// Whether the code at `pc` is that of the C library or the loader.
    pub fn is_library(&self, pc: u64) -> bool {
        self.code.range(..=pc).next_back().is_some_and(|(_, code)| pc < code.end && code.library)
    }

    /// Returns the table of all sites.
    pub fn finish(self) -> Sites {
        self.sites
    }

    fn callers_in_force(&self) -> &[u64] {
        self.in_force.map_or(&[], |index| &self.addresses[self.given[index].range.clone()])
    }

    /// The number of the current callers, from 1; 0 for none.
    fn stack(&mut self) -> u64 {
        let Some(index) = self.in_force else { return 0 };
        if let Some(stack) = self.given[index].stack {
            return stack;
        }
        if self.stacks.len() >= SITES_MAX {
            // Numbers are not reused, so that none means two stacks while it is remembered.
            self.stacks.clear();
        }
        let callers = &self.addresses[self.given[index].range.clone()];
        let stack = match self.stacks.get(callers) {
            Some(&stack) => stack,
            None => {
                self.stacks_seen += 1;
                self.stacks.insert(callers.into(), self.stacks_seen);
                self.stacks_seen
            }
        };
        self.given[index].stack = Some(stack);
        stack
    }

    fn frame(&self, address: u64) -> Frame {
        match self.code.range(..=address).next_back() {
            Some((&start, code)) if address < code.end => {
                Frame { object: Some(code.object), offset: code.offset.wrapping_add(address - start) }
            }
            _ => Frame { object: None, offset: address },
        }
    }

    fn number(&mut self, frames: &Arc<[Frame]>) -> Option<Site> {
        if let Some(&site) = self.numbers.get(frames) {
            return Some(site);
        }
        let most = if frames.len() > 1 { SITES_MAX } else { 2 * SITES_MAX };
        if self.sites.frames.len() >= most {
            return None;
        }
        self.sites.frames.push(Arc::clone(frames));
        let site = self.sites.frames.len() as Site;
        self.numbers.insert(Arc::clone(frames), site);
        Some(site)
    }
}

/// Whether an object file is the C library or the loader, by the names that these have: glibc's, of older versions as well,
/// and musl's.
fn is_library(path: &[u8]) -> bool {
    const NAMES: [&[u8]; 7] =
        [b"libc.so", b"libc-2.", b"libpthread.so", b"libpthread-2.", b"ld-linux", b"ld-2.", b"ld-musl"];
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    NAMES.iter().any(|of| name.starts_with(of))
}

#[cfg(test)]
mod tests {
    use super::super::sites::*;

    fn at(object: u32, offset: u64) -> Frame {
        Frame { object: Some(object), offset }
    }

    #[test]
    fn place_is_a_program_counter_with_its_callers() {
        let mut finder = SiteFinder::default();
        finder.code(0x1000..0x2000, 0x100, b"/lib/a");
        finder.callers([0x1010, 0x5000].into_iter());
        let flush = finder.find(0x1004, true);
        assert_eq!((finder.find(0x1004, true), finder.find(0x1004, false)), (flush, flush + 1));
        finder.callers([0x1011].into_iter());
        assert_ne!(finder.find(0x1004, true), flush);
        finder.callers([0x1010, 0x5000].into_iter());
        assert_eq!(finder.find(0x1004, true), flush);
        finder.callers_again(1);
        assert_ne!(finder.find(0x1004, true), flush);
        finder.callers_again(0);
        assert_eq!(finder.find(0x1004, true), flush);
        finder.forget_callers();
        assert_eq!(finder.find(0x1004, true), flush + 1);
        let sites = finder.finish();
        assert_eq!(sites.frames(flush), [at(0, 0x104), at(0, 0x110), Frame { object: None, offset: 0x5000 }]);
        assert_eq!(sites.frames(flush + 1), [at(0, 0x104)]);
        assert!(sites.frames(NO_SITE).is_empty() && sites.frames(99).is_empty());
    }

    #[test]
    fn callers_beyond_the_numbered_ones_take_no_memory() {
        let mut finder = SiteFinder::default();
        for number in 0..CALLERS_NUMBERED as u64 + 10 {
            finder.callers([number, number].into_iter());
        }
        let last = finder.find(0x1000, true);
        assert_eq!(finder.addresses.len(), 2 * (CALLERS_NUMBERED + 1));
        finder.callers_again(CALLERS_NUMBERED - 1);
        let numbered = finder.find(0x1000, true);
        let sites = finder.finish();
        assert_eq!(sites.frames(last)[1].offset, CALLERS_NUMBERED as u64 + 9);
        assert_eq!(sites.frames(numbered)[1].offset, CALLERS_NUMBERED as u64 - 1);
    }

    #[test]
    fn newest_mapping_holds_and_older_ones_keep_their_meaning() {
        let mut finder = SiteFinder::default();
        finder.code(0x1000..0x4000, 0, b"/lib/a");
        let before = finder.find(0x2004, false);
        finder.code(0x2000..0x3000, 0x40, b"/lib/b");
        let (left, middle, right) =
            (finder.find(0x1ffe, false), finder.find(0x2004, false), finder.find(0x3000, false));
        let sites = finder.finish();
        assert_eq!(sites.frames(before), [at(0, 0x1004)]);
        assert_eq!([left, middle, right].map(|site| sites.frames(site)[0]), [at(0, 0xffe), at(1, 0x44), at(0, 0x2000)]);
    }

    #[test]
    fn library_and_the_loader_are_known_by_their_names() {
        let mut finder = SiteFinder::default();
        finder.code(0x1000..0x2000, 0, b"/lib/x86_64-linux-gnu/libc.so.6");
        finder.code(0x3000..0x4000, 0, b"/lib64/ld-linux-x86-64.so.2");
        finder.code(0x5000..0x6000, 0, b"/opt/libc.so/mylibc.so");
        finder.code(0x3800..0x3900, 0, b"/opt/libcache.so");
        let inside = [0xfff, 0x1000, 0x1fff, 0x2000, 0x3000, 0x3800, 0x3900, 0x5000].map(|pc| finder.is_library(pc));
        assert_eq!(inside, [false, true, true, false, true, false, true, false]);
    }

    #[test]
    fn places_beyond_the_limit_have_no_callers_and_then_are_unknown() {
        let mut finder = SiteFinder::default();
        finder.callers([0x10].into_iter());
        let last = (0..=SITES_MAX as u64).map(|pc| finder.find(pc, true)).last();
        assert_eq!((last, finder.find(0, true)), (Some(SITES_MAX as Site + 1), 1));
        let last = (0..2 * SITES_MAX as u64).map(|pc| finder.find(pc, false)).last();
        assert_eq!((last, finder.find(0, true)), (Some(NO_SITE), 1));
        assert_eq!(finder.finish().frames(SITES_MAX as Site + 1).len(), 1);
    }
}

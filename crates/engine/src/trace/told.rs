//! Places that a recording itself tells, frame by frame, as a log of pmemcheck does. No object file is read for them.

use super::sites::{SITES_MAX, Sites};
use crate::message::{NO_SITE, Site};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The most bytes of text of distinct stacks that are kept; further operations have an unknown place.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// What a recording tells of a frame.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Told {
    /// Where in memory the code was.
    pub address: u64,
    /// The function, as in the program's source.
    pub function: Option<String>,
    /// The source file, with or without its folder, and the line.
    pub source: Option<(String, u32)>,
    /// Path of the object file, if that is told.
    pub object: Option<String>,
}

/// The frames of a site, innermost first.
pub(super) type Stack = Arc<[Arc<Told>]>;

/// Finds the site of each operation while the recording is read.
#[derive(Default)]
pub(super) struct ToldSites {
    known: FxHashMap<Box<[u8]>, Site>,
    bytes: usize,
    frames: FxHashSet<Arc<Told>>,
    stacks: Vec<Stack>,
}

impl ToldSites {
    /// The site with this stack; `parse` has the frames of its text.
    pub fn find(&mut self, text: &[u8], parse: impl FnOnce(&[u8]) -> Vec<Told>) -> Site {
        if let Some(&site) = self.known.get(text) {
            return site;
        }
        if text.is_empty() || self.stacks.len() >= SITES_MAX || self.bytes + text.len() > TEXT_BYTES_MAX {
            return NO_SITE;
        }
        self.bytes += text.len();
        let frames = parse(text).into_iter().map(|told| self.frame(told)).collect();
        self.stacks.push(frames);
        let site = self.stacks.len() as Site;
        self.known.insert(text.into(), site);
        site
    }

    /// The table of all sites.
    pub fn finish(self) -> Sites {
        Sites::told_by(self.stacks)
    }

    /// Frames are kept once, because most are in many stacks.
    fn frame(&mut self, told: Told) -> Arc<Told> {
        if let Some(known) = self.frames.get(&told) {
            return Arc::clone(known);
        }
        let told = Arc::new(told);
        self.frames.insert(Arc::clone(&told));
        told
    }
}

#[cfg(test)]
mod tests {
    use super::super::told::*;

    fn named(text: &[u8]) -> Vec<Told> {
        let function = Some(String::from_utf8_lossy(text).into_owned());
        vec![Told { address: 1, function, source: None, object: None }]
    }

    #[test]
    fn stacks_are_numbered_by_their_text() {
        let mut sites = ToldSites::default();
        let numbers = ["f", "g", "f", ""].map(|text| sites.find(text.as_bytes(), named));
        assert_eq!(numbers, [1, 2, 1, NO_SITE]);
        let sites = sites.finish();
        assert_eq!(sites.count(), 2);
        assert_eq!(sites.told(2)[0].function.as_deref(), Some("g"));
        assert!(sites.told(NO_SITE).is_empty() && sites.told(3).is_empty());
    }

    #[test]
    fn places_beyond_the_limits_are_unknown() {
        let mut sites = ToldSites::default();
        let last = (0..=SITES_MAX).map(|number| sites.find(&number.to_le_bytes(), named)).last();
        assert_eq!((last, sites.find(&0usize.to_le_bytes(), named)), (Some(NO_SITE), 1));
        let mut sites = ToldSites::default();
        let long = |first: u8| vec![first; TEXT_BYTES_MAX / 2 + 1];
        let found = [1, 2, 1].map(|first| sites.find(&long(first), |_| Vec::new()));
        assert_eq!(found, [1, NO_SITE, 1]);
    }
}

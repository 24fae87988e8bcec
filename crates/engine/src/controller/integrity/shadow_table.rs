//! The shadow table: what is in the metadata caches, by slot, first those of the counter cache, then those of the cache of
//! MACs and nodes. The controller has a copy of it on the chip (decision), so that an entry is written without reading.
//!
//! An entry either names its block, eight entries to a line, or it has the contents of its block and is a line of its own.
//! Then a small tree protects the table, whose nodes are on the chip and whose root is in a register. A table in which only
//! nodes have contents names a counter block in a line of its own; the tree has its counters all the same.

use super::super::interface::TreeParts;
use crate::layout::{LineTree, TreePlace, names_counters, table_name};
use crate::message::{LineBytes, MediaLine};
use crate::parts::{ShadowTable, TableScheme};
use std::sync::Arc;

/// Entries that name their block in a line.
const NAMES_IN_LINE: usize = 8;

/// What has happened to a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::controller) enum Noted {
    /// A block was brought into it.
    Filled,
    /// Its block, which was as in memory, has changed.
    FirstChanged,
    /// Its block has changed again.
    ChangedAgain,
    /// Its block is as in memory again.
    Written,
}

/// The table.
#[derive(Clone)]
pub(in crate::controller) struct Table {
    kind: ShadowTable,
    lines: Vec<LineBytes>,
    contents: Option<Contents>,
}

/// What a table with the contents of blocks has in addition.
#[derive(Clone)]
struct Contents {
    scheme: Arc<dyn TableScheme>,
    tree: LineTree,
}

impl Table {
    /// The table of `tree`, with `slots` entries; `None` if it has none.
    pub fn new(tree: &TreeParts, slots: u64) -> Option<Self> {
        let contents = tree
            .table
            .as_ref()
            .map(|scheme| Contents { scheme: Arc::clone(scheme), tree: LineTree::new(slots, scheme.as_ref()) });
        let table = Self { kind: tree.parts.table, lines: Vec::new(), contents };
        (!matches!(tree.parts.table, ShadowTable::None | ShadowTable::StaleBits)).then_some(table)
    }

    /// The root of the tree over the table; `None` if nothing protects it.
    pub fn root(&self) -> Option<LineBytes> {
        self.contents.as_ref().map(|contents| contents.tree.root())
    }

    /// Hashes that one change of a block needs: its entry and the nodes above the entry, if it has contents.
    pub fn levels_with_change(&self) -> usize {
        self.contents.as_ref().map_or(0, |contents| 1 + contents.tree.levels())
    }

    /// The line of the table that is to be written when what is `noted` has happened to `slot`, which holds `block` of
    /// `media`. `bytes`: whether real bytes are moved.
    pub fn note(
        &mut self,
        slot: usize,
        media: MediaLine,
        block: &LineBytes,
        noted: Noted,
        bytes: bool,
    ) -> Option<(MediaLine, LineBytes)> {
        let wanted = match self.kind {
            ShadowTable::None | ShadowTable::StaleBits => false,
            ShadowTable::NodeContents | ShadowTable::KeptNodeContents | ShadowTable::UncheckedCounters => {
                return self.note_apart(slot, media, block, noted, bytes);
            }
            ShadowTable::OnFill => noted == Noted::Filled,
            ShadowTable::OnDirty | ShadowTable::Stale => noted == Noted::FirstChanged,
            ShadowTable::Contents => noted != Noted::Written,
            ShadowTable::KeptContents => matches!(noted, Noted::FirstChanged | Noted::ChangedAgain),
        };
        if !wanted {
            return None;
        }
        let changed = matches!(noted, Noted::FirstChanged | Noted::ChangedAgain);
        let place = TreePlace::of(media);
        match &self.contents {
            Some(Contents { scheme, .. }) => {
                let entry = match place.filter(|_| changed) {
                    Some(place) if bytes => scheme.entry(place, block),
                    // Its size and its place are all that matters.
                    Some(_) => [1; 64],
                    None => [0; 64],
                };
                self.write_contents(slot, entry, changed, bytes)
            }
            // Nothing of a line of MACs is lost that a boot would have to find.
            None => place.and_then(|_| self.write_name(slot, media)),
        }
    }

    /// As `note`, in a table in which counter blocks have names and nodes have contents.
    fn note_apart(
        &mut self,
        slot: usize,
        media: MediaLine,
        block: &LineBytes,
        noted: Noted,
        bytes: bool,
    ) -> Option<(MediaLine, LineBytes)> {
        let changed = matches!(noted, Noted::FirstChanged | Noted::ChangedAgain);
        let place = TreePlace::of(media);
        if let Some(place) = place.filter(|place| place.level == 0 && noted != Noted::Filled) {
            return self.note_counters(slot, place, block, changed, bytes);
        }
        let before = *self.line(slot);
        // A line of MACs has no entry, but it ends that of what it takes the slot of.
        let entry = match place.filter(|_| changed) {
            Some(place) if bytes => self.contents.as_ref()?.scheme.entry(place, block),
            Some(place) => table_name(place.media()),
            None if noted == Noted::Written => return None,
            None if self.kind.keeps_nodes() && !names_counters(&before) => return None,
            None => [0; 64],
        };
        self.write_contents(slot, entry, place.is_some() && changed, bytes)
    }

    /// The counter block at `place`, in `slot`, is now `block`: its entry names it from its first change on, and the tree has its
    /// counters.
    fn note_counters(
        &mut self,
        slot: usize,
        place: TreePlace,
        block: &LineBytes,
        changed: bool,
        bytes: bool,
    ) -> Option<(MediaLine, LineBytes)> {
        let name = table_name(place.media());
        let before = *self.line(slot);
        if before != name && !changed {
            return None;
        }
        *self.line(slot) = name;
        let checked = self.kind != ShadowTable::UncheckedCounters;
        if let Some(Contents { scheme, tree }) = self.contents.as_mut().filter(|_| bytes) {
            let covered = if checked { scheme.entry(place, block) } else { name };
            tree.set(slot as u64, &covered, scheme.as_ref());
        }
        (before != name).then_some((MediaLine::table(slot as u64), name))
    }

    fn write_name(&mut self, slot: usize, media: MediaLine) -> Option<(MediaLine, LineBytes)> {
        let (line, first) = (slot / NAMES_IN_LINE, slot % NAMES_IN_LINE * 8);
        let entry = &mut self.line(line)[first..first + 8];
        let stays = *entry == media.code().to_le_bytes();
        let is_stale = *entry != [0; 8];
        if stays || is_stale && self.kind == ShadowTable::Stale {
            return None;
        }
        self.lines[line][first..first + 8].copy_from_slice(&media.code().to_le_bytes());
        Some((MediaLine::table(line as u64), self.lines[line]))
    }

    /// The entry of `slot` is now `entry`. An entry that is cleared already is not written.
    fn write_contents(
        &mut self,
        slot: usize,
        entry: LineBytes,
        changed: bool,
        bytes: bool,
    ) -> Option<(MediaLine, LineBytes)> {
        let before = std::mem::replace(self.line(slot), entry);
        if before == entry && !changed {
            return None;
        }
        if let Some(contents) = self.contents.as_mut().filter(|_| bytes) {
            contents.tree.set(slot as u64, &entry, contents.scheme.as_ref());
        }
        Some((MediaLine::table(slot as u64), entry))
    }

    /// Line `number` of the table.
    fn line(&mut self, number: usize) -> &mut LineBytes {
        if self.lines.len() <= number {
            self.lines.resize(number + 1, [0; 64]);
        }
        &mut self.lines[number]
    }
}

//! A log with its addresses resolved: records in order, and the mappings at each of them.

use super::super::lacks::Lack;
use super::super::mapped_files::{Mappings, Place, RegisteredFile};
use super::super::marks;
use super::super::recording::{Act, Deed, Expected, FlushKind, Recording, StoreWay, TakeImage, Totals};
use super::super::sites::Sites;
use super::super::told::ToldSites;
use super::parse::{Edge, Record};
use super::reader::{Step, TraceReader};
use super::stack::frames;
use super::verdict::not_persistent;
use crate::kernel::ConfigError;
use crate::message::{NO_SITE, Site};
use std::ops::Range;

pub struct Walk {
    reader: TraceReader,
    mappings: Mappings,
    /// The value of the newest store, little-endian, and its size.
    stored: ([u8; 8], usize),
    /// The newest mark, and whether it is the newest act.
    mark: Vec<u8>,
    marks: bool,
    marks_set: u64,
    /// The stack of the newest record, empty if it has none, and whether any record has had one.
    stack: Vec<u8>,
    stacks: bool,
    /// Finds the sites of acts, once they are requested.
    sites: Option<ToldSites>,
}

impl Walk {
    pub fn new(reader: TraceReader) -> Self {
        Walk {
            reader,
            mappings: Mappings::default(),
            stored: ([0; 8], 0),
            mark: Vec::new(),
            marks: false,
            marks_set: 0,
            stack: Vec::new(),
            stacks: false,
            sites: None,
        }
    }

    /// The next act. Registrations take effect here and are not acts.
    fn next_act(&mut self) -> Result<Act, ConfigError> {
        self.marks = false;
        self.stack.clear();
        loop {
            let (act, problem) = match self.reader.next_step()? {
                Step::Stop => return Ok(Act::Over { cut_off: false }),
                Step::CutOff => return Ok(Act::Over { cut_off: true }),
                Step::Record(Record::Store { address, value, size, stack }) => {
                    self.stacks |= !stack.is_empty();
                    if self.sites.is_some() {
                        self.stack.extend_from_slice(stack);
                    }
                    self.stored = (value.to_le_bytes(), usize::from(size));
                    let mapped = self.mappings.check_mapped(address, u64::from(size), OUTSIDE);
                    let act = Act::Store { address, size: u32::from(size), way: StoreWay::Cached };
                    (Some(act), mapped.err())
                }
                Step::Record(Record::Flush { address, size }) => {
                    let end = address.saturating_add(size);
                    (Some(Act::Flush { address, end, kind: FlushKind::Clwb }), None)
                }
                Step::Record(Record::Fence) => (Some(Act::Fence), None),
                Step::Record(Record::DeepSync { address, length }) => {
                    (Some(Act::DeepSync { address, end: address.saturating_add(length) }), None)
                }
                Step::Record(Record::RegisterFile { path, base, size, offset }) => {
                    (None, self.mappings.register(path, base, size, offset).err())
                }
                Step::Record(Record::Marker { name, edge }) => {
                    let end = edge == Edge::End;
                    self.mark.clear();
                    self.mark.extend_from_slice(name);
                    self.mark.extend_from_slice(if end { b".END" } else { b".BEGIN" });
                    self.marks = true;
                    self.marks_set += 1;
                    (Some(marks::act(name, end).unwrap_or(Act::Nothing)), None)
                }
            };
            if let Some(expected) = problem {
                return Err(self.reader.malformed(expected));
            }
            if let Some(act) = act {
                return Ok(act);
            }
        }
    }
}

impl Recording for Walk {
    fn next_deed(&mut self, _image: TakeImage<'_>) -> Result<Deed, ConfigError> {
        self.next_act().map(Deed::from)
    }
    fn bytes(&self) -> &[u8] {
        &self.stored.0[..self.stored.1]
    }
    fn place(&mut self, address: u64) -> Option<Place> {
        self.mappings.place(address)
    }
    fn place_from(&mut self, address: u64) -> Option<(u64, Place)> {
        self.mappings.place_from(address)
    }
    fn files(&self) -> &[RegisteredFile] {
        self.mappings.files()
    }
    fn name(&self) -> &str {
        self.reader.name()
    }
    fn records(&self) -> u64 {
        self.reader.records()
    }
    fn offset(&self) -> u64 {
        self.reader.offset()
    }
    fn totals(&self) -> Totals {
        Totals { threads: 1, marks: self.marks_set, ..Totals::default() }
    }
    fn tells_sites(&self) -> bool {
        self.stacks
    }
    fn watch_sites(&mut self) {
        self.sites.get_or_insert_default();
    }
    fn site(&mut self) -> Site {
        self.sites.as_mut().map_or(NO_SITE, |sites| sites.find(&self.stack, frames))
    }
    fn take_sites(&mut self) -> Sites {
        self.sites.take().map(ToldSites::finish).unwrap_or_default()
    }
    fn not_durable(&mut self) -> Option<Vec<Range<u64>>> {
        not_persistent(self.reader.after_stop()?)
    }
    fn lacks(&self, cut_off: bool) -> Vec<Lack> {
        std::iter::once(Lack::OfPmemcheck).chain(cut_off.then_some(Lack::End)).collect()
    }
    fn mark(&self) -> Option<&[u8]> {
        self.marks.then_some(self.mark.as_slice())
    }
    fn kind(&self) -> (&'static str, &'static str) {
        ("log", "STOP")
    }
}

/// pmemcheck logs a store only if it is to registered persistent memory. So a store outside every registered file is to
/// memory whose place on the device the log does not report: a replay without it would be a different program.
const OUTSIDE: Expected = Expected("a store into a file registered earlier");

//! A log with its addresses understood: records in order, and the mappings as they are at each.

use super::mapping::Mappings;
use super::parse::{Edge, Expected, Record};
use super::reader::{Step, TraceReader};
use crate::config::ConfigError;

/// What the program did next. Addresses are still virtual; [`Walk::mappings`] says where they lead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deed {
    /// A store whose bytes are all mapped.
    Store {
        address: u64,
        value: u64,
        size: u8,
    },
    /// A flush of `[address, end)`, of which any part may be unmapped: pmemcheck logs a flush of any memory.
    Flush {
        address: u64,
        end: u64,
    },
    Fence,
    /// A flush of `[address, end)` and a fence. The documentation of libpmem and libpmem2 has a deep flush put the range
    /// in the most reliable persistence domain; the device model knows one domain, so a flush and a fence do that.
    DeepSync {
        address: u64,
        end: u64,
    },
    /// The program is in or at the end of a transactional function of libpmemobj.
    Transactional,
    /// A transaction has committed.
    Commit,
    /// The log is over.
    Over {
        cut_off: bool,
    },
}

pub(super) struct Walk {
    pub reader: TraceReader,
    pub mappings: Mappings,
}

impl Walk {
    pub fn new(reader: TraceReader) -> Self {
        Walk { reader, mappings: Mappings::default() }
    }

    /// The next deed. Registrations take effect here and are not deeds.
    pub fn next_deed(&mut self) -> Result<Deed, ConfigError> {
        loop {
            let (deed, problem) = match self.reader.next_step()? {
                Step::Stop => return Ok(Deed::Over { cut_off: false }),
                Step::CutOff => return Ok(Deed::Over { cut_off: true }),
                Step::Record(Record::Store { address, value, size }) => {
                    let mapped = is_mapped(&mut self.mappings, address, u64::from(size));
                    (Some(Deed::Store { address, value, size }), mapped.err())
                }
                Step::Record(Record::Flush { address, size }) => {
                    (Some(Deed::Flush { address, end: address.saturating_add(size) }), None)
                }
                Step::Record(Record::Fence) => (Some(Deed::Fence), None),
                Step::Record(Record::DeepSync { address, length }) => {
                    (Some(Deed::DeepSync { address, end: address.saturating_add(length) }), None)
                }
                Step::Record(Record::RegisterFile { path, base, size, offset }) => {
                    (None, self.mappings.register(path, base, size, offset).err())
                }
                Step::Record(Record::Marker { name, edge }) => (marker(name, edge), None),
            };
            if let Some(expected) = problem {
                return Err(self.reader.malformed(expected));
            }
            if let Some(deed) = deed {
                return Ok(deed);
            }
        }
    }
}

fn marker(name: &[u8], edge: Edge) -> Option<Deed> {
    if name == b"pmemobj_tx_commit" && edge == Edge::End {
        return Some(Deed::Commit);
    }
    name.starts_with(b"pmemobj_tx_").then_some(Deed::Transactional)
}

/// pmemcheck logs a store only if it hits registered persistent memory, so one outside every registered file is in
/// memory whose place on the device the log does not tell: replaying the rest would be replaying another program.
fn is_mapped(mappings: &mut Mappings, address: u64, size: u64) -> Result<(), Expected> {
    let outside = Expected("a store into a file registered earlier");
    let end = address.checked_add(size).ok_or(outside)?;
    let mut at = address;
    while at < end {
        at += mappings.place(at).ok_or(outside)?.length;
    }
    Ok(())
}

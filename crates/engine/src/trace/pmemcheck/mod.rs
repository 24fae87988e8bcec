//! The store log of pmemcheck, a text format: `reader` splits it into records, `parse` parses each, `walk` maps
//! addresses.

mod parse;
mod reader;
mod verdict;
mod walk;

pub(super) use reader::TraceReader;
pub(super) use walk::Walk;

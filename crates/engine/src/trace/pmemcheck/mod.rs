//! The store log of pmemcheck, a text format: `reader` splits it into records, `parse` parses each, `stack`
//! the stack of a store, `walk` maps addresses.

mod parse;
mod reader;
mod stack;
mod verdict;
mod walk;

pub(super) use reader::TraceReader;
pub(super) use walk::Walk;

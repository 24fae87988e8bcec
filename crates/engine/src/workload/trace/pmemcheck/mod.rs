//! The store log of pmemcheck: text, cut into records by `reader`, each parsed by `parse`, with addresses by `walk`.

mod parse;
mod reader;
mod walk;

pub(super) use reader::TraceReader;
pub(super) use walk::Walk;

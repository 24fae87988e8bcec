//! What object files say of an address in code.

/// A line, and the function that it was written in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SourceLine {
    pub file: String,
    pub line: u32,
    pub function: Option<String>,
}

/// What was found for one address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Found {
    /// The source lines, innermost inlined function first.
    pub sources: Vec<SourceLine>,
    /// The symbol, and the offset from its start.
    pub symbol: Option<(String, u64)>,
}

//! Detects the format of a trace from its first bytes: a magic number, the prefix of Valgrind's lines, the form of a
//! text line, or the form of a binary record.

use super::champsim;
use super::lines::{FirstLine, LineFormat};
use super::recorded::MAGIC;
use crate::kernel::ConfigError;

/// The formats of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    /// A stream of the project's own recorder.
    Recorded,
    /// A store log of pmemcheck.
    Pmemcheck,
    /// Instructions of ChampSim.
    Champsim,
    /// Memory lines, without a program.
    Lines(LineFormat),
}

/// Bytes of an unknown trace that an error quotes.
const QUOTED_BYTES_MAX: usize = 60;

/// The format of a trace that begins with `head`. `whole`: nothing follows. `unreadable`: what follows cannot be read.
pub(super) fn detect(name: &str, head: &[u8], whole: bool, unreadable: bool) -> Result<Format, ConfigError> {
    if head.starts_with(&MAGIC) {
        return Ok(Format::Recorded);
    }
    // Input that cannot be read at all is refused by the text reader, in its words.
    if (head.is_empty() && unreadable) || is_valgrind(head) {
        return Ok(Format::Pmemcheck);
    }
    let first = FirstLine::of(head, whole);
    if let Some(format) = first.as_ref().and_then(LineFormat::of) {
        return Ok(Format::Lines(format));
    }
    if champsim::begins_like(head) {
        return Ok(Format::Champsim);
    }
    if let Some(wrong) = first.and_then(|line| line.wrong(name)) {
        return Err(wrong);
    }
    let shown = &head[..head.len().min(QUOTED_BYTES_MAX)];
    let dots = if shown.len() < head.len() { "..." } else { "" };
    Err(ConfigError(format!(
        "{name}: not a trace: expected a recording of counterpoint, a store log of pmemcheck, a ChampSim trace, or lines \
         of NVMain (cycle R|W address data thread), Prospero (cycle R|W address size), DRAMSim2 or DRAMsim3 (address \
         READ|WRITE cycle) or Ramulator (LD|ST address), found \"{}{dots}\"",
        shown.escape_ascii()
    )))
}

/// Whether the text begins with a line of Valgrind: `==pid==`, or the same with `--` or `**`.
fn is_valgrind(head: &[u8]) -> bool {
    let marks: [&[u8]; 3] = [b"==", b"--", b"**"];
    marks.iter().any(|mark| {
        let Some(rest) = head.strip_prefix(*mark) else { return false };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && rest[digits..].starts_with(mark)
    })
}

//! What pmemcheck says after the log: which stores were not made persistent when the program ended.
//!
//! A program can tell pmemcheck that a store need not become durable, which the log does not show. So of what is not
//! durable by the log, only what is among these is lost.
//!
//! ```text
//! ==4667== |STOP
//! ==4667== Number of stores not made persistent: 1
//! ==4667== Stores not made persistent properly:
//! ==4667== [0]    at 0x400794: main (example.c:7)
//! ==4667== \tAddress: 0xfff000124\tsize: 4\tstate: DIRTY
//! ```

use std::io::{BufRead, Read};
use std::ops::Range;

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 1 << 16;
/// The most stores; of a longer list nothing is taken.
const STORES_MAX: usize = 1 << 20;

/// The addresses of the stores that `text`, what follows STOP, lists. `None` if it does not say how many there are, or
/// lists others than it says: it was cut off, or pmemcheck was told not to say it.
pub fn not_persistent(text: impl BufRead) -> Option<Vec<Range<u64>>> {
    let mut text = text;
    let mut number: Option<usize> = None;
    let mut listed = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if text.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).ok()? == 0 {
            break;
        }
        let Ok(line) = std::str::from_utf8(&line) else { continue };
        if let Some((_, found)) = line.split_once("== Number of stores not made persistent: ") {
            number = Some(found.trim().parse().ok().filter(|number| *number <= STORES_MAX)?);
        } else if number.is_some_and(|number| listed.len() < number)
            && let Some(range) = store(line)
        {
            listed.push(range);
        }
    }
    number.filter(|number| *number == listed.len()).map(|_| listed)
}

/// The addresses in `...Address: 0x123\tsize: 4\tstate: DIRTY`.
fn store(line: &str) -> Option<Range<u64>> {
    let mut fields = line.split_once("Address: 0x")?.1.split('\t');
    let start = u64::from_str_radix(fields.next()?, 16).ok()?;
    let size: u64 = fields.next()?.strip_prefix("size: ")?.parse().ok()?;
    Some(start..start.checked_add(size)?)
}

#[cfg(test)]
mod tests {
    use super::super::verdict::*;

    #[test]
    fn as_pmemcheck_says_it() {
        let none = "==7== Number of stores not made persistent: 0\n==7== ERROR SUMMARY: 0 errors\n";
        assert_eq!(not_persistent(none.as_bytes()), Some(vec![]));
        let two = "==7== Number of stores not made persistent: 2\n==7== Stores not made persistent properly:\n\
                   ==7== [0]    at 0x400794: main (example.c:7)\n==7== \tAddress: 0xfff000124\tsize: 4\tstate: DIRTY\n\
                   ==7== [1]    at 0x40079a: main (example.c:8)\n==7== \tAddress: 0xfff000140\tsize: 8\tstate: FLUSHED\n\
                   ==7== Total memory not made persistent: 12\n==7== \tAddress: 0x1\tsize: 1\tstate: DIRTY\n";
        assert_eq!(
            not_persistent(two.as_bytes()),
            Some(vec![0xf_ff00_0124..0xf_ff00_0128, 0xf_ff00_0140..0xf_ff00_0148])
        );
        for cut in [
            "",
            "==7== ERROR SUMMARY: 0 errors\n",
            "==7== Number of stores not made persistent: x\n",
            &two[..two.len() / 2],
        ] {
            assert_eq!(not_persistent(cut.as_bytes()), None, "{cut}");
        }
    }
}

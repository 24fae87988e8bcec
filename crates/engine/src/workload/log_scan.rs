//! The scan of one core's log ring, and the undo of the transaction that was in flight. The scan remembers which lines may
//! begin an entry, so that it can be repeated on a state that differs in few lines.

use super::log::{Candidate, state_word};
use super::style::Style;
use crate::message::{ByteView, LINE_BYTES, Line, ProgramLayout, ProtocolStep, RecoveryReport, ScannedLog};
use std::cmp::Reverse;

/// The lines of a ring that may begin an entry.
pub(super) struct LogScan {
    layout: ProgramLayout,
    style: Style,
    /// Newest first; those with the same number by address.
    candidates: Vec<Candidate>,
    /// The lines that are to be read, by address.
    unread: Vec<u64>,
}

impl LogScan {
    /// A scan that has read nothing yet.
    pub fn new(layout: &ProgramLayout, style: Style) -> Self {
        let unread = layout.log.clone().step_by(LINE_BYTES as usize).collect();
        Self { layout: layout.clone(), style, candidates: Vec::new(), unread }
    }

    /// Reads the lines that may have changed.
    fn read(&mut self, view: &mut dyn ByteView) {
        self.unread.sort_unstable();
        self.unread.dedup();
        let order = |candidate: &Candidate| (Reverse(candidate.number), candidate.address);
        let first = self.candidates.is_empty();
        if !first {
            self.candidates.retain(|candidate| self.unread.binary_search(&candidate.address).is_err());
        }
        for address in self.unread.drain(..) {
            let Some(candidate) = Candidate::read(view, &self.layout.log, address) else { continue };
            if first {
                self.candidates.push(candidate);
            } else {
                let place = self.candidates.partition_point(|other| order(other) < order(&candidate));
                self.candidates.insert(place, candidate);
            }
        }
        if first {
            self.candidates.sort_unstable_by_key(order);
        }
    }

    /// Whether the entry is complete, as far as the program can tell.
    fn is_whole(&self, entry: &Candidate, view: &mut dyn ByteView) -> bool {
        let heap = &self.layout.heap;
        if self.style.takes(ProtocolStep::LogEndTag) { entry.complete(view, heap) } else { entry.plausible(view, heap) }
    }
}

impl ScannedLog for LogScan {
    fn remembers(&self, line: Line) -> bool {
        self.layout.log.contains(&line.address())
    }

    fn changed(&mut self, line: Line) {
        if self.remembers(line) && self.unread.last() != Some(&line.address()) {
            self.unread.push(line.address());
        }
    }

    fn recover(&mut self, view: &mut dyn ByteView) -> RecoveryReport {
        self.read(view);
        let mut report = RecoveryReport::default();
        for candidate in &self.candidates {
            if self.is_whole(candidate, view) {
                if candidate.valid {
                    report.undone = 1;
                    report.bytes_restored = undo(candidate, view);
                }
                break;
            }
            // The scan does not reach stale headers below the newest complete entry, so this entry was being written.
            report.abandoned += u32::from(candidate.valid);
        }
        report
    }
}

/// Restores the old data, then invalidates the entry. Returns the number of bytes restored.
fn undo(entry: &Candidate, view: &mut dyn ByteView) -> u64 {
    let mut restored = 0;
    entry.for_each_record(view, |view, range, mut data| {
        let mut old = [0; LINE_BYTES as usize];
        let mut at = range.start;
        while at < range.end {
            let length = (LINE_BYTES - at % LINE_BYTES).min(range.end - at);
            let old = &mut old[..length as usize];
            view.read(data, old);
            view.write(at, old);
            at += length;
            data += length;
        }
        restored += range.end - range.start;
    });
    view.write_u64(entry.address, state_word(entry.number, false));
    restored
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LogGranularity, LogStores};
    use crate::message::{Omission, ProgramForm, pieces};
    use crate::workload::log::EntryWriter;
    use crate::workload::tests::flat::Flat;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const LOG: u64 = 16 * LINE_BYTES;

    fn scan(leave_out: Option<Omission>) -> LogScan {
        let style = Style {
            copy_bytes: 16,
            log_granularity: LogGranularity::Line,
            log_stores: LogStores::Cached,
            form: ProgramForm::Plain,
            leave_out,
        };
        LogScan::new(&ProgramLayout { core: 0, log: 0..LOG, heap: LOG..3 * LOG, volatile: 0..0 }, style)
    }

    /// A change of memory between two recoveries.
    #[derive(Clone, Debug)]
    enum Change {
        /// An entry of so many lines is written at this line, without its last lines.
        Entry { at: u64, number: u64, valid: bool, lines: u64, lacking: usize },
        /// A word is overwritten.
        Word { at: u64, value: u64 },
    }

    fn changes() -> impl Strategy<Value = Vec<Vec<Change>>> {
        let entry = (0..14u64, 0..6u64, any::<bool>(), 1..4u64, 0..3usize)
            .prop_map(|(at, number, valid, lines, lacking)| Change::Entry { at, number, valid, lines, lacking });
        let word = (0..3 * LOG / 8, any::<u64>()).prop_map(|(at, value)| Change::Word { at, value });
        prop::collection::vec(prop::collection::vec(prop_oneof![4 => entry, 1 => word], 0..4), 1..12)
    }

    /// Makes `change` in `view`; what does not fit into the ring is left out. Returns the lines that may have changed.
    fn make(change: &Change, view: &mut Flat) -> Vec<Line> {
        match *change {
            Change::Entry { at, number, valid, lines, lacking } => {
                let mut writer = EntryWriter::default();
                writer.begin(number);
                writer.record(&(LOG..LOG + lines * LINE_BYTES)).fill(number as u8 + 1);
                let mut bytes = writer.finish().to_vec();
                bytes[..8].copy_from_slice(&state_word(number, valid).to_le_bytes());
                let address = at * LINE_BYTES;
                let fits = bytes.len().saturating_sub(lacking * LINE_BYTES as usize).min((LOG - address) as usize);
                view.write(address, &bytes[..fits]);
                (at..at + bytes.len().div_ceil(LINE_BYTES as usize) as u64).map(Line).collect()
            }
            Change::Word { at, value } => {
                view.write_u64(at * 8, value);
                vec![Line::containing(at * 8)]
            }
        }
    }

    proptest! {
        #[test]
        fn repeated_scan_finds_what_a_first_one_finds(steps in changes(), tags in any::<bool>()) {
            let leave_out = (!tags).then_some(Omission::Step(ProtocolStep::LogEndTag));
            let mut memory = Flat::new(3 * LOG);
            let mut repeated = scan(leave_out);
            for step in &steps {
                for change in step {
                    make(change, &mut memory).into_iter().for_each(|line| repeated.changed(line));
                }
                let (mut once, mut again) = (memory.clone(), memory.clone());
                prop_assert_eq!(repeated.recover(&mut again), scan(leave_out).recover(&mut once));
                prop_assert!(again.0 == once.0);
            }
        }
    }

    /// Notes which lines are read.
    struct Noting {
        memory: Flat,
        read: BTreeSet<Line>,
    }

    impl ByteView for Noting {
        fn read(&mut self, address: u64, buffer: &mut [u8]) {
            self.read.extend(pieces(address, buffer.len()).map(|(line, ..)| line));
            self.memory.read(address, buffer);
        }
        fn write(&mut self, address: u64, data: &[u8]) {
            self.memory.write(address, data);
        }
    }

    #[test]
    fn repeated_scan_reads_what_has_changed_and_the_newest_entry() {
        let mut view = Noting { memory: Flat::new(3 * LOG), read: BTreeSet::new() };
        for number in 0..4 {
            let entry = Change::Entry { at: 4 * number, number, valid: false, lines: 1, lacking: 0 };
            make(&entry, &mut view.memory);
        }
        let mut repeated = scan(None);
        repeated.recover(&mut view);
        assert_eq!(view.read, (0..16).map(Line).collect());
        view.read.clear();
        repeated.changed(Line(5));
        repeated.changed(Line(40));
        repeated.recover(&mut view);
        assert_eq!(view.read, [5, 12, 13].map(Line).into());
    }
}

//! What the programs do at boot: scan each core's log ring, undo the transaction that was in flight, check.
//!
//! At most one transaction per core is in flight, so at most the newest may be undone. The scan finds the complete
//! entry with the highest number, committed or not; only if that entry is still valid is its old data restored. This
//! never undoes a committed transaction: the ring holds at least three of the largest entries, so while entry n + 1 is
//! being written entry n is complete, and its cleared valid bit was durable before n + 1 began. Older entries, even
//! stale or half-overwritten ones, have lower numbers.
//!
//! Power may fail during recovery: old data is written first and the valid bit last, so a second scan finds the same
//! entry and restores the same bytes. The view must make writes durable in program order.
//!
//! If hardware keeps the log, there is nothing to recover here: the program's ring was never written, and transactions
//! in flight are undone before programs run again.

use super::log_scan::LogScan;
use super::plan::Plan;
use super::structure::Structure;
use super::style::Style;
use crate::message::{ByteView, CoreId, ProgramLayout, ProgramRecovery, RecoveryReport, ScannedLog};
use std::sync::Arc;

/// Recovery and self-check of every core's program. Depends only on the plan.
pub struct Recovery {
    layouts: Vec<ProgramLayout>,
    structures: Vec<Arc<dyn Structure>>,
    style: Style,
}

impl Recovery {
    /// The recovery of the programs of `plan`.
    pub fn new(plan: &Plan) -> Self {
        let style = plan.config().style();
        Self { layouts: plan.layouts().to_vec(), structures: plan.structures().to_vec(), style }
    }

    /// The scan of the ring of `core`; `None` if hardware keeps the log.
    fn log_scan(&self, core: CoreId) -> Option<LogScan> {
        let scan = || LogScan::new(&self.layouts[usize::from(core)], self.style);
        (!self.style.is_logged_by_hardware()).then(scan)
    }
}

impl ProgramRecovery for Recovery {
    fn layouts(&self) -> &[ProgramLayout] {
        &self.layouts
    }

    fn recover(&self, core: CoreId, view: &mut dyn ByteView) -> RecoveryReport {
        self.log_scan(core).map_or_else(RecoveryReport::default, |mut scan| scan.recover(view))
    }

    fn scan(&self, core: CoreId) -> Option<Box<dyn ScannedLog>> {
        self.log_scan(core).map(|scan| Box::new(scan) as _)
    }

    fn check(&self, core: CoreId, view: &mut dyn ByteView) -> Result<(), String> {
        self.structures[usize::from(core)].check(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LogGranularity, LogStores};
    use crate::message::{Omission, ProgramForm, ProtocolStep};
    use crate::workload::log::{EntryWriter, state_word};
    use crate::workload::tests::flat::Flat;

    const LOG: u64 = 4096;

    fn recovery() -> Recovery {
        let layout = ProgramLayout { core: 0, log: 0..LOG, heap: LOG..3 * LOG, volatile: 0..0 };
        Recovery { layouts: vec![layout], structures: Vec::new(), style: style(ProgramForm::Plain, None) }
    }

    fn style(form: ProgramForm, leave_out: Option<Omission>) -> Style {
        Style { copy_bytes: 16, log_granularity: LogGranularity::Line, log_stores: LogStores::Cached, form, leave_out }
    }

    fn put(view: &mut Flat, address: u64, number: u64, valid: bool, old: u8) -> u64 {
        let mut writer = EntryWriter::default();
        writer.begin(number);
        writer.record(&(LOG..LOG + 64)).fill(old);
        let bytes = writer.finish();
        view.write(address, bytes);
        view.write_u64(address, state_word(number, valid));
        bytes.len() as u64
    }

    #[test]
    fn only_the_newest_complete_entry_is_undone_and_only_while_valid() {
        // (entries as (number, valid, whole), the number undone)
        type Case = (&'static [(u64, bool, bool)], Option<u64>, u32);
        let cases: [Case; 9] = [
            (&[], None, 0),
            (&[(0, true, true)], Some(0), 0),
            (&[(0, false, true)], None, 0),
            (&[(0, true, false)], None, 1),
            (&[(4, false, true), (5, true, true)], Some(5), 0),
            (&[(4, true, true), (5, false, true)], None, 0),
            (&[(4, true, true), (5, true, true)], Some(5), 0),
            (&[(4, false, true), (5, true, false)], None, 1),
            (&[(9, true, false), (8, true, false), (7, true, false), (6, true, false), (5, true, true)], Some(5), 4),
        ];
        for (entries, undone, abandoned) in cases {
            let mut view = Flat::new(3 * LOG);
            for (index, &(number, valid, whole)) in entries.iter().enumerate() {
                let address = index as u64 * 256;
                let length = put(&mut view, address, number, valid, 100 + number as u8);
                if !whole {
                    view.write_u64(address + length - 8, 0);
                }
            }
            let report = recovery().recover(0, &mut view);
            assert_eq!(report.undone, u32::from(undone.is_some()), "{entries:?}");
            assert_eq!(report.abandoned, abandoned, "{entries:?}");
            assert_eq!(report.bytes_restored, if undone.is_some() { 64 } else { 0 });
            let mut restored = [0];
            view.read(LOG + 63, &mut restored);
            assert_eq!(restored[0], undone.map_or(0, |number| 100 + number as u8), "{entries:?}");
            assert_eq!(recovery().recover(0, &mut view).undone, 0, "a second recovery undid again: {entries:?}");
        }
    }

    #[test]
    fn ring_of_a_program_that_hardware_logs_is_not_scanned() {
        let mut view = Flat::new(3 * LOG);
        put(&mut view, 0, 3, true, 100);
        let before = view.0.clone();
        let hardware = Recovery { style: style(ProgramForm::HardwareLogged, None), ..recovery() };
        assert_eq!(hardware.recover(0, &mut view), RecoveryReport::default());
        assert!(view.0 == before);
        assert_eq!(recovery().recover(0, &mut view).undone, 1);
    }

    #[test]
    fn only_a_recovery_that_knows_no_tag_undoes_a_torn_entry() {
        let mut view = Flat::new(3 * LOG);
        let length = put(&mut view, 0, 3, true, 100);
        view.write_u64(length - 8, 0);
        view.write_u64(length - 16, 0);
        assert_eq!(recovery().recover(0, &mut view).undone, 0);
        let leave_out = Some(Omission::Step(ProtocolStep::LogEndTag));
        let trusting = Recovery { style: style(ProgramForm::Plain, leave_out), ..recovery() };
        let report = trusting.recover(0, &mut view);
        assert_eq!((report.undone, report.bytes_restored), (1, 64));
        assert_eq!((view.read_u64(LOG), view.read_u64(LOG + 56)), (u64::from_le_bytes([100; 8]), 0));
    }

    #[test]
    fn ring_of_garbage_is_survived() {
        let mut random = crate::kernel::Random::stream(1, "garbage");
        for _ in 0..50 {
            let mut view = Flat::new(3 * LOG);
            for word in 0..LOG / 8 {
                // Magic in every second word: every line is a candidate of some length.
                let value = random.next_u64();
                view.write_u64(word * 8, if word % 2 == 1 { (0x756e_646f << 32) | (value % 600) } else { value });
            }
            assert_eq!(recovery().recover(0, &mut view).undone, 0);
        }
    }
}

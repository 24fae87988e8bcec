//! The undo of what hardware logged: exact steps, and boots that are interrupted at every step.

use crate::audit::CounterLayout;
use crate::audit::tests::fixture::{LOG_KEY, Machine, crypt_under};
use crate::audit::tests::log_fixture::{LINES, LogFault, Script, region};
use crate::kernel::Ps;
use crate::layout::LogLayout;
use crate::message::{Content, CounterGroup, GroupMask, MediaLine, NoObserver, Observer};
use crate::parts::RecoveryStep;
use crate::recovery::*;
use std::collections::BTreeMap;

const STEPS: &[RecoveryStep] = &[RecoveryStep::ResumeReencryption, RecoveryStep::UndoHardwareLog];
const EIGHT: CounterLayout = CounterLayout::Words { coverage: Coverage::EIGHT_LINES, bytes: 8 };
/// Minor counters that overflow while lines are restored.
const NARROW: CounterLayout = CounterLayout::Split { coverage: Coverage::PAGE, minor_bits: 2 };
const LAYOUTS: [LogLayout; 2] = [LogLayout::Records, LogLayout::Chains];

/// Runs two transactions and passes the machine to `show` after each event.
fn run(layout: LogLayout, counters: CounterLayout, show: &mut dyn FnMut(&Machine)) {
    let (mut script, _facts) = Script::new(layout, counters, LogFault::None);
    for number in 0..2 {
        script.transaction(number, &mut NoObserver, &mut |machine, _| show(machine));
    }
}

/// The media with the writes of an earlier boot.
struct Over<'a> {
    below: &'a Machine,
    written: BTreeMap<MediaLine, LineBytes>,
}

impl Media for Over<'_> {
    fn content(&self, media: MediaLine) -> Content<'_> {
        self.written.get(&media).map_or_else(|| self.below.content(media), Content::Stored)
    }
    fn stored(&self, _show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        unreachable!("no register is looked for on the media");
    }
}

#[derive(Default)]
struct Told {
    written: Vec<(MediaLine, LineBytes)>,
    reencrypted: u64,
}

impl Observer for Told {
    fn persisted(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.written.push((media, *bytes));
    }
    fn reencryption(&mut self, _now: Ps, _group: CounterGroup, _old: u64, _done: GroupMask, finished: bool) {
        self.reencrypted += u64::from(finished);
    }
}

#[test]
fn entries_are_put_back_newest_first_one_a_step_and_then_the_set_is_freed() {
    for layout in LAYOUTS {
        let (mut longest, mut all) = (0, Vec::new());
        run(layout, EIGHT, &mut |machine| {
            let snapshot = machine.snapshot(true);
            let mut boot = Boot::new(machine, &snapshot, Some(&machine.codec), STEPS, NoObserver);
            boot.load();
            let steps: Vec<BootStep> = std::iter::from_fn(|| boot.step()).collect();
            assert_eq!(steps.is_empty(), machine.log.is_empty());
            if steps.len() > longest {
                longest = steps.len();
                all = steps;
            }
            // Before the log is freed, the transaction is undone completely.
            if !machine.log.is_empty() {
                let numbers = LINES.map(|line| boot.line(line)[0] >> 4);
                assert_eq!(numbers, [numbers[0]; 9], "{layout:?}");
            }
        });
        let order = [0, 8, 7, 6, 5, 4, 3, 2, 1, 0].map(|index| BootStep::Undone(LINES[index]));
        assert_eq!(all, [&order[..], &[BootStep::LogFreed(0)]].concat(), "{layout:?}");
    }
}

#[test]
fn undo_that_is_cut_short_anywhere_is_done_again_with_the_same_result() {
    for (layout, counters) in LAYOUTS.into_iter().flat_map(|layout| [(layout, EIGHT), (layout, NARROW)]) {
        let (mut cut, mut reencrypted, mut shown) = (0, 0, 0);
        run(layout, counters, &mut |machine| {
            let snapshot = machine.snapshot(true);
            let mut whole = Boot::new(machine, &snapshot, Some(&machine.codec), STEPS, NoObserver);
            let steps: Vec<BootStep> = std::iter::from_fn(|| whole.step()).collect();
            // Every third step, and other ones in the next state.
            shown += 1;
            for (stop, next) in steps.iter().enumerate().skip(shown % 3).step_by(3) {
                let mut first = Boot::new(machine, &snapshot, Some(&machine.codec), STEPS, Told::default());
                let mut again = AdrSnapshot { wpq: Vec::new(), ..snapshot.clone() };
                let mut over = Over { below: machine, written: BTreeMap::new() };
                for (n, step) in (0..stop).map(|n| (n, first.step().expect("as many steps as before"))) {
                    match step {
                        BootStep::Drained(_) => drop(over.written.insert(snapshot.wpq[n].0, snapshot.wpq[n].1)),
                        BootStep::LogFreed(core) => again.log.retain(|set| set.core != core),
                        _ => {}
                    }
                }
                again.wpq.extend(snapshot.wpq.iter().skip(stop).copied());
                let told = first.into_observer();
                over.written.extend(told.written);
                reencrypted += told.reencrypted;
                let mut second = Boot::new(&over, &again, Some(&machine.codec), STEPS, NoObserver);
                second.finish();
                assert!(
                    LINES.iter().all(|&line| second.line(line) == whole.line(line)),
                    "{layout:?}, {counters:?}, cut at {stop}"
                );
                cut += usize::from(matches!(next, BootStep::Undone(_)));
            }
        });
        assert!(cut > 100, "{cut} boots were cut short in the undo");
        assert_eq!(reencrypted > 0, counters == NARROW, "pages that undone lines overflowed: {reencrypted}");
    }
}

#[test]
fn log_lines_of_chains_read_as_they_lie_and_tell_no_next_pad() {
    for layout in LAYOUTS {
        let (mut script, _facts) = Script::new(layout, EIGHT, LogFault::None);
        script.transaction(0, &mut NoObserver, &mut |_, _| ());
        let machine = &script.machine;
        let snapshot = machine.snapshot(true);
        let mut boot = Boot::new(machine, &snapshot, Some(&machine.codec), STEPS, NoObserver);
        boot.finish();
        let header = region(layout).header(0, 0);
        let Content::Stored(stored) = machine.content(MediaLine::data(header)) else { panic!("the header is stored") };
        let pads: Vec<LineBytes> = boot.next_pads(header).take(1).collect();
        match layout {
            LogLayout::Chains => assert_eq!((boot.line(header), pads), (*stored, Vec::new())),
            LogLayout::Records => {
                assert_ne!(boot.line(header), *stored);
                assert_eq!(pads, [crypt_under(&LOG_KEY, header, machine.register + 1, 0, &[0; 64])]);
            }
        }
        assert!(boot.next_pads(LINES[0]).next().is_some(), "data has counters in either layout");
    }
}

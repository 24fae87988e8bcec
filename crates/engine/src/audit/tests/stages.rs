//! The counts by stage, compared with an observer that keeps all reports and computes each cell from them at every
//! event: it finds what a ciphertext means by encrypting everything that was ever written with every counter.

use super::fixture::*;
use crate::audit::{Auditor, PartTally, StageTally};
use crate::kernel::Ps;
use crate::message::{BaseImage, CoreId, CounterGroup, GroupMask, Line, LineBytes, MediaLine, Observer};
use crate::recovery::{LineCodec, ReencryptionStatus};
use std::collections::BTreeMap;

/// The lines of the test program's log entry, and those that it writes in place.
const LOG: [Line; 3] = [Line(0), Line(1), Line(2)];
const STAGES: [&str; 3] = ["prepare", "mutate", "commit"];
/// Major and minor counters that a run of three transactions can reach, and more.
const MAJORS: std::ops::Range<u64> = 0..5;
const MINORS: std::ops::Range<u8> = 0..4;

/// A line at one crash point.
struct Seen {
    stage: usize,
    line: Line,
    content: Option<LineBytes>,
    kept: bool,
    counter_kept: bool,
}

/// An observer that keeps all reports.
struct Naive {
    codec: TestCodec,
    status_survives: bool,
    versions: BTreeMap<Line, Vec<LineBytes>>,
    flushed: BTreeMap<Line, usize>,
    covered: BTreeMap<Line, usize>,
    written: BTreeMap<Line, Vec<LineBytes>>,
    media: BTreeMap<u64, LineBytes>,
    status: Option<ReencryptionStatus>,
    fences: Option<usize>,
    /// What the log held at the first fence of the transaction in flight.
    prepared: BTreeMap<Line, LineBytes>,
    seen: Vec<Seen>,
    tallies: [StageTally; 3],
}

impl Naive {
    fn new(codec: TestCodec, status_survives: bool) -> Self {
        let part = Some(PartTally { counter_lost: Some(0), ..PartTally::default() });
        Self {
            codec,
            status_survives,
            versions: BTreeMap::new(),
            flushed: BTreeMap::new(),
            covered: BTreeMap::new(),
            written: BTreeMap::new(),
            media: BTreeMap::new(),
            status: None,
            fences: None,
            prepared: BTreeMap::new(),
            seen: Vec::new(),
            tallies: STAGES.map(|stage| StageTally {
                stage,
                crash_points: 0,
                failed: 0,
                unrecoverable: 0,
                log: part,
                data: part,
            }),
        }
    }

    fn base(&self, line: Line) -> LineBytes {
        self.codec.base.line(line).copied().unwrap_or([0; 64])
    }

    fn versions(&self, line: Line) -> Vec<LineBytes> {
        self.versions.get(&line).cloned().unwrap_or_else(|| vec![self.base(line)])
    }

    /// What lies on the media, and the counter that it was encrypted with.
    fn reading(&self, line: Line) -> Option<(LineBytes, (u64, u8))> {
        let Some(ciphertext) = self.media.get(&MediaLine::data(line).code()) else {
            return Some((self.base(line), (0, u8::from(self.codec.base.populated(line)))));
        };
        let mut plaintexts = self.written.get(&line).cloned().unwrap_or_default();
        plaintexts.push(self.base(line));
        plaintexts.into_iter().find_map(|plaintext| {
            let counters = MAJORS.flat_map(|major| MINORS.map(move |minor| (major, minor)));
            let mut counters = counters.filter(|&(major, minor)| crypt(line, major, minor, &plaintext) == *ciphertext);
            counters.next().map(|counter| (plaintext, counter))
        })
    }

    fn durable_counter(&self, line: Line) -> (u64, u8) {
        let block = self.codec.coverage().block(line);
        let stored = self.media.get(&MediaLine::counter(block).code()).copied();
        let (major, minor) = self.codec.counter(line, &stored.unwrap_or_else(|| self.codec.base_block(block)));
        let status = self.status.filter(|status| self.status_survives && status.group.line(0).page() == line.page());
        match status {
            Some(status) => (status.old_major + (status.done >> line.index_in_page() & 1) as u64, minor),
            None => (major, minor),
        }
    }

    fn crash_point(&mut self, recovers: bool, heap_is_bad: bool) {
        let Some(stage) = self.fences.map(|fences| fences.min(2)) else { return };
        self.tallies[stage].crash_points += 1;
        self.tallies[stage].failed += u64::from(!recovers);
        self.tallies[stage].unrecoverable += u64::from(heap_is_bad);
        for line in LOG.into_iter().chain(DATA) {
            let reading = self.reading(line);
            let content = reading.map(|(content, _)| content);
            let allowed = &self.versions(line)[self.covered.get(&line).copied().unwrap_or(0)..];
            self.seen.push(Seen {
                stage,
                line,
                content,
                kept: content.is_some_and(|content| allowed.contains(&content)),
                counter_kept: reading.is_some_and(|(_, counter)| counter == self.durable_counter(line)),
            });
        }
    }

    /// Only the end of a transaction shows what it was to write.
    fn resolve(&mut self) {
        for seen in std::mem::take(&mut self.seen) {
            let of_log = LOG.contains(&seen.line);
            let target =
                if of_log { self.prepared[&seen.line] } else { *self.versions(seen.line).last().expect("the base") };
            let tally = &mut self.tallies[seen.stage];
            let part = if of_log { &mut tally.log } else { &mut tally.data };
            let part = part.as_mut().expect("both are looked at");
            let writes = seen.stage == usize::from(!of_log);
            part.lines += 1;
            part.pending += u64::from(writes && seen.content != Some(target));
            part.content_lost += u64::from(!seen.kept);
            *part.counter_lost.as_mut().expect("memory is encrypted") += u64::from(!seen.counter_kept);
        }
    }
}

/// Reports to both observers.
struct Both(Auditor, Naive);

impl Observer for Both {
    fn stored(&mut self, now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]) {
        self.0.stored(now, core, line, offset, data);
        let mut versions = self.1.versions(line);
        let mut version = *versions.last().expect("the base");
        version[offset..offset + data.len()].copy_from_slice(data);
        versions.push(version);
        self.1.versions.insert(line, versions);
    }
    fn flushed(&mut self, now: Ps, core: CoreId, line: Line) {
        self.0.flushed(now, core, line);
        self.1.flushed.insert(line, self.1.versions(line).len() - 1);
    }
    fn fenced(&mut self, now: Ps, core: CoreId) {
        self.0.fenced(now, core);
        self.1.covered.append(&mut self.1.flushed.clone());
        if self.1.fences == Some(0) {
            self.1.prepared = LOG.map(|line| (line, *self.1.versions(line).last().expect("the base"))).into();
        }
        self.1.fences = self.1.fences.map(|fences| fences + 1);
    }
    fn transaction_began(&mut self, now: Ps, core: CoreId, number: u64) {
        self.0.transaction_began(now, core, number);
        self.1.fences = Some(0);
    }
    fn transaction_ended(&mut self, now: Ps, core: CoreId, number: u64) {
        self.0.transaction_ended(now, core, number);
        self.1.fences = None;
        self.1.resolve();
    }
    fn write_arrived(&mut self, now: Ps, line: Line, plaintext: &LineBytes) {
        self.0.write_arrived(now, line, plaintext);
        self.1.written.entry(line).or_default().push(*plaintext);
    }
    fn persisted(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.0.persisted(now, media, bytes);
        self.1.media.insert(media.code(), *bytes);
    }
    fn reencryption(&mut self, now: Ps, group: CounterGroup, old_major: u64, done: GroupMask, finished: bool) {
        self.0.reencryption(now, group, old_major, done, finished);
        self.1.status = (!finished).then_some(ReencryptionStatus { group, old_major, done });
    }
    fn event_over(&mut self, now: Ps) {
        self.0.event_over(now);
        let recovers = self.0.judge();
        self.0.tally(recovers);
        let heap_is_bad = self.0.transactions.as_ref().is_some_and(|transactions| transactions.is_bad(0));
        self.1.crash_point(recovers, heap_is_bad);
    }
}

/// Both tallies of `transactions` of the test program, with a minor counter that overflows.
fn tallied(
    transactions: u64,
    overflow: OverflowStyle,
    survives: bool,
    style: impl FnMut(u64) -> WriteStyle,
) -> [Vec<StageTally>; 2] {
    let mut machine = Machine::new(2);
    machine.overflow = overflow;
    let (mut program, facts) = undo_pair(&machine.codec.base, transactions, ProgramFault::default());
    let mut auditor = machine.audited(true, survives, Some(facts));
    auditor.tally_stages();
    let mut both = Both(auditor, Naive::new(TestCodec::split(machine.codec.base.clone(), 2), survives));
    machine.run(&mut program, &mut both, style, &mut |_, _| {});
    [both.0.stages(), both.1.tallies.to_vec()]
}

#[test]
fn at_every_crash_point_both_tallies_find_the_same() {
    use WriteStyle::*;
    for overflow in [OverflowStyle::Hardened, OverflowStyle::ResetAtOnce] {
        for survives in [true, false] {
            for (n, styles) in
                [[Pair; 3], [CounterFirst; 3], [CounterKept; 3], [Dropped; 3], [Pair, CounterKept, Dropped]]
                    .into_iter()
                    .enumerate()
            {
                // The last style mixes them, not in step with the six writes of a transaction.
                let style = |write: u64| styles[(write * write % 7 % 3) as usize];
                let [incremental, naive] = tallied(3, overflow, survives, style);
                assert_eq!(incremental, naive, "{overflow:?}, register survives: {survives}, styles {n}");
            }
        }
    }
}

fn of<'a>(tallies: &'a [StageTally], stage: &str) -> (&'a StageTally, PartTally, PartTally) {
    let tally = tallies.iter().find(|tally| tally.stage == stage).expect("three stages");
    (tally, tally.log.expect("looked at"), tally.data.expect("looked at"))
}

#[test]
fn pairs_lose_nothing_and_what_a_stage_writes_is_pending_in_it_alone() {
    let [tallies, _] = tallied(2, OverflowStyle::Hardened, true, |_| WriteStyle::Pair);
    for stage in STAGES {
        let (tally, log, data) = of(&tallies, stage);
        assert!(tally.crash_points > 0 && tally.failed == 0, "{tally:?}");
        assert_eq!((log.lines, data.lines), (3 * tally.crash_points, 2 * tally.crash_points));
        for part in [log, data] {
            assert_eq!((part.content_lost, part.counter_lost), (0, Some(0)), "{tally:?}");
        }
        assert_eq!((log.pending > 0, data.pending > 0), (stage == "prepare", stage == "mutate"), "{tally:?}");
    }
}

#[test]
fn counters_that_stay_in_the_cache_are_lost_where_the_papers_table_says_unknown() {
    // Table 1 of secpm: one transaction on intact memory.
    let [tallies, _] = tallied(1, OverflowStyle::Hardened, true, |_| WriteStyle::CounterKept);
    let lost = |part: PartTally| (part.content_lost > 0, part.counter_lost > Some(0));
    let (prepare, _, data) = of(&tallies, "prepare");
    assert_eq!((prepare.unrecoverable, lost(data)), (0, (false, false)), "{prepare:?}");
    let (mutate, log, _) = of(&tallies, "mutate");
    assert_eq!((mutate.failed, lost(log)), (mutate.crash_points, (false, true)), "{mutate:?}");
    assert!(mutate.unrecoverable > 0 && mutate.unrecoverable < mutate.failed, "{mutate:?}");
    let (commit, log, data) = of(&tallies, "commit");
    assert_eq!((commit.failed, commit.unrecoverable), (commit.crash_points, commit.crash_points), "{commit:?}");
    assert_eq!((commit.failed, lost(log), lost(data)), (commit.crash_points, (false, true), (false, true)));
    // What never persists is lost with its content, and its old counter is still there.
    let [tallies, _] = tallied(1, OverflowStyle::Hardened, true, |_| WriteStyle::Dropped);
    let (_, log, _) = of(&tallies, "mutate");
    assert_eq!(lost(log), (true, false));
}

#[test]
fn crash_point_that_only_a_boot_shows_to_fail_is_counted_once() {
    let machine = Machine::new(2);
    let (mut program, facts) = undo_pair(&machine.codec.base, 1, ProgramFault::default());
    let mut auditor = machine.audited(true, true, Some(facts));
    auditor.tally_stages();
    let mut buffer = crate::message::OpBuffer::default();
    assert!(crate::message::OpSource::next_transaction(&mut program, &mut buffer));
    auditor.transaction_began(0, 0, 0);
    auditor.event_over(0);
    assert!(auditor.judge());
    auditor.tally(true);
    auditor.tallied_point_failed();
    let tallies = auditor.stages();
    assert_eq!((tallies[0].crash_points, tallies[0].failed), (1, 1));
}

//! The path to a power failure: after which step of which recovery power was lost before, also in words.

use crate::assembly::memory_map;
use crate::audit::BootWatch;
use crate::kernel::Ps;
use crate::message::{CoreId, CounterGroup, GroupMask, Line, LineBytes, MediaLine, Observer};
use crate::parts::Forbidden;
use crate::power::Drained;
use crate::recovery::{Alarm, BootStep};
use std::collections::BTreeSet;

/// The power losses of one future, first to last.
#[derive(Clone)]
pub(super) struct Path<'p> {
    /// What each power loss left, including that of the run.
    pub losses: Vec<&'p Drained>,
    /// After which step of its recovery power was lost again, counted from 1, and which step that was.
    pub steps: Vec<(u64, BootStep)>,
}

impl<'p> Path<'p> {
    /// The path of a power loss in the run.
    pub fn from(first: &'p Drained) -> Self {
        Self { losses: vec![first], steps: Vec::new() }
    }

    /// This path, followed by a power loss after step `event` of the recovery, which was `step`, that leaves `drained`.
    pub fn and<'q>(&self, event: u64, step: BootStep, drained: &'q Drained) -> Path<'q>
    where
        'p: 'q,
    {
        let losses = self.losses.iter().copied().chain([drained]).collect();
        let steps = self.steps.iter().copied().chain([(event, step)]).collect();
        Path { losses, steps }
    }

    /// The numbers of the steps of the recoveries.
    pub fn events(&self) -> Vec<u64> {
        self.steps.iter().map(|(event, _)| *event).collect()
    }

    /// When power failed: "after event 7 and again after step 2 of the recovery (...)".
    pub fn when(&self, event: u64) -> String {
        let mut when = format!("after event {event}");
        for (index, (event, step)) in self.steps.iter().enumerate() {
            let which = if index == 0 { "the recovery" } else { "the recovery from that" };
            when += &format!(" and again after step {event} of {which} ({})", describe(*step));
        }
        when
    }

    /// The name of the recovery that follows: "the second recovery".
    pub fn last_recovery(&self) -> &'static str {
        ["first", "second", "third", "fourth", "fifth"].get(self.steps.len()).copied().unwrap_or("last")
    }
}

/// The sentence about an operation that the battery does not support.
pub(super) fn battery_gave_up(when: &str, forbidden: &Forbidden) -> String {
    let Forbidden { act, needs, has } = forbidden;
    format!(
        "When power fails {when}, saving what is on the chip takes {act}: the battery must support {}, and it supports {}.",
        memory_map::name(*needs),
        memory_map::name(*has)
    )
}

/// The sentence about memory that is refused although nobody has tampered with it; `lines` is the number of lines.
pub(super) fn refusal(event: u64, alarm: Alarm, lines: usize) -> String {
    let others = match lines {
        0 | 1 => String::new(),
        2 => " Another line is refused, too.".to_owned(),
        more => format!(" {} other lines are refused, too.", more - 1),
    };
    format!(
        "If power fails after event {event}, the boot refuses memory that was not tampered with: {}.{others}",
        alarm.clause()
    )
}

/// An observer that records what is written.
pub(super) struct Touching<'a> {
    pub watch: BootWatch<'a>,
    pub touched: BTreeSet<MediaLine>,
}

impl Observer for Touching<'_> {
    fn write_arrived(&mut self, now: Ps, line: Line, plaintext: &LineBytes) {
        self.watch.write_arrived(now, line, plaintext);
    }
    fn persisted(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.touched.insert(media);
        self.watch.persisted(now, media, bytes);
    }
    fn log_freed(&mut self, now: Ps, core: CoreId) {
        self.watch.log_freed(now, core);
    }
    fn reencryption(&mut self, now: Ps, group: CounterGroup, old_major: u64, done: GroupMask, finished: bool) {
        self.watch.reencryption(now, group, old_major, done, finished);
    }
}

fn describe(step: BootStep) -> String {
    let at = |line: Line| format!("the line at {:#x}", line.address());
    match step {
        BootStep::Drained(_) => "a queued write was drained".to_owned(),
        BootStep::RegistersLoaded => "the registers were loaded".to_owned(),
        BootStep::ReencryptionBegan(group) => {
            let number = group.line(0).0 / group.lines() as u64;
            format!("the re-encryption of {} {number:#x} began", group.name())
        }
        BootStep::Reencrypted(line) => format!("{} was re-encrypted with its page", at(line)),
        BootStep::ReencryptionFinished => "the re-encryption of a page ended".to_owned(),
        BootStep::Undone(line) => format!("{} was restored from the hardware's log", at(line)),
        BootStep::LogFreed(core) => format!("the log of core {core} was freed"),
        BootStep::Encrypted(line) => format!("{}, which was unencrypted, was encrypted", at(line)),
        BootStep::BootCounterAdvanced => "the boot counter was incremented".to_owned(),
        BootStep::Restored { slot, line } => format!("{} was restored from slot {slot} of the shadow cache", at(line)),
        BootStep::ShadowConsumed => "the shadow cache was declared consumed".to_owned(),
        BootStep::CachePadRenewed(slot) => format!("slot {slot} of the caches got its new pad"),
        BootStep::MacsRecovered(block) => format!("line of MACs {:#x} was recovered", block.0),
        BootStep::CountersRecovered(block) => format!("the counters of block {:#x} were recovered", block.0),
        BootStep::ContentsRestored => {
            "the counter blocks and nodes that were only in the metadata caches were restored to them".to_owned()
        }
        BootStep::TreeRebuilt => "the integrity tree was rebuilt".to_owned(),
        BootStep::Written(line) => format!("the program wrote {}", at(line)),
    }
}

//! Describes in a few sentences what a boot does after a power failure, and the registers that it begins with.

use crate::audit::CounterLayout;
use crate::message::{Line, MediaLine, NoObserver, ProgramRecovery};
use crate::power::Survivors;
use crate::recovery::{BootStep, GlobalCounter};
use serde::Serialize;

/// Most lines that a step names.
const LINES_NAMED: usize = 16;

/// Consecutive steps of a boot of one kind.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Step {
    text: String,
    /// Byte addresses of the first lines concerned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<u64>,
}

/// Collects consecutive steps of the same kind.
#[derive(Default)]
struct Gathered {
    steps: Vec<Step>,
    kind: Option<Kind>,
    count: usize,
    counters: usize,
    lines: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Drained,
    Reencrypted,
    Undone,
    Encrypted,
    Restored,
    PadRenewed,
    CountersRecovered,
    MacsRecovered,
    Written,
}

impl Gathered {
    fn one(&mut self, kind: Kind, line: Option<Line>) {
        if self.kind != Some(kind) {
            self.close();
            self.kind = Some(kind);
        }
        self.count += 1;
        if self.lines.len() < LINES_NAMED {
            self.lines.extend(line.map(Line::address));
        }
    }

    fn close(&mut self) {
        let Some(kind) = self.kind.take() else { return };
        let many =
            |one: &str, more: &str| if self.count == 1 { format!("1 {one}") } else { format!("{} {more}", self.count) };
        let lines = many("line", "lines");
        let text = match kind {
            Kind::Drained => format!(
                "{} drained to the media ({} of data, {} of counters)",
                many("write", "writes"),
                self.count - self.counters,
                self.counters
            ),
            Kind::Reencrypted => format!("{lines} of the page re-encrypted"),
            Kind::Undone => format!("{lines} restored from the hardware's log"),
            Kind::Encrypted => format!("{lines} encrypted that had left in the clear"),
            Kind::Restored => format!("{lines} restored from the shadow cache"),
            Kind::MacsRecovered => format!("{} lines of MACs recovered", self.count),
            Kind::CountersRecovered => format!("counters of {} blocks recovered", self.count),
            Kind::PadRenewed => format!("{lines} of the caches put under pads of the new boot counter"),
            Kind::Written => format!("{lines} written by the program's recovery"),
        };
        // The drained state is the durable state itself, which is shown line by line.
        let lines = if kind == Kind::Drained { Vec::new() } else { std::mem::take(&mut self.lines) };
        self.steps.push(Step { text, lines });
        (self.count, self.counters) = (0, 0);
        self.lines.clear();
    }

    fn say(&mut self, text: String) {
        self.close();
        self.steps.push(Step { text, lines: Vec::new() });
    }

    fn step(&mut self, step: BootStep) {
        match step {
            BootStep::Drained(media) => {
                self.one(Kind::Drained, media.as_line());
                self.counters += usize::from(MediaLine::is_counter(media));
            }
            BootStep::RegistersLoaded => self.close(),
            BootStep::ReencryptionBegan(page) => {
                self.say(format!("re-encryption of the page at {:#x} begins", page.line(0).address()));
            }
            BootStep::Reencrypted(line) => self.one(Kind::Reencrypted, Some(line)),
            BootStep::ReencryptionFinished => self.say("the status register is freed".into()),
            BootStep::Undone(line) => self.one(Kind::Undone, Some(line)),
            BootStep::LogFreed(core) => self.say(format!("the hardware's log of core {core} is freed")),
            BootStep::Encrypted(line) => self.one(Kind::Encrypted, Some(line)),
            BootStep::BootCounterAdvanced => self.say("the boot counter is incremented".into()),
            BootStep::Restored { line, .. } => self.one(Kind::Restored, Some(line)),
            BootStep::ShadowConsumed => self.say("the shadow cache is marked as consumed".into()),
            BootStep::CachePadRenewed(_) => self.one(Kind::PadRenewed, None),
            BootStep::MacsRecovered(_) => self.one(Kind::MacsRecovered, None),
            BootStep::CountersRecovered(_) => self.one(Kind::CountersRecovered, None),
            BootStep::TreeRebuilt => {
                self.say("the integrity tree is computed, and its root is that of the register".into())
            }
            BootStep::ContentsRestored => {
                self.say("the counter blocks and nodes that were only in the metadata caches are there again".into())
            }
            BootStep::Written(line) => self.one(Kind::Written, Some(line)),
        }
    }
}

/// Boots from `survivors`, lets the program recover, and describes what happened.
pub fn describe_boot(survivors: &Survivors<'_>, program: Option<&dyn ProgramRecovery>) -> Vec<Step> {
    let mut told = Gathered::default();
    let mut boot = survivors.boot(NoObserver);
    while let Some(step) = boot.step() {
        told.step(step);
    }
    told.close();
    let mut cores = Vec::new();
    if let Some(program) = program {
        for layout in program.layouts() {
            let report = boot.recover_program_watched(program, layout.core, &mut |_, step| told.step(step));
            told.close();
            cores.push((layout.core, !layout.log.is_empty(), report));
        }
    }
    let hardware_logged = survivors.loss.codec.is_some_and(|codec| codec.log().is_some());
    let with_log = cores.into_iter().filter(|(_, has_log, _)| *has_log && !hardware_logged);
    for (core, _, report) in with_log {
        let undone = match report.undone {
            0 => "nothing to undo".to_owned(),
            1 => format!("1 log entry undone ({} bytes)", report.bytes_restored),
            entries => format!("{entries} log entries undone ({} bytes)", report.bytes_restored),
        };
        let abandoned = match report.abandoned {
            0 => String::new(),
            entries => format!(", {entries} incomplete abandoned"),
        };
        told.say(format!("program recovery of core {core}: {undone}{abandoned}"));
    }
    told.steps
}

/// The registers that the boot finds, by name. `layout`: how counters are laid out; `global`: whether there is a global
/// counter.
pub fn registers(
    survivors: &Survivors<'_>,
    layout: Option<CounterLayout>,
    global: bool,
) -> Vec<(&'static str, String)> {
    let Survivors { drained, loss, .. } = survivors;
    let snapshot = &drained.snapshot;
    let mut told = Vec::new();
    if matches!(layout, Some(CounterLayout::Split { .. })) {
        let status = match &snapshot.status {
            _ if !loss.survival.status => "lost with power".to_owned(),
            None => "free".to_owned(),
            Some(status) => format!(
                "{} at {:#x}, old major counter {}, {} of {} lines done",
                status.group.name(),
                status.group.line(0).address(),
                status.old_major,
                status.done.count_ones(),
                status.group.lines()
            ),
        };
        told.push(("re-encryption status", status));
    }
    if global {
        let value = match snapshot.global_counter {
            GlobalCounter::Kept(value) => value.to_string(),
            GlobalCounter::Scanned => "lost; the boot takes the largest on the media".to_owned(),
            GlobalCounter::Lost => "lost; counting starts again".to_owned(),
        };
        told.push(("global counter", value));
    }
    if loss.codec.is_some_and(|codec| codec.log().is_some()) {
        let many = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let set = |core: u16, buckets: usize, headers: u32| {
            format!("core {core}: {}, {}", many(buckets as u64, "bucket"), many(headers.into(), "header"))
        };
        let sets = snapshot.log.iter().map(|set_of| {
            set(set_of.core, set_of.buckets.len(), set_of.buckets.iter().map(|bucket| bucket.records).sum())
        });
        let sets: Vec<String> = sets.collect();
        let sets = match sets.is_empty() {
            _ if !loss.survival.log => "lost with power".to_owned(),
            true => "no transaction".to_owned(),
            false => sets.join("; "),
        };
        told.push(("log metadata", sets));
    }
    if loss.codec.is_some_and(|codec| codec.shadow().is_some()) {
        let registers = snapshot.registers;
        told.push(("incr-counter", registers.incr_counter.to_string()));
        told.push(("boot counter", registers.boot_counter.to_string()));
        told.push(("shadow cache consumed to", registers.consumed.to_string()));
    }
    if !drained.left.is_empty() {
        told.push(("left the caches on battery", format!("{} writes", drained.left.len())));
    }
    told
}

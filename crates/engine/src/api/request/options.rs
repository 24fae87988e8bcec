//! Every option of every kind of request, stated here and nowhere else. `make contract` writes what the front end says
//! of them.
//!
//! | of a field | becomes |
//! |---|---|
//! | its documentation | that of the keyword in Python |
//! | its type, or its kind (`with` one that checks values, or `x-kind`) | the type in Python, and the form on the command line |
//! | `x-python` | the documentation of the keyword, where Python takes another form than JSON |
//! | `x-help` | the help of the flag; a field without it is no flag. One of several requests with the field says it |
//! | `x-flag`, `x-metavar` | the flag, if it is not the name, and its value, if it is not that of the kind |
//! | `x-typed` | its place in a command that shows a violation again |
//! | its place | that in documents and in `--help` |

use super::explore::{Explore, Points};
use super::kinds::{As, Assignments, Count, Size, Sizes, Span};
use crate::config::Variant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reading of a design, and the machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Setting {
    /// `"hardened"` (default) or `"published"`.
    #[serde(with = "As::<Variant>")]
    #[schemars(extend("x-help" = "The papers made safe (hardened, default), or read literally.", "x-typed" = 10))]
    pub variant: Option<Variant>,
    /// A preset's name or the path of a TOML file; default the first design's preset.
    #[schemars(extend("x-kind" = "name-or-path", "x-typed" = 30,
        "x-help" = "One machine for all designs; default the first design's preset."))]
    pub machine: Option<String>,
    /// Machine values to change, `["controller.wpq_entries=64"]`.
    #[schemars(with = "As<Assignments>", extend("x-typed" = 40,
        "x-python" = "Machine values to change, `{\"controller.wpq_entries\": 64}` or `[\"controller.wpq_entries=64\"]`.",
        "x-help" = "Change a value of the machine or the design; repeatable."))]
    pub set: Vec<String>,
}

/// What a program leaves out.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Omitted {
    /// What to leave out of the program, one of `ANNOTATIONS` or `PROGRAM_STEPS`; for designs whose programs have it.
    #[schemars(extend("x-kind" = "left-out", "x-help" = "Leave an annotation or a step out of the program.",
        "x-typed" = 130))]
    pub leave_out: Option<String>,
}

/// What is broken in a run: a mechanism of the design, and the program.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Broken {
    /// The name of a mechanism of the design to switch off, one of `faults()`.
    #[schemars(extend("x-metavar" = "FAULT", "x-typed" = 90,
        "x-help" = "Switch off a mechanism of the design, see `counterpoint faults`."))]
    pub fault: Option<String>,
    #[serde(flatten)]
    pub omitted: Omitted,
    /// Numbers of annotations to leave out of a recorded program, from 0.
    #[schemars(extend("x-typed" = 140,
        "x-help" = "Leave out annotation N of a recorded program, counted from 0; repeatable."))]
    pub omit_annotations: Vec<u64>,
}

/// The fields of every kind of request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Common {
    /// The design: a name, the path of a design file, or the text of one.
    pub design: String,
    /// The name of a workload, or the path of a trace.
    pub workload: String,
    #[serde(flatten)]
    pub setting: Setting,
    /// Seed of every random stream.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Seed of every random stream; default 1.", "x-typed" = 20))]
    pub seed: Option<u64>,
    /// Measured transactions per core.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-typed" = 200,
        "x-help" = "Measured transactions per core, 1 to 10^9; a trace runs to its end."))]
    pub transactions: Option<u64>,
    /// Transactions per core before measuring begins.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-typed" = 80,
        "x-help" = "Transactions per core before measuring begins, 0 to 10^9; a trace has none."))]
    pub warmup: Option<u64>,
    /// Bytes of populated structure, the total over all cores.
    #[serde(with = "As::<Size>")]
    #[schemars(extend("x-help" = "Size of the populated structures over all cores, as in 64MiB.", "x-typed" = 70))]
    pub footprint: Option<u64>,
    /// Replay the good part of a trace that is cut off.
    #[schemars(extend("x-help" = "Use the good part of a trace that is cut off.", "x-typed" = 190))]
    pub allow_truncated: bool,
    /// Run the threads of a recorded program on one core, in the one order that was recorded.
    #[schemars(extend("x-typed" = 195,
        "x-help" = "Run a recording's threads on one core, in the order that was recorded, not on a core each."))]
    pub serial: bool,
    /// Bytes of user data in a transaction, a multiple of 64.
    #[serde(with = "As::<Size>")]
    #[schemars(extend("x-typed" = 50,
        "x-help" = "Bytes of user data in a transaction, a multiple of 64 up to 64KiB."))]
    pub tx_size: Option<u64>,
    /// Cores, one program instance each; an instance of a recorded program has as many as it has threads.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-typed" = 60,
        "x-help" = "Cores, 1 to 64, one program instance each, or one thread of it; in proofs 1 to 3, which share all lines."))]
    pub cores: Option<u64>,
}

/// One simulation.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Run {
    #[serde(flatten)]
    pub common: Common,
    #[serde(flatten)]
    pub omitted: Omitted,
    /// File that gets every stage's events, readable by Perfetto.
    #[schemars(extend("x-kind" = "path", "x-help" = "Write every stage's events for Perfetto."))]
    pub timeline: Option<String>,
    /// Report what each source line of a recorded program costs, if the recording has source lines; not together with
    /// `timeline`.
    #[schemars(extend("x-help" = "Show how long commit waits for each source line of a recorded program."))]
    pub by_line: bool,
    /// Report the figures over time, in windows of this length: a number of nanoseconds, or a text as in `10us`.
    #[serde(with = "As::<Span>")]
    #[schemars(extend("x-help" = "Report figures over time, in windows of this length, as in 10us."))]
    pub window: Option<u64>,
}

/// One replay of a trace of memory lines.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Lines {
    #[serde(flatten)]
    pub common: Common,
    /// Frequency of the clock whose cycles the trace has; default 1000, one cycle per nanosecond.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-flag" = "--trace-clock", "x-metavar" = "MHZ",
        "x-help" = "Clock of the cycles of a trace of memory lines, 1 to 1000000; default 1000, a cycle a \
        nanosecond."))]
    pub trace_clock_mhz: Option<u64>,
    /// File that gets a row of CSV for each request: when it was sent and answered, and what it waited for.
    #[schemars(extend("x-kind" = "path", "x-help" = "Write a row for each request of a trace of memory lines."))]
    pub requests: Option<String>,
    /// File that gets every stage's events, readable by Perfetto.
    #[schemars(extend("x-kind" = "path"))]
    pub timeline: Option<String>,
    /// Report the figures over time, in windows of this length: a number of nanoseconds, or a text as in `10us`.
    #[serde(with = "As::<Span>")]
    pub window: Option<u64>,
}

/// An exploration of the crashes of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Crash {
    #[serde(flatten)]
    pub common: Common,
    /// `"all"`, or how many events to crash after, spread over the run. Default: all.
    #[schemars(with = "As<Points>", extend(
        "x-help" = "Events to crash after: all (the default), or N spread over the run."))]
    pub points: Option<Points>,
    /// Crash after this event only; not together with `points`.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-typed" = 230,
        "x-help" = "Crash after this event only, counted from 1; of legal states, at this record of the trace."))]
    pub at_event: Option<u64>,
    /// Crash only after the first mark of a recorded program with this text; not together with `at_event`.
    #[schemars(extend("x-metavar" = "TEXT", "x-help" = "Crash only after this mark of a recorded program."))]
    pub from_mark: Option<String>,
    /// Crash only before the first mark with this text, or the first after that of `from_mark`.
    #[schemars(extend("x-metavar" = "TEXT", "x-help" = "Crash only before this mark of a recorded program."))]
    pub to_mark: Option<String>,
    /// Cut power again after every step of the recovery, for every durable state that the crashes leave; with `recover` and
    /// `explore` "legal", in a recording of the command on every memory from which it recovers.
    #[schemars(extend("x-help" = "Cut power again after every step of recovery; with --recover, in a recording of it."))]
    pub nested: bool,
    /// How many times in a row, 1 to 4; 1 if only `nested` is given.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Cut power again N times in a row, 1 to 4.", "x-typed" = 210))]
    pub nested_depth: Option<u64>,
    #[serde(flatten)]
    pub broken: Broken,
    /// `"schedule"` (default), the one that this machine and seed give; `"schedules"`, that and others, which
    /// prefetches at random moments disturb; or `"legal"`: at every fence of the program every durable state that the
    /// persistency model and the rules of the hardware allow. A recorded program needs `recover` for that, and
    /// `at_event` is then the number of a record of its trace.
    #[serde(with = "As::<Explore>")]
    #[schemars(extend("x-typed" = 150,
        "x-help" = "The simulated schedule (default), others as well, or every legal state."))]
    pub explore: Option<Explore>,
    /// Legal states, as far as recovery can distinguish them, that are judged at one fence before the rest is bounded
    /// and sampled; of a recorded program, memories that are tried at one crash point before the rest is bounded.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-typed" = 170,
        "x-help" = "Classes of legal states to judge at a fence, at least 1; default 50000, of a recorded program 256 \
        memories."))]
    pub states: Option<u64>,
    /// How many schedules; default 16.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "How many schedules to explore, at least 1; default 16."))]
    pub schedules: Option<u64>,
    /// Number of one schedule; 0 (default) is that of the machine itself.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Explore this schedule; 0 (default) is the machine's own.", "x-typed" = 160))]
    pub schedule: Option<u64>,
    /// What an attacker does to the media: names of attacks, or `"all"`. One change of each kind is tried in each
    /// durable state, with and without another power cut during the boot, and before each access of the running machine
    /// to memory.
    #[schemars(extend("x-metavar" = "ATTACK", "x-typed" = 220,
        "x-help" = "Attack the media, while power is off and while the machine runs: all, or a kind; repeatable."))]
    pub attack: Vec<String>,
    /// Attack one of so many distinct states and accesses; default each.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Attack one of N states and accesses, at least 1; default each."))]
    pub attack_every: Option<u64>,
    /// Count the crashes by the stage of the transaction in flight; needs every event of one schedule.
    #[schemars(extend(
        "x-help" = "Count crashes by the stage of the transaction in flight; needs every event of one schedule."))]
    pub stages: bool,
    /// Look for the smallest run that breaks the same rules. It needs every event as a crash point, and is then the
    /// default.
    #[schemars(extend("x-kind" = "switch"))]
    pub shrink: Option<bool>,
    /// If a rule is broken, find out whether the program, the design or the annotations are wrong; the default.
    #[schemars(extend("x-kind" = "switch"))]
    pub blame: Option<bool>,
    /// A shell command that does the recovery of a recorded program. It runs on files with the memory that a boot finds
    /// at each crash point, and exits with 0 if it recovers. `{pool}` in it stands for the path of the first file of
    /// the trace, `{folder}` for the folder with all of them, `{marks}` for a file with the marks that the program had
    /// set, one a line, and `{event}` for the number of the crash point.
    #[schemars(extend("x-metavar" = "COMMAND", "x-typed" = 100,
        "x-help" = "Run this on {pool}, the memory that a boot of a recorded program finds."))]
    pub recover: Option<String>,
    /// Do not run the command first on memory of which nothing is lost, as the program finds it and as it leaves it. A
    /// command that fails there is refused.
    #[schemars(extend("x-help" = "Do not first run the command on memory where no power has failed.", "x-typed" = 120))]
    pub no_preflight: bool,
    /// The program recovers only if the last line that the command prints contains this text, too. A recovery that calls
    /// `exit(0)` before anything is checked then does not count as success.
    #[schemars(extend("x-metavar" = "TEXT", "x-typed" = 105,
        "x-help" = "It recovers only if the last line that the command prints contains TEXT, too."))]
    pub recover_prints: Option<String>,
    /// Time limit in seconds for one such command; default 60.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-metavar" = "SECONDS", "x-typed" = 110,
        "x-help" = "Time limit for one run of the command in seconds, 1 to 86400; default 60."))]
    pub recover_timeout: Option<u64>,
    /// How many such commands run at a time, at most one for each processor, which is the default. The verdict does not
    /// depend on it.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Commands that run at a time, at most one for each processor, which is the default."))]
    pub recover_jobs: Option<u64>,
    /// For `explore` "legal": the words that start Valgrind with the tool that notes what a command reads. At crash points with
    /// more legal states than `states` the command then runs under it, too.
    #[schemars(extend("x-kind" = "flag", "x-typed" = 180,
        "x-python" = "For `explore=\"legal\"`: at crash points with more legal states than `states`, also run the command under \
        Valgrind, which records what it reads. One run then decides all states in which that is the same. Such a run takes half a \
        second or more; off by default.",
        "x-help" = "Watch what the command reads; one run then decides all states in which that is the same. Needs Valgrind."))]
    pub watch_reads: Vec<String>,
    /// For `explore` "legal": the files of the recorded program are on a disk that writes sectors of so many bytes whole: 512 or
    /// 4096. Default: they are on persistent memory, of which eight aligned bytes become durable together.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-metavar" = "BYTES", "x-typed" = 185,
        "x-help" = "The files are on a disk whose sectors of 512 or 4096 bytes are written whole, not on persistent memory."))]
    pub sector: Option<u64>,
    /// End the exploration with this many memories on which the command fails; default none.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Stop after N memories on which the command fails, at least 1."))]
    pub stop_after: Option<u64>,
    /// End the exploration after so many seconds; default none.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-metavar" = "SECONDS", "x-help" = "Stop the exploration after this many seconds, 1 to 604800."))]
    pub time_budget: Option<u64>,
    /// How many threads judge power failures during recovery and attacks, at most one for each processor; 0 (default)
    /// is one for each. The verdict does not depend on it.
    #[serde(with = "As::<Count>")]
    #[schemars(extend(
        "x-help" = "Threads that judge attacks and failures of recovery; 0 (default) is one per processor."))]
    pub workers: Option<u64>,
    /// Where the temporary folder for these files is created; default the system's temporary folder.
    #[schemars(extend("x-kind" = "path", "x-flag" = "--recover-dir", "x-metavar" = "DIR",
        "x-help" = "Where the temporary folder for {pool} is created."))]
    pub recover_folder: Option<String>,
    /// A folder in which the files of the first failure are kept.
    #[schemars(extend("x-kind" = "path"))]
    pub recover_keep: Option<String>,
    /// For `nested` with `recover`: the words that start Valgrind with the tool that records a command.
    pub recorder: Vec<String>,
    /// For a recorded program: names of functions that only flush or fence, besides the usual ones; causes and
    /// violations are shown at the line that calls them.
    #[schemars(extend("x-flag" = "--wrapper", "x-help" = "A function that only flushes or fences; repeatable."))]
    pub wrappers: Vec<String>,
}

/// A picture of the crash of a run: a window of its events.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Window {
    #[serde(flatten)]
    pub common: Common,
    /// The event to look at; default the beginning of the run.
    #[serde(with = "As::<Count>")]
    pub at_event: Option<u64>,
    /// Number of the schedule; default that of the machine itself.
    #[serde(with = "As::<Count>")]
    pub schedule: Option<u64>,
    #[serde(flatten)]
    pub broken: Broken,
}

/// A proof over all small programs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Prove {
    /// The design: a name, the path of a design file, or the text of one.
    pub design: String,
    #[serde(flatten)]
    pub setting: Setting,
    /// Seed of every random stream.
    #[serde(with = "As::<Count>")]
    pub seed: Option<u64>,
    /// Most operations of a program, 1 to 12, on each core; default 3.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Most operations of a program, 1 to 12, on each core; default 3."))]
    pub operations: Option<u64>,
    /// Most lines of a program, 1 to 4; default 2.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Most lines of a program, 1 to 4; default 2."))]
    pub lines: Option<u64>,
    /// Number of cores, 1 to 3, that share all lines, each with a program of its own; default 1.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Cores, 1 to 64, one program instance each, or one thread of it; in proofs 1 to 3, which share all lines."))]
    pub cores: Option<u64>,
    /// Names of the operations that programs have, as in `"store"`; default all that programs of the design use.
    #[schemars(extend("x-flag" = "--step", "x-metavar" = "OPERATION",
        "x-help" = "Programs have this operation, as in 'store'; repeatable; default all that the design's programs use."))]
    pub steps: Vec<String>,
    /// Groups of lines that programs use, as in `"AB"`, instead of those that are usual for `lines`.
    #[schemars(extend("x-flag" = "--places", "x-metavar" = "LINES",
        "x-help" = "Programs use these lines, as in 'AB'; repeatable; default those that are usual for --lines."))]
    pub places: Vec<String>,
    /// Names of the timings under which each program is run; default all.
    #[schemars(extend("x-flag" = "--timing", "x-metavar" = "TIMING",
        "x-help" = "Run each program under this timing; repeatable; default all."))]
    pub timings: Vec<String>,
    /// Also cut power again after each step of the recovery from every distinct state.
    pub nested: bool,
    /// The name of a mechanism of the design to switch off, one of `faults()`.
    pub fault: Option<String>,
    /// What an attacker does to the media: names of attacks, or `"all"`.
    pub attack: Vec<String>,
    /// Names of forms of programs: only programs that designs of these forms can run, too.
    #[schemars(extend("x-flag" = "--form", "x-metavar" = "FORM",
        "x-help" = "Only programs that designs of this form run, too, as in 'annotated'; repeatable."))]
    pub forms: Vec<String>,
    /// Only programs that begin with these operations, as in `"store A; clwb A"`.
    #[schemars(extend("x-kind" = "name", "x-flag" = "--begin", "x-metavar" = "PROGRAM",
        "x-help" = "Only programs that begin with these operations, as in 'store A; clwb A'."))]
    pub beginning: Option<String>,
    /// List every program that fails, and not only the smallest for each rule.
    #[schemars(extend("x-help" = "List every program that fails in the JSON document."))]
    pub all_failing: bool,
    /// How many programs are judged at a time, at most one for each processor; 0 (default) is one for each. The verdict does
    /// not depend on it.
    #[serde(with = "As::<Count>")]
    pub workers: Option<u64>,
}

/// A comparison of two designs over small programs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Distinguish {
    /// The first design: a name, or the path of a design file.
    pub design: String,
    /// The second design, in the same way.
    pub other: String,
    #[serde(flatten)]
    pub setting: Setting,
    /// The reading of the second design, if it is not that of the first one: `"hardened"` or `"published"`.
    #[serde(with = "As::<Variant>")]
    #[schemars(extend("x-help" = "The reading of the second design; default that of the first."))]
    pub other_variant: Option<Variant>,
    /// Seed of every random stream.
    #[serde(with = "As::<Count>")]
    pub seed: Option<u64>,
    /// Most operations of a program, 1 to 12; default 3.
    #[serde(with = "As::<Count>")]
    pub operations: Option<u64>,
    /// Most lines of a program, 1 to 4; default 2.
    #[serde(with = "As::<Count>")]
    pub lines: Option<u64>,
    /// Names of the operations that programs have, as in `"store"`; default all that programs of both designs use.
    pub steps: Vec<String>,
    /// Groups of lines that programs use, as in `"AB"`, instead of those that are usual for `lines`.
    pub places: Vec<String>,
    /// Names of the timings under which each program is run; default all.
    pub timings: Vec<String>,
    /// Also cut power again after each step of the recovery from every distinct state.
    pub nested: bool,
    /// What an attacker does to the media: names of attacks, or `"all"`.
    pub attack: Vec<String>,
    /// How many programs are judged at a time, at most one for each processor; 0 (default) is one for each. The result does
    /// not depend on it.
    #[serde(with = "As::<Count>")]
    pub workers: Option<u64>,
}

/// A check of a recorded program.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Check {
    /// The path of the trace.
    pub trace: String,
    /// The design on which the cost of useless operations is measured: a name, or the path of a design file.
    pub design: Option<String>,
    /// How many findings get a cost of their own.
    #[serde(with = "As::<Count>")]
    pub top: Option<u64>,
    #[serde(flatten)]
    pub setting: Setting,
    /// Seed of every random stream.
    #[serde(with = "As::<Count>")]
    pub seed: Option<u64>,
    /// Check the good part of a trace that is cut off.
    pub allow_truncated: bool,
    /// The text of marks that the program sets; at each of them, every store must be durable.
    #[schemars(extend("x-metavar" = "TEXT", "x-help" = "Every store must be durable when the program sets this mark."))]
    pub mark: Option<String>,
    /// Names of functions that only flush or fence, besides the usual ones: findings are shown at the line that calls
    /// them.
    pub wrappers: Vec<String>,
}

/// The cost of the recovery of a design.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::api) struct Recovery {
    /// The design: a name, the path of a design file, or the text of one.
    pub design: String,
    #[serde(flatten)]
    pub setting: Setting,
    /// Cores, whose caches a battery may have to drain.
    #[serde(with = "As::<Count>")]
    pub cores: Option<u64>,
    /// Capacities of the device; none at all is that of the machine.
    #[serde(with = "As::<Sizes>")]
    #[schemars(extend(
        "x-python" = "Capacities of the device: one, several, or a comma list; an empty list is that of the machine.",
        "x-help" = "Capacities of the device, 64KiB to 16TiB; default 16GiB to 16TiB."))]
    pub memory: Vec<u64>,
    /// Capacities of the counter cache, and as much again of the cache of MACs and nodes; default the machine's.
    #[serde(with = "As::<Sizes>")]
    #[schemars(extend(
        "x-help" = "Capacities of the counter cache and of the node cache, each, 64B to 1GiB; default the machine's."))]
    pub cache: Vec<u64>,
    /// Time for each line in the papers' arithmetic, in ns; default 100.
    #[serde(with = "As::<Count>")]
    #[schemars(extend("x-help" = "Time for each line in the papers' arithmetic, in ns; default 100."))]
    pub line_ns: Option<u64>,
    /// Whether a small memory is really recovered, too.
    pub measure: bool,
}

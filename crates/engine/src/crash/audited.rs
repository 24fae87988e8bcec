//! A run with auditors: its programs, each with a ledger in front of it, and what the auditors must know about the
//! design and the machine.

use super::CrashCase;
use crate::assembly::memory_map::shadow_region;
use crate::assembly::{Job, codec_of, data_unit, direct_key_bits, encryption_parts};
use crate::audit::{
    AuditSetup, Auditor, BitsFacts, CipherFacts, CounterLayout, CounterRecovery, DirectFacts, DrainFacts, Ledger,
    LogFacts, LowBitsFacts, ProgramFacts, RingFacts, TrialFacts, WordFacts, ledger_channel,
};
use crate::cipher::Keys;
use crate::config::RunConfig;
use crate::controller::EncryptionParts;
use crate::kernel::Failure;
use crate::message::{CoreId, OpSource};
use crate::parts::{CounterScheme, Design, PageModes, RecoveryStep, ReencryptedWords, ShadowTable, StampSource, Tweak};
use crate::power::Survival;
use crate::recovery::LineCodec;
use crate::run::{Bases, Source};
use std::sync::Arc;

/// A run that auditors observe.
pub(crate) struct Audited {
    /// The run, with a ledger in front of each program.
    pub job: Job,
    /// The auditors.
    pub auditor: Auditor,
    /// The encryption as a boot needs it; `None` if memory holds plaintext.
    pub codec: Option<Box<dyn LineCodec>>,
}

/// The run of `case`, with new auditors.
pub(crate) fn audited(case: &CrashCase<'_>, bases: &Bases) -> Result<Audited, Failure> {
    let CrashCase { config, design, source, .. } = *case;
    let mut job = source.job(bases, case.cancel)?;
    let base = Arc::clone(&job.base);
    let program = keep_ledgers(&mut job, source);
    let cores = job.programs.len();
    let encryption = encryption_parts(&config.machine, design, config.seed, &base)?;
    let shadow = shadow_region(&config.machine, design, cores as u16);
    let survival = Survival::of(design, &config.machine);
    let (keys, key_bytes) = (Keys::from_seed(config.seed), config.machine.controller.aes_key_bits as usize / 8);
    let log = encryption.as_ref().and_then(|parts| parts.log.as_ref()).map(|parts| LogFacts {
        first: parts.region.first,
        buckets: parts.region.buckets,
        records: parts.region.records,
        layout: parts.region.layout,
        key: keys.log[..key_bytes].to_vec(),
        registers_survive: survival.log && design.recovery.contains(&RecoveryStep::UndoHardwareLog),
    });
    let auditor = Auditor::new(AuditSetup {
        base: Arc::clone(&base),
        cores,
        cipher: encryption.as_ref().map(|parts| CipherFacts {
            key: keys.data[..key_bytes].to_vec(),
            counters: layout_of(parts.scheme.as_ref(), config.machine.counters.minor_bits),
            valid_flags: parts.valid_flags,
            recovery: counter_recovery(config, design, parts, &survival, &keys),
            words: (parts.parts.words != ReencryptedWords::All).then(|| WordFacts {
                epoch_writes: u64::from(config.machine.counters.epoch_writes),
                bytes: config.machine.counters.word_bytes as usize,
                survive: parts.parts.words != ReencryptedWords::ModifiedVolatile,
            }),
            zero_minors: parts.parts.zeroing.shreds(),
        }),
        direct: direct_tweak(design).map(|tweak| DirectFacts {
            key: keys.data[..direct_key_bits(&config.machine, design) as usize / 8].to_vec(),
            tweak: keys.tweak[..direct_key_bits(&config.machine, design) as usize / 8].to_vec(),
            constant: tweak == Tweak::Constant,
            unit: data_unit(&config.machine, design),
            paged: pages(design).map(|pages| pages == PageModes::ByHeat),
            in_modules: design.modules.is_some(),
        }),
        log,
        line_atomic: design.promise.line_atomic,
        secret: design.promise.secret,
        status_survives: survival.status,
        drain: design
            .drain()
            .map(|_| DrainFacts { caches: design.stores_persist(), shadow: shadow.zip(stamp_of(design)) }),
        program,
    });
    let machine = (&config.machine, cores as u16);
    let codec = codec_of(machine, design, config.seed, encryption, base, shadow)?;
    Ok(Audited { job, auditor, codec })
}

/// Which pages of `design` have no counters, if some may have none.
fn pages(design: &Design) -> Option<PageModes> {
    design.encryption.map(|parts| parts.pages).filter(|pages| *pages != PageModes::Counters)
}

/// The tweak of lines that are encrypted without counters, if there are any.
fn direct_tweak(design: &Design) -> Option<Tweak> {
    design.direct.or(pages(design).map(|_| Tweak::Line))
}

/// How a boot of `design` recovers counters.
fn counter_recovery(
    config: &RunConfig,
    design: &Design,
    parts: &EncryptionParts,
    survival: &Survival,
    keys: &Keys,
) -> CounterRecovery {
    let has = |step| design.recovery.contains(&step);
    let Some(integrity) = &parts.integrity else { return CounterRecovery::None };
    let layout = integrity.mac_layout;
    let table = integrity.parts.tree.map_or(ShadowTable::None, |tree| tree.table);
    let trial = |named| {
        let facts = TrialFacts {
            key: keys.mac[..16].to_vec(),
            layout,
            inputs: integrity.parts.mac_inputs,
            steps: u64::from(config.machine.integrity.stop_loss),
        };
        CounterRecovery::Trial { facts, named }
    };
    if has(RecoveryStep::RestoreContents) && table.names_counters() {
        trial(Some(1))
    } else if has(RecoveryStep::RestoreContents) {
        CounterRecovery::Table
    } else if has(RecoveryStep::RestoreStale) {
        let shape = design.media_layout(&config.machine).tree;
        let [blocks, nodes] = shape.map_or([0; 2], |shape| [shape.leaves(), shape.nodes_below_root()]);
        CounterRecovery::LowBits {
            facts: LowBitsFacts { layout, bits: config.machine.integrity.low_bits },
            bits: BitsFacts { blocks, units: blocks + nodes, survive: survival.chip_lines },
        }
    } else if let Some(ring) = integrity.ring.filter(|_| has(RecoveryStep::ApplyUpdates)) {
        CounterRecovery::Ring(RingFacts { lines: ring.lines, mac_bytes: ring.mac_bytes, survive: survival.chip_lines })
    } else if has(RecoveryStep::RecoverCounters) {
        trial(table.names_blocks().then_some(8))
    } else {
        CounterRecovery::None
    }
}

/// Where the recovery of `design` takes the counters of the shadow cache from.
fn stamp_of(design: &Design) -> Option<StampSource> {
    design.recovery.iter().find_map(|step| match step {
        RecoveryStep::RestoreShadow { stamp, .. } => Some(*stamp),
        _ => None,
    })
}

/// How the counters of `scheme` are laid out, for the auditors' own reading.
fn layout_of(scheme: &dyn CounterScheme, minor_bits: u32) -> CounterLayout {
    match scheme.coverage() {
        coverage if coverage.shares_major() => CounterLayout::Split { coverage, minor_bits },
        coverage => CounterLayout::Words { coverage, bytes: scheme.counter_bytes() },
    }
}

/// Puts a ledger between each program and its core. `None` for a trace, whose transactions cannot be judged.
pub(crate) fn keep_ledgers(job: &mut Job, source: &Source) -> Option<ProgramFacts> {
    let recovery = source.recovery()?;
    let (sender, records) = ledger_channel();
    let programs = std::mem::take(&mut job.programs);
    job.programs = (0..programs.len() as CoreId)
        .zip(programs)
        .map(|(core, program)| {
            Box::new(Ledger::new(program, core, Arc::clone(&job.base), sender.clone())) as Box<dyn OpSource>
        })
        .collect();
    Some(ProgramFacts { recovery, records })
}

//! Code that the tests of all structures share, and the tests that hold for every program.

mod annotations;
mod crash;
mod device;
pub(super) mod flat;
mod flush_free;
mod hardware_logged;
mod memory;
mod metadata;
mod placement;
mod programs;
mod replay;
pub(super) mod rig;
mod volatile;

use super::{Base, Plan, Program, WorkloadConfig, WorkloadKind, plan};
use crate::config::{self, CoreRegion, ItemMetadata, LogGranularity, LogPlacement};
use crate::message::ProgramForm;
use std::sync::Arc;

const DEVICE: u64 = 1 << 30;

/// Every style of a program: only one without annotations logs words if that is configured.
const STYLES: [(ProgramForm, LogGranularity); 6] = [
    (ProgramForm::Plain, LogGranularity::Word),
    (ProgramForm::Plain, LogGranularity::Line),
    (ProgramForm::Annotated, LogGranularity::Word),
    (ProgramForm::HardwareLogged, LogGranularity::Word),
    (ProgramForm::FlushFree, LogGranularity::Word),
    (ProgramForm::FlushFree, LogGranularity::Line),
];

fn config(kind: WorkloadKind, tx_size: u64, seed: u64, operations_per_core: u64) -> WorkloadConfig {
    WorkloadConfig {
        kind,
        tx_size,
        footprint: (16 * tx_size).max(16 << 10),
        cores: 1,
        seed,
        operations_per_core,
        program: config::Program {
            think_instructions: 20,
            think_load_percent: 0,
            think_store_percent: 0,
            think_footprint: config::ByteSize(16 << 10),
            think_hot_percent: 90,
            copy_bytes: 16,
            log_ring: config::ByteSize(8 << 10),
            log_granularity: LogGranularity::Word,
            log_stores: config::LogStores::Cached,
            log_placement: LogPlacement::Packed,
            item_metadata: ItemMetadata::Beside,
            footprint: config::ByteSize(64 << 10),
            footprint_per_core: false,
            core_region: CoreRegion::Packed,
            base: config::ProgramBase::Cold,
        },
        banks: None,
        form: ProgramForm::Plain,
        leave_out: None,
    }
}

/// `config` in another style.
fn styled(config: &WorkloadConfig, (form, log_granularity): (ProgramForm, LogGranularity)) -> WorkloadConfig {
    let program = config::Program { log_granularity, ..config.program.clone() };
    WorkloadConfig { program, form, ..config.clone() }
}

fn populated(plan: &Plan) -> Base {
    plan.populate().unwrap()
}

fn start(config: &WorkloadConfig) -> (Plan, Arc<Base>, Program) {
    let plan = plan(config, DEVICE).unwrap();
    let base = Arc::new(populated(&plan));
    let program = Program::new(&plan, base.clone(), 0);
    (plan, base, program)
}

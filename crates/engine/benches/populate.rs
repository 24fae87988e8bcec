//! How fast a gigabyte of every structure is populated, all of it, on one thread. A run populates only what it reads.

use counterpoint_engine::config::{
    ByteSize, CoreRegion, ItemMetadata, LogGranularity, LogPlacement, LogStores, Program, ProgramBase,
};
use counterpoint_engine::message::{BaseImage, Line, PAGE_BYTES, ProgramForm};
use counterpoint_engine::workload::{WORKLOADS, WorkloadConfig, find, plan};

fn main() {
    divan::main();
}

#[divan::bench(args = WORKLOADS.iter().map(|workload| workload.name), sample_count = 3, sample_size = 1)]
fn one_gibibyte(bencher: divan::Bencher<'_, '_>, name: &str) {
    populate(bencher, name, 1024);
}

#[divan::bench(args = WORKLOADS.iter().map(|workload| workload.name), sample_count = 3, sample_size = 1)]
fn one_gibibyte_of_64_byte_items(bencher: divan::Bencher<'_, '_>, name: &str) {
    populate(bencher, name, 64);
}

fn populate(bencher: divan::Bencher<'_, '_>, name: &str, tx_size: u64) {
    let config = WorkloadConfig {
        kind: find(name).expect("the name comes from the list").kind,
        tx_size,
        footprint: 1 << 30,
        cores: 1,
        seed: 1,
        operations_per_core: 10_000,
        program: Program {
            think_instructions: 200,
            think_load_percent: 0,
            think_store_percent: 0,
            think_footprint: ByteSize(16 << 10),
            think_hot_percent: 90,
            copy_bytes: 16,
            log_ring: ByteSize(64 << 10),
            log_granularity: LogGranularity::Word,
            log_stores: LogStores::Cached,
            log_placement: LogPlacement::Packed,
            item_metadata: ItemMetadata::Beside,
            footprint: ByteSize(1 << 30),
            footprint_per_core: false,
            core_region: CoreRegion::Packed,
            base: ProgramBase::Cold,
        },
        banks: None,
        form: ProgramForm::Plain,
        leave_out: None,
    };
    let plan = plan(&config, 16 << 30).expect("a gigabyte fits into sixteen");
    bencher.counter(divan::counter::BytesCount::new(1u64 << 30)).bench(|| {
        let base = plan.populate().expect("the machine has the memory");
        let first_lines = (0..base.end()).step_by(PAGE_BYTES as usize).map(Line::containing);
        first_lines.filter_map(|line| base.line(line)).map(|bytes| u64::from(bytes[0])).sum::<u64>()
    });
}

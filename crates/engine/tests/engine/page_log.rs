//! The page log of secpm section 3.4.3 on the real controller: a page-aligned log of 64 lines is flushed into an empty
//! queue that nothing leaves meanwhile. Every line comes with its counter block. With counter write reduction only the
//! last of the 64 copies is left, so 65 lines reach the device instead of 128.

use counterpoint_engine::config::{self, CounterPlacement, Machine, Variant};
use counterpoint_engine::controller::{ControllerStats, Response};
use counterpoint_engine::layout::Coverage;
use counterpoint_engine::message::{BaseImage, Line, LineBytes, MediaLine, NoObserver, Page};
use counterpoint_engine::{LineSystem, design};
use std::sync::Arc;

/// Memory in which nothing was ever written.
struct Blank;

impl BaseImage for Blank {
    fn line(&self, _: Line) -> Option<&LineBytes> {
        None
    }
    fn populated(&self, _: Line) -> bool {
        false
    }
    fn end(&self) -> u64 {
        1 << 20
    }
}

const PAGE: Page = Page(5);

fn machine() -> Machine {
    let mut machine = config::preset("secpm").unwrap();
    machine.controller.counter_placement = CounterPlacement::SameBank;
    machine.controller.wpq_entries = 256;
    machine.controller.wpq_high_watermark = 255;
    machine.controller.wpq_low_watermark = 1;
    machine.controller.wpq_issue_when_idle = false;
    config::validate(&machine).unwrap();
    machine
}

/// Flushes the page's lines, `gap` picoseconds apart. Returns the counts, and the number of writes of each of the
/// page's media lines.
fn flush_page(name: &str, variant: Variant, machine: &Machine, gap: u64) -> (ControllerStats, u32, u32) {
    let design = design::find(name, variant).unwrap();
    let mut system = LineSystem::new(machine, &design, Arc::new(Blank), 1, NoObserver).unwrap();
    for index in 0..64 {
        system.write(index as u64 * gap, PAGE.line(index), &[index as u8; 64], index as u32);
    }
    let mut acknowledged = 0;
    while let Some(responses) = system.advance() {
        acknowledged += responses.iter().filter(|response| matches!(response, Response::Written { .. })).count();
    }
    assert_eq!(acknowledged, 64, "{name}");
    if !machine.controller.wpq_issue_when_idle {
        assert_eq!(system.device.stats().writes, 0, "{name}: a line left before the queue was flushed");
    }
    system.flush();
    while system.advance().is_some() {}
    let now = system.now();
    let stats = system.controller.stats(now);
    assert_eq!(stats.data_writes + stats.counter_writes, system.device.stats().writes, "{name}");
    let most = (0..64).map(|index| system.device.line_writes(MediaLine::data(PAGE.line(index)))).max().unwrap();
    (stats, most, system.device.line_writes(MediaLine::counter(Coverage::PAGE.block(PAGE.line(0)))))
}

#[test]
fn page_of_log_takes_128_line_writes_without_reduction_and_65_with_it() {
    for variant in [Variant::Published, Variant::Hardened] {
        for gap in [0, 1_000, 500_000] {
            for (name, lines, block_writes) in [("unencrypted", 64, 0), ("secpm-no-cwr", 128, 64), ("secpm", 65, 1)] {
                let (stats, line_writes, counter_writes) = flush_page(name, variant, &machine(), gap);
                assert_eq!(stats.data_writes + stats.counter_writes, lines, "{name}");
                assert_eq!((stats.data_writes, line_writes), (64, 1), "{name}");
                assert_eq!((stats.counter_writes, counter_writes), (block_writes, block_writes as u32), "{name}");
                let asked = if name == "unencrypted" { 0 } else { 64 };
                assert_eq!(stats.counter_writes_asked, asked, "{name}");
                assert_eq!(stats.counter_writes_coalesced, asked - block_writes, "{name}");
            }
        }
    }
}

#[test]
fn what_has_been_issued_cannot_be_reduced() {
    // The same page into a queue that issues at once: some copies are being written when the next one comes.
    let mut machine = machine();
    machine.controller.wpq_issue_when_idle = true;
    let (stats, _, counter_writes) = flush_page("secpm", Variant::Hardened, &machine, 500_000);
    assert!(stats.counter_writes > 1 && stats.counter_writes <= 64, "{}", stats.counter_writes);
    assert_eq!(u64::from(counter_writes), stats.counter_writes);
    assert_eq!(stats.counter_writes + stats.counter_writes_coalesced, 64);
}

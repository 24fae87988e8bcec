//! How many random line accesses the device schedules per second.

use counterpoint_engine::config::Machine;
use counterpoint_engine::device::Device;
use counterpoint_engine::kernel::{Ps, Random};
use counterpoint_engine::layout::MediaLayout;
use counterpoint_engine::message::{BaseImage, DevicePort, LINE_WORDS, Line, LineBytes, MediaLine, MediaOp};
use std::sync::Arc;

struct Empty;

impl BaseImage for Empty {
    fn line(&self, _line: Line) -> Option<&LineBytes> {
        None
    }
    fn populated(&self, _line: Line) -> bool {
        false
    }
    fn end(&self) -> u64 {
        0
    }
}

const ACCESSES: u64 = 100_000;
const LINES: u64 = 1 << 20;

fn device() -> Device {
    let machine: Machine = toml::from_str(include_str!("../src/config/presets/secpm.toml")).expect("a valid preset");
    Device::new(&machine, MediaLayout::PLAIN, Arc::new(Empty)).expect("nothing is larger than the device")
}

/// Half reads, half writes, to random lines; each as soon as its bank is free. The lines have been accessed before, so
/// that the host's first access to its memory is not measured.
#[divan::bench(args = [false, true], counters = [divan::counter::ItemsCount::new(ACCESSES)])]
fn issue(bencher: divan::Bencher, with_bytes: bool) {
    let mut device = device();
    let mut free: Vec<Ps> = vec![0; usize::from(device.banks())];
    let mut now: Ps = 0;
    let mut round = || {
        let mut random = Random::stream(1, "bench");
        for n in 0..ACCESSES {
            let draw = random.next_u64();
            let media = MediaLine::data(Line(draw % LINES));
            let op = if draw >> 63 == 0 { MediaOp::Read } else { MediaOp::Write };
            let location = device.locate(media);
            let free = &mut free[usize::from(location.bank)];
            now = now.max(*free);
            *free = device.issue(now, media, location, op, LINE_WORDS, 0).done;
            if with_bytes && op == MediaOp::Write {
                device.store(media, &[n as u8; 64]);
            }
        }
        now
    };
    round();
    bencher.bench_local(round);
}

fn main() {
    divan::main();
}

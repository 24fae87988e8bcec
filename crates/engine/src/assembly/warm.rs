//! What caches and counter cache hold when programs begin, if they have been used before (`program.base = "warm"`): lines of
//! each core's populated memory. Their last uses have a random order, as after a long time of random use.

use crate::cache::Hierarchy;
use crate::config::Machine;
use crate::controller::Controller;
use crate::device::Device;
use crate::kernel::{Random, Shuffle};
use crate::message::{BaseImage, CoreId, LINE_BYTES, Line, LineBytes, ProgramLayout};
use std::ops::Range;

/// Fills the empty `cache` and the empty counter cache of `controller` for programs that start from `base` and lie where the
/// `layouts` say; a program without a layout has all of it.
pub(super) fn warm(
    machine: &Machine,
    (cache, controller, device): (&mut Hierarchy, &mut Controller, &Device),
    base: &dyn BaseImage,
    layouts: &[ProgramLayout],
    seed: u64,
) {
    let uses = || Uses::of(base, layouts, seed);
    let mut warming = cache.warm();
    let mut lines = uses();
    while let Some((core, line)) = lines.next() {
        warming.add(core, line, || content(machine, base, line));
        if !warming.has_room(core) {
            lines.end(core);
        }
    }
    controller.warm(device, uses().map(|(_, line)| line));
}

/// What `line` holds, if the engine moves bytes.
fn content(machine: &Machine, base: &dyn BaseImage, line: Line) -> LineBytes {
    let bytes = if machine.engine.bytes { base.line(line) } else { None };
    bytes.copied().unwrap_or([0; 64])
}

/// Lines that cores have used, the one that was used last first: cores by turns, each every line of its own once.
struct Uses {
    of_cores: Vec<OfCore>,
    turn: usize,
}

/// Lines of one core.
struct OfCore {
    core: CoreId,
    /// Its ranges, each with the number of lines before it.
    ranges: Vec<(u64, Range<u64>)>,
    count: u64,
    order: Shuffle,
    next: u64,
}

impl Uses {
    fn of(base: &dyn BaseImage, layouts: &[ProgramLayout], seed: u64) -> Self {
        let populated = base.populated_lines();
        let everything = [(0, 0..u64::MAX)];
        let own = |layout: &ProgramLayout| (layout.core, layout.heap.clone());
        let places: Vec<(CoreId, Range<u64>)> =
            if layouts.is_empty() { everything.to_vec() } else { layouts.iter().map(own).collect() };
        let of_cores = places.into_iter().map(|(core, place)| OfCore::new(core, &populated, &place, seed));
        Self { of_cores: of_cores.filter(|of_core| of_core.count > 0).collect(), turn: 0 }
    }

    /// No more lines of `core`.
    fn end(&mut self, core: CoreId) {
        self.of_cores.retain(|of_core| of_core.core != core);
    }
}

impl Iterator for Uses {
    type Item = (CoreId, Line);

    fn next(&mut self) -> Option<(CoreId, Line)> {
        if self.of_cores.is_empty() {
            return None;
        }
        self.turn %= self.of_cores.len();
        let of_core = &mut self.of_cores[self.turn];
        let used = (of_core.core, of_core.take());
        if of_core.next == of_core.count {
            self.of_cores.remove(self.turn);
        } else {
            self.turn += 1;
        }
        Some(used)
    }
}

impl OfCore {
    fn new(core: CoreId, populated: &[Range<u64>], place: &Range<u64>, seed: u64) -> Self {
        let mut count = 0;
        let lines = |address: u64| address.div_ceil(LINE_BYTES);
        let place = lines(place.start)..lines(place.end);
        let own = populated.iter().map(|range| range.start.max(place.start)..range.end.min(place.end));
        let ranges = own.filter(|range| !range.is_empty()).map(|range| {
            let before = count;
            count += range.end - range.start;
            (before, range)
        });
        let ranges = ranges.collect();
        let seed = Random::stream(seed, &format!("earlier use of core {core}")).next_u64();
        Self { core, ranges, count, order: Shuffle::new(count, seed), next: 0 }
    }

    fn take(&mut self) -> Line {
        let number = self.order.forward(self.next);
        self.next += 1;
        let (before, range) = &self.ranges[self.ranges.partition_point(|(before, _)| *before <= number) - 1];
        Line(range.start + number - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    struct Parts(Vec<Range<u64>>);

    impl BaseImage for Parts {
        fn line(&self, _line: Line) -> Option<&LineBytes> {
            None
        }
        fn populated(&self, line: Line) -> bool {
            self.0.iter().any(|range| range.contains(&line.0))
        }
        fn end(&self) -> u64 {
            1 << 20
        }
    }

    fn layout(core: CoreId, heap: Range<u64>) -> ProgramLayout {
        ProgramLayout { core, log: 0..0, volatile: heap.end..heap.end, heap }
    }

    #[test]
    fn each_core_uses_each_of_its_populated_lines_once_in_an_order_of_the_seed() {
        let base = Parts(vec![2..5, 9..40, 70..90]);
        let layouts = [layout(0, 0..20 * 64), layout(1, 20 * 64..80 * 64)];
        let all = |seed| Uses::of(&base, &layouts, seed).collect::<Vec<_>>();
        let of = |core| all(7).into_iter().filter(move |(other, _)| *other == core).map(|(_, line)| line.0);
        let expected = |place: Range<u64>| place.filter(|&line| base.populated(Line(line))).collect::<BTreeSet<_>>();
        assert_eq!(of(0).collect::<BTreeSet<_>>(), expected(0..20));
        assert_eq!(of(1).collect::<BTreeSet<_>>(), expected(20..80));
        assert_eq!((of(0).count(), of(1).count()), (14, 30));
        assert!(!of(1).is_sorted() && all(7) == all(7) && all(7) != all(8));
        // By turns, as long as there are lines.
        let cores: Vec<CoreId> = all(7).into_iter().map(|(core, _)| core).collect();
        assert!((0..28).all(|at| cores[at] == at as CoreId % 2) && cores[28..].iter().all(|&core| core == 1));
        assert_eq!(Uses::of(&base, &[], 7).filter(|(core, _)| *core == 0).count(), 54);
        assert!(Uses::of(&Parts(Vec::new()), &layouts, 7).next().is_none());
    }
}

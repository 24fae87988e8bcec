//! Every scheme gives each media line a separate place, and the places are the documented ones.

use super::*;
use crate::config::{ByteSize, CoreRegion};
use crate::device::tests::test_machine;
use crate::layout::{Coverage, MacLayout, TreeShape};
use crate::message::{Line, PAGE_BYTES};
use proptest::prelude::*;
use std::collections::HashSet;

fn machine(
    (channels, ranks, banks, rows, pages_per_row): (u32, u32, u32, u64, u64),
    mapping: AddressMapping,
    placement: CounterPlacement,
) -> Machine {
    let mut machine = test_machine();
    let device = &mut machine.device;
    (device.channels, device.ranks, device.banks_per_rank) = (channels, ranks, banks);
    device.row = ByteSize(pages_per_row * PAGE_BYTES);
    device.capacity = ByteSize(u64::from(channels * ranks * banks) * rows * device.row.0);
    device.mapping = mapping;
    machine.program.core_region = CoreRegion::Packed;
    machine.controller.counter_placement = placement;
    machine
}

fn mappings() -> impl Strategy<Value = AddressMapping> {
    use AddressMapping::*;
    prop_oneof![
        Just(PageInterleaved),
        Just(RowInterleaved),
        Just(LineInterleaved),
        Just(SegmentInterleaved),
        Just(PageXor),
        Just(BankContiguous)
    ]
}

fn placements() -> impl Strategy<Value = CounterPlacement> {
    use CounterPlacement::*;
    prop_oneof![Just(SameBank), Just(SingleBank), Just(CrossBank), Just(Interleaved)]
}

/// Split counters, 8-byte counters in blocks of their own, and 8-byte counters beside their lines.
fn layouts() -> impl Strategy<Value = MediaLayout> {
    let of = |coverage, inline| Just(MediaLayout { coverage, inline, ..MediaLayout::PLAIN });
    prop_oneof![
        of(Coverage::PAGE, false),
        of(Coverage::of(128), false),
        of(Coverage::of(16), false),
        of(Coverage::EIGHT_LINES, false),
        of(Coverage::LINE, true)
    ]
}

/// No MACs, MACs of 64 and of 128 bits in lines of their own, and MACs beside their lines.
fn mac_layouts() -> impl Strategy<Value = Option<MacLayout>> {
    let of = |coverage, bits| Just(Some(MacLayout { coverage, beside_bytes: 0, bits }));
    prop_oneof![Just(None), of(Coverage::EIGHT_LINES, 64), of(Coverage::FOUR_LINES, 128), of(Coverage::LINE, 56)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn every_media_line_has_a_place_of_its_own(
        channels in 0..2u32, ranks in 0..2u32, banks in 1..5u32, rows in 2..140u64, pages_per_row in 1..4u64,
        kind in mappings(), placement in placements(), layout in layouts(), macs in mac_layouts(),
    ) {
        // Only an exclusive-or asks for a power of two of banks.
        let banks = if kind == AddressMapping::PageXor { 1 << (banks - 1).min(2) } else { banks };
        let lines_apart = kind.divides_pages();
        // A quarter of a page, where a row has parts.
        let stripe = if kind == AddressMapping::SegmentInterleaved { 16 } else { 1 };
        let of_page = matches!(placement, CounterPlacement::SameBank | CounterPlacement::CrossBank);
        prop_assume!(!(lines_apart && of_page));
        let shape = (1 << channels, 1 << ranks, banks, rows, pages_per_row);
        let mut machine = machine(shape, kind, placement);
        machine.counters.block_lines = layout.coverage.lines().max(16) as u32;
        machine.device.row_segments = if stripe == 16 { 4 * pages_per_row as u32 } else { 1 };
        let leaves = (Geometry::of(&machine).data_pages * 64 / layout.coverage.lines() as u64).max(1);
        let tree = TreeShape::new(leaves, 8);
        let layout = MediaLayout { macs, tree: Some(tree), ..layout };
        let mapping = Mapping::new(&machine, layout);
        let Geometry { banks, data_pages, mapped_rows, .. } = *mapping.geometry();
        let (mut taken, mut beyond) = (HashSet::new(), HashSet::new());
        for page in (0..data_pages).map(Page) {
            let home = mapping.place(MediaLine::data(page.line(0)));
            for index in 0..64 {
                let place = mapping.place(MediaLine::data(page.line(index)));
                if lines_apart {
                    prop_assert_eq!(place.bank, (page.0 * 64 + index as u64) / stripe % banks);
                    prop_assert!(place.row < mapped_rows);
                } else {
                    prop_assert_eq!((place.bank, place.row), (home.bank, home.row));
                }
                prop_assert!(taken.insert(place));
            }
            let firsts = (0..64).map(|index| page.line(index)).filter(|line| layout.coverage.index(*line) == 0);
            for first in firsts {
                let counter = mapping.place(MediaLine::counter(layout.coverage.block(first)));
                if layout.inline {
                    prop_assert_eq!(counter, mapping.place(MediaLine::data(first)));
                    continue;
                }
                prop_assert!(taken.insert(counter));
                match placement {
                    CounterPlacement::SameBank => prop_assert_eq!(counter.bank, home.bank),
                    CounterPlacement::SingleBank => prop_assert_eq!(counter.bank, 0),
                    CounterPlacement::CrossBank => prop_assert_eq!(counter.bank, (home.bank + banks / 2) % banks),
                    CounterPlacement::Interleaved => {}
                }
                if placement != CounterPlacement::Interleaved {
                    prop_assert!(home.row < mapped_rows && counter.row >= mapped_rows);
                }
            }
        }
        prop_assert!(taken.iter().all(|p| p.bank < banks && p.row < rows && p.column < pages_per_row * 64));
        // What protects integrity is beyond all rows of data and counters.
        if let Some(macs) = macs {
            for line in (0..data_pages).flat_map(|page| (0..64).map(move |index| Page(page).line(index))) {
                let place = mapping.place(MediaLine::mac(macs.block(line)));
                if macs.beside() {
                    prop_assert_eq!(place, mapping.place(MediaLine::data(line)));
                } else {
                    prop_assert!(lines_apart || place.bank == mapping.place(MediaLine::data(line)).bank);
                    prop_assert_eq!(beyond.insert(place), macs.coverage.index(line) == 0);
                }
            }
        }
        for level in 1..tree.top() {
            for index in 0..tree.nodes(level) {
                let node = MediaLine::node(crate::message::TreeNode { level, index });
                prop_assert!(beyond.insert(mapping.place(node)));
            }
        }
        prop_assert!(beyond.iter().all(|p| p.bank < banks && p.row >= rows && p.column < pages_per_row * 64));
        // Data takes nearly all that the largest counters leave: 8 parts of 9, less what rounding to rows costs, and to
        // blocks of two pages; and with everything in bank 0, what the other banks have beside its reserved rows.
        let shared_by = if placement == CounterPlacement::SingleBank { banks } else { 1 };
        let least = (rows * 8 / (8 + shared_by)) * banks * pages_per_row;
        let block_pages = (u64::from(machine.counters.block_lines) / 64).max(1);
        prop_assert!(data_pages >= least - least % block_pages);
    }
}

#[test]
fn consecutive_pages_go_where_the_mapping_says() {
    let place = |kind, page: u64| {
        let mapping = Mapping::new(&machine((1, 2, 2, 72, 1), kind, CounterPlacement::SameBank), MediaLayout::PLAIN);
        let location = mapping.location(mapping.place(MediaLine::data(Line(page * 64 + 5))));
        (location.bank, location.row)
    };
    let places = |kind| [0, 1, 3, 4, 5, 8, 63, 64].map(|page| place(kind, page));
    assert_eq!(
        places(AddressMapping::PageInterleaved),
        [(0, 0), (1, 0), (3, 0), (0, 1), (1, 1), (0, 2), (3, 15), (0, 16)]
    );
    assert_eq!(places(AddressMapping::PageXor), [(0, 0), (1, 0), (3, 0), (1, 1), (0, 1), (2, 2), (0, 15), (0, 16)]);
    assert_eq!(
        places(AddressMapping::BankContiguous),
        [(0, 0), (0, 1), (0, 3), (0, 4), (0, 5), (0, 8), (0, 63), (1, 0)]
    );
}

#[test]
fn consecutive_lines_go_to_consecutive_banks_and_fill_their_rows_together() {
    let machine = machine((1, 1, 4, 72, 1), AddressMapping::LineInterleaved, CounterPlacement::Interleaved);
    let mapping = Mapping::new(&machine, MediaLayout::PLAIN);
    let at = |line| mapping.place(MediaLine::data(Line(line)));
    assert_eq!(at(0), Place { bank: 0, row: 0, column: 0 });
    assert_eq!(at(3), Place { bank: 3, row: 0, column: 0 });
    assert_eq!(at(4), Place { bank: 0, row: 0, column: 1 });
    assert_eq!(at(255), Place { bank: 3, row: 0, column: 63 });
    assert_eq!(at(256), Place { bank: 0, row: 1, column: 0 });
    // The counter blocks follow the data under the same mapping.
    let first = mapping.geometry().data_pages * 64;
    let block = |number| mapping.place(MediaLine::counter(CounterBlock(number)));
    assert_eq!((block(0), block(5)), (at(first), at(first + 5)));
}

#[test]
fn pages_of_a_bank_share_a_large_row() {
    let mapping = Mapping::new(
        &machine((1, 1, 4, 72, 4), AddressMapping::PageInterleaved, CounterPlacement::SameBank),
        MediaLayout::PLAIN,
    );
    let at = |page| mapping.place(MediaLine::data(Page(page).line(1)));
    assert_eq!(at(0), Place { bank: 0, row: 0, column: 1 });
    assert_eq!(at(4), Place { bank: 0, row: 0, column: 65 });
    assert_eq!(at(12), Place { bank: 0, row: 0, column: 193 });
    assert_eq!(at(16), Place { bank: 0, row: 1, column: 1 });
}

#[test]
fn consecutive_rows_go_to_consecutive_banks() {
    let mut machine = machine((1, 1, 4, 72, 4), AddressMapping::RowInterleaved, CounterPlacement::SameBank);
    let at = |machine: &Machine, page: u64| {
        let mapping = Mapping::new(machine, MediaLayout::PLAIN);
        let (place, location) = (
            mapping.place(MediaLine::data(Page(page).line(1))),
            mapping.location(mapping.place(MediaLine::data(Page(page).line(1)))),
        );
        (place.bank, place.row, place.column, location.row)
    };
    assert_eq!(
        [0, 3, 4, 15, 16].map(|page| at(&machine, page)),
        [(0, 0, 1, 0), (0, 0, 193, 0), (1, 0, 1, 0), (3, 0, 193, 0), (0, 1, 1, 1)]
    );
    // With a row buffer for half a page, each row counts as eight.
    machine.device.row_segments = 8;
    assert_eq!(
        [0, 3, 4, 16].map(|page| at(&machine, page)),
        [(0, 0, 1, 0), (0, 0, 193, 6), (1, 0, 1, 0), (0, 1, 1, 8)]
    );
}

#[test]
fn preset_loses_one_part_in_nine_to_counters() {
    let mut machine = test_machine();
    machine.device.capacity = ByteSize(16 << 30);
    let geometry = Geometry::of(&machine);
    assert_eq!(geometry.rows, (16 << 30) / 4096 / geometry.banks);
    let lost = (16 << 30) - geometry.data_capacity();
    assert!(lost >= (16 << 30) / 9 && lost < (16 << 30) / 9 + geometry.banks * 4096 * 2);
}

#[test]
fn banks_that_cores_share_out_begin_and_end_where_banks_do() {
    use CounterPlacement::{CrossBank, Interleaved, SameBank, SingleBank};
    for (placement, data_banks) in [(SameBank, 4), (CrossBank, 4), (SingleBank, 4), (Interleaved, 3)] {
        let mut machine = machine((1, 1, 4, 72, 1), AddressMapping::BankContiguous, placement);
        assert_eq!(Geometry::bank_regions(&machine), None);
        machine.program.core_region = CoreRegion::OwnBanks;
        let regions = Geometry::bank_regions(&machine).unwrap();
        assert_eq!(regions.banks, data_banks, "{placement:?}");
        let mapping = Mapping::new(&machine, MediaLayout::PLAIN);
        let bank = |address| mapping.place(MediaLine::data(Line::containing(address))).bank;
        for number in 0..data_banks {
            let first = number * regions.bytes;
            assert_eq!([bank(first), bank(first + regions.bytes - 1)], [number; 2], "{placement:?}");
        }
        machine.program.core_region = CoreRegion::OwnBanksContiguous;
        let together = Geometry::bank_regions(&machine).unwrap();
        assert_eq!((together.bytes, together.banks), (regions.bytes, regions.banks));
        assert!(regions.log_apart && !together.log_apart);
        machine.device.mapping = AddressMapping::PageInterleaved;
        assert_eq!(Geometry::bank_regions(&machine), None);
    }
}

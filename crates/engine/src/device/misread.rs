//! What lines read as once the registers of Start-Gap are lost: start and gap are then where they were at first, so that a
//! line is looked for where it was before anything moved. What is there is the line that has come to that place, or what a
//! line has left behind in the gap.
//!
//! Decisions:
//! - The registers are lost after the write pending queue has drained, which goes by them.
//! - A place that nothing has been written to holds zeros. Populated lines count as written before the run; counter blocks,
//!   lines of MACs and nodes that the run has not written are left out.

use super::Device;
use super::start_gap::StartGap;
use crate::message::{BaseImage, Content, Found, Line, MediaLine, MediaUnit};
use std::collections::BTreeMap;
use std::mem::discriminant;

/// A region: its bank, and its number there.
type At = (u64, u64);

/// The lines of the regions, by their numbers there, and what gaps hold. Lines that lie beside each other have one number.
#[derive(Clone, Debug, Default)]
pub(super) struct Residents {
    lines: BTreeMap<At, BTreeMap<u64, Vec<MediaLine>>>,
    gaps: BTreeMap<At, Vec<(MediaLine, Found)>>,
}

impl Residents {
    /// Those of a device that holds `base`; `at`: the region of a line, and its number there.
    pub fn of(base: &dyn BaseImage, at: impl Fn(MediaLine) -> (At, u64)) -> Self {
        let mut residents = Self::default();
        for media in base.populated_lines().into_iter().flatten().map(|line| MediaLine::data(Line(line))) {
            residents.enter(media, at(media));
        }
        residents
    }

    /// `media` is, or will be, stored.
    pub fn enter(&mut self, media: MediaLine, (at, number): (At, u64)) {
        let beside = self.lines.entry(at).or_default().entry(number).or_default();
        if !beside.contains(&media) {
            beside.push(media);
        }
    }

    /// What is stored under this number.
    fn under(&self, at: At, number: u64) -> &[MediaLine] {
        self.lines.get(&at).and_then(|lines| lines.get(&number)).map_or(&[], Vec::as_slice)
    }

    /// What is stored under this number has moved; `what` each of it has left in the gap.
    pub fn left(&mut self, at: At, number: u64, what: impl Fn(MediaLine) -> Found) {
        let left = self.under(at, number).iter().map(|&media| (media, what(media))).collect();
        self.gaps.insert(at, left);
    }

    /// Each line that is not where it was at first, with what is there, in the order of the lines.
    fn misread(&self, regions: &StartGap) -> Vec<(MediaLine, Found)> {
        let mut found = Vec::new();
        for (&at, lines) in &self.lines {
            let Some(first) = regions.first_moved(at) else { continue };
            for (&slot, readers) in lines.range(first..) {
                for (place, &reader) in readers.iter().enumerate() {
                    let there = self.at_slot(regions, at, slot, (reader, place == 0));
                    if there != Found::Line(reader) {
                        found.push((reader, there));
                    }
                }
            }
        }
        found.sort_unstable_by_key(|(reader, _)| *reader);
        found
    }

    /// What `reader` finds in a place. What lies beside a line is nothing to what lies alone.
    fn at_slot(&self, regions: &StartGap, at: At, slot: u64, (reader, is_line): (MediaLine, bool)) -> Found {
        let there: Vec<(MediaLine, Found)> = match regions.number_at(at, slot) {
            Some(number) => self.under(at, number).iter().map(|&media| (media, Found::Line(media))).collect(),
            None => self.gaps.get(&at).cloned().unwrap_or_default(),
        };
        let kind = |media: MediaLine| discriminant::<MediaUnit>(&media.unit());
        let same = there.iter().find(|(media, _)| kind(*media) == kind(reader));
        same.or_else(|| there.first().filter(|_| is_line)).map_or(Found::Blank, |(_, found)| *found)
    }
}

impl Device {
    /// If a power failure takes the registers of wear levelling: each line that reads as something else then, with what that
    /// is.
    pub fn misread(&self) -> Vec<(MediaLine, Found)> {
        let residents = self.residents.as_ref().zip(self.leveling.as_ref());
        residents.map_or_else(Vec::new, |(residents, regions)| residents.misread(regions))
    }

    /// `media` is being written; `moved`: the region and the number of what moves because of that.
    pub(super) fn resides(&mut self, media: MediaLine, moved: Option<(At, u64)>) {
        let (Some(residents), Some(regions)) = (&mut self.residents, &self.leveling) else { return };
        let home = self.mapping.place(media);
        let (region, number) = regions.number(home);
        residents.enter(media, ((home.bank, region), number));
        let Some((at, number)) = moved else { return };
        let image = &self.image;
        residents.left(at, number, |media| match (image.content(media), media.as_line()) {
            (Content::Stored(bytes), _) => Found::Bytes(*bytes),
            (Content::Base(_), Some(line)) => Found::First(line),
            _ => Found::Blank,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_machine;
    use crate::device::tests::TestBase;
    use crate::device::{Device, MediaPlace};
    use crate::kernel::Random;
    use crate::message::{DevicePort, LineBytes, MediaOp};
    use std::sync::Arc;

    /// The 64 lines of the first page, of which the first 40 are populated.
    fn lines() -> impl Iterator<Item = MediaLine> {
        (0..64).map(|line| MediaLine::data(Line(line)))
    }

    fn places(device: &Device) -> Vec<MediaPlace> {
        lines().map(|media| device.place(media)).collect()
    }

    /// Against cells to which bytes are really written and copied.
    #[test]
    fn a_line_reads_as_what_is_where_it_was_at_first() {
        for scatter in ["in-order", "random"] {
            let scatter = format!("wear.scatter={scatter}");
            let small = ["device.capacity=1MiB", "log.buckets=1", "wear.leveling=start-gap", "wear.gap_interval=2"];
            let more = ["wear.regions_per_bank=64", "wear.registers_durable=false", &scatter];
            let sets: Vec<String> = small.iter().chain(&more).map(|set| (*set).to_owned()).collect();
            let machine = load_machine("small", &sets).unwrap();
            let layout =
                crate::design::find("unencrypted", crate::config::Variant::Hardened).unwrap().media_layout(&machine);
            let base = Arc::new(TestBase { lines: 40, bytes: [0xbb; 64] });
            let mut device = Device::new(&machine, layout, base).unwrap();
            let first = places(&device);
            let mut cells: BTreeMap<(u32, u64, u64), LineBytes> = BTreeMap::new();
            let cell = |place: &MediaPlace| (place.bank, place.row, place.column);
            cells.extend(first[..40].iter().map(|place| (cell(place), [0xbb; 64])));
            let mut random = Random::stream(1, "misread");
            for step in 0..400_u64 {
                let before = places(&device);
                let written = random.below(64);
                let (media, bytes) = (MediaLine::data(Line(written)), [step as u8; 64]);
                device.issue(step * 1_000_000, media, device.locate(media), MediaOp::Write, 8, 0);
                let after = places(&device);
                for (from, to) in before.iter().zip(&after).filter(|(from, to)| from != to) {
                    let moved = cells.get(&cell(from)).copied().unwrap_or([0; 64]);
                    cells.insert(cell(to), moved);
                }
                device.store(media, &bytes);
                cells.insert(cell(&after[written as usize]), bytes);
                let misread: BTreeMap<MediaLine, Found> = device.misread().into_iter().collect();
                for (media, place) in lines().zip(&first) {
                    let there = cells.get(&cell(place)).copied().unwrap_or([0; 64]);
                    let held = |media: MediaLine| match device.content(media) {
                        Content::Stored(bytes) | Content::Base(bytes) => *bytes,
                        Content::Never => [0; 64],
                    };
                    let told = match misread.get(&media) {
                        None => held(media),
                        Some(Found::Line(other)) => held(*other),
                        Some(Found::First(_)) => [0xbb; 64],
                        Some(Found::Bytes(bytes)) => *bytes,
                        Some(Found::Blank) => [0; 64],
                    };
                    // What nobody has written or populated is nobody's loss.
                    let known = device.content(media) != Content::Never;
                    assert!(!known || told == there, "{scatter}, step {step}, {media:?}");
                }
            }
            assert!(device.stats().gap_moves > 150 && device.misread().len() > 20);
            device.power_cycle(&machine);
            assert_eq!(places(&device), first);
        }
    }
}

//! The queue at its edges, and against a list of its entries that is searched from one end to the other.

use super::*;
use crate::message::{CounterBlock, Line};
use proptest::prelude::*;

fn oldest(wpq: &Wpq) -> Option<u32> {
    wpq.waiting().oldest(0)
}

fn room(entries: usize) -> Room {
    Room { entries, high: entries, low: 0 }
}

fn write(media: MediaLine, bank: u16, row: u32, byte: u8) -> Arrival {
    let location = Location { bank, row };
    let bytes = [byte; 64];
    Arrival { media, location, bytes, ready: true, epoch: 0, increment: 0, beside: None, acknowledge: None, now: 0 }
}

#[test]
fn bank_sees_its_entries_in_order() {
    let mut wpq = Wpq::new(room(8), None, 2, false);
    let a = wpq.push(write(MediaLine::data(Line(1)), 0, 5, 1));
    let b = wpq.push(write(MediaLine::data(Line(2)), 0, 6, 2));
    let c = wpq.push(write(MediaLine::data(Line(3)), 1, 6, 3));
    let in_row = |row| wpq.oldest_in(Location { bank: 0, row }, false);
    assert_eq!((oldest(&wpq), in_row(6), in_row(9)), (Some(a), Some(b), None));
    wpq.mark_issued(a, 8);
    assert_eq!(oldest(&wpq), Some(b));
    assert_eq!(wpq.len(), 3, "an issued entry keeps its slot until the bank accepted it");
    wpq.remove(a);
    wpq.mark_issued(c, 8);
    let of_bank = |bank| wpq.waiting().of_bank(bank).count();
    assert_eq!((of_bank(1), of_bank(0), wpq.waiting().len()), (0, 1, 1));
    assert_eq!(wpq.in_order().iter().map(|entry| entry.bytes[0]).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn entry_that_is_not_ready_takes_room_and_nothing_else() {
    let mut wpq = Wpq::new(room(2), Some(room(1)), 1, false);
    let data = MediaLine::data(Line(1));
    let unready = wpq.push(Arrival { ready: false, ..write(data, 0, 0, 1) });
    let later = wpq.push(write(MediaLine::data(Line(2)), 0, 0, 2));
    assert_eq!((wpq.free(false), wpq.free(true), wpq.is_high()), (0, 1, false));
    let in_row = wpq.oldest_in(Location { bank: 0, row: 0 }, false);
    assert_eq!((oldest(&wpq), in_row), (Some(later), Some(later)));
    assert_eq!(wpq.in_order().len(), 1);
    let counter = wpq.push(write(MediaLine::counter(CounterBlock(0)), 0, 1, 3));
    wpq.set_ready(unready, 0);
    wpq.replace(counter, &[4; 64], 9, None);
    assert_eq!(wpq.in_order().iter().map(|entry| entry.bytes[0]).collect::<Vec<_>>(), [1, 2, 4]);
    for slot in [later, counter, unready] {
        assert_eq!(oldest(&wpq), Some(slot));
        wpq.mark_issued(slot, 8);
        wpq.remove(slot);
    }
    assert!(wpq.is_low() && wpq.free(false) == 2 && wpq.free(true) == 1);
}

#[test]
fn an_entry_whose_row_is_open_gives_its_room_back_and_survives() {
    let mut wpq = Wpq::new(room(2), None, 1, true);
    let [a, b] = [1, 2].map(|line| wpq.push(write(MediaLine::data(Line(line)), 0, 5, line as u8)));
    wpq.mark_opened(a);
    assert_eq!((wpq.free(false), oldest(&wpq), wpq.is_high()), (1, Some(a), false));
    assert_eq!(wpq.in_order().iter().map(|entry| entry.bytes[0]).collect::<Vec<_>>(), [1, 2]);
    let superseded = |wpq: &Wpq, line| wpq.superseded(MediaLine::data(Line(line)));
    assert_eq!((superseded(&wpq, 1), superseded(&wpq, 2)), (None, Some(b)), "it is on its way");
    wpq.mark_issued(a, 8);
    assert_eq!(wpq.free(false), 1);
    wpq.remove(a);
    assert_eq!((wpq.free(false), wpq.len()), (1, 1));
}

#[test]
fn watermarks_count_ready_entries_of_each_kind() {
    let kind = |entries, high, low| Room { entries, high, low };
    let mut wpq = Wpq::new(kind(4, 3, 1), Some(kind(2, 2, 0)), 1, false);
    let [a, _, c] = [true, true, false].map(|ready| {
        let line = MediaLine::data(Line(wpq.len() as u64));
        wpq.push(Arrival { ready, ..write(line, 0, 0, 0) })
    });
    assert!(!wpq.is_high() && !wpq.is_low(), "two of three are ready, more than one");
    wpq.set_ready(c, 0);
    assert!(wpq.is_high());
    wpq.mark_issued(a, 8);
    wpq.remove(a);
    wpq.mark_issued(c, 8);
    wpq.remove(c);
    assert!(wpq.is_low() && !wpq.is_low_by(1), "one is at the low watermark, and one more is not below it");
    let [first, second] = [0, 1].map(|id| wpq.push(write(MediaLine::counter(CounterBlock(id)), 0, 1, 0)));
    assert!(wpq.is_high() && !wpq.is_low(), "the counter queue is full");
    assert_eq!((wpq.free(false), wpq.free(true)), (3, 0));
    for slot in [first, second] {
        assert!(!wpq.is_low());
        wpq.mark_issued(slot, 8);
        wpq.remove(slot);
    }
    assert!(wpq.is_low() && !wpq.is_high());
}

/// What is known of an entry, and when it became ready.
struct Kept {
    slot: u32,
    media: MediaLine,
    location: Location,
    byte: u8,
    ready: Option<usize>,
    issued: bool,
}

/// The entries in the order of their admission.
struct Reference {
    rooms: [Option<Room>; 2],
    frees_at_issue: bool,
    entries: Vec<Kept>,
    steps: usize,
}

impl Reference {
    fn of_kind(&self, kind: usize) -> impl Iterator<Item = &Kept> {
        let apart = self.rooms[1].is_some();
        self.entries.iter().filter(move |kept| usize::from(apart && kept.media.is_counter()) == kind)
    }

    fn used(&self, kind: usize) -> usize {
        self.of_kind(kind).filter(|kept| !(kept.issued && self.frees_at_issue)).count()
    }

    fn ready(&self, kind: usize) -> usize {
        self.used(kind) - self.of_kind(kind).filter(|kept| kept.ready.is_none()).count()
    }

    fn free(&self, counter: bool) -> usize {
        let kind = usize::from(counter && self.rooms[1].is_some());
        self.rooms[kind].unwrap().entries - self.used(kind)
    }

    /// The entries that `wanted` selects of those that wait for a bank, in the order in which they became ready.
    fn waiting(&self, wanted: impl Fn(&Kept) -> bool) -> Vec<u32> {
        let mut waiting: Vec<&Kept> =
            self.entries.iter().filter(|kept| kept.ready.is_some() && !kept.issued && wanted(kept)).collect();
        waiting.sort_by_key(|kept| kept.ready);
        waiting.iter().map(|kept| kept.slot).collect()
    }

    fn compare(&self, wpq: &Wpq) {
        assert_eq!(
            (wpq.len(), wpq.free(false), wpq.free(true)),
            (self.entries.len(), self.free(false), self.free(true))
        );
        let rooms = || self.rooms.iter().enumerate().filter_map(|(kind, room)| Some((self.ready(kind), (*room)?)));
        assert_eq!(wpq.is_high(), rooms().any(|(ready, room)| ready >= room.high));
        assert_eq!(wpq.is_low(), rooms().all(|(ready, room)| ready <= room.low));
        assert_eq!(wpq.is_low_by(1), rooms().all(|(ready, room)| ready + 1 < room.low));
        let in_order: Vec<(MediaLine, u8)> = wpq.in_order().iter().map(|entry| (entry.media, entry.bytes[0])).collect();
        let ready = self.entries.iter().filter(|kept| kept.ready.is_some());
        assert_eq!(in_order, ready.map(|kept| (kept.media, kept.byte)).collect::<Vec<_>>());
        for bank in 0..2 {
            let of_bank: Vec<u32> = wpq.waiting().of_bank(bank).collect();
            assert_eq!(of_bank, self.waiting(|kept| kept.location.bank == bank));
            for (row, counters) in [(0, false), (0, true), (1, false), (1, true)] {
                let location = Location { bank, row };
                let wanted = |kept: &Kept| kept.location == location && (counters || !kept.media.is_counter());
                assert_eq!(wpq.oldest_in(location, counters), self.waiting(wanted).first().copied());
            }
        }
        let waits = |kept: &&Kept| kept.ready.is_some() && !kept.issued;
        for media in (0..8).map(medium) {
            let of_line = || self.entries.iter().filter(move |kept| kept.media == media);
            assert_eq!(wpq.newest(media).map(|entry| entry.bytes[0]), of_line().next_back().map(|kept| kept.byte));
            assert_eq!(wpq.superseded(media), of_line().find(waits).map(|kept| kept.slot));
        }
        let counters = || self.entries.iter().filter(|kept| kept.media.is_counter());
        assert_eq!(wpq.oldest_counter(), counters().find(waits).map(|kept| kept.slot));
    }

    /// The `n`-th of the entries that `wanted` selects, if there are any.
    fn pick(&mut self, n: usize, wanted: impl Fn(&Kept) -> bool) -> Option<usize> {
        let places: Vec<usize> = (0..self.entries.len()).filter(|&place| wanted(&self.entries[place])).collect();
        (!places.is_empty()).then(|| places[n % places.len()])
    }
}

/// One of six lines of data and two counter blocks, over two rows of two banks.
fn medium(n: u64) -> MediaLine {
    if n < 6 { MediaLine::data(Line(n)) } else { MediaLine::counter(CounterBlock(n - 6)) }
}

/// Does one step to both: an arrival, if there is room; a ready bit; newer bytes; a bank takes an entry, or has taken it; a
/// newer entry removes one.
fn step(wpq: &mut Wpq, reference: &mut Reference, act: u8, n: u64, ready: bool) {
    reference.steps += 1;
    let (now, byte) = (reference.steps, reference.steps as u8);
    match act {
        0 => {
            let media = medium(n % 8);
            if reference.free(media.is_counter()) == 0 {
                return;
            }
            let ready = ready || media.is_counter();
            let location = Location { bank: (n % 2) as u16, row: (n / 2 % 2) as u32 };
            let slot = wpq.push(Arrival { ready, ..write(media, location.bank, location.row, byte) });
            reference.entries.push(Kept { slot, media, location, byte, ready: ready.then_some(now), issued: false });
        }
        1 => {
            let Some(place) = reference.pick(n as usize, |kept| kept.ready.is_none()) else { return };
            reference.entries[place].ready = Some(now);
            wpq.set_ready(reference.entries[place].slot, now as u64);
        }
        2 => {
            let Some(place) = reference.pick(n as usize, |kept| !kept.issued) else { return };
            reference.entries[place].byte = byte;
            wpq.replace(reference.entries[place].slot, &[byte; 64], 0, None);
        }
        3 => {
            let Some(place) = reference.pick(n as usize, |kept| kept.ready.is_some() && !kept.issued) else { return };
            reference.entries[place].issued = true;
            wpq.mark_issued(reference.entries[place].slot, 8);
        }
        _ => {
            // A bank has taken it, or a newer entry takes its place.
            let Some(place) = reference.pick(n as usize, |kept| kept.issued || kept.ready.is_some() && ready) else {
                return;
            };
            let kept = reference.entries.remove(place);
            assert_eq!(wpq.remove(kept.slot).media, kept.media);
        }
    }
}

proptest! {
    #[test]
    fn queue_is_a_list_of_its_entries(
        (data, counters) in ((1..6usize, 0..6usize), prop::option::of((1..4usize, 0..4usize))),
        frees_at_issue: bool,
        steps in prop::collection::vec((0..5u8, 0..1_000u64, any::<bool>()), 1..80),
    ) {
        let room = |(entries, low): (usize, usize)| Room { entries, high: entries.div_ceil(2), low: low.min(entries) };
        let rooms = [Some(room(data)), counters.map(room)];
        let mut wpq = Wpq::new(room(data), rooms[1], 2, frees_at_issue);
        let mut reference = Reference { rooms, frees_at_issue, entries: Vec::new(), steps: 0 };
        for (act, n, ready) in steps {
            step(&mut wpq, &mut reference, act, n, ready);
            reference.compare(&wpq);
        }
    }
}

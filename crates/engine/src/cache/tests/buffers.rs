//! Persist buffers at their exact edges: when a store waits, when a line is sent, and what a battery finds. Clock: 2 GHz.

use super::edges::{SMALL, fill, line, wakes, write};
use super::machine;
use crate::cache::{BufferParts, CacheParts, Hierarchy};
use crate::message::{Access, CachePort, Line, Wake};
use crate::parts::BufferRelease;

/// Every level has room for all lines of these tests.
const WIDE: [(u32, u64, u32, bool); 3] = [(8, 1, 4, false), (8, 1, 4, false), (8, 1, 4, true)];

fn caches(levels: [(u32, u64, u32, bool); 3], cores: u16, [entries, watermark]: [u32; 2]) -> Hierarchy {
    let buffers = Some(BufferParts { entries, watermark, release: BufferRelease::WhenDurable });
    Hierarchy::new(&machine(levels, true), cores, CacheParts { buffers, ..CacheParts::PLAIN }).unwrap()
}

/// Makes `core` ask for `l` and store `value` to it, unless it must wait for an entry.
fn store(c: &mut Hierarchy, now: u64, core: u16, l: Line, value: u8) -> bool {
    assert!(matches!(c.own(now, core, l, false), Access::At(_)));
    let access = c.prepare_store(now, core, l);
    if access == Access::Pending {
        return false;
    }
    assert_eq!(access, Access::At(now));
    c.write(now, core, l, 0, &[value]);
    true
}

/// Line and first byte of what a battery finds, the newest copy of a line before others.
fn saved(c: &Hierarchy) -> Vec<(u64, u8, bool)> {
    c.on_chip().iter().map(|held| (held.line.0, held.plaintext[0], held.newest)).collect()
}

#[test]
fn oldest_line_is_sent_when_more_than_the_watermark_wait_and_keeps_its_entry_until_memory_has_it() {
    let mut c = caches(WIDE, 1, [4, 2]);
    (1..=3).for_each(|n| fill(&mut c, 0, 0, line(n)));
    assert!(store(&mut c, 1_000, 0, line(1), 0xa1) && store(&mut c, 2_000, 0, line(2), 0xa2));
    assert!(store(&mut c, 3_000, 0, line(1), 0xb1), "a line that is there takes no other entry");
    assert_eq!(c.requests().count(), 0, "two may wait");
    assert_eq!(saved(&c), [(1, 0xb1, true), (2, 0xa2, true)]);
    assert!(store(&mut c, 4_000, 0, line(3), 0xa3));
    let (at, sent, bytes, token) = write(&mut c);
    assert_eq!(
        (at, sent, bytes[0]),
        (24_000, line(1), 0xb1),
        "the oldest, as it is now, on its way through all levels"
    );
    assert_eq!(saved(&c), [(2, 0xa2, true), (3, 0xa3, true), (1, 0xb1, true)]);
    c.write_acked(90_000, token);
    assert_eq!(saved(&c), [(2, 0xa2, true), (3, 0xa3, true)]);
    assert_eq!(wakes(&mut c), []);
}

#[test]
fn store_waits_for_an_entry_until_memory_has_a_line() {
    let mut c = caches(WIDE, 1, [2, 1]);
    (1..=3).for_each(|n| fill(&mut c, 0, 0, line(n)));
    assert!(store(&mut c, 1_000, 0, line(1), 0xa1) && store(&mut c, 2_000, 0, line(2), 0xa2));
    let (_, first, _, token) = write(&mut c);
    assert_eq!(first, line(1));
    assert!(!store(&mut c, 3_000, 0, line(3), 0xa3), "one line waits for its turn, one is on its way");
    assert!(!store(&mut c, 3_000, 0, line(1), 0xb1), "the entry of a line on its way takes no newer bytes");
    assert_eq!(wakes(&mut c), []);
    c.write_acked(70_000, token);
    assert_eq!(wakes(&mut c), [(0, Wake::Prepared { at: 70_000 })]);
    assert!(store(&mut c, 70_000, 0, line(1), 0xb1));
    assert_eq!(write(&mut c).1, line(2));
    assert_eq!(saved(&c), [(1, 0xb1, true), (2, 0xa2, true)]);
}

#[test]
fn line_that_is_on_its_way_twice_is_saved_as_it_was_sent_last() {
    let mut c = caches(WIDE, 1, [4, 1]);
    (1..=3).for_each(|n| fill(&mut c, 0, 0, line(n)));
    assert!(store(&mut c, 1_000, 0, line(1), 0xa1) && store(&mut c, 2_000, 0, line(2), 0xa2));
    let (.., older) = write(&mut c);
    assert!(store(&mut c, 3_000, 0, line(1), 0xb1), "another entry");
    assert_eq!(write(&mut c).1, line(2));
    assert_eq!(saved(&c), [(1, 0xb1, true), (2, 0xa2, true), (1, 0xa1, false)]);
    assert!(store(&mut c, 4_000, 0, line(3), 0xa3));
    let (_, again, bytes, newer) = write(&mut c);
    assert_eq!((again, bytes[0]), (line(1), 0xb1));
    assert_eq!(saved(&c), [(3, 0xa3, true), (1, 0xb1, true), (2, 0xa2, true), (1, 0xa1, false)]);
    c.write_acked(80_000, older);
    c.write_acked(90_000, newer);
    assert_eq!(saved(&c), [(3, 0xa3, true), (2, 0xa2, true)]);
}

#[test]
fn line_is_in_the_buffer_of_the_core_that_wrote_it_last() {
    let mut c = caches(WIDE, 2, [2, 1]);
    fill(&mut c, 0, 0, line(1));
    fill(&mut c, 0, 0, line(2));
    assert!(store(&mut c, 1_000, 0, line(1), 0xa1));
    assert!(store(&mut c, 2_000, 1, line(1), 0xb1));
    assert_eq!(c.on_chip().iter().map(|held| (held.core, held.slot)).collect::<Vec<_>>(), [(1, 2)]);
    assert_eq!(saved(&c), [(1, 0xb1, true)]);
    assert!(store(&mut c, 3_000, 0, line(2), 0xa2), "the first core has both entries");
    assert_eq!(c.requests().count(), 0);
}

#[test]
fn line_that_is_evicted_takes_its_entry_along() {
    let mut c = caches(SMALL, 1, [4, 3]);
    fill(&mut c, 0, 0, line(1));
    assert!(store(&mut c, 1_000, 0, line(1), 0xa1));
    let mut token = None;
    for n in 2..=6 {
        assert_eq!(c.load(n * 1_000, 0, line(n), 0), Access::Pending);
        let mut read = None;
        for request in c.requests().collect::<Vec<_>>() {
            match request {
                crate::message::MemoryRequest::Read { token, .. } => read = Some(token),
                crate::message::MemoryRequest::Write { line: gone, token: write, .. } => {
                    assert_eq!((gone, token.replace(write)), (line(1), None), "once");
                }
                other => panic!("{other:?}"),
            }
        }
        c.read_done(n * 1_000, read.unwrap(), &[n as u8; 64]);
        wakes(&mut c);
    }
    assert_eq!(saved(&c), [(1, 0xa1, true)], "until memory has it");
    c.write_acked(90_000, token.expect("the third level has four ways"));
    assert_eq!(saved(&c), []);
}

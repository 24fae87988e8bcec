//! Stores that the program has declared not to need durability.

use super::*;

impl Program {
    /// SCRATCH of some words from the beginning of a line.
    fn scratch(self, what: u64, line: u64, words: u64) -> Self {
        Self(self.0.scratch(what, BASE + line * 64, words * 8))
    }
}

const STORED: u64 = 0;
const BEGINS: u64 = 1;
const ENDS: u64 = 2;

#[test]
fn scratch_declared_after_it_is_stored_need_not_persist() {
    let stored = Program::new().store(1, 0, 0).store(2, 0, 1);
    assert_eq!(stored.clone().scratch(STORED, 0, 2).found(), NOTHING);
    assert_eq!(stored.clone().scratch(STORED, 0, 1).found(), [("never-flushed", 2, 1)]);
    assert_eq!(stored.clone().scratch(STORED, 0, 64).found(), NOTHING);
    assert_eq!(stored.clone().scratch(STORED, 1, 2).found().len(), 2);
    // Only what is stored so far.
    assert_eq!(stored.scratch(STORED, 0, 2).store(3, 0, 0).found(), [("never-flushed", 3, 1)]);
    // A part of a group of stores.
    let group = Program::new().store(1, 0, 0).store(1, 0, 1);
    assert_eq!(group.clone().scratch(STORED, 0, 1).found().len(), 1);
    assert_eq!(group.scratch(STORED, 0, 1).scratch(STORED, 0, 2).found(), NOTHING);
    // Few lines of many pending ones, and many lines of which few are pending.
    let many = (0..40).fold(Program::new(), |program, line| program.store(1, line, 0));
    assert_eq!(many.clone().scratch(STORED, 7, 1).found(), [("never-flushed", 1, 39)]);
    assert_eq!(many.scratch(STORED, 2, 8 * 500).found(), [("never-flushed", 1, 2)]);
}

#[test]
fn scratch_declared_before_it_is_stored_need_not_persist() {
    let begun = Program::new().scratch(BEGINS, 0, 2);
    assert_eq!(begun.clone().store(1, 0, 0).past_caches(2, 0, 1).found(), NOTHING);
    assert_eq!(begun.clone().store(1, 0, 2).found(), [("never-flushed", 1, 1)]);
    assert_eq!(begun.clone().bytes(0x11, 1, 12, &[1; 8]).found(), [("never-flushed", 1, 1)]);
    let ended = begun.clone().scratch(ENDS, 0, 1).store(1, 0, 0).store(2, 0, 1);
    assert_eq!(ended.found(), [("never-flushed", 1, 1)]);
    // What was stored before stays as it is, and a flush has a use.
    assert_eq!(Program::new().store(1, 0, 0).scratch(BEGINS, 0, 1).found(), [("never-flushed", 1, 1)]);
    assert_eq!(begun.clone().store(1, 0, 0).clwb(2, 0).sfence(3).found(), NOTHING);
    assert_eq!(begun.store(1, 0, 0).clwb(2, 0).clwb(3, 0).sfence(4).found(), [("flushed-twice", 3, 1)]);
}

#[test]
fn scratch_is_not_overtaken() {
    let node = |program: Program| program.store(1, 2, 0).clwb(2, 2).point(3, 0, 128).clwb(4, 0).sfence(5);
    assert_eq!(node(Program::new()).found(), [("not-ordered", 1, 1)]);
    assert_eq!(node(Program::new().scratch(BEGINS, 2, 1)).found(), NOTHING);
    assert_eq!(node(Program::new().scratch(BEGINS, 0, 1)).found(), NOTHING);
    // What is declared after its address was stored, and is durable after that address.
    let late = |words| Program::new().store(1, 2, 0).point(3, 0, 128).scratch(STORED, words, 1).clwb(4, 0).sfence(5);
    let flushed = |program: Program| program.clwb(6, 2).sfence(7).found();
    assert_eq!(flushed(late(2)), NOTHING);
    assert_eq!(flushed(late(3)), [("not-ordered", 1, 1)]);
}

#[test]
fn only_version_2_has_it() {
    let mut bytes = Program::new().scratch(BEGINS, 0, 2).0.end(0);
    assert!(checked(bytes.clone(), &CheckSettings::default()).is_ok());
    bytes[7] = 1;
    let refused = checked(bytes, &CheckSettings::default()).unwrap_err().to_string();
    assert!(refused.contains("record 4 at byte") && refused.contains("expected a record's tag"), "{refused}");
    let unknown = checked(Program::new().scratch(3, 0, 2).0.end(0), &CheckSettings::default()).unwrap_err().to_string();
    assert!(unknown.contains("expected 0 (stored so far), 1 (from here on) or 2 (no more)"), "{unknown}");
}

//! One structure with a log ring in front of it, driven operation by operation.

use crate::config::{ItemMetadata, LogGranularity, LogStores};
use crate::message::{OpBuffer, ProgramForm};
use crate::workload::Base;
use crate::workload::initial::InitialContents;
use crate::workload::log::{RING_ENTRIES_MIN, entry_bytes};
use crate::workload::memory::Memory;
use crate::workload::structure::{Share, Structure};
use crate::workload::style::Style;
use crate::workload::think::Think;
use crate::workload::transaction::{Protocol, Scratch, Transaction};
use std::sync::Arc;

const RING: u64 = 1 << 20;
const STYLE: Style = Style {
    copy_bytes: 16,
    log_granularity: LogGranularity::Line,
    log_stores: LogStores::Cached,
    form: ProgramForm::Plain,
    leave_out: None,
};

pub(in crate::workload) struct Rig<S> {
    pub structure: Arc<S>,
    pub memory: Memory,
    protocol: Protocol,
    number: u64,
}

impl<S: Structure + 'static> Rig<S> {
    /// A structure of `bytes` with room for `room` transactions, which keeps its own data beside its items.
    pub fn new(make: impl Fn(Share) -> S, bytes: u64, tx_size: u64, room: u64, seed: u64) -> Self {
        Self::keeping(ItemMetadata::Beside, make, bytes, tx_size, room, seed)
    }

    /// A structure of `bytes` with room for `room` transactions.
    pub fn keeping(
        metadata: ItemMetadata,
        make: impl Fn(Share) -> S,
        bytes: u64,
        tx_size: u64,
        room: u64,
        seed: u64,
    ) -> Self {
        let structure = Arc::new(make(Share { start: RING, bytes, tx_size, room, seed, metadata }));
        let bound = structure.write_bound().in_lines();
        assert!(RING_ENTRIES_MIN * entry_bytes(bound.ranges, bound.bytes) <= RING);
        let end = structure.end().next_multiple_of(4096);
        let base = Base::of(&[Arc::clone(&structure) as Arc<dyn InitialContents>], std::slice::from_ref(&(0..end)));
        let memory = Memory::new(Arc::new(base), 0..end);
        Self {
            structure,
            memory,
            protocol: Protocol::UndoLog { ring: 0..RING, next: 0, slot: None, unit: 64 },
            number: 0,
        }
    }

    /// Runs one transaction and checks every invariant after it.
    pub fn run(&mut self, operation: impl FnOnce(&S, &mut Transaction<'_>)) {
        self.transact(operation);
        self.structure.check(&mut self.memory).unwrap();
    }

    /// Runs one transaction.
    pub fn transact(&mut self, operation: impl FnOnce(&S, &mut Transaction<'_>)) {
        let (mut scratch, mut ops) = (Scratch::default(), OpBuffer::default());
        let mut tx =
            Transaction::begin(self.number, &mut Think::none(), STYLE, &mut self.memory, &mut scratch, &mut ops);
        operation(&self.structure, &mut tx);
        tx.end(&mut self.protocol);
        self.number += 1;
    }

    /// Changes each of some words spread over `range` in turn. The check must detect at least `least` of a hundred of
    /// them, and must neither panic nor loop forever for any.
    pub fn disturb(&mut self, range: std::ops::Range<u64>, least: u64) {
        use crate::message::ByteView;
        let mut random = crate::kernel::Random::stream(1, "disturb");
        let words = (range.end - range.start) / 8;
        let mut noticed = 0;
        for _ in 0..400 {
            let address = range.start + random.below(words) * 8;
            let before = self.memory.read_u64(address);
            let garbage = match random.below(3) {
                0 => before ^ 1 << random.below(64),
                1 => self.memory.read_u64(range.start + random.below(words) * 8) ^ 1,
                _ => random.next_u64(),
            };
            self.memory.write_u64(address, garbage);
            noticed += u64::from(garbage == before || self.structure.check(&mut self.memory).is_err());
            self.memory.write_u64(address, before);
        }
        self.structure.check(&mut self.memory).unwrap();
        assert!(noticed * 100 >= least * 400, "only {noticed} of 400 disturbed words were noticed");
    }
}

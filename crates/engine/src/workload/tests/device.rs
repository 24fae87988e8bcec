//! A device that loses power between two operations. It does not model caches and queues, only what the program was
//! promised: a fence covers what was flushed before it; of anything later, any part may have arrived.
//!
//! With an annotated program, memory is encrypted and counters arrive separately. Until both a line and its counter are
//! covered by a fence, the line may hold a ciphertext that does not match its counter, so it may be garbage, including
//! words that were durable before. A line with a `CounterAtomic` variable arrives with its counter: old or new.
//!
//! With a hardware-logged program, counters arrive separately too, until `tx_end` covers the line's `flush_data`. What
//! a line held before its first store in the transaction is kept until then, and restored after a crash.
//!
//! With a flush-free program, every store is durable at once, in program order.

use crate::kernel::Random;
use crate::message::{ByteView, COUNTER_WRITEBACK_BYTES, Op, OpBuffer, ProgramForm};
use rustc_hash::FxHashMap;

/// The durable bytes, and for every line that no fence covers completely what it held after each store.
pub(super) struct Device {
    form: ProgramForm,
    durable: Vec<u8>,
    open: FxHashMap<u64, Open>,
    order: Vec<u64>,
    /// What hardware has logged for the transaction in flight.
    log: FxHashMap<u64, [u8; 64]>,
}

#[derive(Default)]
struct Open {
    versions: Vec<[u8; 64]>,
    /// Number of versions that the last clwb covers.
    flushed: usize,
    /// Number of versions whose counter the last `counter_cache_writeback` covers.
    counted: usize,
    /// Older versions than this one cannot be found any more: a fence covered its data, but not its counter.
    arrived: usize,
    /// Whether its counter arrives with it.
    counter_atomic: bool,
}

impl Open {
    /// Passes a fence. Returns the version that is durable from now on, if any.
    fn fence(&mut self, form: ProgramForm) -> Option<[u8; 64]> {
        self.arrived = self.arrived.max(self.flushed);
        let with_counter = form != ProgramForm::Annotated || self.counter_atomic;
        let durable = if with_counter { self.flushed } else { self.counted };
        let version = durable.checked_sub(1).map(|newest| self.versions[newest]);
        self.versions.drain(..durable);
        self.arrived -= self.arrived.min(durable);
        (self.flushed, self.counted) = (0, 0);
        version
    }
}

impl Device {
    /// A device that holds `bytes`, for a program in `form`.
    pub(super) fn new(form: ProgramForm, bytes: &[u8]) -> Self {
        let (open, order, log) = Default::default();
        Self { form, durable: bytes.to_vec(), open, order, log }
    }

    /// Executes `op`.
    pub(super) fn apply(&mut self, op: Op, buffer: &OpBuffer) {
        match op {
            Op::Store { address, length, bytes } if self.form == ProgramForm::FlushFree => {
                self.durable[address as usize..][..usize::from(length)].copy_from_slice(buffer.slice(bytes, length));
            }
            Op::Store { address, length, bytes } => {
                self.store(address, buffer.slice(bytes, length));
            }
            Op::CounterAtomicStore { address, length, bytes } => {
                self.store(address, buffer.slice(bytes, length)).counter_atomic = true;
            }
            Op::Clwb { address } | Op::FlushData { address } => {
                if let Some(open) = self.open.get_mut(&(address & !63)) {
                    open.flushed = open.versions.len();
                }
            }
            Op::CounterCacheWriteback { address } => {
                for line in (address..address + COUNTER_WRITEBACK_BYTES).step_by(64) {
                    if let Some(open) = self.open.get_mut(&line) {
                        open.counted = open.flushed.max(open.arrived);
                    }
                }
            }
            Op::Sfence | Op::LoggedTxEnd => {
                self.log.clear();
                let (form, open, durable) = (self.form, &mut self.open, &mut self.durable);
                self.order.retain(|line| {
                    let Some(state) = open.get_mut(line) else { return false };
                    if let Some(version) = state.fence(form) {
                        durable[*line as usize..][..64].copy_from_slice(&version);
                    }
                    let stays = !state.versions.is_empty();
                    if !stays {
                        open.remove(line);
                    }
                    stays
                });
            }
            _ => {}
        }
    }

    fn store(&mut self, address: u64, data: &[u8]) -> &mut Open {
        let line = address & !63;
        let open = self.open.entry(line).or_insert_with(|| {
            self.order.push(line);
            Open::default()
        });
        let mut content = open.versions.last().copied().unwrap_or_else(|| line_of(&self.durable, line));
        if self.form == ProgramForm::HardwareLogged {
            self.log.entry(line).or_insert(content);
        }
        content[(address - line) as usize..][..data.len()].copy_from_slice(data);
        open.versions.push(content);
        open
    }

    /// What a crash leaves: of every open line a random number of its stores, but all or none of them half of the time.
    /// If counters arrive separately, some lines are garbage. What hardware has logged is then restored.
    pub(super) fn crash(&self, random: &mut Random) -> Flaky {
        let mut bytes = self.durable.clone();
        let manner = random.below(4);
        let garbage_in_eight = if self.form == ProgramForm::Plain { 0 } else { [0, 1, 4, 8][random.below(4) as usize] };
        for line in &self.order {
            let Open { versions, arrived, counter_atomic, .. } = &self.open[line];
            let kept = match manner {
                0 | 1 => random.below(versions.len() as u64 + 1) as usize,
                2 => random.below(2) as usize * versions.len(),
                _ => (random.below(5) > 0) as usize * versions.len(),
            };
            let place = &mut bytes[*line as usize..][..64];
            if !counter_atomic && random.below(8) < garbage_in_eight {
                place.chunks_mut(8).for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
            } else if let Some(newest) = kept.max(*arrived).checked_sub(1) {
                place.copy_from_slice(&versions[newest]);
            }
        }
        for (line, old) in &self.log {
            bytes[*line as usize..][..64].copy_from_slice(old);
        }
        Flaky { bytes, writes_left: u64::MAX }
    }
}

/// The line of `bytes` at `line`.
pub(super) fn line_of(bytes: &[u8], line: u64) -> [u8; 64] {
    bytes[line as usize..].first_chunk().copied().unwrap()
}

/// Memory that loses power after some writes: later ones are lost.
#[derive(Clone)]
pub(super) struct Flaky {
    pub bytes: Vec<u8>,
    pub writes_left: u64,
}

impl ByteView for Flaky {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.bytes[address as usize..][..buffer.len()]);
    }
    fn write(&mut self, address: u64, data: &[u8]) {
        if self.writes_left > 0 {
            self.writes_left -= 1;
            self.bytes[address as usize..][..data.len()].copy_from_slice(data);
        }
    }
}

//! A session: populated memory that outlives a call. If a caller makes its runs one by one, those with equal bases
//! still share them.

use crate::kernel::ConfigError;
use crate::workload::{Base, BaseKey, Plan};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Keeps the most recently used bases, within limits; the oldest are dropped first. The caller owns it, and its bases
/// are dropped with it.
pub struct Session {
    bases_max: usize,
    bytes_max: u64,
    /// The kept bases, oldest first.
    kept: Mutex<VecDeque<Kept>>,
    populations: AtomicU64,
}

struct Kept {
    key: BaseKey,
    base: Arc<Base>,
    bytes: u64,
}

impl Session {
    /// Keeps at most `bases_max` bases with at most `bytes_max` populated bytes in total. A larger base is not kept.
    pub fn new(bases_max: usize, bytes_max: u64) -> Self {
        Self { bases_max, bytes_max, kept: Mutex::default(), populations: AtomicU64::new(0) }
    }

    /// How many bases were populated because no kept base was suitable.
    pub fn populations(&self) -> u64 {
        self.populations.load(Ordering::Relaxed)
    }

    /// The base of `plan`: a kept one or a new one.
    pub(crate) fn base(&self, plan: &Plan) -> Result<Arc<Base>, ConfigError> {
        if let Some(base) = self.find(plan.base_key()) {
            return Ok(base);
        }
        let bytes = plan.populated_bytes();
        self.make_room(bytes);
        let base = match plan.populate() {
            // The kept bases may be the reason that the host has too little memory.
            Err(_) if self.forget_all() => plan.populate(),
            base => base,
        };
        let base = Arc::new(base?);
        self.populations.fetch_add(1, Ordering::Relaxed);
        self.keep(Kept { key: plan.base_key().clone(), base: Arc::clone(&base), bytes });
        Ok(base)
    }

    fn find(&self, key: &BaseKey) -> Option<Arc<Base>> {
        let mut kept = self.kept();
        let found = kept.iter().position(|kept| kept.key == *key).and_then(|place| kept.remove(place))?;
        let base = Arc::clone(&found.base);
        kept.push_back(found);
        Some(base)
    }

    /// Drops the oldest bases until a base of `bytes` bytes fits.
    fn make_room(&self, bytes: u64) {
        let mut kept = self.kept();
        let fits = |kept: &VecDeque<Kept>| {
            let all: u64 = kept.iter().map(|kept| kept.bytes).sum();
            kept.len() < self.bases_max && all.saturating_add(bytes) <= self.bytes_max
        };
        while !kept.is_empty() && !fits(&kept) {
            kept.pop_front();
        }
    }

    fn keep(&self, new: Kept) {
        if self.bases_max == 0 || new.bytes > self.bytes_max {
            return;
        }
        // Another thread may have kept a base since, even the same one.
        self.make_room(new.bytes);
        let mut kept = self.kept();
        kept.retain(|kept| kept.key != new.key);
        kept.push_back(new);
    }

    /// Drops all kept bases; returns whether there were any.
    fn forget_all(&self) -> bool {
        !std::mem::take(&mut *self.kept()).is_empty()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().expect("nothing panics while it holds the lock")
    }
}

//! A session: populated memory that outlives a call. Where a caller has its runs made one by one, those over equal bases
//! still share them.

use crate::config::ConfigError;
use crate::workload::{Base, BaseKey, Plan};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Keeps the bases that were wanted last, within bounds; the oldest go first. It belongs to the caller, and what it keeps
/// goes with it.
pub struct Session {
    bases_max: usize,
    bytes_max: u64,
    /// Oldest first.
    kept: Mutex<VecDeque<Kept>>,
    populations: AtomicU64,
}

struct Kept {
    key: BaseKey,
    base: Arc<Base>,
    bytes: u64,
}

impl Session {
    /// Keeps at most `bases_max` bases, of `bytes_max` populated bytes together. A base that is larger is not kept.
    pub fn new(bases_max: usize, bytes_max: u64) -> Self {
        Self { bases_max, bytes_max, kept: Mutex::default(), populations: AtomicU64::new(0) }
    }

    /// How many bases were populated because none was kept that would have done.
    pub fn populations(&self) -> u64 {
        self.populations.load(Ordering::Relaxed)
    }

    /// The base of `plan`: the one that is kept, or a new one. `None` if `stop` was set before it was populated.
    pub(crate) fn base(&self, plan: &Plan, stop: &AtomicBool) -> Result<Option<Arc<Base>>, ConfigError> {
        if let Some(base) = self.find(plan.base_key()) {
            return Ok(Some(base));
        }
        let bytes = plan.populated_bytes();
        self.make_room(bytes);
        let populated = match Base::populate(plan, stop) {
            // What is kept may be what leaves the host too little memory.
            Err(_) if self.forget_all() => Base::populate(plan, stop),
            populated => populated,
        };
        let base = populated?.map(Arc::new);
        if let Some(base) = &base {
            self.populations.fetch_add(1, Ordering::Relaxed);
            self.keep(Kept { key: plan.base_key().clone(), base: Arc::clone(base), bytes });
        }
        Ok(base)
    }

    fn find(&self, key: &BaseKey) -> Option<Arc<Base>> {
        let mut kept = self.kept();
        let found = kept.iter().position(|kept| kept.key == *key).and_then(|place| kept.remove(place))?;
        let base = Arc::clone(&found.base);
        kept.push_back(found);
        Some(base)
    }

    /// Lets the oldest go until a base of `bytes` fits.
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
        // Another thread may have kept something since, even the same base.
        self.make_room(new.bytes);
        let mut kept = self.kept();
        kept.retain(|kept| kept.key != new.key);
        kept.push_back(new);
    }

    /// True if anything was kept.
    fn forget_all(&self) -> bool {
        !std::mem::take(&mut *self.kept()).is_empty()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().expect("nothing panics while it holds the lock")
    }
}

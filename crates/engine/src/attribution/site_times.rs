//! Counts and times of each site, from the observer stream.
//!
//! A fence waits until stores have left for the cache and flushes are acknowledged. When commit continues, the core's
//! last completed operation is what it waited for: the site of that operation gets the stall. If everything was
//! complete when commit reached the fence, the fence's own site gets it.

use crate::kernel::Ps;
use crate::message::{CoreId, Line, NO_SITE, Observer, Op, Site};

/// What the operations of one site did and cost. Times are in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SiteCost {
    /// Loads and stores, each within a line.
    pub loads: u64,
    pub stores: u64,
    /// Lines that were flushed or written past the caches.
    pub flushes: u64,
    pub fences: u64,
    /// Sum and maximum of the time from when a flush was sent to the caches until it was acknowledged.
    pub flush_latency_ps: Ps,
    pub flush_latency_max_ps: Ps,
    /// Time that the site's fences stalled commit.
    pub fence_stall_ps: Ps,
    /// Time that fences of any site stalled commit because of this site.
    pub waited_for_ps: Ps,
    /// Time that the site's loads stalled commit.
    pub load_stall_ps: Ps,
}

impl SiteCost {
    /// Total time that commit waited for the site.
    pub fn waited_ps(&self) -> Ps {
        self.waited_for_ps + self.load_stall_ps
    }

    /// Adds the counts and times of `other`.
    pub fn add(&mut self, other: &SiteCost) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.flushes += other.flushes;
        self.fences += other.fences;
        self.flush_latency_ps += other.flush_latency_ps;
        self.flush_latency_max_ps = self.flush_latency_max_ps.max(other.flush_latency_max_ps);
        self.fence_stall_ps += other.fence_stall_ps;
        self.waited_for_ps += other.waited_for_ps;
        self.load_stall_ps += other.load_stall_ps;
    }
}

/// A flush, or a write-back of counters, that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct Sent {
    line: Line,
    counters: bool,
    site: Site,
    at: Ps,
}

#[derive(Default)]
struct OfCore {
    sent: Vec<Sent>,
    /// The time and site of the operation that completes last so far.
    last_done: (Ps, Site),
}

impl OfCore {
    fn done(&mut self, at: Ps, site: Site) {
        if at >= self.last_done.0 {
            self.last_done = (at, site);
        }
    }
}

/// Observes one run.
#[derive(Default)]
pub struct SiteWatch {
    costs: Vec<SiteCost>,
    cores: Vec<OfCore>,
}

impl SiteWatch {
    /// The sites that did something, in order.
    pub fn costs(&self) -> impl Iterator<Item = (Site, &SiteCost)> {
        let used = |(_, cost): &(Site, &SiteCost)| **cost != SiteCost::default();
        (NO_SITE..).zip(&self.costs).filter(used)
    }

    fn cost(&mut self, site: Site) -> &mut SiteCost {
        let index = site as usize;
        if index >= self.costs.len() {
            self.costs.resize(index + 1, SiteCost::default());
        }
        &mut self.costs[index]
    }

    fn of_core(&mut self, core: CoreId) -> &mut OfCore {
        let index = usize::from(core);
        if index >= self.cores.len() {
            self.cores.resize_with(index + 1, OfCore::default);
        }
        &mut self.cores[index]
    }

    fn flush_took(&mut self, site: Site, time: Ps) {
        let cost = self.cost(site);
        cost.flush_latency_ps += time;
        cost.flush_latency_max_ps = cost.flush_latency_max_ps.max(time);
    }
}

impl Observer for SiteWatch {
    fn dispatched(&mut self, _core: CoreId, site: Site, op: &Op, _instructions: u32) {
        match op {
            Op::Load { .. } => self.cost(site).loads += 1,
            Op::Store { .. } | Op::CounterAtomicStore { .. } | Op::NonTemporalStore { .. } | Op::ZeroPage { .. } => {
                self.cost(site).stores += 1;
            }
            Op::Sfence | Op::Mfence | Op::LoggedTxEnd => self.cost(site).fences += 1,
            Op::TxBegin | Op::TxEnd | Op::Mark | Op::LoggedTxBegin | Op::Compute { .. } => {}
            Op::Report | Op::Await { .. } => {}
            // Flushes are counted when they are sent.
            Op::Clwb { .. } | Op::Clflushopt { .. } | Op::Clflush { .. } | Op::FlushData { .. } => {}
            Op::CounterCacheWriteback { .. } => {}
        }
    }

    fn store_left(&mut self, now: Ps, core: CoreId, site: Site) {
        self.of_core(core).done(now, site);
    }

    fn flush_sent(&mut self, now: Ps, core: CoreId, site: Site, line: Line, counters: bool, done: Option<Ps>) {
        if !counters {
            self.cost(site).flushes += 1;
        }
        match done {
            Some(at) => {
                self.of_core(core).done(at, site);
                self.flush_took(site, at - now);
            }
            None => self.of_core(core).sent.push(Sent { line, counters, site, at: now }),
        }
    }

    fn flush_acknowledged(&mut self, now: Ps, core: CoreId, line: Line, counters: bool) {
        let of_core = self.of_core(core);
        let oldest = of_core.sent.iter().position(|sent| sent.line == line && sent.counters == counters);
        let Some(oldest) = oldest else { return };
        let sent = of_core.sent.remove(oldest);
        of_core.done(now, sent.site);
        if !counters {
            self.flush_took(sent.site, now - sent.at);
        }
    }

    fn fence_stalled(&mut self, core: CoreId, site: Site, from: Ps, until: Ps) {
        let (done, last) = self.of_core(core).last_done;
        let waited_for = if done > from { last } else { site };
        self.cost(site).fence_stall_ps += until - from;
        self.cost(waited_for).waited_for_ps += until - from;
    }

    fn load_stalled(&mut self, _core: CoreId, site: Site, from: Ps, until: Ps) {
        self.cost(site).load_stall_ps += until - from;
    }
}

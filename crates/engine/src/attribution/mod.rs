//! Reports which source lines of a recorded program wait, and for how long.
//!
//! ```text
//! operations with their sites -> cpu -> observer stream -> watch (counts and times of each site)
//! sites (code and its callers, as the recording has them) -> lines (what the object files say) -> merged by line
//! sites (functions and lines, as the recording tells them) -> told (which of them to show)     -> merged by line
//! ```
//!
//! Only observes: a run has the same events with or without it.

mod found;
#[cfg_attr(not(feature = "host"), path = "object_file_without_host.rs")]
mod object_file;
mod site_times;
mod source_lines;
mod told;
mod wrappers;

#[cfg(test)]
mod tests;

pub use site_times::{SiteCost, SiteWatch};
pub use source_lines::{Place, Places, Shown, place_of, places, shown};
pub use wrappers::all as wrappers_and;

use crate::kernel::ps_to_ns;
use crate::stats::LineCost;
use rustc_hash::FxHashMap;

/// The cost of each line, with the longest wait first. `places` has the place of each site.
pub fn by_line(watch: &SiteWatch, places: &[Place]) -> Vec<LineCost> {
    let mut merged: FxHashMap<&Place, SiteCost> = FxHashMap::default();
    for (site, cost) in watch.costs() {
        merged.entry(place_of(places, site)).or_default().add(cost);
    }
    let mut lines: Vec<(&Place, SiteCost)> = merged.into_iter().collect();
    lines.sort_by(|(place, cost), (other, than)| {
        (than.waited_ps(), than.stores).cmp(&(cost.waited_ps(), cost.stores)).then_with(|| place.cmp(other))
    });
    lines.into_iter().map(|(place, cost)| line_cost(place, &cost)).collect()
}

fn line_cost(place: &Place, cost: &SiteCost) -> LineCost {
    LineCost {
        place: place.text.clone(),
        source: place.source.clone(),
        function: place.function.clone(),
        object: place.object.clone(),
        loads: cost.loads,
        stores: cost.stores,
        flushes: cost.flushes,
        fences: cost.fences,
        flush_latency_ns: (cost.flushes > 0).then(|| ps_to_ns(cost.flush_latency_ps) / cost.flushes as f64),
        flush_latency_max_ns: (cost.flushes > 0).then(|| ps_to_ns(cost.flush_latency_max_ps)),
        waited_for_ns: ps_to_ns(cost.waited_for_ps),
        load_stall_ns: ps_to_ns(cost.load_stall_ps),
        fence_stall_ns: ps_to_ns(cost.fence_stall_ps),
    }
}

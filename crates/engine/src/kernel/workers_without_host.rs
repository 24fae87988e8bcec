//! `workers.rs` where no computer is around the engine: there are no threads beside this one.

use super::ConfigError;

/// One.
pub fn processors() -> usize {
    1
}

/// One, whatever is requested.
pub fn workers(_: usize) -> usize {
    1
}

/// Runs `work` on this thread.
///
/// # Errors
/// None.
pub fn in_pool<T: Send>(_: usize, work: impl FnOnce() -> T + Send) -> Result<T, ConfigError> {
    Ok(work())
}

/// `of` each item, in their order.
pub fn map<T: Sync, R: Send>(_: bool, items: &[T], of: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    items.iter().map(of).collect()
}

/// Runs `work` once.
pub fn side_by_side(_: usize, work: impl Fn() + Sync) {
    work();
}

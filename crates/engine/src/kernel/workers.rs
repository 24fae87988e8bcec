//! The number of threads: never more than the processors that this process may use. More threads would not be faster,
//! and each needs memory.

use super::ConfigError;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The number of processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The number of threads to use if `asked` are requested; 0 means one per processor.
pub fn workers(asked: usize) -> usize {
    if asked == 0 { processors() } else { asked.min(processors()) }
}

/// A pool of this many threads.
pub fn pool(workers: usize) -> Result<ThreadPool, ConfigError> {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .map_err(|error| ConfigError(format!("cannot start {workers} workers: {error}")))
}

/// Runs `work` in a pool of this many threads, which [`map`] may use, and waits for it; with one, on this thread.
pub fn in_pool<T: Send>(workers: usize, work: impl FnOnce() -> T + Send) -> Result<T, ConfigError> {
    if workers == 1 {
        return Ok(work());
    }
    let pool = pool(workers)?;
    // This thread may be one of another pool. Waiting for `pool` itself, it would begin other work of its own in between.
    let done = std::thread::scope(|scope| scope.spawn(|| pool.install(work)).join());
    Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// `of` each item, in their order; `shared`: on all threads of the pool that this thread belongs to, one of [`in_pool`].
pub fn map<T: Sync, R: Send>(shared: bool, items: &[T], of: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    if shared { items.par_iter().map(of).collect() } else { items.iter().map(of).collect() }
}

/// Runs `work` on this many threads at a time, and waits for all of them.
pub fn side_by_side(workers: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(&work)).collect();
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_more_work_than_there_are_processors() {
        assert_eq!(workers(0), processors());
        assert_eq!(workers(1), 1);
        assert_eq!(workers(5_000), processors());
        assert_eq!(workers(usize::MAX), processors());
    }

    #[test]
    fn what_is_shared_comes_in_order_and_does_not_nest_on_the_stack_of_another_pool() {
        let squares = |shared| map(shared, &[1, 2, 3, 4, 5], |n: &u64| n * n);
        assert_eq!(in_pool(3, || squares(true)).unwrap(), [1, 4, 9, 16, 25]);
        assert_eq!(in_pool(1, || squares(false)).unwrap(), [1, 4, 9, 16, 25]);
        // A thread of the outer pool that waits for an inner pool must not begin another item of the outer one.
        let outer = pool(1).unwrap();
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        outer.install(|| {
            (0..50).into_par_iter().for_each(|_| {
                most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                in_pool(2, || squares(true)).unwrap();
                running.fetch_sub(1, Ordering::Relaxed);
            });
        });
        assert_eq!(most.into_inner(), 1);
    }
}

//! The number of threads: never more than the processors that this process may use. More threads would not be faster,
//! and each needs memory.

use crate::config::ConfigError;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_work_than_there_are_processors() {
        assert_eq!(workers(0), processors());
        assert_eq!(workers(1), 1);
        assert_eq!(workers(5_000), processors());
        assert_eq!(workers(usize::MAX), processors());
    }
}

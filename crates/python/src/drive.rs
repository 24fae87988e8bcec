//! One engine call: the engine works on a separate thread while the calling thread reports progress and checks for
//! Ctrl-C.
//!
//! The calling thread is detached from the interpreter while it waits, so other Python threads continue. Ten times per
//! second it attaches to check for signals and to report progress.

use crate::errors;
use counterpoint_engine::api;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two checks for signals; Ctrl-C must be noticed well within a second.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// How far the engine is. The two numbers may be read a moment apart; they only feed a progress bar.
#[derive(Default)]
struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    fn set(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    fn get(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Calls `work` and returns its answer. `on_progress(done, total)` is called at most about ten times per second. If a
/// signal handler or `on_progress` raises, the engine is cancelled; Ctrl-C then becomes [`errors::Interrupted`] with
/// whatever the engine had finished.
pub fn drive(
    py: Python<'_>,
    on_progress: Option<Py<PyAny>>,
    work: impl FnOnce(&(dyn Fn(u64, u64) + Sync), &Arc<AtomicBool>) -> Result<String, api::Error> + Send,
) -> PyResult<String> {
    let cancel = Arc::new(AtomicBool::new(false));
    let ended = AtomicBool::new(false);
    let progress = Progress::default();
    let mut raised: Option<PyErr> = None;

    let outcome = thread::scope(|scope| {
        let watcher = thread::current();
        let (cancel, ended, progress) = (&cancel, &ended, &progress);
        let engine = scope.spawn(move || {
            let report = |done, total| progress.set(done, total);
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&report, cancel)));
            ended.store(true, Ordering::Release);
            watcher.unpark();
            outcome
        });
        let mut told = (0, 0);
        while !ended.load(Ordering::Acquire) {
            // Another unpark may wake this thread early, so the interval is measured with the clock.
            py.detach(|| wait(ended, WATCH_INTERVAL));
            if raised.is_some() {
                continue;
            }
            raised = py.check_signals().and_then(|()| tell(py, &on_progress, progress.get(), &mut told)).err();
            if raised.is_some() {
                cancel.store(true, Ordering::Relaxed);
            }
        }
        engine.join().unwrap_or_else(Err)
    });

    let answer = match outcome {
        Ok(answer) => answer,
        Err(payload) => return Err(errors::from_panic(payload)),
    };
    match (raised, answer) {
        (None, answer) => answer.map_err(errors::from_engine),
        (Some(error), answer) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
            Err(errors::Interrupted::new_err((answer.ok(),)))
        }
        (Some(error), _) => Err(error),
    }
}

/// Sleeps until the engine has ended, or for `interval`.
fn wait(ended: &AtomicBool, interval: Duration) {
    let until = Instant::now() + interval;
    while !ended.load(Ordering::Acquire) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

/// Reports progress if it has changed.
fn tell(py: Python<'_>, on_progress: &Option<Py<PyAny>>, now: (u64, u64), told: &mut (u64, u64)) -> PyResult<()> {
    if let Some(callback) = on_progress
        && now != *told
    {
        *told = now;
        callback.call1(py, now)?;
    }
    Ok(())
}

//! The clock of this computer, and no simulated time: how long something takes, and an end that the clock sets.

use super::ConfigError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two looks at what the user has said.
const LOOK: Duration = Duration::from_millis(20);

/// Measures wall-clock time from when it is started.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// From now on, the time passes.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The seconds since then.
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// A thread that sets a flag when time is over. It ends when this is dropped.
pub struct Alarm(Option<(Sender<()>, JoinHandle<()>)>);

impl Alarm {
    /// Sets `end` once `user` is set, or `seconds` from now.
    ///
    /// # Errors
    /// None here; without a computer around the engine, there is no clock.
    pub fn after(seconds: u64, user: &Arc<AtomicBool>, end: &Arc<AtomicBool>) -> Result<Self, ConfigError> {
        let (sender, over) = channel::<()>();
        let (asked, set) = (Arc::clone(user), Arc::clone(end));
        let until = Instant::now() + Duration::from_secs(seconds);
        let thread = std::thread::spawn(move || {
            while over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if asked.load(Ordering::Relaxed) || Instant::now() >= until {
                    set.store(true, Ordering::Relaxed);
                }
            }
        });
        Ok(Self(Some((sender, thread))))
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.0.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

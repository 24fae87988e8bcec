//! The legal states of a recorded program: at each fence and flush that makes something durable, and at the end, what the
//! rules of x86 allow a power failure to leave, judged by the program's own recovery.
//!
//! ```text
//! steps of the trace -> memory (line: what is pending of each line; contents: what it may hold)
//!                       counters (what it may read as, where counters and data can be apart)
//!                       sectors (what reaches a disk together); together: what of both goes together
//! memory -> point (what is open at a crash point) -> trial (in which order its states are tried)
//! point -> judging (each different image once) -> loss (what was lost, what was kept) -> causes -> report (by place)
//! causes -> explaining, which reads the trace again -> minimal (what is needed of what was lost)
//!                                                   -> executed (where the program fails with nothing lost)
//! images that recover -> nested (recordings of their recoveries, each explored as the program's trace is)
//! point with too many states -> watching (what the command reads; decided: of earlier points) -> classes of states
//! ```
//!
//! The trace is read three times (tally): what is most likely to show a mistake comes first, once for each kind of crash
//! point; then all of it, for each kind; then every point.

mod asked;
mod causes;
mod classes;
mod contents;
mod counters;
mod decided;
mod executed;
mod explaining;
mod explore;
mod judging;
mod line;
mod loss;
mod memory;
mod minimal;
mod nested;
mod point;
mod report;
mod sectors;
mod tally;
#[cfg(test)]
mod tests;
mod together;
mod trial;
mod watching;

pub use asked::RecordedLegal;
pub(crate) use asked::{SECTORS, explains};
pub(crate) use explore::amount;
pub use explore::explore_recorded;

//! Legal states compared with an explicit machine whose interleavings are all walked, and verdicts compared with states
//! that are enumerated one by one.

mod hardware;
mod judge;
mod reference;

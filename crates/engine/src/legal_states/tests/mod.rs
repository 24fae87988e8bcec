//! Legal states against an explicit machine of which every interleaving is walked, and verdicts against states that are
//! written out one by one.

mod hardware;
mod judge;
mod reference;

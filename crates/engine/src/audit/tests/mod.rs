//! The auditors with programs, designs and outcomes that are broken on purpose, and compared with references that
//! recompute everything.

mod codec;
mod eadr;
mod eadr_fixture;
mod eadr_reference;
pub(crate) mod fixture;
mod log;
pub(crate) mod log_fixture;
mod reference;
mod rules;
mod stages;

//! The auditors against programs, designs and outcomes that are broken on purpose, and against references that recompute
//! everything from nothing.

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

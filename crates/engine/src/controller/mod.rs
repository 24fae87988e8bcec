//! The memory controller: lines arrive from the caches in the clear, leave for the media encrypted.
//!
//! ```text
//! write: arrive -> counter (cache, or fetched) -> AES circuit: bump, pad -> slots in the WPQ -> ack -> bank
//! read:  arrive -> forward from a write on its way or from the WPQ, or media read || pad -> answer
//! ```
//!
//! A design decides at the marked points: when counter and data are admitted ([`crate::parts::WritePath`]),
//! in which order, whether counter entries coalesce, and what an overflow does. Every state change that a power
//! failure can separate from another is an event of its own; what hardware does at once is one event.

mod admission;
mod counter_cache;
mod counter_fetch;
mod feedback;
mod log_manager;
mod log_set;
mod pairs;
mod read_path;
mod reencrypt;
mod request;
mod resident;
mod schedule;
mod state;
mod stats;
mod wpq;
mod write_path;
mod writeback;

pub use state::{
    Context, Controller, ControllerSnapshot, EncryptionParts, LogParts, Response, RsrSnapshot, counter_cache_host_bytes,
};
pub use stats::ControllerStats;

use crate::message::{DevicePort, Event, Observer};

impl Controller {
    /// Handles an event of the controller's.
    pub fn handle<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, event: Event) {
        match event {
            Event::ReadArrives { slot } => self.read_arrives(cx, slot),
            Event::WriteArrives { slot } => self.write_arrives(cx, slot),
            Event::CounterReady { slot } => self.want_unit(cx, slot),
            Event::PadReady { slot } => self.pad_ready(cx, slot),
            Event::ReadReady { slot } => self.read_ready(cx, slot),
            Event::CounterFetched { slot } => self.counter_fetched(cx, slot),
            Event::InlineCounterArrives { slot } => self.counter_known(cx, slot),
            Event::CounterWritebackArrives { slot } => self.counter_writeback_arrives(cx, slot),
            Event::WriteAccepted { slot } => self.write_accepted(cx, slot),
            Event::BankFree { bank } => self.bank_free(cx, bank),
            Event::BankRecovered { bank } => self.bank_recovered(cx, bank),
            Event::TransactionBeginArrives { core } => self.transaction_begin_arrives(core),
            Event::LogEntryArrives { slot } => self.log_entry_arrives(cx, slot),
            Event::TransactionEndArrives { core } => self.transaction_end_arrives(cx, core),
            Event::ReencryptStep => self.reencrypt_step(cx),
            Event::ReencryptDone { index } => self.reencrypt_done(cx, index),
            Event::CoreStep { .. }
            | Event::LoadIssue { .. }
            | Event::StoreBufferStep { .. }
            | Event::FlushDone { .. } => unreachable!("an event of the cores reached the controller"),
        }
    }
}

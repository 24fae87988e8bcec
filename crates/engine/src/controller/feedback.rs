//! Log lines in cipher feedback mode (easy-pm section III-C): each waits for the ciphertext of the one before it in its
//! chain, which the recent-ciphertext register of its transaction holds, and takes a circuit for all its four blocks.

use super::log_set::Chain;
use super::request::{LogWrite, Part, Source, Write};
use super::state::{Context, Controller};
use crate::message::{CipherBlock, DevicePort, Observer};
use crate::parts::LogChains;

impl Controller {
    /// The write in `slot` takes its place in the chain of headers or of logged lines of its transaction.
    pub(super) fn join_chain<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let vector = self.first_of_bucket(slot);
        let waiting = &mut self.chain(slot).waiting;
        waiting.push_back((slot, vector));
        if waiting.len() == 1 {
            self.want_unit(cx, slot);
        }
    }

    /// There is a circuit for the oldest line of a chain.
    pub(super) fn begin_feedback<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        self.occupy_unit(cx, slot, self.timing.feedback);
        self.writes[slot].counter_admitted = true;
    }

    /// The line in `slot` is encrypted, and the next of its chain can begin.
    pub(super) fn feedback_done<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        if self.bytes {
            let previous = self.chain(slot).previous();
            self.writes[slot].ciphertext = self.log_parts().feedback.encrypt(&previous, &self.writes[slot].plaintext());
        }
        let Write { ciphertext, .. } = self.writes[slot];
        let linked = self.log_parts().chains != LogChains::Unlinked;
        let chain = self.chain(slot);
        chain.advance(linked.then_some(&ciphertext));
        if let Some(&(next, _)) = chain.waiting.front() {
            self.want_unit(cx, next);
        }
    }

    /// The initial vector of a line that begins its chain in a bucket.
    fn first_of_bucket(&mut self, slot: u32) -> Option<CipherBlock> {
        let Write { source, line, .. } = self.writes[slot];
        let Source::Log(LogWrite { set, sequence, part }) = source else { unreachable!("only the log is chained") };
        let region = self.log_parts().region;
        let record = self.set(usize::from(set)).record_mut(sequence);
        let [header_iv, log_iv] = record.vectors;
        match part {
            Part::Header => (line == region.header(record.bucket, 0)).then_some(header_iv),
            Part::Entry | Part::Metadata => (line == region.entry(record.bucket, 0, 0, 0)).then_some(log_iv),
        }
    }

    fn chain(&mut self, slot: u32) -> &mut Chain {
        match self.writes[slot].source {
            Source::Log(LogWrite { set, part: Part::Header, .. }) => &mut self.set(usize::from(set)).headers,
            Source::Log(LogWrite { set, .. }) => &mut self.set(usize::from(set)).lines,
            Source::Caches(_) | Source::Rested(_) | Source::Reencryption(_) | Source::Turn(_) => {
                unreachable!("only the log is chained")
            }
        }
    }
}

//! Log lines in cipher feedback mode (easy-pm section III-C). Each line waits for the ciphertext of the previous line
//! of its chain, which the recent-ciphertext register of its transaction holds, and uses one circuit for all its four
//! blocks.

use super::super::encrypted::Encrypted;
use super::super::in_flight::LogWrite;
use crate::message::{DevicePort, Observer};

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Appends the write in `slot` to the chain of headers or of logged lines of its transaction.
    pub fn join_chain(&mut self, slot: u32, of: LogWrite) {
        let line = self.memory.writes[slot].line;
        let log = self.engine.log();
        let vector = log.first_of_bucket(of, line);
        let waiting = &mut log.chain(of).waiting;
        waiting.push_back((slot, vector));
        if waiting.len() == 1 {
            self.request_circuit(slot);
        }
    }

    /// Starts the encryption of the oldest line of a chain, for which there is a circuit.
    pub fn begin_feedback(&mut self, slot: u32) {
        self.occupy_circuit(slot, self.engine.circuits.feedback, 1);
        self.memory.writes[slot].counter_admitted = true;
    }

    /// Ends the encryption of the line in `slot`: the next line of its chain can begin.
    pub fn feedback_done(&mut self, slot: u32, of: LogWrite) {
        let write = &mut self.memory.writes[slot];
        let log = self.engine.log();
        if self.memory.bytes {
            let previous = log.chain(of).previous();
            write.ciphertext = log.parts.feedback.encrypt(&previous, &write.plaintext());
        }
        if let Some(next) = log.advance_chain(of, &write.ciphertext) {
            self.request_circuit(next);
        }
    }
}

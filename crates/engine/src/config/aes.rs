//! How long AES circuits take for a line.

use super::{AesOccupancy, AesReads, Controller};
use crate::kernel::{Ps, ns_to_ps};

/// Blocks of AES in a line.
pub const BLOCKS_PER_LINE: Ps = 4;

impl Controller {
    /// Time of a round in a pipelined circuit, in picoseconds; `None` if circuits are not pipelined. AES has 10 rounds, or 14
    /// with keys of 256 bits (FIPS 197, section 5).
    fn aes_round(&self) -> Option<Ps> {
        let rounds = Ps::from(self.aes_key_bits / 32 + 6);
        self.aes_pipelined.then(|| ns_to_ps(self.aes_latency_ns) / rounds)
    }

    /// From the begin of a line's pad until it is made, in picoseconds.
    pub fn pad_latency(&self) -> Ps {
        let block = ns_to_ps(self.aes_latency_ns);
        match (self.aes_occupancy, self.aes_round()) {
            (AesOccupancy::Line, _) => block,
            (AesOccupancy::Block, None) => BLOCKS_PER_LINE * block,
            // Each block but the first enters a round after the one before it.
            (AesOccupancy::Block, Some(round)) => block + (BLOCKS_PER_LINE - 1) * round,
        }
    }

    /// How long a line occupies the entrance of a pipelined circuit, in picoseconds; `None` if circuits are not pipelined.
    pub fn aes_entrance(&self) -> Option<Ps> {
        let blocks = match self.aes_occupancy {
            AesOccupancy::Line => 1,
            AesOccupancy::Block => BLOCKS_PER_LINE,
        };
        self.aes_round().map(|round| blocks * round)
    }

    /// Circuits that make the pads of reads.
    pub fn circuits_for_reads(&self) -> u32 {
        match self.aes_reads {
            AesReads::Own => self.aes_read_units,
            AesReads::Shared => self.aes_units,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset;

    /// The latency and the entrance of a line, in picoseconds.
    fn of(occupancy: AesOccupancy, pipelined: bool, key_bits: u32) -> (Ps, Option<Ps>) {
        let mut controller = preset("secpm").unwrap().controller;
        (controller.aes_occupancy, controller.aes_pipelined) = (occupancy, pipelined);
        controller.aes_key_bits = key_bits;
        (controller.pad_latency(), controller.aes_entrance())
    }

    #[test]
    fn block_by_block_a_line_takes_four_latencies_or_three_more_rounds() {
        use AesOccupancy::{Block, Line};
        assert_eq!(of(Line, false, 128), (40_000, None));
        assert_eq!(of(Line, true, 128), (40_000, Some(4_000)));
        assert_eq!(of(Line, true, 256), (40_000, Some(40_000 / 14)));
        assert_eq!(of(Block, false, 128), (160_000, None));
        assert_eq!(of(Block, true, 128), (52_000, Some(16_000)));
        assert_eq!(of(Block, true, 256), (40_000 + 3 * (40_000 / 14), Some(4 * (40_000 / 14))));
    }

    #[test]
    fn reads_have_their_own_circuits_or_those_of_writes() {
        let mut controller = preset("secpm").unwrap().controller;
        (controller.aes_units, controller.aes_read_units) = (3, 5);
        let mut circuits = |reads| {
            controller.aes_reads = reads;
            controller.circuits_for_reads()
        };
        assert_eq!([circuits(AesReads::Own), circuits(AesReads::Shared)], [5, 3]);
    }
}

//! The energy of accesses, in whole femtojoules so that sums do not depend on their order.
//!
//! Decisions: a read that misses the row buffer reads the transfer's bits (512, or 576 with a counter beside the line)
//! from the array; every access moves them between row buffer and bus; a write programs all of them (a write that
//! programs only changed bits is not modelled).

use crate::config::Device;
use crate::kernel::Ps;
use crate::message::MediaOp;

const FEMTO_PER_PICO: f64 = 1_000.0;

/// Energy per access of a line, in femtojoules, and background power.
#[derive(Clone, Copy, Debug)]
pub(super) struct Energy {
    row_buffer: u64,
    array_read: u64,
    array_write: u64,
    background_mw: f64,
}

impl Energy {
    /// The energies of `device`. `transfer_bytes`: the bytes that one access moves, reads and programs.
    pub fn new(device: &Device, transfer_bytes: u64) -> Self {
        let bits = (transfer_bytes * 8) as f64;
        let per_line = |pj_per_bit: f64| (pj_per_bit * bits * FEMTO_PER_PICO).round() as u64;
        Self {
            row_buffer: per_line(device.row_buffer_pj_per_bit),
            array_read: per_line(device.array_read_pj_per_bit),
            array_write: per_line(device.array_write_pj_per_bit),
            background_mw: device.background_mw,
        }
    }

    /// Energy of one access, in femtojoules.
    pub fn of_access(&self, op: MediaOp, row_hit: bool) -> u64 {
        match op {
            MediaOp::Read if row_hit => self.row_buffer,
            MediaOp::Read => self.row_buffer + self.array_read,
            MediaOp::Write => self.row_buffer + self.array_write,
        }
    }

    /// Background energy over `elapsed` picoseconds, in femtojoules: one milliwatt is one femtojoule per picosecond.
    pub fn of_background(&self, elapsed: Ps) -> u64 {
        (self.background_mw * elapsed as f64).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::test_machine;
    use crate::layout::{Coverage, MediaLayout};
    use crate::message::LINE_BYTES;

    #[test]
    fn accesses_cost_what_the_table_says() {
        let mut device = test_machine().device;
        device.array_read_pj_per_bit = 2.47;
        device.array_write_pj_per_bit = 16.82;
        device.row_buffer_pj_per_bit = 1.02;
        device.background_mw = 2.5;
        let energy = Energy::new(&device, LINE_BYTES);
        assert_eq!(energy.of_access(MediaOp::Read, true), 522_240);
        assert_eq!(energy.of_access(MediaOp::Read, false), 522_240 + 1_264_640);
        assert_eq!(energy.of_access(MediaOp::Write, true), 522_240 + 8_611_840);
        assert_eq!(energy.of_access(MediaOp::Write, false), energy.of_access(MediaOp::Write, true));
        // 2.5 mW over 4 ns are 10 pJ.
        assert_eq!(energy.of_background(4_000), 10_000);
    }

    #[test]
    fn line_with_its_counter_beside_it_costs_72_parts_of_64() {
        let device = test_machine().device;
        let beside = MediaLayout { coverage: Coverage::LINE, inline: true, ..MediaLayout::PLAIN };
        assert_eq!(MediaLayout::PLAIN.transfer_bytes(), LINE_BYTES);
        let [alone, with_counter] =
            [MediaLayout::PLAIN, beside].map(|layout| Energy::new(&device, layout.transfer_bytes()));
        for (op, row_hit) in [(MediaOp::Read, true), (MediaOp::Read, false), (MediaOp::Write, false)] {
            assert_eq!(with_counter.of_access(op, row_hit) * 64, alone.of_access(op, row_hit) * 72);
        }
        assert_eq!(with_counter.of_background(4_000), alone.of_background(4_000));
    }
}

//! The energy of accesses, in whole femtojoules so that sums do not depend on their order.
//!
//! Decisions: a read that misses the row buffer reads the transfer's bits (512, or 576 with a counter beside the line)
//! from the array; every access moves them between row buffer and bus; a write programs all of them, or those that it
//! changes, after it has read them if their row is not open (`device.programmed_bits`). An access of some words of a line
//! moves and programs their share.

use crate::config::{Device, ProgrammedBits};
use crate::kernel::Ps;
use crate::message::{LINE_WORDS, MediaOp};

const FEMTO_PER_PICO: f64 = 1_000.0;

/// Energy of accesses by part, in femtojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct EnergyParts {
    /// Reading bits from the arrays into row buffers.
    pub array_read_fj: u64,
    /// Programming bits of the arrays.
    pub array_write_fj: u64,
    /// Moving bits between row buffers and the bus.
    pub row_buffer_fj: u64,
}

impl EnergyParts {
    /// All of it.
    pub fn sum(&self) -> u64 {
        self.array_read_fj + self.array_write_fj + self.row_buffer_fj
    }
}

impl std::ops::AddAssign for EnergyParts {
    fn add_assign(&mut self, other: Self) {
        let Self { array_read_fj, array_write_fj, row_buffer_fj } = other;
        self.array_read_fj += array_read_fj;
        self.array_write_fj += array_write_fj;
        self.row_buffer_fj += row_buffer_fj;
    }
}

impl std::ops::Mul<u64> for EnergyParts {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        let Self { array_read_fj, array_write_fj, row_buffer_fj } = self;
        let [array_read_fj, array_write_fj, row_buffer_fj] =
            [array_read_fj, array_write_fj, row_buffer_fj].map(|part| part * times);
        Self { array_read_fj, array_write_fj, row_buffer_fj }
    }
}

/// Energies of one to eight words.
type ByWords = [u64; LINE_WORDS as usize];

/// Energy per access, in femtojoules, and background power.
#[derive(Clone, Copy, Debug)]
pub(super) struct Energy {
    row_buffer: ByWords,
    array_read: ByWords,
    array_write: ByWords,
    /// For each bit that a write changes, if it programs no others.
    flip: Option<u64>,
    background_mw: f64,
}

impl Energy {
    /// The energies of `device`. `transfer_bytes`: the bytes that an access of a whole line moves, reads and programs.
    pub fn new(device: &Device, transfer_bytes: u64) -> Self {
        let bits = |words: usize| (transfer_bytes * words as u64 * 8) as f64 / f64::from(LINE_WORDS);
        let by_words = |pj_per_bit: f64| -> ByWords {
            std::array::from_fn(|place| (pj_per_bit * bits(place + 1) * FEMTO_PER_PICO).round() as u64)
        };
        let of_bit = (device.array_write_pj_per_bit * FEMTO_PER_PICO).round() as u64;
        Self {
            row_buffer: by_words(device.row_buffer_pj_per_bit),
            array_read: by_words(device.array_read_pj_per_bit),
            array_write: by_words(device.array_write_pj_per_bit),
            flip: (device.programmed_bits == ProgrammedBits::Changed).then_some(of_bit),
            background_mw: device.background_mw,
        }
    }

    /// Energy of one access of `words` words.
    pub fn of_access(&self, op: MediaOp, row_hit: bool, words: u8) -> EnergyParts {
        let place = usize::from(words) - 1;
        let row_buffer_fj = self.row_buffer[place];
        let [array_read_fj, array_write_fj] = match op {
            MediaOp::Write if self.flip.is_none() => [0, self.array_write[place]],
            MediaOp::Read | MediaOp::Write if row_hit => [0, 0],
            MediaOp::Read | MediaOp::Write => [self.array_read[place], 0],
        };
        EnergyParts { array_read_fj, array_write_fj, row_buffer_fj }
    }

    /// What a write costs beside that which changes `flipped` bits.
    pub fn of_flips(&self, flipped: u64) -> EnergyParts {
        let array_write_fj = self.flip.map_or(0, |of_bit| of_bit * flipped);
        EnergyParts { array_write_fj, ..EnergyParts::default() }
    }

    /// Energy of programming all bits of a line.
    pub fn of_programming(&self) -> EnergyParts {
        let [.., array_write_fj] = self.array_write;
        EnergyParts { array_write_fj, ..EnergyParts::default() }
    }

    /// Energy of a line that is read and written to another place, all of whose bits are programmed there.
    pub fn of_move(&self) -> EnergyParts {
        let [.., row_buffer] = self.row_buffer;
        let ([.., array_read_fj], [.., array_write_fj]) = (self.array_read, self.array_write);
        EnergyParts { array_read_fj, array_write_fj, row_buffer_fj: 2 * row_buffer }
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

    /// All parts.
    fn sum(parts: EnergyParts) -> u64 {
        parts.sum()
    }

    #[test]
    fn accesses_cost_what_the_table_says() {
        let mut device = test_machine().device;
        device.array_read_pj_per_bit = 2.47;
        device.array_write_pj_per_bit = 16.82;
        device.row_buffer_pj_per_bit = 1.02;
        device.background_mw = 2.5;
        let energy = Energy::new(&device, LINE_BYTES);
        assert_eq!(sum(energy.of_access(MediaOp::Read, true, 8)), 522_240);
        let EnergyParts { array_read_fj, array_write_fj, row_buffer_fj } = energy.of_access(MediaOp::Read, false, 8);
        assert_eq!([array_read_fj, array_write_fj, row_buffer_fj], [1_264_640, 0, 522_240]);
        assert_eq!(sum(energy.of_access(MediaOp::Write, true, 8)), 522_240 + 8_611_840);
        assert_eq!(energy.of_access(MediaOp::Write, true, 8).array_write_fj, 8_611_840);
        assert_eq!([energy.of_flips(9), energy.of_move()].map(sum), [0, 2 * 522_240 + 1_264_640 + 8_611_840]);
        device.programmed_bits = ProgrammedBits::Changed;
        let changed = Energy::new(&device, LINE_BYTES);
        let of_write = |row_hit| sum(changed.of_access(MediaOp::Write, row_hit, 8));
        assert_eq!([of_write(true), of_write(false)], [522_240, 522_240 + 1_264_640], "compared with what is there");
        assert_eq!([changed.of_flips(100), changed.of_move()].map(sum), [1_682_000, sum(energy.of_move())]);
        // One word of eight.
        assert_eq!(sum(energy.of_access(MediaOp::Write, true, 1)), 65_280 + 1_076_480);
        assert_eq!(energy.of_access(MediaOp::Write, false, 8), energy.of_access(MediaOp::Write, true, 8));
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
            for words in 1..=LINE_WORDS {
                let [more, less] = [with_counter, alone].map(|energy| sum(energy.of_access(op, row_hit, words)));
                assert_eq!(more * 64, less * 72);
            }
        }
        assert_eq!(with_counter.of_background(4_000), alone.of_background(4_000));
    }
}

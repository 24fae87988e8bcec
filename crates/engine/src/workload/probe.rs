//! Probes: programs that measure memory and keep nothing. A transaction is an access to a block of `tx_size` bytes of the
//! footprint, of which each core has an equal part. LATTester (Yang et al., FAST 2020) and LENS (Wang et al., MICRO 2020)
//! measure in these ways.
//!
//! Decisions:
//! - Random blocks come in rounds, each in an order of its own: each block is accessed once before any comes again.
//! - A chase drops what it has read from the caches, because it measures what is behind them.
//! - Stores have a fence after each block, loads none.
//! - Memory is populated, so that what is read was written once, as a device is that somebody measures.

use crate::kernel::{ConfigError, Random, Shuffle};
use crate::message::{
    BaseImage, CoreId, LINE_BYTES, Line, LineBytes, Op, OpBuffer, OpSource, PAGE_BYTES, ProgramForm, UNKNOWN_VALUE,
    mask_from_ranges,
};
use std::ops::Range;
use std::sync::Arc;

/// What a probe does with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Loads each line. The first waits for the block before it.
    Chase,
    /// Loads each line.
    Load,
    /// Stores each line past the caches; a fence.
    NonTemporal,
    /// Stores each line and writes it back; a fence.
    Clwb,
    /// Stores one half of it past the caches, the other half when this has been done with each block; a fence.
    Halves,
    /// Fills each of its pages with zeros; a fence.
    Zero,
}

/// A probe as the user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// A one-line description for lists.
    pub summary: &'static str,
    access: Access,
    random: bool,
}

/// Every probe.
pub const PROBES: &[ProbeInfo] = &[
    ProbeInfo {
        name: "chase-sequential",
        summary: "loads one block after another, each when the one before is there",
        access: Access::Chase,
        random: false,
    },
    ProbeInfo {
        name: "chase-random",
        summary: "loads blocks in random order, each when the one before is there",
        access: Access::Chase,
        random: true,
    },
    ProbeInfo {
        name: "load-sequential",
        summary: "loads one block after another",
        access: Access::Load,
        random: false,
    },
    ProbeInfo { name: "load-random", summary: "loads blocks in random order", access: Access::Load, random: true },
    ProbeInfo {
        name: "ntstore-sequential",
        summary: "stores one block after another past the caches, with a fence after each",
        access: Access::NonTemporal,
        random: false,
    },
    ProbeInfo {
        name: "ntstore-random",
        summary: "stores blocks in random order past the caches, with a fence after each",
        access: Access::NonTemporal,
        random: true,
    },
    ProbeInfo {
        name: "clwb-sequential",
        summary: "stores one block after another and writes its lines back, with a fence after each",
        access: Access::Clwb,
        random: false,
    },
    ProbeInfo {
        name: "clwb-random",
        summary: "stores blocks in random order and writes their lines back, with a fence after each",
        access: Access::Clwb,
        random: true,
    },
    ProbeInfo {
        name: "ntstore-halves",
        summary: "stores the first halves of all blocks past the caches, then the second ones, with a fence after each",
        access: Access::Halves,
        random: false,
    },
    ProbeInfo {
        name: "zero-pages",
        summary: "fills one block of whole pages after another with zeros, with a fence after each",
        access: Access::Zero,
        random: false,
    },
];

/// The probe called `name`.
pub fn find_probe(name: &str) -> Option<&'static ProbeInfo> {
    PROBES.iter().find(|probe| probe.name == name)
}

/// Memory with the same contents in every line.
#[derive(Debug)]
pub struct Filled {
    /// Its bytes.
    pub end: u64,
    /// What each line holds.
    pub line: LineBytes,
}

impl Filled {
    /// The numbers of its lines.
    fn lines(&self) -> Range<u64> {
        0..self.end / LINE_BYTES
    }
}

impl BaseImage for Filled {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.populated(line).then_some(&self.line)
    }
    fn populated(&self, line: Line) -> bool {
        self.lines().contains(&line.0)
    }
    fn populated_mask(&self, lines: Range<u64>) -> u64 {
        mask_from_ranges(lines, std::iter::once(self.lines()))
    }
    fn populated_lines(&self) -> Vec<Range<u64>> {
        std::iter::once(self.lines()).collect()
    }
    fn end(&self) -> u64 {
        self.end
    }
}

/// A probe with its sizes.
#[derive(Clone, Debug)]
pub struct Probe {
    info: &'static ProbeInfo,
    block: u64,
    /// Blocks of each core.
    blocks: u64,
    /// Bytes from the first block of a core to that of the next.
    stride: u64,
    cores: u16,
    seed: u64,
    operations: u64,
    flushes: bool,
}

impl Probe {
    /// The probe `info` of blocks of `block` bytes, in `footprint` bytes over all cores, of the `most` that there are.
    /// `operations`: blocks that each core accesses. In the flush-free form it writes nothing back.
    ///
    /// # Errors
    /// The footprint is smaller than a block for each core, or larger than what there is.
    pub fn new(
        info: &'static ProbeInfo,
        [block, footprint, most]: [u64; 3],
        cores: u16,
        operations: u64,
        seed: u64,
        form: ProgramForm,
    ) -> Result<Self, ConfigError> {
        let blocks = footprint / u64::from(cores) / block;
        if blocks == 0 {
            return Err(ConfigError(format!(
                "footprint = {footprint} must be at least {}, a block of tx_size = {block} for each of {cores} cores",
                block * u64::from(cores)
            )));
        }
        let stride = (blocks * block).next_multiple_of(PAGE_BYTES);
        let bytes = stride * u64::from(cores);
        if bytes > most {
            return Err(ConfigError(format!(
                "footprint = {footprint} takes {bytes} bytes in whole pages for each core, more than the {most} that the \
                 device has for data"
            )));
        }
        if info.access == Access::Halves && !(block / 2).is_multiple_of(LINE_BYTES) {
            return Err(ConfigError(format!(
                "tx_size = {block} must be a multiple of 128 with workload '{}', because it stores lines of half a block",
                info.name
            )));
        }
        if info.access == Access::Zero && !block.is_multiple_of(PAGE_BYTES) {
            return Err(ConfigError(format!(
                "tx_size = {block} must be a multiple of {PAGE_BYTES} with workload '{}', because it fills whole pages",
                info.name
            )));
        }
        let flushes = form != ProgramForm::FlushFree;
        Ok(Self { info, block, blocks, stride, cores, seed, operations, flushes })
    }

    /// Its memory before it begins.
    pub fn base(&self) -> Arc<Filled> {
        Arc::new(Filled { end: self.stride * u64::from(self.cores), line: [0x5a; 64] })
    }

    /// The programs of all cores.
    pub fn programs(&self) -> impl Iterator<Item = Box<dyn OpSource>> + '_ {
        (0..self.cores).map(|core| Box::new(ProbeProgram::new(self.clone(), core)) as Box<dyn OpSource>)
    }
}

/// What one core does.
struct ProbeProgram {
    probe: Probe,
    start: u64,
    /// The order of this round, and the random numbers that the next ones come from.
    order: Option<(Shuffle, Random)>,
    next: u64,
}

impl ProbeProgram {
    fn new(probe: Probe, core: CoreId) -> Self {
        let order = probe.info.random.then(|| {
            let mut random = Random::stream(probe.seed, &format!("probe of core {core}"));
            (Shuffle::new(probe.blocks, random.next_u64()), random)
        });
        Self { start: u64::from(core) * probe.stride, order, probe, next: 0 }
    }

    /// The addresses of the lines that access `number` is to.
    fn lines(&mut self, number: u64) -> impl Iterator<Item = u64> + use<> {
        let Probe { block, blocks, info, .. } = self.probe;
        let nth = number % blocks;
        let at = match &mut self.order {
            None => nth,
            Some((order, random)) => {
                if nth == 0 && number > 0 {
                    *order = Shuffle::new(blocks, random.next_u64());
                }
                order.forward(nth)
            }
        };
        let at = self.start + block * at;
        let (from, length) = match info.access {
            Access::Halves => (at + number / blocks % 2 * (block / 2), block / 2),
            _ => (at, block),
        };
        (from..from + length).step_by(LINE_BYTES as usize)
    }
}

impl OpSource for ProbeProgram {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        let Probe { operations, info, flushes, .. } = self.probe;
        if self.next == operations {
            return false;
        }
        let lines = self.lines(self.next);
        self.next += 1;
        buffer.ops.push(Op::TxBegin);
        let bytes = [self.next as u8; LINE_BYTES as usize];
        let length = LINE_BYTES as u8;
        for (number, address) in lines.enumerate() {
            match info.access {
                Access::Chase | Access::Load => {
                    let chases = info.access == Access::Chase;
                    let dependent = chases && number == 0;
                    buffer.ops.push(Op::Load { address, length, dependent, bytes: UNKNOWN_VALUE });
                    if chases && flushes {
                        buffer.ops.push(Op::Clflushopt { address });
                    }
                }
                Access::NonTemporal | Access::Halves => buffer.store_non_temporal(address, &bytes),
                Access::Zero if address.is_multiple_of(PAGE_BYTES) => buffer.ops.push(Op::ZeroPage { address }),
                Access::Zero => {}
                Access::Clwb => {
                    buffer.store(address, &bytes, LINE_BYTES as usize);
                    if flushes {
                        buffer.ops.push(Op::Clwb { address });
                    }
                }
            }
        }
        if !matches!(info.access, Access::Chase | Access::Load) {
            buffer.ops.push(Op::Sfence);
        }
        buffer.ops.push(Op::TxEnd);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn operations(name: &str, sizes: [u64; 3], cores: u16, operations: u64) -> Vec<Vec<Op>> {
        let probe = Probe::new(find_probe(name).unwrap(), sizes, cores, operations, 1, ProgramForm::Plain).unwrap();
        let all = probe.programs().map(|mut program| {
            let (mut ops, mut buffer) = (Vec::new(), OpBuffer::default());
            while program.next_transaction(&mut buffer) {
                ops.append(&mut buffer.ops);
                buffer.clear();
            }
            ops
        });
        all.collect()
    }

    fn loaded(ops: &[Op]) -> Vec<u64> {
        ops.iter().filter_map(|op| if let Op::Load { address, .. } = op { Some(*address) } else { None }).collect()
    }

    #[test]
    fn each_core_goes_round_its_own_part() {
        let [one, other] = operations("load-sequential", [128, 1024, 1 << 20], 2, 5).try_into().unwrap();
        assert_eq!(loaded(&one), [0, 64, 128, 192, 256, 320, 384, 448, 0, 64]);
        assert_eq!(loaded(&other), loaded(&one).iter().map(|at| at + 4096).collect::<Vec<_>>());
    }

    #[test]
    fn random_blocks_come_once_in_a_round() {
        let [ops] = operations("chase-random", [64, 64 * 100, 1 << 20], 1, 200).try_into().unwrap();
        let addresses = loaded(&ops);
        for round in [&addresses[..100], &addresses[100..]] {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 100);
        }
        assert_ne!(addresses[..100], addresses[100..]);
        assert!(addresses[..100].windows(2).filter(|two| two[0] < two[1]).count() < 70, "they are in no order");
    }

    #[test]
    fn halves_of_all_blocks_come_one_after_the_other() {
        let [ops] = operations("ntstore-halves", [256, 512, 1 << 20], 1, 4).try_into().unwrap();
        let stored = |op: &Op| if let Op::NonTemporalStore { address, .. } = op { Some(*address) } else { None };
        assert_eq!(ops.iter().filter_map(stored).collect::<Vec<_>>(), [0, 64, 256, 320, 128, 192, 384, 448]);
        assert_eq!(ops.iter().filter(|op| **op == Op::Sfence).count(), 4);
    }

    #[test]
    fn each_page_of_a_block_is_filled_once() {
        let [ops] = operations("zero-pages", [8192, 16_384, 1 << 20], 1, 2).try_into().unwrap();
        let pages: Vec<&Op> = ops.iter().filter(|op| matches!(op, Op::ZeroPage { .. })).collect();
        let expected = [0, 4096, 8192, 12_288].map(|address| Op::ZeroPage { address });
        assert_eq!(pages, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused_in_a_sentence() {
        let of = |name, sizes, cores| {
            Probe::new(find_probe(name).unwrap(), sizes, cores, 1, 1, ProgramForm::Plain).unwrap_err().0
        };
        assert_eq!(
            of("load-random", [256, 512, 1 << 20], 3),
            "footprint = 512 must be at least 768, a block of tx_size = 256 for each of 3 cores"
        );
        assert!(of("load-random", [256, 8192, 4096], 2).contains("more than the 4096"));
        assert!(of("ntstore-halves", [192, 8192, 1 << 20], 1).starts_with("tx_size = 192 must be a multiple of 128"));
        assert!(of("zero-pages", [192, 8192, 1 << 20], 1).starts_with("tx_size = 192 must be a multiple of 4096"));
    }
}

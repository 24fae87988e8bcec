//! Traces of ChampSim: instructions of 64 bytes with the addresses of their memory operands, little-endian.
//!
//! ```text
//! bytes  0..8    instruction pointer
//!        8       a branch: 0 or 1        9  taken: 0 or 1
//!       10..12   destination registers  12..16  source registers
//!       16..32   two addresses stored to, 0 for none
//!       32..64   four addresses loaded from, 0 for none
//! ```
//!
//! Sizes and values are not recorded: every operand is a word of eight bytes, and a stored value depends on its address
//! and on the number of earlier stores. Addresses are virtual; pages of 4096 bytes get places on the device in the
//! order of their first access, as ChampSim itself assigns frames.

use super::input::is_cut_off;
use super::mapped_files::{Place, RegisteredFile};
use super::recording::{Act, Deed, Recording, StoreWay, TakeImage, Totals};
use crate::kernel::ConfigError;
use crate::message::PAGE_BYTES;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::io::{BufRead, ErrorKind, Read};

/// Bytes of an instruction.
const RECORD_BYTES: usize = 64;
/// Bytes of an operand.
const WORD_BYTES: u64 = 8;
/// The most pages: 16 GiB of memory. Each page needs some tens of bytes on the host.
const PAGES_MAX: usize = 1 << 22;

/// Whether `head` looks like an instruction of a 64-bit program.
pub(super) fn begins_like(head: &[u8]) -> bool {
    let mut records = head.chunks_exact(RECORD_BYTES).peekable();
    records.peek().is_some() && records.all(|record| Instruction::parse(record).is_plausible())
}

struct Instruction {
    pointer: u64,
    branch: [u8; 2],
    stores: [u64; 2],
    loads: [u64; 4],
}

impl Instruction {
    fn parse(record: &[u8]) -> Self {
        let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
        Instruction {
            pointer: word(0),
            branch: [record[8], record[9]],
            stores: [word(16), word(24)],
            loads: [word(32), word(40), word(48), word(56)],
        }
    }

    /// Whether the addresses are possible: those of 64-bit processors are sign-extended and have at most 57 bits, and
    /// nothing is stored in the last word.
    fn is_plausible(&self) -> bool {
        let canonical = |address: u64| matches!((address as i64) >> 56, 0 | -1) && address <= u64::MAX - WORD_BYTES;
        self.pointer != 0
            && self.branch.iter().all(|&flag| flag <= 1)
            && [self.pointer].iter().chain(&self.stores).chain(&self.loads).all(|&address| canonical(address))
    }
}

/// Reads the acts of the program.
pub(super) struct Walk {
    name: String,
    input: Box<dyn BufRead + Send>,
    /// Acts of the newest instruction that have not been returned yet.
    acts: VecDeque<Act>,
    over: Option<bool>,
    records: u64,
    /// Instructions without operands since the last one with operands.
    waiting: u64,
    pages: FxHashMap<u64, u64>,
    files: [RegisteredFile; 1],
    stores: u64,
    stored: [u8; WORD_BYTES as usize],
}

impl Walk {
    pub fn new(name: &str, input: Box<dyn BufRead + Send>) -> Self {
        Walk {
            name: name.to_owned(),
            input,
            acts: VecDeque::new(),
            over: None,
            records: 0,
            waiting: 0,
            pages: FxHashMap::default(),
            files: [RegisteredFile { path: name.as_bytes().to_vec(), extent: 0 }],
            stores: 0,
            stored: [0; 8],
        }
    }

    /// Reads one instruction; if there is none, returns how the trace ends.
    fn read(&mut self) -> Result<Option<bool>, ConfigError> {
        let mut record = [0; RECORD_BYTES];
        let mut filled = 0;
        while filled < RECORD_BYTES {
            match self.input.read(&mut record[filled..]) {
                Ok(0) => return Ok(Some(filled > 0)),
                Ok(length) => filled += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_cut_off(&error) => return Ok(Some(true)),
                Err(error) => {
                    let (name, records, at) = (&self.name, self.records, self.offset());
                    return Err(ConfigError(format!(
                        "{name}: the trace cannot be read further: {error}; it is good up to byte {at} ({records} records)"
                    )));
                }
            }
        }
        self.records += 1;
        let instruction = Instruction::parse(&record);
        if !instruction.is_plausible() {
            return Err(self.malformed("an instruction of ChampSim with 57-bit addresses and branch flags of 0 or 1"));
        }
        for address in instruction.loads.into_iter().filter(|&address| address != 0) {
            let address = self.touch(address)?;
            self.acts.push_back(Act::Load { address, size: WORD_BYTES as u32 });
        }
        for address in instruction.stores.into_iter().filter(|&address| address != 0) {
            let address = self.touch(address)?;
            self.acts.push_back(Act::Store { address, size: WORD_BYTES as u32, way: StoreWay::Cached });
        }
        Ok(None)
    }

    /// The device address of the word at `address`, whose page gets a place if it has none.
    fn touch(&mut self, address: u64) -> Result<u64, ConfigError> {
        let address = address & !(WORD_BYTES - 1);
        let next = self.pages.len() as u64;
        if next == PAGES_MAX as u64 && !self.pages.contains_key(&(address / PAGE_BYTES)) {
            return Err(self.malformed("at most 2^22 pages of 4096 bytes"));
        }
        self.pages.entry(address / PAGE_BYTES).or_insert(next);
        self.files[0].extent = self.pages.len() as u64 * PAGE_BYTES;
        Ok(address)
    }

    fn malformed(&self, expected: &str) -> ConfigError {
        let (name, record, at) = (&self.name, self.records, (self.records - 1) * RECORD_BYTES as u64);
        ConfigError(format!("{name}: record {record} at byte {at}: expected {expected}"))
    }
}

/// The value that store number `number` writes at `address` (the finaliser of splitmix64, over both).
fn value(address: u64, number: u64) -> u64 {
    let mut mixed = address ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

impl Recording for Walk {
    fn next_deed(&mut self, _image: TakeImage<'_>) -> Result<Deed, ConfigError> {
        let mut instructions = 0;
        let joined = !self.acts.is_empty();
        while self.acts.is_empty() {
            if let Some(cut_off) = self.over {
                let instructions = std::mem::take(&mut self.waiting);
                let act = if instructions > 0 { Act::Nothing } else { Act::Over { cut_off } };
                return Ok(Deed { instructions, ..act.into() });
            }
            self.over = self.read()?;
            if self.acts.is_empty() && self.over.is_none() {
                self.waiting += 1;
            } else if self.over.is_none() {
                instructions = std::mem::take(&mut self.waiting);
            }
        }
        let act = self.acts.pop_front().expect("an act is there");
        if let Act::Store { address, .. } = act {
            self.stored = value(address, self.stores).to_le_bytes();
            self.stores += 1;
        }
        Ok(Deed { instructions, joined, ..act.into() })
    }
    fn bytes(&self) -> &[u8] {
        &self.stored
    }
    fn place(&mut self, address: u64) -> Option<Place> {
        let (page, within) = (address / PAGE_BYTES, address % PAGE_BYTES);
        let offset = self.pages.get(&page)? * PAGE_BYTES + within;
        Some(Place { file: 0, offset, length: PAGE_BYTES - within })
    }
    /// Nothing is flushed in these traces.
    fn place_from(&mut self, address: u64) -> Option<(u64, Place)> {
        Some((address, self.place(address)?))
    }
    fn files(&self) -> &[RegisteredFile] {
        &self.files
    }
    fn of_files(&self) -> bool {
        false
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn records(&self) -> u64 {
        self.records
    }
    fn offset(&self) -> u64 {
        self.records * RECORD_BYTES as u64
    }
    fn totals(&self) -> Totals {
        Totals { instructions: self.records, threads: 1, ..Totals::default() }
    }
    fn kind(&self) -> (&'static str, &'static str) {
        ("trace", "a whole instruction")
    }
}

#[cfg(test)]
mod tests;

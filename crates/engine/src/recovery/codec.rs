//! The boot's access to the design's own mechanisms: the counter scheme and the pads that the controller used.

use super::{IntegrityCodec, LineCodec, LogCodec, ReencryptionStatus};
use crate::layout::{Coverage, LogRegion, ShadowRegion};
use crate::message::{BaseImage, CounterBlock, Line, LineBytes, group_mask, xor};
use crate::parts::{Counter, CounterScheme, FeedbackSource, MinorReset, NextCounter, PadSource, Stored};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;
use thread_local::ThreadLocal;

/// Counter blocks of one scheme, decrypted and encrypted with one key.
pub struct SchemeCodec {
    scheme: Box<dyn CounterScheme>,
    pads: Box<dyn PadSource>,
    base: Arc<dyn BaseImage>,
    /// Cache of initial blocks, because boots ask for the same ones repeatedly. Each thread has its own.
    base_blocks: ThreadLocal<RefCell<FxHashMap<CounterBlock, LineBytes>>>,
    log: Option<(LogRegion, Arc<dyn FeedbackSource>)>,
    shadow: Option<ShadowRegion>,
    valid_flags: bool,
    integrity: Option<IntegrityCodec>,
    /// Whether the bits of words survive, if lines have any.
    modified_survive: bool,
    /// Whether a boot knows which lines are encrypted without a pad.
    modes_known: bool,
}

impl SchemeCodec {
    /// The codec of a design whose memory started as `base`.
    pub fn new(scheme: Box<dyn CounterScheme>, pads: Box<dyn PadSource>, base: Arc<dyn BaseImage>) -> Self {
        Self {
            scheme,
            pads,
            base,
            base_blocks: ThreadLocal::new(),
            log: None,
            shadow: None,
            valid_flags: false,
            integrity: None,
            modified_survive: true,
            modes_known: true,
        }
    }

    /// Adds a hardware log in `region`; `feedback` has the log's key.
    pub fn with_log(self, region: LogRegion, feedback: Arc<dyn FeedbackSource>) -> Self {
        Self { log: Some((region, feedback)), ..self }
    }

    /// Adds a shadow cache in `region`.
    pub fn with_shadow(self, region: ShadowRegion) -> Self {
        Self { shadow: Some(region), ..self }
    }

    /// Adds a flag to each line on the media that shows whether the line was ever written.
    pub fn with_valid_flags(self, valid_flags: bool) -> Self {
        Self { valid_flags, ..self }
    }

    /// Says whether the bits of words survive, if lines have any.
    pub fn with_modified_bits(self, survive: bool) -> Self {
        Self { modified_survive: survive, ..self }
    }

    /// `known`: whether a boot knows which lines are encrypted without a pad. If not, it takes none for one.
    pub fn with_page_modes(self, known: bool) -> Self {
        Self { modes_known: known, ..self }
    }

    /// Adds MACs and, if it has one, the tree.
    pub fn with_integrity(self, integrity: IntegrityCodec) -> Self {
        Self { integrity: Some(integrity), ..self }
    }

    fn padded(&self, line: Line, counter: Counter, bytes: &LineBytes) -> LineBytes {
        xor(bytes, &self.pads.pad(line, counter))
    }

    fn stored_counter(&self, line: Line, block: &LineBytes) -> Counter {
        self.scheme.counter(block, self.scheme.coverage().index(line))
    }
}

impl LineCodec for SchemeCodec {
    fn makes_pads(&self) -> bool {
        self.pads.makes_pads()
    }

    fn pads_line(&self, line: Line, block: &LineBytes) -> bool {
        !self.pads.is_direct(self.stored_counter(line, block))
    }

    fn coverage(&self) -> Coverage {
        self.scheme.coverage()
    }

    fn base_block(&self, block: CounterBlock) -> LineBytes {
        *self.base_blocks.get_or_default().borrow_mut().entry(block).or_insert_with(|| {
            let lines = self.scheme.coverage().numbers_of(block);
            self.scheme.initial(group_mask(lines, |lines| self.base.populated_mask(lines)))
        })
    }

    fn decrypt(
        &self,
        line: Line,
        stored: &Stored,
        block: &LineBytes,
        status: Option<&ReencryptionStatus>,
    ) -> LineBytes {
        let counter = self.counter(line, block, status);
        if self.scheme.is_zero(counter) {
            return [0; 64];
        }
        match self.pads.words() {
            Some(words) => words.read(line, counter, stored),
            None if self.modes_known => self.pads.decrypt(line, counter, &stored.bytes),
            None => self.padded(line, counter, &stored.bytes),
        }
    }

    fn encrypt(&self, line: Line, plaintext: &LineBytes, block: &LineBytes) -> Stored {
        let counter = self.stored_counter(line, block);
        match self.pads.words() {
            Some(words) => words.whole(line, counter, plaintext),
            None if self.modes_known => Stored::whole(self.pads.encrypt(line, counter, plaintext)),
            None => Stored::whole(self.padded(line, counter, plaintext)),
        }
    }

    fn encrypt_first(&self, line: Line, plaintext: &LineBytes, block: &LineBytes) -> LineBytes {
        let counter = self.stored_counter(line, block);
        match self.pads.words() {
            Some(words) => words.first(line, counter, plaintext),
            None => self.pads.encrypt(line, counter, plaintext),
        }
    }

    fn keeps_modified(&self) -> bool {
        self.modified_survive && self.pads.words().is_some()
    }

    fn counter(&self, line: Line, block: &LineBytes, status: Option<&ReencryptionStatus>) -> Counter {
        let stored = self.stored_counter(line, block);
        let major = status.and_then(|status| status.major_of(line)).unwrap_or(stored.major);
        Counter { major, ..stored }
    }

    fn is_zero(&self, counter: Counter) -> bool {
        self.scheme.is_zero(counter)
    }

    fn integrity(&self) -> Option<&IntegrityCodec> {
        self.integrity.as_ref()
    }

    fn first_ciphertext(&self, line: Line) -> Option<LineBytes> {
        let plaintext = self.base.line(line)?;
        Some(self.encrypt_first(line, plaintext, &self.base_block(self.coverage().block(line))))
    }

    fn first_mac(&self, line: Line) -> Option<u128> {
        let (integrity, ciphertext) = (self.integrity.as_ref()?, self.first_ciphertext(line)?);
        let counter = self.stored_counter(line, &self.base_block(self.coverage().block(line)));
        Some(integrity.macs.mac(line, &ciphertext, counter))
    }

    fn increment(&self, line: Line, block: &mut LineBytes, register: &mut u64) -> bool {
        let index = self.scheme.coverage().index(line);
        match self.scheme.next(block, index, *register) {
            NextCounter::Is(counter) => {
                self.scheme.set(block, index, counter);
                if self.scheme.global() {
                    *register = counter.major;
                }
                true
            }
            NextCounter::Overflow => false,
        }
    }

    fn set_counter(&self, line: Line, block: &mut LineBytes, counter: Counter) {
        self.scheme.set(block, self.scheme.coverage().index(line), counter);
    }

    fn major(&self, block: &LineBytes) -> u64 {
        self.scheme.counter(block, 0).major
    }

    fn largest(&self, block: &LineBytes) -> u64 {
        (0..self.scheme.coverage().lines()).map(|index| self.scheme.counter(block, index).major).max().unwrap_or(0)
    }

    fn increment_major(&self, old_major: u64, block: &mut LineBytes) {
        // More than once if a block was lost: the status register has a newer major counter than the media.
        while self.major(block) <= old_major {
            // A re-encryption that the boot itself begins still has the old minor counters on the chip, in both
            // readings.
            self.scheme.increment_major(block, MinorReset::WithDoneBit);
        }
    }

    fn renew(&self, line: Line, old_major: u64, block: &mut LineBytes) {
        self.increment_major(old_major, block);
        self.scheme.restart_line(block, self.scheme.coverage().index(line));
    }

    fn pad(&self, line: Line, counter: Counter) -> LineBytes {
        self.pads.pad(line, counter)
    }

    fn has_valid_flags(&self) -> bool {
        self.valid_flags
    }

    fn shadow(&self) -> Option<ShadowRegion> {
        self.shadow
    }

    fn log(&self) -> Option<LogCodec<'_>> {
        self.log.as_ref().map(|(region, feedback)| LogCodec { region: *region, feedback: feedback.as_ref() })
    }
}

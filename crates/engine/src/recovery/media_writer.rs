//! The ordinary write path without its pipeline: encrypted memory, read and written line by line in indivisible steps.
//! Used by a boot, and by a drain on a battery that supports all operations.

use super::restored::Restored;
use super::survivors::Memory;
use super::work::{Tally, Work};
use super::{Alarm, LineCodec, Media, ReencryptionStatus};
use crate::layout::TreePlace;
use crate::message::{Content, CounterGroup, Line, LineBytes, MediaLine, Observer};
use crate::parts::Stored;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A step of a write, or of the page re-encryption that it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteStep {
    /// The line and its counter are durable: the write is complete. Or a check has failed, and it is not written.
    Written(Line),
    /// The status register took the page, because its minor counters would have overflowed.
    Began(CounterGroup),
    /// A line of the page in the status register was re-encrypted.
    Reencrypted(Line),
    /// The status register was freed.
    Finished,
}

/// Memory behind its encryption.
pub struct MediaWriter<'a> {
    memory: Memory<'a>,
    codec: Option<&'a dyn LineCodec>,
    /// The status register, if it is in use.
    pub status: Option<ReencryptionStatus>,
    /// The global counter's register: the last value that was used.
    pub register: u64,
    /// Lines that are unencrypted and flagged so.
    pub in_the_clear: FxHashSet<Line>,
    /// The register of the root of the integrity tree; `None` if there is no tree.
    pub root: Option<LineBytes>,
    /// The roots, if the tree has several.
    pub roots: BTreeMap<TreePlace, LineBytes>,
    /// The counter blocks and nodes that were restored to the metadata caches, with the table that has them.
    pub(super) restored: Restored,
    /// Whether a boot finds counters by trial. It then takes the new major counter of a page from the status register, so
    /// that tree and register must change in the same step.
    pub recovers_counters: bool,
    /// The first check that failed. The machine has stopped there.
    pub alarm: Option<Alarm>,
    /// Counter blocks and nodes that are verified, so that each is once.
    pub(super) verified: RefCell<FxHashSet<TreePlace>>,
    /// What the boot has done so far.
    pub(super) tally: RefCell<Tally>,
}

impl<'a> MediaWriter<'a> {
    /// `media` behind `codec`; `None`: memory holds plaintext.
    pub fn new(media: &'a dyn Media, codec: Option<&'a dyn LineCodec>) -> Self {
        Self {
            memory: Memory::new(media),
            codec,
            status: None,
            register: 0,
            in_the_clear: FxHashSet::default(),
            root: None,
            roots: BTreeMap::new(),
            restored: Restored::default(),
            recovers_counters: false,
            alarm: None,
            verified: RefCell::default(),
            tally: RefCell::default(),
        }
    }

    /// The encryption; `None` if memory holds plaintext.
    pub fn codec(&self) -> Option<&'a dyn LineCodec> {
        self.codec
    }

    /// The media with everything that was stored here.
    pub fn memory(&self) -> &dyn Media {
        &self.memory
    }

    /// A copy of that, which what is stored later does not change.
    pub fn memory_now(&self) -> Memory<'a> {
        self.memory.clone()
    }

    /// What has been done since the last `MediaWriter::forget_work`.
    pub fn work(&self) -> Work {
        self.tally.borrow().work
    }

    /// Counts a read of `line`, and what decrypting it takes.
    pub(super) fn reads(&self, line: Line) {
        let mut tally = self.tally.borrow_mut();
        tally.read(MediaLine::data(line));
        if let Some(codec) = self.codec.filter(|codec| !self.lacks_counter(line, *codec)) {
            if codec.has_counters() {
                tally.needs_counter(counter_of(line, codec));
            }
            tally.work.pads += 1;
        }
    }

    /// Counts hashes over lines of the shadow cache and the nodes above them.
    pub fn hashed(&self, hashes: u64) {
        self.tally.borrow_mut().work.hashes += hashes;
    }

    /// Counts MACs that the boot, or the battery, has computed for slots of the shadow cache.
    pub fn authenticated(&self, macs: u64) {
        self.tally.borrow_mut().work.macs += macs;
    }

    /// Counts a pad that was made for a slot of the caches.
    pub fn made_pad(&self) {
        self.tally.borrow_mut().work.pads += 1;
    }

    /// Begins to count again.
    pub fn forget_work(&mut self) {
        self.tally.take();
    }

    /// Stores `bytes` without encryption. What was verified must be verified again.
    pub fn store(&mut self, media: MediaLine, bytes: &LineBytes) {
        self.verified.borrow_mut().clear();
        self.put(media, bytes);
    }

    /// Stores `bytes` that what is above them vouches for.
    pub(super) fn put(&mut self, media: MediaLine, bytes: &LineBytes) {
        let integrity = self.codec.and_then(|codec| codec.integrity());
        self.tally.get_mut().written(media, integrity.is_some_and(|integrity| integrity.mac_layout.beside()));
        self.memory.store(media, bytes);
    }

    /// The stored bytes of `line`, not decrypted.
    pub fn raw(&self, line: Line) -> LineBytes {
        *self.memory.content(MediaLine::data(line)).bytes()
    }

    /// The plaintext of `line`. Lines without a counter are returned as stored: a log line of a chain, which can only
    /// be decrypted together with the lines before it, the shadow cache, and lines flagged as unencrypted.
    pub fn line(&self, line: Line) -> LineBytes {
        let Some(codec) = self.codec.filter(|codec| !self.lacks_counter(line, *codec)) else { return self.raw(line) };
        let stored_block =
            if codec.has_counters() { self.memory.content(counter_of(line, codec)) } else { Content::Never };
        let status = self.status.as_ref().filter(|status| status.group.contains(line));
        let content = self.memory.content(MediaLine::data(line));
        if let (Content::Base(base), Content::Never, None) = (content, stored_block, status) {
            // Encrypting the shared base with its first counter only to decrypt it again would change nothing.
            return *base;
        }
        if codec.has_valid_flags() && matches!(content, Content::Never) {
            return [0; 64];
        }
        let block = self.block(line, codec);
        codec.decrypt(line, &self.stored(line, codec), &block, status)
    }

    /// The next step of writing a whole line: data and counter become durable in one step, so pads stay fresh. If a
    /// minor counter overflows, its page is re-encrypted first, which waits for the status register.
    pub fn write_step(&mut self, line: Line, plaintext: &LineBytes, observer: &mut impl Observer) -> WriteStep {
        let Some(codec) = self.codec else {
            self.persist(line, plaintext, &Stored::whole(*plaintext), None, observer);
            return WriteStep::Written(line);
        };
        if self.status.is_some_and(|status| status.group.contains(line))
            && let Some(step) = self.reencryption_step(observer)
        {
            return step;
        }
        if let Err(alarm) = self.verify_counter(line) {
            // Nothing is computed from a counter that may be an old one.
            self.alarm.get_or_insert(alarm);
            return WriteStep::Written(line);
        }
        if codec.has_counters() {
            self.tally.get_mut().needs_counter(counter_of(line, codec));
        }
        let mut block = self.block(line, codec);
        if codec.increment(line, &mut block, &mut self.register) {
            self.tally.get_mut().work.pads += 1;
            let stored = codec.encrypt(line, plaintext, &block);
            self.persist(line, plaintext, &stored, Some(&block), observer);
            return WriteStep::Written(line);
        }
        if let Some(step) = self.reencryption_step(observer) {
            return step;
        }
        if self.alarm.is_some() {
            // A page whose re-encryption has stopped is not begun again: its register would be lost.
            return WriteStep::Written(line);
        }
        let (group, old_major) = (codec.coverage().group(line), codec.major(&block));
        if self.recovers_counters {
            codec.increment_major(old_major, &mut block);
            self.put_counter(codec.coverage().block(line), &block, observer);
            self.protect_counter(line, observer);
        }
        self.status = Some(ReencryptionStatus { group, old_major, done: 0 });
        observer.reencryption(0, group, old_major, 0, false);
        WriteStep::Began(group)
    }

    /// Re-encrypts the next line of the page in the status register, or frees the register; `None` if it is free
    /// already.
    pub fn reencryption_step(&mut self, observer: &mut impl Observer) -> Option<WriteStep> {
        let (codec, status) = (self.codec?, self.status?);
        if status.done == status.group.all() {
            observer.reencryption(0, status.group, status.old_major, status.done, true);
            self.status = None;
            return Some(WriteStep::Finished);
        }
        let index = status.done.trailing_ones() as usize;
        let line = status.group.line(index);
        self.tally.get_mut().needs_counter(counter_of(line, codec));
        self.tally.get_mut().read(MediaLine::data(line));
        if let Err(alarm) = self.verify(line) {
            self.alarm.get_or_insert(alarm);
            return None;
        }
        // One pad to decrypt it, one to encrypt it.
        self.tally.get_mut().work.pads += 2;
        let plaintext = self.line(line);
        let mut block = self.block(line, codec);
        codec.renew(line, status.old_major, &mut block);
        let stored = codec.encrypt(line, &plaintext, &block);
        self.persist(line, &plaintext, &stored, Some(&block), observer);
        let done = status.done | 1 << index;
        self.status = Some(ReencryptionStatus { done, ..status });
        observer.reencryption(0, status.group, status.old_major, done, false);
        Some(WriteStep::Reencrypted(line))
    }

    /// The pads that the next write of `line` may be encrypted with; nothing is written. The first pad is for the case
    /// that this is the next write of all. A counter of the line's own allows no other pad. A global counter is incremented
    /// with every write of any line, so pad k, counted from 1, is for the case that k - 1 writes of other lines come
    /// first, and the sequence is endless. There are no pads for lines that are encrypted without, if a page would be
    /// re-encrypted first, and for lines without a counter.
    pub fn next_pads(&self, line: Line) -> impl Iterator<Item = LineBytes> + use<'a> {
        let codec = self.codec.filter(|codec| codec.makes_pads() && !outside_counters(line, *codec));
        let mut next = codec.map(|codec| (codec, self.block(line, codec), self.register));
        std::iter::from_fn(move || {
            let (codec, block, register) = next.as_mut()?;
            if !codec.pads_line(line, block) {
                return None;
            }
            let given_out = *register;
            let pad = codec.increment(line, block, register).then(|| codec.encrypt(line, &[0; 64], block).bytes);
            if *register == given_out {
                next = None;
            }
            pad
        })
    }

    /// The largest counter on the media. Populated lines whose block was never stored have smaller counters than any
    /// write of the run.
    pub fn largest_counter(&self) -> u64 {
        let Some(codec) = self.codec else { return 0 };
        let mut largest = 0;
        self.memory.counter_blocks(&mut |id, block| {
            self.tally.borrow_mut().read(MediaLine::counter(id));
            largest = largest.max(codec.largest(block));
        });
        largest
    }

    /// Data and counter block reach the media in one step.
    fn persist(
        &mut self,
        line: Line,
        plaintext: &LineBytes,
        stored: &Stored,
        block: Option<&LineBytes>,
        observer: &mut impl Observer,
    ) {
        observer.write_arrived(0, line, plaintext);
        if let (Some(codec), Some(block)) = (self.codec.filter(|codec| codec.has_counters()), block) {
            self.put_counter(codec.coverage().block(line), block, observer);
        }
        self.put(MediaLine::data(line), &stored.bytes);
        self.in_the_clear.remove(&line);
        observer.persisted(0, MediaLine::data(line), &stored.bytes);
        if self.codec.is_some_and(|codec| codec.keeps_modified()) {
            let (media, modified) = (MediaLine::modified(line), Stored::block_of(stored.modified));
            self.put(media, &modified);
            observer.persisted(0, media, &modified);
        }
        self.protect(line, observer);
    }

    #[inline]
    pub(super) fn block(&self, line: Line, codec: &dyn LineCodec) -> LineBytes {
        if !codec.has_counters() {
            return [0; 64];
        }
        if let Some(block) = self.restored.get(TreePlace::leaf(codec.coverage().block(line))) {
            return *block;
        }
        match self.memory.content(counter_of(line, codec)) {
            Content::Stored(block) | Content::Base(block) => *block,
            Content::Never => codec.base_block(codec.coverage().block(line)),
        }
    }

    /// The stored bytes of `line`. A populated line that was never written is stored with its first counter.
    #[inline]
    pub(super) fn stored(&self, line: Line, codec: &dyn LineCodec) -> Stored {
        Stored::whole(match self.memory.content(MediaLine::data(line)) {
            Content::Stored(bytes) if codec.keeps_modified() => {
                let modified = Stored::modified_in(self.memory.content(MediaLine::modified(line)).bytes());
                return Stored { bytes: *bytes, modified };
            }
            Content::Stored(bytes) => *bytes,
            Content::Base(plaintext) => {
                codec.encrypt_first(line, plaintext, &codec.base_block(codec.coverage().block(line)))
            }
            Content::Never => [0; 64],
        })
    }

    #[inline]
    pub(super) fn lacks_counter(&self, line: Line, codec: &dyn LineCodec) -> bool {
        outside_counters(line, codec) || self.in_the_clear.contains(&line)
    }
}

/// The counter block of `line` on the media.
fn counter_of(line: Line, codec: &dyn LineCodec) -> MediaLine {
    MediaLine::counter(codec.coverage().block(line))
}

/// Whether `line` belongs to a region without counters.
fn outside_counters(line: Line, codec: &dyn LineCodec) -> bool {
    codec.log().is_some_and(|log| log.lacks_counter(line)) || codec.shadow().is_some_and(|shadow| shadow.contains(line))
}

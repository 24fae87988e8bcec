//! One boot. [`Boot::step`] performs the next indivisible step until memory is ready for the program; then the boot is
//! the program's memory: a [`ByteView`] that decrypts what is read and encrypts what is written under fresh counters.

use super::survivors::Memory;
use super::undo::{Undo, UndoStep};
use super::{AdrSnapshot, GlobalCounter, LineCodec, Media, ReencryptionStatus};
use crate::design::parts::RecoveryStep;
use crate::message::{
    ByteView, Content, CoreId, Line, LineBytes, MediaLine, Observer, ProgramRecovery, RecoveryReport,
};

/// A step that a boot has just performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BootStep {
    /// A queued write reached the media on battery.
    Drained(MediaLine),
    /// The registers of the ADR domain were loaded again, or set to what the media say.
    RegistersLoaded,
    /// A line left over from an interrupted page re-encryption was encrypted anew.
    Reencrypted(Line),
    /// The status register was freed.
    ReencryptionFinished,
    /// A line holds again what the hardware's log kept of it.
    Undone(Line),
    /// The log metadata registers of this core's transaction were freed.
    LogFreed(CoreId),
}

enum Phase {
    Drain(usize),
    LoadRegisters,
    Recovery { step: usize },
    Undo { step: usize, undo: Undo },
    Ready,
}

/// A machine that boots.
pub struct Boot<'a, O> {
    memory: Memory<'a>,
    snapshot: &'a AdrSnapshot,
    codec: Option<&'a dyn LineCodec>,
    steps: &'a [RecoveryStep],
    status: Option<ReencryptionStatus>,
    /// The global counter's register: the last value given out.
    register: u64,
    phase: Phase,
    observer: O,
}

impl<'a, O: Observer> Boot<'a, O> {
    /// A boot from `media` and `snapshot`, with the design's encryption (`None`: plaintext memory) and recovery steps.
    /// `observer` is told of every write.
    pub fn new(
        media: &'a dyn Media,
        snapshot: &'a AdrSnapshot,
        codec: Option<&'a dyn LineCodec>,
        steps: &'a [RecoveryStep],
        observer: O,
    ) -> Self {
        Self {
            memory: Memory::new(media),
            snapshot,
            codec,
            steps,
            status: None,
            register: 0,
            phase: Phase::Drain(0),
            observer,
        }
    }

    /// Performs the next step; `None` when memory is ready for the program.
    pub fn step(&mut self) -> Option<BootStep> {
        loop {
            match self.phase {
                Phase::Undo { step, ref mut undo } => match undo.next() {
                    Some(UndoStep::Restore(line, old)) => {
                        self.write_line(line, &old);
                        return Some(BootStep::Undone(line));
                    }
                    Some(UndoStep::Free(core)) => {
                        self.observer.log_freed(0, core);
                        return Some(BootStep::LogFreed(core));
                    }
                    None => self.phase = Phase::Recovery { step: step + 1 },
                },
                Phase::Drain(next) => match self.snapshot.wpq.get(next) {
                    Some((media, bytes)) => {
                        self.memory.store(*media, bytes);
                        self.phase = Phase::Drain(next + 1);
                        return Some(BootStep::Drained(*media));
                    }
                    None => self.phase = Phase::LoadRegisters,
                },
                Phase::LoadRegisters => {
                    self.status = self.snapshot.status;
                    self.register = match self.snapshot.global_counter {
                        GlobalCounter::Lost => 0,
                        GlobalCounter::Kept(value) => value,
                        GlobalCounter::Scanned => self.largest_counter(),
                    };
                    self.phase = Phase::Recovery { step: 0 };
                    return Some(BootStep::RegistersLoaded);
                }
                Phase::Recovery { step } => match self.steps.get(step) {
                    Some(RecoveryStep::ResumeReencryption) => match self.reencrypt_next() {
                        Some(done) => return Some(done),
                        None => self.phase = Phase::Recovery { step: step + 1 },
                    },
                    Some(RecoveryStep::UndoHardwareLog) => {
                        self.phase = match self.codec.and_then(|codec| codec.log()) {
                            Some(log) => {
                                let undo = Undo::read(&log, &self.snapshot.log, &|line| self.line(line));
                                Phase::Undo { step, undo }
                            }
                            None => Phase::Recovery { step: step + 1 },
                        };
                    }
                    Some(_) => self.phase = Phase::Recovery { step: step + 1 },
                    None => self.phase = Phase::Ready,
                },
                Phase::Ready => return None,
            }
        }
    }

    /// Steps until the registers are loaded: from then on lines read as the power failure left them.
    pub fn load(&mut self) {
        while let Some(step) = self.step() {
            if step == BootStep::RegistersLoaded {
                break;
            }
        }
    }

    /// Performs every step that is left.
    pub fn finish(&mut self) {
        while self.step().is_some() {}
    }

    /// Runs the program's own recovery on `core`. Memory must be ready.
    pub fn recover_program(&mut self, program: &dyn ProgramRecovery, core: CoreId) -> RecoveryReport {
        program.recover(core, self)
    }

    /// Ends the boot and gives its observer back.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// The plaintext of `line`, through the decrypting read path; a log line of a chain as it lies on the media, for it
    /// can only be decrypted together with those before it.
    pub fn line(&self, line: Line) -> LineBytes {
        let content = self.memory.content(MediaLine::data(line));
        let Some(codec) = self.codec.filter(|codec| !lacks_counter(line, *codec)) else { return plain(content) };
        let stored_block = self.memory.content(counter_of(line, codec));
        let status = self.status.as_ref().filter(|status| status.page == line.page());
        if let (Content::Base(base), Content::Never, None) = (content, stored_block, status) {
            // Encrypting the shared base under its first counter only to decrypt it again would change nothing.
            return *base;
        }
        let block = self.block(line, codec);
        codec.decrypt(line, &self.ciphertext(line, codec), &block, status)
    }

    /// Writes a whole line: the counter and the data become durable in one step, so pads stay fresh. An overflow
    /// re-encrypts the page first.
    pub fn write_line(&mut self, line: Line, plaintext: &LineBytes) {
        let Some(codec) = self.codec else {
            self.persist(line, plaintext, plaintext, None);
            return;
        };
        let mut block = self.block(line, codec);
        if !codec.bump(line, &mut block, &mut self.register) {
            self.status = Some(ReencryptionStatus { page: line.page(), old_major: codec.major(&block), done: 0 });
            while self.reencrypt_next().is_some() {}
            block = self.block(line, codec);
            let bumped = codec.bump(line, &mut block, &mut self.register);
            debug_assert!(bumped, "a minor counter of 0 can be bumped");
        }
        let ciphertext = codec.encrypt(line, plaintext, &block);
        self.persist(line, plaintext, &ciphertext, Some(&block));
    }

    /// The pads under which the next write of `line` might be encrypted; nothing is written. The first is for the case
    /// that it is the next write of all. A counter of the line's own allows no other; a global one moves on with every
    /// write of any line, so that pad k, counted from 1, is for the case that k - 1 writes of other lines come first,
    /// without end. None for plaintext memory, where a page would be re-encrypted first, and for log lines of chains:
    /// their next pad depends on an initial vector that has yet to be drawn.
    pub fn next_pads(&self, line: Line) -> impl Iterator<Item = LineBytes> + use<'a, O> {
        let codec = self.codec.filter(|codec| !lacks_counter(line, *codec));
        let mut next = codec.map(|codec| (codec, self.block(line, codec), self.register));
        std::iter::from_fn(move || {
            let (codec, block, register) = next.as_mut()?;
            let given_out = *register;
            let pad = codec.bump(line, block, register).then(|| codec.encrypt(line, &[0; 64], block));
            if *register == given_out {
                next = None;
            }
            pad
        })
    }

    /// The observer, while the boot goes on.
    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Encrypts the next line of the page in the status register anew, or frees the register.
    fn reencrypt_next(&mut self) -> Option<BootStep> {
        let (codec, status) = (self.codec?, self.status?);
        if status.done == u64::MAX {
            self.observer.reencryption(0, status.page, status.old_major, status.done, true);
            self.status = None;
            return Some(BootStep::ReencryptionFinished);
        }
        let index = status.done.trailing_ones() as usize;
        let line = status.page.line(index);
        let plaintext = self.line(line);
        let mut block = self.block(line, codec);
        codec.renew(line, status.old_major, &mut block);
        let ciphertext = codec.encrypt(line, &plaintext, &block);
        self.persist(line, &plaintext, &ciphertext, Some(&block));
        let done = status.done | 1 << index;
        self.status = Some(ReencryptionStatus { done, ..status });
        self.observer.reencryption(0, status.page, status.old_major, done, false);
        Some(BootStep::Reencrypted(line))
    }

    /// Data and counter block reach the media in one step.
    fn persist(&mut self, line: Line, plaintext: &LineBytes, bytes: &LineBytes, block: Option<&LineBytes>) {
        self.observer.write_arrived(0, line, plaintext);
        if let (Some(codec), Some(block)) = (self.codec, block) {
            let media = counter_of(line, codec);
            self.memory.store(media, block);
            self.observer.persisted(0, media, block);
        }
        self.memory.store(MediaLine::data(line), bytes);
        self.observer.persisted(0, MediaLine::data(line), bytes);
    }

    fn block(&self, line: Line, codec: &dyn LineCodec) -> LineBytes {
        match self.memory.content(counter_of(line, codec)) {
            Content::Stored(block) | Content::Base(block) => *block,
            Content::Never => codec.base_block(codec.coverage().block(line)),
        }
    }

    /// The largest counter on the media. Populated lines whose block nothing has stored have smaller ones than any
    /// write of the run.
    fn largest_counter(&self) -> u64 {
        let Some(codec) = self.codec else { return 0 };
        let mut largest = 0;
        self.memory.counter_blocks(&mut |block| largest = largest.max(codec.largest(block)));
        largest
    }

    /// What lies on the media. A populated line that nothing has written lies there under its first counter.
    fn ciphertext(&self, line: Line, codec: &dyn LineCodec) -> LineBytes {
        match self.memory.content(MediaLine::data(line)) {
            Content::Stored(bytes) => *bytes,
            Content::Base(plaintext) => codec.encrypt(line, plaintext, &codec.base_block(codec.coverage().block(line))),
            Content::Never => [0; 64],
        }
    }
}

/// The counter block of `line` on the media.
fn counter_of(line: Line, codec: &dyn LineCodec) -> MediaLine {
    MediaLine::counter(codec.coverage().block(line))
}

fn lacks_counter(line: Line, codec: &dyn LineCodec) -> bool {
    codec.log().is_some_and(|log| log.lacks_counter(line))
}

fn plain(content: Content<'_>) -> LineBytes {
    match content {
        Content::Stored(bytes) | Content::Base(bytes) => *bytes,
        Content::Never => [0; 64],
    }
}

impl<O: Observer> ByteView for Boot<'_, O> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        let mut done = 0;
        while done < buffer.len() {
            let at = address + done as u64;
            let offset = (at % 64) as usize;
            let piece = (buffer.len() - done).min(64 - offset);
            let bytes = self.line(Line::containing(at));
            buffer[done..done + piece].copy_from_slice(&bytes[offset..offset + piece]);
            done += piece;
        }
    }

    fn write(&mut self, address: u64, data: &[u8]) {
        let mut done = 0;
        while done < data.len() {
            let at = address + done as u64;
            let offset = (at % 64) as usize;
            let piece = (data.len() - done).min(64 - offset);
            let line = Line::containing(at);
            let mut bytes = self.line(line);
            bytes[offset..offset + piece].copy_from_slice(&data[done..done + piece]);
            self.write_line(line, &bytes);
            done += piece;
        }
    }
}

//! Watches one possible boot. The boot's writes are part of the life of the memory: what they encrypt must stay secret,
//! and their pads must differ from every pad used before, including those used at the power failure. The same holds for
//! what leaves the chip if power fails again.

use super::branch::Branch;
use super::secrecy::Leak;
use crate::kernel::Ps;
use crate::message::{DrainedWrite, Line, LineBytes, MediaLine, MediaUnit, Observer};

/// The leaks of a boot.
#[derive(Clone, Default)]
pub struct BootLeaks(pub(super) Vec<(Line, Leak)>);

/// The observer of a boot. A clone watches a different future of the same past.
#[derive(Clone)]
pub struct BootWatch<'a> {
    secrecy: Option<Branch<'a>>,
    crash_event: u64,
    leaks: BootLeaks,
}

impl<'a> BootWatch<'a> {
    pub(super) fn new(secrecy: Option<Branch<'a>>, crash_event: u64) -> Self {
        Self { secrecy, crash_event, leaks: BootLeaks::default() }
    }

    /// Checks the pads of the first write of `line` after the boot. The write would use the first of `pads` if it is
    /// the first write of all, the second if one write of another line comes before it, and so on. Reports the first
    /// pad that repeats and ignores those after it.
    pub fn next_write(&mut self, line: Line, pads: impl Iterator<Item = LineBytes>) {
        let Some(secrecy) = &mut self.secrecy else { return };
        if let Some(leak) = (1..).zip(pads).find_map(|(place, pad)| secrecy.first_write(line, place, &pad)) {
            self.leaks.0.push((line, leak));
        }
    }

    /// Checks the pad of what the next power loss would write for `line` (of the shadow cache, or a line's own
    /// address). Reports any earlier use of it, for whatever bytes.
    pub fn next_pad(&mut self, line: Line, pad: &LineBytes) {
        if let Some(leak) = self.secrecy.as_ref().and_then(|secrecy| secrecy.next_loss(pad)) {
            self.leaks.0.push((line, leak));
        }
    }

    /// Power is lost again: `left` leaves the chip on battery. The same watch may observe the boot that follows.
    pub fn power_lost(&mut self, left: &[DrainedWrite]) {
        let leaks = &mut self.leaks.0;
        if let Some(secrecy) = &mut self.secrecy {
            secrecy.power_lost(self.crash_event, left, |line, leak| leaks.push((line, leak)));
        }
    }

    /// A hash of everything that this future adds to the auditors' knowledge and that may affect later reports: equal
    /// for two futures of one power loss in which the same pads were used for the same bytes.
    pub fn state_hash(&self) -> u128 {
        self.secrecy.as_ref().map_or(0, Branch::state_hash)
    }

    /// Whether pads matter, because the design promises secrecy.
    pub fn watches_pads(&self) -> bool {
        self.secrecy.is_some()
    }

    /// Whether nothing has leaked so far.
    pub fn clean(&self) -> bool {
        self.leaks.0.is_empty()
    }

    /// Ends the boot and returns its leaks, for [`super::Auditor::boot_over`].
    pub fn finish(self) -> BootLeaks {
        self.leaks
    }
}

impl Observer for BootWatch<'_> {
    fn write_arrived(&mut self, _now: Ps, line: Line, plaintext: &LineBytes) {
        if let Some(secrecy) = &mut self.secrecy {
            secrecy.arrived(line, plaintext);
        }
    }

    fn persisted(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        let line = match media.unit() {
            MediaUnit::Data(line) | MediaUnit::Modified(line) => line,
            _ => return,
        };
        if let Some(secrecy) = &mut self.secrecy
            && let Some(leak) = secrecy.stored(self.crash_event, media, bytes)
        {
            self.leaks.0.push((line, leak));
        }
    }
}

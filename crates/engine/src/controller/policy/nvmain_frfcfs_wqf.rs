//! NVMain's `FRFCFS-WQF`: a write queue that drains from its high to its low watermark. While it drains no write enters
//! and nothing is read, in any bank; otherwise nothing is written. The watermarks count what has not been scheduled.

use super::frfcfs::FirstReady;
use super::{Choice, Conventions, Look, Next, Schedule};
use crate::config::Machine;
use crate::kernel::Ps;
use crate::message::Issued;

#[derive(Clone)]
pub(super) struct NvmainFrfcfsWqf {
    order: FirstReady,
    draining: bool,
    /// Whether a drain must begin below the high watermark, because what waits needs more than one entry.
    pressed: bool,
}

impl NvmainFrfcfsWqf {
    pub fn new(machine: &Machine, banks: usize) -> Self {
        Self { order: FirstReady::new(machine, banks), draining: false, pressed: false }
    }
}

impl Schedule for NvmainFrfcfsWqf {
    fn copy(&self) -> Box<dyn Schedule> {
        Box::new(self.clone())
    }

    fn conventions(&self) -> Conventions {
        Conventions { turns_writes_away: true, ..self.order.conventions(false) }
    }

    fn takes_writes(&self) -> bool {
        !self.draining
    }

    fn press(&mut self) -> bool {
        !self.draining && !std::mem::replace(&mut self.pressed, true)
    }

    fn turn(&self, now: Ps) -> Ps {
        self.order.turn(now)
    }

    fn next(&mut self, look: &Look<'_>, _bank: u16) -> Next {
        if self.draining {
            self.draining = !look.wpq.is_low();
        } else if (self.pressed || look.wpq.is_high()) && !look.wpq.waiting().is_empty() {
            // Entries whose ready bit is clear wait for their counters, which a drain would keep out.
            self.draining = true;
            self.pressed = false;
        }
        let writes = self.draining || (look.flushing && look.reads.waiting().is_empty());
        self.order.choose(look, !writes, writes)
    }

    fn issued(&mut self, choice: &Choice, issued: &Issued) {
        self.order.issued(choice, issued);
    }
}

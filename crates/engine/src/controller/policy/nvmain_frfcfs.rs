//! NVMain's `FRFCFS`: reads and writes share one queue and are chosen alike.

use super::frfcfs::FirstReady;
use super::{Choice, Conventions, Look, Next, Schedule};
use crate::config::Machine;
use crate::kernel::Ps;
use crate::message::Issued;

#[derive(Clone)]
pub(super) struct NvmainFrfcfs {
    order: FirstReady,
}

impl NvmainFrfcfs {
    pub fn new(machine: &Machine, banks: usize) -> Self {
        Self { order: FirstReady::new(machine, banks) }
    }
}

impl Schedule for NvmainFrfcfs {
    fn copy(&self) -> Box<dyn Schedule> {
        Box::new(self.clone())
    }

    fn conventions(&self) -> Conventions {
        self.order.conventions(true)
    }

    fn turn(&self, now: Ps) -> Ps {
        self.order.turn(now)
    }

    fn next(&mut self, look: &Look<'_>, _bank: u16) -> Next {
        self.order.choose(look, true, true)
    }

    fn issued(&mut self, choice: &Choice, issued: &Issued) {
        self.order.issued(choice, issued);
    }
}

//! A process and what it starts, in a process group of its own.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::process::{Child, ExitStatus};

/// A child that leads a process group; killed with the whole group when this is dropped.
pub(super) struct Group(Child);

impl Group {
    /// Of a child that was started with a process group of its own.
    pub fn new(leader: Child) -> Self {
        Self(leader)
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Whether the child has ended. It is not reaped yet, so that its process id still identifies its group.
    pub fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.pid()), options)?.is_some())
    }

    pub fn finish(mut self) -> io::Result<ExitStatus> {
        self.end()
    }

    fn end(&mut self) -> io::Result<ExitStatus> {
        // The child exists until it is reaped, and so does the group.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        self.0.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.end();
        }
    }
}

//! The log manager.

use super::state::{Context, Controller};
use crate::kernel::Ps;
use crate::message::{CoreId, DevicePort, Line, LineBytes, Observer};

impl Controller {
    /// Takes the old bytes of `line` for the log of the transaction of `core`, which reach the log manager at `at`.
    pub fn accept_log<D: DevicePort, O: Observer>(
        &mut self,
        _cx: &mut Context<'_, D, O>,
        _at: Ps,
        _core: CoreId,
        _line: Line,
        _old: &LineBytes,
    ) {
        todo!()
    }

    /// Takes the end of the transaction of `core`, which reaches the log manager at `at`.
    pub fn accept_transaction_end<D: DevicePort, O: Observer>(
        &mut self,
        _cx: &mut Context<'_, D, O>,
        _at: Ps,
        _core: CoreId,
    ) {
        todo!()
    }
}

//! A program on one core: it executes its structure functionally, one transaction at a time, ahead of the simulated
//! core.

use super::base::Base;
use super::memory::Memory;
use super::plan::Plan;
use super::structure::Structure;
use super::style::Style;
use super::think::Think;
use super::transaction::{Protocol, Scratch, Transaction};
use crate::kernel::Random;
use crate::message::{CoreId, OpBuffer, OpSource};
use std::sync::Arc;

/// The source of one core's operations. Depends only on the plan (with its seed) and the core.
pub struct Program {
    structure: Arc<dyn Structure>,
    protocol: Protocol,
    memory: Memory,
    scratch: Scratch,
    random: Random,
    think: Think,
    style: Style,
    number: u64,
    operations: u64,
}

impl Program {
    /// The program of `core`, on a base that was populated from the same plan or from one with an equal
    /// [`super::BaseKey`].
    pub fn new(plan: &Plan, base: Arc<Base>, core: CoreId) -> Self {
        let layout = &plan.layouts()[usize::from(core)];
        let config = plan.config();
        let style = config.style();
        let protocol = if style.is_logged_by_hardware() {
            Protocol::HardwareLog
        } else if layout.log.is_empty() {
            Protocol::PointerSwap
        } else {
            let slot = style.has_log_slots().then(|| plan.log_entry_bytes());
            let unit = config.program.log_placement.unit();
            Protocol::UndoLog { ring: layout.log.clone(), next: layout.log.start, slot, unit }
        };
        Self {
            structure: plan.structures()[usize::from(core)].clone(),
            protocol,
            memory: Memory::new(base, layout.log.start..layout.volatile.end),
            scratch: Scratch::default(),
            random: Random::stream(config.seed, &format!("program of core {core}")),
            think: Think::new(&config.program, layout, config.seed),
            style,
            number: 0,
            operations: config.operations_per_core,
        }
    }

    /// The program's memory after the transactions that it has produced so far.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

impl OpSource for Program {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        if self.number == self.operations {
            return false;
        }
        let mut transaction =
            Transaction::begin(self.number, &mut self.think, self.style, &mut self.memory, &mut self.scratch, buffer);
        self.structure.transact(&mut transaction, &mut self.random);
        transaction.end(&mut self.protocol);
        self.number += 1;
        true
    }
}

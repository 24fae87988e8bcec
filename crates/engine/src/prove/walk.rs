//! The walk over all programs of a space, the shortest first.

use super::space::Space;
use crate::kernel::{Failure, workers};
use crate::workload::litmus::Litmus;
use std::ops::ControlFlow;

/// Programs that are judged before their verdicts are put together.
const AT_A_TIME: usize = 1 << 10;

/// Judges each program of `space`, on all threads of the pool that this thread belongs to if `shared`, and calls `add` with
/// what comes of it, in the order of the programs.
pub(super) fn walk<T: Send>(
    space: &Space,
    shared: bool,
    judge: impl Fn(&Litmus) -> Result<T, Failure> + Sync,
    mut add: impl FnMut(&Litmus, T),
) -> Result<(), Failure> {
    let mut judge_batch = |batch: &mut Vec<Litmus>| {
        let judged = workers::map(shared, batch, |program| judge(program));
        for (program, judged) in batch.drain(..).zip(judged) {
            add(&program, judged?);
        }
        Ok::<(), Failure>(())
    };
    for length in 1..=space.length_max() {
        for group in &space.groups {
            let (mut batch, mut outcome) = (Vec::with_capacity(AT_A_TIME), Ok(()));
            let _ = space.programs(group, length, &mut |program| {
                batch.push(program);
                if batch.len() == AT_A_TIME {
                    outcome = judge_batch(&mut batch);
                }
                if outcome.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            outcome?;
            judge_batch(&mut batch)?;
        }
    }
    Ok(())
}

//! The walk over all programs of a space, the shortest first.

use super::space::Space;
use crate::kernel::{Failure, workers};
use crate::workload::litmus::Step;
use std::ops::ControlFlow;

/// Programs that are judged before their verdicts are put together.
const AT_A_TIME: usize = 1 << 10;

/// Judges each program of `space`, on all threads of the pool that this thread belongs to if `shared`, and calls `add` with
/// what comes of it, in the order of the programs.
pub(super) fn walk<T: Send>(
    space: &Space,
    shared: bool,
    judge: impl Fn(&[Step]) -> Result<T, Failure> + Sync,
    mut add: impl FnMut(&[Step], T),
) -> Result<(), Failure> {
    let mut judge_batch = |batch: &mut Vec<Vec<Step>>| {
        let judged = workers::map(shared, batch, |steps| judge(steps));
        for (steps, judged) in batch.drain(..).zip(judged) {
            add(&steps, judged?);
        }
        Ok::<(), Failure>(())
    };
    for length in 1..=space.operations {
        for group in &space.groups {
            let (mut batch, mut outcome) = (Vec::with_capacity(AT_A_TIME), Ok(()));
            let _ = space.programs(group, length, &mut |steps| {
                batch.push(steps.to_vec());
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

//! Programs of several cores that share their lines. Programs that differ only by an exchange of cores, or of interchangeable
//! lines, are one program: of all its forms, the first in the order of their operations.

use super::contract;
use super::space::{Space, interchangeable};
use crate::workload::litmus::{Litmus, Step};
use std::ops::ControlFlow;

/// The programs of exactly `length` operations of all cores together, over all lines of `group`, until `visit` breaks.
pub(super) fn programs(
    space: &Space,
    group: &[u8],
    length: usize,
    visit: &mut impl FnMut(Litmus) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let by_length = sequences(space, group);
    let exchanges = exchanges(group);
    let mut cores = Vec::with_capacity(space.cores);
    for lengths in shares(length, space.cores, space.operations) {
        choose(&by_length, &lengths, &mut cores, &mut |cores| {
            let used = |line: &u8| cores.iter().flatten().any(|step| step.kind.has_line() && step.line == *line);
            let whole = !space.has_lines() || group.iter().all(used);
            if whole && contract::ends_together(cores) && is_first(cores, &exchanges) {
                visit(Litmus { cores: cores.to_vec() })
            } else {
                ControlFlow::Continue(())
            }
        })?;
    }
    ControlFlow::Continue(())
}

/// At least so many programs there are if each sequence of operations were one for a core: a bound that is soon known.
pub(super) fn least(space: &Space) -> u64 {
    let alphabet = space.groups.iter().map(|group| space.alphabet(group).len() as u128).max().unwrap_or(0);
    let sequences = alphabet.saturating_pow(space.operations as u32);
    let all = sequences.saturating_pow(space.cores as u32);
    // At most so many of them are one program, and of ten at least one is complete.
    let alike: u128 = (1..=space.cores as u128).product::<u128>() * 24 * 10;
    u64::try_from(all / alike).unwrap_or(u64::MAX)
}

/// For each length, the sequences of one core that keep to the contract.
fn sequences(space: &Space, group: &[u8]) -> Vec<Vec<Vec<Step>>> {
    let alphabet = space.alphabet(group);
    let mut by_length = vec![vec![Vec::new()]];
    for length in 1..=space.operations {
        let shorter = &by_length[length - 1];
        let longer = |steps: &Vec<Step>| {
            let more = alphabet.iter().map(|step| [&steps[..], &[*step]].concat());
            more.filter(|steps| contract::begins(steps, &space.forms, false)).collect::<Vec<_>>()
        };
        by_length.push(shorter.iter().flat_map(longer).collect());
    }
    by_length
}

/// How `length` operations are shared out: at most `most` for a core, none for no core, and no core has more than the one before.
fn shares(length: usize, cores: usize, most: usize) -> Vec<Vec<usize>> {
    if cores == 0 {
        return if length == 0 { vec![Vec::new()] } else { Vec::new() };
    }
    let mut all = Vec::new();
    for first in (1..=most.min(length)).rev() {
        for rest in shares(length - first, cores - 1, first) {
            all.push([&[first][..], &rest].concat());
        }
    }
    all
}

/// Gives each core a sequence of its length.
fn choose(
    by_length: &[Vec<Vec<Step>>],
    lengths: &[usize],
    cores: &mut Vec<Vec<Step>>,
    visit: &mut impl FnMut(&[Vec<Step>]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some(length) = lengths.get(cores.len()) else { return visit(cores) };
    for steps in &by_length[*length] {
        // Of cores that are exchanged, the one with the smaller program is the first.
        if cores.last().is_some_and(|before| before.len() == *length && before > steps) {
            continue;
        }
        cores.push(steps.clone());
        choose(by_length, lengths, cores, visit)?;
        cores.pop();
    }
    ControlFlow::Continue(())
}

/// All exchanges of interchangeable lines of a group, as the line that each becomes, but for the one that changes nothing.
fn exchanges(group: &[u8]) -> Vec<Vec<(u8, u8)>> {
    fn extend(group: &[u8], chosen: &mut Vec<(u8, u8)>, all: &mut Vec<Vec<(u8, u8)>>) {
        let Some(line) = group.get(chosen.len()).copied() else {
            if chosen.iter().any(|(from, to)| from != to) {
                all.push(chosen.clone());
            }
            return;
        };
        for other in group {
            let free = chosen.iter().all(|(_, to)| to != other);
            if free && (*other == line || interchangeable(group, line, *other)) {
                chosen.push((line, *other));
                extend(group, chosen, all);
                chosen.pop();
            }
        }
    }
    let mut all = Vec::new();
    extend(group, &mut Vec::new(), &mut all);
    all
}

/// Whether no exchange of lines makes a program that comes before this one, whose cores are in order.
fn is_first(cores: &[Vec<Step>], exchanges: &[Vec<(u8, u8)>]) -> bool {
    exchanges.iter().all(|exchange| {
        let other = |step: &Step| {
            let line = exchange.iter().find(|(from, _)| step.kind.has_line() && *from == step.line);
            Step { line: line.map_or(step.line, |(_, to)| *to), ..*step }
        };
        let mut exchanged: Vec<Vec<Step>> = cores.iter().map(|steps| steps.iter().map(other).collect()).collect();
        exchanged.sort_by(|one, two| two.len().cmp(&one.len()).then_with(|| one.cmp(two)));
        exchanged[..] >= *cores
    })
}

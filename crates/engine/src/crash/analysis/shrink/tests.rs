//! Shrinking with explorers that know which runs fail.

use super::*;
use crate::audit::Lost;
use crate::config::{Variant, load_machine};
use crate::crash::{CrashPlan, Exercised, HostFigures};
use crate::kernel::ConfigError;
use proptest::prelude::*;

fn config(transactions: u64, tx_size: u64, footprint: u64, cores: u16) -> RunConfig {
    RunConfig {
        tx_size,
        transactions,
        cores,
        footprint,
        ..RunConfig::new("secpm", "array", load_machine("small", &[]).unwrap())
    }
}

fn violation(rule: Rule, crash_event: u64, transaction: u64) -> ReportedViolation {
    let violation = Violation {
        rule,
        crash_event,
        nested_events: Vec::new(),
        core: Some(0),
        transaction: Some(transaction),
        stage: None,
        line: None,
        explanation: String::new(),
        lost: Lost::default(),
    };
    let reproduce = Reproduction {
        shape: None,
        explore: None,
        schedule: None,
        nested_depth: None,
        attack: None,
        at_event: crash_event,
    };
    ReportedViolation { violation, schedule: Some(0), reproduce, lines: Vec::new(), lost_lines: 0 }
}

fn report(crash_points: u64, violations: Vec<ReportedViolation>) -> CrashReport {
    CrashReport {
        schema: 1,
        design: String::new(),
        parts: None,
        variant: Variant::Hardened,
        workload: String::new(),
        seed: 1,
        request: serde_json::Map::new(),
        fault: None,
        holds: None,
        crash_points,
        nested_points: 0,
        distinct_states: 0,
        recovered: 0,
        exercised: Exercised::default(),
        coverage: String::new(),
        assumed: None,
        trace_lacks: Vec::new(),
        secret: true,
        bus_in_the_clear: false,
        interrupted: false,
        out_of_time: false,
        unjudged: None,
        violation_count: violations.len() as u64,
        violations,
        left_out: None,
        shrunk: Vec::new(),
        blame: None,
        stages: Vec::new(),
        recoveries: None,
        by_line: None,
        attacks: None,
        lacks: None,
        causes: None,
        recovery_causes: Vec::new(),
        internal_errors: Vec::new(),
        host: HostFigures::default(),
    }
}

const ALL: Exploration = Exploration::of(CrashPlan::All);

/// The result of shrinking violations of `rules` if exactly the shapes that `fails` accepts break them, and the shapes
/// that were explored for the first rule. A run has 3 events per transaction.
fn shrunk(config: &RunConfig, rules: &[Rule], fails: impl Fn(Shape) -> bool) -> (Vec<Shrunk>, Vec<Shape>) {
    let last = config.transactions - 1;
    let found = rules.iter().zip(1..).map(|(rule, event)| violation(*rule, event, last)).collect();
    let found = report(config.transactions * 3, found);
    let mut explored = Vec::new();
    let mut explore = |candidate: &RunConfig, exploration: &Exploration| {
        let shape = Shape::of(candidate);
        let rule = exploration.stop_at.unwrap();
        if rule == rules[0] {
            explored.push(shape);
        }
        let broken = fails(shape).then(|| violation(rule, shape.transactions * 2, shape.transactions - 1));
        Ok(report(shape.transactions * 3, broken.into_iter().collect()))
    };
    (shrink(config, &ALL, &found, &mut explore), explored)
}

fn shape_of(shrunk: &Shrunk) -> Shape {
    let Shrunk { transactions, tx_size, footprint, cores, .. } = *shrunk;
    Shape { transactions, warmup: 0, tx_size, footprint, cores }
}

fn is_within(shape: Shape, other: Shape) -> bool {
    shape.transactions + shape.warmup <= other.transactions + other.warmup
        && shape.tx_size <= other.tx_size
        && shape.footprint <= other.footprint
        && shape.cores <= other.cores
}

#[test]
fn what_always_fails_takes_one_look_at_the_smallest_run() {
    let (found, explored) = shrunk(&config(200, 1024, 1 << 20, 8), &[Rule::Line], |_| true);
    assert_eq!(explored.len(), 1);
    let smallest = Shape { transactions: 1, warmup: 0, tx_size: 64, footprint: 4096, cores: 1 };
    assert_eq!(shape_of(&found[0]), smallest);
    assert_eq!((found[0].crash_event, found[0].tried, found[0].minimal), (2, 1, true));
}

#[test]
fn what_only_the_whole_run_breaks_stays_as_it_is() {
    let whole = config(200, 256, 1 << 18, 1);
    let (found, explored) = shrunk(&whole, &[Rule::Line], |shape| shape == Shape::of(&whole));
    assert_eq!(shape_of(&found[0]), Shape::of(&whole));
    assert_eq!(found[0].crash_event, 1, "the violation that was found at first");
    assert_eq!(found[0].tried as usize, explored.len());
    assert!(explored.contains(&Shape { transactions: 199, ..Shape::of(&whole) }), "{explored:?}");
    assert!(found[0].minimal);
}

#[test]
fn warm_up_counts_as_transactions() {
    let whole = RunConfig { warmup: 30, ..config(70, 64, 4096, 1) };
    let (found, _) = shrunk(&whole, &[Rule::Line], |shape| shape.transactions + shape.warmup >= 80);
    assert_eq!((found[0].transactions, found[0].minimal), (80, true));
}

#[test]
fn three_rules_are_shrunk_and_a_shape_that_breaks_one_is_tried_for_the_next() {
    let rules = [Rule::Line, Rule::Atomicity, Rule::Structure, Rule::PadReuse];
    let (found, explored) = shrunk(&config(200, 64, 4096, 1), &rules, |shape| shape.transactions >= 37);
    let told: Vec<(Rule, u64)> = found.iter().map(|one| (one.rule, one.transactions)).collect();
    assert_eq!(told, [(Rule::Line, 37), (Rule::Atomicity, 37), (Rule::Structure, 37)]);
    assert!(explored.len() > 8 && found[1].tried < found[0].tried, "{} and {}", found[0].tried, found[1].tried);
}

#[test]
fn search_gives_up_after_so_much_work_and_says_so() {
    // Late failures of a long run that doubling must pass: each of the last candidates costs nearly as much as the run.
    let whole = config(1 << 16, 256, 1 << 20, 4);
    let (found, explored) = shrunk(&whole, &[Rule::Line], |shape| shape.transactions > (1 << 16) - 3);
    let work: u64 = explored.iter().map(|shape| shape.transactions * 3).sum();
    let run = whole.transactions * 3;
    assert!(work > (WORK_MAX - 1) * run && work < (WORK_MAX + 1) * run, "{} runs", work / run);
    assert!(explored.len() <= CANDIDATES_MAX && !found[0].minimal);
}

#[test]
fn what_cannot_be_run_counts_as_holding_and_an_interruption_keeps_what_was_found() {
    let whole = config(64, 64, 4096, 1);
    let found = report(6_400, vec![violation(Rule::Line, 1, 63)]);
    let mut refuse = |candidate: &RunConfig, _: &Exploration| match candidate.transactions {
        0..=9 => Err(ConfigError("too small".to_owned()).into()),
        fails => Ok(report(1, vec![violation(Rule::Line, fails, 0)])),
    };
    assert_eq!(shrink(&whole, &ALL, &found, &mut refuse)[0].transactions, 10);
    let mut looks = 0;
    let mut interrupted = |candidate: &RunConfig, _: &Exploration| {
        looks += 1;
        match candidate.transactions {
            ..=30 => Ok(report(1, Vec::new())),
            31 => Err(Failure::Cancelled),
            _ => Ok(report(1, vec![violation(Rule::Line, 5, 31)])),
        }
    };
    let first = shrink(&whole, &ALL, &found, &mut interrupted);
    assert_eq!((first[0].transactions, first[0].minimal), (32, false));
    let mut at_once = |_: &RunConfig, _: &Exploration| Err(Failure::Cancelled);
    let none = shrink(&whole, &ALL, &found, &mut at_once);
    assert_eq!((none[0].transactions, none[0].tried, none[0].minimal), (64, 0, false));
    assert!(looks > 6);
}

proptest! {
    #[test]
    fn what_needs_so_many_transactions_and_so_much_structure_is_found_exactly(
        transactions in 1u64..150, tx_lines in 0u32..3, pages in 0u32..5, cores in 0u32..3,
    ) {
        let whole = config(150, 256, 1 << 18, 4);
        let (tx_size, footprint, cores) = (64 << tx_lines, 4096 << pages, 1 << cores);
        let fails = |shape: Shape| {
            shape.transactions >= transactions
                && shape.tx_size >= tx_size
                && shape.footprint >= footprint
                && shape.cores >= cores
        };
        let (found, _) = shrunk(&whole, &[Rule::Atomicity], fails);
        // A structure is at least as large as its cores and transactions require.
        let footprint = footprint.max(footprint_min(tx_size, cores));
        prop_assert_eq!(shape_of(&found[0]), Shape { transactions, warmup: 0, tx_size, footprint, cores });
        prop_assert!(found[0].minimal);
    }

    /// Runs that fail in no particular order, because a short run is not the beginning of a longer one.
    #[test]
    fn result_fails_and_nothing_smaller_that_was_tried_does(
        transactions in 2u64..100, seed: u64, one_in in 1u64..12,
    ) {
        let whole = config(transactions, 256, 1 << 16, 4);
        let fails = |shape: Shape| {
            let Shape { transactions, warmup, tx_size, footprint, cores } = shape;
            let mixed = [transactions, warmup, tx_size, footprint, u64::from(cores)]
                .into_iter()
                .fold(seed, |mix, part| (mix.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            shape == Shape::of(&whole) || (mixed >> 32).is_multiple_of(one_in)
        };
        let (found, explored) = shrunk(&whole, &[Rule::Line], fails);
        let best = shape_of(&found[0]);
        prop_assert!(fails(best));
        prop_assert_eq!(found[0].tried as usize, explored.len());
        for shape in &explored {
            prop_assert!(is_within(*shape, Shape::of(&whole)), "{:?} is larger than the run", shape);
            prop_assert!(*shape == best || !is_within(*shape, best) || !fails(*shape), "{:?} in {:?}", shape, best);
        }
        if found[0].minimal && best.transactions > 1 {
            let neighbour = Shape { transactions: best.transactions - 1, ..best };
            prop_assert!(explored.contains(&neighbour));
        }
    }
}

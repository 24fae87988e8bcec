//! Cores that share lines: each has one value at a time, operations follow each other in the orders that a timing asks for, and
//! proofs over programs of several cores find what an enumeration finds that knows no symmetry.

use super::common::judge::{assert_holds, count, crash, refusal, with};
use super::prove::{prove, sequences};
use counterpoint_engine::config::{self, RunConfig, Variant};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{CachePort, CoreId, Line, LineBytes, Observer, Op, ProgramForm, Site};
use counterpoint_engine::prove::Timing;
use counterpoint_engine::workload::litmus::{Evicting, Litmus, LitmusBase, PLACES, Step, StepKind};
use counterpoint_engine::{Job, System, design};
use proptest::prelude::*;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the cores have stored, and the order in which they began their operations.
#[derive(Default)]
struct Watch {
    memory: HashMap<Line, LineBytes>,
    order: Vec<CoreId>,
}

impl Observer for Watch {
    fn stored(&mut self, _now: Ps, _core: CoreId, line: Line, offset: usize, data: &[u8]) {
        let held = self.memory.entry(line).or_insert_with(|| base(line));
        held[offset..offset + data.len()].copy_from_slice(data);
    }
    fn dispatched(&mut self, core: CoreId, _site: Site, op: &Op, _instructions: u32) {
        if !matches!(op, Op::Compute { .. }) {
            self.order.push(core);
        }
    }
}

fn base(line: Line) -> LineBytes {
    counterpoint_engine::message::BaseImage::line(&LitmusBase::default(), line).copied().unwrap_or([0; 64])
}

/// Runs a program; after each event, what a core's caches hold is what was stored last, by whatever core.
fn run(machine: &str, name: &str, program: &Litmus) -> Watch {
    let machine = config::preset(machine).unwrap();
    let design = design::find(name, Variant::Hardened).unwrap();
    let programs = program.sources(design.form, &Evicting::of(&machine)).into_iter();
    let programs: Vec<_> = programs.map(|of_core| Box::new(of_core) as Box<_>).collect();
    let cores = programs.len() as u16;
    let run = RunConfig { cores, ..RunConfig::new(name, "none", machine) };
    let job = Job { base: Arc::new(LitmusBase::default()), programs, layouts: vec![Litmus::layout()] };
    let mut system = System::new(&run, &design, job, Watch::default()).unwrap();
    system.run(|system| {
        for core in 0..cores {
            for place in PLACES {
                let Some(held) = system.cache.peek(core, place.line) else { continue };
                let stored = system.observer.memory.get(&place.line).copied().unwrap_or_else(|| base(place.line));
                assert_eq!(held, stored, "{name}: core {core} has an old {} in {program}", place.name);
            }
        }
        ControlFlow::Continue(())
    });
    assert!(system.cores.iter().all(|core| core.finished()), "{name}: a core waits for ever in {program}");
    system.observer
}

fn step() -> impl Strategy<Value = Step> {
    use StepKind::{Clflush, Clflushopt, Clwb, Evict, Load, Mfence, NtStore, Sfence, Store, StoreLine};
    let kinds = vec![Store, StoreLine, NtStore, Clwb, Clflushopt, Clflush, Load, Sfence, Mfence, Evict];
    (prop::sample::select(kinds), 0..3_u8)
        .prop_map(|(kind, line)| Step { kind, line: if kind.has_line() { line } else { 0 } })
}

proptest! {
    #![proptest_config(super::common::cases(60))]
    #[test]
    fn caches_of_all_cores_agree(
        cores in prop::collection::vec(prop::collection::vec(step(), 1..10), 2..4),
        name in prop::sample::select(&["unencrypted", "secpm", "eadr-cme", "bbe"][..]),
        machine in prop::sample::select(&["small", "secpm", "counter-atomicity"][..]),
    ) {
        run(machine, name, &Litmus { cores });
    }
}

#[test]
fn operations_apart_follow_each_other_in_every_order() {
    let program = Litmus::parse("store A; clwb A; sfence || store A; clflush A || nt-store C").unwrap().unwrap();
    let apart = &Timing::named(&["apart".to_owned()]).unwrap()[0];
    let orders: BTreeSet<Vec<CoreId>> =
        apart.programs(&program).iter().map(|program| run("small", "secpm", program).order).collect();
    assert_eq!(orders.len(), 60, "6! / (3! 2! 1!)");
    for order in orders {
        let of = |core: CoreId| order.iter().filter(|one| **one == core).count();
        // A non-temporal store is four operations of 16 bytes.
        assert_eq!((of(0), of(1)), (3, 2), "{order:?}");
    }
    let alone = Litmus::parse("store A; clwb A").unwrap().unwrap();
    assert_eq!(apart.programs(&alone).iter().map(ToString::to_string).collect::<Vec<_>>(), ["store A; wait; clwb A"]);
}

/// A program of two cores that is one in a proof with all that differ by an exchange of cores or lines.
fn canonical(cores: [&Vec<String>; 2]) -> BTreeSet<[String; 2]> {
    let renamed = |steps: &Vec<String>| {
        let text = steps.join("; ");
        text.replace('A', "?").replace('B', "A").replace('?', "B")
    };
    let plain = cores.map(|steps| steps.join("; "));
    let other = cores.map(renamed);
    let exchanged = |[one, two]: &[String; 2]| [two.clone(), one.clone()];
    BTreeSet::from([exchanged(&plain), exchanged(&other), plain, other])
}

/// Whether a program of two cores is tried: each core begins with something that it finds, and has no fence after a fence.
fn is_tried(cores: [&Vec<String>; 2]) -> bool {
    let stores = |core: usize, line: &str| cores[core].iter().any(|step| step == &format!("store {line}"));
    let begins = |core: usize| match cores[core][0].split_once(' ') {
        Some(("store", _)) => true,
        Some((_, line)) => stores(1 - core, line),
        None => false,
    };
    let fences = |core: usize| cores[core].windows(2).any(|pair| pair[0] == "sfence" && pair[1] == "sfence");
    (0..2).all(|core| begins(core) && !fences(core)) && (0..2).any(|core| stores(core, "A") || stores(core, "B"))
}

#[test]
fn proof_over_two_cores_finds_the_programs_that_fail_without_symmetry() {
    let operations = ["store A", "store B", "clwb A", "clwb B", "sfence"];
    let of_core: Vec<Vec<String>> = (1..=2).flat_map(|length| sequences(&operations, length)).collect();
    let pairs: Vec<[&Vec<String>; 2]> =
        of_core.iter().flat_map(|one| of_core.iter().map(move |two| [one, two])).collect();
    for (design, fault) in [("write-back", None), ("secpm", Some("staging-register")), ("secpm", None)] {
        let asked = json!({"design": design, "machine": "small", "fault": fault});
        let fails = |cores: &[&Vec<String>; 2]| {
            let workload = cores.map(|steps| steps.join("; ")).join(" || ");
            count(&crash(&with(&asked, json!({"workload": workload}))), "violation_count") > 0
        };
        let tried: Vec<_> = pairs.iter().filter(|cores| is_tried(**cores)).collect();
        let verdicts: Vec<([&Vec<String>; 2], bool)> =
            tried.into_par_iter().map(|cores| (*cores, fails(cores))).collect();
        let (mut known, mut lengths) = (BTreeSet::new(), BTreeMap::new());
        for (cores, fails) in &verdicts {
            let forms = canonical(*cores);
            let first = forms.first().unwrap().clone();
            if known.insert(first) {
                let length: &mut (u64, u64) = lengths.entry(cores[0].len() + cores[1].len()).or_default();
                length.0 += 1;
                length.1 += u64::from(*fails);
            }
        }
        let bounds = json!({"operations": 2, "cores": 2, "places": ["A", "AB"], "steps": ["store", "clwb", "sfence"]});
        let report = prove(&with(&with(&asked, bounds), json!({"timings": ["machine"]})));
        let found: BTreeMap<usize, (u64, u64)> = report["lengths"]
            .as_array()
            .unwrap()
            .iter()
            .map(|length| (count(length, "operations") as usize, (count(length, "programs"), count(length, "failing"))))
            .filter(|(_, (programs, _))| *programs > 0)
            .collect();
        assert_eq!(found.keys().collect::<Vec<_>>(), lengths.keys().collect::<Vec<_>>());
        for (length, (programs, failing)) in &lengths {
            assert_eq!(found[length], (*programs, *failing), "{design} {fault:?}: {length} operations");
        }
    }
}

#[test]
fn readings_that_hold_do_so_on_two_cores() {
    for name in ["secpm", "fca", "bbe", "osiris"] {
        let report =
            prove(&json!({"design": name, "operations": 2, "lines": 1, "cores": 2, "timings": ["machine", "apart"]}));
        assert_eq!(report["holds"], json!(true), "{name}: {}", report["counterexamples"]);
        assert!(count(&report, "runs") > 2 * count(&report, "programs"));
    }
}

#[test]
fn programs_of_several_cores_are_run_and_refused() {
    let asked = json!({"design": "secpm", "machine": "small"});
    let two = with(&asked, json!({"workload": "store A; clwb A; sfence || load A; store B; clwb A; sfence"}));
    assert_holds(&two);
    assert_holds(&with(&two, json!({"cores": 2})));
    for (more, told) in [
        (json!({"workload": "store A || store B", "cores": 3}), "cores: 3 cores cannot run"),
        (json!({"workload": "store A", "cores": 2}), "is written out for 1"),
        (json!({"workload": "store A ||"}), "core 1 has no operation"),
        (
            json!({"design": "hw-log", "workload": "store A || store B"}),
            "a program whose log hardware keeps runs on one core",
        ),
    ] {
        let refused = refusal(&with(&asked, more));
        assert!(refused.contains(told), "{refused}");
    }
    let told = |more: Value| super::prove::refusal(&with(&json!({"design": "secpm", "cores": 2}), more));
    assert!(told(json!({"cores": 4})).contains("cores: 4 is not from 1 to 3"));
    assert!(told(json!({"operations": 6})).contains("there are more than 100000000 programs"));
    assert!(told(json!({"design": "easy-pm"})).contains("a program whose log hardware keeps runs on one core"));
    assert!(told(json!({"beginning": "store A"})).contains("programs of 2 cores have more than one"));
    assert_eq!(ProgramForm::Plain, design::find("secpm", Variant::Hardened).unwrap().form);
}

//! Logs of pmemcheck: recorded ones of correct programs, and what only they have.

use super::*;
use std::path::Path;
use std::sync::Arc;

fn data(name: &str) -> CheckReport {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    let steps = Steps::open(&path, &Arc::default()).unwrap();
    check(name, steps, &CheckSettings::default(), &|_| {}).unwrap()
}

#[test]
fn correct_programs_have_no_finding_about_correctness() {
    for name in ["btree", "hashmap_tx", "rbtree"] {
        for file in [format!("{name}-5.pmemcheck.log"), format!("{name}-20.pmemcheck.log.zst")] {
            let report = data(&file);
            assert!(report.holds, "{file}: {:?}", report.findings);
            assert!(report.counts.stores > 1000 && report.counts.flushes > 900 && report.counts.fences > 100);
        }
    }
}

fn log(records: &str) -> Vec<(&'static str, String, u64)> {
    log_and(records, "")
}

fn log_and(records: &str, after: &str) -> Vec<(&'static str, String, u64)> {
    let text = format!(
        "==7== pmemcheck-1.0, a simple\n==7== \n==7== START|REGISTER_FILE;p;0x1000;0x1000;0x0{records}\n==7== |STOP\n{after}"
    );
    let report = checked(text.into_bytes(), &CheckSettings::default()).unwrap();
    report.findings.iter().map(|finding| (finding.kind.name(), finding.at.text.clone(), finding.count)).collect()
}

#[test]
fn log_has_no_places() {
    assert_eq!(log("|STORE;0x1000;0x1;0x8"), [("never-flushed", "unknown".to_owned(), 1)]);
}

#[test]
fn log_with_stacks_has_the_places_of_stores() {
    let stored = |address: &str, frames: &str| format!("|STORE;{address};0x1;0x8{frames}");
    let insert = stored(
        "0x1000",
        ";0x48B10E4: memcpy (vg_replace_strmem.c:7);0x109A3F: insert (list.c:44);0x109B01: main (list.c:90)",
    );
    let remove = stored("0x1040", ";0x109A5F: remove (list.c:60);0x109B01: main (list.c:91)");
    let found = log(&[insert, remove, "|FENCE".to_owned()].concat());
    let lost = |place: &str| ("never-flushed", place.to_owned(), 1);
    assert!(found.contains(&lost("list.c:44")) && found.contains(&lost("list.c:60")), "{found:?}");
}

#[test]
fn flush_of_a_range_is_one_of_each_line() {
    let stored = "|STORE;0x1000;0x1;0x8|STORE;0x1040;0x1;0x8";
    assert_eq!(log(&format!("{stored}|FLUSH;0x1038;0x10|FENCE")), []);
    let three = log(&format!("{stored}|FLUSH;0x1000;0x81|FENCE"));
    assert_eq!(three, [("clean-flush", "unknown".to_owned(), 1)]);
    let beyond = log(&format!("{stored}|FLUSH;0x1000;0x80|FLUSH;0x2000;0x40|FENCE"));
    assert_eq!(beyond, [("volatile-flush", "unknown".to_owned(), 1)]);
}

#[test]
fn deep_sync_flushes_and_fences() {
    assert_eq!(log("|STORE;0x1000;0x1;0x8|DEEP_SYNC;0x1000;0x8"), []);
    assert_eq!(log("|STORE;0x1000;0x1;0x8|DEEP_SYNC;0x1040;0x8").len(), 2);
}

#[test]
fn what_pmemcheck_finds_durable_is_not_lost() {
    let after = |number: u64, at: &str| {
        let listed =
            if at.is_empty() { String::new() } else { format!("==7== \tAddress: {at}\tsize: 4\tstate: DIRTY\n") };
        format!("==7== Number of stores not made persistent: {number}\n{listed}")
    };
    let stored = "|STORE;0x1000;0x1;0x8|STORE;0x1048;0x1;0x8";
    assert_eq!(log_and(stored, "")[0].2, 2);
    assert_eq!(log_and(stored, &after(0, "")), []);
    for (at, count) in
        [("0x1000", 1), ("0x1007", 1), ("0xffd", 1), ("0x1045", 1), ("0x1008", 0), ("0xffc", 0), ("0x1050", 0)]
    {
        let found = log_and(stored, &after(1, at));
        assert_eq!(found.iter().map(|(_, _, count)| count).sum::<u64>(), count, "{at}");
    }
    // A flush without use remains one, and a list that is not complete is not believed.
    assert_eq!(log_and(&format!("{stored}|FENCE"), &after(0, "")).len(), 1);
    assert_eq!(log_and(stored, &after(2, "0x1000"))[0].2, 2);
}

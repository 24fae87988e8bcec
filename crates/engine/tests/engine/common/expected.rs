//! What each built-in design must do when power fails, from `tests/verdicts.toml`.

use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use counterpoint_engine::parts::{Design, PersistenceDomain};
use toml::Table;

fn table() -> Table {
    toml::from_str(include_str!("../../verdicts.toml")).expect("the table of verdicts is TOML")
}

/// What the reading `variant` of `design` must do: "holds", "fails" or "untested".
fn expected(table: &Table, design: &str, variant: Variant) -> String {
    let verdict = table.get(design).and_then(|row| row.get(variant.name())).and_then(|verdict| verdict.as_str());
    verdict.unwrap_or_else(|| panic!("{design} has no {} verdict in verdicts.toml", variant.name())).to_owned()
}

/// The designs whose hardened reading must hold, as far as `select` selects them.
fn holding(select: impl Fn(&Design) -> bool) -> Vec<&'static str> {
    let table = table();
    let holds = |name: &&str| expected(&table, name, Variant::Hardened) == "holds";
    let selected = |name: &&str| select(&design::find(name, Variant::Hardened).unwrap());
    design::names().filter(holds).filter(selected).collect()
}

/// All of them.
pub fn all_that_hold() -> Vec<&'static str> {
    holding(|_| true)
}

/// Those that protect the integrity of memory.
pub fn with_integrity() -> Vec<&'static str> {
    holding(|design| design.integrity.is_some())
}

/// Those whose caches persist, without integrity.
pub fn with_persistent_caches() -> Vec<&'static str> {
    holding(|design| matches!(design.domain, PersistenceDomain::Eadr { .. }) && design.integrity.is_none())
}

#[test]
fn every_design_has_a_row_and_every_row_a_design() {
    let table = table();
    assert_eq!(table.keys().len(), design::names().count());
    for design in design::all(Variant::Hardened) {
        for variant in Variant::ALL {
            let expected = expected(&table, &design.name, variant);
            assert!(["holds", "fails", "untested"].contains(&expected.as_str()), "{}: {expected}", design.name);
            assert_eq!(expected == "untested", design.promise.crash_consistent.is_err(), "{}", design.name);
        }
        let (_, [(first, some), (second, others)]) = design::with_parts(&design.name).unwrap();
        let [first, second] = [first, second].map(|variant| expected(&table, &design.name, variant));
        assert!(some != others || first == second, "{}: one design, and two verdicts", design.name);
    }
}

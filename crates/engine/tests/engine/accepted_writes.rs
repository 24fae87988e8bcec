//! Writes that are accepted before they are encrypted: when each is acknowledged, to the picosecond, and when not before.

use super::common::{LATE, line, of_design, times};
use counterpoint_engine::config::{self, Variant};
use counterpoint_engine::kernel::{Ps, ns_to_ps};
use counterpoint_engine::message::NoObserver;
use counterpoint_engine::parts::{MinorUnit, PersistenceDomain};
use counterpoint_engine::{LineSystem, design};

/// `dolos` with this minor unit and so many entries, none of which leaves by itself.
fn dolos(minor: MinorUnit, entries: u32) -> LineSystem<NoObserver> {
    let mut machine = config::load_machine("secpm", &[]).unwrap();
    machine.controller.wpq_entries = entries;
    machine.controller.wpq_high_watermark = entries;
    machine.controller.wpq_low_watermark = entries / 2;
    machine.controller.wpq_issue_when_idle = false;
    let mut design = design::find("dolos", Variant::Hardened).unwrap();
    if let PersistenceDomain::AcceptedWrites { unit, .. } = &mut design.domain {
        *unit = minor;
    }
    of_design(&machine, &design, NoObserver)
}

#[test]
fn write_waits_for_what_its_minor_unit_computes_and_for_the_write_before_it_there() {
    let machine = config::load_machine("secpm", &[]).unwrap();
    let [mac, hash] = [machine.integrity.mac_latency_ns, machine.integrity.hash_latency_ns].map(ns_to_ps);
    // 40 lines of entries and their metadata have two levels of nodes.
    for (minor, wait) in [(MinorUnit::FullWpq, 2 * hash), (MinorUnit::PartialWpq, mac), (MinorUnit::PostWpq, 0)] {
        let mut system = dolos(minor, 32);
        let at: [Ps; 3] = [5, 6, LATE];
        for (token, at) in at.into_iter().enumerate() {
            // The last one is another write of the first line.
            system.write(at, line(token as u64 % 2, 0), &[token as u8 + 1; 64], token as u32);
        }
        let second = if wait == 0 { 6 } else { 5 + 2 * wait };
        assert_eq!(times(&mut system), [5 + wait, second, LATE + wait], "{minor:?}");
        assert_eq!(system.peek(line(0, 0)), [3; 64]);
    }
}

#[test]
fn write_waits_for_an_entry_and_one_is_left_for_what_goes_with_it() {
    // Four of them hold writes that are not encrypted, and of five one must stay free.
    let mut system = dolos(MinorUnit::PartialWpq, 7);
    let mac = ns_to_ps(config::load_machine("secpm", &[]).unwrap().integrity.mac_latency_ns);
    for token in 0..6 {
        system.write(0, line(0, token as usize), &[token as u8; 64], token);
    }
    let times = times(&mut system);
    assert_eq!(times[..4], [mac, 2 * mac, 3 * mac, 4 * mac]);
    assert!(times[4] > 5 * mac && times[5] >= times[4] + mac, "{times:?}");
}

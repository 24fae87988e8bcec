//! Figures of an embedded memory: periods, requestors, banks and channels, the limits of channels, masks, places.

use super::common::memory_client::{Client, memory};
use counterpoint_engine::config::Variant;
use counterpoint_engine::embed::{Kind, Memory, Refusal, Request, Setup, TIME_MAX, WHOLE_LINE};
use std::collections::BTreeSet;

fn write(bytes: &[u8; 64]) -> Request<'_> {
    Request::Write { bytes, mask: WHOLE_LINE, counter_atomic: false }
}

fn settle(memory: &mut Memory) {
    while memory.step(TIME_MAX / 8, &mut Vec::new()).unwrap() {}
}

#[test]
fn new_period_counts_only_what_is_sent_in_it() {
    let mut client = Client::new(memory("secpm", Variant::Hardened, &[]), 3);
    client.traffic(200, false);
    let memory = &mut client.memory;
    let in_flight = memory.room(Kind::Read).0 + memory.room(Kind::Write).0;
    assert!(in_flight > 0, "something must be in flight for this test");
    memory.reset_statistics();
    let (since, digest) = (memory.now(), memory.digest());
    assert_eq!(memory.report().simulated_ns, 0.0);
    settle(memory);
    let report = memory.report();
    assert_eq!((report.reads.count, report.writes.count), (0, 0), "those were sent before");
    assert_eq!(memory.counts().since, since);
    assert!(memory.digest().0 > digest.0);
    memory.send(0, 1, 0, Request::Read).unwrap();
    memory.send(4096, 2, 0, write(&[1; 64])).unwrap();
    while memory.step(TIME_MAX / 4, &mut Vec::new()).unwrap() {}
    let (report, counts) = (memory.report(), memory.counts());
    assert_eq!((report.reads.count, report.writes.count), (1, 1));
    let [reads, writes, _] = counts.latencies;
    assert_eq!((reads.histogram.0.iter().sum::<u64>(), writes.sum), (1, writes.max));
    assert_eq!(report.reads.histogram[0].count, 1);
    assert!(report.reads.histogram[0].from_ns * 1_000.0 <= reads.max as f64);
    assert!(report.reads.histogram[0].below_ns * 1_000.0 > reads.max as f64);
}

#[test]
fn requestors_share_the_total() {
    let mut memory = memory("sca", Variant::Hardened, &[]);
    for number in 0..60 {
        let requestor = [0, 3, 1_023][number as usize % 3];
        let request = if number % 2 == 0 { Request::Read } else { write(&[2; 64]) };
        while !memory.can_accept(request.kind()) {
            memory.step(TIME_MAX / 16, &mut Vec::new()).unwrap();
        }
        memory.send(number * 64, number, requestor, request).unwrap();
    }
    settle(&mut memory);
    let report = memory.report();
    let numbers: Vec<u32> = report.requestors.iter().map(|of| of.requestor).collect();
    assert_eq!(numbers, [0, 3, 1_023]);
    assert_eq!(report.requestors.iter().map(|of| of.reads.count).sum::<u64>(), report.reads.count);
    assert_eq!(report.requestors.iter().map(|of| of.writes.count).sum::<u64>(), report.writes.count);
    assert_eq!(memory.latencies_of(3).unwrap()[0].count, report.requestors[1].reads.count);
    assert_eq!(memory.latencies_of(5).unwrap()[0].count, 0);
    for refused in [memory.latencies_of(1_024).err(), memory.send(0, 0, 1_024, Request::Read).err()] {
        assert_eq!(refused, Some(Refusal::Argument("requestor = 1024 is not from 0 to 1023".into())));
    }
}

#[test]
fn banks_and_channels_add_up_to_the_device() {
    let set = ["device.channels=2", "device.ranks=2", "device.banks_per_rank=4"];
    let mut client = Client::new(memory("secpm", Variant::Hardened, &set), 8);
    client.traffic(400, false);
    settle(&mut client.memory);
    let report = client.memory.report();
    let device = client.memory.counts().device;
    assert_eq!((report.banks.len(), report.channels.len()), (16, 2));
    assert_eq!(report.banks.iter().map(|bank| bank.writes).sum::<u64>(), device.writes);
    assert_eq!(report.channels.iter().map(|channel| channel.reads).sum::<u64>(), device.reads);
    assert_eq!(report.channels.iter().map(|channel| channel.row_hits).sum::<u64>(), report.nvm.row_hits);
    let busy: f64 = report.channels.iter().map(|channel| channel.banks_busy_ns).sum();
    assert!((busy - report.nvm.bank_busy_ns).abs() < 1e-6 * busy);
    let places: BTreeSet<(u32, u32)> = report.banks.iter().map(|bank| (bank.channel, bank.rank)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1)].into());
    client.memory.reset_statistics();
    assert!(client.memory.report().banks.iter().all(|bank| bank.writes == 0 && bank.busy_ns == 0.0));
    assert!(client.memory.bank(16).is_err());
}

#[test]
fn place_is_where_the_access_goes() {
    for design in ["unencrypted", "secpm", "secpm-no-cwr", "fca", "co-located"] {
        let set = ["device.channels=2"];
        for address in [0, 64, 4096, 5 * 4096 + 640, 1 << 22] {
            let mut memory = memory(design, Variant::Hardened, &set);
            let places = memory.places(address).unwrap();
            memory.send(address, 1, 0, Request::Read).unwrap();
            settle(&mut memory);
            let read: BTreeSet<u32> =
                (0u32..).zip(memory.report().banks).filter(|(_, bank)| bank.reads > 0).map(|(bank, _)| bank).collect();
            let expected: BTreeSet<u32> =
                [Some(places.line), places.counter].into_iter().flatten().map(|place| place.bank).collect();
            assert_eq!(read, expected, "{design} at {address:#x}");
            assert_eq!(places.counter.is_some(), !["unencrypted", "co-located"].contains(&design));
            assert_eq!(places.line.channel, places.line.bank % 2);
        }
    }
}

#[test]
fn channel_may_have_a_limit_of_its_own() {
    let set = ["device.channels=2".to_owned()];
    let setup = Setup {
        design: "secpm",
        variant: Variant::Hardened,
        machine: Some("small"),
        set: &set,
        seed: 1,
        on_channel: [Some(2), None],
    };
    let mut memory = Memory::new(&setup).unwrap();
    let on = |memory: &mut Memory, channel| -> Vec<u64> {
        let lines = (0..4096_u64).map(|page| page * 4096);
        lines.filter(|&line| memory.places(line).unwrap().line.channel == channel).take(8).collect()
    };
    let (first, second) = (on(&mut memory, 0), on(&mut memory, 1));
    memory.send(first[0], 0, 0, Request::Read).unwrap();
    memory.send(first[1], 0, 0, Request::Read).unwrap();
    assert_eq!(memory.can_accept_at(Kind::Read, first[2]), Ok(false));
    let full = "2 reads are in flight on channel 0";
    assert_eq!(memory.send(first[2], 0, 0, Request::Read), Err(Refusal::Full(full.into())));
    assert_eq!(memory.can_accept_at(Kind::Read, second[0]), Ok(true));
    assert!(memory.can_accept(Kind::Read));
    assert_eq!(memory.can_accept_at(Kind::Write, first[2]), Ok(true));
    memory.send(second[0], 0, 0, Request::Read).unwrap();
    settle(&mut memory);
    assert_eq!(memory.can_accept_at(Kind::Read, first[2]), Ok(true));
}

#[test]
fn mask_keeps_the_other_bytes() {
    for design in ["unencrypted", "secpm", "sca"] {
        let mut memory = memory(design, Variant::Hardened, &[]);
        memory.load(128, &[1; 64]).unwrap();
        let masked = |bytes, mask| Request::Write { bytes, mask, counter_atomic: true };
        memory.send(128, 1, 0, masked(&[2; 64], 0b110)).unwrap();
        memory.send(128, 2, 0, masked(&[3; 64], 1 << 63 | 0b100)).unwrap();
        let mut expected = [1; 64];
        (expected[1], expected[2], expected[63]) = (2, 3, 3);
        assert_eq!(memory.peek(128).unwrap(), expected, "{design}");
        settle(&mut memory);
        memory.power_fails().unwrap();
        assert_eq!(memory.peek(128).unwrap(), expected, "{design}");
    }
}

#[test]
fn configuration_has_every_part_and_value() {
    let memory = memory("secpm", Variant::Hardened, &["device.channels=2", "design.write_path=deferred"]);
    let found: serde_json::Value = serde_json::from_str(&memory.configuration()).unwrap();
    assert_eq!(found["design"], "secpm");
    assert_eq!(found["machine"]["device"]["channels"], 2);
    assert_eq!(found["parts"]["write_path"], "deferred");
    assert_eq!(found["seed"], 5);
}

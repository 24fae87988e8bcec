//! Commands to the picosecond, and against a model that knows nothing but the commands before and the table of the head.

use super::*;
use crate::config::preset;
use crate::kernel::Random;
use crate::message::MediaOp::{Read, Write};

/// A cycle of the machine `ddr4-2400`.
const CYCLE: Ps = 833;

fn ddr4() -> Dram {
    Dram::new(&preset("ddr4-2400").unwrap())
}

fn at(bank: u16, row: u32) -> Location {
    Location { bank, row }
}

/// Sends all that an access needs as early as it may be; returns when its column command is sent.
fn access(dram: &mut Dram, location: Location, op: MediaOp) -> Ps {
    loop {
        match dram.needs_on_bus(location, op) {
            (Some(command), from) => dram.send(from, command),
            (None, from) => return dram.issue(from, location, op, 0).command,
        }
    }
}

#[test]
fn an_idle_bank_takes_an_activate_and_a_column_command() {
    let mut dram = ddr4();
    assert_eq!(dram.needs_on_bus(at(0, 5), Read), (Some(RowCommand::Activate(at(0, 5))), 0));
    let read = access(&mut dram, at(0, 5), Read);
    assert_eq!(read, 16 * CYCLE, "tRCD");
    let issued = dram.issue(read + 6 * CYCLE, at(0, 5), Read, 0);
    assert_eq!(issued.data_end, issued.command + (16 + 4) * CYCLE, "tCL and the burst");
    assert!(issued.row_hit);
}

#[test]
fn what_a_group_shares_takes_longer() {
    let mut dram = ddr4();
    // Banks 0 and 4 are of one group, 1 is of another.
    for bank in [0, 4, 1] {
        access(&mut dram, at(bank, 0), Read);
    }
    let first = access(&mut dram, at(0, 0), Read);
    assert_eq!(access(&mut dram, at(4, 0), Read) - first, 6 * CYCLE, "tCCD_L");
    assert_eq!(access(&mut dram, at(1, 0), Read) - first, (6 + 4) * CYCLE, "tCCD_S");
    let write = access(&mut dram, at(0, 0), Write);
    assert_eq!(write - first, (6 + 4 + 16 + 4 + 2 - 12) * CYCLE, "tCL, burst, tRTW, less tCWD");
    let of_group = dram.needs_on_bus(at(4, 0), Read).1;
    let of_rank = dram.needs_on_bus(at(1, 0), Read).1;
    assert_eq!((of_group - write, of_rank - write), ((12 + 4 + 9) * CYCLE, (12 + 4 + 3) * CYCLE), "tWTR_L and tWTR_S");
    let precharge = dram.needs_on_bus(at(0, 1), Read);
    assert_eq!(precharge, (Some(RowCommand::Precharge { bank: 0 }), write + (12 + 4 + 18) * CYCLE), "tWR");
}

#[test]
fn activates_keep_their_distances() {
    let mut dram = ddr4();
    let mut times = Vec::new();
    for bank in [0, 1, 2, 3, 5] {
        let (command, from) = dram.needs_on_bus(at(bank, 0), Read);
        dram.send(from, command.unwrap());
        times.push(from / CYCLE);
    }
    assert_eq!(times, [0, 4, 8, 12, 26], "tRRD_S, and tFAW for the fifth");
    let mut dram = ddr4();
    dram.send(0, RowCommand::Activate(at(0, 0)));
    assert_eq!(dram.needs_on_bus(at(4, 0), Read).1, 6 * CYCLE, "tRRD_L");
    assert_eq!(dram.needs_on_bus(at(0, 1), Read).1, 39 * CYCLE, "tRAS");
    dram.send(39 * CYCLE, RowCommand::Precharge { bank: 0 });
    assert_eq!(dram.needs_on_bus(at(0, 1), Read).1, (39 + 16) * CYCLE, "tRP");
}

#[test]
fn a_refresh_closes_all_rows_and_takes_its_time() {
    let mut dram = ddr4();
    access(&mut dram, at(3, 7), Read);
    let due = dram.refresh_due(0);
    assert_eq!(due, 9_364 * CYCLE, "tREFI");
    assert_eq!(dram.refresh(0), (RowCommand::PrechargeAll { rank: 0 }, due));
    dram.send(due, RowCommand::PrechargeAll { rank: 0 });
    assert_eq!(dram.open_row(3), None);
    let refresh = due + 16 * CYCLE;
    assert_eq!(dram.refresh(0), (RowCommand::Refresh { rank: 0 }, refresh));
    dram.send(refresh, RowCommand::Refresh { rank: 0 });
    assert_eq!(dram.needs_on_bus(at(3, 7), Read).1, refresh + 433 * CYCLE, "tRFC");
    assert_eq!(dram.refresh_due(0), 2 * due);
}

/// DDR5 sends activates and column commands in two cycles; a row may be closed, and opened again, accordingly.
#[test]
fn long_commands_end_later_than_short_ones() {
    let mut dram = Dram::new(&preset("ddr5-4800").unwrap());
    let cycle = 417;
    dram.send(0, RowCommand::Activate(at(0, 0)));
    assert_eq!(dram.needs_on_bus(at(1, 0), Read).1, 0, "another channel has a command bus of its own");
    assert_eq!(dram.needs_on_bus(at(2, 0), Read).1, 8 * cycle, "tRRD_S");
    assert_eq!(dram.needs_on_bus(at(0, 0), Read).1, 38 * cycle, "tRCD");
    assert_eq!(dram.needs_on_bus(at(0, 1), Read).1, (77 + 1) * cycle, "tRAS");
    dram.send(78 * cycle, RowCommand::Precharge { bank: 0 });
    assert_eq!(dram.needs_on_bus(at(0, 1), Read).1, (78 + 38 - 1) * cycle, "tRP");
}

/// Commands that were sent, in cycles: `activate`, `precharge`, or the operation of a column command.
type Sent = Vec<(u64, u16, Option<MediaOp>, bool)>;

/// The earliest cycle of a command of DDR4-2400, from all that was sent: what the head's table says, command by command.
fn allowed(sent: &Sent, bank: u16, column: Option<MediaOp>, activate: bool) -> u64 {
    let mut earliest = 0;
    let activates: Vec<u64> = sent.iter().filter(|(.., opens)| *opens).map(|(cycle, ..)| *cycle).collect();
    if activate && activates.len() >= 4 {
        earliest = activates[activates.len() - 4] + 26;
    }
    for &(cycle, of, op, opened) in sent {
        let (same_bank, same_group) = (of == bank, of % 4 == bank % 4);
        let gap = match (op, opened, column, activate) {
            (None, true, None, true) => {
                if same_group {
                    6
                } else {
                    4
                }
            }
            (None, true, Some(_), _) if same_bank => 16,
            (None, true, None, false) if same_bank => 39,
            (None, false, None, true) if same_bank => 16,
            (Some(Read), _, Some(Read), _) | (Some(Write), _, Some(Write), _) => {
                if same_group {
                    6
                } else {
                    4
                }
            }
            (Some(Read), _, Some(Write), _) => 16 + 4 + 2 - 12,
            (Some(Write), _, Some(Read), _) => 12 + 4 + if same_group { 9 } else { 3 },
            (Some(Read), _, None, false) if same_bank => 9,
            (Some(Write), _, None, false) if same_bank => 12 + 4 + 18,
            _ => 1,
        };
        earliest = earliest.max(cycle + gap);
    }
    earliest
}

#[test]
fn random_commands_come_as_early_as_those_before_allow() {
    for seed in 0..20 {
        let mut random = Random::stream(seed, "dram");
        let (mut dram, mut sent) = (ddr4(), Sent::new());
        for _ in 0..150 {
            let bank = random.below(16) as u16;
            let op = if random.below(2) == 0 { Read } else { Write };
            let location = at(bank, random.below(2) as u32);
            let (command, from) = dram.needs_on_bus(location, op);
            let opens = matches!(command, Some(RowCommand::Activate(_)));
            let column = command.is_none().then_some(op);
            assert_eq!(from, allowed(&sent, bank, column, opens) * CYCLE, "{seed}: {command:?} after {sent:?}");
            match command {
                Some(command) => dram.send(from, command),
                None => assert_eq!(dram.issue(from, location, op, 0).command, from),
            }
            sent.push((from / CYCLE, bank, column, opens));
            if dram.refresh_due(0) <= from + 200 * CYCLE {
                break;
            }
        }
        assert!(sent.len() > 100, "{seed}: {}", sent.len());
    }
}

//! The recorded logs in tests/data, against a naive reading of their text.

use super::super::tests::*;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the recordings map the pool and, for a short time, its header.
const POOL: u64 = 0x520_0000;
const HEADER: u64 = 0x483_c000;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

fn text(name: &str) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path(name)).unwrap();
    if name.ends_with(".zst") {
        zstd::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap();
    } else {
        std::io::BufReader::new(file).read_to_string(&mut text).unwrap();
    }
    text
}

fn number(field: &str) -> u64 {
    u64::from_str_radix(field.trim_start_matches("0x"), 16).unwrap()
}

fn offset(field: &str) -> u64 {
    let address = number(field);
    address.checked_sub(POOL).unwrap_or_else(|| address - HEADER)
}

/// Checks operations and final bytes of one log, read in a simple way.
fn check(name: &str, transactions: u64) {
    let trace = Trace::open(&path(name), false, &Arc::default()).unwrap();
    let summary = trace.summary();
    assert_eq!((summary.transactions, summary.end, summary.files.len()), (transactions, 0xa00_0000, 1));
    let text = text(name);
    let (mut bytes, mut flushed, mut fences) = (BTreeMap::new(), Vec::new(), 0);
    let mut first_transactional = None;
    let mut before_first = 0;
    for record in text.split('|').map(|field| field.lines().next().unwrap_or_default()) {
        let fields: Vec<_> = record.split(';').collect();
        match fields[..] {
            ["STORE", address, value, size] => {
                let value = number(value).to_le_bytes();
                bytes.extend((0..number(size)).map(|index| (offset(address) + index, value[index as usize])));
                before_first += u64::from(first_transactional.is_none());
            }
            ["FLUSH", address, size] => {
                let (from, size) = (offset(address), number(size));
                flushed.extend((from / 64..(from + size).div_ceil(64)).map(|line| line * 64));
            }
            ["FENCE"] => fences += 1,
            [marker] if marker.starts_with("pmemobj_tx_") => first_transactional = Some(marker),
            _ => {}
        }
    }
    let all = operations(&trace);
    let mut replayed = BTreeMap::new();
    for did in &all {
        if let Did::Store(address, data) = did {
            replayed.extend(data.iter().enumerate().map(|(index, byte)| (address + index as u64, *byte)));
        }
    }
    assert_eq!(replayed, bytes);
    let lines: Vec<_> =
        all.iter().filter_map(|did| if let Did::Flush(line) = did { Some(*line) } else { None }).collect();
    assert_eq!(lines, flushed);
    assert_eq!(all.iter().filter(|did| **did == Did::Fence).count(), fences);
    assert_eq!(all.iter().filter(|did| **did == Did::Begin).count() as u64, transactions);
    assert_eq!(all.iter().filter(|did| **did == Did::End).count() as u64, transactions);
    let begin = all.iter().position(|did| *did == Did::Begin).unwrap();
    assert_eq!(all[..begin].iter().filter(|did| matches!(did, Did::Store(..))).count() as u64, before_first);
    assert_eq!(
        (summary.stores, summary.fences, summary.lines_flushed),
        (text.matches("|STORE;").count() as u64, fences as u64, flushed.len() as u64)
    );
    assert_eq!((summary.flushes_outside, summary.cut_off), (0, None));
}

#[test]
fn twenty_inserts_with_the_whole_creation_of_the_pool() {
    check("btree-20.pmemcheck.log.zst", 21);
    check("hashmap_tx-20.pmemcheck.log.zst", 21);
    check("rbtree-20.pmemcheck.log.zst", 21);
}

#[test]
fn five_inserts() {
    check("btree-5.pmemcheck.log", 6);
    check("hashmap_tx-5.pmemcheck.log", 6);
    check("rbtree-5.pmemcheck.log", 6);
}

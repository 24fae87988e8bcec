//! The trees against a map, and how they begin.

use super::*;
use crate::workload::tests::rig::Rig;
use proptest::prelude::*;
use std::collections::BTreeMap;

const ORDERS: [LeafOrder; 2] = [LeafOrder::Named, LeafOrder::Sorted];

fn rig(order: LeafOrder, bytes: u64, tx_size: u64, room: u64, seed: u64) -> Rig<BTree> {
    Rig::new(|share| BTree::new(share, order), bytes, tx_size, room, seed)
}

/// Every key and its version, in order, along the chain of leaves.
fn contents(rig: &mut Rig<BTree>) -> Vec<(u64, u64)> {
    let mut leaf = rig.structure.leaf(0);
    let mut items = Vec::new();
    while leaf != 0 {
        let mut head = [0; LEAF_HEAD];
        rig.memory.read(leaf, &mut head);
        for place in 0..head[0] {
            let slot = match rig.structure.order {
                LeafOrder::Named => head[1 + usize::from(place)],
                LeafOrder::Sorted => place,
            };
            let item = rig.structure.item(leaf, slot);
            items.push((rig.memory.read_u64(item), rig.memory.read_u64(item + 8)));
        }
        leaf = rig.memory.read_u64(leaf + LEAF_NEXT);
    }
    items
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn keeps_what_a_map_keeps(
        order in prop::sample::select(&ORDERS[..]),
        lines in 1..20u64, populated in 1..8u64, keys in prop::collection::vec(0..1000u64, 1..400), seed: u64,
    ) {
        let mut rig = rig(order, populated * 8192, lines * 64, 512, seed);
        let mut reference: BTreeMap<u64, u64> = contents(&mut rig).into_iter().collect();
        prop_assert_eq!(reference.len(), contents(&mut rig).len());
        for key in keys {
            let key = crate::workload::item::nth(seed, key);
            rig.run(|structure, tx| structure.insert(tx, key));
            reference.entry(key).and_modify(|version| *version += 1).or_insert(0);
        }
        let found: Vec<(u64, u64)> = contents(&mut rig);
        prop_assert_eq!(found, reference.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn ascending_and_descending_keys_split_up_to_a_taller_root() {
    for (order, descending) in ORDERS.into_iter().flat_map(|order| [(order, false), (order, true)]) {
        let mut rig = rig(order, 4096, 512, 2048, 1);
        let populated = contents(&mut rig).len();
        for n in 1..1_000 {
            rig.run(|tree, tx| tree.insert(tx, if descending { u64::MAX - n } else { n }));
        }
        assert_eq!(contents(&mut rig).len(), populated + 999);
        assert!(rig.memory.read_u64(rig.structure.start + HEIGHT) >= 2);
    }
}

/// How many leaves hold each number of items.
fn leaves_by_items(rig: &mut Rig<BTree>) -> Vec<u64> {
    let mut leaves = vec![0; rig.structure.slots + 1];
    for leaf in 0..rig.memory.read_u64(rig.structure.start + LEAVES_USED) {
        let mut count = [0];
        rig.memory.read(rig.structure.leaf(leaf), &mut count);
        leaves[count[0] as usize] += 1;
    }
    leaves
}

#[test]
fn populated_tree_is_as_random_inserts_leave_it() {
    // A tree that grows to eight times its size keeps the shares of its leaves and splits at the same rate.
    for (order, tx_size) in ORDERS.into_iter().flat_map(|order| [256, 1024].map(|tx_size| (order, tx_size))) {
        let mut rig = rig(order, 1 << 20, tx_size, 1 << 15, 1);
        let share = |leaves: &[u64], items: usize| leaves[items] as f64 / leaves.iter().sum::<u64>() as f64;
        let populated = leaves_by_items(&mut rig);
        let items: u64 = (0..).zip(&populated).map(|(items, leaves)| items * leaves).sum();
        let mut random = Random::stream(1, "inserts");
        let mut keys = (0..7 * items).map(|_| random.next_u64());
        let mut grow = |count: u64| {
            let before = rig.memory.read_u64(rig.structure.start + LEAVES_USED);
            keys.by_ref().take(count as usize).for_each(|key| rig.transact(|tree, tx| tree.insert(tx, key)));
            let splits = rig.memory.read_u64(rig.structure.start + LEAVES_USED) - before;
            splits as f64 / count as f64
        };
        let early = grow(items / 4);
        let late = grow(7 * items - items / 4);
        assert!((0.8..1.25).contains(&(early / late)), "{order:?} {tx_size}: {early} and then {late} splits");
        let grown = leaves_by_items(&mut rig);
        let slots = rig.structure.slots;
        for count in slots.div_ceil(2)..=slots {
            let shares = [share(&populated, count), share(&grown, count)];
            assert!((shares[0] - shares[1]).abs() < 0.06, "{order:?} {tx_size}: {count} items: {shares:?}");
        }
    }
}

#[test]
fn populated_leaves_are_about_seventy_percent_full() {
    for (order, tx_size) in ORDERS.into_iter().flat_map(|order| [64, 256, 1024].map(|tx_size| (order, tx_size))) {
        let mut rig = rig(order, 4 << 20, tx_size, 0, 1);
        let fill =
            contents(&mut rig).len() as f64 / (rig.structure.leaves_populated * rig.structure.slots as u64) as f64;
        assert!((0.68..0.75).contains(&fill), "{order:?} {tx_size}: {fill}");
    }
}

#[test]
fn disturbed_nodes_are_noticed() {
    for order in ORDERS {
        let mut rig = rig(order, 65536, 256, 0, 1);
        let [anchor, inner, leaves] = rig.structure.populated().try_into().unwrap();
        rig.disturb(anchor.start..anchor.start + 32, 100);
        // Unused keys, children and slots may have any contents; so may a separator, within bounds.
        rig.disturb(inner, 25);
        rig.disturb(leaves, 60);
    }
}

#[test]
fn insert_moves_the_greater_items_of_a_sorted_leaf_and_none_of_a_leaf_that_names_them() {
    for order in ORDERS {
        let mut rig = rig(order, 4096, 512, 0, 3);
        let leaf = rig.structure.leaf(0);
        let before = contents(&mut rig);
        assert!(before.len() > 2 && before.len() < rig.structure.slots, "one leaf with room");
        let places: Vec<u64> = (0..=before.len()).map(|slot| rig.structure.item(leaf, slot as u8)).collect();
        let keys =
            |rig: &mut Rig<BTree>| -> Vec<u64> { places.iter().map(|&item| rig.memory.read_u64(item)).collect() };
        let old = keys(&mut rig);
        let new_key = before[1].0 + 1;
        rig.run(|tree, tx| tree.insert(tx, new_key));
        let mut expected = old.clone();
        match order {
            LeafOrder::Named => expected[before.len()] = new_key,
            LeafOrder::Sorted => {
                expected.pop();
                expected.insert(2, new_key);
            }
        }
        assert_eq!(keys(&mut rig), expected, "{order:?}");
    }
}

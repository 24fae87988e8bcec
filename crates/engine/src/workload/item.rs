//! Items: the bytes that users of the structures would store, made so that garbage is detected.
//!
//! An item is a key, a version, a check word over both, and a filler that the check word determines. With overwhelming
//! probability every 16-byte block of it differs from every other block and from zero, so an auditor that looks for
//! unencrypted program data cannot confuse one block with another.

use crate::message::ByteView;

/// The increment of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const CHECK_SALT: u64 = 0x5851_f42d_4c95_7f2d;

/// The finaliser of SplitMix64: a bijection that scatters its argument over all 64 bits.
pub(super) fn scatter(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `index`-th number of the stream `seed`. Different indices give different numbers.
pub(super) fn nth(seed: u64, index: u64) -> u64 {
    scatter(seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// Scales the random number `random` to one below `bound`.
pub(super) fn scale(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

fn check_word(key: u64, version: u64) -> u64 {
    scatter(scatter(key ^ CHECK_SALT).wrapping_add(version))
}

/// Writes the item (`key`, `version`) over all of `item`, whose length is a multiple of 8 and at least 32.
pub(super) fn fill(key: u64, version: u64, item: &mut [u8]) {
    debug_assert!(item.len() >= 32 && item.len().is_multiple_of(8));
    let mut state = check_word(key, version);
    let (head, filler) = item.split_at_mut(24);
    head[..8].copy_from_slice(&key.to_le_bytes());
    head[8..16].copy_from_slice(&version.to_le_bytes());
    head[16..].copy_from_slice(&state.to_le_bytes());
    for word in filler.chunks_exact_mut(8) {
        state = state.wrapping_add(GOLDEN);
        word.copy_from_slice(&scatter(state).to_le_bytes());
    }
}

/// The key and version of the item of `length` bytes at `address`, or `None` if its bytes contradict each other.
pub(super) fn verify(view: &mut dyn ByteView, address: u64, length: u64) -> Option<(u64, u64)> {
    let mut chunk = [0; 256];
    let mut identity = (0, 0);
    let mut state = 0;
    let mut done = 0;
    while done < length {
        let bytes = &mut chunk[..(length - done).min(256) as usize];
        view.read(address + done, bytes);
        let mut words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        if done == 0 {
            identity = (words.next()?, words.next()?);
            state = check_word(identity.0, identity.1);
            if words.next()? != state {
                return None;
            }
        }
        for word in words {
            state = state.wrapping_add(GOLDEN);
            if word != scatter(state) {
                return None;
            }
        }
        done += bytes.len() as u64;
    }
    Some(identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::flat::Flat;

    #[test]
    fn filled_item_verifies_and_any_changed_byte_is_noticed() {
        for length in [32, 56, 64, 256, 320, 1024] {
            let mut memory = Flat(vec![0; length]);
            fill(7, 9, &mut memory.0);
            assert_eq!(verify(&mut memory, 0, length as u64), Some((7, 9)));
            for byte in 0..length {
                memory.0[byte] ^= 0x10;
                assert_eq!(verify(&mut memory, 0, length as u64), None, "byte {byte} of {length}");
                memory.0[byte] ^= 0x10;
            }
        }
    }

    #[test]
    fn zeros_are_not_an_item() {
        assert_eq!(verify(&mut Flat(vec![0; 64]), 0, 64), None);
    }

    #[test]
    fn blocks_of_items_are_distinct() {
        let mut seen = std::collections::HashSet::new();
        let mut item = [0; 256];
        for index in 0..4_000 {
            fill(nth(3, index), 0, &mut item);
            for block in item.chunks(16) {
                assert!(block.iter().any(|&byte| byte != 0));
                assert!(seen.insert(block.to_vec()));
            }
        }
    }
}

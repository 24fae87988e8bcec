//! 128-bit digests of 64 bytes at a place; their sums tell large states apart.

/// A digest of `bytes` at the place `key`: two lanes of multiply and rotate, with the finaliser of MurmurHash3.
pub fn keyed_digest(key: u64, bytes: &[u8; 64]) -> u128 {
    let lane = |seed: u64, odd: u64| {
        let words = bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        // The key is a step of its own: otherwise a word at one place would equal another word at another place.
        let start = (seed ^ key).wrapping_mul(odd).rotate_left(29);
        let hash = words.fold(start, |hash, word| (hash ^ word).wrapping_mul(odd).rotate_left(29));
        let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ hash >> 33
    };
    let (high, low) =
        (lane(0x243f_6a88_85a3_08d3, 0x87c3_7b91_1142_53d5), lane(0x1319_8a2e_0370_7344, 0x4cf5_ad43_2745_937f));
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stores_to_neighbouring_places_do_not_cancel() {
        let mut stored = [0; 64];
        stored[0] = 1;
        let change = |key: u64| keyed_digest(key, &stored).wrapping_sub(keyed_digest(key, &[0; 64]));
        assert_ne!(change(10).wrapping_add(change(11)), 0);
        assert_ne!(keyed_digest(10, &stored), keyed_digest(11, &[0; 64]));
    }
}

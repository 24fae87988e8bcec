//! What this machine can do at present, apart from the simulator: a chase of pointers through more memory than its
//! caches hold, and AES. The rates of all other benches are compared relative to these.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use divan::counter::ItemsCount;
use std::hint::black_box;

/// Numbers in the chain: 64 MiB.
const CHAIN: u32 = 16 << 20;
const STEPS: u64 = 500_000;
const BLOCKS: u64 = 2_000_000;

fn main() {
    divan::main();
}

/// Each load needs the one before it, and hardly one finds its line in a cache.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn pointer_chase(bencher: divan::Bencher<'_, '_>) {
    // A multiplication by an odd number is a permutation; adding an odd number leaves no fixed point at zero.
    let chain: Vec<u32> = (0..CHAIN).map(|at| (at.wrapping_mul(0x9e37_79b1).wrapping_add(12_345)) % CHAIN).collect();
    bencher.counter(ItemsCount::new(STEPS)).bench_local(|| {
        let mut at = 0;
        for _ in 0..STEPS {
            at = chain[at as usize];
        }
        black_box(at)
    });
}

/// Each block needs the one before it.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn aes(bencher: divan::Bencher<'_, '_>) {
    let cipher = Aes128::new(&Array::from([7; 16]));
    bencher.counter(ItemsCount::new(BLOCKS)).bench_local(|| {
        let mut block = Array::from([0; 16]);
        for _ in 0..BLOCKS {
            cipher.encrypt_block(&mut block);
        }
        black_box(block)
    });
}

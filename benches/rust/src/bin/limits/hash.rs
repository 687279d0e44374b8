//! Computes Murmur3 (x86, 32 bits, seed 0) and Iceberg's bucket number from it.

use frazil_benches::random::Random;

use crate::measure::best;
use crate::simd::dispatched;

const INTEGERS: usize = 50_000_000;
const TEXTS: usize = 10_000_000;
const TEXT_WORDS: usize = 4;
const BUCKETS: u32 = 64;
const PASSES: usize = 9;

/// Measures 64-bit integers without NULL.
pub(crate) fn integers() {
    let mut random = Random::new(2);
    let values: Vec<u64> = (0..INTEGERS).map(|_| random.number()).collect();
    best("hash-i64", PASSES, vec![0; INTEGERS], |buckets| bucket_integers(&values, buckets), |buckets| sum(buckets));
}

/// Measures contiguous strings of 16 bytes, whose equal length is known.
pub(crate) fn texts() {
    let mut random = Random::new(3);
    let words: Vec<[u32; TEXT_WORDS]> = (0..TEXTS).map(|_| [(); TEXT_WORDS].map(|()| random.number() as u32)).collect();
    best("hash-str16", PASSES, vec![0; TEXTS], |buckets| bucket_texts(&words, buckets), |buckets| sum(buckets));
}

fn sum(buckets: &[i32]) -> u64 {
    buckets.iter().map(|bucket| *bucket as u64).sum()
}

dispatched! {
    fn bucket_integers(values: &[u64], buckets: &mut [i32]) {
        for (value, bucket) in values.iter().zip(buckets) {
            let hash = finish(mix(mix(0, *value as u32), (*value >> 32) as u32), 8);
            *bucket = (hash & (BUCKETS - 1)) as i32;
        }
    }
}

dispatched! {
    fn bucket_texts(texts: &[[u32; TEXT_WORDS]], buckets: &mut [i32]) {
        for ([first, second, third, fourth], bucket) in texts.iter().zip(buckets) {
            let hash = mix(mix(mix(mix(0, *first), *second), *third), *fourth);
            *bucket = (finish(hash, 16) & (BUCKETS - 1)) as i32;
        }
    }
}

#[inline(always)]
fn mix(hash: u32, word: u32) -> u32 {
    let word = word.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593);
    (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64)
}

#[inline(always)]
fn finish(hash: u32, length: u32) -> u32 {
    let hash = hash ^ length;
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xC2B2_AE35);
    hash ^ (hash >> 16)
}

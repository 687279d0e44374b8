//! Compares bounds that are in memory as columns: the minimum time of pruning an already decoded manifest.

use std::hint::black_box;

use frazil_benches::random::Random;

use crate::measure::best;
use crate::simd::dispatched;

const ROWS: usize = 2_500_000; // 20 MB in each column
const PASSES: usize = 25;

/// Measures a pass over two columns that determines which rows may hold a value.
pub(crate) fn bandwidth() {
    let mut random = Random::new(1);
    let lower: Vec<i64> = (0..ROWS).map(|_| random.below(1 << 39) as i64).collect();
    let upper: Vec<i64> = lower.iter().map(|low| low + random.below(1 << 39) as i64).collect();
    let value = black_box(1 << 38);
    best(
        "bandwidth",
        PASSES,
        vec![0; ROWS.div_ceil(64)],
        |mask| holds(&lower, &upper, value, mask),
        |mask| {
            let expected = lower.iter().zip(&upper).filter(|(low, high)| **low <= value && value <= **high).count();
            assert_eq!(count(mask), expected);
            expected as u64
        },
    );
}

fn count(mask: &[u64]) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

dispatched! {
    /// Sets the bits of the rows whose bounds include the value.
    fn holds(lower: &[i64], upper: &[i64], value: i64, mask: &mut [u64]) {
        for ((low, high), word) in lower.chunks(64).zip(upper.chunks(64)).zip(mask) {
            let mut bits = 0;
            for (row, (low, high)) in low.iter().zip(high).enumerate() {
                bits |= u64::from((*low <= value) & (value <= *high)) << row;
            }
            *word = bits;
        }
    }
}

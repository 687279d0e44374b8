//! Estimates the number of distinct values from their hashes, in constant memory (HyperLogLog; the estimator is that of
//! O. Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", 2017).

/// The number of bits of a hash that choose a register. The standard error of 2^14 registers is 0.8 %.
const INDEX_BITS: u32 = 14;

/// The number of bits of a hash of which leading zeros are counted.
const RANK_BITS: u32 = u64::BITS - INDEX_BITS;

/// The estimated number of distinct hashes of 64 bits.
#[derive(Debug, Clone)]
pub struct DistinctCount {
    /// The greatest rank of the hashes of each register: the number of leading zeros plus one; 0 without hashes.
    ranks: Vec<u8>,
}

impl Default for DistinctCount {
    fn default() -> Self {
        Self { ranks: vec![0; 1 << INDEX_BITS] }
    }
}

impl DistinctCount {
    /// Adds the hash of a value.
    pub fn add(&mut self, hash: u64) {
        let rest = (hash << INDEX_BITS) | (1 << (INDEX_BITS - 1));
        let rank = u8::try_from(rest.leading_zeros() + 1).unwrap_or(u8::MAX);
        if let Some(own) = self.ranks.get_mut((hash >> RANK_BITS) as usize) {
            *own = rank.max(*own);
        }
    }

    /// Returns the estimate.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate is not negative")]
    pub fn estimate(&self) -> u64 {
        let registers = self.ranks.len() as f64;
        let mut counts = [0_u32; RANK_BITS as usize + 2];
        for rank in &self.ranks {
            if let Some(count) = counts.get_mut(usize::from(*rank)) {
                *count += 1;
            }
        }
        let [empty, ranked @ .., full] = counts;
        let start = registers * tau(1.0 - f64::from(full) / registers);
        let sum = ranked.iter().rev().fold(start, |sum, count| 0.5 * (sum + f64::from(*count)));
        let sum = sum + registers * sigma(f64::from(empty) / registers);
        (registers * registers / (2.0 * std::f64::consts::LN_2 * sum)).round() as u64
    }
}

/// Returns the correction for registers without hashes.
fn sigma(share: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut weight, mut sum) = (share, 1.0, share);
    loop {
        power *= power;
        let before = sum;
        sum += power * weight;
        weight += weight;
        if sum <= before {
            return sum;
        }
    }
}

/// Returns the correction for registers whose rank is the greatest possible one.
fn tau(share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return 0.0;
    }
    let (mut root, mut weight, mut sum) = (share, 1.0, 1.0 - share);
    loop {
        root = root.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - root).powi(2) * weight;
        if sum >= before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a well mixed hash of a number (the finalizer of SplitMix64).
    fn hash(number: u64) -> u64 {
        let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn estimate(count: u64) -> u64 {
        let mut found = DistinctCount::default();
        for number in (0..count).chain(0..count / 2) {
            found.add(hash(number));
        }
        found.estimate()
    }

    #[test]
    fn few_values_are_counted_exactly() {
        for count in [0, 1, 2, 9, 50] {
            assert_eq!(estimate(count), count);
        }
    }

    #[test]
    fn many_values_are_estimated_within_three_standard_errors() {
        for count in [1_000, 20_000, 100_000, 1_000_000] {
            let found = estimate(count);
            let error = (found as f64 - count as f64).abs() / count as f64;
            assert!(error < 0.025, "{found} of {count}");
        }
    }
}

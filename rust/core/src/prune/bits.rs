//! Collects results into bits, a word at a time.

use arrow_buffer::{BooleanBuffer, Buffer};

/// Collects two results for each pair of values; the slices must have equal lengths.
#[inline]
pub(super) fn of_pairs<A: Copy, B: Copy>(
    first: &[A],
    second: &[B],
    answer: impl Fn(A, B) -> (bool, bool),
) -> (BooleanBuffer, BooleanBuffer) {
    let words = first.chunks(64).zip(second.chunks(64)).map(|(first, second)| {
        let mut word = (0_u64, 0_u64);
        for (place, (a, b)) in first.iter().zip(second).enumerate() {
            let (a, b) = answer(*a, *b);
            word.0 |= u64::from(a) << place;
            word.1 |= u64::from(b) << place;
        }
        word
    });
    let (firsts, seconds): (Vec<u64>, Vec<u64>) = words.unzip();
    let length = first.len().min(second.len());
    let bits = |words: Vec<u64>| BooleanBuffer::new(Buffer::from_vec(words), 0, length);
    (bits(firsts), bits(seconds))
}

/// Collects the first `length` pairs of results into two bitmaps.
pub(super) fn collect_pairs(
    mut answers: impl Iterator<Item = (bool, bool)>,
    length: usize,
) -> (BooleanBuffer, BooleanBuffer) {
    let words = length.div_ceil(64);
    let (mut firsts, mut seconds) = (Vec::with_capacity(words), Vec::with_capacity(words));
    let mut left = length;
    while left > 0 {
        let (mut first, mut second) = (0_u64, 0_u64);
        let count = left.min(64);
        for place in 0..count {
            let answer = answers.next();
            debug_assert!(answer.is_some(), "answers never end early");
            let (a, b) = answer.unwrap_or((true, false));
            first |= u64::from(a) << place;
            second |= u64::from(b) << place;
        }
        firsts.push(first);
        seconds.push(second);
        left -= count;
    }
    let bits = |words: Vec<u64>| BooleanBuffer::new(Buffer::from_vec(words), 0, length);
    (bits(firsts), bits(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_has_its_bit() {
        for length in [0, 1, 63, 64, 65, 200] {
            let answers = (0..length).map(|i| (i % 3 == 0, i % 7 == 1));
            let (firsts, seconds) = collect_pairs(answers.clone(), length);
            assert!(firsts.iter().zip(&seconds).eq(answers.clone()));
            let places: Vec<usize> = (0..length).collect();
            assert_eq!(of_pairs(&places, &places, |a, b| (a % 3 == 0, b % 7 == 1)), (firsts, seconds));
        }
    }
}

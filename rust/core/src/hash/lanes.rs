//! Computes Murmur3 of many values in parallel, with one value in each lane of a vector.
//!
//! Loops use lane indexes instead of iterator adapters. The closures of adapters may be compiled separately from the
//! kernel, without its vector instructions.

#![expect(clippy::inline_always, reason = "the loops over columns are vectorised only if it is inlined")]
#![expect(
    clippy::indexing_slicing,
    clippy::needless_range_loop,
    reason = "lanes are counted up to the length of arrays"
)]

use arrow_array::ArrowNativeTypeOp;

use super::murmur3::{advance, finish, hash_bytes, mix, mix_bytes, mix_i64, scramble};
use crate::simd::Kernel;

/// The number of values that are hashed together. They fill several vectors, so that the processor can work on one
/// vector while another waits.
const LANES: usize = 64;
/// The number of words of a value that are hashed in its lane; longer values are completed separately.
const WORDS: usize = 8;
const WORDS_BYTES: usize = 4 * WORDS;
/// The maximum length of a value in a lane.
const LONGEST: usize = u32::MAX as usize;

/// A hash of numbers as eight bytes each, after a common prefix.
pub(super) struct Longs<'a, T, V, F> {
    pub(super) values: &'a [T],
    /// Converts a value to the integer that is hashed.
    pub(super) number: V,
    /// The hash after the prefix, which consists of whole words.
    pub(super) seed: u32,
    /// The total length of the prefix and the number in bytes.
    pub(super) length: u32,
    /// Returns the result for a hash.
    pub(super) then: F,
}

impl<T: Copy, V: Fn(T) -> i64, F: Fn(i32) -> i32> Kernel for Longs<'_, T, V, F> {
    type Output = Vec<i32>;

    #[inline(always)]
    fn run(self) -> Vec<i32> {
        let Self { values, number, seed, length, then } = self;
        let (blocks, rest) = values.as_chunks::<LANES>();
        let mut results = Vec::with_capacity(values.len());
        for block in blocks {
            let mut lanes = [0; LANES];
            for lane in 0..LANES {
                lanes[lane] = finish(mix_i64(seed, number(block[lane])), length);
            }
            for lane in 0..LANES {
                lanes[lane] = then(lanes[lane]);
            }
            results.extend_from_slice(&lanes);
        }
        results.extend(rest.iter().map(|value| then(finish(mix_i64(seed, number(*value)), length))));
        results
    }
}

/// Values that are hashed as bytes, stored end to end.
pub(super) trait Bytes {
    /// Returns the number of values.
    fn len(&self) -> usize;

    /// Returns one value.
    fn value(&self, at: usize) -> &[u8];

    /// Returns the start offsets of the values from `at` on, one per lane, followed by the end of the last one.
    fn starts(&self, at: usize) -> [usize; LANES + 1];

    /// Returns the start offset of the values from `at` on and their length, if those for all lanes have the same
    /// length.
    fn even(&self, at: usize) -> Option<(usize, usize)>;

    /// Returns the bytes that contain the values.
    fn data(&self) -> &[u8];
}

/// Values delimited by offsets.
pub(super) struct Ends<'a, O> {
    pub(super) data: &'a [u8],
    /// The start of the first value, and the end of each value.
    pub(super) ends: &'a [O],
}

impl<O: ArrowNativeTypeOp> Bytes for Ends<'_, O> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.ends.len().saturating_sub(1)
    }

    fn value(&self, at: usize) -> &[u8] {
        let Some([start, end]) = self.ends.get(at..).and_then(|ends| ends.first_chunk()) else { return &[] };
        self.data.get(start.as_usize()..end.as_usize()).unwrap_or_default()
    }

    #[inline(always)]
    fn starts(&self, at: usize) -> [usize; LANES + 1] {
        let ends = self.ends.get(at..).unwrap_or_default();
        if let Some(ends) = ends.first_chunk::<{ LANES + 1 }>() {
            let mut starts = [0; LANES + 1];
            for lane in 0..=LANES {
                starts[lane] = ends[lane].as_usize();
            }
            return starts;
        }
        let last = ends.last().map_or(0, |end| end.as_usize());
        let mut starts = [last; LANES + 1];
        starts.iter_mut().zip(ends).for_each(|(start, end)| *start = end.as_usize());
        starts
    }

    #[inline(always)]
    fn even(&self, at: usize) -> Option<(usize, usize)> {
        let ends = self.ends.get(at..)?.first_chunk::<{ LANES + 1 }>()?;
        let length = ends[1].sub_wrapping(ends[0]);
        let mut even = true;
        for lane in 0..LANES {
            even &= ends[lane + 1].sub_wrapping(ends[lane]) == length;
        }
        even.then_some((ends[0].as_usize(), length.as_usize()))
    }

    #[inline(always)]
    fn data(&self) -> &[u8] {
        self.data
    }
}

/// Values of a fixed width.
pub(super) struct Fixed<'a> {
    pub(super) data: &'a [u8],
    pub(super) width: usize,
    pub(super) len: usize,
}

impl Bytes for Fixed<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    fn value(&self, at: usize) -> &[u8] {
        self.data.get(at * self.width..(at + 1) * self.width).unwrap_or_default()
    }

    #[inline(always)]
    fn starts(&self, at: usize) -> [usize; LANES + 1] {
        let mut starts = [0; LANES + 1];
        for lane in 0..=LANES {
            starts[lane] = (at + lane) * self.width;
        }
        starts
    }

    #[inline(always)]
    fn even(&self, at: usize) -> Option<(usize, usize)> {
        Some((at * self.width, self.width))
    }

    #[inline(always)]
    fn data(&self) -> &[u8] {
        self.data
    }
}

/// A hash of strings or binary values.
pub(super) struct Strings<'a, B, F> {
    pub(super) values: &'a B,
    pub(super) seed: u32,
    /// Returns the result for a hash.
    pub(super) then: F,
}

impl<B: Bytes, F: Fn(i32) -> i32> Kernel for Strings<'_, B, F> {
    type Output = Vec<i32>;

    #[inline(always)]
    fn run(self) -> Vec<i32> {
        let Self { values, seed, then } = self;
        let len = values.len();
        let mut results = Vec::with_capacity(len.next_multiple_of(LANES));
        let mut block = Block { words: [[0; LANES]; WORDS], lengths: [0; LANES] };
        for at in (0..len).step_by(LANES) {
            let data = values.data();
            // Values of equal length are typical keys, such as digests and UUIDs, both binary and as strings.
            let hashed = match values.even(at) {
                Some((start, 16)) => side_by_side::<16>(data, start, seed),
                Some((start, 32)) => side_by_side::<32>(data, start, seed),
                Some((start, 36)) => side_by_side::<36>(data, start, seed),
                _ => None,
            };
            let mut lanes = match hashed {
                Some(lanes) => lanes,
                None => block.hash(data, &values.starts(at), seed),
            };
            for lane in 0..LANES {
                lanes[lane] = then(lanes[lane]);
            }
            results.extend_from_slice(&lanes);
        }
        results.truncate(len);
        results
    }
}

/// The first words of one value per lane.
struct Block {
    /// The words, grouped by word number; the contents after the end of a value are arbitrary.
    words: [[u32; LANES]; WORDS],
    /// The lengths in bytes.
    lengths: [u32; LANES],
}

impl Block {
    /// Returns the hashes of values in `data`.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "longer values are never hashed in lanes")]
    fn hash(&mut self, data: &[u8], starts: &[usize; LANES + 1], seed: u32) -> [i32; LANES] {
        let (mut longest, mut uneven) = (0, 0);
        for lane in 0..LANES {
            let length = starts[lane + 1].wrapping_sub(starts[lane]);
            self.lengths[lane] = length as u32;
            longest = longest.max(length);
            uneven |= length ^ starts[1].wrapping_sub(starts[0]);
        }
        let filled = match longest {
            0..=8 => self.fill::<8>(data, starts),
            9..=16 => self.fill::<16>(data, starts),
            17..=LONGEST => self.fill::<WORDS_BYTES>(data, starts),
            _ => None,
        };
        let mut lanes = [0; LANES];
        if filled.is_none() {
            for lane in 0..LANES {
                lanes[lane] = hash_bytes(data.get(starts[lane]..starts[lane + 1]).unwrap_or_default(), seed);
            }
            return lanes;
        }
        let mut hashes = self.mixed(longest, uneven == 0, seed);
        if longest > WORDS_BYTES {
            for lane in 0..LANES {
                let rest = data.get(starts[lane].saturating_add(WORDS_BYTES)..starts[lane + 1]);
                hashes[lane] = rest.map_or(hashes[lane], |rest| mix_bytes(hashes[lane], rest));
            }
        }
        for lane in 0..LANES {
            lanes[lane] = finish(hashes[lane], self.lengths[lane]);
        }
        lanes
    }

    /// Loads the first `BYTES` bytes at each start; None if there are fewer bytes.
    #[inline(always)]
    fn fill<const BYTES: usize>(&mut self, data: &[u8], starts: &[usize; LANES + 1]) -> Option<()> {
        // The compiler generates vector instructions for steps of four.
        for four in (0..LANES).step_by(4) {
            let a = window::<BYTES>(data, starts[four])?;
            let b = window::<BYTES>(data, starts[four + 1])?;
            let c = window::<BYTES>(data, starts[four + 2])?;
            let d = window::<BYTES>(data, starts[four + 3])?;
            for number in 0..BYTES / 4 {
                let lanes = &mut self.words[number];
                lanes[four] = word(a, number);
                lanes[four + 1] = word(b, number);
                lanes[four + 2] = word(c, number);
                lanes[four + 3] = word(d, number);
            }
        }
        Some(())
    }

    /// Returns the hashes after the first words of each value, including its tail if it is among them. `longest` is the
    /// length of the longest value, or of every value if they are even.
    #[inline(always)]
    fn mixed(&self, longest: usize, even: bool, seed: u32) -> [u32; LANES] {
        let words = WORDS.min(longest.div_ceil(4));
        let mut hashes = [seed; LANES];
        if even && longest.is_multiple_of(4) {
            for number in 0..words {
                for lane in 0..LANES {
                    hashes[lane] = mix(hashes[lane], self.words[number][lane]);
                }
            }
            return hashes;
        }
        for (number, before) in (0..words).zip((0..).step_by(4)) {
            for lane in 0..LANES {
                let left = self.lengths[lane].saturating_sub(before);
                // A word without remaining bytes scrambles to zero.
                let kept = if left < 4 { (1_u32 << (8 * (left & 3))) - 1 } else { u32::MAX };
                let scrambled = hashes[lane] ^ scramble(self.words[number][lane] & kept);
                hashes[lane] = if left < 4 { scrambled } else { advance(scrambled) };
            }
        }
        hashes
    }
}

/// Returns the hashes of contiguous values of `BYTES` bytes, a multiple of four; None if there are fewer bytes.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the lengths are listed here")]
fn side_by_side<const BYTES: usize>(data: &[u8], start: usize, seed: u32) -> Option<[i32; LANES]> {
    let values: &[[u8; BYTES]; LANES] = data.get(start..)?.as_chunks().0.first_chunk()?;
    let mut lanes = [0; LANES];
    for lane in 0..LANES {
        let mut hash = seed;
        for number in 0..BYTES / 4 {
            hash = mix(hash, word(&values[lane], number));
        }
        lanes[lane] = finish(hash, BYTES as u32);
    }
    Some(lanes)
}

/// Returns `BYTES` bytes from the start of a value, which may extend into the following values; None if there are fewer
/// bytes.
#[inline(always)]
fn window<const BYTES: usize>(data: &[u8], start: usize) -> Option<&[u8; BYTES]> {
    data.get(start..)?.first_chunk()
}

/// Returns a word of the first bytes of a value.
#[inline(always)]
fn word<const BYTES: usize>(window: &[u8; BYTES], number: usize) -> u32 {
    u32::from_le_bytes([window[4 * number], window[4 * number + 1], window[4 * number + 2], window[4 * number + 3]])
}

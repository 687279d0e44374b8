//! Murmur3 x86 32-bit (Iceberg spec, appendix B; Paimon uses it with another seed).
//!
//! ```text
//! hash   = seed
//! word*    4 bytes, little-endian: hash = rotl(hash ^ rotl(word * C1, 15) * C2, 13) * 5 + 0xe6546b64
//! tail     1-3 bytes as the low bytes of a word:  hash ^= rotl(tail * C1, 15) * C2
//! finish   hash ^= length, then shifts and multiplications
//! ```
//!
//! The array kernels differ in how a value is converted to bytes. Each has a parameter `then`, which converts the hash
//! to the result in the same pass (for example to a bucket number). The result for NULL is NULL.

#![expect(clippy::inline_always, reason = "the loops over columns are vectorised only if it is inlined")]

use arrow_array::types::{ByteArrayType, Int32Type};
use arrow_array::{
    Array, ArrowNativeTypeOp, ArrowPrimitiveType, Decimal128Array, FixedSizeBinaryArray, GenericByteArray,
};
use arrow_array::{Int32Array, PrimitiveArray};

use super::lanes::{Bytes, Ends, Fixed, Longs, Strings};
use super::twos_complement_len;
use crate::simd::{self, Level};

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

/// Returns the hash of `bytes`.
#[inline]
pub fn hash_bytes(bytes: &[u8], seed: u32) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "the length enters the hash modulo 2^32")]
    finish(mix_bytes(seed, bytes), bytes.len() as u32)
}

/// Returns the hash of the eight little-endian bytes of `value`.
#[inline(always)]
pub fn hash_i64(value: i64, seed: u32) -> i32 {
    finish(mix_i64(seed, value), 8)
}

/// Returns the hash of the shortest big-endian two's complement form of an unscaled decimal.
#[inline]
pub fn hash_decimal(unscaled: i128, seed: u32) -> i32 {
    let bytes = unscaled.to_be_bytes();
    hash_bytes(bytes.get(16 - twos_complement_len(unscaled)..).unwrap_or_default(), seed)
}

/// Hashes integers, dates, times and timestamps of at most 64 bits, each as eight bytes.
pub fn hash_longs<T>(array: &PrimitiveArray<T>, seed: u32, then: impl Fn(i32) -> i32) -> Int32Array
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    hash_numbers(array, Into::into, seed, then)
}

/// Hashes values of at most 64 bits. `number` converts each value to the integer whose eight bytes are hashed.
pub fn hash_numbers<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    number: impl Fn(T::Native) -> i64,
    seed: u32,
    then: impl Fn(i32) -> i32,
) -> Int32Array {
    let hashes = simd::run(Longs { values: array.values(), number, seed, length: 8, then });
    Int32Array::new(hashes.into(), array.nulls().cloned())
}

/// Hashes `head` followed by the eight bytes of each `number`. The values of NULL slots are hashed too.
pub fn hash_after_prefix<T: Copy>(
    head: [u8; 8],
    values: &[T],
    number: impl Fn(T) -> i64,
    seed: u32,
    then: impl Fn(i32) -> i32,
) -> Vec<i32> {
    simd::run(Longs { values, number, seed: mix_bytes(seed, &head), length: 16, then })
}

/// Hashes decimals like [`hash_decimal`].
pub fn hash_decimals(array: &Decimal128Array, seed: u32, then: impl Fn(i32) -> i32) -> Int32Array {
    array.unary::<_, Int32Type>(|value| then(hash_decimal(value, seed)))
}

/// Hashes strings and binary values.
pub fn hash_byte_arrays<T: ByteArrayType>(
    array: &GenericByteArray<T>,
    seed: u32,
    then: impl Fn(i32) -> i32,
) -> Int32Array
where
    T::Offset: ArrowNativeTypeOp,
{
    let values = Ends { data: array.value_data(), ends: array.value_offsets() };
    Int32Array::new(hash_strings(&values, seed, then).into(), array.nulls().cloned())
}

/// Hashes binary values of a fixed length.
pub fn hash_fixed(array: &FixedSizeBinaryArray, seed: u32, then: impl Fn(i32) -> i32) -> Int32Array {
    let width = usize::try_from(array.value_length()).unwrap_or(0);
    let values = Fixed { data: array.value_data(), width, len: array.len() };
    Int32Array::new(hash_strings(&values, seed, then).into(), array.nulls().cloned())
}

fn hash_strings<B: Bytes>(values: &B, seed: u32, then: impl Fn(i32) -> i32) -> Vec<i32> {
    let level = Level::best();
    // Without vector multiplication, hashing values of different lengths in lanes is slower than hashing one value
    // after another.
    if level == Level::Portable && cfg!(target_arch = "x86_64") {
        let hashes = (0..values.len()).map(|at| then(hash_bytes(values.value(at), seed)));
        return hashes.collect();
    }
    simd::run_at(level, Strings { values, seed, then })
}

/// Returns the hash after all words and the tail of `bytes`.
#[inline]
pub(super) fn mix_bytes(seed: u32, bytes: &[u8]) -> u32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let hash = words.iter().fold(seed, |hash, word| mix(hash, u32::from_le_bytes(*word)));
    // An empty tail scrambles to zero.
    hash ^ scramble(tail.iter().rev().fold(0, |word, byte| (word << 8) | u32::from(*byte)))
}

/// Returns the hash after the eight little-endian bytes of `value`.
#[inline(always)]
pub(super) fn mix_i64(seed: u32, value: i64) -> u32 {
    let value = value.cast_unsigned();
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the number")]
    let (low, high) = (value as u32, (value >> 32) as u32);
    mix(mix(seed, low), high)
}

#[inline(always)]
pub(super) fn scramble(word: u32) -> u32 {
    word.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

#[inline(always)]
pub(super) fn mix(hash: u32, word: u32) -> u32 {
    advance(hash ^ scramble(word))
}

#[inline(always)]
pub(super) fn advance(hash: u32) -> u32 {
    hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

#[inline(always)]
pub(super) fn finish(hash: u32, length: u32) -> i32 {
    let hash = hash ^ length;
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BinaryArray, Int64Array, LargeStringArray, StringArray};
    use proptest::prelude::*;

    fn oracle(bytes: &[u8], seed: u32) -> i32 {
        murmur3::murmur3_32(&mut std::io::Cursor::new(bytes), seed).unwrap().cast_signed()
    }

    #[test]
    fn the_vectors_of_the_specification_hold() {
        for (value, hash) in [
            (34, 2_017_239_379),
            (1, 1_392_991_556),
            (0, 1_669_671_676),
            (-1, 1_651_860_712),
            (17_486, -653_330_422),
            (81_068_000_000, -662_762_989),
            (1_510_871_468_000_000, -2_047_944_441),
            (1_510_871_468_000_001, -1_207_196_810),
            (i64::from(i32::MIN), -2_073_034_792),
            (i64::MIN, 1_366_273_829),
            (1.0_f64.to_bits().cast_signed(), -142_385_009),
        ] {
            assert_eq!(hash_i64(value, 0), hash, "{value}");
        }
        for (bytes, hash) in [
            (&b"iceberg"[..], 1_210_000_089),
            (&[0, 1, 2, 3], -188_683_207),
            (b"", 0),
            ("\u{1f4b0}".as_bytes(), -1_486_360_756),
            (&[0], 1_364_076_727),
            (
                &[0xf7, 0x9c, 0x3e, 0x09, 0x67, 0x7c, 0x4b, 0xbd, 0xa4, 0x79, 0x3f, 0x34, 0x9c, 0xb7, 0x85, 0xe7],
                1_488_055_340,
            ),
        ] {
            assert_eq!(hash_bytes(bytes, 0), hash, "{bytes:?}");
        }
        for (unscaled, hash) in [
            (1420, -500_754_589),
            (0, 1_364_076_727),
            (1, -463_810_133),
            (-1, -43_192_051),
            (127, 1_435_096_473),
            (128, 1_544_076_949),
            (-128, 267_099_677),
            (-129, -435_537_839),
            (255, -582_037_868),
            (256, -1_783_153_782),
            (-1420, 667_775_751),
            (1 << 63, 2_064_522_951),
            (-(1 << 63), 292_862_370),
            (10_i128.pow(37), 2_139_453_790),
        ] {
            assert_eq!(hash_decimal(unscaled, 0), hash, "{unscaled}");
        }
    }

    #[test]
    fn null_stays_null_and_slices_hash_their_own_values() {
        let longs = Int64Array::from(vec![Some(7), None, Some(34), Some(-1)]).slice(1, 2);
        let hashes = hash_longs(&longs, 0, |hash| hash);
        assert_eq!(hashes, Int32Array::from(vec![None, Some(2_017_239_379)]));
        let text = StringArray::from(vec![Some("x"), None, Some("iceberg")]).slice(1, 2);
        assert_eq!(hash_byte_arrays(&text, 0, |hash| hash & 1), Int32Array::from(vec![None, Some(1)]));
        let fixed = FixedSizeBinaryArray::try_from_iter(vec![[9, 9, 9, 9], [0, 1, 2, 3]].into_iter()).unwrap();
        assert_eq!(hash_fixed(&fixed.slice(1, 1), 0, |hash| hash), Int32Array::from(vec![-188_683_207]));
    }

    proptest! {
        #[test]
        fn bytes_hash_as_the_reference_does(bytes: Vec<u8>, seed: u32) {
            prop_assert_eq!(hash_bytes(&bytes, seed), oracle(&bytes, seed));
        }

        #[test]
        fn numbers_hash_as_their_bytes_do(value: i64, unscaled: i128, shift in 0_u32..128, seed: u32) {
            prop_assert_eq!(hash_i64(value, seed), oracle(&value.to_le_bytes(), seed));
            let unscaled: i128 = unscaled >> shift;
            let bytes = unscaled.to_be_bytes();
            let redundant = |at: usize| (bytes[at] == 0 && bytes[at + 1] < 128) || (bytes[at] == 255 && bytes[at + 1] > 127);
            let start = (0..15).find(|at| !redundant(*at)).unwrap_or(15);
            prop_assert_eq!(hash_decimal(unscaled, seed), oracle(&bytes[start..], seed));
        }

        #[test]
        fn every_level_hashes_as_the_reference_does(
            lengths in prop::collection::vec(prop_oneof![Just(16_usize), 0..40_usize, 0..200_usize], 0..200),
            one_length in prop::option::of(prop_oneof![Just(16_usize), Just(32), Just(36), 0..70_usize]),
            bytes in prop::collection::vec(any::<u8>(), 1..500),
            seed: u32,
        ) {
            let values: Vec<Vec<u8>> = (0..).zip(lengths).map(|(at, length)| {
                bytes.iter().cycle().skip(at).take(one_length.unwrap_or(length)).copied().collect()
            }).collect();
            let array: BinaryArray = values.iter().map(Some).collect();
            let ends = Ends { data: array.value_data(), ends: array.value_offsets() };
            let expected: Vec<i32> = values.iter().map(|value| oracle(value, seed)).collect();
            let numbers: Vec<i64> = (0..).zip(&expected).map(|(at, hash)| i64::from(*hash) << (at % 40)).collect();
            let of_numbers: Vec<i32> = numbers.iter().map(|number| oracle(&number.to_le_bytes(), seed)).collect();
            for level in Level::available() {
                let hashes = simd::run_at(level, Strings { values: &ends, seed, then: |hash| hash });
                prop_assert_eq!(hashes, &expected[..], "{:?}", level);
                let hashes = simd::run_at(level, Longs { values: &numbers, number: |number| number, seed, length: 8, then: |hash| hash });
                prop_assert_eq!(hashes, &of_numbers[..], "{:?}", level);
            }
            let behind = |number: &i64| oracle(&[[9; 8], number.to_le_bytes()].concat(), seed);
            let of_both: Vec<i32> = numbers.iter().map(behind).collect();
            prop_assert_eq!(hash_after_prefix([9; 8], &numbers, |number| number, seed, |hash| hash), of_both);
            if let Some(width) = one_length {
                let fixed = Fixed { data: array.value_data(), width, len: array.len() };
                for level in Level::available() {
                    prop_assert_eq!(simd::run_at(level, Strings { values: &fixed, seed, then: |hash| hash }), &expected[..]);
                }
                prop_assert_eq!(hash_strings(&fixed, seed, |hash| hash), &expected[..]);
            }
        }

        #[test]
        fn arrays_hash_value_by_value(values: Vec<Option<String>>, seed: u32) {
            let expected: Int32Array = values.iter().map(|v| v.as_ref().map(|v| oracle(v.as_bytes(), seed))).collect();
            let bytes: BinaryArray = values.iter().map(|v| v.as_ref().map(String::as_bytes)).collect();
            prop_assert_eq!(&hash_byte_arrays(&StringArray::from(values.clone()), seed, |hash| hash), &expected);
            prop_assert_eq!(&hash_byte_arrays(&LargeStringArray::from(values), seed, |hash| hash), &expected);
            prop_assert_eq!(&hash_byte_arrays(&bytes, seed, |hash| hash), &expected);
        }
    }
}

//! Filters values of a fixed width: each word of the mask covers 64 of them.
//!
//! With AVX-512 one instruction compresses a vector, which takes about a quarter of the portable time.

use super::{Mask, WORD};

/// The number of kept rows per word up to which copying them one by one is cheaper than compressing the word.
const FEW: u32 = 8;

/// The spare capacity that the output needs, in values, because a whole vector is stored even if fewer values are kept.
pub(super) const ROOM: usize = 16;

/// Appends the kept values of `values`, which must have as many values as the mask has rows.
pub(super) fn portable<T: Copy + Default>(values: &[T], mask: &Mask, kept: &mut Vec<T>) {
    push(values, &mask.words, kept);
}

fn push<T: Copy + Default>(values: &[T], words: &[u64], kept: &mut Vec<T>) {
    for (chunk, &word) in values.chunks(WORD).zip(words) {
        let ones = word.count_ones();
        if ones as usize == chunk.len() {
            kept.extend_from_slice(chunk);
        } else if ones <= FEW {
            let mut rest = word;
            while rest != 0 {
                kept.extend(chunk.get(rest.trailing_zeros() as usize));
                rest &= rest - 1;
            }
        } else {
            // Every value is stored, and overwritten by the next one if it is not kept.
            let mut packed = [T::default(); WORD];
            let mut at = 0;
            for (bit, &value) in chunk.iter().enumerate() {
                if let Some(place) = packed.get_mut(at % WORD) {
                    *place = value;
                }
                at += (word >> bit & 1) as usize;
            }
            kept.extend_from_slice(packed.get(..at).unwrap_or_default());
        }
    }
}

/// Filters values of four bytes, like [`portable`].
pub(super) fn u32s(values: &[u32], mask: &Mask, kept: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if values.len() == mask.rows && avx512::u32s(values, mask, kept) {
        return;
    }
    portable(values, mask, kept);
}

/// Filters values of eight bytes, like [`portable`].
pub(super) fn u64s(values: &[u64], mask: &Mask, kept: &mut Vec<u64>) {
    #[cfg(target_arch = "x86_64")]
    if values.len() == mask.rows && avx512::u64s(values, mask, kept) {
        return;
    }
    portable(values, mask, kept);
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions that the processor was checked for, and their unaligned stores")]
mod avx512 {
    use std::arch::x86_64::{
        _mm512_loadu_epi32, _mm512_loadu_epi64, _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64,
        _mm512_storeu_epi32, _mm512_storeu_epi64,
    };

    use super::super::{Mask, WORD};
    use super::{ROOM, push};

    /// Returns whether the processor has the instructions.
    fn is_there() -> bool {
        is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt")
    }

    /// Returns false without any effect if the processor lacks the instructions.
    pub(super) fn u64s(values: &[u64], mask: &Mask, kept: &mut Vec<u64>) -> bool {
        if is_there() {
            // SAFETY: the function only needs the instructions, whose presence was just checked.
            unsafe { compress_u64s(values, mask, kept) }
            true
        } else {
            false
        }
    }

    /// Returns false without any effect if the processor lacks the instructions.
    pub(super) fn u32s(values: &[u32], mask: &Mask, kept: &mut Vec<u32>) -> bool {
        if is_there() {
            // SAFETY: the function only needs the instructions, whose presence was just checked.
            unsafe { compress_u32s(values, mask, kept) }
            true
        } else {
            false
        }
    }

    #[target_feature(enable = "avx512f,popcnt")]
    fn compress_u64s(values: &[u64], mask: &Mask, kept: &mut Vec<u64>) {
        kept.reserve(mask.kept + ROOM);
        let (chunks, rest) = values.as_chunks::<WORD>();
        let mut at = kept.len();
        for (chunk, word) in chunks.iter().zip(&mask.words) {
            for (eight, bits) in chunk.as_chunks::<8>().0.iter().zip(word.to_le_bytes()) {
                // SAFETY: eight values are loaded from a slice of eight. `at` is the length and counts bits of the
                // mask, of which there are `mask.kept`: after that many values there is spare capacity for a vector.
                unsafe {
                    let packed = _mm512_maskz_compress_epi64(bits, _mm512_loadu_epi64(eight.as_ptr().cast()));
                    _mm512_storeu_epi64(kept.as_mut_ptr().add(at).cast(), packed);
                }
                at += bits.count_ones() as usize;
            }
        }
        // SAFETY: values were stored contiguously up to `at`, which is within the capacity.
        unsafe { kept.set_len(at) };
        push(rest, mask.words.get(chunks.len()..).unwrap_or_default(), kept);
    }

    #[target_feature(enable = "avx512f,popcnt")]
    fn compress_u32s(values: &[u32], mask: &Mask, kept: &mut Vec<u32>) {
        kept.reserve(mask.kept + ROOM);
        let (chunks, rest) = values.as_chunks::<WORD>();
        let mut at = kept.len();
        for (chunk, word) in chunks.iter().zip(&mask.words) {
            for (sixteen, bits) in chunk.as_chunks::<16>().0.iter().zip(word.to_le_bytes().as_chunks().0) {
                let bits = u16::from_le_bytes(*bits);
                // SAFETY: sixteen values are loaded from a slice of sixteen; the rest as in `compress_u64s`.
                unsafe {
                    let packed = _mm512_maskz_compress_epi32(bits, _mm512_loadu_epi32(sixteen.as_ptr().cast()));
                    _mm512_storeu_epi32(kept.as_mut_ptr().add(at).cast(), packed);
                }
                at += bits.count_ones() as usize;
            }
        }
        // SAFETY: values were stored contiguously up to `at`, which is within the capacity.
        unsafe { kept.set_len(at) };
        push(rest, mask.words.get(chunks.len()..).unwrap_or_default(), kept);
    }
}

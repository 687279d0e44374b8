//! Converts serialised bitmaps directly to masks, container by container, without building a set of positions.

use arrow_buffer::{BooleanBuffer, Buffer};

use super::container::WORDS;
use super::portable::{Stored, each_container64};
use crate::error::{Error, ErrorKind, Result};
use crate::simd::{self, Kernel};

/// Returns a mask of the rows, out of `rows`, that are *not* among the positions of a 64-bit portable serialisation,
/// which must be all of `bytes`.
///
/// # Errors
/// `CorruptData` for any violation of the format, and for a position that is not below `rows`; `LimitExceeded` if the
/// mask does not fit in memory.
pub fn kept_of_portable64(bytes: &[u8], rows: usize) -> Result<BooleanBuffer> {
    let len = rows.div_ceil(64);
    let mut words: Vec<u64> = Vec::new();
    words
        .try_reserve_exact(len.next_multiple_of(WORDS))
        .map_err(|_| Error::new(ErrorKind::LimitExceeded, format!("not enough memory for a mask of {rows} rows")))?;
    each_container64(bytes, |prefix, cardinality, stored| {
        let start = usize::try_from(prefix).ok().and_then(|prefix| prefix.checked_mul(WORDS));
        let Some(start) = start.filter(|start| *start < len) else { return Err(beyond(rows)) };
        words.resize(start, u64::MAX);
        match stored {
            Stored::Bits(bits) => {
                if simd::run(AppendInverted { bits, words: &mut words }) != cardinality {
                    return Err(Error::corrupt(format!("a container does not hold the declared {cardinality} values")));
                }
            }
            Stored::Other(container) => {
                words.resize(start + WORDS, u64::MAX);
                container.clear_in(words.get_mut(start..).unwrap_or_default(), 0);
            }
        }
        Ok(())
    })?;
    let is_kept_behind = |(number, word): (usize, &u64)| {
        let own = rows.saturating_sub(64 * number);
        own >= 64 || word >> own == u64::MAX >> own
    };
    if !words.iter().enumerate().skip(rows / 64).all(is_kept_behind) {
        return Err(beyond(rows));
    }
    words.resize(len, u64::MAX);
    Ok(BooleanBuffer::new(Buffer::from_vec(words), 0, rows))
}

fn beyond(rows: usize) -> Error {
    Error::corrupt(format!("a position is not below the number of rows, {rows}"))
}

/// A kernel that appends the complement of bits and returns the number of set bits.
struct AppendInverted<'a> {
    bits: &'a [[u8; 8]; WORDS],
    words: &'a mut Vec<u64>,
}

impl Kernel for AppendInverted<'_> {
    type Output = u32;

    #[expect(clippy::inline_always, reason = "compiled for the instruction set level")]
    #[expect(clippy::indexing_slicing, clippy::needless_range_loop, reason = "both arrays have this many words")]
    #[inline(always)]
    fn run(self) -> u32 {
        let mut count = 0;
        let mut inverted = [0; WORDS];
        for at in 0..WORDS {
            let word = u64::from_le_bytes(self.bits[at]);
            count += word.count_ones();
            inverted[at] = !word;
        }
        self.words.extend_from_slice(&inverted);
        count
    }
}

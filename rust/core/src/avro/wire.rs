//! Avro's primitive encodings (specification, "Binary Encoding"): a checked cursor for the hot loops of decoding.
//!
//! It stores the remaining bytes instead of a position, so that each read is one comparison. Otherwise it has the same
//! guarantees as [`crate::bytes::Cursor`].

use crate::error::{Error, ErrorKind, Result};

/// The maximum number of empty values in a file: rows or items of a zero-width type can be declared at no cost.
pub(super) const MAX_ZERO_WIDTH: u64 = 1_000_000;

/// A cursor in a decompressed block.
#[derive(Debug, Clone)]
pub(super) struct Wire<'a> {
    rest: &'a [u8],
    /// The length of the block.
    len: usize,
    /// The remaining part of [`MAX_ZERO_WIDTH`].
    zero_width_left: u64,
}

/// A position in a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark<'a>(&'a [u8]);

/// The header of one block of an array or a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Items {
    /// The number of items that follow.
    pub(super) count: u64,
    /// The size of the items in bytes, if the writer recorded it.
    pub(super) size_bytes: Option<i64>,
}

impl<'a> Wire<'a> {
    /// Creates a cursor at the start of a block.
    pub(super) fn new(block: &'a [u8], zero_width_left: u64) -> Self {
        Self { rest: block, len: block.len(), zero_width_left }
    }

    pub(super) fn zero_width_left(&self) -> u64 {
        self.zero_width_left
    }

    #[inline]
    pub(super) fn position(&self) -> usize {
        self.len - self.rest.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Returns the next `n` bytes.
    #[inline]
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(n) else { return Err(self.too_short(n)) };
        self.rest = rest;
        Ok(taken)
    }

    /// Returns the next `n` bytes, where `n` is a length declared in the file.
    #[inline]
    pub(super) fn take_declared(&mut self, n: i64) -> Result<&'a [u8]> {
        let Ok(n) = usize::try_from(n) else { return Err(self.error(format_args!("negative length {n}"))) };
        self.take(n)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else { return Err(self.too_short(N)) };
        self.rest = rest;
        Ok(*taken)
    }

    /// Reads a `boolean`.
    #[inline]
    pub(super) fn boolean(&mut self) -> Result<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.error(format_args!("{other} is not a valid boolean"))),
        }
    }

    /// Reads a `long`, or an `int` before its range is checked.
    #[inline]
    pub(super) fn long(&mut self) -> Result<i64> {
        let Some((value, rest)) = split_long(self.rest) else { return Err(self.endless()) };
        self.rest = rest;
        Ok(value)
    }

    /// Reads an `int`.
    #[expect(clippy::inline_always, reason = "a tenth of decoding a manifest")]
    #[inline(always)]
    pub(super) fn int(&mut self) -> Result<i32> {
        let value = self.long()?;
        i32::try_from(value).map_err(|_| self.error(format_args!("{value} does not fit an int")))
    }

    /// Reads a `float`.
    #[inline]
    pub(super) fn float(&mut self) -> Result<f32> {
        self.array().map(f32::from_le_bytes)
    }

    /// Reads a `double`.
    #[inline]
    pub(super) fn double(&mut self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// Reads `bytes` or a `string`.
    #[expect(clippy::inline_always, reason = "a tenth of decoding a manifest")]
    #[inline(always)]
    pub(super) fn sized(&mut self) -> Result<&'a [u8]> {
        let length = self.long()?;
        self.take_declared(length)
    }

    /// Returns the next block of an array or map whose items have at least `min_width_bytes` bytes; `None` at the end.
    ///
    /// ```text
    /// count > 0                   count items
    /// count < 0  size_bytes       -count items in that many bytes
    /// 0                           end
    /// ```
    #[inline]
    pub(super) fn items(&mut self, min_width_bytes: usize) -> Result<Option<Items>> {
        let declared = self.long()?;
        if declared == 0 {
            return Ok(None);
        }
        let size_bytes = if declared < 0 { Some(self.long()?) } else { None };
        let count = declared.unsigned_abs();
        let room = self.remaining() as u64;
        // The width is read from a schema, so the product may overflow.
        match count.checked_mul(min_width_bytes as u64) {
            Some(least) if least <= room => Ok(Some(Items { count, size_bytes })),
            _ => Err(self.error(format_args!("a block declares {count} items, but only {room} bytes are left"))),
        }
    }

    /// Checks that the items of a block have the declared size; `start` is where they began.
    #[inline]
    pub(super) fn end_items(&self, items: Items, start: usize) -> Result<()> {
        let Some(declared) = items.size_bytes else { return Ok(()) };
        let taken = self.position() - start;
        if usize::try_from(declared) == Ok(taken) {
            Ok(())
        } else {
            Err(self.error(format_args!("a block declares {declared} bytes of items, but they have {taken}")))
        }
    }

    /// Subtracts `count` empty values from the allowance.
    pub(super) fn zero_width(&mut self, count: u64) -> Result<()> {
        match self.zero_width_left.checked_sub(count) {
            Some(left) => {
                self.zero_width_left = left;
                Ok(())
            }
            None => Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("the file has more than {MAX_ZERO_WIDTH} empty values"),
            )
            .with("offset", self.position())),
        }
    }

    /// Skips `n` varints without decoding them.
    ///
    /// A varint ends at the first byte without the high bit, so eight bytes are counted in one step.
    #[inline]
    pub(super) fn skip_varints(&mut self, mut n: u64) -> Result<()> {
        let mut rest = self.rest;
        while n > 32 {
            let Some((bytes, after)) = rest.split_first_chunk::<32>() else { break };
            // Each byte of the sum of the words is at most four, and the total of its eight bytes is at most 32.
            n -= sum_of_bytes(bytes.as_chunks().0.iter().map(|word| ends(*word)).sum());
            rest = after;
        }
        while n > 0 {
            let Some((word, after)) = rest.split_first_chunk::<8>() else { break };
            let mut ends = ends(*word);
            let found = sum_of_bytes(ends);
            if found < n {
                n -= found;
                rest = after;
                continue;
            }
            for _ in 1..n {
                ends &= ends.wrapping_sub(1);
            }
            let (_, after) = rest.split_at(ends.trailing_zeros() as usize / 8 + 1);
            self.rest = after;
            return Ok(());
        }
        self.rest = rest;
        for _ in 0..n {
            let end = self.rest.iter().position(|byte| *byte < 0x80);
            match end.and_then(|end| self.rest.get(end + 1..)) {
                Some(after) => self.rest = after,
                None => return Err(self.endless()),
            }
        }
        Ok(())
    }

    /// Skips `n` values of `bytes` or `string`.
    #[inline]
    pub(super) fn skip_sized(&mut self, n: u64) -> Result<()> {
        (0..n).try_for_each(|_| self.sized().map(drop))
    }

    /// Skips `n` pairs of a varint and a value of `bytes` or `string`: maps from ids to bounds.
    #[inline]
    pub(super) fn skip_keyed(&mut self, n: u64) -> Result<()> {
        for _ in 0..n {
            // Key and length are one byte each; the encoded length must be even, because negative numbers are odd.
            if let [key, length, after @ ..] = self.rest
                && key | length < 0x80
                && length & 1 == 0
                && let Some(after) = after.get(usize::from(length >> 1)..)
            {
                self.rest = after;
            } else {
                self.long()?;
                self.sized()?;
            }
        }
        Ok(())
    }

    /// Decodes ahead with `read`, then returns to this position.
    pub(super) fn peek<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let here = self.mark();
        let value = read(self)?;
        self.reset(here);
        Ok(value)
    }

    /// Returns the next `n` bytes without consuming them; `None` if there are fewer.
    #[inline]
    pub(super) fn ahead(&self, n: usize) -> Option<&'a [u8]> {
        self.rest.get(..n)
    }

    /// Returns the current position.
    #[inline]
    pub(super) fn mark(&self) -> Mark<'a> {
        Mark(self.rest)
    }

    /// Returns the bytes between a marked position and the current one.
    #[inline]
    pub(super) fn since(&self, mark: Mark<'a>) -> &'a [u8] {
        mark.0.get(..mark.0.len() - self.rest.len()).unwrap_or_default()
    }

    /// Returns to a marked position.
    #[inline]
    pub(super) fn reset(&mut self, mark: Mark<'a>) {
        self.rest = mark.0;
    }

    /// Returns a corruption error at this position.
    #[cold]
    pub(super) fn error(&self, what: std::fmt::Arguments<'_>) -> Error {
        Error::corrupt(what.to_string()).with("offset", self.position())
    }

    #[cold]
    fn too_short(&self, n: usize) -> Error {
        self.error(format_args!("expected {n} bytes, {} left", self.remaining()))
    }

    #[cold]
    fn endless(&self) -> Error {
        self.error(format_args!("a varint is not terminated"))
    }
}

/// Splits off a varint. The fast path is for varints of one byte, which are the most frequent.
#[inline]
fn split_long(bytes: &[u8]) -> Option<(i64, &[u8])> {
    match bytes.split_first() {
        Some((&byte, rest)) if byte < 0x80 => {
            let value = i64::from(byte);
            Some(((value >> 1) ^ -(value & 1), rest))
        }
        _ => split_longer(bytes),
    }
}

/// Returns a word in which each byte is 1 if a varint ends in that byte of `word`, and 0 otherwise.
#[inline]
fn ends(word: [u8; 8]) -> u64 {
    (!u64::from_le_bytes(word) >> 7) & 0x0101_0101_0101_0101
}

/// Returns the sum of the bytes, which is below 256.
#[inline]
fn sum_of_bytes(word: u64) -> u64 {
    word.wrapping_mul(0x0101_0101_0101_0101) >> 56
}

/// Splits off a varint of up to ten bytes. The tenth byte holds one bit of 64. Excess bits are dropped, as in the
/// reference implementation, because some writers have no 64-bit limit.
#[inline]
fn split_longer(bytes: &[u8]) -> Option<(i64, &[u8])> {
    if let Some(word) = bytes.first_chunk::<8>() {
        let ends = ends(*word);
        if ends != 0 {
            let end = ends & ends.wrapping_neg();
            let word = u64::from_le_bytes(*word) & (end << 8).wrapping_sub(1);
            // Groups of seven bits are merged together: into 14, into 28, into 56.
            let word = word & 0x007f_007f_007f_007f | (word & 0x7f00_7f00_7f00_7f00) >> 1;
            let word = word & 0x0000_3fff_0000_3fff | (word & 0x3fff_0000_3fff_0000) >> 2;
            let value = word & 0x0fff_ffff | (word & 0x0fff_ffff_0000_0000) >> 4;
            let rest = bytes.get(end.trailing_zeros() as usize / 8 + 1..)?;
            return Some((unzigzag(value), rest));
        }
    }
    split_longest(bytes)
}

/// Splits off a varint one byte at a time. This is the slow path of [`split_longer`] for varints near the end of a
/// block or longer than eight bytes.
#[cold]
fn split_longest(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0_u64;
    let mut rest = bytes;
    for shift in (0..70).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((unzigzag(value), rest));
        }
    }
    None
}

#[inline]
fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avro::tests::long;

    #[test]
    fn longs_of_every_length_are_read() {
        for value in (0..63).flat_map(|bit| [1_i64 << bit, -1 << bit, (1 << bit) - 1]).chain([i64::MIN, i64::MAX]) {
            let bytes = long(value);
            for after in [0, 20] {
                let longer = [bytes.as_slice(), &vec![0xff; after]].concat();
                let mut wire = Wire::new(&longer, 0);
                assert_eq!(wire.long().unwrap(), value);
                assert_eq!(wire.remaining(), after);
            }
            assert!(Wire::new(&bytes[1..], 0).skip_varints(2).is_err());
        }
    }

    #[test]
    fn bits_above_64_are_dropped_and_bytes_above_ten_refused() {
        // 9876543210123456789, which exceeds 63 bits.
        let bytes = [0xaa, 0xc4, 0xa3, 0x83, 0x96, 0xee, 0xc3, 0x90, 0x92, 0x02];
        let dropped = (9_876_543_210_123_456_789_u64 << 1 >> 1).cast_signed();
        assert_eq!(Wire::new(&bytes, 0).long().unwrap(), dropped);
        assert!(Wire::new(&[0x80; 10], 0).long().is_err());
        assert!(Wire::new(&[0xff; 11], 0).long().is_err());
    }

    #[test]
    fn no_read_runs_over_the_end() {
        let mut wire = Wire::new(&[1, 2, 3], 0);
        assert!(wire.float().is_err());
        assert!(wire.take(usize::MAX).is_err());
        assert!(wire.take_declared(-1).is_err());
        assert_eq!(wire.take(3).unwrap(), [1, 2, 3]);
        assert!(wire.is_empty() && wire.boolean().is_err() && wire.long().is_err());
    }
}

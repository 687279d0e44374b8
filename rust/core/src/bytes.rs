//! A checked cursor over untrusted bytes, used by every decoder of frazil. No read exceeds the end, every error
//! includes the offset, and no length is trusted before the bytes are available.

use crate::error::{Error, Result};

/// A cursor in a byte slice; every read is checked and advances it.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

macro_rules! fixed_width {
    ($($(#[$doc:meta])* $name:ident -> $type:ty, $from:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self) -> Result<$type> {
            self.array().map(<$type>::$from)
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the offset from the start.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the number of remaining bytes.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Returns whether all bytes are read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Returns the remaining bytes without consuming them.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Returns the next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        match self.at.checked_add(n).and_then(|end| self.bytes.get(self.at..end).map(|taken| (taken, end))) {
            Some((taken, end)) => {
                self.at = end;
                Ok(taken)
            }
            None => Err(self.error(format_args!("expected {n} bytes, {} left", self.remaining()))),
        }
    }

    /// Returns the next `n` bytes, where `n` is an untrusted number from a file.
    #[inline]
    pub fn take_declared(&mut self, n: i64) -> Result<&'a [u8]> {
        let Ok(n) = usize::try_from(n) else { return Err(self.error(format_args!("negative length {n}"))) };
        self.take(n)
    }

    /// Returns the next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest().first_chunk::<N>() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.error(format_args!("expected {N} bytes, {} left", self.remaining()))),
        }
    }

    /// Returns the next byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[b]| b)
    }

    fixed_width! {
        /// Reads a little-endian `u16`.
        le_u16 -> u16, from_le_bytes;
        /// Reads a little-endian `u32`.
        le_u32 -> u32, from_le_bytes;
        /// Reads a little-endian `u64`.
        le_u64 -> u64, from_le_bytes;
        /// Reads a little-endian `i32`.
        le_i32 -> i32, from_le_bytes;
        /// Reads a little-endian `i64`.
        le_i64 -> i64, from_le_bytes;
        /// Reads a little-endian IEEE 754 single.
        le_f32 -> f32, from_le_bytes;
        /// Reads a little-endian IEEE 754 double.
        le_f64 -> f64, from_le_bytes;
        /// Reads a big-endian `u32`.
        be_u32 -> u32, from_be_bytes;
        /// Reads a big-endian `i32`.
        be_i32 -> i32, from_be_bytes;
        /// Reads a big-endian `i64`.
        be_i64 -> i64, from_be_bytes;
    }

    /// Reads a zigzag varint of at most ten bytes (Avro `long`).
    #[inline]
    pub fn zigzag(&mut self) -> Result<i64> {
        let mut value = 0_u64;
        for (i, &byte) in self.rest().iter().take(10).enumerate() {
            // The tenth byte holds only one bit of a 64-bit number.
            if i == 9 && byte > 1 {
                return Err(self.error(format_args!("a varint exceeds 64 bits")));
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                self.at += i + 1;
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(self.error(format_args!("a varint is not terminated")))
    }

    /// Returns a corruption error at this offset.
    #[cold]
    pub fn error(&self, what: std::fmt::Arguments<'_>) -> Error {
        Error::corrupt(what.to_string()).with("offset", self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zigzag_reads_the_whole_range() {
        for (bytes, value) in [(&[0][..], 0), (&[1], -1), (&[2], 1), (&[0x80, 0x01], 64)] {
            assert_eq!(Cursor::new(bytes).zigzag().unwrap(), value);
        }
        let max = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Cursor::new(&max).zigzag().unwrap(), i64::MAX);
        let min = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Cursor::new(&min).zigzag().unwrap(), i64::MIN);
    }

    #[test]
    fn zigzag_rejects_invalid_longs() {
        assert!(Cursor::new(&[0xff; 10]).zigzag().is_err());
        assert!(Cursor::new(&[0x80]).zigzag().is_err());
        assert!(Cursor::new(&[]).zigzag().is_err());
    }

    #[test]
    fn no_read_runs_over_the_end_and_a_failed_read_does_not_move() {
        let mut cursor = Cursor::new(&[1, 2, 3]);
        assert!(cursor.le_u32().is_err());
        assert!(cursor.take(usize::MAX).is_err());
        assert!(cursor.take_declared(-1).is_err());
        assert!(cursor.take_declared(1 << 62).is_err());
        assert_eq!(cursor.take(3).unwrap(), [1, 2, 3]);
        assert!(cursor.is_empty());
    }
}

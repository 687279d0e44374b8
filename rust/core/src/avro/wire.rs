//! Avro's primitive encodings (specification, "Binary Encoding") on top of the checked cursor.

use crate::bytes::Cursor;
use crate::error::{Error, ErrorKind, Result};

/// How many values without bytes one file may hold: rows or items of a type of no width can be declared at no cost.
pub(super) const MAX_ZERO_WIDTH: u64 = 1_000_000;

/// A decompressed block being read.
#[derive(Debug)]
pub(super) struct Wire<'a> {
    cursor: Cursor<'a>,
    /// What is left of [`MAX_ZERO_WIDTH`].
    zero_width_left: u64,
}

/// The header of one block of an array or a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Items {
    /// How many items follow.
    pub(super) count: u64,
    /// How many bytes they take, where the writer says so.
    pub(super) size_bytes: Option<i64>,
}

impl<'a> Wire<'a> {
    /// At the start of a block.
    pub(super) fn new(block: &'a [u8], zero_width_left: u64) -> Self {
        Self { cursor: Cursor::new(block), zero_width_left }
    }

    pub(super) fn zero_width_left(&self) -> u64 {
        self.zero_width_left
    }

    pub(super) fn position(&self) -> usize {
        self.cursor.position()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cursor.is_empty()
    }

    pub(super) fn remaining(&self) -> usize {
        self.cursor.remaining()
    }

    /// `n` bytes as they are.
    #[inline]
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        self.cursor.take(n)
    }

    /// As many bytes as a file declares.
    #[inline]
    pub(super) fn take_declared(&mut self, n: i64) -> Result<&'a [u8]> {
        self.cursor.take_declared(n)
    }

    /// `boolean`.
    #[inline]
    pub(super) fn boolean(&mut self) -> Result<bool> {
        match self.cursor.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.error(format_args!("{other} is no boolean"))),
        }
    }

    /// `long`, and `int` before its range is checked. Most are one byte: counts, branches, small numbers.
    #[inline]
    pub(super) fn long(&mut self) -> Result<i64> {
        match self.cursor.rest().first() {
            Some(&byte) if byte < 0x80 => {
                self.cursor.take(1)?;
                let value = i64::from(byte);
                Ok((value >> 1) ^ -(value & 1))
            }
            _ => self.cursor.zigzag(),
        }
    }

    /// `int`.
    #[inline]
    pub(super) fn int(&mut self) -> Result<i32> {
        let value = self.long()?;
        i32::try_from(value).map_err(|_| self.error(format_args!("{value} is no int")))
    }

    /// `float`.
    #[inline]
    pub(super) fn float(&mut self) -> Result<f32> {
        self.cursor.le_f32()
    }

    /// `double`.
    #[inline]
    pub(super) fn double(&mut self) -> Result<f64> {
        self.cursor.le_f64()
    }

    /// `bytes` and `string`.
    #[inline]
    pub(super) fn sized(&mut self) -> Result<&'a [u8]> {
        let length = self.long()?;
        self.take_declared(length)
    }

    /// The next block of an array or map whose items take at least `min_width_bytes`; `None` at the end.
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
        // Widths come from a schema, so the product may overflow.
        match count.checked_mul(min_width_bytes as u64) {
            Some(least) if least <= room => Ok(Some(Items { count, size_bytes })),
            _ => Err(self.error(format_args!("{count} items declared, {room} bytes left"))),
        }
    }

    /// Checks that the items of a block took the bytes that it declared; `start` is where they began.
    #[inline]
    pub(super) fn end_items(&self, items: Items, start: usize) -> Result<()> {
        let Some(declared) = items.size_bytes else { return Ok(()) };
        let taken = self.position() - start;
        if usize::try_from(declared) == Ok(taken) {
            Ok(())
        } else {
            Err(self.error(format_args!("{declared} bytes of items declared, {taken} taken")))
        }
    }

    /// Takes `count` values without bytes from the allowance.
    pub(super) fn zero_width(&mut self, count: u64) -> Result<()> {
        match self.zero_width_left.checked_sub(count) {
            Some(left) => {
                self.zero_width_left = left;
                Ok(())
            }
            None => {
                Err(Error::new(ErrorKind::LimitExceeded, format!("more than {MAX_ZERO_WIDTH} values without bytes"))
                    .with("offset", self.position()))
            }
        }
    }

    /// Passes `n` varints without decoding them.
    #[inline]
    pub(super) fn skip_varints(&mut self, mut n: u64) -> Result<()> {
        // A varint ends at the byte without the high bit: eight bytes at a time while more than eight ends are missing.
        while n > 8 {
            let Some(word) = self.cursor.rest().first_chunk::<8>() else { break };
            let ends = !u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
            n -= u64::from(ends.count_ones());
            self.cursor.take(8)?;
        }
        for _ in 0..n {
            let Some(end) = self.cursor.rest().iter().position(|&byte| byte < 0x80) else {
                return Err(self.error(format_args!("varint without an end")));
            };
            self.cursor.take(end + 1)?;
        }
        Ok(())
    }

    /// Passes `n` values of `bytes` or `string`.
    #[inline]
    pub(super) fn skip_sized(&mut self, n: u64) -> Result<()> {
        for _ in 0..n {
            self.sized()?;
        }
        Ok(())
    }

    /// Decodes ahead with `read`, then returns to this place.
    pub(super) fn peek<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let here = self.cursor.clone();
        let value = read(self)?;
        self.cursor = here;
        Ok(value)
    }

    /// A corruption at this place.
    #[cold]
    pub(super) fn error(&self, what: std::fmt::Arguments<'_>) -> Error {
        self.cursor.error(what)
    }
}

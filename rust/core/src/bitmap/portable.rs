//! The portable serialisation of roaring bitmaps (RoaringFormatSpec), all little-endian.
//!
//! ```text
//! 64 bits:  count: u64 | count x ( key: u32 | 32-bit bitmap )                            keys ascend
//!
//! 32 bits:  cookie: u32 = 12346 | count: u32                                             no container of runs, or
//!           cookie: u32 = 12347 + (count - 1) << 16 | run flags: ceil(count / 8) bytes   some (flag i, from bit 0)
//!           count x ( key: u16 | cardinality - 1: u16 )                                  keys ascend
//!           count x ( offset: u32, from the cookie )                                     unless runs and count < 4
//!           count x container:
//!               array  cardinality x u16                                                 cardinality <= 4096
//!               bits   1024 x u64                                                        cardinality > 4096
//!               runs   runs: u16 | runs x ( first: u16 | length - 1: u16 )               flagged
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Positions;
use super::container::{ARRAY_MAX, BitRun, Container, WORDS};
use crate::bytes::Cursor;
use crate::error::{Error, ErrorKind, Result};

const COOKIE_NO_RUNS: u32 = 12_346;
const COOKIE_RUNS: u32 = 12_347;
const NO_OFFSET_THRESHOLD: usize = 4;
const CONTAINERS_MAX: usize = 1 << 16;
/// The upper limit of the keys of 64-bit bitmaps, exclusive: Java stores bitmaps in an array that is indexed by key.
const KEY_LIMIT: u32 = i32::MAX.cast_unsigned();
/// The maximum encoded size, which is that of a byte array in Java.
const ENCODED_MAX_BYTES: u64 = i32::MAX.cast_unsigned() as u64;
const EMPTY_BITMAP: [u8; 8] = [0x3a, 0x30, 0, 0, 0, 0, 0, 0];

impl Positions {
    /// Decodes positions from the 64-bit portable serialisation, which must be all of `bytes`.
    ///
    /// Memory is bounded by a small multiple of the length of `bytes`, even if the declared counts are wrong, because
    /// runs are not expanded.
    ///
    /// # Errors
    /// `CorruptData` for any violation of the format: a wrong cookie, count, order, cardinality or offset, a key of
    /// 2^31 - 1 or more, an empty or overlapping run, missing or trailing bytes.
    pub fn decode_portable64(bytes: &[u8]) -> Result<Self> {
        let mut chunks = BTreeMap::new();
        each_container64(bytes, |prefix, cardinality, stored| {
            chunks.insert(prefix, stored.checked(cardinality)?);
            Ok(())
        })?;
        Ok(Self { chunks })
    }

    /// Decodes positions from the 32-bit portable serialisation, which must be all of `bytes`. Memory is bounded as in
    /// [`Positions::decode_portable64`].
    ///
    /// # Errors
    /// `CorruptData` for any violation of the format, and for missing or trailing bytes.
    pub fn decode_portable32(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let positions = Self::take_portable32(&mut cursor)?;
        if !cursor.is_empty() {
            return Err(cursor.error(format_args!("{} bytes left after a bitmap", cursor.remaining())));
        }
        Ok(positions)
    }

    /// Decodes positions like [`Positions::decode_portable32`], but allows trailing bytes: the cursor is left after the
    /// bitmap.
    ///
    /// # Errors
    /// `CorruptData` for any violation of the format.
    pub fn take_portable32(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut chunks = BTreeMap::new();
        each_container32(cursor, |chunk, cardinality, stored| {
            chunks.insert(u64::from(chunk), stored.checked(cardinality)?);
            Ok(())
        })?;
        Ok(Self { chunks })
    }

    /// Encodes the 32-bit portable serialisation. Containers are converted to runs if that is shorter.
    ///
    /// # Errors
    /// `LimitExceeded` for positions of 2^32 and above.
    pub fn encode_portable32(&self) -> Result<Vec<u8>> {
        let container = |(prefix, container): (&u64, &'_ Container)| {
            let too_great = |_| Error::new(ErrorKind::LimitExceeded, "a 32-bit bitmap has no positions above 2^32");
            Ok((u16::try_from(*prefix).map_err(too_great)?, Cow::Owned(container.run_optimised().into_owned())))
        };
        let bitmap = self.chunks.iter().map(container).collect::<Result<Vec<_>>>()?;
        let mut out = Vec::with_capacity(size32(&bitmap));
        encode32(&bitmap, &mut out);
        Ok(out)
    }

    /// Encodes the 64-bit portable serialisation, byte for byte as Iceberg's Java library writes it: containers are
    /// converted to runs if that is shorter, and every skipped key gets an empty bitmap.
    ///
    /// # Errors
    /// `LimitExceeded` above 2 GiB, which a single position above roughly 2^59 needs, because of the skipped keys
    /// before it.
    pub fn encode_portable64(&self) -> Result<Vec<u8>> {
        let mut bitmaps: BTreeMap<u32, Vec<(u16, Cow<'_, Container>)>> = BTreeMap::new();
        for (&prefix, container) in &self.chunks {
            let [low, high, keys @ ..] = prefix.to_le_bytes();
            let [k0, k1, k2, k3, ..] = keys;
            let bitmap = bitmaps.entry(u32::from_le_bytes([k0, k1, k2, k3])).or_default();
            bitmap.push((u16::from_le_bytes([low, high]), container.run_optimised()));
        }
        let count = bitmaps.last_key_value().map_or(0, |(key, _)| u64::from(*key) + 1);
        let skipped = count - bitmaps.len() as u64;
        let filled: u64 = bitmaps.values().map(|bitmap| 4 + size32(bitmap) as u64).sum();
        let size = 8 + filled + skipped * (4 + EMPTY_BITMAP.len() as u64);
        let capacity = usize::try_from(size).ok().filter(|_| size <= ENCODED_MAX_BYTES).ok_or_else(|| {
            Error::new(
                ErrorKind::LimitExceeded,
                format!("the bitmap needs {size} bytes, which exceeds the limit of 2 GiB"),
            )
        })?;

        let mut out = Vec::with_capacity(capacity);
        out.extend(count.to_le_bytes());
        let mut next = 0;
        for (&key, bitmap) in &bitmaps {
            for gap in next..key {
                out.extend(gap.to_le_bytes());
                out.extend(EMPTY_BITMAP);
            }
            next = key + 1;
            out.extend(key.to_le_bytes());
            encode32(bitmap, &mut out);
        }
        Ok(out)
    }
}

/// Returns the bytes of a 32-bit bitmap that starts at the cursor, and moves the cursor after them. The length is
/// computed from the header; the containers are not decoded.
///
/// # Errors
/// `CorruptData` if the bitmap exceeds the available bytes or its header is invalid.
pub fn portable32_bytes<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let mut inner = Cursor::new(cursor.rest());
    let mut header = Header32::read(&mut inner)?;
    for i in 0..header.count {
        let (_, cardinality) = header.description()?;
        let bytes = match (header.is_runs(i), cardinality as usize) {
            (true, _) => 4 * usize::from(inner.le_u16()?),
            (false, cardinality @ ..=ARRAY_MAX) => 2 * cardinality,
            (false, _) => 8 * WORDS,
        };
        inner.take(bytes)?;
    }
    cursor.take(inner.position())
}

/// The header of a 32-bit bitmap, before its containers.
struct Header32<'a> {
    count: usize,
    run_flags: &'a [u8],
    descriptions: Cursor<'a>,
    /// The offsets of the containers; None if the format omits them.
    offsets: Option<Cursor<'a>>,
}

impl<'a> Header32<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self> {
        let cookie = cursor.le_u32()?;
        let (count, run_flags) = if cookie & 0xffff == COOKIE_RUNS {
            let count = (cookie >> 16) as usize + 1;
            (count, cursor.take(count.div_ceil(8))?)
        } else if cookie == COOKIE_NO_RUNS {
            (cursor.le_u32()? as usize, [].as_slice())
        } else {
            return Err(cursor.error(format_args!("{cookie} is not a valid cookie of a roaring bitmap")));
        };
        if count > CONTAINERS_MAX {
            return Err(cursor
                .error(format_args!("the bitmap has {count} containers, more than the maximum of {CONTAINERS_MAX}")));
        }
        let descriptions = Cursor::new(cursor.take(count * 4)?);
        let has_offsets = run_flags.is_empty() || count >= NO_OFFSET_THRESHOLD;
        let offsets = if has_offsets { Some(Cursor::new(cursor.take(count * 4)?)) } else { None };
        Ok(Self { count, run_flags, descriptions, offsets })
    }

    /// Returns the key and the cardinality of the next container.
    fn description(&mut self) -> Result<(u16, u32)> {
        let key = self.descriptions.le_u16()?;
        Ok((key, u32::from(self.descriptions.le_u16()?) + 1))
    }

    fn is_runs(&self, container: usize) -> bool {
        self.run_flags.get(container / 8).is_some_and(|flags| flags >> (container % 8) & 1 == 1)
    }
}

/// A container in its stored form.
pub(super) enum Stored<'a> {
    /// The words of a bitmap container. The number of set bits has not yet been compared with the declared cardinality.
    Bits(&'a [[u8; 8]; WORDS]),
    /// A container whose number of values equals the declared cardinality.
    Other(Container),
}

impl Stored<'_> {
    fn checked(self, cardinality: u32) -> Result<Container> {
        let container = match self {
            Self::Bits(bits) => {
                let mut words = Box::new([0; WORDS]);
                words.iter_mut().zip(bits).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
                Container::from_words(words)
            }
            Self::Other(container) => container,
        };
        check_cardinality(container.len(), cardinality)?;
        Ok(container)
    }
}

fn check_cardinality(found: u32, declared: u32) -> Result<()> {
    if found != declared {
        return Err(Error::corrupt(format!("a container holds {found} values, but declares {declared}")));
    }
    Ok(())
}

/// Passes on the containers of a 64-bit bitmap, which must be all of `bytes`, with their prefixes in ascending order
/// and their declared cardinalities.
pub(super) fn each_container64<'a>(
    bytes: &'a [u8],
    mut take: impl FnMut(u64, u32, Stored<'a>) -> Result<()>,
) -> Result<()> {
    let mut cursor = Cursor::new(bytes);
    let count = cursor.le_u64()?;
    let mut previous = None;
    for _ in 0..count {
        let key = cursor.le_u32()?;
        if key >= KEY_LIMIT {
            return Err(cursor.error(format_args!("bitmap key {key} is not below 2^31 - 1")));
        }
        if previous.replace(key).is_some_and(|previous| previous >= key) {
            return Err(cursor.error(format_args!("the bitmap key {key} is not in ascending order")));
        }
        each_container32(&mut cursor, |chunk, cardinality, stored| {
            take(u64::from(key) << 16 | u64::from(chunk), cardinality, stored)
        })?;
    }
    if !cursor.is_empty() {
        return Err(cursor.error(format_args!("{} bytes left after {count} bitmaps", cursor.remaining())));
    }
    Ok(())
}

/// Passes on the containers of a 32-bit bitmap, like [`each_container64`].
fn each_container32<'a>(
    cursor: &mut Cursor<'a>,
    mut take: impl FnMut(u16, u32, Stored<'a>) -> Result<()>,
) -> Result<()> {
    let start = cursor.position();
    let mut header = Header32::read(cursor)?;
    let mut previous = None;
    for i in 0..header.count {
        let (key, cardinality) = header.description()?;
        if previous.replace(key).is_some_and(|previous| previous >= key) {
            return Err(cursor.error(format_args!("the container key {key} is not in ascending order")));
        }
        if let Some(offsets) = &mut header.offsets
            && offsets.le_u32()? as usize != cursor.position() - start
        {
            return Err(cursor.error(format_args!("the recorded offset of container {key} is wrong")));
        }
        let stored = match (header.is_runs(i), cardinality as usize) {
            (true, _) => Stored::Other(decode_runs(cursor)?),
            (false, cardinality @ ..=ARRAY_MAX) => Stored::Other(decode_array(cursor, cardinality)?),
            (false, _) => Stored::Bits(bits(cursor)?),
        };
        if let Stored::Other(container) = &stored {
            check_cardinality(container.len(), cardinality)?;
        }
        take(key, cardinality, stored)?;
    }
    Ok(())
}

fn decode_array(cursor: &mut Cursor<'_>, cardinality: usize) -> Result<Container> {
    let (pairs, _) = cursor.take(cardinality * 2)?.as_chunks::<2>();
    let values: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    if !values.is_sorted_by(|a, b| a < b) {
        return Err(cursor.error(format_args!("the values of an array container are not in ascending order")));
    }
    Ok(Container::Array(values))
}

fn bits<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [[u8; 8]; WORDS]> {
    let (words, _) = cursor.take(WORDS * 8)?.as_chunks::<8>();
    words.first_chunk().ok_or_else(|| cursor.error(format_args!("a container of bits is truncated")))
}

fn decode_runs(cursor: &mut Cursor<'_>) -> Result<Container> {
    let count = cursor.le_u16()?;
    let (pairs, _) = cursor.take(usize::from(count) * 4)?.as_chunks::<4>();
    let mut runs: Vec<BitRun> = Vec::with_capacity(pairs.len());
    for &[a, b, c, d] in pairs {
        let first = u16::from_le_bytes([a, b]);
        let Some(last) = first.checked_add(u16::from_le_bytes([c, d])) else {
            return Err(cursor.error(format_args!("a run from {first} exceeds its container")));
        };
        match runs.last_mut() {
            Some(before) if before.last >= first => {
                return Err(cursor.error(format_args!("a run from {first} overlaps the previous one")));
            }
            // Java does not write adjacent runs, but they are valid and are merged.
            Some(before) if before.last + 1 == first => before.last = last,
            _ => runs.push(BitRun { first, last }),
        }
    }
    Ok(Container::from_runs(runs))
}

fn has_runs(bitmap: &[(u16, Cow<'_, Container>)]) -> bool {
    bitmap.iter().any(|(_, container)| matches!(**container, Container::Runs { .. }))
}

/// Returns the number of bytes before the first container.
fn header_size(bitmap: &[(u16, Cow<'_, Container>)]) -> usize {
    let count = bitmap.len();
    match has_runs(bitmap) {
        true if count < NO_OFFSET_THRESHOLD => 4 + count.div_ceil(8) + 4 * count,
        true => 4 + count.div_ceil(8) + 8 * count,
        false => 8 + 8 * count,
    }
}

fn container_size(container: &Container) -> usize {
    match container {
        Container::Array(values) => 2 * values.len(),
        Container::Bits { .. } => 8 * WORDS,
        Container::Runs { runs, .. } => 2 + 4 * runs.len(),
    }
}

fn size32(bitmap: &[(u16, Cow<'_, Container>)]) -> usize {
    header_size(bitmap) + bitmap.iter().map(|(_, container)| container_size(container)).sum::<usize>()
}

/// Writes a bitmap of 1 to 65,536 containers.
#[expect(clippy::cast_possible_truncation, reason = "at most 65,536 containers of 1 to 65,536 values and 8 KiB each")]
fn encode32(bitmap: &[(u16, Cow<'_, Container>)], out: &mut Vec<u8>) {
    let count = bitmap.len();
    let has_runs = has_runs(bitmap);
    if has_runs {
        out.extend((COOKIE_RUNS | (count as u32 - 1) << 16).to_le_bytes());
        out.extend(bitmap.chunks(8).map(|eight| {
            let flag = |(_, container): &(u16, Cow<'_, Container>)| matches!(**container, Container::Runs { .. });
            eight.iter().rev().fold(0, |flags, container| flags << 1 | u8::from(flag(container)))
        }));
    } else {
        out.extend(COOKIE_NO_RUNS.to_le_bytes());
        out.extend((count as u32).to_le_bytes());
    }
    for (key, container) in bitmap {
        out.extend(key.to_le_bytes());
        out.extend((container.len().saturating_sub(1) as u16).to_le_bytes());
    }
    if !has_runs || count >= NO_OFFSET_THRESHOLD {
        let mut offset = header_size(bitmap);
        for (_, container) in bitmap {
            out.extend((offset as u32).to_le_bytes());
            offset += container_size(container);
        }
    }
    for (_, container) in bitmap {
        match &**container {
            Container::Array(values) => out.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            Container::Bits { words, .. } => out.extend(words.iter().flat_map(|word| word.to_le_bytes())),
            Container::Runs { runs, .. } => {
                out.extend((runs.len() as u16).to_le_bytes());
                for run in runs {
                    out.extend(run.first.to_le_bytes());
                    out.extend((run.last - run.first).to_le_bytes());
                }
            }
        }
    }
}

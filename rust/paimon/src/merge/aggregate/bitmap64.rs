//! The function `rbm64`: bitmaps of 64-bit numbers, in the format of Java's `Roaring64Bitmap`.
//!
//! The upper 48 bits of a number form a key, and the lower 16 bits are stored in the container of that key. The 6 bytes
//! of the keys, most significant first, form an adaptive radix tree. All numbers are little-endian:
//!
//! ```text
//! bitmap      u8 0 (empty) | u8 1, u64 keys, node (the root), containers
//! node        u8 kind | u16 children | u8 n | n bytes that all keys below share | body | the children, by their byte
//!   kind 0    4 bytes: those of up to 4 children, backwards
//!   kind 1    16 bytes: those of up to 16 children, each 8 backwards
//!   kind 2    256 bytes: which child (0 to 47) a byte leads to, or 255, each 8 backwards
//!   kind 3    256 bits: which bytes lead to a child
//!   kind 4    a leaf (no children, n = 0): 6 bytes of key | u64 number of its container
//! containers  u32 1 (blocks) | u8 254 | u32 slots | slots | u64 containers | u32 last block | u32 last slot
//! slot        u8 0 (unused) | u8 1, u8 kind, u32 values, body
//!   kind 0    u16 runs | runs of u16 start, u16 length - 1
//!   kind 1    8192 bytes, a bit for each value
//!   kind 2    the values as u16
//! ```

use std::collections::BTreeMap;

use frazil_core::bytes::Cursor;
use frazil_core::error::Result as CursorResult;
use roaring::RoaringBitmap;

use super::union::Sets;

/// Sets of 64-bit numbers.
#[derive(Debug)]
pub(super) struct LongBitmaps;

/// The values below 2^16 by key. No container is empty.
pub(super) type Containers = BTreeMap<Key, RoaringBitmap>;

/// The upper 48 bits of a number, most significant byte first.
pub(super) type Key = [u8; 6];

impl Sets for LongBitmaps {
    type Set = Containers;

    fn read(&self, bytes: &[u8]) -> Result<Containers, String> {
        let mut cursor = Cursor::new(bytes);
        read_bitmap(&mut cursor).map_err(|error| error.to_string())
    }

    fn unite(&self, mut earlier: Containers, later: Containers) -> Result<Containers, String> {
        for (key, values) in later {
            *earlier.entry(key).or_default() |= values;
        }
        Ok(earlier)
    }

    fn write(&self, set: Containers) -> Result<Vec<u8>, String> {
        if set.is_empty() {
            return Ok(vec![0]);
        }
        let keys: Vec<Key> = set.keys().copied().collect();
        let mut bytes = vec![1];
        bytes.extend((keys.len() as u64).to_le_bytes());
        let mut writer = TreeWriter { bytes, leaves: 0 };
        writer.node(&keys, 0);
        let mut bytes = writer.bytes;
        let slots = u32::try_from(set.len()).map_err(|_| "2^32 containers or more".to_string())?;
        bytes.extend(1u32.to_le_bytes());
        bytes.push(NOT_TRIMMED);
        bytes.extend(slots.to_le_bytes());
        for values in set.into_values() {
            write_container(values, &mut bytes)?;
        }
        bytes.extend(u64::from(slots).to_le_bytes());
        bytes.extend(0u32.to_le_bytes());
        bytes.extend((slots - 1).to_le_bytes());
        Ok(bytes)
    }
}

/// The node type of leaves.
const LEAF: u8 = 4;
/// The marker of a block whose slots were not trimmed.
const NOT_TRIMMED: u8 = 254;
/// The maximum depth: a node for each byte of a key, and the leaf.
const MAX_DEPTH: usize = 7;
/// The size of a bit container in bytes.
const BITS_BYTES: usize = 8192;
/// The size of the header of a portable bitmap with one container: cookie, count, key, cardinality, offset.
const PORTABLE_HEADER: usize = 16;
/// The size of the header of a portable bitmap with one run container: cookie, flags, key, cardinality.
const PORTABLE_RUN_HEADER: usize = 9;
const COOKIE: u32 = 12_346;
const RUN_COOKIE: u32 = 12_347;
/// The maximum number of values in an array container.
const ARRAY_VALUES: u64 = 4096;

fn read_bitmap(cursor: &mut Cursor<'_>) -> CursorResult<Containers> {
    match cursor.byte()? {
        0 => return Ok(Containers::new()),
        1 => {}
        other => return Err(cursor.error(format_args!("invalid first byte {other} of a bitmap, expected 0 or 1"))),
    }
    let declared = cursor.le_u64()?;
    let mut leaves = Vec::new();
    read_node(cursor, 0, &mut leaves)?;
    if leaves.len() as u64 != declared {
        return Err(cursor.error(format_args!("{declared} keys declared, {} found", leaves.len())));
    }
    let mut slots = read_slots(cursor)?;
    let mut containers = Containers::new();
    for (key, slot) in leaves {
        let values = usize::try_from(slot).ok().and_then(|slot| slots.get_mut(slot)).and_then(Option::take);
        let Some(values) = values else {
            return Err(cursor.error(format_args!("container {slot} is missing or used twice")));
        };
        if !values.is_empty() && containers.insert(key, values).is_some() {
            return Err(cursor.error(format_args!("a key occurs twice")));
        }
    }
    Ok(containers)
}

/// Collects the leaves below a node: their keys and the numbers of their containers.
fn read_node(cursor: &mut Cursor<'_>, depth: usize, leaves: &mut Vec<(Key, u64)>) -> CursorResult<()> {
    let kind = cursor.byte()?;
    let children = cursor.le_u16()?;
    let prefix = cursor.byte()?;
    cursor.take(prefix.into())?;
    let (body, most) = match kind {
        0 => (4, 4),
        1 => (16, 16),
        2 => (256, 48),
        3 => (32, 256),
        LEAF => {
            leaves.push((cursor.array()?, cursor.le_u64()?));
            return Ok(());
        }
        other => return Err(cursor.error(format_args!("unknown node type {other}"))),
    };
    if children > most || depth + 1 >= MAX_DEPTH {
        return Err(cursor.error(format_args!("{children} children of a node of type {kind} at depth {depth}")));
    }
    // Leaves hold complete keys, so the key bytes in inner nodes are skipped.
    cursor.take(body)?;
    (0..children).try_for_each(|_| read_node(cursor, depth + 1, leaves))
}

fn read_slots(cursor: &mut Cursor<'_>) -> CursorResult<Vec<Option<RoaringBitmap>>> {
    let blocks = cursor.le_u32()?;
    let _mark = cursor.byte()?;
    let count = cursor.le_u32()?;
    // A second block begins only after 2^31 containers.
    if blocks != 1 || count as usize > cursor.remaining() {
        return Err(cursor.error(format_args!("{blocks} blocks with {count} containers in the first")));
    }
    (0..count)
        .map(|_| match cursor.byte()? {
            0 => Ok(None),
            1 => read_container(cursor).map(Some),
            other => Err(cursor.error(format_args!("invalid first byte {other} of a slot, expected 0 or 1"))),
        })
        .collect()
}

/// Reads a container by converting it to the portable format, whose container bodies are the same and are validated on
/// reading.
fn read_container(cursor: &mut Cursor<'_>) -> CursorResult<RoaringBitmap> {
    let kind = cursor.byte()?;
    let count = cursor.le_u32()?;
    let values = u64::from(count);
    let body = match kind {
        0 => {
            let runs = cursor.rest().first_chunk().copied().map_or(0, u16::from_le_bytes);
            cursor.take(2 + 4 * usize::from(runs))?
        }
        1 if values > ARRAY_VALUES => cursor.take(BITS_BYTES)?,
        2 if values <= ARRAY_VALUES => cursor.take(2 * count as usize)?,
        1 => return read_sparse_bits(cursor, count),
        _ => return Err(cursor.error(format_args!("a container of type {kind} with {values} values"))),
    };
    if values == 0 {
        return Ok(RoaringBitmap::new());
    }
    let Ok(last) = u16::try_from(values - 1) else {
        return Err(cursor.error(format_args!("invalid number of values in a container: {values}")));
    };
    let mut portable = Vec::with_capacity(PORTABLE_HEADER + body.len());
    if kind == 0 {
        portable.extend(RUN_COOKIE.to_le_bytes());
        portable.push(1);
    } else {
        portable.extend([COOKIE, 1].iter().flat_map(|word| word.to_le_bytes()));
    }
    portable.extend([0, last].iter().flat_map(|half| half.to_le_bytes()));
    if kind != 0 {
        portable.extend(16u32.to_le_bytes());
    }
    portable.extend_from_slice(body);
    RoaringBitmap::deserialize_from(&*portable).map_err(|error| cursor.error(format_args!("{error}")))
}

/// Reads a bit container with few enough values for an array container. Java leaves such containers after removing
/// values.
fn read_sparse_bits(cursor: &mut Cursor<'_>, count: u32) -> CursorResult<RoaringBitmap> {
    let bits = cursor.take(BITS_BYTES)?;
    let values: RoaringBitmap = (0u32..)
        .zip(bits)
        .flat_map(|(byte, bits)| (0..8).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| 8 * byte + bit))
        .collect();
    if values.len() != u64::from(count) {
        return Err(cursor.error(format_args!("{count} values declared, {} found", values.len())));
    }
    Ok(values)
}

fn write_container(mut values: RoaringBitmap, bytes: &mut Vec<u8>) -> Result<(), String> {
    values.optimize();
    let count = u32::try_from(values.len()).map_err(|error| error.to_string())?;
    let mut portable = Vec::with_capacity(values.serialized_size());
    values.serialize_into(&mut portable).map_err(|error| error.to_string())?;
    let is_runs = portable.first_chunk().is_some_and(|cookie| u32::from_le_bytes(*cookie) != COOKIE);
    let (kind, header) = match is_runs {
        true => (0, PORTABLE_RUN_HEADER),
        false if values.len() > ARRAY_VALUES => (1, PORTABLE_HEADER),
        false => (2, PORTABLE_HEADER),
    };
    bytes.extend([1, kind]);
    bytes.extend(count.to_le_bytes());
    bytes.extend_from_slice(portable.get(header..).unwrap_or_default());
    Ok(())
}

struct TreeWriter {
    bytes: Vec<u8>,
    /// The number of leaves so far; containers are numbered in key order.
    leaves: u64,
}

impl TreeWriter {
    /// Writes the node of ascending keys that have the first `depth` bytes in common.
    fn node(&mut self, keys: &[Key], depth: usize) {
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return };
        if keys.len() == 1 {
            self.bytes.extend([LEAF, 0, 0, 0]);
            self.bytes.extend(first);
            self.bytes.extend(self.leaves.to_le_bytes());
            self.leaves += 1;
            return;
        }
        let split = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let byte = move |key: &Key| key.get(split).copied().unwrap_or_default();
        let children: Vec<&[Key]> = keys.chunk_by(|a, b| byte(a) == byte(b)).collect();
        let steps: Vec<u8> = children.iter().filter_map(|keys| keys.first()).map(byte).collect();
        let (kind, body) = body(&steps);
        let prefix = first.get(depth..split).unwrap_or_default();
        self.bytes.push(kind);
        // At most 256 children and 5 bytes.
        self.bytes.extend(u16::try_from(steps.len()).unwrap_or_default().to_le_bytes());
        self.bytes.push(u8::try_from(prefix.len()).unwrap_or_default());
        self.bytes.extend_from_slice(prefix);
        self.bytes.extend(body);
        for keys in children {
            self.node(keys, split + 1);
        }
    }
}

/// Returns the type and the body of a node for the ascending bytes that lead to its children.
fn body(steps: &[u8]) -> (u8, Vec<u8>) {
    let padded = |len: usize| steps.iter().copied().chain(std::iter::repeat(0)).take(len).collect::<Vec<u8>>();
    let backwards = |bytes: &[u8], width: usize| {
        bytes.chunks(width).flat_map(|word| word.iter().rev().copied()).collect::<Vec<u8>>()
    };
    match steps.len() {
        0..=4 => (0, backwards(&padded(4), 4)),
        5..=16 => (1, backwards(&padded(16), 8)),
        17..=48 => {
            let child = |byte: u8| steps.binary_search(&byte).ok().and_then(|child| u8::try_from(child).ok());
            let children: Vec<u8> = (0..=u8::MAX).map(|byte| child(byte).unwrap_or(u8::MAX)).collect();
            (2, backwards(&children, 8))
        }
        _ => {
            let mut bits = vec![0u8; 32];
            for step in steps {
                if let Some(bits) = bits.get_mut(usize::from(step / 8)) {
                    *bits |= 1 << (step % 8);
                }
            }
            (3, bits)
        }
    }
}

//! Writes indexes in the layout of the Java writer.

use bytes::Bytes;
use roaring::RoaringBitmap;

use crate::file_index::bloom_filter::hash;
use crate::file_index::value::{Layout, Value};

/// The values of rows in the form that an index holds.
pub(super) type Column<'a> = [Option<Value<'a>>];

/// An index: its type and its bytes, or None if it has no values.
type Body<'a> = (&'a str, Option<Vec<u8>>);

/// Encodes an index file of named columns with their indexes.
pub(super) fn container(columns: &[(&str, &[Body<'_>])]) -> Bytes {
    let write = |head_length: usize| {
        let mut head = 1_493_475_289_347_502_i64.to_be_bytes().to_vec();
        let mut bodies = Vec::new();
        head.extend(1_i32.to_be_bytes());
        head.extend(int(head_length));
        head.extend(int(columns.len()));
        for (name, indexes) in columns {
            head.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
            head.extend(name.bytes());
            head.extend(int(indexes.len()));
            for (kind, body) in *indexes {
                head.extend(u16::try_from(kind.len()).unwrap().to_be_bytes());
                head.extend(kind.bytes());
                head.extend(body.as_ref().map_or((-1_i32).to_be_bytes(), |_| int(head_length + bodies.len())));
                head.extend(int(body.as_ref().map_or(0, Vec::len)));
                bodies.extend(body.iter().flatten());
            }
        }
        head.extend(0_i32.to_be_bytes());
        (head.len(), [head, bodies].concat())
    };
    let (head_length, _) = write(0);
    write(head_length).1.into()
}

pub(super) fn bloom_filter(column: &Column<'_>, layout: Layout, bytes: usize, functions: i32) -> Vec<u8> {
    let mut bits = vec![0_u8; bytes];
    for value in column.iter().flatten() {
        let hash = hash(value, layout).to_be_bytes();
        let high = i32::from_be_bytes(*hash.first_chunk().unwrap());
        let low = i32::from_be_bytes(*hash.last_chunk().unwrap());
        for i in 1..=functions {
            let sum = low.wrapping_add(i.wrapping_mul(high));
            let bit = usize::try_from(if sum < 0 { !sum } else { sum }).unwrap() % (8 * bytes);
            bits[bit / 8] |= 1 << (bit % 8);
        }
    }
    [functions.to_be_bytes().to_vec(), bits].concat()
}

pub(super) fn bitmap_v1(column: &Column<'_>, layout: Layout) -> Vec<u8> {
    let (nulls, values) = distinct(column);
    let mut body = Vec::new();
    let mut head = [vec![1], int(column.len()).to_vec(), int(values.len()).to_vec()].concat();
    head.push(u8::from(!nulls.is_empty()));
    if !nulls.is_empty() {
        head.extend(place(&nulls, &mut body).0.to_be_bytes());
    }
    // Java uses the order of a hash map.
    for (value, rows) in values.iter().rev() {
        head.extend(key(value, layout));
        head.extend(place(rows, &mut body).0.to_be_bytes());
    }
    [head, body].concat()
}

pub(super) fn bitmap_v2(column: &Column<'_>, layout: Layout, block_bytes: usize) -> Vec<u8> {
    let (nulls, values) = distinct(column);
    let mut body = Vec::new();
    let mut head = [vec![2], int(column.len()).to_vec(), int(values.len()).to_vec()].concat();
    head.push(u8::from(!nulls.is_empty()));
    if !nulls.is_empty() {
        let (start, length) = place(&nulls, &mut body);
        head.extend([start.to_be_bytes(), length.to_be_bytes()].concat());
    }
    let mut blocks: Vec<(Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
    for (value, rows) in &values {
        let (start, length) = place(rows, &mut body);
        let entry = [key(value, layout), start.to_be_bytes().to_vec(), length.to_be_bytes().to_vec()].concat();
        match blocks.last_mut() {
            Some((_, entries)) if entries.concat().len() + entry.len() + 4 <= block_bytes => entries.push(entry),
            _ => blocks.push((key(value, layout), vec![entry])),
        }
    }
    head.extend(int(blocks.len()));
    let mut written = Vec::new();
    for (first, entries) in blocks {
        head.extend([first, int(written.len()).to_vec()].concat());
        written.extend([int(entries.len()).to_vec(), entries.concat()].concat());
    }
    [head, int(written.len()).to_vec(), written, body].concat()
}

pub(super) fn bsi(column: &Column<'_>) -> Vec<u8> {
    let number = |value: &Option<Value<'_>>| match value {
        Some(Value::Integer(number)) => Some(*number),
        _ => None,
    };
    let mut out = [vec![1], int(column.len()).to_vec()].concat();
    for negative in [false, true] {
        let rows = (0..).zip(column).filter_map(|(row, value)| Some((row, number(value)?)));
        let rows: Vec<(u32, u64)> =
            rows.filter(|(_, n)| (*n < 0) == negative).map(|(row, n)| (row, n.unsigned_abs())).collect();
        out.push(u8::from(!rows.is_empty()));
        if let Some(max) = rows.iter().map(|(_, n)| *n).max() {
            out.extend([vec![1], 0_i64.to_be_bytes().to_vec(), max.to_be_bytes().to_vec()].concat());
            let slices = slices(&rows, max, 0);
            out.extend(&slices[0]);
            out.extend(int(slices.len() - 1));
            out.extend(slices[1..].concat());
        }
    }
    out
}

/// Encodes a `range-bitmap` index; `chunk_bytes` is the maximum size of the keys of a chunk.
pub(super) fn range_bitmap(column: &Column<'_>, layout: Layout, chunk_bytes: usize) -> Vec<u8> {
    let (_, values) = distinct(column);
    let mut chunks: Vec<(usize, Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
    let mut codes = Vec::new();
    for (code, (value, rows)) in values.iter().enumerate() {
        let key = key(value, layout);
        codes.extend(rows.iter().map(|row| (row, code as u64)));
        match chunks.last_mut() {
            Some((_, _, further)) if further.concat().len() + key.len() <= chunk_bytes => further.push(key),
            _ => chunks.push((code, key, Vec::new())),
        }
    }
    let (mut starts, mut heads, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for (code, first, further) in &chunks {
        starts.extend(int(heads.len()));
        heads.extend([vec![1], first.clone()].concat());
        heads.extend([int(*code), int(keys.len()), int(further.len())].concat());
        let bytes = further.concat();
        if layout == Layout::Bytes {
            let mut at = 0;
            heads.extend([int(4 * further.len()), int(bytes.len())].concat());
            for key in further {
                keys.extend(int(at));
                at += key.len();
            }
        } else {
            heads.extend([int(bytes.len()), int(first.len())].concat());
        }
        keys.extend(bytes);
    }
    let head = [vec![1], int(chunks.len()).to_vec(), int(starts.len()).to_vec(), int(heads.len()).to_vec()].concat();
    let dictionary = [int(head.len()).to_vec(), head, starts, heads, keys].concat();

    codes.sort_unstable();
    let bitmaps = slices(&codes, values.len().saturating_sub(1) as u64, 1);
    let mut head = vec![1, u8::try_from(bitmaps.len() - 1).unwrap()];
    head.extend([int(bitmaps[0].len()), int(8 * (bitmaps.len() - 1))].concat());
    let mut at = 0;
    for slice in &bitmaps[1..] {
        head.extend([int(at), int(slice.len())].concat());
        at += slice.len();
    }
    let slices = [int(head.len()).to_vec(), head, bitmaps.concat()].concat();

    let mut head = [vec![1], int(column.len()).to_vec(), int(values.len()).to_vec()].concat();
    for value in [values.first(), values.last()].into_iter().flatten() {
        head.extend(key(&value.0, layout));
    }
    head.extend(int(dictionary.len()));
    [int(head.len()).to_vec(), head, dictionary, slices].concat()
}

/// Returns the bitmap of the rows, and at least `at_least` bitmaps, one for each binary digit of numbers up to `max`.
fn slices(rows: &[(u32, u64)], max: u64, at_least: u32) -> Vec<Vec<u8>> {
    let digits = (64 - max.leading_zeros()).max(at_least);
    let exists = serialised(&rows.iter().map(|(row, _)| *row).collect());
    let slice = |digit: u32| {
        let set = rows.iter().filter(|(_, number)| number >> digit & 1 == 1);
        serialised(&set.map(|(row, _)| *row).collect())
    };
    std::iter::once(exists).chain((0..digits).map(slice)).collect()
}

/// Returns the rows of NULL, and of every value in Java's order.
fn distinct<'a>(column: &Column<'a>) -> (RoaringBitmap, Vec<(Value<'a>, RoaringBitmap)>) {
    let mut nulls = RoaringBitmap::new();
    let mut values: Vec<(Value<'a>, RoaringBitmap)> = Vec::new();
    let exact = |a: &Value<'_>, b: &Value<'_>| match (a, b) {
        (Value::Float(a), Value::Float(b)) => {
            let canonical = |value: f64| if value.is_nan() { f64::NAN } else { value };
            canonical(*a).total_cmp(&canonical(*b))
        }
        _ => a.order(b),
    };
    for (row, value) in (0..).zip(column) {
        let Some(value) = value else {
            nulls.insert(row);
            continue;
        };
        match values.binary_search_by(|(known, _)| exact(known, value)) {
            Ok(at) => drop(values[at].1.insert(row)),
            Err(at) => values.insert(at, (*value, RoaringBitmap::from_iter([row]))),
        }
    }
    (nulls, values)
}

fn place(rows: &RoaringBitmap, body: &mut Vec<u8>) -> (i32, i32) {
    if rows.len() == 1 {
        return (-1 - i32::try_from(rows.min().unwrap()).unwrap(), -1);
    }
    let start = body.len();
    body.extend(serialised(rows));
    (i32::try_from(start).unwrap(), i32::try_from(body.len() - start).unwrap())
}

fn serialised(rows: &RoaringBitmap) -> Vec<u8> {
    let mut rows = rows.clone();
    rows.optimize();
    let mut bytes = Vec::new();
    rows.serialize_into(&mut bytes).unwrap();
    bytes
}

fn key(value: &Value<'_>, layout: Layout) -> Vec<u8> {
    match (value, layout) {
        (Value::Integer(value), Layout::Boolean | Layout::Int8) => value.to_be_bytes()[7..].to_vec(),
        (Value::Integer(value), Layout::Int16) => value.to_be_bytes()[6..].to_vec(),
        (Value::Integer(value), Layout::Int32) => value.to_be_bytes()[4..].to_vec(),
        (Value::Integer(value), _) => value.to_be_bytes().to_vec(),
        #[expect(clippy::cast_possible_truncation, reason = "the values of a FLOAT column")]
        (Value::Float(value), Layout::Float) => (*value as f32).to_be_bytes().to_vec(),
        (Value::Float(value), _) => value.to_be_bytes().to_vec(),
        (Value::Bytes(bytes), _) => [int(bytes.len()).to_vec(), bytes.to_vec()].concat(),
    }
}

fn int(value: usize) -> [u8; 4] {
    i32::try_from(value).unwrap().to_be_bytes()
}

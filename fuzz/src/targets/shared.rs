//! Defines targets that are independent of table formats.

use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, NullArray, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer};
use bytes::Bytes;
use frazil_core::avro::{AvroFile, Projection};
use frazil_core::bitmap::{Positions, kept_of_portable64};
use frazil_core::filter::{Filter, Spare};
use frazil_core::hash::murmur3::{hash_byte_arrays, hash_bytes, hash_longs};
use frazil_core::orc::OrcFile;
use frazil_core::sql::expression::Expression;
use frazil_core::sql::expression::bind::Scope;
use frazil_core::sql::expression::rows::{Relation, Rows};
use frazil_core::storage::Location;
use frazil_core::variant;

use super::{BATCH_ROWS, Outcome, Refusal, Target, choice, context, law, target, text};

pub(super) const TARGETS: &[Target] = &[
    target("avro", avro, &[]).with_golden("", "", ".avro"),
    target("orc", orc, &[]).with_golden("", "", ".orc"),
    target("variant", variant, VARIANTS),
    target("roaring", roaring, &[ROARING]),
    target("hash", hash, &[b"\x10\x10\x10\x10 sixteen letters sixteen letters", b"\x03\x41\x00 of several lengths"]),
    target("filter", filter, MASKS),
    target("predicate", predicate, PREDICATES),
    target("expression", expression, EXPRESSIONS),
    target("location", location, LOCATIONS),
];

/// Masks with few, many and all rows of a word, and with partial words.
const MASKS: &[&[u8]] = &[
    &[0, 0x01, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0x40, 0, 0],
    &[3, 0xff, 0xfe, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[64, 0x55, 0xaa, 0x55, 0xaa, 0x0f, 0xf0, 0, 0xff, 0x55, 0xaa, 0x55, 0xaa, 0x0f, 0xf0, 0, 0xff, 0x33, 0xcc],
];

/// The number of rows in masks.
const MASK_ROWS: usize = 300_000;

fn avro(input: &[u8]) -> Outcome {
    let file = AvroFile::open(Bytes::copy_from_slice(input))?;
    let projection = Projection::natural(file.schema())?;
    for batch in file.batches(&projection, BATCH_ROWS, &context())? {
        law(batch?.num_rows() <= BATCH_ROWS, "a batch has no more rows than requested")?;
    }
    Ok(())
}

fn hash(input: &[u8]) -> Outcome {
    let (count, input) = choice(input)?;
    let (lengths, mut bytes) = input.split_at_checked(count).ok_or(Refusal::Error)?;
    // The number of values fills several SIMD lanes, regardless of the input.
    let mut values = Vec::new();
    for &length in lengths.iter().cycle().take(4 * lengths.len()) {
        let (value, rest) = bytes.split_at(bytes.len().min(usize::from(length)));
        values.push(value);
        bytes = if rest.is_empty() { input } else { rest };
    }
    let hashes = hash_byte_arrays(&BinaryArray::from_vec(values.clone()), 42, |hash| hash);
    let as_one = values.iter().zip(hashes.values()).all(|(value, hash)| hash_bytes(value, 42) == *hash);
    law(as_one, "values have the same hashes individually and in lanes")?;
    let numbers: Vec<i64> = input.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
    let hashes = hash_longs(&Int64Array::from(numbers.clone()), 42, |hash| hash);
    let as_bytes = numbers.iter().zip(hashes.values()).all(|(n, hash)| hash_bytes(&n.to_le_bytes(), 42) == *hash);
    law(as_bytes, "numbers have the hashes of their bytes")
}

/// Filters columns. The first byte is the offset of columns and mask in their buffers; the rest is the mask.
fn filter(input: &[u8]) -> Outcome {
    let (offset, input) = choice(input)?;
    let bits = BooleanBuffer::new(Buffer::from(input), 0, 8 * input.len());
    let rows = bits.len().checked_sub(offset).ok_or(Refusal::Error)?;
    let keep = bits.slice(offset, rows);
    let words = (0_i32..).zip(&bits).map(|(row, _)| (row % 5 > 0).then_some(row));
    let words: Int32Array = words.collect();
    let columns: [ArrayRef; 5] = [
        Arc::new(words.unary::<_, Int64Type>(i64::from)),
        Arc::new(words.unary::<_, Decimal128Type>(i128::from)),
        Arc::new(words.iter().map(|word| word.map(|word| word.to_string())).collect::<StringArray>()),
        Arc::new(words.iter().map(|word| word.map(|word| word % 3 > 0)).collect::<BooleanArray>()),
        Arc::new(words),
    ];
    let (filter, spare, oracle) = (Filter::new(&keep), Spare::default(), BooleanArray::new(keep, None));
    for column in columns.map(|column| column.slice(offset, rows)) {
        let kept = filter.array(&column, &spare)?;
        let expected = arrow_select::filter::filter(&column, &oracle);
        law(expected.is_ok_and(|expected| kept == expected), "exactly the rows of the mask are kept")?;
    }
    Ok(())
}

fn roaring(input: &[u8]) -> Outcome {
    let mask = kept_of_portable64(input, MASK_ROWS);
    let positions = Positions::decode_portable64(input);
    let below = positions.as_ref().ok().filter(|positions| positions.max().is_none_or(|max| max < MASK_ROWS as u64));
    law(mask.ok() == below.map(|positions| positions.kept(0, MASK_ROWS)), "the mask matches the positions")?;
    let positions = positions?;
    // The encoding fills the gap before a high key, which takes gigabytes.
    if positions.max().is_none_or(|max| max < 1 << 40) {
        let again = Positions::decode_portable64(&positions.encode_portable64()?)?;
        law(again.len() == positions.len() && again.max() == positions.max(), "written positions read back")?;
    }
    let end = positions.max().map_or(0, |max| max.saturating_add(1));
    law(positions.count_in(0..end) == positions.len(), "all positions are before the end")?;
    law(positions.max().is_none_or(|max| positions.contains(max)), "the maximum is one of the positions")?;
    law(
        positions.kept(0, 1000).count_set_bits() == 1000 - usize::try_from(positions.count_in(0..1000)).unwrap_or(0),
        "the mask matches the count",
    )
}

fn predicate(input: &[u8]) -> Outcome {
    let predicate = Expression::filter(text(input)?)?;
    law(
        Expression::filter(&predicate.to_string()).is_ok_and(|again| again.to_string() == predicate.to_string()),
        "a formatted predicate parses to itself",
    )
}

fn expression(input: &[u8]) -> Outcome {
    let expression = Expression::parse(text(input)?)?;
    let rows = rows()?;
    let schema = rows.schema();
    let bound = Scope::new(vec![("t", Some(&*schema))], 0).bind(&expression)?;
    let values = bound.evaluate(&Rows::new(rows.num_rows(), vec![Some(Relation::whole(&rows))]))?;
    law(values.len() == rows.num_rows(), "there is a value for each row")?;
    law(values.data_type() == bound.data_type(), "values have the declared type")
}

/// Returns a row of values, a row of NULLs and a row of other values.
fn rows() -> Result<RecordBatch, Refusal> {
    let columns: [(&str, ArrayRef); 9] = [
        ("i", Arc::new(Int32Array::from(vec![Some(1), None, Some(i32::MIN)]))),
        ("l", Arc::new(Int64Array::from(vec![Some(2), None, Some(i64::MAX)]))),
        ("r", Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::NAN)]))),
        ("f", Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(f64::INFINITY)]))),
        ("n", Arc::new(Decimal128Array::from(vec![Some(15), None, Some(-1)]))),
        ("s", Arc::new(StringArray::from(vec![Some("1"), None, Some("\u{df}x")]))),
        ("d", Arc::new(Date32Array::from(vec![Some(0), None, Some(i32::MAX)]))),
        ("x", Arc::new(NullArray::new(3))),
        ("z", Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None, Some(i64::MIN)]).with_timezone("UTC"))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true)))
        .map_err(|_| Refusal::BrokenLaw("the columns of the rows have the same length"))
}

fn location(input: &[u8]) -> Outcome {
    let location = Location::parse(text(input)?)?;
    let canonical = location.canonical();
    let again = Location::parse(&canonical);
    law(
        canonical.is_empty() || again.is_ok_and(|again| again.canonical() == canonical),
        "a canonical location is its own \
        canonical form",
    )
}

/// Decodes a variant. The first byte is the length of the metadata.
fn variant(input: &[u8]) -> Outcome {
    let (length, rest) = choice(input)?;
    let (metadata, value) = rest.split_at_checked(length).ok_or(Refusal::Error)?;
    variant::to_json(metadata, value)?;
    Ok(())
}

fn orc(input: &[u8]) -> Outcome {
    let file = OrcFile::open(Bytes::copy_from_slice(input))?;
    let columns: Vec<usize> = (0..file.schema().fields().len()).collect();
    for batch in file.batches(&columns, BATCH_ROWS)? {
        batch?;
    }
    Ok(())
}

/// One bitmap of one array container: 1, 5, 7.
const ROARING: &[u8] = b"\x01\0\0\0\0\0\0\0\0\0\0\0\x3a\x30\0\0\x01\0\0\0\0\0\x02\0\x10\0\0\0\x01\0\x05\0\x07\0";

const PREDICATES: &[&[u8]] = &[
    b"ts >= '2024-01-01T00:00:00' and id in (1, 2) and name like 'a%' and not (x is null or f is nan)",
    b"a.b between -1.5e-3 and +2 or `odd name` <> \"other\".\"x\" or b = X'00ff'",
    b"d = DATE '2024-01-01' and t < TIME '10:00:00.5' and z > TIMESTAMP '2024-01-01T00:00:00+01:00'",
    b"f = nan or f = -inf or f <= -0.0 or flag or not flag and x is not null and y not in (null, 'it''s')",
];

const EXPRESSIONS: &[&[u8]] = &[
    b"case when t.i > 1 then n * 2.5 else coalesce(l, 3) end + abs(-i) % 7",
    b"upper(substring(s, -2, 1)) || 'x' like '%X' escape '!' and not (f is nan or r <> 0.1) or s in ('1', null)",
    b"cast(z as date) between d and current_date or try_cast(s as decimal(5, 2)) <=> round(f, 2)",
    b"case s when '1' then cast(d as string) else nullif(trim(lower(s)), '') end is distinct from cast(z as text)",
    b"greatest(i, l, n) / least(r, f) - length(X'00ff') * (l + 1)",
];

const LOCATIONS: &[&[u8]] = &[
    b"s3a://bucket/wh/t/data/f.parquet",
    b"file:///wh/./t/../u//f",
    b"hdfs://nn:8020/wh/t",
    b"abfss://c@acc.dfs.core.windows.net/k",
    b"C:\\wh\\t",
];

const VARIANTS: &[&[u8]] = &[
    // {"a": 5, "b": null}
    b"\x07\x01\x02\x00\x01\x02ab\x02\x02\x00\x01\x00\x02\x03\x0c\x05\x00",
    // [true, "hi", 1.5]
    b"\x03\x01\x00\x00\x03\x03\x00\x01\x04\x0d\x04\x09hi\x1c\x00\x00\x00\x00\x00\x00\xf8\x3f",
];

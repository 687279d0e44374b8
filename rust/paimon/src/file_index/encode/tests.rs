use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, PrimitiveArray,
    RecordBatch, StringArray,
};
use frazil_core::error::ErrorKind;

use super::IndexOptions;
use crate::file_index::value::Layout;
use crate::file_index::value::{Question, Value, Values};
use crate::file_index::{FileIndex, bitmap};
use crate::spec::options::Options;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// Indexes that Java wrote; `tests/histories/paimon/file_indexes.py` describes the format.
const OF_JAVA: &str = include_str!("../../../testdata/file_indexes.txt");

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn root(name: &str) -> TypeRoot {
    match name {
        "BOOLEAN" => TypeRoot::Boolean,
        "TINYINT" => TypeRoot::TinyInt,
        "SMALLINT" => TypeRoot::SmallInt,
        "INT" => TypeRoot::Int,
        "BIGINT" => TypeRoot::BigInt,
        "DATE" => TypeRoot::Date,
        "TIME(3)" => TypeRoot::Time(3),
        "FLOAT" => TypeRoot::Float,
        "DOUBLE" => TypeRoot::Double,
        "DECIMAL(10, 2)" => TypeRoot::Decimal(10, 2),
        "TIMESTAMP(3)" => TypeRoot::Timestamp(3),
        "TIMESTAMP(6)" => TypeRoot::Timestamp(6),
        "TIMESTAMP(9)" => TypeRoot::Timestamp(9),
        "TIMESTAMP(6) WITH LOCAL TIME ZONE" => TypeRoot::LocalZonedTimestamp(6),
        "STRING" => TypeRoot::VarChar(u32::MAX >> 1),
        "BYTES" => TypeRoot::VarBinary(u32::MAX >> 1),
        other => panic!("{other}"),
    }
}

fn field(name: &str, root: TypeRoot) -> DataField {
    let data_type = DataType::nullable(root);
    DataField { id: 0, name: name.into(), data_type, description: None, default_value: None }
}

fn options(pairs: &[(&str, &str)]) -> Options {
    Options::new(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
}

fn primitive<T: ArrowPrimitiveType>(numbers: &[Option<i64>], held: impl Fn(i64) -> T::Native) -> ArrayRef {
    Arc::new(numbers.iter().map(|number| number.map(&held)).collect::<PrimitiveArray<T>>())
}

#[expect(clippy::cast_possible_truncation, reason = "the values fit the types that they are for")]
fn array(root: &TypeRoot, texts: &[Option<&str>]) -> ArrayRef {
    if matches!(root, TypeRoot::VarChar(_) | TypeRoot::VarBinary(_)) {
        let values: Vec<Option<Vec<u8>>> = texts.iter().map(|text| text.map(|text| hex(&text[1..]))).collect();
        if matches!(root, TypeRoot::VarBinary(_)) {
            return Arc::new(values.iter().map(Option::as_deref).collect::<BinaryArray>());
        }
        let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
        return Arc::new(values.iter().map(|value| value.as_ref().map(text)).collect::<StringArray>());
    }
    let numbers: Vec<Option<i64>> = texts.iter().map(|text| text.map(|text| text.parse().unwrap())).collect();
    match root {
        TypeRoot::Boolean => Arc::new(numbers.iter().map(|n| n.map(|n| n == 1)).collect::<BooleanArray>()),
        TypeRoot::Float => {
            let float = |bits: i64| f32::from_bits((bits as i32).cast_unsigned());
            Arc::new(numbers.iter().map(|n| n.map(float)).collect::<Float32Array>())
        }
        TypeRoot::Double => {
            let float = |bits: i64| f64::from_bits(bits.cast_unsigned());
            Arc::new(numbers.iter().map(|n| n.map(float)).collect::<Float64Array>())
        }
        TypeRoot::TinyInt => primitive::<Int8Type>(&numbers, |n| n as i8),
        TypeRoot::SmallInt => primitive::<Int16Type>(&numbers, |n| n as i16),
        TypeRoot::Int => primitive::<Int32Type>(&numbers, |n| n as i32),
        TypeRoot::BigInt => primitive::<Int64Type>(&numbers, |n| n),
        TypeRoot::Date => primitive::<Date32Type>(&numbers, |n| n as i32),
        TypeRoot::Time(_) => primitive::<Time32MillisecondType>(&numbers, |n| n as i32),
        TypeRoot::Decimal(..) => primitive::<Decimal128Type>(&numbers, i128::from),
        TypeRoot::Timestamp(3) => primitive::<TimestampMillisecondType>(&numbers, |n| n),
        TypeRoot::Timestamp(9) => primitive::<TimestampNanosecondType>(&numbers, |n| n),
        _ => primitive::<TimestampMicrosecondType>(&numbers, |n| n),
    }
}

/// Returns the bytes of the only index of a file whose rows are added in two batches.
fn body(kind: &str, texts: &str, root: &TypeRoot, rows: &[Option<&str>]) -> Vec<u8> {
    let mut given = vec![(format!("file-index.{kind}.columns"), "c".to_string())];
    let pairs = texts.split(',').filter_map(|option| option.split_once('='));
    given.extend(pairs.map(|(name, value)| (format!("file-index.{kind}.c.{name}"), value.to_string())));
    let options = Options::new(given.into_iter().collect());
    let asked = IndexOptions::try_new(&options, &[field("c", root.clone())]).unwrap().unwrap();
    let mut builder = asked.builder();
    let (first, second) = rows.split_at(rows.len() / 3);
    for part in [first, second] {
        builder.add(&RecordBatch::try_from_iter([("c", array(root, part))]).unwrap()).unwrap();
    }
    let bytes = builder.finish().unwrap();
    let index = FileIndex::parse(bytes.clone()).unwrap();
    bytes[index.indexes[0].body.clone().unwrap()].to_vec()
}

/// Returns the rows of each value in a bitmap index.
fn rows_of_values(body: &[u8], root: &TypeRoot, texts: &BTreeSet<Option<&str>>, rows: usize) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    for text in texts {
        let bytes = text.filter(|_| Layout::of(root) == Some(Layout::Bytes)).map(|text| hex(&text[1..]));
        let value = text.map(|text| match (&bytes, root) {
            (Some(bytes), _) => Value::Bytes(bytes),
            (None, TypeRoot::Float) => {
                let bits: i32 = text.parse().unwrap();
                Value::Float(f64::from(f32::from_bits(bits.cast_unsigned())))
            }
            (None, TypeRoot::Double) => Value::Float(f64::from_bits(text.parse::<i64>().unwrap().cast_unsigned())),
            (None, TypeRoot::Timestamp(9)) => Value::Integer(text.parse::<i64>().unwrap().div_euclid(1000)),
            (None, _) => Value::Integer(text.parse().unwrap()),
        });
        let question = Question { nulls: text.is_none(), values: Values::In(value.into_iter().collect()) };
        let bits = bitmap::rows(body, &question, root, rows).unwrap().unwrap();
        found.push(bits.set_indices().collect());
    }
    found
}

#[test]
fn indexes_have_the_bytes_of_java() {
    let (mut equal, mut reordered) = (0, 0);
    for line in OF_JAVA.lines() {
        let (before, expected) = line.split_once(" > ").unwrap();
        let parts: Vec<&str> = before.split(" | ").collect();
        let root = root(parts[1]);
        let rows = parts[3].split(' ').flat_map(|text| {
            let (value, count) =
                text.split_once('*').map_or((text, 1), |(value, count)| (value, count.parse().unwrap()));
            std::iter::repeat_n((value != "n").then_some(value), count)
        });
        let rows: Vec<Option<&str>> = rows.collect();
        let (found, expected) = (body(parts[0], parts[2], &root, &rows), hex(expected));
        if parts[0] == "bitmap" && found != expected {
            // Java orders bitmaps, and in version 1 also the values, by a hash map.
            assert_eq!(found.len(), expected.len(), "{before}");
            let distinct: BTreeSet<Option<&str>> = rows.iter().copied().collect();
            let of = |body: &[u8]| rows_of_values(body, &root, &distinct, rows.len());
            assert_eq!(of(&found), of(&expected), "{before}");
            reordered += 1;
        } else {
            assert!(found == expected, "{before}\n{found:02x?}\n{expected:02x?}");
            equal += 1;
        }
    }
    assert!(equal > 350 && reordered > 10, "{equal} {reordered}");
}

/// Returns the stored columns with the types of their indexes, and whether each has bytes.
fn contents(bytes: &bytes::Bytes) -> Vec<(String, String, bool)> {
    let index = FileIndex::parse(bytes.clone()).unwrap();
    let name = |range: std::ops::Range<usize>| String::from_utf8(bytes[range].to_vec()).unwrap();
    let indexes = index.indexes.iter();
    indexes.map(|index| (name(index.column.clone()), format!("{:?}", index.kind), index.body.is_some())).collect()
}

fn maps() -> RecordBatch {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for (keys, valid) in [(&["k", "l"][..], true), (&[], true), (&["l"], true), (&[], false), (&["k"], true)] {
        for key in keys {
            maps.keys().append_value(key);
            maps.values().append_value(if *key == "k" { 7 } else { 8 });
        }
        maps.append(valid).unwrap();
    }
    RecordBatch::try_from_iter([("m", Arc::new(maps.finish()) as ArrayRef)]).unwrap()
}

fn map_field() -> DataField {
    let text = DataType::required(TypeRoot::VarChar(9));
    field("m", TypeRoot::Map(Box::new(text), Box::new(DataType::nullable(TypeRoot::Int))))
}

#[test]
fn keys_of_maps_are_indexed_like_columns() {
    let pairs = [("file-index.bitmap.columns", "m[k], m[z]"), ("file-index.bitmap.m.index-block-size", "1 kb")];
    let asked = IndexOptions::try_new(&options(&pairs), &[map_field()]).unwrap().unwrap();
    let mut builder = asked.builder();
    builder.add(&maps()).unwrap();
    let bytes = builder.finish().unwrap();
    let names: Vec<String> = contents(&bytes).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["m[k]", "m[z]"]);
    let body = FileIndex::parse(bytes.clone()).unwrap().indexes[0].body.clone().unwrap();
    let texts = [None, Some("7"), Some("8")].into();
    assert_eq!(rows_of_values(&bytes[body], &TypeRoot::Int, &texts, 5), [vec![1, 2, 3], vec![0, 4], vec![]]);
    let nothing = contents(&asked.builder().finish().unwrap());
    assert!(nothing.iter().all(|(.., has_body)| !has_body), "{nothing:?}");
}

#[test]
fn a_file_has_the_indexes_that_the_options_ask_for() {
    let fields = [field("a", TypeRoot::Int), field("b", TypeRoot::BigInt), field("c", TypeRoot::Int)];
    let pairs = [
        ("file-index.bsi.columns", "b,a"),
        ("file-index.range-bitmap.columns", "a,a,"),
        ("file-index.read.enabled", "false"),
        ("file-index.in-manifest-threshold", "1 kb"),
    ];
    let asked = IndexOptions::try_new(&options(&pairs), &fields).unwrap().unwrap();
    assert_eq!(asked.in_manifest_bytes(), 1024);
    let mut builder = asked.builder();
    let columns: [(&str, ArrayRef); 2] =
        [("b", Arc::new(Int64Array::from(vec![1]))), ("a", Arc::new(Int32Array::from(vec![2])))];
    builder.add(&RecordBatch::try_from_iter(columns).unwrap()).unwrap();
    let found = contents(&builder.finish().unwrap());
    let expected = [("b", "Bsi"), ("a", "Bsi"), ("a", "RangeBitmap")];
    assert_eq!(found, expected.map(|(name, kind)| (name.to_string(), kind.to_string(), true)));
    assert_eq!(IndexOptions::try_new(&options(&[("file-index.read.enabled", "true")]), &fields).unwrap(), None);
}

#[test]
fn options_that_cannot_be_meant_are_named() {
    let fields = [
        field("t", TypeRoot::VarChar(9)),
        field("x", TypeRoot::Binary(9)),
        field("d", TypeRoot::Decimal(20, 0)),
        field("n", TypeRoot::Timestamp(9)),
        map_field(),
    ];
    for (pairs, said) in [
        (&[("file-index.bsi.columns", "t")][..], ["`bsi`", "`t`"]),
        (&[("file-index.bitmap.columns", "x")], ["`bitmap`", "`x`"]),
        (&[("file-index.bloom-filter.columns", "d")], ["`bloom-filter`", "`d`"]),
        (&[("file-index.range-bitmap.columns", "d")], ["`range-bitmap`", "`d`"]),
        (&[("file-index.range-bitmap.columns", "n")], ["`range-bitmap`", "`n`"]),
        (&[("file-index.bitmap.columns", "m")], ["`bitmap`", "`m`"]),
        (&[("file-index.bitmap.columns", "t[k]")], ["`t[k]`", "`t`"]),
        (&[("file-index.bitmap.columns", "y")], ["file-index.bitmap.columns", "`y`"]),
        (&[("file-index.bitmap.columns", "t,,x")], ["file-index.bitmap.columns", "empty"]),
        (&[("file-index.magic.columns", "t")], ["file-index.magic.columns", "`magic`"]),
        (&[("file-index.bitmap.t.version", "1")], ["file-index.bitmap.t.version", "`t`"]),
        (&[("file-index.bitmap.columns", "t"), ("file-index.bitmap.t.version", "3")], ["bitmap.t.version", "3"]),
        (&[("file-index.bloom-filter.columns", "t"), ("file-index.bloom-filter.t.fpp", "0")], ["t.fpp", "0"]),
        (&[("file-index.bloom-filter.columns", "t"), ("file-index.bloom-filter.t.items", "0")], ["t.items", "0"]),
        (
            &[("file-index.bloom-filter.columns", "t"), ("file-index.bloom-filter.t.items", "2147483647")],
            ["t.items", "2147483647"],
        ),
        (
            &[("file-index.range-bitmap.columns", "t"), ("file-index.range-bitmap.t.chunk-size", "2 gb")],
            ["t.chunk-size", "2 gb"],
        ),
    ] {
        let error = IndexOptions::try_new(&options(pairs), &fields).unwrap_err();
        assert!(said.iter().all(|said| error.to_string().contains(said)), "{pairs:?}: {error}");
    }
}

#[test]
fn values_that_an_index_does_not_hold_are_refused() {
    let pairs = [("file-index.bsi.columns", "b,d")];
    let fields = [field("b", TypeRoot::BigInt), field("d", TypeRoot::Decimal(20, 0))];
    let asked = IndexOptions::try_new(&options(&pairs), &fields).unwrap().unwrap();
    let wide = |number: i128| Arc::new([Some(number), None].into_iter().collect::<PrimitiveArray<Decimal128Type>>());
    let long = |number: i64| Arc::new(Int64Array::from(vec![Some(number), None]));
    for (b, d, kind) in [
        (long(i64::MIN), wide(1), Some(ErrorKind::LimitExceeded)),
        (long(1), wide(i128::from(i64::MAX) + 1), Some(ErrorKind::LimitExceeded)),
        (long(i64::MIN + 1), wide(i128::from(i64::MAX)), None),
    ] {
        let batch = RecordBatch::try_from_iter([("b", b as ArrayRef), ("d", d as ArrayRef)]).unwrap();
        assert_eq!(asked.builder().add(&batch).err().map(|error| error.kind()), kind);
    }
    let other = RecordBatch::try_from_iter([("b", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]).unwrap();
    let error = asked.builder().add(&other).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("Int32"), "{error}");
    let error = asked.builder().add(&maps()).unwrap_err();
    assert!(error.to_string().contains("`b`"), "{error}");
}

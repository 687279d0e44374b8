//! Tests with random schemas and rows, written by the apache-avro crate.

use std::sync::atomic::{AtomicU32, Ordering};

use apache_avro::types::Value;
use apache_avro::{Bzip2Settings, DeflateSettings, Writer, XzSettings, ZstandardSettings};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_select::concat::concat_batches;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A schema that can be written as JSON.
#[derive(Debug, Clone)]
enum Type {
    Plain(&'static str),
    Logical(&'static str, &'static str),
    Fixed(usize),
    Enum,
    /// The precision, the scale, and the size of the fixed.
    Decimal(u32, u32, Option<usize>),
    UuidText,
    UuidFixed,
    Record(Vec<Type>),
    Array(Box<Type>),
    Map(Box<Type>),
    Pairs(Box<Type>),
    /// Whether null is the first branch.
    Nullable(Box<Type>, bool),
    Single(Box<Type>),
}

const SYMBOLS: [&str; 3] = ["A", "BB", "CCC"];

impl Type {
    fn json(&self) -> String {
        static NAMES: AtomicU32 = AtomicU32::new(0);
        let name = format!("n{}", NAMES.fetch_add(1, Ordering::Relaxed));
        match self {
            Self::Plain(name) => format!("{name:?}"),
            Self::Logical(logical, plain) => format!(r#"{{"type":"{plain}","logicalType":"{logical}"}}"#),
            Self::Fixed(size) => format!(r#"{{"type":"fixed","name":"{name}","size":{size}}}"#),
            Self::Enum => format!(r#"{{"type":"enum","name":"{name}","symbols":{SYMBOLS:?}}}"#),
            Self::Decimal(precision, scale, size) => {
                let shape = size.map_or(r#""type":"bytes""#.to_owned(), |size| {
                    format!(r#""type":"fixed","name":"{name}","size":{size}"#)
                });
                format!(r#"{{{shape},"logicalType":"decimal","precision":{precision},"scale":{scale}}}"#)
            }
            Self::UuidText => r#"{"type":"string","logicalType":"uuid"}"#.to_owned(),
            Self::UuidFixed => format!(r#"{{"type":"fixed","name":"{name}","size":16,"logicalType":"uuid"}}"#),
            Self::Record(fields) => {
                let field = |(i, t): (usize, &Self)| format!(r#"{{"name":"f{i}","type":{}}}"#, t.json());
                let fields: Vec<String> = fields.iter().enumerate().map(field).collect();
                format!(r#"{{"type":"record","name":"{name}","fields":[{}]}}"#, fields.join(","))
            }
            Self::Array(items) => format!(r#"{{"type":"array","items":{}}}"#, items.json()),
            Self::Map(values) => format!(r#"{{"type":"map","values":{}}}"#, values.json()),
            Self::Pairs(value) => format!(
                r#"{{"type":"array","logicalType":"map","items":{{"type":"record","name":"{name}","fields":[
                    {{"name":"key","type":"int"}},{{"name":"value","type":{}}}]}}}}"#,
                value.json()
            ),
            Self::Nullable(inner, true) => format!(r#"["null",{}]"#, inner.json()),
            Self::Nullable(inner, false) => format!(r#"[{},"null"]"#, inner.json()),
            Self::Single(inner) => format!("[{}]", inner.json()),
        }
    }

    fn value(&self) -> BoxedStrategy<Value> {
        match self {
            Self::Plain(name) => plain_value(name),
            Self::Logical(logical, _) => logical_value(logical),
            Self::Fixed(size) => {
                let size = *size;
                vec(any::<u8>(), size).prop_map(move |bytes| Value::Fixed(size, bytes)).boxed()
            }
            Self::Enum => (0_u32..3).prop_map(|i| Value::Enum(i, SYMBOLS[i as usize].to_owned())).boxed(),
            Self::Decimal(..) => {
                let bytes = (-999_i32..=999).prop_map(|n| {
                    let bytes = n.to_be_bytes();
                    // The shortest form, as BigInteger writes it.
                    let same = bytes.windows(2).take_while(|w| w[0] == (w[1] >> 7) * 0xff).count();
                    bytes[same..].to_vec()
                });
                bytes.prop_map(|bytes| Value::Decimal(bytes.into())).boxed()
            }
            Self::UuidText | Self::UuidFixed => {
                any::<u128>().prop_map(|n| Value::Uuid(apache_avro::Uuid::from_u128(n))).boxed()
            }
            Self::Record(fields) => {
                let fields: Vec<_> = fields.iter().map(Self::value).collect();
                let name = |values: Vec<Value>| (0..).map(|i| format!("f{i}")).zip(values).collect();
                fields.prop_map(move |values| Value::Record(name(values))).boxed()
            }
            Self::Array(items) => vec(items.value(), 0..4).prop_map(Value::Array).boxed(),
            Self::Map(values) => {
                proptest::collection::hash_map("[a-z]{0,3}", values.value(), 0..4).prop_map(Value::Map).boxed()
            }
            Self::Pairs(value) => {
                let pair = |(key, value)| Value::Record(vec![("key".into(), Value::Int(key)), ("value".into(), value)]);
                vec((any::<i32>(), value.value()).prop_map(pair), 0..4).prop_map(Value::Array).boxed()
            }
            Self::Nullable(inner, null_first) => {
                let (null, value) = if *null_first { (0, 1) } else { (1, 0) };
                prop_oneof![
                    Just(Value::Union(null, Box::new(Value::Null))),
                    inner.value().prop_map(move |inner| Value::Union(value, Box::new(inner))),
                ]
                .boxed()
            }
            Self::Single(inner) => inner.value().prop_map(|inner| Value::Union(0, Box::new(inner))).boxed(),
        }
    }
}

fn plain_value(name: &str) -> BoxedStrategy<Value> {
    match name {
        "null" => Just(Value::Null).boxed(),
        "boolean" => any::<bool>().prop_map(Value::Boolean).boxed(),
        "int" => any::<i32>().prop_map(Value::Int).boxed(),
        "long" => prop_oneof![any::<i64>(), -70_i64..70].prop_map(Value::Long).boxed(),
        "float" => any::<f32>().prop_map(Value::Float).boxed(),
        "double" => any::<f64>().prop_map(Value::Double).boxed(),
        "bytes" => vec(any::<u8>(), 0..80).prop_map(Value::Bytes).boxed(),
        _ => ".{0,6}".prop_map(Value::String).boxed(),
    }
}

fn logical_value(logical: &str) -> BoxedStrategy<Value> {
    let long = any::<i64>();
    match logical {
        "date" => any::<i32>().prop_map(Value::Date).boxed(),
        "time-millis" => any::<i32>().prop_map(Value::TimeMillis).boxed(),
        "time-micros" => long.prop_map(Value::TimeMicros).boxed(),
        "timestamp-millis" => long.prop_map(Value::TimestampMillis).boxed(),
        "timestamp-micros" => long.prop_map(Value::TimestampMicros).boxed(),
        "timestamp-nanos" => long.prop_map(Value::TimestampNanos).boxed(),
        "local-timestamp-millis" => long.prop_map(Value::LocalTimestampMillis).boxed(),
        "local-timestamp-micros" => long.prop_map(Value::LocalTimestampMicros).boxed(),
        _ => long.prop_map(Value::LocalTimestampNanos).boxed(),
    }
}

fn types() -> impl Strategy<Value = Type> {
    let plain = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];
    let logical = [
        ("date", "int"),
        ("time-millis", "int"),
        ("time-micros", "long"),
        ("timestamp-millis", "long"),
        ("timestamp-micros", "long"),
        ("timestamp-nanos", "long"),
        ("local-timestamp-millis", "long"),
        ("local-timestamp-micros", "long"),
        ("local-timestamp-nanos", "long"),
    ];
    let leaf = prop_oneof![
        4 => proptest::sample::select(plain.to_vec()).prop_map(Type::Plain),
        2 => proptest::sample::select(logical.to_vec()).prop_map(|(logical, plain)| Type::Logical(logical, plain)),
        1 => (1_usize..20).prop_map(Type::Fixed),
        1 => Just(Type::Enum),
        1 => proptest::option::of(2_usize..16).prop_map(|size| Type::Decimal(4, 2, size)),
        1 => Just(Type::UuidText),
        1 => Just(Type::UuidFixed),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let no_union = inner.clone().prop_filter("unions do not nest", |t| {
            !matches!(t, Type::Nullable(..) | Type::Single(_) | Type::Plain("null"))
        });
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Type::Record),
            inner.clone().prop_map(|t| Type::Array(Box::new(t))),
            inner.clone().prop_map(|t| Type::Map(Box::new(t))),
            inner.prop_map(|t| Type::Pairs(Box::new(t))),
            (no_union.clone(), any::<bool>()).prop_map(|(t, first)| Type::Nullable(Box::new(t), first)),
            no_union.prop_map(|t| Type::Single(Box::new(t))),
        ]
    })
}

fn codecs() -> impl Strategy<Value = apache_avro::Codec> {
    proptest::sample::select(vec![
        apache_avro::Codec::Null,
        apache_avro::Codec::Deflate(DeflateSettings::default()),
        apache_avro::Codec::Snappy,
        apache_avro::Codec::Zstandard(ZstandardSettings::default()),
        apache_avro::Codec::Bzip2(Bzip2Settings::default()),
        apache_avro::Codec::Xz(XzSettings::default()),
    ])
}

/// Returns a row type, its rows, a codec and the number of rows in a block.
fn tables() -> impl Strategy<Value = (Type, Vec<Value>, apache_avro::Codec, usize)> {
    let row = vec(types(), 1..5).prop_map(Type::Record);
    let rows = row.prop_flat_map(|row| (Just(row.clone()), vec(row.value(), 0..12)));
    (rows, codecs(), 1_usize..6).prop_map(|((row, values), codec, per_block)| (row, values, codec, per_block))
}

fn write(row: &Type, rows: &[Value], codec: apache_avro::Codec, rows_per_block: usize) -> Vec<u8> {
    let schema = apache_avro::Schema::parse_str(&row.json()).unwrap();
    let mut writer = Writer::with_codec(&schema, Vec::new(), codec).unwrap();
    for chunk in rows.chunks(rows_per_block) {
        for row in chunk {
            writer.append_value_ref(row).unwrap();
        }
        writer.flush().unwrap();
    }
    writer.into_inner().unwrap()
}

/// Asserts that `array` contains `value` at `row`.
fn check(array: &dyn Array, row: usize, value: &Value) {
    macro_rules! primitive {
        ($type:ty, $value:expr) => {
            assert_eq!(array.as_primitive::<$type>().value(row), *$value)
        };
    }
    let inner = if let Value::Union(_, inner) = value { inner } else { value };
    assert_eq!(array.logical_nulls().is_some_and(|nulls| nulls.is_null(row)), *inner == Value::Null, "{value:?}");
    match inner {
        Value::Null => {}
        Value::Boolean(v) => assert_eq!(array.as_boolean().value(row), *v),
        Value::Int(v) => primitive!(Int32Type, v),
        Value::Long(v) => primitive!(Int64Type, v),
        Value::Float(v) => assert_eq!(array.as_primitive::<Float32Type>().value(row).to_bits(), v.to_bits()),
        Value::Double(v) => assert_eq!(array.as_primitive::<Float64Type>().value(row).to_bits(), v.to_bits()),
        Value::Bytes(v) => assert_eq!(array.as_binary::<i32>().value(row), v),
        Value::String(v) | Value::Enum(_, v) => assert_eq!(array.as_string::<i32>().value(row), v),
        Value::Fixed(_, v) => assert_eq!(array.as_fixed_size_binary().value(row), v),
        Value::Uuid(v) => assert_eq!(array.as_fixed_size_binary().value(row), v.as_bytes()),
        Value::Date(v) => primitive!(Date32Type, v),
        Value::TimeMillis(v) => primitive!(Time32MillisecondType, v),
        Value::TimeMicros(v) => primitive!(Time64MicrosecondType, v),
        Value::TimestampMillis(v) | Value::LocalTimestampMillis(v) => primitive!(TimestampMillisecondType, v),
        Value::TimestampMicros(v) | Value::LocalTimestampMicros(v) => primitive!(TimestampMicrosecondType, v),
        Value::TimestampNanos(v) | Value::LocalTimestampNanos(v) => primitive!(TimestampNanosecondType, v),
        Value::Decimal(v) => {
            let bytes = <Vec<u8>>::try_from(v).unwrap();
            let expected = bytes.iter().fold(0_i128, |sum, byte| (sum << 8) | i128::from(*byte));
            let bits = 128 - 8 * bytes.len();
            primitive!(Decimal128Type, &(expected << bits >> bits));
        }
        Value::Record(fields) => {
            let record = array.as_struct();
            assert_eq!(record.num_columns(), fields.len());
            fields.iter().zip(record.columns()).for_each(|((_, value), column)| check(column, row, value));
        }
        Value::Array(items) => match array.as_map_opt() {
            None => {
                let list = array.as_list::<i32>().value(row);
                assert_eq!(list.len(), items.len());
                items.iter().enumerate().for_each(|(i, item)| check(&list, i, item));
            }
            Some(map) => {
                let entries = map.value(row);
                assert_eq!(entries.len(), items.len());
                items.iter().enumerate().for_each(|(i, item)| check(&entries, i, item));
            }
        },
        Value::Map(entries) => {
            let map = array.as_map().value(row);
            assert_eq!(map.len(), entries.len());
            for i in 0..map.len() {
                let key = map.column(0).as_string::<i32>().value(i);
                check(map.column(1), i, &entries[key]);
            }
        }
        other => panic!("{other:?} is not made by these tests"),
    }
}

fn check_batch(batch: &RecordBatch, rows: &[Value]) {
    assert_eq!(batch.num_rows(), rows.len());
    let array = StructArray::from(batch.clone());
    rows.iter().enumerate().for_each(|(i, row)| check(&array, i, row));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn files_written_by_the_avro_crate_are_read((row, rows, codec, per_block) in tables()) {
        let bytes = write(&row, &rows, codec, per_block);
        let file = AvroFile::open(bytes).unwrap();
        let all = Projection::natural(file.schema()).unwrap();
        let context = Context::new(crate::context::Budget::new(64 << 20));
        let batch = file.read(&all, &context).unwrap();
        check_batch(&batch, &rows);
        prop_assert_eq!(batch.schema(), Arc::new(file.arrow_schema().unwrap()));
        prop_assert_eq!(context.budget.used_bytes(), 0);
    }

    #[test]
    fn batches_make_up_the_whole((row, rows, codec, per_block) in tables(), batch_rows in 1_usize..5) {
        let file = AvroFile::open(write(&row, &rows, codec, per_block)).unwrap();
        let all = Projection::natural(file.schema()).unwrap();
        let whole = file.read(&all, &Context::default()).unwrap();
        let batches = file.batches(&all, batch_rows, &Context::default()).unwrap();
        let batches: Vec<RecordBatch> = batches.collect::<Result<_>>().unwrap();
        prop_assert!(batches.iter().all(|batch| (1..=batch_rows).contains(&batch.num_rows())));
        prop_assert_eq!(concat_batches(&whole.schema(), &batches).unwrap(), whole);
    }

    #[test]
    fn columns_do_not_depend_on_the_rest_of_the_projection((row, rows, codec, per_block) in tables(), wanted in any::<[bool; 4]>()) {
        let file = AvroFile::open(write(&row, &rows, codec, per_block)).unwrap();
        let width = file.arrow_schema().unwrap().fields().len();
        let wanted: Vec<usize> = (0..width).filter(|&i| wanted[i]).rev().collect();
        let all = Projection::natural(file.schema()).unwrap();
        let some = Projection::natural_columns(file.schema(), &wanted).unwrap();
        let context = Context::default();
        let expected = file.read(&all, &context).unwrap().project(&wanted).unwrap();
        prop_assert_eq!(file.read(&some, &context).unwrap(), expected);
    }

    #[test]
    fn rewritten_batches_round_trip((row, rows, codec, per_block) in tables(), batch_rows in 1_usize..5) {
        let file = AvroFile::open(write(&row, &rows, codec, per_block)).unwrap();
        let batch = file.read(&Projection::natural(file.schema()).unwrap(), &Context::default()).unwrap();
        let codec = match file.codec() {
            Codec::Bzip2 | Codec::Xz => Codec::Null,
            codec => codec,
        };
        let schema = std::str::from_utf8(file.metadata("avro.schema").unwrap()).unwrap();
        let mut writer = super::super::Writer::new(schema, &[("key", "value")], codec, [7; SYNC_BYTES]).unwrap();
        for start in (0..rows.len()).step_by(batch_rows) {
            writer.write(&batch.slice(start, batch_rows.min(rows.len() - start))).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let again = AvroFile::open(bytes.clone()).unwrap();
        prop_assert_eq!((again.codec(), again.metadata("key")), (codec, Some(&b"value"[..])));
        prop_assert_eq!(&again.read(&Projection::natural(again.schema()).unwrap(), &Context::default()).unwrap(), &batch);
        let values: Vec<Value> = apache_avro::Reader::new(&bytes[..]).unwrap().map(|value| value.unwrap()).collect();
        check_batch(&batch, &values);
    }

    #[test]
    fn copied_encoded_values_match_read_values((row, rows, codec, per_block) in tables(), copied in any::<[bool; 4]>()) {
        let file = AvroFile::open(write(&row, &rows, codec, per_block)).unwrap();
        let all = Projection::natural(file.schema()).unwrap();
        let mut some = all.clone();
        for (column, copied) in some.fields.iter_mut().zip(copied) {
            if copied {
                column.kind = Kind::Encoded;
            }
        }
        let schema = std::str::from_utf8(file.metadata("avro.schema").unwrap()).unwrap();
        let mut writer = super::super::Writer::new(schema, &[], Codec::Null, [7; SYNC_BYTES]).unwrap();
        for batch in file.batches(&some, 2, &Context::default()).unwrap() {
            writer.write(&batch.unwrap()).unwrap();
        }
        let again = AvroFile::open(writer.finish().unwrap()).unwrap();
        prop_assert_eq!(again.read(&all, &Context::default()).unwrap(), file.read(&all, &Context::default()).unwrap());
    }

    #[test]
    fn damage_never_panics((row, rows, _, per_block) in tables(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = write(&row, &rows, apache_avro::Codec::Null, per_block);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        // Any result except a panic is valid, because Avro has no checksum.
        drop(read(&bytes));
        drop(project(&bytes, []));
    }
}

//! `vectors.json`: rows of bucket keys, each followed by the bucket that Java computed. Times are in the unit of their
//! type, decimals unscaled, bytes hexadecimal. The lines with 12345 buckets are from the tests of paimon-cpp
//! (Apache-2.0).

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int16Type};
use arrow_array::{
    ArrowPrimitiveType, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int64Array, PrimitiveArray, StringArray, Time32MillisecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use serde::Deserialize;
use serde_json::Value;

use super::*;
use crate::spec::types::TypeRoot;

#[derive(Deserialize)]
struct Vectors {
    function: String,
    buckets: i32,
    types: Vec<String>,
    rows: Vec<Vec<Value>>,
}

fn root(text: &str) -> TypeRoot {
    let (name, digits) = text.split_once('(').unwrap_or((text, "0"));
    let digits: Vec<u32> = digits.trim_end_matches(')').split(", ").map(|digits| digits.parse().unwrap()).collect();
    let precision = u8::try_from(digits[0]).unwrap_or_default();
    match name {
        "BOOLEAN" => TypeRoot::Boolean,
        "TINYINT" => TypeRoot::TinyInt,
        "SMALLINT" => TypeRoot::SmallInt,
        "INT" => TypeRoot::Int,
        "BIGINT" => TypeRoot::BigInt,
        "FLOAT" => TypeRoot::Float,
        "DOUBLE" => TypeRoot::Double,
        "DECIMAL" => TypeRoot::Decimal(precision, u8::try_from(digits[1]).unwrap()),
        "DATE" => TypeRoot::Date,
        "TIME" => TypeRoot::Time(precision),
        "TIMESTAMP" => TypeRoot::Timestamp(precision),
        "LTZ" => TypeRoot::LocalZonedTimestamp(precision),
        "BINARY" | "VARBINARY" | "BYTES" => TypeRoot::VarBinary(300),
        _ => TypeRoot::VarChar(300),
    }
}

fn numbers<T: ArrowPrimitiveType>(values: &[&Value]) -> PrimitiveArray<T>
where
    T::Native: TryFrom<i64, Error: std::fmt::Debug>,
{
    values.iter().map(|value| value.as_i64().map(|number| T::Native::try_from(number).unwrap())).collect()
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(values: &[&Value]) -> Vec<Option<T>> {
    values.iter().map(|value| value.as_str().map(|text| text.parse().unwrap())).collect()
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn column(values: &[&Value], root: &TypeRoot) -> ArrayRef {
    match root {
        TypeRoot::Boolean => Arc::new(values.iter().map(|value| value.as_bool()).collect::<BooleanArray>()),
        TypeRoot::TinyInt => Arc::new(numbers::<Int8Type>(values)),
        TypeRoot::SmallInt => Arc::new(numbers::<Int16Type>(values)),
        TypeRoot::Int => Arc::new(numbers::<Int32Type>(values)),
        TypeRoot::BigInt => Arc::new(numbers::<Int64Type>(values)),
        TypeRoot::Float => Arc::new(Float32Array::from(parsed(values))),
        TypeRoot::Double => Arc::new(Float64Array::from(parsed(values))),
        TypeRoot::Decimal(precision, scale) => {
            let array = Decimal128Array::from(parsed(values));
            Arc::new(array.with_precision_and_scale(*precision, scale.cast_signed()).unwrap())
        }
        TypeRoot::Date => Arc::new(numbers::<Int32Type>(values).iter().collect::<Date32Array>()),
        TypeRoot::Time(_) => Arc::new(numbers::<Int32Type>(values).iter().collect::<Time32MillisecondArray>()),
        TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) => {
            let values = numbers::<Int64Type>(values);
            match digits {
                0..=3 => Arc::new(values.iter().collect::<TimestampMillisecondArray>()),
                4..=6 => Arc::new(values.iter().collect::<TimestampMicrosecondArray>()),
                _ => Arc::new(values.iter().collect::<TimestampNanosecondArray>()),
            }
        }
        TypeRoot::VarBinary(_) => {
            let values: Vec<_> = values.iter().map(|value| value.as_str().map(bytes)).collect();
            Arc::new(values.iter().map(|value| value.as_deref()).collect::<BinaryArray>())
        }
        _ => Arc::new(values.iter().map(|value| value.as_str()).collect::<StringArray>()),
    }
}

#[test]
fn buckets_are_those_of_java() {
    let all: Vec<Vectors> = serde_json::from_str(include_str!("vectors.json")).unwrap();
    for vectors in all {
        let types: Vec<DataType> = vectors.types.iter().map(|text| DataType::nullable(root(text))).collect();
        let values = |at: usize| vectors.rows.iter().map(|row| &row[at]).collect::<Vec<_>>();
        let keys: Vec<ArrayRef> =
            (0..).zip(&types).map(|(at, data_type)| column(&values(at), &data_type.root)).collect();
        let function = BucketFunction::parse(&vectors.function).unwrap();
        let buckets = bucket_ids(function, &keys, &types, vectors.buckets).unwrap();
        let expected = numbers::<Int32Type>(&values(types.len()));
        assert_eq!(buckets, expected, "{} {:?}", vectors.function, vectors.types);
    }
}

#[test]
fn invalid_bucket_inputs_are_rejected() {
    let int: ArrayRef = Arc::new(Int32Array::from(vec![Some(-1), None]));
    let types = [DataType::nullable(TypeRoot::Int)];
    let keys = std::slice::from_ref(&int);
    for buckets in [0, -1, -2] {
        assert!(bucket_ids(BucketFunction::Default, keys, &types, buckets).is_err());
    }
    assert_eq!(bucket_ids(BucketFunction::Mod, keys, &types, 5).unwrap(), Int32Array::from(vec![4, 0]));
    assert!(bucket_ids(BucketFunction::Default, &[], &[], 1).is_err());
    assert!(bucket_ids(BucketFunction::Mod, &[Arc::clone(&int), int], &types, 1).is_err());
    let time: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![0]));
    let types = [DataType::nullable(TypeRoot::Timestamp(3))];
    assert!(bucket_ids(BucketFunction::Hive, &[time], &types, 1).is_err());
    assert!(BucketFunction::parse("md5").is_err());
}

#[test]
fn the_hash_of_hive_is_that_of_javas_decimals() {
    // `new BigDecimal(..).hashCode()` after stripping zeros.
    for (unscaled, scale, hash) in [(1, 0, 31), (-1, 2, -29), (-100, 2, -31), (1000, 1, 3100), (1 << 32, 0, 961)] {
        let key = Decimal128Array::from(vec![unscaled]).with_precision_and_scale(38, scale).unwrap();
        let types = [DataType::nullable(TypeRoot::Decimal(38, scale.cast_unsigned()))];
        assert_eq!(hive::hashes(&[Arc::new(key)], &types).unwrap(), [hash], "{unscaled} {scale}");
    }
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![Some(-1), Some(1 << 32), None]));
    let types = [DataType::nullable(TypeRoot::BigInt)];
    assert_eq!(hive::hashes(&[longs], &types).unwrap(), [0, 1, 0]);
}

#[test]
fn rows_of_one_number_hash_as_rows() {
    let numbers = [None, Some(-1), Some(0), Some(i64::MIN), Some(i64::MAX), Some(77), None];
    let values: Vec<Value> = numbers.iter().flat_map(|n| [n.map_or(Value::Null, Value::from), Value::Null]).collect();
    for (name, bits) in [("TINYINT", 8), ("SMALLINT", 16), ("INT", 32), ("DATE", 32), ("TIME(3)", 32), ("BIGINT", 64)] {
        let narrow = |value: &Value| value.as_i64().map_or(Value::Null, |n| Value::from(n >> (64 - bits)));
        let values: Vec<Value> = values.iter().map(narrow).collect();
        let types = [DataType::nullable(root(name))];
        let key = column(&values.iter().collect::<Vec<_>>(), &types[0].root);
        for key in [key.clone(), key.slice(1, 9), key.slice(2, 1)] {
            let rows = binary_row::encode(std::slice::from_ref(&key), &types).unwrap();
            let expected = hash_byte_arrays(&rows, SEED, |hash| hash);
            assert!(one_number::hashes(std::slice::from_ref(&key), &types, |hash| hash).is_some());
            assert_eq!(row_hashes(&[key], &types).unwrap(), expected, "{name}");
        }
    }
}

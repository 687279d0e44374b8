use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    BinaryArray, BinaryViewArray, BooleanArray, DictionaryArray, Int32Array, Int64Array, LargeBinaryArray,
    LargeStringArray, NullArray, StringArray, StringViewArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_schema::TimeUnit;
use frazil_core::error::ErrorKind;
use proptest::prelude::*;

use super::*;
use crate::spec::single_value;

/// Returns every primitive type with an order, and the transforms that apply to it.
pub(super) fn transforms() -> Vec<(PrimitiveType, Vec<Transform>)> {
    use PrimitiveType as P;
    use Transform::{Bucket, Day, Hour, Identity, Month, Truncate, Void, Year};
    let plain = [Identity, Void];
    let hashed = [Bucket(1), Bucket(3), Bucket(16), Bucket(u32::MAX)];
    let dated = [Year, Month, Day];
    let cut = [1, 2, 3, 10, 16, 1000, i32::MAX.cast_unsigned()].map(Truncate);
    let all = |lists: &[&[Transform]]| [&plain[..], &lists.concat()].concat();
    let mut types = vec![
        (P::Boolean, all(&[])),
        (P::Float, all(&[])),
        (P::Double, all(&[])),
        (P::Int, all(&[&hashed, &cut])),
        (P::Long, all(&[&hashed, &cut])),
        (P::Decimal { precision: 4, scale: 2 }, all(&[&hashed, &cut])),
        (P::Decimal { precision: 38, scale: 0 }, all(&[&hashed, &cut])),
        (P::String, all(&[&hashed, &cut])),
        (P::Binary, all(&[&hashed, &cut])),
        (P::Date, all(&[&hashed, &dated])),
        (P::Time, all(&[&hashed])),
        (P::Uuid, all(&[&hashed])),
        (P::Fixed(2), all(&[&hashed])),
    ];
    for timestamp in [P::Timestamp, P::Timestamptz, P::TimestampNs, P::TimestamptzNs] {
        types.push((timestamp, all(&[&hashed, &dated, &[Hour]])));
    }
    types
}

/// Returns values of a type, concentrated around the boundaries of transforms.
#[expect(clippy::too_many_lines, reason = "one list of types")]
pub(super) fn values(source: &PrimitiveType) -> BoxedStrategy<Scalar> {
    fn ticks(per_second: i64) -> impl Strategy<Value = i64> {
        let day = 86_400 * per_second;
        prop_oneof![
            -2 * per_second..2 * per_second,
            (-40_i64..40, -2_i64..3).prop_map(move |(hours, off)| hours * (day / 24) + off),
            (-800_i64..800, -2_i64..3).prop_map(move |(days, off)| days * day + off),
            any::<i64>(),
            Just(i64::MIN),
            Just(i64::MAX),
        ]
    }
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(0x7f), Just(0x80), Just(0xff)], 0..5)
    }
    let longs = prop_oneof![-40_i64..40, i64::MIN..i64::MIN + 40, i64::MAX - 40..=i64::MAX, any::<i64>()];
    let timestamps =
        |unit, utc, per_second| ticks(per_second).prop_map(move |value| Scalar::Timestamp { value, unit, utc }).boxed();
    match source {
        PrimitiveType::Boolean => any::<bool>().prop_map(Scalar::Boolean).boxed(),
        PrimitiveType::Int => prop_oneof![-40_i32..40, i32::MIN..i32::MIN + 40, i32::MAX - 40..=i32::MAX, any::<i32>()]
            .prop_map(Scalar::Int32)
            .boxed(),
        PrimitiveType::Long => longs.prop_map(Scalar::Int64).boxed(),
        PrimitiveType::Float => {
            proptest::sample::select(vec![f32::NAN, -f32::NAN, -0.0, 0.0, -1.5, 1.5, f32::INFINITY, f32::NEG_INFINITY])
                .prop_map(Scalar::Float32)
                .boxed()
        }
        PrimitiveType::Double => {
            proptest::sample::select(vec![f64::NAN, -f64::NAN, -0.0, 0.0, -1.5, 1.5, f64::INFINITY, f64::NEG_INFINITY])
                .prop_map(Scalar::Float64)
                .boxed()
        }
        PrimitiveType::Decimal { precision, scale } => {
            let (precision, scale) = (*precision, scale.cast_signed());
            let most = 10_i128.pow(u32::from(precision)) - 1;
            let near_least = -most..=-most + 40;
            prop_oneof![-40_i128..40, near_least, most - 40..=most, -most..=most]
                .prop_map(move |unscaled| Scalar::Decimal { unscaled, precision, scale })
                .boxed()
        }
        PrimitiveType::Date => {
            prop_oneof![-800_i32..800, any::<i32>(), Just(i32::MIN), Just(i32::MAX)].prop_map(Scalar::Date).boxed()
        }
        PrimitiveType::Time => (0_i64..86_400_000_000).prop_map(Scalar::Time).boxed(),
        PrimitiveType::Timestamp => timestamps(TimeUnit::Microsecond, false, 1_000_000),
        PrimitiveType::Timestamptz => timestamps(TimeUnit::Microsecond, true, 1_000_000),
        PrimitiveType::TimestampNs => timestamps(TimeUnit::Nanosecond, false, 1_000_000_000),
        PrimitiveType::TimestamptzNs => timestamps(TimeUnit::Nanosecond, true, 1_000_000_000),
        PrimitiveType::String => {
            let chars = vec!['a', 'b', '\u{e9}', '\u{d7ff}', '\u{e000}', '\u{1f4b0}', '\u{10ffff}'];
            proptest::collection::vec(proptest::sample::select(chars), 0..5)
                .prop_map(|chars| Scalar::String(chars.into_iter().collect()))
                .boxed()
        }
        PrimitiveType::Uuid => proptest::sample::select(vec![0_u128, 1, 1 << 127, (1 << 127) - 1, u128::MAX])
            .prop_map(|uuid| Scalar::Uuid(uuid.to_be_bytes()))
            .boxed(),
        PrimitiveType::Fixed(_) => any::<[u8; 2]>().prop_map(|bytes| Scalar::Fixed(bytes.to_vec())).boxed(),
        _ => bytes().prop_map(Scalar::Binary).boxed(),
    }
}

/// Returns a column of these values, converted through their binary form.
fn column(source: &PrimitiveType, values: &[Option<Scalar>]) -> ArrayRef {
    let bytes: BinaryArray = values.iter().map(|value| value.as_ref().map(single_value::encode)).collect();
    single_value::decode_column(source, &bytes).unwrap()
}

#[test]
fn arrays_and_single_values_are_transformed_alike() {
    for (source, transforms) in transforms() {
        for transform in transforms {
            let result = transform.result_type(&source).unwrap();
            let rows = proptest::collection::vec(proptest::option::of(values(&source)), 0..30);
            let config = ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() };
            proptest!(config, |(rows in rows)| {
                let one_by_one = |value: &Option<Scalar>| match value {
                    Some(value) => transform.apply_scalar(value),
                    None => Ok(None),
                };
                let array = column(&source, &rows);
                match rows.iter().map(one_by_one).collect::<Result<Vec<_>>>() {
                    Ok(tuples) => {
                        let expected = column(&result, &tuples);
                        prop_assert_eq!(&transform.apply(&array, &source).unwrap(), &expected, "{:?}", transform);
                        let (from, count) = (rows.len() / 3, rows.len() / 2);
                        let sliced = transform.apply(&array.slice(from, count), &source).unwrap();
                        prop_assert_eq!(&sliced, &expected.slice(from, count), "{:?}", transform);
                    }
                    Err(error) => {
                        let same = transform.apply(&array, &source).unwrap_err();
                        prop_assert_eq!(same.kind(), error.kind());
                    }
                }
            });
        }
    }
}

#[test]
fn equal_values_have_equal_tuples_in_every_arrow_form() {
    let text = [Some("iceberg"), None, Some("ice\u{1f4b0}berg")];
    let source = PrimitiveType::String;
    let keys = arrow_array::Int8Array::from(vec![Some(0), None, Some(2)]);
    let forms: Vec<ArrayRef> = vec![
        Arc::new(LargeStringArray::from(text.to_vec())),
        Arc::new(StringViewArray::from(text.to_vec())),
        Arc::new(DictionaryArray::new(keys.clone(), Arc::new(StringArray::from(text.to_vec())))),
        Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(LargeStringArray::from(text.to_vec())))),
    ];
    for transform in [Transform::Identity, Transform::Void, Transform::Bucket(100), Transform::Truncate(4)] {
        let expected = transform.apply(&StringArray::from(text.to_vec()), &source).unwrap();
        for form in &forms {
            assert_eq!(&transform.apply(form, &source).unwrap(), &expected, "{transform:?} {}", form.data_type());
        }
    }
    let bytes = [Some(&b"foo"[..]), None];
    let expected: ArrayRef = Arc::new(Int32Array::from(vec![Some(32), None]));
    let large: ArrayRef = Arc::new(LargeBinaryArray::from(bytes.to_vec()));
    let view: ArrayRef = Arc::new(BinaryViewArray::from(bytes.to_vec()));
    for form in [large, view] {
        assert_eq!(&Transform::Bucket(128).apply(&form, &PrimitiveType::Binary).unwrap(), &expected);
    }
}

#[test]
fn a_zone_does_not_change_an_instant() {
    let instants = TimestampMicrosecondArray::from(vec![-1, 0]).with_timezone("+09:00");
    let hours = Transform::Hour.apply(&instants, &PrimitiveType::Timestamptz).unwrap();
    assert_eq!(hours.as_ref(), &Int32Array::from(vec![-1, 0]) as &dyn Array);
}

#[test]
fn values_under_nulls_are_ignored() {
    let valid = arrow_buffer::NullBuffer::from(vec![false, true]);
    let far = TimestampMicrosecondArray::new(vec![i64::MAX, 0].into(), Some(valid));
    let hours = Transform::Hour.apply(&far, &PrimitiveType::Timestamp).unwrap();
    assert_eq!(hours.as_ref(), &Int32Array::from(vec![None, Some(0)]) as &dyn Array);
    let far = TimestampMicrosecondArray::from(vec![i64::MAX]);
    let error = Transform::Hour.apply(&far, &PrimitiveType::Timestamp).unwrap_err();
    assert_eq!(error.to_string(), "the hour of the timestamp 9223372036854775807 does not fit an int");
}

#[test]
fn transforms_reject_unsupported_inputs() {
    let longs = Int64Array::from(vec![1]);
    for (transform, array, source, kind) in [
        (Transform::Bucket(4), &BooleanArray::from(vec![true]) as &dyn Array, PrimitiveType::Boolean, "type Boolean"),
        (Transform::Bucket(0), &longs, PrimitiveType::Long, "Bucket(0)"),
        (Transform::Truncate(0), &longs, PrimitiveType::Long, "Truncate(0)"),
        (Transform::Truncate(4), &longs, PrimitiveType::Uuid, "Uuid"),
        (Transform::Hour, &longs, PrimitiveType::Date, "Hour"),
        (Transform::Day, &longs, PrimitiveType::Time, "Time"),
        (Transform::Identity, &longs, PrimitiveType::Variant, "Variant"),
        (Transform::Bucket(4), &longs, PrimitiveType::Int, "Int64"),
        (Transform::Day, &TimestampNanosecondArray::from(vec![1]), PrimitiveType::Timestamp, "ns"),
        (Transform::Day, &TimestampMicrosecondArray::from(vec![1]), PrimitiveType::Timestamptz, "Timestamptz"),
    ] {
        let error = transform.apply(array, &source).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(kind), "{error}");
    }
    let unknown = Transform::Unknown("bucketv2[4]".into());
    assert_eq!(unknown.result_type(&PrimitiveType::Long), None);
    let error = unknown.apply(&longs, &PrimitiveType::Long).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("bucketv2[4]"));
    assert_eq!(unknown.apply_scalar(&Scalar::Int64(1)).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn result_types_are_those_of_the_specification() {
    use PrimitiveType as P;
    for (transform, source, result) in [
        (Transform::Identity, P::Uuid, Some(P::Uuid)),
        (Transform::Identity, P::Geometry(None), None),
        (Transform::Void, P::Geometry(None), Some(P::Geometry(None))),
        (Transform::Void, P::Variant, Some(P::Variant)),
        (Transform::Bucket(4), P::String, Some(P::Int)),
        (Transform::Bucket(4), P::Double, None),
        (Transform::Truncate(4), P::Decimal { precision: 9, scale: 2 }, Some(P::Decimal { precision: 9, scale: 2 })),
        (Transform::Truncate(4), P::Fixed(4), None),
        (Transform::Year, P::Date, Some(P::Int)),
        (Transform::Day, P::TimestamptzNs, Some(P::Date)),
        (Transform::Hour, P::Timestamp, Some(P::Int)),
        (Transform::Hour, P::Date, None),
        (Transform::Month, P::Long, None),
    ] {
        assert_eq!(transform.result_type(&source), result, "{transform:?} {source:?}");
    }
}

#[test]
fn void_and_identity_take_columns_of_nothing() {
    let nothing = NullArray::new(3);
    for transform in [Transform::Void, Transform::Identity] {
        assert_eq!(transform.apply(&nothing, &PrimitiveType::Unknown).unwrap().data_type(), &DataType::Null);
    }
}

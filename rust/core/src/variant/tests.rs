//! Tests of variant bytes, JSON and unshredding.

use std::sync::Arc;

use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Field, Fields};
use proptest::prelude::*;
use rstest::rstest;

use super::{Metadata, Value, to_json, to_json_array, unshred};
use crate::error::ErrorKind;

/// Returns a sorted dictionary.
fn metadata(names: &[&str]) -> Vec<u8> {
    let mut bytes = vec![0x11, u8::try_from(names.len()).unwrap(), 0];
    let mut end = 0;
    for name in names {
        end += u8::try_from(name.len()).unwrap();
        bytes.push(end);
    }
    bytes.extend(names.iter().flat_map(|name| name.bytes()));
    bytes
}

#[rstest]
#[case(&[0x00], "null")]
#[case(&[0x04], "true")]
#[case(&[0x08], "false")]
#[case(&[0x0c, 0xff], "-1")]
#[case(&[0x10, 0xd2, 0x04], "1234")]
#[case(&[0x14, 0, 0, 0, 0x80], "-2147483648")]
#[case(&[0x18, 0, 0, 0, 0, 1, 0, 0, 0], "4294967296")]
#[case(&[0x1c, 0, 0, 0, 0, 0, 0, 0, 0x80], "-0.0")]
#[case(&[0x1c, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f], "\"NaN\"")]
#[case(&[0x1c, 0, 0, 0, 0, 0, 0, 0xf0, 0xff], "\"-Infinity\"")]
#[case(&[0x38, 0xcd, 0xcc, 0xcc, 0x3d], "0.1")]
#[case(&[0x20, 2, 0xd2, 0x04, 0, 0], "12.34")]
#[case(&[0x20, 2, 100, 0, 0, 0], "1")]
#[case(&[0x20, 3, 0xff, 0xff, 0xff, 0xff], "-0.001")]
#[case(&[0x2c, 0xff, 0xff, 0xff, 0xff], "\"1969-12-31\"")]
#[case(&[0x2c, 0xff, 0xff, 0xff, 0x7f], "\"+5881580-07-11\"")]
#[case(&[0x30, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "\"1969-12-31 23:59:59.999999+00:00\"")]
#[case(&[0x34, 0x40, 0x42, 0x0f, 0, 0, 0, 0, 0], "\"1970-01-01 00:00:01\"")]
#[case(&[0x4c, 10, 0, 0, 0, 0, 0, 0, 0], "\"1970-01-01 00:00:00.00000001\"")]
#[case(&[0x44, 1, 0, 0, 0, 0, 0, 0, 0], "\"00:00:00.000001\"")]
#[case(&[0x3c, 2, 0, 0, 0, 0, 0xff], "\"AP8=\"")]
#[case(&[0x40, 1, 0, 0, 0, b'"'], "\"\\\"\"")]
#[case(&[0x09, b'h', b'i'], "\"hi\"")]
#[case(&[0x50, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "\"00010203-0405-0607-0809-0a0b0c0d0e0f\"")]
#[case(&[0x03, 0, 0], "[]")]
#[case(&[0x02, 0, 0], "{}")]
#[case(&[0x03, 2, 0, 1, 2, 0x04, 0x00], "[true,null]")]
#[case(&[0x02, 2, 0, 1, 1, 0, 2, 0x04, 0x00], "{\"a\":null,\"b\":true}")]
fn values_become_json(#[case] value: &[u8], #[case] expected: &str) {
    assert_eq!(to_json(&metadata(&["a", "b"]), value).unwrap(), expected);
}

#[rstest]
#[case::empty(&[])]
#[case::short_text(&[0x09, b'h'])]
#[case::text_longer_than_the_file(&[0x40, 0xff, 0xff, 0xff, 0xff, b'x'])]
#[case::text_that_is_not_utf8(&[0x05, 0xff])]
#[case::scale_above_38(&[0x20, 39, 0, 0, 0, 0])]
#[case::array_without_offsets(&[0x03, 200, 0])]
#[case::array_of_four_billion(&[0x1f, 0xff, 0xff, 0xff, 0xff])]
#[case::element_outside(&[0x03, 1, 9, 1, 0x00])]
#[case::name_outside(&[0x02, 1, 7, 0, 1, 0x00])]
#[case::elements_that_share_bytes(&[0x03, 4, 0, 0, 0, 0, 5, 0x14, 1, 0, 0, 0])]
fn corrupt_values_are_refused(#[case] value: &[u8]) {
    assert_eq!(to_json(&metadata(&["a"]), value).unwrap_err().kind(), ErrorKind::CorruptData);
}

#[test]
fn unknown_primitives_are_unsupported_and_deep_nesting_is_limited() {
    assert_eq!(to_json(&metadata(&[]), &[21 << 2]).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut deep = vec![0x00];
    for _ in 0..200 {
        let length = u16::try_from(deep.len()).unwrap().to_le_bytes();
        deep = [&[0x07, 1, 0, 0][..], &length, &deep].concat();
    }
    assert_eq!(to_json(&metadata(&[]), &deep).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn names_are_found_in_sorted_and_unsorted_dictionaries() {
    let sorted = metadata(&["a", "b", "c"]);
    let mut unsorted = metadata(&["c", "a", "b"]);
    unsorted[0] = 0x01;
    for (bytes, ids) in [(&sorted, [0, 1, 2]), (&unsorted, [1, 2, 0])] {
        let names = Metadata::parse(bytes).unwrap();
        for (name, id) in ["a", "b", "c"].iter().zip(ids) {
            assert_eq!(names.id_of(name).unwrap(), Some(id));
        }
        assert_eq!(names.id_of("d").unwrap(), None);
    }
    assert!(Metadata::parse(&[2, 0, 0]).is_err());
    assert!(Metadata::parse(&[0xc1, 0xff, 0xff, 0xff, 0xff]).is_err());
}

fn binary(values: Vec<Option<&[u8]>>) -> ArrayRef {
    Arc::new(BinaryArray::from(values))
}

fn group(columns: Vec<(&str, ArrayRef)>, nulls: Option<Vec<bool>>) -> StructArray {
    let fields: Fields =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    StructArray::new(fields, columns.into_iter().map(|(_, column)| column).collect(), nulls.map(NullBuffer::from))
}

fn json(variants: &StructArray) -> Vec<Option<String>> {
    let plain = unshred(variants).unwrap();
    to_json_array(&plain).unwrap().iter().map(|text| text.map(ToString::to_string)).collect()
}

#[test]
fn an_object_is_put_together_from_typed_columns_and_the_rest() {
    let names = metadata(&["a", "b", "c"]);
    let a = group(
        vec![
            ("value", binary(vec![None, Some(&[0x00]), None, None, None])),
            ("typed_value", Arc::new(Int32Array::from(vec![Some(1), None, None, None, None]))),
        ],
        None,
    );
    let c = group(vec![("typed_value", Arc::new(StringArray::from(vec![Some("x"), None, None, None, None])))], None);
    let typed = group(vec![("c", Arc::new(c)), ("a", Arc::new(a))], Some(vec![true, true, true, false, false]));
    // The `value` of the first row contains b, and c, which is shredded; the shredded value takes precedence.
    let rest: &[u8] = &[0x02, 2, 1, 2, 0, 1, 2, 0x04, 0x00];
    let value = binary(vec![Some(rest), None, None, Some(&[0x0c, 7]), None]);
    let metadata = binary(vec![Some(names.as_slice()); 5]);
    let variants = group(
        vec![("metadata", metadata), ("value", value), ("typed_value", Arc::new(typed))],
        Some(vec![true, true, true, true, true]),
    );
    let expected = ["{\"a\":1,\"b\":true,\"c\":\"x\"}", "{\"a\":null}", "{}", "7", "null"];
    assert_eq!(json(&variants), expected.map(|text| Some(text.to_string())));
    assert_eq!(
        json(&variants.slice(1, 2)),
        expected[1..3].iter().map(|text| Some(text.to_string())).collect::<Vec<_>>()
    );
}

#[test]
fn arrays_and_null_rows_keep_their_places() {
    let element = group(
        vec![
            ("value", binary(vec![None, None, Some(&[0x04])])),
            ("typed_value", Arc::new(Int8Array::from(vec![Some(5), None, None]))),
        ],
        None,
    );
    let field = Arc::new(Field::new("element", element.data_type().clone(), false));
    let nulls = Some(NullBuffer::from(vec![true, false, true]));
    let list = ListArray::new(field, OffsetBuffer::from_lengths([3, 0, 0]), Arc::new(element), nulls);
    let names = metadata(&[]);
    let variants = group(
        vec![("metadata", binary(vec![Some(&names), None, Some(&names)])), ("typed_value", Arc::new(list))],
        Some(vec![true, false, true]),
    );
    assert_eq!(json(&variants), [Some("[5,null,true]".to_string()), None, Some("[]".to_string())]);
}

#[test]
fn every_typed_column_gets_its_own_primitive() {
    let long = format!("\"{}\"", "x".repeat(64));
    let cases: Vec<(ArrayRef, &str)> = vec![
        (Arc::new(BooleanArray::from(vec![false])), "false"),
        (Arc::new(Int16Array::from(vec![-3])), "-3"),
        (Arc::new(Int64Array::from(vec![i64::MIN])), "-9223372036854775808"),
        (Arc::new(Float32Array::from(vec![1.5])), "1.5"),
        (Arc::new(Float64Array::from(vec![f64::MAX])), "1.7976931348623157e308"),
        (Arc::new(Decimal128Array::from(vec![-5]).with_precision_and_scale(9, 1).unwrap()), "-0.5"),
        (
            Arc::new(Decimal128Array::from(vec![i128::from(i64::MAX)]).with_precision_and_scale(38, 0).unwrap()),
            "9223372036854775807",
        ),
        (Arc::new(Decimal64Array::from(vec![12]).with_precision_and_scale(18, 2).unwrap()), "0.12"),
        (Arc::new(Date32Array::from(vec![0])), "\"1970-01-01\""),
        (Arc::new(Time64MicrosecondArray::from(vec![1])), "\"00:00:00.000001\""),
        (Arc::new(TimestampMicrosecondArray::from(vec![0])), "\"1970-01-01 00:00:00\""),
        (
            Arc::new(TimestampNanosecondArray::from(vec![1]).with_timezone("UTC")),
            "\"1970-01-01 00:00:00.000000001+00:00\"",
        ),
        (Arc::new(LargeStringArray::from(vec!["x".repeat(64)])), &long),
        (Arc::new(BinaryViewArray::from(vec![b"abc".as_slice()])), "\"YWJj\""),
    ];
    for (typed, expected) in cases {
        let names = metadata(&[]);
        let variants = group(vec![("metadata", binary(vec![Some(&names)])), ("typed_value", typed)], None);
        assert_eq!(json(&variants), [Some(expected.to_string())]);
    }
}

#[test]
fn contradictions_are_refused() {
    let names = metadata(&["a"]);
    let one = || binary(vec![Some(names.as_slice())]);
    let int: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let a = group(vec![("typed_value", Arc::clone(&int))], None);
    let unnamed: ArrayRef = Arc::new(group(vec![("zzz", Arc::new(a.clone()))], None));
    let object: ArrayRef = Arc::new(group(vec![("a", Arc::new(a))], None));
    let cases: Vec<(Vec<(&str, ArrayRef)>, ErrorKind)> = vec![
        (vec![("value", one())], ErrorKind::CorruptData),
        (
            vec![("metadata", one()), ("value", binary(vec![Some(&[0x04])])), ("typed_value", Arc::clone(&int))],
            ErrorKind::CorruptData,
        ),
        (
            vec![("metadata", one()), ("value", binary(vec![Some(&[0x04])])), ("typed_value", object)],
            ErrorKind::CorruptData,
        ),
        (vec![("metadata", one()), ("typed_value", unnamed)], ErrorKind::CorruptData),
        (vec![("metadata", one()), ("typed_value", Arc::new(UInt32Array::from(vec![1])))], ErrorKind::Unsupported),
        (vec![("metadata", int), ("value", one())], ErrorKind::CorruptData),
    ];
    for (columns, kind) in cases {
        assert_eq!(unshred(&group(columns, None)).unwrap_err().kind(), kind);
    }
}

#[test]
fn large_objects_and_arrays_get_wide_tables() {
    let names: Vec<String> = (0..300).map(|n| format!("n{n:03}")).collect();
    let mut bytes = vec![0x51, 0x2c, 0x01];
    (0..=300_u16).for_each(|n| bytes.extend((n * 4).to_le_bytes()));
    bytes.extend(names.iter().flat_map(|name| name.bytes()));
    let field = || -> ArrayRef {
        Arc::new(group(vec![("typed_value", Arc::new(Int64Array::from(vec![1])) as ArrayRef)], None))
    };
    let typed = group(names.iter().rev().map(|name| (name.as_str(), field())).collect(), None);
    let variants = group(vec![("metadata", binary(vec![Some(&bytes)])), ("typed_value", Arc::new(typed))], None);
    let expected = names.iter().map(|name| format!("\"{name}\":1")).collect::<Vec<_>>().join(",");
    assert_eq!(json(&variants), [Some(format!("{{{expected}}}"))]);
}

proptest! {
    #[test]
    fn no_bytes_make_the_decoder_panic(metadata in prop::collection::vec(any::<u8>(), 0..40), value in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = to_json(&metadata, &value);
        let _ = to_json(&[1, 0, 0], &value);
        if let Ok((_, size)) = Value::parse(&value) {
            prop_assert!(size <= value.len());
        }
    }
}

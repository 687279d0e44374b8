//! Tests indexes that Java wrote, and how the reader handles unknown and damaged ones.

use std::ops::Range;

use frazil_core::scalar::Scalar;
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, CompareOp, Test};
use rstest::rstest;

use super::encode;
use crate::file_index::value::{Layout, Value};
use crate::file_index::{FileIndex, IndexSelection, IndexedColumn, MEMBERS_MAX, modified_utf8};
use crate::spec::types::{DataType, TypeRoot};

/// Indexes of six rows: `c` INT 0, 1, 2, 0, 1, 2 (bitmap), `s` STRING s0, s1, ... (bitmap), `d` INT 0 to 5 (bloom
/// filter).
const THREE_COLUMNS: &str = "
    00054e4ed01a35ae 00000001 00000063 00000003
    0001 63 00000001 0006 6269746d6170 00000063 0000007e
    0001 73 00000001 0006 6269746d6170 000000e1 00000068
    0001 64 00000001 000c 626c6f6f6d2d66696c746572 00000149 00000010 00000000
    02 00000006 00000003 00 00000001 00000000 00000000 00000028
    00000003 00000000 00000000 00000014 00000001 00000014 00000014 00000002 00000028 00000014
    3a300000010000000000010010000000000003003a300000010000000000010010000000010004003a30000001000000000001001000000002000500
    02 00000006 00000002 00 00000001 00000002 7330 00000000 00000020
    00000002 00000002 7330 00000000 00000016 00000002 7331 00000016 00000016
    3a3000000100000000000200100000000000020004003a300000010000000000020010000000010003000500
    00000003 01280000000088002170c005";

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

fn column(name: &str, file: TypeRoot, read: TypeRoot) -> impl Fn(i32) -> Option<IndexedColumn> {
    let column = IndexedColumn {
        name: name.into(),
        file_type: DataType::nullable(file),
        read_type: DataType::nullable(read),
        is_replaced: false,
    };
    move |_| Some(column.clone())
}

fn leaf(read: &TypeRoot, test: Test) -> BoundPredicate {
    let data_type = DataType::nullable(read.clone()).scalar().unwrap();
    BoundPredicate::Leaf(BoundColumn { id: 1, name: "x".into(), data_type, nullable: true }, test)
}

fn rows(selection: &IndexSelection) -> Vec<usize> {
    match selection {
        IndexSelection::Rows(bits) => bits.set_indices().collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_column_is_found_by_its_name_and_type_in_the_file() {
    let index = FileIndex::parse(hex(THREE_COLUMNS).into()).unwrap();
    let ask = |name: &str, file: TypeRoot, read: TypeRoot, test: Test| {
        index.evaluate(&leaf(&read, test), 6, &column(name, file, read.clone()))
    };
    let equal = |value| Test::Compare(CompareOp::Eq, value);
    let int = || TypeRoot::Int;
    assert_eq!(rows(&ask("c", int(), int(), equal(Scalar::Int32(1)))), [1, 4]);
    assert_eq!(rows(&ask("c", int(), TypeRoot::BigInt, equal(Scalar::Int64(1)))), [1, 4], "widened");
    assert_eq!(ask("c", int(), TypeRoot::BigInt, equal(Scalar::Int64(1 << 40))), IndexSelection::All, "no INT");
    assert_eq!(ask("c", int(), int(), equal(Scalar::Int32(3))), IndexSelection::Skip);
    assert_eq!(ask("c", int(), int(), Test::IsNull), IndexSelection::Skip);
    assert_eq!(ask("c", int(), int(), Test::NotNull), IndexSelection::All);
    let text = |text: &str| equal(Scalar::String(text.into()));
    let string = || TypeRoot::VarChar(i32::MAX.cast_unsigned());
    assert_eq!(rows(&ask("s", string(), string(), text("s1"))), [1, 3, 5]);
    assert_eq!(ask("s", string(), string(), text("z0")), IndexSelection::Skip);
    assert_eq!(ask("s", string(), TypeRoot::VarChar(1), text("s")), IndexSelection::All, "cut when read");
    assert_eq!(ask("s2", string(), string(), text("z0")), IndexSelection::All, "not indexed by that name");
    assert_eq!(ask("d", int(), int(), equal(Scalar::Int32(3))), IndexSelection::All);
    assert_eq!(ask("d", int(), int(), equal(Scalar::Int32(12))), IndexSelection::Skip);
    assert_eq!(ask("d", int(), int(), Test::IsNull), IndexSelection::All);
    let filter = leaf(&int(), equal(Scalar::Int32(12)));
    assert_eq!(index.evaluate(&filter, 6, &|_| None), IndexSelection::All, "not in the file");
}

#[test]
fn and_or_and_constants() {
    let index = FileIndex::parse(hex(THREE_COLUMNS).into()).unwrap();
    let is = |value| leaf(&TypeRoot::Int, Test::Compare(CompareOp::Eq, Scalar::Int32(value)));
    let above = leaf(&TypeRoot::Int, Test::Compare(CompareOp::Gt, Scalar::Int32(0)));
    let ask = |filter: BoundPredicate| index.evaluate(&filter, 6, &column("c", TypeRoot::Int, TypeRoot::Int));
    assert_eq!(rows(&ask(BoundPredicate::or([is(0), is(2), is(9)]))), [0, 2, 3, 5]);
    assert_eq!(ask(BoundPredicate::or([is(0), is(1), is(2)])), IndexSelection::All);
    assert_eq!(ask(BoundPredicate::or([is(0), above.clone()])), IndexSelection::All, "bitmaps know no ranges");
    assert_eq!(rows(&ask(BoundPredicate::and([above, is(1)]))), [1, 4]);
    assert_eq!(ask(BoundPredicate::and([is(0), is(1)])), IndexSelection::Skip);
    assert_eq!(ask(BoundPredicate::True), IndexSelection::All);
    assert_eq!(ask(BoundPredicate::False), IndexSelection::Skip);
}

/// Returns five rows of two alternating values and a NULL.
fn turns<'a>(a: Value<'a>, b: Value<'a>) -> Vec<Option<Value<'a>>> {
    vec![Some(a), Some(b), Some(a), Some(b), Some(a), None]
}

#[rstest]
#[case::bloom_filter_of_text(
    encode::bloom_filter(&turns(Value::Bytes(b"a"), Value::Bytes(b"eight888")), Layout::Bytes, 60, 7),
    "00000007048000000000000000000000200000000001000000000000000000400000000000000800000000000000004000120000008000200000040001400000"
)]
#[case::bloom_filter_of_integers(
    encode::bloom_filter(&turns(Value::Integer(i64::MAX), Value::Integer(1 << 40)), Layout::Int64, 60, 7),
    "00000007001000000000000004000000440000000001000000100001000800000000000200000000020000001080000000000000000400000040000000000000"
)]
#[case::bloom_filter_of_negative_integers(
    encode::bloom_filter(&turns(Value::Integer(-1 << 31), Value::Integer(-1)), Layout::Int32, 60, 7),
    "00000007000000000000000000000000008000000010000000000000000000000000000000000000000200000000800800001001010000000000009224010000"
)]
#[case::bloom_filter_of_floats(
    encode::bloom_filter(&turns(Value::Float(-0.0), Value::Float(f64::NEG_INFINITY)), Layout::Double, 60, 7),
    "00000007002000080002000010200000010800011000000000000000000100000000008000000000000008000000000000000000000001000000000000020000"
)]
#[case::bloom_filter_of_nan(
    encode::bloom_filter(&turns(Value::Float(-f64::NAN), Value::Float(1.5)), Layout::Double, 60, 7),
    "00000007000040000000000000000000080500000020004000000004000000800000000000100000000000040000000000000800000000009040000000000000"
)]
#[case::bitmap_v1(
    encode::bitmap_v1(&turns(Value::Integer(i64::MIN), Value::Integer(-1)), Layout::Int64),
    "01000000060000000201fffffffaffffffffffffffff000000008000000000000000000000143a30000001000000000001001000000001000300
     3a300000010000000000020010000000000002000400"
)]
#[case::bsi(
    encode::bsi(&turns(Value::Integer(-123), Value::Integer(1))),
    "01000000060101000000000000000000000000000000013a30000001000000000001001000000001000300000000013a300000010000000000010010
     0000000100030001010000000000000000000000000000007b3a300000010000000000020010000000000002000400000000073a30000001000000
     00000200100000000000020004003a3000000100000000000200100000000000020004003a300000000000003a3000000100000000000200100000
     000000020004003a3000000100000000000200100000000000020004003a3000000100000000000200100000000000020004003a30000001000000
     0000020010000000000002000400"
)]
#[case::bsi_of_nulls(encode::bsi(&[None; 6]), "01000000060000")]
#[case::range_bitmap_of_floats(
    encode::range_bitmap(&turns(Value::Float(-0.0), Value::Float(f64::NEG_INFINITY)), Layout::Double, 16384),
    "0000001d010000000600000002fff000000000000080000000000000000000003a0000000d0100000001000000040000001d0000000001fff0000000
     000000000000000000000000000001000000080000000880000000000000000000001201010000000f0000000800000000000000163b300000010000
     04000100000004003a300000010000000000020010000000000002000400"
)]
#[case::range_bitmap_of_text(
    encode::range_bitmap(&turns(Value::Bytes(b"a"), Value::Bytes(b"eight888")), Layout::Bytes, 16384),
    "0000001e01000000060000000200000001610000000865696768743838380000003f0000000d0100000001000000040000001a000000000100000001
     61000000000000000000000001000000040000000c000000000000000865696768743838380000001201010000000f0000000800000000000000143b
     30000001000004000100000004003a30000001000000000001001000000001000300"
)]
#[case::range_bitmap_of_two_chunks(
    encode::range_bitmap(&turns(Value::Integer(0), Value::Integer(1)), Layout::Boolean, 0),
    "0000000f0100000006000000020001000000450000000d0100000002000000080000002c000000000000001601000000000000000000000000000000
     000000000001010100000001000000000000000000000000000000010000001201010000000f0000000800000000000000143b300000010000040001
     00000004003a30000001000000000001001000000001000300"
)]
fn the_indexes_of_the_laws_are_those_of_java(#[case] ours: Vec<u8>, #[case] java: &str) {
    assert_eq!(ours, hex(java));
}

/// An index of rows a, eight888, a, eight888, a, NULL. The recorded length of the NULL entry is not that of a bitmap.
const TEXTS_V2: &str = "02000000060000000201fffffffa000000120000000100000001610000000000000025000000020000000161000000000000001600000008656967
                        687438383800000016000000143a3000000100000000000200100000000000020004003a30000001000000000001001000000001000300";
/// An index of six NULLs: no chunks. Java writes a slice for each of the 64 digits of -1; here one slice is equivalent.
const NO_VALUES: &str = "0000000d 01 00000006 00000000 00000011 0000000d 01 00000000 00000000 00000000
                         00000012 01 01 00000008 00000008 00000000 00000008 3a30000000000000 3a30000000000000";

#[rstest]
#[case("bitmap", TEXTS_V2, Test::Compare(CompareOp::Eq, Scalar::String("eight888".into())), &[1, 3])]
#[case("bitmap", TEXTS_V2, Test::Compare(CompareOp::NotEq, Scalar::String("eight888".into())), &[0, 2, 4])]
#[case("bitmap", TEXTS_V2, Test::IsNull, &[5])]
#[case("bitmap", TEXTS_V2, Test::NotNull, &[0, 1, 2, 3, 4])]
#[case("bitmap", TEXTS_V2, Test::Compare(CompareOp::Eq, Scalar::String("b".into())), &[])]
#[case("range-bitmap", NO_VALUES, Test::IsNull, &[0, 1, 2, 3, 4, 5])]
#[case("range-bitmap", NO_VALUES, Test::NotNull, &[])]
#[case("range-bitmap", NO_VALUES, Test::Compare(CompareOp::Lt, Scalar::String("b".into())), &[])]
fn indexes_written_by_java_are_read(
    #[case] kind: &str,
    #[case] body: &str,
    #[case] test: Test,
    #[case] expected: &[usize],
) {
    let string = TypeRoot::VarChar(20);
    let index = FileIndex::parse(encode::container(&[("x", &[(kind, Some(hex(body)))])])).unwrap();
    let ask = |rows| index.evaluate(&leaf(&string, test.clone()), rows, &column("x", string.clone(), string.clone()));
    match expected.len() {
        0 => assert_eq!(ask(6), IndexSelection::Skip),
        6 => assert_eq!(ask(6), IndexSelection::All),
        _ => assert_eq!(rows(&ask(6)), expected),
    }
    assert_eq!(ask(7), IndexSelection::All, "an index of another number of rows");
}

#[test]
fn an_index_of_no_value_keeps_rows_of_null_only() {
    let index = FileIndex::parse(encode::container(&[("x", &[("bitmap", None)])])).unwrap();
    let ask =
        |test| index.evaluate(&leaf(&TypeRoot::Double, test), 3, &column("x", TypeRoot::Double, TypeRoot::Double));
    for test in [Test::NotNull, Test::IsNan, Test::Compare(CompareOp::NotEq, Scalar::Float64(1.0))] {
        assert_eq!(ask(test), IndexSelection::Skip);
    }
    for test in [Test::IsNull, Test::NotNan] {
        assert_eq!(ask(test), IndexSelection::All);
    }
}

#[test]
fn unknown_or_corrupt_indexes_exclude_nothing() {
    let int = TypeRoot::Int;
    let nine = leaf(&int, Test::Compare(CompareOp::Eq, Scalar::Int32(9)));
    let held = turns(Value::Integer(1), Value::Integer(2));
    let bodies = [
        ("bitmap", encode::bitmap_v1(&held, Layout::Int32)),
        ("bitmap", encode::bitmap_v2(&held, Layout::Int32, 99)),
        ("bsi", encode::bsi(&held)),
        ("range-bitmap", encode::range_bitmap(&held, Layout::Int32, 99)),
    ];
    for (kind, body) in bodies {
        let ask = |kind: &str, body: &[u8]| {
            let index = FileIndex::parse(encode::container(&[("x", &[(kind, Some(body.to_vec()))])])).unwrap();
            index.evaluate(&nine, 6, &column("x", int.clone(), int.clone()))
        };
        assert_eq!(ask(kind, &body), IndexSelection::Skip);
        assert_eq!(ask("zone-map", &body), IndexSelection::All, "kind");
        let version = if kind == "range-bitmap" { 4 } else { 0 };
        let mut other = body.clone();
        other[version] = 3;
        assert_eq!(ask(kind, &other), IndexSelection::All, "version of {kind}");
        for end in 0..10 {
            assert_eq!(ask(kind, &body[..end]), IndexSelection::All, "{kind} cut at {end}");
        }
    }
    let mut later = hex(THREE_COLUMNS);
    later[11] = 2;
    let later = FileIndex::parse(later.into()).unwrap();
    assert_eq!(later.evaluate(&nine, 6, &column("c", int.clone(), int)), IndexSelection::All, "version of the file");
}

#[rstest]
#[case::empty(0..0, "")]
#[case::magic(7..8, "af")]
#[case::a_body_outside(35..39, "00000fff")]
#[case::a_negative_start(35..39, "fffffffe")]
#[case::a_negative_length(39..43, "ffffffff")]
#[case::more_columns_than_there_are(16..20, "7fffffff")]
#[case::a_negative_count_of_columns(16..20, "ffffffff")]
#[case::a_head_that_ends_before_its_columns(12..16, "00000010")]
fn invalid_headers_are_rejected(#[case] range: Range<usize>, #[case] bytes: &str) {
    let mut damaged = hex(THREE_COLUMNS);
    if range.is_empty() {
        damaged.clear();
    }
    damaged.splice(range, hex(bytes));
    assert!(FileIndex::parse(damaged.into()).is_err());
    for end in 0..99 {
        assert!(FileIndex::parse(hex(THREE_COLUMNS)[..end].to_vec().into()).is_err(), "{end}");
    }
}

#[test]
fn names_are_in_modified_utf8() {
    let cases = [
        ("a\u{7f}", "617f"),
        ("\0", "c080"),
        ("\u{fc}\u{7ff}", "c3bcdfbf"),
        ("\u{800}\u{65e5}", "e0a080e697a5"),
        ("\u{1f600}", "eda0bdedb880"),
    ];
    for (name, bytes) in cases {
        assert_eq!(modified_utf8(name), hex(bytes), "{name:?}");
    }
}

#[test]
fn long_lists_of_members_and_many_rows() {
    let int = TypeRoot::Int;
    let values: Vec<i64> = (0..200_000).map(|row| row * 7 % 1000).collect();
    let held: Vec<Option<Value<'_>>> =
        values.iter().map(|value| (value % 11 != 3).then_some(Value::Integer(*value))).collect();
    let bodies = [
        ("bitmap", encode::bitmap_v2(&held, Layout::Int32, 256)),
        ("bsi", encode::bsi(&held)),
        ("range-bitmap", encode::range_bitmap(&held, Layout::Int32, 256)),
    ];
    for (kind, body) in bodies {
        let index = FileIndex::parse(encode::container(&[("x", &[(kind, Some(body))])])).unwrap();
        let ask = |test| index.evaluate(&leaf(&int, test), held.len(), &column("x", int.clone(), int.clone()));
        let expected = |passes: &dyn Fn(i64) -> bool| -> Vec<usize> {
            (0..held.len()).filter(|row| values[*row] % 11 != 3 && passes(values[*row])).collect()
        };
        let few: Vec<Scalar> = [2, 500, 998].map(Scalar::Int32).to_vec();
        let is_few = |value| [2, 500, 998].contains(&value);
        assert_eq!(rows(&ask(Test::In(few.clone().into()))), expected(&is_few), "{kind}");
        assert_eq!(rows(&ask(Test::NotIn(few.into()))), expected(&|value| !is_few(value)), "{kind}");
        let last = 2 * i32::try_from(MEMBERS_MAX).unwrap();
        let many: Vec<Scalar> = (1..=last).map(|value| Scalar::Int32(2 * value)).collect();
        let selected = rows(&ask(Test::In(many.clone().into())));
        let step = if kind == "bitmap" { 2 } else { 1 };
        let between = |value| (2..=2 * i64::from(last)).contains(&value) && value % step == 0;
        assert_eq!(selected, expected(&between), "{kind}");
        assert_eq!(ask(Test::NotIn(many.into())) == IndexSelection::All, kind != "bitmap");
    }
}

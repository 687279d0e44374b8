//! Tests that every row that a filter matches is in the selection, for every index type and every column type.

use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::TimeUnit;
use arrow_select::concat::concat;
use bytes::Bytes;
use frazil_core::scalar::{Scalar, ScalarType};
use frazil_core::sql::predicate::eval::{RowColumns, evaluate};
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, CompareOp, Test};
use proptest::prelude::*;

use super::encode;
use crate::file_index::value::{Layout, Value};
use crate::file_index::{FileIndex, IndexSelection, IndexedColumn};
use crate::spec::types::{DataType, TypeRoot};

/// A type with ascending values of it, and the form in which indexes hold them.
struct Domain {
    root: TypeRoot,
    values: Vec<Scalar>,
    held: fn(&Scalar) -> Value<'_>,
}

fn integers(scalar: &Scalar) -> Value<'_> {
    Value::Integer(match scalar {
        Scalar::Boolean(value) => i64::from(*value),
        Scalar::Int8(value) => i64::from(*value),
        Scalar::Int16(value) => i64::from(*value),
        Scalar::Int32(value) | Scalar::Date(value) => i64::from(*value),
        Scalar::Time(micros) => micros / 1000,
        Scalar::Decimal { unscaled, .. } => i64::try_from(*unscaled).unwrap(),
        Scalar::Timestamp { value, unit: TimeUnit::Nanosecond, .. } => value.div_euclid(1000),
        Scalar::Int64(value) | Scalar::Timestamp { value, .. } => *value,
        other => panic!("{other}"),
    })
}

fn floats(scalar: &Scalar) -> Value<'_> {
    match scalar {
        Scalar::Float32(value) => Value::Float(f64::from(*value)),
        Scalar::Float64(value) => Value::Float(*value),
        other => panic!("{other}"),
    }
}

fn bytes(scalar: &Scalar) -> Value<'_> {
    match scalar {
        Scalar::String(text) => Value::Bytes(text.as_bytes()),
        Scalar::Binary(bytes) => Value::Bytes(bytes),
        other => panic!("{other}"),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the values fit the types that they are for")]
fn domains() -> Vec<Domain> {
    let numbers = [-300, -128, -2, -1, 0, 1, 2, 3, 127, 300_i64];
    let small = || numbers[1..9].iter();
    let far = || [i64::MIN + 1].into_iter().chain(numbers).chain([1 << 40, i64::MAX]);
    let domain = |root, values, held| Domain { root, values, held };
    let timestamp = |unit, utc| move |value| Scalar::Timestamp { value, unit, utc };
    let doubles = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 0.5, 2.0, f64::INFINITY, f64::NAN];
    let texts = ["", "a", "ab", "abc", "b", "ba", "\u{fc}", "\u{ff5e}", "\u{1f600}"];
    let decimal = |unscaled: i64| Scalar::Decimal { unscaled: unscaled.into(), precision: 10, scale: 2 };
    let nanos = [-1001, -1000, -999, -1, 0, 1, 999, 1000, 1001, 5_000_000_007];
    vec![
        domain(TypeRoot::Boolean, [false, true].map(Scalar::Boolean).to_vec(), integers),
        domain(TypeRoot::TinyInt, small().map(|n| Scalar::Int8(*n as i8)).collect(), integers),
        domain(TypeRoot::SmallInt, numbers.iter().map(|n| Scalar::Int16(*n as i16)).collect(), integers),
        domain(TypeRoot::Int, numbers.iter().map(|n| Scalar::Int32(*n as i32)).collect(), integers),
        domain(TypeRoot::BigInt, far().map(Scalar::Int64).collect(), integers),
        domain(TypeRoot::Float, doubles.iter().map(|f| Scalar::Float32(*f as f32)).collect(), floats),
        domain(TypeRoot::Double, doubles.map(Scalar::Float64).to_vec(), floats),
        domain(TypeRoot::Decimal(10, 2), numbers.map(decimal).to_vec(), integers),
        domain(TypeRoot::VarChar(9), texts.map(|t| Scalar::String(t.into())).to_vec(), bytes),
        domain(TypeRoot::VarBinary(9), texts.map(|t| Scalar::Binary(t.into())).to_vec(), bytes),
        domain(TypeRoot::Date, numbers.iter().map(|n| Scalar::Date(*n as i32)).collect(), integers),
        domain(TypeRoot::Time(3), numbers[4..].iter().map(|n| Scalar::Time(n * 1000)).collect(), integers),
        domain(TypeRoot::Timestamp(3), far().map(timestamp(TimeUnit::Millisecond, false)).collect(), integers),
        domain(TypeRoot::LocalZonedTimestamp(6), far().map(timestamp(TimeUnit::Microsecond, true)).collect(), integers),
        domain(TypeRoot::Timestamp(9), nanos.map(timestamp(TimeUnit::Nanosecond, false)).to_vec(), integers),
    ]
}

/// The index of the value of each row, or None for NULL.
type Rows = Vec<Option<usize>>;

fn array(data_type: ScalarType, values: &[Option<&Scalar>]) -> ArrayRef {
    let one = |value: Option<&Scalar>| match value {
        Some(scalar) => scalar.to_array(1).unwrap(),
        None => new_null_array(&data_type.arrow(), 1),
    };
    let ones: Vec<ArrayRef> = values.iter().copied().map(one).chain([new_null_array(&data_type.arrow(), 0)]).collect();
    concat(&ones.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap()
}

/// Builds a test from numbers that choose the literals.
fn tests(domain: &Domain, kind: u8, picks: &[usize]) -> Test {
    let pick = |i: usize| domain.values[picks[i] % domain.values.len()].clone();
    let op = [CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq, CompareOp::Eq, CompareOp::NotEq];
    let mut members: Vec<Scalar> = (0..picks.len()).map(pick).collect();
    members.sort_by(|a, b| a.compare(b).unwrap());
    members.dedup_by(|a, b| a.compare(b).unwrap().is_eq());
    let is_float = matches!(domain.root, TypeRoot::Float | TypeRoot::Double);
    match kind % 13 {
        compare @ 0..6 => Test::Compare(op[usize::from(compare)], pick(0)),
        6 => Test::IsNull,
        7 => Test::NotNull,
        8 if is_float => Test::IsNan,
        9 if is_float => Test::NotNan,
        8 if matches!(domain.root, TypeRoot::VarChar(_)) => Test::StartsWith(pick(0)),
        9 if matches!(domain.root, TypeRoot::VarChar(_)) => Test::NotStartsWith(pick(0)),
        _ if members.len() < 2 => Test::Compare(CompareOp::Eq, pick(0)),
        8..11 => Test::In(members.into()),
        _ => Test::NotIn(members.into()),
    }
}

struct One(ArrayRef);

impl RowColumns for One {
    fn column(&self, _: i32) -> Option<ArrayRef> {
        Some(Arc::clone(&self.0))
    }
}

fn indexed(domain: &Domain) -> IndexedColumn {
    let data_type = DataType::nullable(domain.root.clone());
    IndexedColumn { name: "c".into(), file_type: data_type.clone(), read_type: data_type, is_replaced: false }
}

fn leaf(domain: &Domain, test: Test) -> BoundPredicate {
    let data_type = DataType::nullable(domain.root.clone()).scalar().unwrap();
    BoundPredicate::Leaf(BoundColumn { id: 7, name: "c".into(), data_type, nullable: true }, test)
}

/// Returns the index types that support a type, each with its index.
fn indexes(domain: &Domain, column: &encode::Column<'_>, size: usize) -> Vec<(&'static str, Vec<u8>)> {
    let layout = Layout::of(&domain.root).unwrap();
    let mut indexes = Vec::new();
    let integer = !matches!(layout, Layout::Boolean | Layout::Float | Layout::Double | Layout::Bytes);
    if !matches!(domain.root, TypeRoot::Boolean | TypeRoot::Decimal(..)) {
        indexes.push(("bloom-filter", encode::bloom_filter(column, layout, 1 + size, 3)));
    }
    if !matches!(domain.root, TypeRoot::Decimal(..) | TypeRoot::VarBinary(_)) {
        indexes.push(("bitmap", encode::bitmap_v1(column, layout)));
        indexes.push(("bitmap", encode::bitmap_v2(column, layout, 16 + size)));
    }
    if integer {
        indexes.push(("bsi", encode::bsi(column)));
    }
    if !matches!(domain.root, TypeRoot::Timestamp(9) | TypeRoot::VarBinary(_)) {
        indexes.push(("range-bitmap", encode::range_bitmap(column, layout, size)));
    }
    indexes
}

/// Returns whether an index of that type selects exactly the rows that pass.
fn is_exact(kind: &str, domain: &Domain, test: &Test) -> bool {
    let coarse = domain.root == TypeRoot::Timestamp(9);
    let equality = match test {
        Test::IsNull | Test::NotNull => return kind != "bloom-filter",
        Test::Compare(CompareOp::Eq | CompareOp::NotEq, _) => true,
        _ => matches!(test, Test::In(_) | Test::NotIn(_) | Test::IsNan | Test::NotNan),
    };
    !coarse && (equality && kind == "bitmap" || kind == "bsi" || kind == "range-bitmap")
}

fn set_bits(selection: &IndexSelection, rows: usize) -> Vec<bool> {
    match selection {
        IndexSelection::Skip => vec![false; rows],
        IndexSelection::All => vec![true; rows],
        IndexSelection::Rows(bits) => bits.iter().collect(),
    }
}

fn numbers() -> impl Strategy<Value = Rows> {
    prop_oneof![
        8 => prop::collection::vec(prop::option::weighted(0.8, 0..20_usize), 0..60),
        1 => prop::collection::vec(Just(None), 1..9),
        1 => (0..20_usize, 1..200_usize).prop_map(|(value, rows)| vec![Some(value); rows]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn matching_rows_are_selected(
        numbers in numbers(),
        tested in prop::collection::vec((any::<u8>(), prop::collection::vec(0..20_usize, 1..5)), 4),
        size in 0..60_usize,
    ) {
        for domain in domains() {
            let values: Vec<Option<&Scalar>> = numbers.iter()
                .map(|number| number.map(|number| &domain.values[number % domain.values.len()])).collect();
            let held: Vec<Option<Value<'_>>> = values.iter().map(|value| value.map(domain.held)).collect();
            let rows = values.len();
            let data_type = DataType::nullable(domain.root.clone()).scalar().unwrap();
            let columns = One(array(data_type, &values));
            let leaves: Vec<_> = tested.iter().map(|(kind, picks)| tests(&domain, *kind, picks)).collect();
            let column = |_| Some(indexed(&domain));
            for (kind, body) in indexes(&domain, &held, size) {
                let bytes = encode::container(&[("b", &[]), ("c", &[(kind, Some(body))])]);
                let index = FileIndex::parse(bytes).unwrap();
                for test in &leaves {
                    let filter = leaf(&domain, test.clone());
                    let matching: Vec<bool> = evaluate(&filter, &columns, rows).unwrap().iter().collect();
                    let selection = index.evaluate(&filter, rows, &column);
                    let selected = set_bits(&selection, rows);
                    prop_assert!(matching.iter().zip(&selected).all(|(m, s)| !m || *s), "{kind} {filter:?} {selection:?}");
                    if is_exact(kind, &domain, test) {
                        prop_assert_eq!(&selected, &matching, "{} {:?}", kind, filter);
                    }
                }
                let all = BoundPredicate::and(leaves.iter().cloned().map(|test| leaf(&domain, test)));
                let any = BoundPredicate::or(leaves.iter().cloned().map(|test| leaf(&domain, test)));
                for filter in [BoundPredicate::and([any.clone(), all.clone()]), any, all] {
                    let matching = evaluate(&filter, &columns, rows).unwrap();
                    let selected = set_bits(&index.evaluate(&filter, rows, &column), rows);
                    prop_assert!(matching.iter().zip(&selected).all(|(m, s)| !m || *s), "{kind} {filter:?}");
                }
            }
        }
    }

    #[test]
    fn damaged_indexes_never_panic(
        numbers in numbers(),
        kind: u8, picks in prop::collection::vec(0..20_usize, 1..5),
        at: prop::sample::Index, byte: u8, cut: prop::sample::Index,
    ) {
        for domain in domains() {
            let values: Vec<Option<&Scalar>> = numbers.iter()
                .map(|number| number.map(|number| &domain.values[number % domain.values.len()])).collect();
            let held: Vec<Option<Value<'_>>> = values.iter().map(|value| value.map(domain.held)).collect();
            let filter = leaf(&domain, tests(&domain, kind, &picks));
            for (kind, body) in indexes(&domain, &held, 8) {
                let mut damaged = body.clone();
                damaged[at.index(body.len())] ^= byte;
                for body in [damaged, body[..cut.index(body.len())].to_vec()] {
                    let index = FileIndex::parse(encode::container(&[("c", &[(kind, Some(body))])])).unwrap();
                    let _ = index.evaluate(&filter, values.len(), &|_| Some(indexed(&domain)));
                }
            }
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), kind in 0..4_usize) {
        let _ = FileIndex::parse(bytes.clone().into());
        let kind = ["bloom-filter", "bitmap", "bsi", "range-bitmap"][kind];
        for domain in domains() {
            let index = FileIndex::parse(encode::container(&[("c", &[(kind, Some(bytes.clone()))])])).unwrap();
            for test in 0..13 {
                let _ = index.evaluate(&leaf(&domain, tests(&domain, test, &[1, 2])), 5, &|_| Some(indexed(&domain)));
            }
        }
        let head = [&1_493_475_289_347_502_i64.to_be_bytes()[..], &[0, 0, 0, 1], &bytes].concat();
        let _ = FileIndex::parse(Bytes::from(head));
    }
}

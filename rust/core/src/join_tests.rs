use std::sync::Arc;

use arrow_array::{BinaryArray, Decimal128Array, Float64Array, Int32Array, StringArray};
use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn floats(values: Vec<Option<f64>>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

fn pairs(build: &[ArrayRef], probe: &[ArrayRef], null_safe: &[bool]) -> Vec<(u32, u32)> {
    let found = JoinTable::build(build, null_safe).unwrap().probe(probe).unwrap();
    found.probed.into_iter().zip(found.found).collect()
}

#[test]
fn nan_equals_nan_and_zeros_are_one() {
    let build = [floats(vec![Some(f64::NAN), Some(0.0), None])];
    let probe = [floats(vec![Some(-0.0), Some(-f64::NAN), None])];
    assert_eq!(pairs(&build, &probe, &[false]), [(0, 1), (1, 0)]);
    assert_eq!(pairs(&build, &probe, &[true]), [(0, 1), (1, 0), (2, 2)]);
}

#[test]
fn null_in_one_of_several_keys_matches_nothing() {
    let a = || Arc::new(Int32Array::from(vec![Some(1), Some(1), None])) as ArrayRef;
    let b = || Arc::new(StringArray::from(vec![Some("x"), None, Some("x")])) as ArrayRef;
    assert_eq!(pairs(&[a(), b()], &[a(), b()], &[false, false]), [(0, 0)]);
    assert_eq!(pairs(&[a(), b()], &[a(), b()], &[false, true]), [(0, 0), (1, 1)]);
}

#[test]
fn an_empty_table_has_no_pairs() {
    let empty = Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef;
    let some = Arc::new(Int64Array::from(vec![0, 1])) as ArrayRef;
    assert_eq!(pairs(std::slice::from_ref(&empty), std::slice::from_ref(&some), &[false]), []);
    assert_eq!(pairs(&[some], &[empty], &[false]), []);
}

fn keys(form: usize, values: &[Option<i64>]) -> ArrayRef {
    let text = || values.iter().map(|value| value.map(|value| format!("key {value}")));
    match form {
        0 => Arc::new(Int64Array::from(values.to_vec())),
        1 => Arc::new(text().collect::<StringArray>()),
        2 => Arc::new(text().collect::<BinaryArray>()),
        3 => Arc::new(values.iter().map(|value| value.map(i128::from)).collect::<Decimal128Array>()),
        _ => Arc::new(
            values.iter().map(|value| value.and_then(|value| i32::try_from(value).ok())).collect::<Int32Array>(),
        ),
    }
}

proptest! {
    #[test]
    fn pairs_are_those_of_two_loops(
        form in 0_usize..5,
        build in prop::collection::vec(prop::option::of(-20_i64..20), 0..80),
        probe in prop::collection::vec(prop::option::of(-20_i64..20), 0..200),
        null_safe: bool,
    ) {
        let mut expected = Vec::new();
        for (left, a) in (0_u32..).zip(&probe) {
            for (right, b) in (0_u32..).zip(&build) {
                if a == b && (a.is_some() || null_safe) {
                    expected.push((left, right));
                }
            }
        }
        prop_assert_eq!(pairs(&[keys(form, &build)], &[keys(form, &probe)], &[null_safe]), expected);
    }
}

#[test]
fn pairs_are_counted_before_they_fill_the_memory() {
    let ones = [keys(0, &[Some(1); 3])];
    let table = JoinTable::build(&ones, &[false]).unwrap();
    assert_eq!(table.probe_up_to(9, &ones).unwrap().found.len(), 9);
    assert_eq!(table.probe_up_to(8, &ones).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn duplicates_are_named() {
    let table = JoinTable::build(&[keys(0, &[Some(1), None, Some(2), Some(1), None, Some(1)])], &[false]).unwrap();
    assert_eq!(table.duplicates(5), [3, 5]);
    assert_eq!(table.duplicates(1), [3]);
}

#[rstest]
#[case(vec![Some(3.0), None, Some(-0.0), Some(0.0), Some(3.0)], JoinBounds::Values(vec![Scalar::Float64(0.0), Scalar::Float64(3.0)]))]
#[case(vec![Some(3.0), Some(f64::INFINITY), Some(1.0)], JoinBounds::Between(Scalar::Float64(1.0), Scalar::Float64(f64::INFINITY)))]
#[case(vec![None, None], JoinBounds::Values(vec![]))]
#[case(vec![], JoinBounds::Values(vec![]))]
fn bounds_hold_every_value(#[case] values: Vec<Option<f64>>, #[case] expected: JoinBounds) {
    assert_eq!(bounds(&floats(values), 2).unwrap(), expected);
}

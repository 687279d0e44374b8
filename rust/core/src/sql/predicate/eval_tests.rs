use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int32Array, Int64Array, LargeStringArray, NullArray, StringArray, StringViewArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_schema::TimeUnit;
use proptest::prelude::*;
use rstest::rstest;

use super::super::bind::bind;
use super::super::testing::{Names, Rows, TYPES, columns, predicates, rows};
use super::super::{ColumnName, Condition, Literal};
use super::*;
use crate::error::ErrorKind;
use crate::scalar::ScalarType;
use crate::sql::expression::Expression;

/// Returns the rows of a column `x` that a filter keeps.
fn kept(filter: &str, data_type: ScalarType, array: &ArrayRef) -> Vec<usize> {
    let predicate = bind(&Expression::filter(filter).unwrap(), &Names(vec![("x", data_type)]), true).unwrap();
    let rows = evaluate(&predicate, &Rows([(0, Arc::clone(array))].into()), array.len()).unwrap();
    assert_eq!(rows.len(), array.len());
    rows.set_indices().collect()
}

#[rstest]
#[case("x < 0.5", &[1, 2, 3])]
#[case("x <= inf", &[1, 2, 3, 4])]
#[case("x > 0", &[4, 5, 6])]
#[case("x > inf", &[5, 6])]
#[case("x >= nan", &[5, 6])]
#[case("x > nan", &[])]
#[case("x <= nan", &[1, 2, 3, 4, 5, 6])]
#[case("x < nan", &[1, 2, 3, 4])]
#[case("x = 0.0", &[2, 3])]
#[case("x = -0.0", &[2, 3])]
#[case("x <> 0.0", &[1, 4, 5, 6])]
#[case("x = nan", &[5, 6])]
#[case("x <> nan", &[1, 2, 3, 4])]
#[case("x in (nan, 0)", &[2, 3, 5, 6])]
#[case("x not in (nan, 0)", &[1, 4])]
#[case("x is nan", &[5, 6])]
#[case("x is not nan", &[0, 1, 2, 3, 4])]
#[case("x is null", &[0])]
#[case("x is not null", &[1, 2, 3, 4, 5, 6])]
fn floats_have_one_nan_and_one_zero(#[case] filter: &str, #[case] expected: &[usize]) {
    let values = [None, Some(-1.0), Some(-0.0), Some(0.0), Some(f64::INFINITY), Some(f64::NAN), Some(-f64::NAN)];
    let doubles: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
    assert_eq!(kept(filter, ScalarType::Float64, &doubles), expected);
    #[expect(clippy::cast_possible_truncation, reason = "these are floats")]
    let singles: ArrayRef = Arc::new(values.iter().map(|value| value.map(|v| v as f32)).collect::<Float32Array>());
    assert_eq!(kept(filter, ScalarType::Float32, &singles), expected);
}

#[test]
fn singles_are_compared_with_doubles_exactly() {
    let array: ArrayRef = Arc::new(Float32Array::from(vec![0.1_f32, 0.1_f32.next_down()]));
    assert_eq!(kept("x > 0.1", ScalarType::Float32, &array), [0]);
    assert_eq!(kept("x < 0.1", ScalarType::Float32, &array), [1]);
    assert_eq!(kept("x = 0.1", ScalarType::Float32, &array), [0_usize; 0]);
}

#[rstest]
#[case("x = 'b'", &[2])]
#[case("x <> 'b'", &[1, 3, 4])]
#[case("x >= 'b'", &[2, 3, 4])]
#[case("x in ('', 'b')", &[1, 2])]
#[case("x not in ('', 'b')", &[3, 4])]
#[case("x like 'b%'", &[2, 3])]
#[case("x not like 'b%'", &[1, 4])]
#[case("x like '_'", &[2, 4])]
#[case("x not like '_'", &[1, 3])]
fn text_in_any_layout_compares_by_bytes(#[case] filter: &str, #[case] expected: &[usize]) {
    let values = vec![None, Some(""), Some("b"), Some("ba"), Some("\u{e9}")];
    let dictionary: DictionaryArray<Int8Type> = values.iter().copied().collect();
    let arrays: [ArrayRef; 4] = [
        Arc::new(StringArray::from(values.clone())),
        Arc::new(LargeStringArray::from(values.clone())),
        Arc::new(StringViewArray::from(values)),
        Arc::new(dictionary),
    ];
    for array in arrays {
        assert_eq!(kept(filter, ScalarType::String, &array), expected, "{}", array.data_type());
    }
}

#[test]
fn the_other_types_compare_by_value() {
    let check = |filter: &str, data_type: ScalarType, array: ArrayRef, expected: &[usize]| {
        assert_eq!(kept(filter, data_type, &array), expected, "{filter}");
    };
    let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![None, Some(false), Some(true)]));
    for (filter, expected) in [
        ("x", &[2][..]),
        ("not x", &[1]),
        ("x < true", &[1]),
        ("x <= true", &[1, 2]),
        ("x in (true, false)", &[1, 2]),
        ("x not in (true, false)", &[]),
        ("x > true", &[]),
    ] {
        check(filter, ScalarType::Boolean, Arc::clone(&booleans), expected);
    }
    let decimals = Decimal128Array::from(vec![None, Some(-105), Some(105)]).with_precision_and_scale(9, 2).unwrap();
    check("x < 1.051", ScalarType::Decimal { precision: 9, scale: 2 }, Arc::new(decimals), &[1, 2]);
    check("x > '1970-01-01'", ScalarType::Date, Arc::new(Date32Array::from(vec![None, Some(0), Some(1)])), &[2]);
    let timestamps = TimestampMicrosecondArray::from(vec![None, Some(-1), Some(0)]).with_timezone("+00:00");
    let micros = ScalarType::Timestamp { unit: TimeUnit::Microsecond, utc: true };
    check("x < '1970-01-01'", micros, Arc::new(timestamps), &[1]);
    let binaries = BinaryArray::from(vec![None, Some(&[0x7f][..]), Some(&[0x80]), Some(&[0x80, 0])]);
    check("x > X'7f'", ScalarType::Binary, Arc::new(binaries), &[2, 3]);
    let fixed = || FixedSizeBinaryArray::try_from_iter([[0_u8; 16], [0xff; 16]].into_iter()).unwrap();
    check("x > X'00'", ScalarType::Fixed(16), Arc::new(fixed()), &[0, 1]);
    check("x > 'f0000000-0000-0000-0000-000000000000'", ScalarType::Uuid, Arc::new(fixed()), &[1]);
    check("x in (1, 2, 3, 4, 5, 6, 7, 8, 9)", ScalarType::Int32, Arc::new(Int32Array::from(vec![0, 9, 5])), &[1, 2]);
    check("x is null", ScalarType::Null, Arc::new(NullArray::new(2)), &[0, 1]);
    check("x is not nan", ScalarType::Float64, Arc::new(NullArray::new(2)), &[0, 1]);
    check("x < 5", ScalarType::Int32, Arc::new(NullArray::new(2)), &[]);
    let fields =
        StructArray::new_null(vec![arrow_schema::Field::new("y", arrow_schema::DataType::Int8, true)].into(), 1);
    check("x is null", ScalarType::Null, Arc::new(fields), &[0]);
}

#[test]
fn sliced_arrays_keep_their_place() {
    let array: ArrayRef = Arc::new((0..200).map(|v| (v % 3 > 0).then_some(v)).collect::<Int32Array>().slice(70, 100));
    let expected: Vec<usize> = (70..170_usize).filter(|v| v % 3 > 0 && *v < 100).map(|v| v - 70).collect();
    assert_eq!(kept("x < 100", ScalarType::Int32, &array), expected);
    let flags: ArrayRef = Arc::new((0..200).map(|v| Some(v % 2 == 0)).collect::<BooleanArray>().slice(71, 3));
    assert_eq!(kept("x", ScalarType::Boolean, &flags), [1]);
}

#[test]
fn columns_that_are_not_as_promised_are_errors() {
    let leaf = BoundPredicate::Leaf(
        BoundColumn { id: 0, name: "x".into(), data_type: ScalarType::Int32, nullable: true },
        Test::Compare(CompareOp::Lt, Scalar::Int32(5)),
    );
    let with = |array: ArrayRef| evaluate(&leaf, &Rows([(0, array)].into()), 1).map_err(|error| error.kind());
    assert_eq!(with(Arc::new(Int64Array::from(vec![1]))), Err(ErrorKind::Internal));
    assert_eq!(with(Arc::new(Int32Array::from(vec![1, 2]))), Err(ErrorKind::Internal));
    assert!(evaluate(&leaf, &Rows(HashMap::new()), 1).is_err());
    let dictionary: DictionaryArray<Int32Type> = [Some("a")].into_iter().collect();
    assert_eq!(with(Arc::new(dictionary)), Err(ErrorKind::Internal));
}

/// Returns the SQL truth value of an unbound predicate for one row of an int, a double and a string, computed directly:
/// the oracle.
fn truth(predicate: &Expression, row: (Option<i32>, Option<f64>, Option<&str>)) -> Option<bool> {
    let compare = |name: &ColumnName, literal: &Literal| -> Option<Ordering> {
        let total = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
        match (name.0[0].as_str(), literal) {
            (_, Literal::Null) => None,
            ("i", Literal::Number(digits)) => Some(total(f64::from(row.0?), digits.parse().unwrap())),
            ("f", Literal::Number(digits)) => Some(total(row.1?, digits.parse().unwrap())),
            ("s", Literal::String(text)) => Some(row.2?.cmp(text)),
            _ => unreachable!(),
        }
    };
    match predicate {
        Expression::Literal(Literal::Boolean(value)) => Some(*value),
        Expression::And(parts) => {
            let truths: Vec<_> = parts.iter().map(|part| truth(part, row)).collect();
            if truths.contains(&Some(false)) {
                Some(false)
            } else {
                truths.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
            }
        }
        Expression::Or(parts) => {
            let truths: Vec<_> = parts.iter().map(|part| truth(part, row)).collect();
            if truths.contains(&Some(true)) {
                Some(true)
            } else {
                truths.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
            }
        }
        Expression::Not(inner) => truth(inner, row).map(|truth| !truth),
        Expression::Compare(op, left, right) => {
            let (Expression::Column(name), Expression::Literal(literal)) = (&**left, &**right) else { unreachable!() };
            compare(name, literal).map(|ordering| op.accepts(ordering))
        }
        Expression::In(value, members) => {
            let equal =
                |member: &Expression| Expression::Compare(CompareOp::Eq, value.clone(), Box::new(member.clone()));
            truth(&Expression::Or(members.iter().map(equal).collect()), row)
        }
        Expression::IsNull(value) => Some(match value.to_string().as_str() {
            "i" => row.0.is_none(),
            "f" => row.1.is_none(),
            _ => row.2.is_none(),
        }),
        Expression::IsNan(_) => Some(row.1.is_some_and(f64::is_nan)),
        Expression::Like(_, pattern) => row.2.map(|text| pattern.matches(text)),
        other => unreachable!("{other}"),
    }
}

proptest! {
    #[test]
    fn binding_and_evaluation_keep_sql_truth(predicate in predicates(), rows in rows()) {
        let bound = bind(&predicate, &Names(TYPES.to_vec()), true).unwrap();
        let found = evaluate(&bound, &columns(&rows), rows.len()).unwrap();
        for (row, found) in rows.iter().zip(&found) {
            let expected = truth(&predicate, (row.0, row.1, row.2.as_deref())) == Some(true);
            prop_assert_eq!(found, expected, "{} bound as {} for {:?}", predicate, bound, row);
        }
    }

    #[test]
    fn conditions_and_tests_of_columns_agree(predicate in predicates(), rows in rows()) {
        let names = Names(TYPES.to_vec());
        // A comparison of the whole is not a test of one column.
        let condition = Expression::Compare(CompareOp::Eq, predicate.clone().into(), Expression::TRUE.into());
        for negated in [false, true] {
            let form = |one: &Expression| if negated { Expression::Not(Box::new(one.clone())) } else { one.clone() };
            let [predicate, condition] = [&predicate, &condition].map(form);
            let (bound, other) = (bind(&predicate, &names, true).unwrap(), bind(&condition, &names, true).unwrap());
            let found = [&bound, &other].map(|one| evaluate(one, &columns(&rows), rows.len()).unwrap());
            prop_assert_eq!(&found[0], &found[1], "{} and {}", bound, other);
            let again = bind(&Expression::filter(&other.to_string()).unwrap(), &names, true).unwrap();
            prop_assert_eq!(&found[1], &evaluate(&again, &columns(&rows), rows.len()).unwrap(), "{}", again);
            if let BoundPredicate::Condition(known) = &other {
                let read = Condition::parse(&known.sql(), known.columns().to_vec()).unwrap();
                prop_assert_eq!(&found[1], &evaluate(&BoundPredicate::Condition(Arc::new(read)), &columns(&rows), rows.len()).unwrap());
            }
        }
    }
}

#[test]
fn conditions_are_evaluated_only_where_they_decide() {
    let names = Names(TYPES.to_vec());
    let rows = vec![(Some(0), Some(1.0), None), (Some(2), Some(1.0), Some("a".to_string())), (None, None, None)];
    let kept = |filter: &str| -> Result<Vec<usize>> {
        let bound = bind(&Expression::filter(filter).unwrap(), &names, true)?;
        Ok(evaluate(&bound, &columns(&rows), rows.len())?.set_indices().collect())
    };
    assert_eq!(kept("10 % i = 0 and i > 0").unwrap(), [1]);
    assert_eq!(kept("10 % i = 0 or i = 0").unwrap(), [0, 1]);
    assert_eq!(kept("f = i / 2").unwrap(), [1]);
    assert_eq!(kept("coalesce(s, 'b') = 'b'").unwrap(), [0, 2]);
    assert_eq!(kept("not (i > f)").unwrap(), [0]);
    assert_eq!(kept("1 = 1").unwrap(), [0, 1, 2]);
    assert_eq!(kept("null or i = 2").unwrap(), [1]);
    assert!(kept("10 % i = 0").unwrap_err().to_string().contains("10 % i"));
    for (filter, named) in [
        ("i = s", "int"),
        ("i + s > 1", "i + s"),
        ("upper(i) = 'A'", "upper"),
        ("i + 1", "boolean"),
        ("i = j", "no column `j`"),
        ("s = x", "write 'x'"),
        ("cast(s as date) + 1 > 2", "date"),
    ] {
        let error = kept(filter).unwrap_err().to_string();
        assert!(error.contains(named), "{filter}: {error}");
    }
}

//! Tests of text for files in which the column still is a whole number: such a file has a text only if it has the number
//! that is printed so. The order of texts is another than that of numbers, so that only equality says something.

use frazil_core::predicate::{BoundColumn, BoundPredicate, CompareOp, Test};
use frazil_core::scalar::{Scalar, ScalarType};

use crate::spec::types::TypeRoot;

/// The longest text of a number: shorter columns cut it off.
const LONGEST: u32 = 20;

/// Whether values of one type are whole numbers, and of the other their whole text.
pub(super) fn is_printed(from: &TypeRoot, to: &TypeRoot) -> bool {
    use TypeRoot::{BigInt, Int, SmallInt, TinyInt, VarChar};
    matches!(from, TinyInt | SmallInt | Int | BigInt) && matches!(to, VarChar(length) if *length >= LONGEST)
}

/// The filter, with a test of the number beside each test of a text that `was_number` names by its field id.
pub(super) fn with_numbers(filter: &BoundPredicate, was_number: &dyn Fn(i32) -> bool) -> BoundPredicate {
    let each =
        |parts: &[BoundPredicate]| -> Vec<_> { parts.iter().map(|part| with_numbers(part, was_number)).collect() };
    match filter {
        BoundPredicate::And(parts) => BoundPredicate::and(each(parts)),
        BoundPredicate::Or(parts) => BoundPredicate::or(each(parts)),
        BoundPredicate::Leaf(column, test) => match of_number(test).filter(|_| was_number(column.id)) {
            Some(test) => {
                let column = BoundColumn { data_type: ScalarType::Int64, ..column.clone() };
                BoundPredicate::and([filter.clone(), BoundPredicate::Leaf(column, test)])
            }
            None => filter.clone(),
        },
        other => other.clone(),
    }
}

fn of_number(test: &Test) -> Option<Test> {
    match test {
        Test::Compare(CompareOp::Eq, text) => {
            number(text).map(|number| Test::Compare(CompareOp::Eq, Scalar::Int64(number)))
        }
        Test::In(texts) => {
            let mut numbers = texts.iter().map(number).collect::<Option<Vec<i64>>>()?;
            numbers.sort_unstable();
            Some(Test::In(numbers.into_iter().map(Scalar::Int64).collect()))
        }
        _ => None,
    }
}

/// The number that is printed so.
fn number(text: &Scalar) -> Option<i64> {
    let Scalar::String(text) = text else { return None };
    text.parse().ok().filter(|number: &i64| number.to_string() == *text)
}

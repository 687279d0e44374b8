//! Tests of text for files in which the column still is a whole number: such a file has a text only if it has the number
//! that is printed so. A text that no number is printed as, such as `05`, is in no such file.

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
        BoundPredicate::Leaf(column, test) if was_number(column.id) => {
            let column = BoundColumn { data_type: ScalarType::Int64, ..column.clone() };
            let numbers = of_number(test).into_iter().map(|test| BoundPredicate::Leaf(column.clone(), test));
            BoundPredicate::and([filter.clone()].into_iter().chain(numbers))
        }
        other => other.clone(),
    }
}

/// Tests of the number, all of which are true where the test of its text is.
fn of_number(test: &Test) -> Vec<Test> {
    let equal = |number| Test::Compare(CompareOp::Eq, Scalar::Int64(number));
    let mut numbers: Vec<i64> = match test {
        Test::Compare(CompareOp::Eq, text) => number(text).into_iter().collect(),
        Test::In(texts) => texts.iter().filter_map(number).collect(),
        _ => return Vec::new(),
    };
    numbers.sort_unstable();
    match numbers.as_slice() {
        // No number is both.
        [] => vec![equal(i64::MIN), equal(i64::MAX)],
        [number] => vec![equal(*number)],
        numbers => vec![Test::In(numbers.iter().copied().map(Scalar::Int64).collect())],
    }
}

/// The number that is printed so.
fn number(text: &Scalar) -> Option<i64> {
    let Scalar::String(text) = text else { return None };
    text.parse().ok().filter(|number: &i64| number.to_string() == *text)
}

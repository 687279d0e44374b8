//! Tests strings in files in which the column is still an integer. A value matches such a test only if the integer is
//! printed as that string. Strings such as `05`, which no integer is printed as, do not occur in these files.

use frazil_core::scalar::{Scalar, ScalarType};
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, CompareOp, Test};

use crate::spec::types::TypeRoot;

/// The length of the longest integer string; shorter columns truncate it.
const LONGEST: u32 = 20;

/// Returns whether one type is an integer type, and the other holds its complete string.
pub(super) fn is_printed(from: &TypeRoot, to: &TypeRoot) -> bool {
    use TypeRoot::{BigInt, Int, SmallInt, TinyInt, VarChar};
    matches!(from, TinyInt | SmallInt | Int | BigInt) && matches!(to, VarChar(length) if *length >= LONGEST)
}

/// Adds a test of the number to each string test of a column for which `was_number` is true.
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

/// Returns tests of the number that are all true if the test of its string is true. Empty for tests other than
/// equality.
fn of_number(test: &Test) -> Vec<Test> {
    let equal = |number| Test::Compare(CompareOp::Eq, Scalar::Int64(number));
    let mut numbers: Vec<i64> = match test {
        Test::Compare(CompareOp::Eq, text) => number(text).into_iter().collect(),
        Test::In(texts) => texts.iter().filter_map(number).collect(),
        _ => return Vec::new(),
    };
    numbers.sort_unstable();
    match numbers.as_slice() {
        // No printed integer equals the string. Two contradictory tests exclude all rows.
        [] => vec![equal(i64::MIN), equal(i64::MAX)],
        [number] => vec![equal(*number)],
        numbers => vec![Test::In(numbers.iter().copied().map(Scalar::Int64).collect())],
    }
}

/// Returns the number that is printed as the given string, or None if no number is.
fn number(text: &Scalar) -> Option<i64> {
    let Scalar::String(text) = text else { return None };
    text.parse().ok().filter(|number: &i64| number.to_string() == *text)
}

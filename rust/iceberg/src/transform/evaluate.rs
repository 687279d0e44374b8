//! Evaluates one test on one value, which [`super::project`] needs to decide a leaf on a partition tuple.
//!
//! The semantics are those of predicates: NaN equals NaN and is greater than every other number, -0.0 equals 0.0, bytes
//! compare unsigned, and NULL fails every test except IS NULL and IS NOT NAN.

use frazil_core::scalar::Scalar;
use frazil_core::sql::predicate::Test;

/// Returns whether `value` (None: NULL) passes `test`. None if the two cannot be compared.
pub(super) fn passes(test: &Test, value: Option<&Scalar>) -> Option<bool> {
    let Some(value) = value else { return Some(matches!(test, Test::IsNull | Test::NotNan)) };
    match test {
        Test::IsNull => Some(false),
        Test::NotNull => Some(true),
        Test::IsNan => Some(value.is_nan()),
        Test::NotNan => Some(!value.is_nan()),
        Test::Compare(op, literal) => value.compare(literal).map(|order| op.accepts(order)),
        Test::In(literals) => contains(literals, value),
        Test::NotIn(literals) => contains(literals, value).map(|found| !found),
        Test::StartsWith(prefix) => starts_with(value, prefix),
        Test::NotStartsWith(prefix) => starts_with(value, prefix).map(|starts| !starts),
        Test::Like(pattern) => text(value).map(|text| pattern.matches(text)),
        Test::NotLike(pattern) => text(value).map(|text| !pattern.matches(text)),
    }
}

fn text(value: &Scalar) -> Option<&str> {
    match value {
        Scalar::String(text) => Some(text),
        _ => None,
    }
}

fn contains(literals: &[Scalar], value: &Scalar) -> Option<bool> {
    let mut found = false;
    for literal in literals {
        found |= value.compare(literal)?.is_eq();
    }
    Some(found)
}

fn starts_with(value: &Scalar, prefix: &Scalar) -> Option<bool> {
    match (value, prefix) {
        (Scalar::String(value), Scalar::String(prefix)) => Some(value.starts_with(prefix.as_str())),
        (Scalar::Binary(value), Scalar::Binary(prefix)) | (Scalar::Fixed(value), Scalar::Fixed(prefix)) => {
            Some(value.starts_with(prefix))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use frazil_core::sql::predicate::CompareOp;

    use super::*;

    #[test]
    fn null_passes_is_null_and_is_not_nan_only() {
        let zero = Scalar::Int32(0);
        assert_eq!(passes(&Test::IsNull, None), Some(true));
        assert_eq!(passes(&Test::NotNan, None), Some(true));
        for test in [Test::NotNull, Test::IsNan, Test::Compare(CompareOp::NotEq, zero.clone()), Test::NotIn([].into())]
        {
            assert_eq!(passes(&test, None), Some(false));
        }
    }

    #[test]
    fn nan_is_one_and_greatest_and_zero_is_one() {
        let test = |value: f64, op, literal: f64| {
            passes(&Test::Compare(op, Scalar::Float64(literal)), Some(&Scalar::Float64(value))).unwrap()
        };
        assert!(test(f64::NAN, CompareOp::Eq, -f64::NAN));
        assert!(test(f64::NAN, CompareOp::Gt, f64::INFINITY));
        assert!(test(f64::INFINITY, CompareOp::Lt, f64::NAN));
        assert!(test(-0.0, CompareOp::Eq, 0.0));
        assert!(!test(-0.0, CompareOp::Lt, 0.0));
    }

    #[test]
    fn values_of_different_types_are_not_decided() {
        let equals = |literal| Test::Compare(CompareOp::Eq, literal);
        assert_eq!(passes(&equals(Scalar::Int32(1)), Some(&Scalar::Int64(1))), None);
        assert_eq!(passes(&equals(Scalar::Date(1)), Some(&Scalar::Int32(1))), None);
    }
}

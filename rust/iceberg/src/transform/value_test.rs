//! One test of one value: what [`super::project`] needs to decide a leaf on a partition tuple.
//!
//! The calculus is the predicates': NaN equals NaN and is greater than every other number, -0.0 equals 0.0, bytes
//! compare unsigned, and NULL fails every test but IS NULL and IS NOT NAN.

use std::cmp::Ordering;

use frazil_core::predicate::{CompareOp, LikePart, LikePattern, Test};
use frazil_core::scalar::Scalar;

/// Whether `value` (None: NULL) passes `test`. None where the two cannot be compared.
pub(super) fn passes(test: &Test, value: Option<&Scalar>) -> Option<bool> {
    let Some(value) = value else { return Some(matches!(test, Test::IsNull | Test::NotNan)) };
    match test {
        Test::IsNull => Some(false),
        Test::NotNull => Some(true),
        Test::IsNan => Some(value.is_nan()),
        Test::NotNan => Some(!value.is_nan()),
        Test::Compare(op, literal) => compare(value, literal).map(|order| holds(*op, order)),
        Test::In(literals) => contains(literals, value),
        Test::NotIn(literals) => contains(literals, value).map(|found| !found),
        Test::StartsWith(prefix) => starts_with(value, prefix),
        Test::NotStartsWith(prefix) => starts_with(value, prefix).map(|starts| !starts),
        Test::Like(pattern) => like(value, pattern),
        Test::NotLike(pattern) => like(value, pattern).map(|matches| !matches),
    }
}

/// The order of two values of one type; None for values of different types.
pub(super) fn compare(a: &Scalar, b: &Scalar) -> Option<Ordering> {
    Some(match (a, b) {
        (Scalar::Boolean(a), Scalar::Boolean(b)) => a.cmp(b),
        (Scalar::Int8(a), Scalar::Int8(b)) => a.cmp(b),
        (Scalar::Int16(a), Scalar::Int16(b)) => a.cmp(b),
        (Scalar::Int32(a), Scalar::Int32(b)) | (Scalar::Date(a), Scalar::Date(b)) => a.cmp(b),
        (Scalar::Int64(a), Scalar::Int64(b)) | (Scalar::Time(a), Scalar::Time(b)) => a.cmp(b),
        (Scalar::Float32(a), Scalar::Float32(b)) => floats(f64::from(*a), f64::from(*b)),
        (Scalar::Float64(a), Scalar::Float64(b)) => floats(*a, *b),
        (Scalar::Decimal { unscaled: a, scale: s, .. }, Scalar::Decimal { unscaled: b, scale: t, .. }) if s == t => {
            a.cmp(b)
        }
        (Scalar::Timestamp { value: a, unit: u, utc: z }, Scalar::Timestamp { value: b, unit: v, utc: y })
            if u == v && z == y =>
        {
            a.cmp(b)
        }
        (Scalar::String(a), Scalar::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Scalar::Uuid(a), Scalar::Uuid(b)) => a.cmp(b),
        (Scalar::Fixed(a), Scalar::Fixed(b)) | (Scalar::Binary(a), Scalar::Binary(b)) => a.cmp(b),
        _ => return None,
    })
}

fn floats(a: f64, b: f64) -> Ordering {
    // `partial_cmp` holds -0.0 equal to 0.0 and fails for NaN only.
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Lt => order.is_lt(),
        CompareOp::LtEq => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::GtEq => order.is_ge(),
        CompareOp::Eq => order.is_eq(),
        CompareOp::NotEq => order.is_ne(),
    }
}

fn contains(literals: &[Scalar], value: &Scalar) -> Option<bool> {
    let mut found = false;
    for literal in literals {
        found |= compare(value, literal)?.is_eq();
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

/// Matches with one place to fall back to, the last `%`: linear but for repeated near-matches, and never recursive.
fn like(value: &Scalar, pattern: &LikePattern) -> Option<bool> {
    let Scalar::String(text) = value else { return None };
    let mut rest = text.as_str();
    let mut parts = pattern.parts.as_slice();
    let mut retry: Option<(&str, &[LikePart])> = None;
    loop {
        let matched = match parts.split_first() {
            None if rest.is_empty() => return Some(true),
            None => None,
            Some((LikePart::Any, after)) => {
                retry = Some((rest, after));
                Some((rest, after))
            }
            Some((LikePart::One, after)) => skip_char(rest).map(|rest| (rest, after)),
            Some((LikePart::Text(part), after)) => rest.strip_prefix(part.as_str()).map(|rest| (rest, after)),
        };
        if let Some(next) = matched {
            (rest, parts) = next;
            continue;
        }
        // The last `%` takes one character more.
        let Some((at, after)) = retry else { return Some(false) };
        let Some(at) = skip_char(at) else { return Some(false) };
        retry = Some((at, after));
        (rest, parts) = (at, after);
    }
}

fn skip_char(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    chars.next().map(|_| chars.as_str())
}

#[cfg(test)]
mod tests {
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
        assert_eq!(compare(&Scalar::Int32(1), &Scalar::Int64(1)), None);
        assert_eq!(compare(&Scalar::Date(1), &Scalar::Int32(1)), None);
    }

    #[test]
    fn like_matches_whole_texts() {
        let text = |part: &str| LikePart::Text(part.to_owned());
        let (any, one) = (|| LikePart::Any, || LikePart::One);
        for (value, parts, expected) in [
            ("abc", vec![any(), text("c")], true),
            ("abcb", vec![any(), text("c")], false),
            ("aXbXc", vec![text("a"), any(), text("X"), any(), text("c")], true),
            ("aab", vec![any(), text("ab")], true),
            ("\u{1f4b0}", vec![one()], true),
            ("", vec![one()], false),
            ("", vec![any()], true),
            ("ab", vec![one(), any(), one()], true),
            ("a", vec![one(), any(), one()], false),
            ("ab", vec![text("a")], false),
        ] {
            let pattern = LikePattern { text: String::new(), parts };
            assert_eq!(like(&Scalar::String(value.into()), &pattern), Some(expected), "{value} {pattern:?}");
        }
    }
}

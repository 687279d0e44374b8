//! Exact numbers as text: a literal of any length gets a position among integers and decimals without rounding.

/// A number of any length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Number {
    /// `-inf`
    NegativeInfinity,
    /// `digits * 10^exponent`, without leading and trailing zeros; zero has no digits.
    Finite {
        /// Whether it is negative.
        negative: bool,
        /// The significant digits, each 0 to 9.
        digits: Vec<u8>,
        /// The exponent of the last digit, to the base ten.
        exponent: i64,
    },
    /// `inf`
    Infinity,
    /// `nan`, which is greater than infinity.
    Nan,
}

/// The greatest integer that does not exceed a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Floor {
    /// Below every integer of 38 digits.
    Below,
    /// This integer, and whether it equals the number.
    At(i128, bool),
    /// Above every integer of 38 digits.
    Above,
}

/// The maximum absolute value of a parsed exponent. It exceeds every relevant exponent, but sums of such exponents
/// cannot overflow.
const MAX_EXPONENT: i64 = 1 << 40;

impl Number {
    /// Parses `[+-]digits[.digits][e[+-]digits]`, `inf`, `infinity` or `nan` in any case; None for other text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        match unsigned.to_ascii_lowercase().as_str() {
            "nan" => return Some(Self::Nan),
            "inf" | "infinity" if negative => return Some(Self::NegativeInfinity),
            "inf" | "infinity" => return Some(Self::Infinity),
            _ => {}
        }
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut digits = Vec::with_capacity(whole.len() + fraction.len());
        for byte in whole.bytes().chain(fraction.bytes()) {
            if !byte.is_ascii_digit() {
                return None;
            }
            if !(digits.is_empty() && byte == b'0') {
                digits.push(byte - b'0');
            }
        }
        let mut exponent = exponent - i64::try_from(fraction.len()).ok()?;
        while digits.pop_if(|digit| *digit == 0).is_some() {
            exponent += 1;
        }
        Some(Self::Finite { negative, digits, exponent })
    }

    /// Returns the floor of the number times `10^scale`.
    pub(super) fn floor(&self, scale: i8) -> Floor {
        let (negative, digits, exponent) = match self {
            Self::NegativeInfinity => return Floor::Below,
            Self::Infinity | Self::Nan => return Floor::Above,
            Self::Finite { negative, digits, exponent } => (*negative, digits, exponent + i64::from(scale)),
        };
        // The number of digits before the point.
        let whole = i64::try_from(digits.len()).unwrap_or(MAX_EXPONENT).saturating_add(exponent);
        if digits.is_empty() {
            return Floor::At(0, true);
        }
        if whole > 38 {
            return if negative { Floor::Below } else { Floor::Above };
        }
        let whole = usize::try_from(whole).unwrap_or(0);
        let magnitude = digits.iter().chain(std::iter::repeat(&0)).take(whole);
        let magnitude = magnitude.fold(0_i128, |sum, digit| sum * 10 + i128::from(*digit));
        let exact = exponent >= 0; // The last digit is not zero, so there may be no digits after the point.
        match (negative, exact) {
            (false, _) => Floor::At(magnitude, exact),
            (true, true) => Floor::At(-magnitude, true),
            (true, false) => Floor::At(-magnitude - 1, false),
        }
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = digits.bytes().fold(0, |sum: i64, byte| (sum * 10 + i64::from(byte - b'0')).min(MAX_EXPONENT));
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0", 0, Floor::At(0, true))]
    #[case("-0.0", 0, Floor::At(0, true))]
    #[case("007", 0, Floor::At(7, true))]
    #[case("1.50", 1, Floor::At(15, true))]
    #[case("1.5", 0, Floor::At(1, false))]
    #[case("-1.5", 0, Floor::At(-2, false))]
    #[case("-0.1", 0, Floor::At(-1, false))]
    #[case("1e-3", 2, Floor::At(0, false))]
    #[case("1e-3", 3, Floor::At(1, true))]
    #[case("12e2", -2, Floor::At(12, true))]
    #[case("1250", -2, Floor::At(12, false))]
    #[case(
        "99999999999999999999999999999999999999",
        0,
        Floor::At(99_999_999_999_999_999_999_999_999_999_999_999_999, true)
    )]
    #[case("1e38", 0, Floor::Above)]
    #[case("-1e38", 0, Floor::Below)]
    #[case("-1e99999999999999999999", 38, Floor::Below)]
    #[case("1e-99999999999999999999", 38, Floor::At(0, false))]
    #[case("-1e-99999999999999999999", 38, Floor::At(-1, false))]
    #[case("0e99999999999999999999", 38, Floor::At(0, true))]
    #[case("nan", 0, Floor::Above)]
    #[case("-Infinity", 0, Floor::Below)]
    fn numbers_have_exact_floors(#[case] text: &str, #[case] scale: i8, #[case] expected: Floor) {
        assert_eq!(Number::parse(text).unwrap().floor(scale), expected);
    }

    #[rstest]
    fn invalid_numbers_are_not_parsed(
        #[values("", "-", ".", "1e", "e5", "1.2.3", "0x10", "1_000", "--1", "1e5.0")] text: &str,
    ) {
        assert_eq!(Number::parse(text), None);
    }
}

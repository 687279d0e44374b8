//! Formats floats as the shortest decimal that uniquely identifies the float, in Java's layout.
//!
//! ```text
//! 0.001 <= |x| < 10^7    123456.79    at least one digit after the point
//! else                   1.0E10, 3.4028235E38, 1.0E-7
//! special                NaN, Infinity, -Infinity, 0.0, -0.0
//! ```
//!
//! Before release 19, Java wrote more digits than needed for a few values. They parse to the same float, but the
//! strings differ.

use std::fmt::Write;

/// Writes the digits of a float to `digits`, and returns its sign and the exponent of the first digit. Writes the two
/// nearest digits if two suffice, else as few as identify the float. Returns None for NaN and infinities.
pub(super) fn shortest<F: std::fmt::LowerExp + Copy>(value: F, digits: &mut String) -> Option<(bool, i64)> {
    digits.clear();
    // Writing to a string does not fail.
    let _ = write!(digits, "{value:e}");
    let (mantissa, _) = digits.split_once('e')?;
    if mantissa.trim_start_matches('-').len() == 1 {
        digits.clear();
        let _ = write!(digits, "{value:.1e}");
    }
    let (mantissa, exponent) = digits.split_once('e')?;
    let exponent = exponent.parse().ok()?;
    digits.truncate(mantissa.len());
    digits.retain(|c| c != '.');
    let negative = digits.starts_with('-');
    if negative {
        digits.remove(0);
    }
    Some((negative, exponent))
}

/// Appends a float; `digits` is a scratch buffer.
pub(super) fn print<F: std::fmt::LowerExp + Copy + Into<f64>>(value: F, digits: &mut String, out: &mut String) {
    let Some((negative, exponent)) = shortest(value, digits) else {
        let special: f64 = value.into();
        return out.push_str(if special.is_nan() {
            "NaN"
        } else if special > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        });
    };
    if negative {
        out.push('-');
    }
    let split = match exponent {
        -3..=-1 => {
            out.push_str("0.");
            (exponent..-1).for_each(|_| out.push('0'));
            return out.push_str(trimmed(digits));
        }
        0..=6 => usize::try_from(exponent).unwrap_or(0) + 1,
        _ => 1,
    };
    let (whole, fraction) = digits.split_at(split.min(digits.len()));
    out.push_str(whole);
    (whole.len()..split).for_each(|_| out.push('0'));
    out.push('.');
    out.push_str(if fraction.is_empty() { "0" } else { trimmed(fraction) });
    if !(0..=6).contains(&exponent) {
        let _ = write!(out, "E{exponent}");
    }
}

/// Returns digits without trailing zeros, but at least one digit.
fn trimmed(digits: &str) -> &str {
    match digits.trim_end_matches('0') {
        "" => "0",
        some => some,
    }
}

//! Floats as text: the shortest decimal that is nearest to no other float, laid out as Java lays it out.
//!
//! ```text
//! 0.001 <= |x| < 10^7    123456.79    at least one digit after the point
//! else                   1.0E10, 3.4028235E38, 1.0E-7
//! special                NaN, Infinity, -Infinity, 0.0, -0.0
//! ```
//!
//! Java before release 19 wrote more digits than needed for a few values; they parse to the same float, but the texts
//! differ.

use std::fmt::Write;

/// The digits of a float in `digits`, with the exponent of the first one and whether it is negative: of two digits the
/// ones nearest to it, else as few as name it. None for NaN and infinities.
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

/// Appends a float; `digits` is scratch.
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

/// Digits without zeros at the end, but the last one.
fn trimmed(digits: &str) -> &str {
    match digits.trim_end_matches('0') {
        "" => "0",
        some => some,
    }
}

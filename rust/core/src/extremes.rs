//! Computes the least and the greatest values of columns, and bounds of long strings.

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::NullBuffer;

/// The least and the greatest value; None if there are no values.
pub type Extremes<T> = Option<(T, T)>;

/// Returns the least and the greatest value; None if all are NULL.
pub fn extremes<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Extremes<T::Native>
where
    T::Native: Ord + Copy,
{
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        // Two passes over a slice can be vectorised; one pass over optional values cannot.
        None => array.values().iter().copied().min().zip(array.values().iter().copied().max()),
        Some(nulls) => least_and_greatest(valid(array.values(), nulls)),
    }
}

/// Returns the number of NaN values, and the least and the greatest of the remaining values.
pub fn float_extremes<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    is_nan: impl Fn(T::Native) -> bool,
) -> (usize, Extremes<T::Native>)
where
    T::Native: PartialOrd + Copy,
{
    let all = NullBuffer::new_valid(array.len());
    let mut nans = 0;
    let mut found: Extremes<T::Native> = None;
    for value in valid(array.values(), array.nulls().unwrap_or(&all)) {
        if is_nan(value) {
            nans += 1;
            continue;
        }
        let (low, high) = found.unwrap_or((value, value));
        found = Some((if value < low { value } else { low }, if value > high { value } else { high }));
    }
    (nans, found)
}

/// Returns the least and the greatest value; None if there are no values.
pub fn least_and_greatest<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Extremes<T> {
    values.fold(None, |found, value| {
        let (low, high) = found.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// Returns the least string of at most `length` code points that is not less than any string with the prefix `text`,
/// which is `text` itself if it is not longer. None if no string is large enough.
pub fn upper_text(text: &str, length: usize) -> Option<String> {
    if text.chars().nth(length).is_none() {
        return Some(text.to_string());
    }
    let mut prefix: Vec<char> = text.chars().take(length).collect();
    while let Some(last) = prefix.pop() {
        // The character after U+D7FF is U+E000.
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            prefix.push(next);
            return Some(prefix.into_iter().collect());
        }
    }
    None
}

fn valid<'a, T: Copy>(values: &'a [T], nulls: &'a NullBuffer) -> impl Iterator<Item = T> + 'a {
    values.iter().zip(nulls).filter(|(_, valid)| *valid).map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Float64Type, Int32Type};

    use super::*;

    #[test]
    fn extremes_ignore_nulls_and_nans() {
        let numbers = PrimitiveArray::<Int32Type>::from(vec![Some(3), None, Some(-7)]);
        assert_eq!(extremes(&numbers), Some((-7, 3)));
        assert_eq!(extremes(&numbers.slice(1, 1)), None);
        let floats = PrimitiveArray::<Float64Type>::from(vec![Some(1.0), Some(f64::NAN), None, Some(-2.0)]);
        assert_eq!(float_extremes(&floats, f64::is_nan), (1, Some((-2.0, 1.0))));
        assert_eq!(float_extremes(&floats.slice(1, 2), f64::is_nan), (1, None));
    }

    #[test]
    fn truncated_upper_bounds_are_not_less_than_their_strings() {
        assert_eq!(upper_text("abc", 3).as_deref(), Some("abc"));
        assert_eq!(upper_text("abcd", 3).as_deref(), Some("abd"));
        assert_eq!(upper_text("a\u{10ffff}x", 2).as_deref(), Some("b"));
        assert_eq!(upper_text("\u{10ffff}x", 1), None);
        assert_eq!(upper_text("\u{d7ff}x", 1).as_deref(), Some("\u{e000}"));
        assert_eq!(upper_text("é日x", 2).as_deref(), Some("é\u{65e6}"));
    }
}

//! Hash functions that the table formats define, over values and over Arrow arrays.

mod lanes;
pub mod modulo;
pub mod murmur3;

/// Returns the length in bytes of the shortest big-endian two's complement form of `value`, from 1 to 16. The form
/// consists of the last bytes of the 16-byte form.
///
/// Iceberg hashes and stores unscaled decimals in this form (Iceberg spec, appendices B and D).
#[inline]
pub fn twos_complement_len(value: i128) -> usize {
    // The mapped value is not negative. Its significant bits and a sign bit must fit in the result.
    let leading = (value ^ (value >> 127)).leading_zeros() as usize;
    (128 - leading) / 8 + 1
}

#[cfg(test)]
mod tests {
    use super::twos_complement_len;

    #[test]
    fn the_shortest_form_keeps_one_sign_bit() {
        let cases = [
            (0, 1),
            (-1, 1),
            (127, 1),
            (-128, 1),
            (128, 2),
            (-129, 2),
            (255, 2),
            (i128::from(i64::MAX), 8),
            (i128::from(i64::MAX) + 1, 9),
            (i128::from(i64::MIN), 8),
            (i128::MAX, 16),
            (i128::MIN, 16),
        ];
        for (value, length) in cases {
            assert_eq!(twos_complement_len(value), length, "{value}");
        }
    }
}

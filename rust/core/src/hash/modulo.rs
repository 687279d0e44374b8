//! Remainders by a fixed divisor, as used by bucket functions on hashes.

/// Computes the remainder of numbers up to `2^31` by one divisor. Uses only instructions that can be vectorised.
///
/// With `2^(l-1) < divisor <= 2^l` and `reciprocal = ceil(2^(31+l) / divisor)`, the quotient of every `number <= 2^31`
/// is exactly `number * reciprocal >> (31 + l)`. Rounding up makes the reciprocal too large by less than one. The error
/// is below `2^l` after multiplication by the divisor, and below `2^(31+l)` after multiplication by the number. The
/// reciprocal is below `2^32`, because the divisor is above `2^(l-1)`.
#[derive(Debug, Clone, Copy)]
pub struct Modulo {
    divisor: u32,
    reciprocal: u32,
    /// The shift `l - 1` that remains after taking the upper half of the product.
    shift: u32,
}

impl Modulo {
    /// Creates the remainder by `divisor`; None for 0.
    pub fn by(divisor: u32) -> Option<Self> {
        let bits = u32::BITS - divisor.checked_sub(1)?.leading_zeros();
        let reciprocal = (1_u64 << (31 + bits)).div_ceil(u64::from(divisor));
        Some(Self { divisor, reciprocal: u32::try_from(reciprocal).ok()?, shift: bits.saturating_sub(1) })
    }

    /// Returns the remainder of a number up to `2^31`.
    #[expect(clippy::inline_always, reason = "the loops over columns are vectorised only if it is inlined")]
    #[inline(always)]
    pub fn remainder(self, number: u32) -> u32 {
        // The condition is the same for all numbers, so the compiler can move it out of the loop.
        if self.divisor.is_power_of_two() {
            return number & (self.divisor - 1);
        }
        let quotient = upper_half(number, self.reciprocal) >> self.shift;
        number.wrapping_sub(quotient.wrapping_mul(self.divisor))
    }
}

#[expect(clippy::inline_always, reason = "the loops over columns are vectorised only if it is inlined")]
#[inline(always)]
fn upper_half(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn remainders_are_exact(divisor in prop_oneof![1_u32..=u32::MAX, 1_u32..100, (0_u32..32).prop_map(|l| 1 << l)], number in 0..=1_u32 << 31, near in 0_u32..3) {
            let modulo = Modulo::by(divisor).unwrap();
            // A wrong reciprocal gives wrong remainders at multiples of the divisor and just below them.
            let edge = (number / divisor * divisor).saturating_sub(near);
            for number in [number, edge, 1 << 31, (1 << 31) - 1, 0] {
                prop_assert_eq!(modulo.remainder(number), number % divisor);
            }
        }
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        assert!(Modulo::by(0).is_none());
        assert!([1, 2, 3, 1 << 31, (1 << 31) + 1, u32::MAX].into_iter().all(|divisor| Modulo::by(divisor).is_some()));
    }
}

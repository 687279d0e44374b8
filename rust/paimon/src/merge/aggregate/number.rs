//! The functions `sum`, `product` and `count`, computed in the type of the field as in Java: integers wrap around.
//!
//! Java represents a DECIMAL of up to 18 digits as a 64-bit integer whose sums are not checked: DECIMAL(5, 2) 999.99 +
//! 0.01 is 1000.00. Any other DECIMAL result with too many digits is NULL.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::i256;
use frazil_core::error::Result;

use super::FieldAggregator;
use super::subject::Subject;
use crate::spec::types::{DataType, TypeRoot};

/// The operation on the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// The sum of the values.
    Sum,
    /// The product of the values.
    Product,
    /// The number of values that are not NULL.
    Count,
}

/// Creates the aggregator of `sum` or `product`.
pub(super) fn arithmetic(
    subject: Subject,
    data_type: &DataType,
    operation: Operation,
) -> Result<Box<dyn FieldAggregator>> {
    Ok(match &data_type.root {
        TypeRoot::TinyInt => fold::<Int8Type, _>(subject, operation, Native),
        TypeRoot::SmallInt => fold::<Int16Type, _>(subject, operation, Native),
        TypeRoot::Int => fold::<Int32Type, _>(subject, operation, Native),
        TypeRoot::BigInt => fold::<Int64Type, _>(subject, operation, Native),
        TypeRoot::Float => fold::<Float32Type, _>(subject, operation, Native),
        TypeRoot::Double => fold::<Float64Type, _>(subject, operation, Native),
        TypeRoot::Decimal(precision, scale) => {
            let decimal = Decimal { precision: *precision, scale: *scale };
            fold::<Decimal128Type, _>(subject, operation, decimal)
        }
        _ => return Err(subject.wrong_type("numbers")),
    })
}

/// Creates the aggregator of `count`.
pub(super) fn count(subject: Subject, data_type: &DataType) -> Result<Box<dyn FieldAggregator>> {
    Ok(match &data_type.root {
        TypeRoot::TinyInt => fold::<Int8Type, _>(subject, Operation::Count, Native),
        TypeRoot::SmallInt => fold::<Int16Type, _>(subject, Operation::Count, Native),
        TypeRoot::Int => fold::<Int32Type, _>(subject, Operation::Count, Native),
        TypeRoot::BigInt => fold::<Int64Type, _>(subject, Operation::Count, Native),
        _ => return Err(subject.wrong_type("integers")),
    })
}

/// The arithmetic of a type; None is NULL.
trait Arithmetic<N>: Debug + Send {
    fn number(&self, value: i8) -> N;
    fn negated(&self, value: N) -> Option<N>;
    fn sum(&self, left: N, right: N) -> Option<N>;
    fn difference(&self, left: N, right: N) -> Option<N>;
    fn product(&self, left: N, right: N) -> Option<N>;
    /// Divides two values. The error is the reason why there is no result.
    fn quotient(&self, left: N, right: N) -> Result<Option<N>, &'static str>;
}

#[derive(Debug)]
struct Fold<T: ArrowPrimitiveType, A> {
    subject: Subject,
    operation: Operation,
    arithmetic: A,
    accumulator: Option<T::Native>,
    results: PrimitiveBuilder<T>,
}

fn fold<T, A>(subject: Subject, operation: Operation, arithmetic: A) -> Box<dyn FieldAggregator>
where
    T: ArrowPrimitiveType + Debug,
    A: Arithmetic<T::Native> + 'static,
{
    let results = PrimitiveBuilder::<T>::new().with_data_type(subject.data_type.clone());
    Box::new(Fold { subject, operation, arithmetic, accumulator: None, results })
}

impl<T: ArrowPrimitiveType + Debug, A: Arithmetic<T::Native>> Fold<T, A> {
    #[inline]
    fn value(&self, values: &ArrayRef, row: usize) -> Result<Option<T::Native>> {
        self.subject.check(values, row)?;
        Ok(values.as_primitive_opt::<T>().filter(|values| values.is_valid(row)).map(|values| values.value(row)))
    }
}

impl<T: ArrowPrimitiveType + Debug, A: Arithmetic<T::Native>> FieldAggregator for Fold<T, A> {
    fn begin(&mut self) {
        self.accumulator = None;
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let value = self.value(values, row)?;
        self.accumulator = match (self.operation, self.accumulator, value) {
            (Operation::Sum, Some(left), Some(right)) => self.arithmetic.sum(left, right),
            (Operation::Product, Some(left), Some(right)) => self.arithmetic.product(left, right),
            (Operation::Count, Some(left), Some(_)) => self.arithmetic.sum(left, self.arithmetic.number(1)),
            (Operation::Count, None, value) => Some(self.arithmetic.number(i8::from(value.is_some()))),
            (_, left, right) => left.or(right),
        };
        Ok(())
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.add(values, row)
    }

    fn retract(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        if self.subject.ignore_retract {
            return Ok(());
        }
        let Some(value) = self.value(values, row)? else { return Ok(()) };
        let one = self.arithmetic.number(1);
        self.accumulator = match (self.operation, self.accumulator) {
            (Operation::Sum, None) => self.arithmetic.negated(value),
            (Operation::Sum, Some(left)) => self.arithmetic.difference(left, value),
            (Operation::Count, None) => self.arithmetic.negated(one),
            (Operation::Count, Some(left)) => self.arithmetic.difference(left, one),
            (Operation::Product, None) => None,
            (Operation::Product, Some(left)) => {
                self.arithmetic.quotient(left, value).map_err(|problem| self.subject.invalid(problem))?
            }
        };
        Ok(())
    }

    fn append(&mut self) -> Result<()> {
        self.results.append_option(self.accumulator.take());
        Ok(())
    }

    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.accumulator = self.value(values, row)?;
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.results.finish()))
    }
}

const BY_ZERO: &str = "a product cannot be divided by a retracted 0";

/// Native machine arithmetic.
#[derive(Debug)]
struct Native;

macro_rules! integers {
    ($($native:ty),*) => {$(
        impl Arithmetic<$native> for Native {
            fn number(&self, value: i8) -> $native {
                value.into()
            }

            fn negated(&self, value: $native) -> Option<$native> {
                Some(value.wrapping_neg())
            }

            fn sum(&self, left: $native, right: $native) -> Option<$native> {
                Some(left.wrapping_add(right))
            }

            fn difference(&self, left: $native, right: $native) -> Option<$native> {
                Some(left.wrapping_sub(right))
            }

            fn product(&self, left: $native, right: $native) -> Option<$native> {
                Some(left.wrapping_mul(right))
            }

            fn quotient(&self, left: $native, right: $native) -> Result<Option<$native>, &'static str> {
                if right == 0 { Err(BY_ZERO) } else { Ok(Some(left.wrapping_div(right))) }
            }
        }
    )*};
}

integers!(i8, i16, i32, i64);

macro_rules! floats {
    ($($native:ty),*) => {$(
        impl Arithmetic<$native> for Native {
            fn number(&self, value: i8) -> $native {
                value.into()
            }

            fn negated(&self, value: $native) -> Option<$native> {
                Some(-value)
            }

            fn sum(&self, left: $native, right: $native) -> Option<$native> {
                Some(left + right)
            }

            fn difference(&self, left: $native, right: $native) -> Option<$native> {
                Some(left - right)
            }

            fn product(&self, left: $native, right: $native) -> Option<$native> {
                Some(left * right)
            }

            fn quotient(&self, left: $native, right: $native) -> Result<Option<$native>, &'static str> {
                Ok(Some(left / right))
            }
        }
    )*};
}

floats!(f32, f64);

/// The maximum precision of a DECIMAL that Java holds in 64 bits.
const COMPACT_DIGITS: u8 = 18;

/// The arithmetic of DECIMAL(precision, scale) on unscaled values.
#[derive(Debug)]
struct Decimal {
    precision: u8,
    scale: u8,
}

impl Decimal {
    /// Returns the value, or None if it has too many digits.
    fn checked(&self, value: i256) -> Option<i128> {
        let value = value.to_i128()?;
        let limit = 10u128.checked_pow(self.precision.into())?;
        (value.unsigned_abs() < limit).then_some(value)
    }

    /// Returns a sum or difference of two values, or None if it has too many digits. Compact decimals wrap instead.
    fn summed(&self, value: i256) -> Option<i128> {
        if self.precision > COMPACT_DIGITS {
            return self.checked(value);
        }
        value.to_i128().map(|value| low64(value).into())
    }

    /// Returns 10 to the power of the scale.
    fn unit(&self) -> i256 {
        i256::from_i128(10).wrapping_pow(self.scale.into())
    }
}

impl Arithmetic<i128> for Decimal {
    fn number(&self, value: i8) -> i128 {
        value.into()
    }

    fn negated(&self, value: i128) -> Option<i128> {
        self.checked(i256::from_i128(value).wrapping_neg())
    }

    fn sum(&self, left: i128, right: i128) -> Option<i128> {
        self.summed(i256::from_i128(left).wrapping_add(i256::from_i128(right)))
    }

    fn difference(&self, left: i128, right: i128) -> Option<i128> {
        self.summed(i256::from_i128(left).wrapping_sub(i256::from_i128(right)))
    }

    fn product(&self, left: i128, right: i128) -> Option<i128> {
        // The product of two 128-bit numbers fits in 256 bits.
        let exact = i256::from_i128(left).wrapping_mul(i256::from_i128(right));
        self.checked(divide_half_up(exact, self.unit())?)
    }

    fn quotient(&self, left: i128, right: i128) -> Result<Option<i128>, &'static str> {
        if right == 0 {
            return Err(BY_ZERO);
        }
        if !terminates(left, right) {
            return Err("a product divided by the retracted value is not a finite decimal");
        }
        // A product of 128 bits and 38 decimal digits is below 2^255.
        let dividend = i256::from_i128(left).wrapping_mul(self.unit());
        Ok(divide_half_up(dividend, i256::from_i128(right)).and_then(|quotient| self.checked(quotient)))
    }
}

/// Returns the quotient rounded to the nearest integer, with halves away from 0.
fn divide_half_up(dividend: i256, divisor: i256) -> Option<i256> {
    let quotient = dividend.checked_div(divisor)?;
    let rest = dividend.checked_rem(divisor)?.wrapping_abs();
    let divisor_size = divisor.wrapping_abs();
    if rest < divisor_size.wrapping_sub(rest) {
        return Some(quotient);
    }
    let away = if (dividend < i256::ZERO) == (divisor < i256::ZERO) { i256::ONE } else { i256::MINUS_ONE };
    quotient.checked_add(away)
}

/// Returns whether a fraction has finitely many decimal digits: its reduced denominator has only the prime factors 2
/// and 5.
fn terminates(left: i128, right: i128) -> bool {
    let (mut a, mut b) = (left.unsigned_abs(), right.unsigned_abs());
    while a != 0 {
        (a, b) = (b % a, a);
    }
    let mut rest = right.unsigned_abs().checked_div(b).unwrap_or(1);
    for prime in [2, 5] {
        while rest > 1 && rest.is_multiple_of(prime) {
            rest /= prime;
        }
    }
    rest == 1
}

/// Returns the low 64 bits, as in Java's `long`.
fn low64(value: i128) -> i64 {
    value.to_le_bytes().first_chunk().copied().map_or(0, i64::from_le_bytes)
}

//! Arithmetic: checked, and exact for integers and decimals.
//!
//! | types | result |
//! |---|---|
//! | integers | the wider one; `/` a double |
//! | decimals, or one and an integer | a decimal, whose digits follow Spark's rules, rounded half away from zero |
//! | a float and an integer literal, or two floats | a float |
//! | any other operands, of which one is a float or a double | a double |

use std::sync::Arc;

use arrow_arith::arity::try_binary;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, i256};
use arrow_schema::{ArrowError, DataType};

use super::ArithmeticOp as Op;
use super::types::{MAX_PRECISION, digits, is_integer, is_numeric, whole_digits};
use crate::error::{Error, Result};

/// The minimum number of fractional digits of a result with too many digits.
const KEPT_SCALE: i16 = 6;

/// Returns the common type of the operands, if they must have one, and the type of the result; None if the operation
/// does not exist. Each operand has a flag for integer literals, which are converted to the type of a float on the
/// other side.
pub(super) fn types(op: Op, left: (&DataType, bool), right: (&DataType, bool)) -> Option<(Option<DataType>, DataType)> {
    use DataType as D;
    let ((a, a_literal), (b, b_literal)) = (left, right);
    let one = |data_type: D| Some((Some(data_type.clone()), data_type));
    match (a, b) {
        (D::Null, D::Null) => one(D::Int32),
        (D::Null, other) | (other, D::Null) => types(op, (other, false), (other, false)),
        _ if !is_numeric(a) || !is_numeric(b) => None,
        _ if is_integer(a) && is_integer(b) => match op {
            Op::Divide => one(D::Float64),
            _ if *a == D::Int64 || *b == D::Int64 => one(D::Int64),
            _ => one(D::Int32),
        },
        (D::Float32, D::Float32) => one(D::Float32),
        (D::Float32, other) if b_literal && is_integer(other) => one(D::Float32),
        (other, D::Float32) if a_literal && is_integer(other) => one(D::Float32),
        _ => match (digits(a), digits(b)) {
            (Some(a), Some(b)) => Some((None, decimal(op, a, b)?)),
            _ => one(D::Float64),
        },
    }
}

/// Returns the decimal type of a result by Spark's rules. If 38 digits do not suffice, fractional digits are dropped,
/// down to at least six. None if negative scales are too far apart for any type.
fn decimal(op: Op, (p1, s1): (u8, i8), (p2, s2): (u8, i8)) -> Option<DataType> {
    let (whole1, whole2) = (whole_digits(p1, s1), whole_digits(p2, s2));
    let (p1, s1, p2, s2) = (i16::from(p1), i16::from(s1), i16::from(p2), i16::from(s2));
    let (precision, scale) = match op {
        Op::Add | Op::Subtract => (whole1.max(whole2) + s1.max(s2) + 1, s1.max(s2)),
        Op::Multiply => (p1 + p2 + 1, s1 + s2),
        Op::Divide => {
            let scale = KEPT_SCALE.max(s1 + p2 + 1);
            (whole1 + s2 + scale, scale)
        }
        Op::Remainder => (whole1.min(whole2) + s1.max(s2), s1.max(s2)),
    };
    let most = i16::from(MAX_PRECISION);
    let (precision, scale) = if precision <= most {
        (precision, scale)
    } else {
        (most, (most - (precision - scale)).max(scale.min(KEPT_SCALE)))
    };
    Some(DataType::Decimal128(u8::try_from(precision).ok()?, i8::try_from(scale).ok()?))
}

/// Returns `left op right`. Operands have the type that [`types`] returned, or are decimals. `text` is the source text.
///
/// # Errors
/// `InvalidArgument` for an overflow or a division by zero in any row.
pub(super) fn apply(op: Op, left: &ArrayRef, right: &ArrayRef, to: &DataType, text: &str) -> Result<ArrayRef> {
    let result: Result<ArrayRef, ArrowError> = match to {
        DataType::Int32 => typed::<Int32Type>(op, left, right),
        DataType::Int64 => typed::<Int64Type>(op, left, right),
        DataType::Float32 => typed::<Float32Type>(op, left, right),
        DataType::Float64 => typed::<Float64Type>(op, left, right),
        DataType::Decimal128(precision, scale) => decimals(op, left, right, *precision, *scale),
        other => return Err(Error::internal(format!("arithmetic on {other} is not implemented"))),
    };
    result.map_err(|error| match error {
        ArrowError::DivideByZero => {
            Error::invalid(format!("division by zero in `{text}`")).hint("NULLIF(divisor, 0) makes the result NULL")
        }
        ArrowError::ArithmeticOverflow(_) => Error::invalid(format!("the result of `{text}` does not fit its type"))
            .hint("CAST an operand to a wider type"),
        other => other.into(),
    })
}

fn typed<T: ArrowPrimitiveType>(op: Op, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef, ArrowError>
where
    T::Native: ArithmeticNumber,
{
    let (left, right) = (operand::<T>(left)?, operand::<T>(right)?);
    let result: PrimitiveArray<T> = try_binary(left, right, |a, b| match op {
        Op::Divide | Op::Remainder if b == T::Native::default() => Err(ArrowError::DivideByZero),
        _ => a.apply(op, b).ok_or_else(|| ArrowError::ArithmeticOverflow(String::new())),
    })?;
    Ok(Arc::new(result))
}

fn operand<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&PrimitiveArray<T>, ArrowError> {
    array
        .as_primitive_opt::<T>()
        .ok_or_else(|| ArrowError::ComputeError("an operand does not have the expected type".to_string()))
}

/// Numbers with checked operations.
trait ArithmeticNumber: ArrowNativeType {
    fn apply(self, op: Op, other: Self) -> Option<Self>;
}

macro_rules! integer {
    ($($native:ty),*) => {$(
        impl ArithmeticNumber for $native {
            fn apply(self, op: Op, other: Self) -> Option<Self> {
                match op {
                    Op::Add => self.checked_add(other),
                    Op::Subtract => self.checked_sub(other),
                    Op::Multiply => self.checked_mul(other),
                    Op::Divide => self.checked_div(other),
                    Op::Remainder => Some(self.wrapping_rem(other)),
                }
            }
        }
    )*};
}
integer!(i32, i64);

macro_rules! float {
    ($($native:ty),*) => {$(
        impl ArithmeticNumber for $native {
            fn apply(self, op: Op, other: Self) -> Option<Self> {
                Some(match op {
                    Op::Add => self + other,
                    Op::Subtract => self - other,
                    Op::Multiply => self * other,
                    Op::Divide => self / other,
                    Op::Remainder => self % other,
                })
            }
        }
    )*};
}
float!(f32, f64);

fn decimals(op: Op, left: &ArrayRef, right: &ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef, ArrowError> {
    let scale_of = |array: &ArrayRef| match array.data_type() {
        DataType::Decimal128(_, scale) => Ok(*scale),
        _ => Err(ArrowError::ComputeError("an operand does not have the expected type".to_string())),
    };
    let (left_scale, right_scale) = (scale_of(left)?, scale_of(right)?);
    let limit = power(precision.into()).unwrap_or(i256::MAX);
    let result: PrimitiveArray<Decimal128Type> =
        try_binary(operand::<Decimal128Type>(left)?, operand::<Decimal128Type>(right)?, |a, b| {
            if b == 0 && matches!(op, Op::Divide | Op::Remainder) {
                return Err(ArrowError::DivideByZero);
            }
            let (a, b) = (i256::from_i128(a), i256::from_i128(b));
            exact(op, (a, left_scale.into()), (b, right_scale.into()), scale.into())
                .filter(|value| *value < limit && value.checked_neg().is_some_and(|value| value < limit))
                .and_then(i256::to_i128)
                .ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()))
        })?;
    Ok(Arc::new(result.with_precision_and_scale(precision, scale)?))
}

/// Returns the result with `scale` fractional digits.
fn exact(op: Op, (a, a_scale): (i256, i16), (b, b_scale): (i256, i16), scale: i16) -> Option<i256> {
    let common = a_scale.max(b_scale);
    let raised = |value: i256, from: i16, to: i16| value.checked_mul(power(to - from)?);
    match op {
        Op::Add => rescaled(raised(a, a_scale, common)?.checked_add(raised(b, b_scale, common)?)?, common, scale),
        Op::Subtract => rescaled(raised(a, a_scale, common)?.checked_sub(raised(b, b_scale, common)?)?, common, scale),
        Op::Multiply => rescaled(a.checked_mul(b)?, a_scale + b_scale, scale),
        Op::Remainder => rescaled(raised(a, a_scale, common)?.checked_rem(raised(b, b_scale, common)?)?, common, scale),
        Op::Divide => {
            // a / 10^sa divided by b / 10^sb, times 10^scale.
            let shift = scale + b_scale - a_scale;
            let (a, b) =
                if shift >= 0 { (a.checked_mul(power(shift)?)?, b) } else { (a, b.checked_mul(power(-shift)?)?) };
            rounded(a, b)
        }
    }
}

/// Converts a number with `from` fractional digits to `to` fractional digits; None if the result overflows.
pub(super) fn rescaled(value: i256, from: i16, to: i16) -> Option<i256> {
    if to >= from { value.checked_mul(power(to - from)?) } else { rounded(value, power(from - to)?) }
}

/// Returns `a / b`, with halves rounded away from zero.
fn rounded(a: i256, b: i256) -> Option<i256> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    let twice = rest.checked_abs()?.checked_add(rest.checked_abs()?)?;
    if twice < b.checked_abs()? {
        return Some(quotient);
    }
    let away = if a.is_negative() == b.is_negative() { i256::ONE } else { i256::MINUS_ONE };
    quotient.checked_add(away)
}

fn power(exponent: i16) -> Option<i256> {
    i256::from_i128(10).checked_pow(u32::try_from(exponent).ok()?)
}

//! Binds function calls to types.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};

use super::Function;
use super::bind::Scope;
use super::bound::{Bound, BoundNode, all_together};
use super::types::{MAX_PRECISION, is_integer, is_numeric, shown, timestamp, whole_digits};
use crate::error::{Error, Result};
use crate::scalar::{Scalar, civil, unit_nanos};

impl Scope<'_> {
    /// Returns a call with bound arguments.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments of types that the function does not accept.
    pub(super) fn call(&self, function: Function, arguments: Vec<Bound>, text: &Arc<str>) -> Result<Bound> {
        use DataType as D;
        let refuse = |found: &Bound| Err(refused(found, text));
        let types: Vec<D> = arguments.iter().map(|argument| argument.data_type.clone()).collect();
        let first = types.first().cloned().unwrap_or(D::Null);
        let (arguments, data_type) = match function {
            Function::Coalesce | Function::Greatest | Function::Least => {
                let arguments = all_together(arguments, text)?;
                let data_type = arguments.first().map_or(D::Null, |argument| argument.data_type.clone());
                if function != Function::Coalesce && data_type.is_nested() {
                    return Err(Error::invalid(format!("values of type {} cannot be ordered", shown(&data_type))));
                }
                (arguments, data_type)
            }
            Function::CurrentTimestamp | Function::CurrentDate => return Ok(self.now(function)),
            Function::Abs | Function::Round => {
                if let Some(wrong) = arguments.iter().find(|a| !is_numeric(&a.data_type) && a.data_type != D::Null) {
                    return refuse(wrong);
                }
                if let Some(places) = arguments.get(1)
                    && !matches!(places.node, BoundNode::Literal(Some(Scalar::Int32(0..=38))))
                {
                    return Err(Error::invalid(format!(
                        "the number of digits in `{text}` must be a literal from 0 to 38"
                    )));
                }
                let data_type = if first == D::Null { D::Int32 } else { first };
                let data_type =
                    if function == Function::Round { rounded_type(data_type, &arguments) } else { data_type };
                (arguments, data_type)
            }
            Function::Length => match types.as_slice() {
                [D::Utf8 | D::Binary | D::Null] => (arguments, D::Int32),
                _ => {
                    return arguments.first().map_or_else(|| Err(Error::internal("the call has no arguments")), refuse);
                }
            },
            Function::Substring => {
                let texts = arguments.iter().take(1).find(|a| !matches!(a.data_type, D::Utf8 | D::Null));
                let numbers = arguments.iter().skip(1).find(|a| !is_integer(&a.data_type) && a.data_type != D::Null);
                if let Some(wrong) = texts.or(numbers) {
                    return refuse(wrong);
                }
                let widen = |(i, argument): (usize, Bound)| argument.widen(if i == 0 { &D::Utf8 } else { &D::Int64 });
                (arguments.into_iter().enumerate().map(widen).collect(), D::Utf8)
            }
            Function::Upper | Function::Lower | Function::Trim | Function::Concat => {
                if let Some(wrong) = arguments.iter().find(|a| !matches!(a.data_type, D::Utf8 | D::Null)) {
                    return refuse(wrong);
                }
                (arguments.into_iter().map(|a| a.widen(&D::Utf8)).collect(), D::Utf8)
            }
            Function::Part(_) | Function::Plus => return on_moments(function, arguments, text),
        };
        Ok(Bound::new(BoundNode::Call(function, arguments), data_type, text.clone()))
    }

    fn now(&self, function: Function) -> Bound {
        let scalar = if function == Function::CurrentDate { day(self.now_micros) } else { moment(self.now_micros) };
        let data_type = scalar.scalar_type().arrow();
        Bound::new(BoundNode::Literal(Some(scalar)), data_type, "".into())
    }
}

fn refused(found: &Bound, text: &str) -> Error {
    Error::invalid(format!("`{text}` does not accept {}", shown(&found.data_type))).hint("CAST the argument")
}

/// Returns a call whose first argument is a date or a timestamp.
fn on_moments(function: Function, arguments: Vec<Bound>, text: &Arc<str>) -> Result<Bound> {
    let first = arguments.first().map_or(DataType::Null, |first| first.data_type.clone());
    if let Some(wrong) = arguments.first().filter(|_| !is_moment(&first) && first != DataType::Null) {
        return Err(refused(wrong, text));
    }
    if function != Function::Plus {
        return Ok(Bound::new(BoundNode::Call(function, arguments), DataType::Int32, text.clone()));
    }
    // A time of day makes a timestamp of a date.
    let has_time = arguments.last().is_some_and(|micros| micros.node != zero());
    let data_type = if first == DataType::Date32 && has_time { timestamp(TimeUnit::Microsecond, false) } else { first };
    let widen = |(i, argument): (usize, Bound)| if i == 0 { argument } else { argument.widen(&DataType::Int64) };
    let arguments = arguments.into_iter().enumerate().map(widen).collect();
    Ok(Bound::new(BoundNode::Call(function, arguments), data_type, text.clone()))
}

fn is_moment(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Timestamp(..))
}

fn zero() -> BoundNode {
    BoundNode::Literal(Some(Scalar::Int32(0)))
}

/// Returns the day of a time in microseconds since the epoch, in UTC.
pub(super) fn day(micros: i64) -> Scalar {
    let days = (i128::from(micros) * unit_nanos(TimeUnit::Microsecond)).div_euclid(civil::DAY_NANOS);
    Scalar::Date(i32::try_from(days).unwrap_or_default())
}

/// Returns a time in microseconds since the epoch.
pub(super) fn moment(micros: i64) -> Scalar {
    Scalar::Timestamp { value: micros, unit: TimeUnit::Microsecond, utc: true }
}

/// Returns the type of ROUND: a decimal loses the removed digits and gains one digit for a carry.
fn rounded_type(data_type: DataType, arguments: &[Bound]) -> DataType {
    let places = match arguments.get(1).map(|places| &places.node) {
        Some(BoundNode::Literal(Some(Scalar::Int32(places)))) => i8::try_from(*places).unwrap_or(38),
        _ => 0,
    };
    match data_type {
        DataType::Decimal128(precision, scale) if places < scale => {
            let digits = whole_digits(precision, scale) + 1 + i16::from(places);
            DataType::Decimal128(u8::try_from(digits).unwrap_or(MAX_PRECISION).clamp(1, MAX_PRECISION), places)
        }
        other => other,
    }
}

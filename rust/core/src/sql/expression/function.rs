//! Evaluates the functions of expressions.

use std::sync::Arc;

use arrow_arith::arity::try_unary;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, StringArray};
use arrow_buffer::i256;
use arrow_schema::{ArrowError, DataType};
use arrow_select::zip::zip;

use super::arithmetic::rescaled;
use super::compare::compare;
use super::{Function, civil_fields};
use crate::error::{Error, Result};
use crate::floats::canonical;
use crate::sql::predicate::CompareOp;

/// Returns the value of each row. `text` is the source text.
///
/// # Errors
/// `InvalidArgument` if a row has no value.
pub(super) fn apply(function: Function, arguments: &[ArrayRef], to: &DataType, text: &str) -> Result<ArrayRef> {
    let first = arguments.first().ok_or_else(|| Error::internal("a function has no arguments"))?;
    match function {
        Function::Greatest => extreme(arguments, CompareOp::Gt),
        Function::Least => extreme(arguments, CompareOp::Lt),
        Function::Abs => abs(first, text),
        Function::Round => round(first, arguments.get(1), to, text),
        Function::Upper => texts(first, |text| Some(text.to_uppercase())),
        Function::Lower => texts(first, |text| Some(text.to_lowercase())),
        Function::Trim => texts(first, |text| Some(text.trim_matches(' ').to_string())),
        Function::Length => Ok(length(first)),
        Function::Substring => substring(first, arguments),
        Function::Concat => concat(arguments),
        Function::Part(part) => civil_fields::part(first, part),
        Function::Plus => civil_fields::plus(first, arguments, to).ok_or_else(|| overflow(text)),
        Function::Coalesce | Function::CurrentTimestamp | Function::CurrentDate => {
            Err(Error::internal("the function does not take arrays"))
        }
    }
}

fn extreme(arguments: &[ArrayRef], op: CompareOp) -> Result<ArrayRef> {
    let mut found: Option<ArrayRef> = None;
    for argument in arguments {
        let Some(best) = found else {
            found = Some(argument.clone());
            continue;
        };
        if *best.data_type() == DataType::Null {
            return Ok(best);
        }
        let beats = compare(op, &canonical(argument)?, &canonical(&best)?)?;
        // Take the new value if it is better, or if no earlier argument has a value in this row.
        let better = beats.iter().enumerate().map(|(row, beats)| Some(beats.unwrap_or_else(|| best.is_null(row))));
        found = Some(zip(&better.collect(), argument, &best)?);
    }
    found.ok_or_else(|| Error::internal("a function has no arguments"))
}

fn overflow(text: &str) -> Error {
    Error::invalid(format!("the result of `{text}` does not fit its type")).hint("CAST the operand to a wider type")
}

fn abs(values: &ArrayRef, text: &str) -> Result<ArrayRef> {
    let failed = || ArrowError::ArithmeticOverflow(String::new());
    let result: Result<ArrayRef, ArrowError> = match values.data_type() {
        DataType::Int32 => {
            try_unary::<_, _, Int32Type>(values.as_primitive::<Int32Type>(), |v| v.checked_abs().ok_or_else(failed))
                .map(|array| Arc::new(array) as ArrayRef)
        }
        DataType::Int64 => {
            try_unary::<_, _, Int64Type>(values.as_primitive::<Int64Type>(), |v| v.checked_abs().ok_or_else(failed))
                .map(|array| Arc::new(array) as ArrayRef)
        }
        DataType::Float32 => Ok(Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::abs))),
        DataType::Float64 => Ok(Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::abs))),
        DataType::Decimal128(precision, scale) => values
            .as_primitive::<Decimal128Type>()
            .unary::<_, Decimal128Type>(i128::wrapping_abs)
            .with_precision_and_scale(*precision, *scale)
            .map(|array| Arc::new(array) as ArrayRef),
        _ => Ok(arrow_array::new_null_array(&DataType::Int32, values.len())),
    };
    result.map_err(|_| overflow(text))
}

fn round(values: &ArrayRef, places: Option<&ArrayRef>, to: &DataType, text: &str) -> Result<ArrayRef> {
    let places = places.and_then(|places| places.as_primitive_opt::<Int32Type>());
    let places = places.and_then(|places| places.values().first().copied()).unwrap_or(0);
    let places = usize::try_from(places).unwrap_or(0);
    Ok(match (values.data_type(), to) {
        (DataType::Float64, _) => {
            Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(|v| rounded(v, places)))
        }
        #[expect(clippy::cast_possible_truncation, reason = "the rounded value has fewer digits")]
        (DataType::Float32, _) => Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(|v| {
            // The digits are those of the float's shortest representation, not those of the double.
            v.to_string().parse::<f64>().map_or(v, |v| rounded(v, places) as f32)
        })),
        (DataType::Decimal128(_, from), DataType::Decimal128(precision, scale)) if from != scale => {
            let cut = |v: i128| rescaled(i256::from_i128(v), (*from).into(), (*scale).into()).and_then(i256::to_i128);
            let cut = |v| cut(v).ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()));
            let values = try_unary::<_, _, Decimal128Type>(values.as_primitive::<Decimal128Type>(), cut);
            let values = values.and_then(|values| {
                let values = values.with_precision_and_scale(*precision, *scale)?;
                values.validate_decimal_precision(*precision).map(|()| values)
            });
            Arc::new(values.map_err(|_| overflow(text))?)
        }
        (DataType::Null, to) => arrow_array::new_null_array(to, values.len()),
        _ => values.clone(),
    })
}

/// Returns the value rounded based on the digits of its shortest representation, halves away from zero.
fn rounded(value: f64, places: usize) -> f64 {
    if places == 0 || !value.is_finite() {
        return value.round();
    }
    let text = value.to_string();
    let Some((whole, fraction)) = text.split_once('.') else { return value };
    let Some(next) = fraction.as_bytes().get(places) else { return value };
    let kept = fraction.get(..places).unwrap_or_default();
    let Ok(magnitude) = format!("{}{kept}", whole.trim_start_matches('-')).parse::<u128>() else { return value };
    let magnitude = magnitude + u128::from(*next >= b'5');
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{magnitude}e-{places}").parse().unwrap_or(value)
}

fn strings(array: &ArrayRef) -> Result<&StringArray> {
    array.as_string_opt().ok_or_else(|| Error::internal("an argument is not a string"))
}

fn texts(array: &ArrayRef, of: impl Fn(&str) -> Option<String>) -> Result<ArrayRef> {
    Ok(Arc::new(strings(array)?.iter().map(|text| text.and_then(&of)).collect::<StringArray>()))
}

fn length(array: &ArrayRef) -> ArrayRef {
    let count = |count: usize| i32::try_from(count).ok();
    let lengths: Int32Array = match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().iter().map(|v| v.and_then(|v| count(v.len()))).collect(),
        DataType::Utf8 => array.as_string::<i32>().iter().map(|v| v.and_then(|v| count(v.chars().count()))).collect(),
        _ => Int32Array::new_null(array.len()),
    };
    Arc::new(lengths)
}

fn substring(array: &ArrayRef, arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let number = |position: usize, row: usize| -> Option<Option<i64>> {
        let numbers = arguments.get(position)?.as_primitive_opt::<Int64Type>()?;
        Some(numbers.is_valid(row).then(|| numbers.value(row)))
    };
    let part = |(row, text): (usize, Option<&str>)| {
        let text = text?;
        let start = number(1, row)??;
        let length = match number(2, row) {
            Some(None) => return None,
            Some(Some(length)) => length,
            None => i64::MAX,
        };
        let count = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        // As in Spark: 0 also means the first character, and a start before the string reduces the length.
        let begin = match start {
            1.. => start - 1,
            0 => 0,
            _ => count.saturating_add(start),
        };
        let end = begin.saturating_add(length.max(0)).clamp(0, count);
        let begin = begin.clamp(0, count);
        let taken = usize::try_from((end - begin).max(0)).unwrap_or(0);
        Some(text.chars().skip(usize::try_from(begin).unwrap_or(0)).take(taken).collect::<String>())
    };
    Ok(Arc::new(strings(array)?.iter().enumerate().map(part).collect::<StringArray>()))
}

fn concat(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let parts = arguments.iter().map(strings).collect::<Result<Vec<_>>>()?;
    let rows = parts.first().map_or(0, |part| Array::len(*part));
    let whole = |row: usize| {
        let mut text = String::new();
        for part in &parts {
            if part.is_null(row) {
                return None;
            }
            text.push_str(part.value(row));
        }
        Some(text)
    };
    Ok(Arc::new((0..rows).map(whole).collect::<StringArray>()))
}

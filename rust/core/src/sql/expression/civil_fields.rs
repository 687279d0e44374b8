//! Parts of dates and timestamps, and sums of them and intervals.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, PrimitiveArray};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::CivilPart;
use crate::error::Result;
use crate::scalar::{civil, unit_nanos};

/// Returns the nanoseconds of one unit of the type.
fn nanos_of(data_type: &DataType) -> i128 {
    match data_type {
        DataType::Timestamp(unit, _) => unit_nanos(*unit),
        _ => civil::DAY_NANOS,
    }
}

/// Returns the values as numbers of their units since the epoch.
fn units(array: &ArrayRef) -> Result<Int64Array> {
    let days;
    let array = match array.data_type() {
        DataType::Date32 => {
            days = cast(array, &DataType::Int32)?;
            &days
        }
        _ => array,
    };
    Ok(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

/// Returns a part of each date or timestamp.
pub(super) fn part(array: &ArrayRef, part: CivilPart) -> Result<ArrayRef> {
    let unit = nanos_of(array.data_type());
    let of = |value: i64| {
        let nanos = i128::from(value) * unit;
        let seconds = nanos.rem_euclid(civil::DAY_NANOS) / 1_000_000_000;
        let date = || civil::civil_from_days(i64::try_from(nanos.div_euclid(civil::DAY_NANOS)).unwrap_or_default());
        let found = match part {
            CivilPart::Year => i128::from(date().0),
            CivilPart::Month => i128::from(date().1),
            CivilPart::Day => i128::from(date().2),
            CivilPart::Hour => seconds / 3600,
            CivilPart::Minute => seconds / 60 % 60,
            CivilPart::Second => seconds % 60,
        };
        // Days are 32-bit integers, and so are the years of 64-bit microseconds.
        i32::try_from(found).unwrap_or_default()
    };
    if *array.data_type() == DataType::Null {
        return Ok(Arc::new(Int32Array::new_null(array.len())));
    }
    Ok(Arc::new(units(array)?.iter().map(|value| value.map(of)).collect::<Int32Array>()))
}

/// Returns each date or timestamp plus the months, days and microseconds that follow it in `arguments`; None if a
/// result does not fit the type.
pub(super) fn plus(array: &ArrayRef, arguments: &[ArrayRef], to: &DataType) -> Option<ArrayRef> {
    let number = |at: usize| -> Option<i64> {
        let numbers = arguments.get(at)?.as_primitive_opt::<Int64Type>()?;
        Some(numbers.values().first().copied().unwrap_or_default())
    };
    let (months, days, micros) = (number(1)?, number(2)?, number(3)?);
    if *to == DataType::Null {
        return Some(Arc::clone(array));
    }
    let (from, into) = (nanos_of(array.data_type()), nanos_of(to));
    let moved = |value: i64| {
        let nanos = i128::from(value) * from;
        let day = i64::try_from(nanos.div_euclid(civil::DAY_NANOS)).ok()?;
        let day = in_months(day, months).checked_add(days)?;
        let nanos = i128::from(day) * civil::DAY_NANOS + nanos.rem_euclid(civil::DAY_NANOS) + i128::from(micros) * 1000;
        i64::try_from(nanos.div_euclid(into)).ok()
    };
    let values = units(array).ok()?;
    let found: Int64Array = values.iter().map(|value| value.and_then(moved)).collect();
    if found.null_count() != values.null_count() {
        return None;
    }
    if *to == DataType::Date32 {
        let narrow = |day: Option<i64>| day.map(|day| i32::try_from(day).ok()).map_or(Some(None), |day| day.map(Some));
        let days = found.iter().map(narrow).collect::<Option<PrimitiveArray<Date32Type>>>()?;
        return Some(Arc::new(days));
    }
    cast(&found, to).ok()
}

/// Returns a day some months later, at most the last day of its month.
fn in_months(day: i64, months: i64) -> i64 {
    if months == 0 {
        return day;
    }
    let (year, month, of_month) = civil::civil_from_days(day);
    let month = year * 12 + (month - 1) + months;
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    let first = civil::days_from_civil(year, month, 1);
    let next =
        if month == 12 { civil::days_from_civil(year + 1, 1, 1) } else { civil::days_from_civil(year, month + 1, 1) };
    first + (of_month - 1).min(next - first - 1)
}

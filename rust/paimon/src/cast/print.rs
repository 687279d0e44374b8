//! Prints values as strings.
//!
//! | Type | String |
//! |---|---|
//! | BOOLEAN | `true`, `false` |
//! | numbers | as in Java: see [`super::float`]; decimals with all digits of their scale |
//! | DATE | `2024-02-29` |
//! | TIME(p) | `12:34:56.0`, `12:34:56.789`: at most p digits, without trailing zeros but at least one digit |
//! | TIMESTAMP(p) | `2024-02-29 12:34:56.789`: p digits |
//! | ARRAY, MAP, ROW | `[1, null]`, `{a -> 1}`, `{1, x}`: no quotes, no escapes and no length limit |
//!
//! Years have four digits; longer years are printed as their last four digits.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float32Type, Float64Type, Time32MillisecondType};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType as ArrowType;
use frazil_core::error::{Error, Result};
use frazil_core::nested::{Repeated, child};
use frazil_core::scalar::civil::civil_from_days;

use super::bytes::{Length, text, texts};
use super::decimal::unscaled;
use super::number::longs;
use super::time::{Clock, values};
use super::{CastRule, Caster, MAX_LENGTH, float, rule_of};
use crate::spec::types::{DataField, DataType, TypeRoot};

pub(super) fn rule(from: &TypeRoot, to: &TypeRoot) -> Option<CastRule> {
    use TypeRoot as T;
    let (T::Char(_) | T::VarChar(_)) = to else { return None };
    let (length, any) = (Length::of(to)?, matches!(to, T::VarChar(MAX_LENGTH)));
    match from {
        T::Boolean => rule_of(move |array| {
            let values = array.as_boolean_opt().ok_or_else(|| Error::internal("expected a boolean array"))?;
            texts(values.iter(), array.len(), |value, out| put(out, value), length)
        }),
        T::TinyInt | T::SmallInt | T::Int | T::BigInt => {
            rule_of(move |array| texts(longs(array)?.iter(), array.len(), |value, out| put(out, value), length))
        }
        T::Float | T::Double => rule_of(move |array| floats(array, length)),
        T::Decimal(_, scale) => {
            let scale = usize::from(*scale);
            rule_of(move |array| {
                texts(unscaled(array)?.iter(), array.len(), |value, out| decimal(value, scale, out), length)
            })
        }
        T::Array(_) | T::Map(..) | T::Row(_) => nested(from),
        _ if any => moment(from),
        _ => None,
    }
}

/// Returns the rule for dates and times.
fn moment(from: &TypeRoot) -> Option<CastRule> {
    use TypeRoot as T;
    match from {
        T::Date => rule_of(|array| {
            let days =
                array.as_primitive_opt::<Date32Type>().ok_or_else(|| Error::internal("expected a date array"))?;
            texts(
                days.iter(),
                array.len(),
                |days, out| {
                    date(i64::from(days), out);
                    Ok(())
                },
                Length::Any,
            )
        }),
        T::Time(digits) => {
            let digits = *digits;
            rule_of(move |array| {
                let times = array.as_primitive_opt::<Time32MillisecondType>();
                let times = times.ok_or_else(|| Error::internal("expected an array of times of day"))?;
                texts(
                    times.iter(),
                    array.len(),
                    |millis, out| {
                        time(millis, digits, out);
                        Ok(())
                    },
                    Length::Any,
                )
            })
        }
        T::Timestamp(_) | T::LocalZonedTimestamp(_) => {
            let clock = Clock::of(from)?;
            rule_of(move |array| {
                texts(values(array)?.iter(), array.len(), |value, out| timestamp(value, clock, out), Length::Any)
            })
        }
        _ => None,
    }
}

fn nested(from: &TypeRoot) -> Option<CastRule> {
    use TypeRoot as T;
    match from {
        T::Array(element) => {
            let element = Printer::of(element)?;
            rule_of(move |array| list(array, &element))
        }
        T::Map(key, value) => {
            let parts = [Printer::of(key)?, Printer::of(value)?];
            rule_of(move |array| map(array, &parts))
        }
        T::Row(fields) => {
            let fields = fields.iter().map(|DataField { data_type, .. }| Printer::of(data_type));
            let fields = fields.collect::<Option<Vec<_>>>()?;
            rule_of(move |array| row(array, &fields))
        }
        _ => None,
    }
}

fn put(out: &mut String, value: impl std::fmt::Display) -> Result<()> {
    write!(out, "{value}").map_err(|_| Error::internal("writing to a string failed"))
}

fn floats(array: &ArrayRef, length: Length) -> Result<ArrayRef> {
    let mut digits = String::new();
    if *array.data_type() == ArrowType::Float32 {
        let values =
            array.as_primitive_opt::<Float32Type>().ok_or_else(|| Error::internal("expected an array of floats"))?;
        return texts(
            values.iter(),
            array.len(),
            |value, out| {
                float::print(value, &mut digits, out);
                Ok(())
            },
            length,
        );
    }
    let values =
        array.as_primitive_opt::<Float64Type>().ok_or_else(|| Error::internal("expected an array of floats"))?;
    texts(
        values.iter(),
        array.len(),
        |value, out| {
            float::print(value, &mut digits, out);
            Ok(())
        },
        length,
    )
}

fn decimal(unscaled: i128, scale: usize, out: &mut String) -> Result<()> {
    if unscaled < 0 {
        out.push('-');
    }
    let start = out.len();
    // At least one digit precedes the point.
    write!(out, "{:0width$}", unscaled.unsigned_abs(), width = scale + 1)
        .map_err(|_| Error::internal("writing to a string failed"))?;
    if scale > 0 {
        out.insert(out.len().saturating_sub(scale).max(start), '.');
    }
    Ok(())
}

fn two(value: i64, out: &mut String) {
    digit(value / 10, out);
    digit(value, out);
}

/// Appends the last digit of a number. For negative numbers Java subtracts it from the character `0`.
fn digit(value: i64, out: &mut String) {
    let character = u8::try_from(i64::from(b'0') + value % 10).unwrap_or(b'0');
    out.push(char::from(character));
}

fn date(days: i64, out: &mut String) {
    let (year, month, day) = civil_from_days(days);
    for divisor in [1000, 100, 10, 1] {
        digit(year / divisor, out);
    }
    out.push('-');
    two(month, out);
    out.push('-');
    two(day, out);
}

fn clock(seconds: i64, out: &mut String) {
    two(seconds / 3600, out);
    out.push(':');
    two(seconds / 60 % 60, out);
    out.push(':');
    two(seconds % 60, out);
}

fn time(millis: i32, digits: u8, out: &mut String) {
    let millis = i64::from(millis).rem_euclid(86_400_000);
    clock(millis / 1000, out);
    let mut rest = millis % 1000;
    for at in 0..digits {
        if at == 0 {
            out.push('.');
        }
        digit(rest / 100, out);
        rest = rest % 100 * 10;
        if rest == 0 {
            break;
        }
    }
}

fn timestamp(value: i64, of: Clock, out: &mut String) -> Result<()> {
    let per_second = of.per_second();
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    date(seconds.div_euclid(86_400), out);
    out.push(' ');
    clock(seconds.rem_euclid(86_400), out);
    let nanos = fraction * (1_000_000_000 / per_second);
    let start = out.len();
    write!(out, ".{nanos:09}").map_err(|_| Error::internal("writing to a string failed"))?;
    // Trailing zeros are removed down to the precision of the type. Further digits that are not zero are kept.
    while out.len() > start + 1 + usize::from(of.digits) && out.ends_with('0') {
        out.pop();
    }
    if out.len() == start + 1 {
        out.pop();
    }
    Ok(())
}

/// Prints the parts of nested values as strings.
struct Printer(Option<Caster>);

impl Printer {
    fn of(from: &DataType) -> Option<Self> {
        Caster::try_new(from, &DataType::nullable(TypeRoot::VarChar(MAX_LENGTH))).ok().map(Self)
    }

    fn print(&self, array: ArrayRef) -> Result<StringArray> {
        let printed = match &self.0 {
            None => array,
            Some(cast) => cast.cast(&array)?,
        };
        text(&printed).cloned()
    }
}

fn part(texts: &StringArray, row: usize) -> &str {
    if texts.is_null(row) { "null" } else { texts.value(row) }
}

/// Returns the range of values of each row of a list, or None where the list is NULL.
fn places(list: &Repeated) -> impl Iterator<Item = Option<std::ops::Range<usize>>> + '_ {
    let mut next = 0;
    list.offsets.lengths().enumerate().map(move |(row, length)| {
        let range = next..next + length;
        next = range.end;
        list.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then_some(range)
    })
}

fn list(array: &ArrayRef, element: &Printer) -> Result<ArrayRef> {
    let list = Repeated::of(array)?;
    let elements = element.print(std::sync::Arc::clone(&list.values))?;
    texts(
        places(&list),
        array.len(),
        |places, out| {
            joined(out, ['[', ']'], places, |at, out| out.push_str(part(&elements, at)));
            Ok(())
        },
        Length::Any,
    )
}

fn map(array: &ArrayRef, [key, value]: &[Printer; 2]) -> Result<ArrayRef> {
    let map = Repeated::of(array)?;
    let Some(entries) = map.values.as_struct_opt() else { return Err(Error::internal("a map has no entries")) };
    let (keys, values) = (key.print(child(entries, 0)?)?, value.print(child(entries, 1)?)?);
    texts(
        places(&map),
        array.len(),
        |places, out| {
            joined(out, ['{', '}'], places, |at, out| {
                out.push_str(part(&keys, at));
                out.push_str(" -> ");
                out.push_str(part(&values, at));
            });
            Ok(())
        },
        Length::Any,
    )
}

fn row(array: &ArrayRef, fields: &[Printer]) -> Result<ArrayRef> {
    let Some(rows) = array.as_struct_opt() else {
        return Err(Error::internal("the Arrow type of a ROW is not a struct"));
    };
    let columns = fields.iter().enumerate().map(|(at, field)| field.print(child(rows, at)?));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let valid = (0..array.len()).map(|row| rows.is_valid(row).then_some(row));
    texts(
        valid,
        array.len(),
        |row, out| {
            joined(out, ['{', '}'], columns.iter(), |column, out| out.push_str(part(column, row)));
            Ok(())
        },
        Length::Any,
    )
}

fn joined<T>(
    out: &mut String,
    [open, close]: [char; 2],
    parts: impl Iterator<Item = T>,
    mut print: impl FnMut(T, &mut String),
) {
    out.push(open);
    for (at, part) in parts.enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        print(part, out);
    }
    out.push(close);
}

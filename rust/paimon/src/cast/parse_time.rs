//! Parses strings as dates, times of day and timestamps.
//!
//! ```text
//! DATE       number of days, or  yyyy[-m[-d]][ anything]       years 0 to 9999
//! TIME       number of ms, or    h[:m[:s[.fraction]]][(+|-)h[:m]]
//! TIMESTAMP  number of its unit (s, ms, us, ns for 0, 3, 6, 9 digits), or
//!            yyyy-(MM|M)-(dd|d)[ (HH|H):(mm|m):(ss|s)[.fraction]]
//! ```
//!
//! Only TIMESTAMP WITHOUT TIME ZONE may be a number, optionally with a minus sign. Parts of dates and times of day may
//! be surrounded by spaces. A day after the end of the month becomes the last day in timestamps and is rejected in
//! dates. A time of day that exceeds a day because of its offset is taken modulo a day.

use arrow_array::types::{Date32Type, Int64Type, Time32MillisecondType};
use frazil_core::error::{Error, Result};
use frazil_core::scalar::civil::days_from_civil;

use super::bytes::text;
use super::parse::{integer, parse_all};
use super::time::{Clock, too_far};
use super::{CastRule, finish, rule_of, unparsable};
use crate::spec::types::TypeRoot;

const MILLIS_PER_DAY: i64 = 86_400_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

pub(super) fn rule(from: &TypeRoot, to: &TypeRoot) -> Option<CastRule> {
    use TypeRoot as T;
    let (T::Char(_) | T::VarChar(_)) = from else { return None };
    match to {
        T::Date => rule_of(|array| {
            Ok(finish(parse_all::<Date32Type>(text(array)?, |text| {
                date(text).map(Some).ok_or_else(|| unparsable(text, "DATE"))
            })?))
        }),
        T::Time(_) => rule_of(|array| {
            Ok(finish(parse_all::<Time32MillisecondType>(text(array)?, |text| {
                time(text).map(Some).ok_or_else(|| unparsable(text, "TIME"))
            })?))
        }),
        T::Timestamp(_) | T::LocalZonedTimestamp(_) => {
            let clock = Clock::of(to)?;
            rule_of(move |array| {
                clock.array(&parse_all::<Int64Type>(text(array)?, |text| timestamp(text, clock).map(Some))?)
            })
        }
        _ => None,
    }
}

/// Returns whether a string consists of digits, with or without a minus sign.
fn is_numeric(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses digits that may be surrounded by spaces.
fn part(text: &str) -> Option<i32> {
    let digits = text.trim_matches(|c: char| c <= ' ');
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

fn date(text: &str) -> Option<i32> {
    if is_numeric(text) {
        return i32::try_from(integer(text)?).ok();
    }
    // The date ends at the first space. If the string begins with a space, that space belongs to the year.
    let text = match text.find(' ') {
        Some(end) if end > 0 => text.get(..end)?,
        _ => text,
    };
    let mut parts = text.splitn(3, '-');
    let year = part(parts.next()?)?;
    let month = parts.next().map_or(Some(1), part)?;
    let day = parts.next().map_or(Some(1), part)?;
    let valid = year <= 9999 && (1..=12).contains(&month) && (1..=month_length(year, month)).contains(&day);
    valid.then(|| days(year, month, day)).and_then(|days| i32::try_from(days).ok())
}

fn month_length(year: i32, month: i32) -> i32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the number of days since 1970-01-01.
fn days(year: i32, month: i32, day: i32) -> i64 {
    days_from_civil(year.into(), month.into(), day.into())
}

fn time(text: &str) -> Option<i32> {
    let millis = if is_numeric(text) { i64::from(i32::try_from(integer(text)?).ok()?) } else { time_of_day(text)? };
    i32::try_from(millis.rem_euclid(MILLIS_PER_DAY)).ok()
}

fn time_of_day(text: &str) -> Option<i64> {
    // A plus sign is considered only if there is no minus sign.
    let offset = text.find('-').map(|at| (at, -1)).or_else(|| text.find('+').map(|at| (at, 1)));
    let (clock, sign, offset) = match offset {
        None => (text, 0, None),
        Some((at, sign)) => (text.get(..at)?, sign, text.get(at + 1..)),
    };
    let (offset_hour, offset_minute) = match offset.map(|offset| offset.split_once(':').unwrap_or((offset, "0"))) {
        None => (0, 0),
        Some((hour, minute)) => (part(hour)?, part(minute)?),
    };
    let mut parts = clock.splitn(3, ':');
    let hour = part(parts.next()?)?;
    let minute = parts.next().map_or(Some(0), part)?;
    let (second, millis) = match parts.next().map(|second| second.split_once('.').unwrap_or((second, ""))) {
        None => (0, 0),
        Some((second, fraction)) => (part(second)?, thousandths(fraction.trim_matches(|c: char| c <= ' '))),
    };
    let hours = i64::from(hour) + sign * i64::from(offset_hour);
    let minutes = i64::from(minute) + sign * i64::from(offset_minute);
    Some(((hours * 60 + minutes) * 60 + i64::from(second)) * 1000 + millis)
}

/// Returns three digits of a fraction, rounded by the fourth. Any other character counts as zero.
fn thousandths(fraction: &str) -> i64 {
    let digit = |character: char| i64::from(character.to_digit(10).unwrap_or(0));
    let millis = fraction.chars().zip([100, 10, 1]).map(|(character, weight)| digit(character) * weight).sum::<i64>();
    millis + i64::from(fraction.chars().nth(3).is_some_and(|fourth| fourth >= '5'))
}

fn timestamp(text: &str, clock: Clock) -> Result<i64> {
    if !clock.utc && is_numeric(text) {
        let count = integer(text).ok_or_else(|| unparsable(text, "TIMESTAMP"))?;
        return match clock.digits {
            // Seconds whose milliseconds overflow 64 bits wrap to the low bits.
            0 => Ok(count.wrapping_mul(1000)),
            3 | 6 | 9 => Ok(count),
            digits => Err(Error::unsupported(format!("casting numbers to TIMESTAMP({digits}) is not supported"))),
        };
    }
    let (seconds, nanos) = date_time(text).ok_or_else(|| unparsable(text, "TIMESTAMP"))?;
    let step = 10_i64.pow(9 - u32::from(clock.digits.min(9)));
    let per_second = clock.per_second();
    let fraction = nanos / step * step / (NANOS_PER_SECOND / per_second);
    let count = seconds.checked_mul(per_second).and_then(|count| count.checked_add(fraction));
    count.ok_or_else(|| too_far(seconds, 1, per_second))
}

/// Parses a date and time. Returns the seconds since the epoch and the nanoseconds within the second.
fn date_time(text: &str) -> Option<(i64, i64)> {
    let (date, time) = match text.split_once(' ') {
        None => (text, None),
        Some((date, time)) => (date, Some(time)),
    };
    let mut parts = date.splitn(3, '-');
    let year = year(parts.next()?)?;
    let (month, day) = (one_or_two(parts.next()?, 12)?, one_or_two(parts.next()?, 31)?);
    if month == 0 || day == 0 {
        return None;
    }
    let midnight = days(year, month, day.min(month_length(year, month))) * 86_400;
    let Some(time) = time else { return Some((midnight, 0)) };
    let mut parts = time.splitn(3, ':');
    let (hour, minute) = (one_or_two(parts.next()?, 24)?, one_or_two(parts.next()?, 59)?);
    let (second, fraction) = parts.next().map(|second| second.split_once('.').unwrap_or((second, "")))?;
    let (second, nanos) = (one_or_two(second, 59)?, billionths(fraction)?);
    if hour == 24 && (minute, second, nanos) != (0, 0, 0) {
        return None;
    }
    Some((midnight + i64::from((hour * 60 + minute) * 60 + second), nanos))
}

/// Parses a year of the common era: four digits, or more with a plus sign.
fn year(text: &str) -> Option<i32> {
    let (digits, lengths) = match text.strip_prefix('+') {
        Some(digits) => (digits, 5..=9),
        None => (text, 4..=4),
    };
    let valid = lengths.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if valid { digits.parse().ok().filter(|year| *year > 0) } else { None }
}

fn one_or_two(text: &str, max: i32) -> Option<i32> {
    let valid = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
    if valid { text.parse().ok().filter(|value| *value <= max) } else { None }
}

fn billionths(fraction: &str) -> Option<i64> {
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let missing = u32::try_from(9 - fraction.len()).ok()?;
    let value: i64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    Some(value * 10_i64.pow(missing))
}

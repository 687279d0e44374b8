//! Casts dates, times of day and timestamps to each other, and to and from integers.
//!
//! Java stores a timestamp as milliseconds, rounded down, plus nanoseconds. Casts that truncate the milliseconds round
//! towards zero, so for times before 1970 the result may be the next day, second or tenth:
//!
//! | From | To | Value |
//! |---|---|---|
//! | TIMESTAMP | DATE | ms / 86,400,000, towards zero |
//! | TIMESTAMP | INT, BIGINT | ms / 1000, towards zero, also for WITH LOCAL TIME ZONE |
//! | TIMESTAMP | TIMESTAMP of 0 to 3 digits | ms truncated to the digits, towards zero, without the nanoseconds |
//! | TIMESTAMP | TIMESTAMP of more digits | nanoseconds within ms truncated to the digits |
//! | TIMESTAMP | TIME | ms modulo a day |
//!
//! If the nanoseconds within the second, written as an integer without leading zeros, have no more digits than the
//! target precision, all of them are kept.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Int32Type, Int64Type, Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use frazil_core::error::{Error, Result};

use super::number::longs;
use super::{CastRule, finish, rule_of, try_map};
use crate::spec::types::{DataType, TypeRoot};

const MILLIS_PER_DAY: i64 = 86_400_000;

pub(super) fn rule(from: &TypeRoot, to: &TypeRoot) -> Option<CastRule> {
    use TypeRoot as T;
    if let Some(target) = Clock::of(to) {
        return to_timestamp(from, target);
    }
    let (clock, instant) = (Clock::of(from)?, matches!(from, T::LocalZonedTimestamp(_)));
    let per_milli = clock.per_second() / 1000;
    let millis =
        move |array: &ArrayRef| -> Result<Int64Array> { Ok(values(array)?.unary(|value| value.div_euclid(per_milli))) };
    match to {
        T::Date if instant => {
            rule_of(move |array| Ok(days(&millis(array)?, |millis| millis.div_euclid(MILLIS_PER_DAY))))
        }
        T::Date => rule_of(move |array| Ok(days(&millis(array)?, |millis| millis / MILLIS_PER_DAY))),
        T::Time(_) => rule_of(move |array| Ok(times(&millis(array)?))),
        T::Int => {
            rule_of(move |array| Ok(finish(millis(array)?.unary::<_, Int32Type>(|millis| low_bits(millis / 1000)))))
        }
        T::BigInt => rule_of(move |array| Ok(finish(millis(array)?.unary::<_, Int64Type>(|millis| millis / 1000)))),
        _ => None,
    }
}

fn to_timestamp(from: &TypeRoot, target: Clock) -> Option<CastRule> {
    use TypeRoot as T;
    match from {
        // Seconds whose milliseconds overflow 64 bits wrap to the low bits.
        T::Int | T::BigInt => rule_of(move |array| {
            target.array(&try_map(&longs(array)?, |seconds| target.from(seconds.wrapping_mul(1000), 1000).map(Some))?)
        }),
        T::Date => rule_of(move |array| {
            let days =
                array.as_primitive_opt::<Date32Type>().ok_or_else(|| Error::internal("expected a date array"))?;
            target.array(&try_map(days, |days| target.from(i64::from(days) * MILLIS_PER_DAY, 1000).map(Some))?)
        }),
        T::Time(_) => rule_of(move |array| {
            let times = array.as_primitive_opt::<Time32MillisecondType>();
            let times = times.ok_or_else(|| Error::internal("expected an array of times of day"))?;
            target.array(&try_map(times, |millis| target.from(i64::from(millis), 1000).map(Some))?)
        }),
        T::Timestamp(_) | T::LocalZonedTimestamp(_) => {
            let source = Clock::of(from)?;
            rule_of(move |array| {
                let cast = |value| {
                    let cut = if source.digits > target.digits {
                        truncate(value, source, target.digits)
                    } else {
                        Some(value)
                    };
                    let cut = cut.ok_or_else(|| {
                        Error::corrupt(format!("{value} is out of range of 64-bit timestamps after truncation"))
                    })?;
                    target.from(cut, source.per_second()).map(Some)
                };
                target.array(&try_map(&values(array)?, cast)?)
            })
        }
        _ => None,
    }
}

/// The unit and precision of timestamps of a type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    pub(super) digits: u8,
    pub(super) unit: TimeUnit,
    pub(super) utc: bool,
}

impl Clock {
    pub(super) fn of(root: &TypeRoot) -> Option<Self> {
        let (digits, utc) = match root {
            TypeRoot::Timestamp(digits) => (*digits, false),
            TypeRoot::LocalZonedTimestamp(digits) => (*digits, true),
            _ => return None,
        };
        if digits > 9 {
            return None;
        }
        match DataType::nullable(root.clone()).arrow() {
            ArrowType::Timestamp(unit, _) => Some(Self { digits, unit, utc }),
            _ => None,
        }
    }

    pub(super) fn per_second(self) -> i64 {
        per_second(self.unit)
    }

    /// Converts a count of any unit to the unit of this clock. Finer units are rounded down.
    ///
    /// # Errors
    /// `Unsupported` if the result is out of range.
    pub(super) fn from(self, value: i64, per_second: i64) -> Result<i64> {
        let own = self.per_second();
        if per_second >= own {
            return Ok(value.div_euclid(per_second / own));
        }
        let scaled = value.checked_mul(own / per_second);
        scaled.ok_or_else(|| too_far(value, per_second, own))
    }

    /// Returns counts in the unit of this clock as timestamps.
    #[expect(clippy::unnecessary_wraps, reason = "the last step of rules")]
    pub(super) fn array(self, values: &Int64Array) -> Result<ArrayRef> {
        let zone = self.utc.then_some("UTC");
        Ok(match self.unit {
            TimeUnit::Nanosecond => {
                Arc::new(values.reinterpret_cast::<TimestampNanosecondType>().with_timezone_opt(zone)) as ArrayRef
            }
            TimeUnit::Microsecond => {
                Arc::new(values.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone))
            }
            _ => Arc::new(values.reinterpret_cast::<TimestampMillisecondType>().with_timezone_opt(zone)),
        })
    }
}

/// Returns the counts of timestamps.
pub(super) fn values(array: &ArrayRef) -> Result<Int64Array> {
    let counts = arrow_cast::cast(array, &ArrowType::Int64)?;
    let counts = counts.as_primitive_opt::<Int64Type>().cloned();
    counts.ok_or_else(|| Error::internal("expected a timestamp array"))
}

/// Truncates a timestamp to fewer digits. Returns None if the result is below the smallest timestamp.
fn truncate(value: i64, source: Clock, digits: u8) -> Option<i64> {
    let per_milli = source.per_second() / 1000;
    let (millis, above) = (value.div_euclid(per_milli), value.rem_euclid(per_milli));
    let nanos_of_second = millis.rem_euclid(1000) * 1_000_000 + above * (1_000_000 / per_milli);
    let shown = nanos_of_second.checked_ilog10().map_or(1, |log| log + 1);
    if shown <= u32::from(digits) {
        return Some(value);
    }
    if digits <= 3 {
        let step = 10_i64.pow(3 - u32::from(digits));
        return (millis / step * step).checked_mul(per_milli);
    }
    // The step is 1 for units that are coarser than the digits: nothing is truncated.
    let step = (per_milli / 10_i64.pow(u32::from(digits) - 3)).max(1);
    value.checked_sub(above % step)
}

fn days(millis: &Int64Array, days: impl Fn(i64) -> i64) -> ArrayRef {
    finish(millis.unary::<_, Date32Type>(|millis| low_bits(days(millis))))
}

fn times(millis: &Int64Array) -> ArrayRef {
    finish(millis.unary::<_, Time32MillisecondType>(|millis| low_bits(millis.rem_euclid(MILLIS_PER_DAY))))
}

#[expect(clippy::cast_possible_truncation, reason = "Java keeps the low 32 bits")]
fn low_bits(value: i64) -> i32 {
    value as i32
}

/// Returns the number of units per second.
pub(crate) fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Returns the error for a valid timestamp that does not fit the type of its column. `from` and `to` are the source and
/// target units, as numbers of units per second.
pub(crate) fn too_far(value: i64, from: i64, to: i64) -> Error {
    let message = format!("the timestamp {value} (1/{from} s since 1970) does not fit 64 bits of 1/{to} s");
    Error::unsupported(message)
        .hint("timestamps of seven to nine digits range from 1677 to 2262; leave the column out of the scan")
}

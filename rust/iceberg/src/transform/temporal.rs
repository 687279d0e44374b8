//! `year`, `month`, `day`, `hour`: whole units since 1970-01-01T00:00:00, rounded towards negative infinity (spec:
//! "Partition Transforms").
//!
//! The calendar is computed without branches on a day count that is shifted to be positive. Years start on March 1st, so
//! that the leap day is the last day of its year:
//!
//! ```text
//! day -> (century, day of century) -> (year of century, day of year) -> month = (2141 * day of year + 197913) >> 16
//! ```

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use frazil_core::error::{Error, Result};
use frazil_core::scalar::Scalar;

use crate::spec::transform::Transform;
use crate::spec::types::PrimitiveType;

const SECONDS_PER_HOUR: i64 = 3_600;
const SECONDS_PER_DAY: i64 = 86_400;

/// The unit of a temporal transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Month,
    Day,
    Hour,
}

impl Unit {
    pub(super) fn of(transform: &Transform) -> Option<Self> {
        match transform {
            Transform::Year => Some(Self::Year),
            Transform::Month => Some(Self::Month),
            Transform::Day => Some(Self::Day),
            Transform::Hour => Some(Self::Hour),
            _ => None,
        }
    }

    /// Returns the type of the count; None for a source without such units.
    pub(super) fn result_type(self, source: &PrimitiveType) -> Option<PrimitiveType> {
        let dated = ticks_per_second(source).is_some() || (*source == PrimitiveType::Date && self != Self::Hour);
        dated.then_some(if self == Self::Day { PrimitiveType::Date } else { PrimitiveType::Int })
    }

    /// Returns the count for a value of `source`: days, or ticks of a timestamp. Only hours can exceed the range of
    /// `i32`.
    pub(super) fn count(self, source: &PrimitiveType, value: i64) -> i64 {
        let days = match ticks_per_second(source) {
            Some(ticks) if self == Self::Hour => return value.div_euclid(ticks * SECONDS_PER_HOUR),
            Some(ticks) => value.div_euclid(ticks * SECONDS_PER_DAY),
            None => value,
        };
        match self {
            Self::Year => i64::from(years(days)),
            Self::Month => i64::from(months(days)),
            Self::Day | Self::Hour => days,
        }
    }

    /// Returns the counts of an array with the Arrow type of `source`.
    pub(super) fn apply(self, array: &dyn Array, source: &PrimitiveType) -> Result<ArrayRef> {
        match source {
            PrimitiveType::Date => Ok(self.of_dates(array.as_primitive())),
            PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => {
                self.of_timestamps::<_, 1_000_000_000>(array.as_primitive::<TimestampNanosecondType>())
            }
            _ => self.of_timestamps::<_, 1_000_000>(array.as_primitive::<TimestampMicrosecondType>()),
        }
    }

    /// Returns the count for one value; None for a value of another type.
    pub(super) fn apply_scalar(self, value: &Scalar, source: &PrimitiveType) -> Result<Option<Scalar>> {
        let Some(ticks) = ticks(value) else { return Ok(None) };
        let count = i32::try_from(self.count(source, ticks)).map_err(|_| out_of_range(ticks))?;
        Ok(Some(self.scalar(count)))
    }

    /// Returns a count as a value of the result type.
    pub(super) fn scalar(self, count: i32) -> Scalar {
        if self == Self::Day { Scalar::Date(count) } else { Scalar::Int32(count) }
    }

    fn of_dates(self, array: &PrimitiveArray<Date32Type>) -> ArrayRef {
        match self {
            Self::Year => Arc::new(array.unary::<_, Int32Type>(|days| years(i64::from(days)))),
            Self::Month => Arc::new(array.unary::<_, Int32Type>(|days| months(i64::from(days)))),
            Self::Day | Self::Hour => Arc::new(array.clone()),
        }
    }

    fn of_timestamps<T, const TICKS: i64>(self, array: &PrimitiveArray<T>) -> Result<ArrayRef>
    where
        T: ArrowPrimitiveType<Native = i64>,
    {
        let days = |value: i64| value.div_euclid(TICKS * SECONDS_PER_DAY);
        Ok(match self {
            Self::Year => Arc::new(array.unary::<_, Int32Type>(|value| years(days(value)))),
            Self::Month => Arc::new(array.unary::<_, Int32Type>(|value| months(days(value)))),
            Self::Day => Arc::new(array.unary::<_, Date32Type>(|value| low_bits(days(value)))),
            Self::Hour => {
                let hours = |value: i64| value.div_euclid(TICKS * SECONDS_PER_HOUR);
                let fits = |value: i64| i32::try_from(hours(value)).is_ok();
                // The contents of NULL slots are arbitrary, so values are checked one by one only if any of them is out
                // of range.
                if !array.values().iter().all(|value| fits(*value))
                    && let Some(value) = array.iter().flatten().find(|value| !fits(*value))
                {
                    return Err(out_of_range(value));
                }
                Arc::new(array.unary::<_, Int32Type>(|value| low_bits(hours(value))))
            }
        })
    }
}

/// Returns the ticks per second of a timestamp type; None for every other type.
pub(super) fn ticks_per_second(source: &PrimitiveType) -> Option<i64> {
    match source {
        PrimitiveType::Timestamp | PrimitiveType::Timestamptz => Some(1_000_000),
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => Some(1_000_000_000),
        _ => None,
    }
}

/// Returns the days of a date or the ticks of a timestamp.
pub(super) fn ticks(value: &Scalar) -> Option<i64> {
    match value {
        Scalar::Date(days) => Some(i64::from(*days)),
        Scalar::Timestamp { value, .. } => Some(*value),
        _ => None,
    }
}

/// Returns the years since 1970 of a day since 1970-01-01, exact for every day that is an `i32` or is derived from an
/// `i64` of ticks.
#[inline]
fn years(days: i64) -> i32 {
    months(days).div_euclid(12)
}

/// Returns the months since 1970-01; exact in the same range as [`years`].
#[inline]
fn months(days: i64) -> i32 {
    const DAYS_PER_ERA: u64 = 146_097; // 400 years
    const ERAS: u64 = 14_705; // exceeds the range of an i32 of days
    const SHIFT: u64 = 719_468 + ERAS * DAYS_PER_ERA; // 0000-03-01 is 719468 days before the epoch
    const EPOCH_MONTH: u64 = (1970 + 400 * ERAS) * 12;

    let quarters = 4 * days.cast_unsigned().wrapping_add(SHIFT) + 3;
    let century = quarters / DAYS_PER_ERA;
    let quarters = (quarters % DAYS_PER_ERA) | 3;
    let year = 100 * century + quarters / 1461;
    let day_of_year = quarters % 1461 / 4;
    // March is 3, and February of the next calendar year is 14.
    let month = (2141 * day_of_year + 197_913) >> 16;
    low_bits((year * 12 + month - 1).cast_signed() - EPOCH_MONTH.cast_signed())
}

#[expect(clippy::cast_possible_truncation, reason = "callers know or have checked that the count fits")]
#[inline]
fn low_bits(count: i64) -> i32 {
    count as i32
}

#[cold]
fn out_of_range(ticks: i64) -> Error {
    Error::invalid(format!("the hour of the timestamp {ticks} does not fit an int"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::types::PrimitiveType::{Date, Timestamp, TimestampNs};
    use proptest::prelude::*;

    const UNITS: [Unit; 4] = [Unit::Year, Unit::Month, Unit::Day, Unit::Hour];

    #[test]
    fn the_vectors_hold_in_micros_and_nanos() {
        for (micros, expected) in [
            (0, [0, 0, 0, 0]),
            (1_512_123_175_038_194, [47, 575, 17_501, 420_034]),
            (-1, [-1, -1, -1, -1]),
            (-1_000_001, [-1, -1, -1, -1]),
            (-90_000_000_002, [-1, -1, -2, -26]),
            (-31_500_000_000_000, [-1, -12, -365, -8_750]),
            (-62_135_596_800_000_000, [-1_969, -23_628, -719_162, -17_259_888]),
            (253_402_300_799_999_999, [8_029, 96_359, 2_932_896, 70_389_527]),
        ] {
            assert_eq!(UNITS.map(|unit| unit.count(&Timestamp, micros)), expected, "{micros}");
            if let Some(nanos) = micros.checked_mul(1000) {
                assert_eq!(UNITS.map(|unit| unit.count(&TimestampNs, nanos)), expected, "{nanos}");
            }
        }
        assert_eq!(UNITS.map(|unit| unit.count(&TimestampNs, -1)), [-1; 4]);
    }

    #[test]
    fn the_calendar_is_exact_at_both_ends_and_day_by_day() {
        // Checks 1968-01-01 to 2101-01-01, and the last days of the range against a count of whole eras.
        let mut month: i32 = -24;
        let mut day: i64 = -731;
        while month < 131 * 12 {
            let (year, in_year) = (1970 + month.div_euclid(12), month.rem_euclid(12));
            let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
            let length =
                [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][usize::try_from(in_year).unwrap()];
            for _ in 0..length {
                assert_eq!((months(day), years(day)), (month, month.div_euclid(12)), "{day}");
                day += 1;
            }
            month += 1;
        }
        for day in [i64::from(i32::MIN), i64::from(i32::MAX), -106_751_992, 106_751_991, -719_469, -719_468] {
            let eras = day.div_euclid(146_097);
            assert_eq!(i64::from(months(day)), i64::from(months(day - eras * 146_097)) + eras * 4800, "{day}");
        }
        assert_eq!(Unit::Year.count(&Date, i64::from(i32::MIN)), -5_879_611);
    }

    proptest! {
        #[test]
        fn eras_repeat(day: i32) {
            let eras = i64::from(day).div_euclid(146_097);
            let day = i64::from(day);
            prop_assert_eq!(i64::from(months(day)), i64::from(months(day - eras * 146_097)) + eras * 4800);
        }
    }
}

//! Adjusts bounds of columns whose values are read differently than stored, see [`crate::context::altered_columns`].

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Date32Array, PrimitiveArray, make_array, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use crate::context::altered_columns::is_orc;
use crate::spec::manifest::ManifestEntries;
use crate::spec::types::{DataType, TypeRoot};

/// 1583-01-01, from which all calendars agree.
const CALENDARS_AGREE_S: i64 = -12_212_553_600;

/// 1900-01-04, from which all zones agree, even if a bound was shifted.
const ZONES_AGREE_S: i64 = -2_208_729_600;

/// An upper limit, in seconds, for the difference between the UTC offsets of one location.
const DAY_S: i64 = 86_400;

/// The range of microseconds of a day.
const DAY_US: Range<i64> = 0..DAY_S * 1_000_000;

/// The seconds around the epoch in which a timestamp may have been shifted.
const AROUND_EPOCH_S: Range<i64> = -1..1;

/// The side of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Lower,
    Upper,
}

/// Returns bounds that hold for the values as they are read, with NULL if unknown. `rows` are the positions of the
/// entries of the bounds, in order.
pub(super) fn trusted(
    bounds: ArrayRef,
    end: End,
    data_type: &DataType,
    entries: &ManifestEntries,
    rows: impl Iterator<Item = usize>,
) -> ArrayRef {
    use TypeRoot::{Char, Date, LocalZonedTimestamp, Timestamp};
    if !matches!(data_type.root, Char(_) | Date | Timestamp(_) | LocalZonedTimestamp(_)) {
        return bounds;
    }
    let orc: BooleanBuffer = rows.map(|row| is_orc(entries.file_names().value(row))).collect();
    if orc.count_set_bits() == 0 {
        return bounds;
    }
    let from_s = if matches!(data_type.root, LocalZonedTimestamp(_)) { i64::MAX } else { ZONES_AGREE_S };
    let of_orc = match bounds.data_type() {
        ArrowType::Date32 => days(&bounds, end, &orc),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
            times::<TimestampMillisecondType>(&bounds, &orc, Moved { end, from_s, per_second: 1000 })
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            times::<TimestampMicrosecondType>(&bounds, &orc, Moved { end, from_s, per_second: 1_000_000 })
        }
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => {
            times::<TimestampNanosecondType>(&bounds, &orc, Moved { end, from_s, per_second: 1_000_000_000 })
        }
        _ => without(&bounds, &orc),
    };
    of_orc.unwrap_or_else(|| new_null_array(bounds.data_type(), bounds.len()))
}

/// Returns the bounds of times of day, with NULL if a value may be outside of the day.
pub(super) fn within_day(bounds: [ArrayRef; 2]) -> [ArrayRef; 2] {
    let is_within = |bounds: &ArrayRef| {
        let times = bounds.as_primitive_opt::<Time64MicrosecondType>()?;
        Some(times.iter().map(|time| time.is_some_and(|time| DAY_US.contains(&time))).collect::<BooleanBuffer>())
    };
    let within = match bounds.each_ref().map(is_within) {
        [Some(lower), Some(upper)] if lower.len() == upper.len() => &lower & &upper,
        _ => return bounds.map(|bounds| new_null_array(bounds.data_type(), bounds.len())),
    };
    let outside = !&within;
    bounds.map(|bounds| without(&bounds, &outside).unwrap_or_else(|| new_null_array(bounds.data_type(), bounds.len())))
}

fn without(bounds: &ArrayRef, gone: &BooleanBuffer) -> Option<ArrayRef> {
    let kept = (gone.len() == bounds.len()).then(|| NullBuffer::new(!gone))?;
    let nulls = NullBuffer::union(bounds.nulls(), Some(&kept));
    bounds.to_data().into_builder().nulls(nulls).build().ok().map(make_array)
}

fn days(bounds: &ArrayRef, end: End, orc: &BooleanBuffer) -> Option<ArrayRef> {
    let bounds = bounds.as_any().downcast_ref::<Date32Array>()?;
    let agree = i32::try_from(ZONES_AGREE_S / DAY_S).ok()?;
    let away = if end == End::Lower { -1 } else { 1 };
    let bound = |(day, is_orc): (Option<i32>, bool)| match day {
        Some(day) if is_orc && day < agree => day.checked_add(away),
        other => other,
    };
    let days: Date32Array = bounds.iter().zip(orc).map(bound).collect();
    (days.len() == bounds.len()).then(|| Arc::new(days) as ArrayRef)
}

/// The possible distance between the bounds of timestamps and the values read.
#[derive(Debug, Clone, Copy)]
struct Moved {
    end: End,
    /// The second from which only timestamps around the epoch are shifted.
    from_s: i64,
    per_second: i64,
}

impl Moved {
    /// Returns a bound for the timestamps as they are read, or None if it is unknown.
    fn bound(self, bound: i64) -> Option<i64> {
        let second = bound.div_euclid(self.per_second);
        if second < CALENDARS_AGREE_S {
            return None;
        }
        if second < self.from_s {
            let day = DAY_S * self.per_second;
            return if self.end == End::Lower { bound.checked_sub(day) } else { bound.checked_add(day) };
        }
        // Timestamps around the epoch are shifted up, so an upper bound is unknown and a lower bound is kept.
        Some(bound).filter(|_| self.end == End::Lower || !AROUND_EPOCH_S.contains(&second))
    }
}

fn times<T: ArrowPrimitiveType<Native = i64>>(
    bounds: &ArrayRef,
    orc: &BooleanBuffer,
    moved: Moved,
) -> Option<ArrayRef> {
    let bounds = bounds.as_any().downcast_ref::<PrimitiveArray<T>>()?;
    let bound = |(value, is_orc): (Option<i64>, bool)| if is_orc { moved.bound(value?) } else { value };
    let times: PrimitiveArray<T> = bounds.iter().zip(orc).map(bound).collect();
    (times.len() == bounds.len()).then(|| Arc::new(times.with_data_type(bounds.data_type().clone())) as ArrayRef)
}

#[cfg(test)]
mod tests {
    use arrow_array::Time64MicrosecondArray;
    use rstest::rstest;

    use super::*;

    #[test]
    fn bounds_of_times_outside_of_the_day_are_not_known() {
        let times = |times: [Option<i64>; 5]| Arc::new(Time64MicrosecondArray::from_iter(times)) as ArrayRef;
        let day = DAY_US.end;
        let [lower, upper] = within_day([
            times([Some(0), Some(-1), Some(5), None, Some(-5)]),
            times([Some(day - 1), Some(7), Some(day), Some(7), Some(-1)]),
        ]);
        assert_eq!(&lower, &times([Some(0), None, None, None, None]));
        assert_eq!(&upper, &times([Some(day - 1), None, None, None, None]));
    }

    #[rstest]
    #[case::long_ago(-30_000_000_000, None, None)]
    #[case::before_zones(-11_000_000_000, Some(-11_000_086_400), Some(-10_999_913_600))]
    #[case::before_the_epoch(-2_000_000_000, Some(-2_000_000_000), Some(-2_000_000_000))]
    #[case::last_second(-1, Some(-1), None)]
    #[case::first_second(0, Some(0), None)]
    #[case::now(1_700_000_000, Some(1_700_000_000), Some(1_700_000_000))]
    fn bounds_contain_the_values_read_back_from_orc(
        #[case] second: i64,
        #[case] lower: Option<i64>,
        #[case] upper: Option<i64>,
        #[values(1000, 1_000_000)] per_second: i64,
    ) {
        let of = |end| {
            let moved = Moved { end, from_s: ZONES_AGREE_S, per_second };
            moved.bound(second * per_second).map(|bound| bound.div_euclid(per_second))
        };
        assert_eq!((of(End::Lower), of(End::Upper)), (lower, upper));
    }
}

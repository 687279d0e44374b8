//! Statistics and indexes of values that are read back as others.
//!
//! | format | type | written | read |
//! |---|---|---|---|
//! | ORC | CHAR(n) | with the spaces at its end; in statistics padded to n | without spaces at its end |
//! | ORC | timestamps before 1582-10-15 | days of one calendar | moved by the days between two calendars |
//! | ORC | timestamps in the second before 1970 | | a second later, where they have milliseconds (seen of Java 1.4.2) |
//!
//! Nothing of this may leave a file out.

use std::ops::Range;

use arrow_array::types::{TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use crate::spec::manifest::ManifestEntries;
use crate::spec::types::{DataType, TypeRoot};

/// 1583-01-01, after which all calendars agree.
const CALENDARS_AGREE_S: i64 = -12_212_553_600;

/// The seconds around the epoch between which a timestamp may have moved.
const AROUND_EPOCH_S: Range<i64> = -1..1;

/// Whether a file gives other values of a type back than statistics and indexes have.
pub(crate) fn is_altered(file_name: &str, data_type: &DataType) -> bool {
    let altered =
        matches!(data_type.root, TypeRoot::Char(_) | TypeRoot::Timestamp(_) | TypeRoot::LocalZonedTimestamp(_));
    altered && is_orc(file_name)
}

/// Bounds of files, NULL where they do not say what is read. `rows` are the entries of the bounds, in order.
pub(super) fn trusted(
    bounds: ArrayRef,
    data_type: &DataType,
    entries: &ManifestEntries,
    rows: impl Iterator<Item = usize>,
) -> ArrayRef {
    let names = entries.file_names();
    let kept: BooleanBuffer = match &data_type.root {
        TypeRoot::Char(_) => rows.map(|row| !is_orc(names.value(row))).collect(),
        TypeRoot::Timestamp(_) | TypeRoot::LocalZonedTimestamp(_) => {
            let Some(says) = unmoved(&bounds) else { return new_null_array(bounds.data_type(), bounds.len()) };
            rows.zip(says.iter()).map(|(row, says)| says || !is_orc(names.value(row))).collect()
        }
        _ => return bounds,
    };
    if kept.len() != bounds.len() {
        return new_null_array(bounds.data_type(), bounds.len());
    }
    if kept.count_set_bits() == kept.len() {
        return bounds;
    }
    let nulls = NullBuffer::union(bounds.nulls(), Some(&NullBuffer::new(kept)));
    let data = bounds.to_data().into_builder().nulls(nulls).build();
    data.map_or_else(|_| new_null_array(bounds.data_type(), bounds.len()), arrow_array::make_array)
}

/// Which timestamps no calendar and no rounding moves.
fn unmoved(bounds: &ArrayRef) -> Option<BooleanBuffer> {
    match bounds.data_type() {
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => unmoved_of::<TimestampMillisecondType>(bounds, 1000),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => unmoved_of::<TimestampMicrosecondType>(bounds, 1_000_000),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => unmoved_of::<TimestampNanosecondType>(bounds, 1_000_000_000),
        _ => None,
    }
}

fn unmoved_of<T: ArrowPrimitiveType<Native = i64>>(bounds: &ArrayRef, per_second: i64) -> Option<BooleanBuffer> {
    let bounds = bounds.as_any().downcast_ref::<PrimitiveArray<T>>()?;
    let unmoved = |value: &i64| {
        let second = value.div_euclid(per_second);
        second >= CALENDARS_AGREE_S && !AROUND_EPOCH_S.contains(&second)
    };
    Some(bounds.values().iter().map(unmoved).collect())
}

fn is_orc(file_name: &str) -> bool {
    file_name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("orc"))
}

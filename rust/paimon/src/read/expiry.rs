//! Determines expired records (options `record-level.*`, Java's `RecordLevelExpire`). Compactions drop them before
//! records are merged; reads return them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as ArrowType, TimeUnit};
use arrow_select::filter::filter_record_batch;
use frazil_core::error::{Error, Result};

use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, TypeRoot};

const TIME_FIELD: &str = "record-level.time-field";

/// The value from which a BIGINT is in milliseconds; smaller values are in seconds.
const LEAST_MILLISECONDS: i64 = 1_000_000_000_000;

/// The rule that determines expired records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    /// The column with the time of a record.
    pub column: DataField,
    /// Records with an earlier time have expired, in seconds since the epoch.
    pub since_s: i64,
}

impl Expiry {
    /// Returns the expiration at the time `now_ms`, or None if records do not expire.
    ///
    /// # Errors
    /// `InvalidArgument` if the time field is not a column of type INT, BIGINT or TIMESTAMP.
    pub fn from_options(schema: &TableSchema, options: &Options, now_ms: i64) -> Result<Option<Self>> {
        let Some(after) = options.duration("record-level.expire-time")? else { return Ok(None) };
        let name = options.text(TIME_FIELD).map(str::trim).unwrap_or_default();
        let column = schema.field(name).filter(|field| {
            matches!(
                field.data_type.root,
                TypeRoot::Int | TypeRoot::BigInt | TypeRoot::Timestamp(_) | TypeRoot::LocalZonedTimestamp(_)
            )
        });
        let column = column.ok_or_else(|| {
            let message = format!(
                "the option `{TIME_FIELD}` is `{}`, which is not a column of type INT, BIGINT or TIMESTAMP",
                shown(name)
            );
            Error::invalid(message).hint("`record-level.expire-time` requires the time of each record")
        })?;
        let after_s = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
        Ok(Some(Self { column: column.clone(), since_s: (now_ms / 1000).saturating_sub(after_s) }))
    }

    /// Returns, for each of these times, whether a record with that time has expired. Records with NULL have not
    /// expired.
    ///
    /// # Errors
    /// `Internal` for an array of a type that the column cannot have.
    pub fn of(&self, times: &ArrayRef) -> Result<BooleanBuffer> {
        let seconds = |count: usize, at: &dyn Fn(usize) -> i64| {
            (0..count).map(|row| times.is_valid(row) && at(row) < self.since_s).collect::<BooleanBuffer>()
        };
        macro_rules! expired {
            ($kind:ty, $seconds:expr) => {{
                let values = times.as_primitive::<$kind>().values();
                seconds(values.len(), &|row| values.get(row).copied().map_or(i64::MAX, $seconds))
            }};
        }
        Ok(match times.data_type() {
            ArrowType::Int32 => expired!(Int32Type, i64::from),
            ArrowType::Int64 => {
                expired!(Int64Type, |time| if time >= LEAST_MILLISECONDS { time / 1000 } else { time })
            }
            ArrowType::Timestamp(TimeUnit::Millisecond, _) => expired!(TimestampMillisecondType, |ms| ms / 1000),
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
                expired!(TimestampMicrosecondType, |us| us.div_euclid(1000) / 1000)
            }
            ArrowType::Timestamp(TimeUnit::Nanosecond, _) => {
                expired!(TimestampNanosecondType, |ns| ns.div_euclid(1_000_000) / 1000)
            }
            other => return Err(Error::internal(format!("the times of records have the unexpected type {other}"))),
        })
    }

    /// Returns the rows that have not expired, and rows that retract others, which may not have expired. `kinds` is the
    /// position of the row kinds.
    ///
    /// # Errors
    /// As for [`Expiry::of`].
    pub fn live(&self, rows: RecordBatch, kinds: Option<usize>) -> Result<RecordBatch> {
        let Some(times) = rows.column_by_name(&self.column.name) else {
            return Err(Error::internal(format!("the rows do not have the column `{}`", shown(&self.column.name))));
        };
        let expired = self.of(times)?;
        if expired.count_set_bits() == 0 {
            return Ok(rows);
        }
        let mut live = !&expired;
        let kinds = kinds.and_then(|at| rows.columns().get(at)).and_then(|kinds| kinds.as_primitive_opt::<Int8Type>());
        if let Some(kinds) = kinds {
            live = &live | &kinds.values().iter().map(|kind| kind & 1 == 1).collect();
        }
        Ok(filter_record_batch(&rows, &BooleanArray::new(live, None))?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, Int64Array, TimestampMicrosecondArray, TimestampMillisecondArray};
    use serde_json::json;

    use super::*;

    const NOW_MS: i64 = 1_700_000_100_999;

    fn expiry(data_type: &str, field: &str) -> Result<Option<Expiry>> {
        let schema = json!({
            "version": 3, "id": 0, "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "timeMillis": 1,
            "fields": [{"id": 0, "name": "t", "type": data_type}], "options": {},
        });
        let options = [("record-level.expire-time", "100 s"), (TIME_FIELD, field)];
        let options = Options::new(options.map(|(name, value)| (name.to_string(), value.to_string())).into());
        Expiry::from_options(&TableSchema::parse(schema.to_string().as_bytes()).unwrap(), &options, NOW_MS)
    }

    fn expired(data_type: &str, times: impl Array + 'static) -> Vec<bool> {
        let times: ArrayRef = Arc::new(times);
        expiry(data_type, "t").unwrap().unwrap().of(&times).unwrap().iter().collect()
    }

    #[test]
    fn records_expire_after_whole_seconds() {
        let expected = [false, false, true];
        let seconds = [None, Some(1_700_000_000), Some(1_699_999_999)];
        assert_eq!(expired("INT", Int32Array::from_iter(seconds)), expected);
        let seconds = seconds.map(|second| second.map(i64::from));
        assert_eq!(expired("BIGINT", Int64Array::from_iter(seconds)), expected);
        let ms = seconds.map(|second| second.map(|second| second * 1000 + 999));
        assert_eq!(expired("BIGINT", Int64Array::from_iter(ms)), expected);
        assert_eq!(expired("TIMESTAMP(3)", TimestampMillisecondArray::from_iter(ms)), expected);
        let us = ms.map(|ms| ms.map(|ms| ms * 1000 + 999));
        assert_eq!(expired("TIMESTAMP(6)", TimestampMicrosecondArray::from_iter(us)), expected);
    }

    #[test]
    fn the_time_is_a_column() {
        for (data_type, field) in [("STRING", "t"), ("DATE", "t"), ("INT", "u"), ("INT", "")] {
            let error = expiry(data_type, field).unwrap_err();
            assert!(error.to_string().contains(TIME_FIELD), "{error}");
        }
        let schema = TableSchema::parse(
            json!({
                "version": 3, "id": 0, "highestFieldId": 0, "partitionKeys": [], "primaryKeys": [], "timeMillis": 1,
                "fields": [], "options": {},
            })
            .to_string()
            .as_bytes(),
        );
        assert_eq!(Expiry::from_options(&schema.unwrap(), &Options::default(), 0).unwrap(), None);
    }
}

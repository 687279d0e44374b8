//! Compares the key columns of a data file and an equality delete file by their counts and bounds: deletes whose keys
//! cannot occur in the data file need not be read.
//!
//! Keys match by the rules of equality deletes: NULL matches NULL, NaN matches NaN. Bounds apply to the other values.

use std::cmp::Ordering;

use arrow_array::{Array, Int64Array};
use frazil_core::error::Result;
use frazil_core::prune::{Bounds, ColumnStats};
use frazil_core::scalar::{Scalar, ScalarType};
use frazil_core::sql::predicate::BoundColumn;

/// The statistics of key columns over some files.
#[derive(Debug, Default)]
pub struct KeyStatistics(Vec<(BoundColumn, Bounds)>);

/// The values of one file in one key column.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyRange {
    /// The field id.
    pub id: i32,
    is_float: bool,
    rows: Option<i64>,
    nulls: Option<i64>,
    nans: Option<i64>,
    bounds: Option<(Scalar, Scalar)>,
}

impl KeyStatistics {
    /// Creates the statistics of the columns with these ids; `types` returns the types of comparable columns. Other
    /// columns have unknown values.
    pub fn try_new(
        ids: &[i32],
        types: &dyn Fn(i32) -> Option<ScalarType>,
        statistics: &dyn ColumnStats,
    ) -> Result<Self> {
        let mut columns = Vec::with_capacity(ids.len());
        for &id in ids {
            // Writers compare UUIDs in different orders, so UUID bounds are ignored.
            let Some(data_type) = types(id).filter(|data_type| *data_type != ScalarType::Uuid) else { continue };
            let column = BoundColumn { id, name: "".into(), data_type, nullable: true };
            if let Some(bounds) = statistics.bounds(&column)? {
                columns.push((column, bounds));
            }
        }
        Ok(Self(columns))
    }

    /// Returns the key ranges of the file at `row`.
    pub fn row(&self, row: usize) -> Result<Vec<KeyRange>> {
        self.0.iter().map(|(column, bounds)| KeyRange::try_new(column, bounds, row)).collect()
    }
}

impl KeyRange {
    fn try_new(column: &BoundColumn, bounds: &Bounds, row: usize) -> Result<Self> {
        let count = |counts: &Option<Int64Array>| {
            counts.as_ref().filter(|counts| counts.is_valid(row)).map(|counts| counts.value(row))
        };
        let scalar = |values: &Option<_>| match values {
            Some(values) => Scalar::from_array(values, row, column.data_type),
            None => Ok(None),
        };
        let (lower, upper) = (scalar(&bounds.lower)?, scalar(&bounds.upper)?);
        Ok(Self {
            id: column.id,
            is_float: column.data_type.is_float(),
            rows: count(&bounds.row_count),
            nulls: count(&bounds.null_count),
            nans: count(&bounds.nan_count),
            bounds: lower.zip(upper).filter(|(lower, upper)| is_ordered(lower, upper)),
        })
    }

    /// Returns whether the two ranges may have a value in common; true if either is unknown.
    fn may_meet(&self, other: &Self) -> bool {
        if self.nulls != Some(0) && other.nulls != Some(0) {
            return true;
        }
        if self.is_only_null() || other.is_only_null() {
            return false;
        }
        if self.is_float && self.nans != Some(0) && other.nans != Some(0) {
            return true;
        }
        match (&self.bounds, &other.bounds) {
            (Some((low, high)), Some((other_low, other_high))) => {
                is_ordered(low, other_high) && is_ordered(other_low, high)
            }
            _ => true,
        }
    }

    fn is_only_null(&self) -> bool {
        self.rows.is_some() && self.rows == self.nulls
    }
}

/// Returns whether a row of one file may have the same key as a row of the other, which requires all key columns to
/// overlap.
pub fn may_share_key(ranges: &[KeyRange], others: &[KeyRange]) -> bool {
    let same = |range: &KeyRange| others.iter().find(|other| other.id == range.id);
    ranges.iter().all(|range| same(range).is_none_or(|other| range.may_meet(other)))
}

fn is_ordered(low: &Scalar, high: &Scalar) -> bool {
    low.compare(high) != Some(Ordering::Greater)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(rows: i64, nulls: i64, bounds: Option<(i64, i64)>) -> KeyRange {
        let bounds = bounds.map(|(low, high)| (Scalar::Int64(low), Scalar::Int64(high)));
        KeyRange { id: 1, is_float: false, rows: Some(rows), nulls: Some(nulls), nans: None, bounds }
    }

    #[test]
    fn keys_meet_where_their_ranges_or_their_nulls_do() {
        let data = range(10, 0, Some((5, 9)));
        for (deletes, expected) in [
            (range(1, 0, Some((9, 12))), true),
            (range(1, 0, Some((10, 12))), false),
            (range(1, 0, Some((0, 4))), false),
            (range(1, 0, None), true),
            (range(2, 2, None), false),
            (range(2, 1, Some((10, 12))), false),
        ] {
            assert_eq!(may_share_key(std::slice::from_ref(&data), std::slice::from_ref(&deletes)), expected);
            assert_eq!(may_share_key(std::slice::from_ref(&deletes), std::slice::from_ref(&data)), expected);
        }
        let some_null = range(10, 1, Some((5, 9)));
        assert!(may_share_key(&[some_null], &[range(2, 2, None)]));
        assert!(may_share_key(&[KeyRange { id: 2, ..data.clone() }], &[range(1, 0, Some((50, 60)))]));
    }

    #[test]
    fn nans_meet_nans_wherever_the_bounds_lie() {
        let float = |nans, low: f64, high: f64| KeyRange {
            is_float: true,
            nans,
            bounds: Some((Scalar::Float64(low), Scalar::Float64(high))),
            ..range(3, 0, None)
        };
        assert!(may_share_key(&[float(None, 1.0, 2.0)], &[float(Some(1), 5.0, 6.0)]));
        assert!(!may_share_key(&[float(Some(0), 1.0, 2.0)], &[float(Some(1), 5.0, 6.0)]));
    }
}

//! Provides statistics of Iceberg metadata to the pruning evaluator: partition summaries of manifests, and counts and
//! bounds of entries. Pruning never changes the resulting rows: statistics that cannot be decoded count as unknown.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampNanosecondType};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Int64Array, TimestampNanosecondArray};
use arrow_select::nullif::nullif;
use frazil_core::error::Result;
use frazil_core::prune::{Bounds, ColumnStats};
use frazil_core::sql::predicate::BoundColumn;

use crate::spec::manifest::{EntryStatistics, ManifestEntries};
use crate::spec::manifest_list::{FieldSummary, ManifestFile};
use crate::spec::single_value;
use crate::spec::types::{PrimitiveType, StructType, Type};

/// The partition summaries of manifests with one spec.
#[derive(Debug)]
pub struct ManifestSummaries<'a> {
    manifests: &'a [&'a ManifestFile],
    fields: &'a StructType,
}

impl<'a> ManifestSummaries<'a> {
    /// Creates the summaries; `fields` is the partition type of the spec that all `manifests` have.
    pub fn new(manifests: &'a [&'a ManifestFile], fields: &'a StructType) -> Self {
        Self { manifests, fields }
    }

    fn summaries(&self, position: usize) -> impl Iterator<Item = Option<&'a FieldSummary>> {
        let manifests = self.manifests;
        manifests.iter().map(move |manifest| manifest.partitions.as_ref().and_then(|fields| fields.get(position)))
    }
}

impl ColumnStats for ManifestSummaries<'_> {
    fn len(&self) -> usize {
        self.manifests.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let Some(position) = self.fields.fields.iter().position(|field| field.id == column.id) else { return Ok(None) };
        let Some(Type::Primitive(data_type)) = self.fields.fields.get(position).map(|field| &field.field_type) else {
            return Ok(None);
        };
        // The summary only records whether any values are NULL or NaN, not how many.
        let none = |some: Option<bool>| (some == Some(false)).then_some(0_i64);
        let lower = self.summaries(position).map(|s| s.and_then(|s| s.lower_bound.as_deref()));
        let upper = self.summaries(position).map(|s| s.and_then(|s| s.upper_bound.as_deref()));
        Ok(Some(Bounds {
            row_count: None,
            null_count: Some(self.summaries(position).map(|s| none(s.map(|s| s.contains_null))).collect()),
            nan_count: Some(self.summaries(position).map(|s| none(s.and_then(|s| s.contains_nan))).collect()),
            lower: bound_values(data_type, lower),
            upper: bound_values(data_type, upper),
            exact: false,
        }))
    }
}

fn bound_values<'b>(data_type: &PrimitiveType, bounds: impl Iterator<Item = Option<&'b [u8]>>) -> Option<ArrayRef> {
    let mut builder = BinaryBuilder::new();
    bounds.for_each(|bound| builder.append_option(bound));
    single_value::decode_column(data_type, &builder.finish())
}

/// The counts and bounds of manifest entries. `types` returns the type of a column by its id.
pub struct EntryStats<'a> {
    entries: &'a ManifestEntries,
    types: &'a dyn Fn(i32) -> Option<PrimitiveType>,
}

impl<'a> EntryStats<'a> {
    /// Creates the statistics of `entries`, which were read with the columns that will be requested.
    pub fn new(entries: &'a ManifestEntries, types: &'a dyn Fn(i32) -> Option<PrimitiveType>) -> Self {
        Self { entries, types }
    }
}

impl ColumnStats for EntryStats<'_> {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let Some(data_type) = (self.types)(column.id) else { return Ok(None) };
        let statistics = self.entries.statistics(column.id)?.unwrap_or_default();
        let values = |bounds: &Option<BinaryArray>| single_value::decode_column(&data_type, bounds.as_ref()?);
        let (lower, upper) = (values(&statistics.lower_bounds), values(&statistics.upper_bounds));
        let nanoseconds = matches!(data_type, PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs);
        let (lower, upper) = if nanoseconds {
            let orc = self.entries.is_format("ORC")?;
            (orc_nanoseconds(lower, &orc, false), orc_nanoseconds(upper, &orc, true))
        } else {
            (lower, upper)
        };
        Ok(Some(Bounds {
            row_count: Some(self.entries.record_counts()?.clone()),
            null_count: null_counts(self.entries.record_counts()?, &statistics),
            nan_count: statistics.nan_counts,
            lower,
            upper,
            // A truncated upper bound is incremented, so equal bounds are never truncated.
            exact: true,
        }))
    }
}

/// The counts and bounds of delete entries in their key columns. Other columns of an equality delete file have no
/// bearing on the rows that it deletes.
pub struct KeyColumns<'a> {
    statistics: EntryStats<'a>,
}

impl<'a> KeyColumns<'a> {
    /// Creates the statistics of `entries`, which were read with their key columns.
    pub fn new(entries: &'a ManifestEntries, types: &'a dyn Fn(i32) -> Option<PrimitiveType>) -> Self {
        Self { statistics: EntryStats::new(entries, types) }
    }

    /// Returns the entries whose equality ids do not include the column `id`.
    fn strangers(&self, id: i32) -> Result<BooleanArray> {
        let holds = |list: ArrayRef| list.as_primitive_opt::<Int32Type>().is_some_and(|ids| ids.values().contains(&id));
        match self.statistics.entries.equality_ids()? {
            Some(lists) => Ok(lists.iter().map(|list| Some(!list.is_some_and(holds))).collect()),
            None => Ok(vec![true; self.len()].into()),
        }
    }
}

impl ColumnStats for KeyColumns<'_> {
    fn len(&self) -> usize {
        self.statistics.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let Some(bounds) = self.statistics.bounds(column)? else { return Ok(None) };
        let strangers = self.strangers(column.id)?;
        let count = |counts: Option<Int64Array>| -> Result<_> {
            let counts = counts.map(|counts| nullif(&counts, &strangers)).transpose()?;
            Ok(counts.map(|counts| counts.as_primitive().clone()))
        };
        let bound = |values: Option<ArrayRef>| -> Result<_> {
            Ok(values.map(|values| nullif(&values, &strangers)).transpose()?)
        };
        Ok(Some(Bounds {
            row_count: bounds.row_count,
            null_count: count(bounds.null_count)?,
            nan_count: count(bounds.nan_count)?,
            lower: bound(bounds.lower)?,
            upper: bound(bounds.upper)?,
            exact: bounds.exact,
        }))
    }
}

/// Returns the number of rows without a value. Rows whose struct is NULL are not included in the value counts.
/// Inconsistent counts are treated as unknown.
fn null_counts(rows: &Int64Array, statistics: &EntryStatistics) -> Option<Int64Array> {
    let nulls = statistics.null_counts.as_ref()?;
    let count = |rows: i64, values: i64, nulls: i64| {
        (0 <= nulls && nulls <= values && values <= rows).then(|| rows - values + nulls)
    };
    let Some(values) = &statistics.value_counts else {
        return Some(rows.iter().zip(nulls).map(|(rows, nulls)| count(rows?, rows?, nulls?)).collect());
    };
    let counts = rows.iter().zip(values).zip(nulls);
    Some(counts.map(|((rows, values), nulls)| count(rows?, values.or(rows)?, nulls?)).collect())
}

/// Widens bounds of ORC files so that they hold in nanoseconds, which the spec requires, and in microseconds, which
/// Java writes. The unit is not recorded. A bound that would overflow when scaled to nanoseconds is in nanoseconds
/// already.
fn orc_nanoseconds(bounds: Option<ArrayRef>, orc: &BooleanArray, upper: bool) -> Option<ArrayRef> {
    let bounds = bounds?;
    let values = bounds.as_primitive_opt::<TimestampNanosecondType>()?;
    let widen = |(value, orc): (Option<i64>, Option<bool>)| {
        let value = value?;
        let scaled = value.checked_mul(1000).filter(|_| orc == Some(true));
        Some(match scaled {
            Some(scaled) if upper => value.max(scaled.saturating_add(999)),
            Some(scaled) => value.min(scaled),
            None => value,
        })
    };
    let widened: TimestampNanosecondArray = values.iter().zip(orc).map(widen).collect();
    Some(Arc::new(widened.with_data_type(bounds.data_type().clone())))
}

//! What the entries of a manifest hold, in typed columns: all that is needed to show that none of them matches. It
//! outlives the plan that decoded it (see [`frazil_core::cache`]).

use std::sync::Arc;

use arrow_array::{Array, Int64Array};
use frazil_core::error::Result;
use frazil_core::predicate::{BoundColumn, BoundPredicate};
use frazil_core::prune::{Bounds, ColumnStats};

use super::partition::PartitionTuples;
use super::prune::EntryStats;
use crate::spec::manifest::ManifestEntries;
use crate::spec::types::{PrimitiveType, StructType};

/// The type of a column by its id.
pub type Types<'a> = &'a dyn Fn(i32) -> Option<PrimitiveType>;

/// Partition tuples of all live entries of a manifest, and counts and bounds of some columns.
#[derive(Debug, Clone)]
pub struct ManifestStatistics {
    tuples: PartitionTuples,
    record_counts: Int64Array,
    columns: Vec<ColumnBounds>,
}

#[derive(Debug, Clone)]
struct ColumnBounds {
    id: i32,
    /// As the scan that decoded them sees the column; another may see it promoted.
    data_type: Option<PrimitiveType>,
    bounds: Option<Bounds>,
}

impl ManifestStatistics {
    /// The statistics of `entries`, which were read with the columns of `filter`.
    pub fn try_new(
        entries: &ManifestEntries,
        fields: &Arc<StructType>,
        filter: &BoundPredicate,
        types: Types<'_>,
    ) -> Result<Self> {
        let stats = EntryStats::new(entries, types);
        let bounds = |column: &BoundColumn| -> Result<ColumnBounds> {
            Ok(ColumnBounds { id: column.id, data_type: types(column.id), bounds: stats.bounds(column)? })
        };
        Ok(Self {
            tuples: PartitionTuples::try_new(entries.partitions()?, fields, entries.len())?,
            record_counts: entries.record_counts()?.clone(),
            columns: filter.columns().into_iter().map(bounds).collect::<Result<_>>()?,
        })
    }

    /// Whether all that `filter` looks at is here, as it is to be seen.
    pub fn covers(&self, fields: &Arc<StructType>, filter: &BoundPredicate, types: Types<'_>) -> bool {
        let has = |column: &BoundColumn| self.column(column.id).is_some_and(|c| c.data_type == types(column.id));
        self.tuples.fields() == fields && filter.columns().into_iter().all(has)
    }

    /// These and the columns that only `older` has.
    #[must_use]
    pub fn with_columns_of(mut self, older: &Self) -> Self {
        if older.len() == self.len() {
            let unknown = |column: &&ColumnBounds| self.column(column.id).is_none();
            let older: Vec<ColumnBounds> = older.columns.iter().filter(unknown).cloned().collect();
            self.columns.extend(older);
        }
        self
    }

    /// The partition tuples.
    pub fn tuples(&self) -> &PartitionTuples {
        &self.tuples
    }

    /// The memory that the columns hold.
    pub fn size_bytes(&self) -> usize {
        // Every column shares the counts of rows.
        let bounds = self.columns.iter().filter_map(|column| column.bounds.as_ref()).map(|bounds| {
            let counts = [&bounds.null_count, &bounds.nan_count].into_iter().flatten();
            let values = [&bounds.lower, &bounds.upper].into_iter().flatten();
            counts.map(Array::get_array_memory_size).sum::<usize>()
                + values.map(Array::get_array_memory_size).sum::<usize>()
        });
        let tuples = self.tuples.columns().iter().map(Array::get_array_memory_size);
        size_of::<Self>() + self.record_counts.get_array_memory_size() + bounds.sum::<usize>() + tuples.sum::<usize>()
    }

    fn column(&self, id: i32) -> Option<&ColumnBounds> {
        self.columns.iter().find(|column| column.id == id)
    }
}

impl ColumnStats for ManifestStatistics {
    fn len(&self) -> usize {
        self.record_counts.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        Ok(self.column(column.id).and_then(|column| column.bounds.clone()))
    }
}

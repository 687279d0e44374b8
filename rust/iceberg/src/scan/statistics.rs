//! The contents of manifest entries in typed columns: enough to decide that no entry matches a filter. The columns
//! outlive the plan that decoded them (see [`frazil_core::cache`]).

use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, Int64Array, UInt32Array};
use frazil_core::error::Result;
use frazil_core::prune::{Bounds, ColumnStats};
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate};

use super::partition::PartitionTuples;
use super::prune::EntryStats;
use crate::spec::manifest::ManifestEntries;
use crate::spec::types::{PrimitiveType, StructType};

/// A function that returns the type of a column by its id.
pub type Types<'a> = &'a dyn Fn(i32) -> Option<PrimitiveType>;

/// The partition tuples of all live entries of a manifest, and the counts and bounds of some columns.
#[derive(Debug, Clone)]
pub struct ManifestStatistics {
    tuples: PartitionTuples,
    record_counts: PackedCounts,
    columns: Vec<ColumnBounds>,
}

#[derive(Debug, Clone)]
struct ColumnBounds {
    id: i32,
    /// The type of the column in the scan that decoded the bounds; a later scan may see it promoted.
    data_type: Option<PrimitiveType>,
    kept: Option<KeptBounds>,
}

/// The fields of [`Bounds`] except the row counts, which all columns share.
#[derive(Debug, Clone)]
struct KeptBounds {
    null_count: Option<PackedCounts>,
    nan_count: Option<PackedCounts>,
    lower: Option<ArrayRef>,
    upper: Option<ArrayRef>,
    exact: bool,
}

/// Counts, stored once if they are all equal, and in four bytes each if they fit.
#[derive(Debug, Clone)]
enum PackedCounts {
    Same { count: i64, len: usize },
    Narrow(UInt32Array),
    Wide(Int64Array),
}

impl ManifestStatistics {
    /// Creates the statistics of `entries`, which were read with the columns of `filter`.
    pub fn try_new(
        entries: &ManifestEntries,
        fields: &Arc<StructType>,
        filter: &BoundPredicate,
        types: Types<'_>,
    ) -> Result<Self> {
        let stats = EntryStats::new(entries, types);
        let bounds = |column: &BoundColumn| -> Result<ColumnBounds> {
            let kept = stats.bounds(column)?.map(KeptBounds::from);
            Ok(ColumnBounds { id: column.id, data_type: types(column.id), kept })
        };
        Ok(Self {
            tuples: PartitionTuples::try_new(entries.partitions()?, fields, entries.len())?,
            record_counts: PackedCounts::from(entries.record_counts()?.clone()),
            columns: filter.columns().into_iter().map(bounds).collect::<Result<_>>()?,
        })
    }

    /// Returns whether the statistics include all columns of `filter`, with the types in this scan.
    pub fn covers(&self, fields: &Arc<StructType>, filter: &BoundPredicate, types: Types<'_>) -> bool {
        let has = |column: &BoundColumn| self.column(column.id).is_some_and(|c| c.data_type == types(column.id));
        self.tuples.fields() == fields && filter.columns().into_iter().all(has)
    }

    /// Returns these statistics with the additional columns of `older`.
    #[must_use]
    pub fn with_columns_of(mut self, older: &Self) -> Self {
        if older.len() == self.len() {
            let unknown = |column: &&ColumnBounds| self.column(column.id).is_none();
            let older: Vec<ColumnBounds> = older.columns.iter().filter(unknown).cloned().collect();
            self.columns.extend(older);
        }
        self
    }

    /// Returns the partition tuples.
    pub fn tuples(&self) -> &PartitionTuples {
        &self.tuples
    }

    /// Returns the memory size of the columns in bytes.
    pub fn size_bytes(&self) -> usize {
        let bounds = self.columns.iter().filter_map(|column| column.kept.as_ref()).map(KeptBounds::size_bytes);
        let tuples = self.tuples.columns().iter().map(Array::get_array_memory_size);
        size_of::<Self>() + self.record_counts.size_bytes() + bounds.sum::<usize>() + tuples.sum::<usize>()
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
        let kept = self.column(column.id).and_then(|column| column.kept.as_ref());
        Ok(kept.map(|kept| kept.with_rows(&self.record_counts)))
    }
}

impl KeptBounds {
    fn with_rows(&self, rows: &PackedCounts) -> Bounds {
        Bounds {
            row_count: Some(rows.wide()),
            null_count: self.null_count.as_ref().map(PackedCounts::wide),
            nan_count: self.nan_count.as_ref().map(PackedCounts::wide),
            lower: self.lower.clone(),
            upper: self.upper.clone(),
            exact: self.exact,
        }
    }

    fn size_bytes(&self) -> usize {
        let counts = [&self.null_count, &self.nan_count].into_iter().flatten().map(PackedCounts::size_bytes);
        let values = [&self.lower, &self.upper].into_iter().flatten().map(Array::get_array_memory_size);
        counts.sum::<usize>() + values.sum::<usize>()
    }
}

impl From<Bounds> for KeptBounds {
    fn from(bounds: Bounds) -> Self {
        Self {
            null_count: bounds.null_count.map(PackedCounts::from),
            nan_count: bounds.nan_count.map(PackedCounts::from),
            lower: bounds.lower,
            upper: bounds.upper,
            exact: bounds.exact,
        }
    }
}

impl PackedCounts {
    fn len(&self) -> usize {
        match self {
            Self::Same { len, .. } => *len,
            Self::Narrow(counts) => counts.len(),
            Self::Wide(counts) => counts.len(),
        }
    }

    fn wide(&self) -> Int64Array {
        match self {
            Self::Same { count, len } => Int64Array::from_value(*count, *len),
            Self::Narrow(counts) => counts.unary::<_, Int64Type>(i64::from),
            Self::Wide(counts) => counts.clone(),
        }
    }

    fn size_bytes(&self) -> usize {
        match self {
            Self::Same { .. } => 0,
            Self::Narrow(counts) => counts.get_array_memory_size(),
            Self::Wide(counts) => counts.get_array_memory_size(),
        }
    }
}

impl From<Int64Array> for PackedCounts {
    fn from(counts: Int64Array) -> Self {
        if let Some((&count, rest)) = counts.values().split_first()
            && counts.null_count() == 0
            && rest.iter().all(|other| *other == count)
        {
            return Self::Same { count, len: counts.len() };
        }
        counts.try_unary::<_, UInt32Type, _>(u32::try_from).map_or(Self::Wide(counts), Self::Narrow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_given_as_they_were_taken() {
        let most = i64::from(u32::MAX);
        let same: fn(&PackedCounts) -> bool = |counts| matches!(counts, PackedCounts::Same { .. });
        let narrow: fn(&PackedCounts) -> bool = |counts| matches!(counts, PackedCounts::Narrow(_));
        let wide: fn(&PackedCounts) -> bool = |counts| matches!(counts, PackedCounts::Wide(_));
        for (counts, form) in [
            (vec![], narrow),
            (vec![Some(0), None, Some(most)], narrow),
            (vec![Some(0), None], narrow),
            (vec![None], narrow),
            (vec![Some(7), Some(8)], narrow),
            (vec![Some(7), Some(most + 1)], wide),
            (vec![Some(-1), None], wide),
            (vec![Some(-1)], same),
            (vec![Some(most + 1), Some(most + 1)], same),
        ] {
            let counts = Int64Array::from(counts);
            let kept = PackedCounts::from(counts.clone());
            assert_eq!(kept.wide(), counts);
            assert_eq!(kept.len(), counts.len());
            assert!(form(&kept), "{counts:?}");
        }
    }
}

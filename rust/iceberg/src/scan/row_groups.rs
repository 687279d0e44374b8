//! Provides statistics of Parquet row groups to the pruning evaluator.

use arrow_array::Int64Array;
use frazil_core::error::Result;
use frazil_core::prune::{Bounds, ColumnStats};
use frazil_core::sql::predicate::BoundColumn;

use crate::read::project::Projector;
use crate::read::statistics::bounds_array;
use crate::spec::types::PrimitiveType;

/// A row group as the footer of a data file describes it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowGroup {
    /// The number of rows.
    pub row_count: i64,
    /// The offset of its first page.
    pub offset: i64,
    /// The statistics of some of its leaf columns.
    pub columns: Vec<LeafStatistics>,
}

/// Statistics of one leaf column of a row group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeafStatistics {
    /// The leaf column, in the depth-first order of the file.
    pub leaf: usize,
    /// The Parquet physical type, `INT32` and so on.
    pub physical_type: String,
    /// A lower bound of all values, as Parquet stores it.
    pub min: Option<Vec<u8>>,
    /// An upper bound of all values, as Parquet stores it.
    pub max: Option<Vec<u8>>,
    /// The number of NULL values.
    pub null_count: Option<i64>,
}

/// The statistics of the row groups of a file, by field id.
pub struct RowGroupStats<'a> {
    groups: &'a [RowGroup],
    projector: &'a Projector,
    types: &'a dyn Fn(i32) -> Option<PrimitiveType>,
}

impl<'a> RowGroupStats<'a> {
    /// Creates the statistics; `projector` maps columns to leaves, and `types` returns the type of a column in the
    /// table.
    pub fn new(
        groups: &'a [RowGroup],
        projector: &'a Projector,
        types: &'a dyn Fn(i32) -> Option<PrimitiveType>,
    ) -> Self {
        Self { groups, projector, types }
    }
}

impl ColumnStats for RowGroupStats<'_> {
    fn len(&self) -> usize {
        self.groups.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let (Some(leaf), Some(data_type)) = (self.projector.file_leaf_of(column.id), (self.types)(column.id)) else {
            return Ok(None);
        };
        let Some(file_type) = self.projector.file_type_of(column.id) else { return Ok(None) };
        let columns: Vec<Option<&LeafStatistics>> =
            self.groups.iter().map(|group| group.columns.iter().find(|column| column.leaf == leaf)).collect();
        let Some(physical) = columns.iter().flatten().map(|column| &*column.physical_type).next() else {
            return Ok(None);
        };
        let decode = |value: fn(&LeafStatistics) -> Option<&[u8]>| {
            let values: Vec<Option<&[u8]>> = columns.iter().map(|column| column.and_then(value)).collect();
            bounds_array(&data_type, file_type, physical, &values)
        };
        Ok(Some(Bounds {
            row_count: Some(Int64Array::from_iter_values(self.groups.iter().map(|group| group.row_count))),
            null_count: Some(columns.iter().map(|column| column.and_then(|column| column.null_count)).collect()),
            nan_count: None,
            lower: decode(|column| column.min.as_deref()),
            upper: decode(|column| column.max.as_deref()),
            exact: false,
        }))
    }
}

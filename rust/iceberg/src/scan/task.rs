//! One data file of a scan with its deletes: the unit of work of one worker, in any process.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use frazil_core::bitmap::Positions;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::scalar::Scalar;
use frazil_core::sql::predicate::BoundPredicate;

use super::context::{PartitionContext, ReadContext};
use super::delete_index::DeleteFile;
use super::partition::PartitionTuples;
use crate::read::FileFormat;
use crate::spec::manifest::ManifestEntries;
use crate::spec::transform::Transform;
use crate::spec::types::{PrimitiveType, Type};
use crate::transform::project;

/// A data file as listed in a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFile {
    /// The location, as recorded.
    pub path: Arc<str>,
    /// The format.
    pub format: FileFormat,
    /// The partition spec.
    pub spec_id: i32,
    /// The partition tuple: field ids and values, with None for NULL.
    pub partition: Vec<(i32, Option<Scalar>)>,
    /// The number of rows.
    pub record_count: i64,
    /// The length in bytes, as recorded.
    pub size_bytes: i64,
    /// The data sequence number.
    pub sequence_number: i64,
    /// The id of the first row; None without row lineage.
    pub first_row_id: Option<i64>,
    /// The offsets at which the file can be split, in ascending order; empty if unknown.
    pub split_offsets: Vec<i64>,
}

impl DataFile {
    /// Returns the highest of the positions if it is beyond the end of the file; None otherwise.
    pub(crate) fn beyond(&self, positions: &Positions) -> Option<u64> {
        positions.max().filter(|highest| *highest >= u64::try_from(self.record_count).unwrap_or(0))
    }
}

/// A data file to read, or a part of one.
#[derive(Debug, Clone)]
pub struct FileScanTask {
    /// The state that all tasks of the scan share.
    pub read: Arc<ReadContext>,
    /// The data file.
    pub file: DataFile,
    /// Its delete files.
    pub deletes: Vec<DeleteFile>,
    /// The byte range of the file to read: row groups and blocks that begin in `start..end`. None for the whole file.
    pub range: Option<(i64, i64)>,
}

impl FileScanTask {
    pub(crate) fn from_entry(
        read: Arc<ReadContext>,
        entries: &ManifestEntries,
        tuples: &PartitionTuples,
        spec_id: i32,
        row: usize,
        deletes: Vec<DeleteFile>,
    ) -> Result<Self> {
        let path: Arc<str> = entries.paths()?.value(row).into();
        let named = |e: Error| e.corrupt_as(ErrorKind::CorruptManifest).with("file", &path);
        let format = FileFormat::parse(entries.formats()?.value(row)).map_err(named)?;
        let first_row_ids = entries.first_row_ids()?.filter(|ids| ids.is_valid(row));
        let file = DataFile {
            format,
            spec_id,
            partition: tuple(tuples, row).map_err(named)?,
            record_count: entries.record_counts()?.value(row),
            size_bytes: entries.file_sizes()?.value(row),
            sequence_number: entries.sequence_numbers()?.value(row),
            first_row_id: first_row_ids.map(|ids| ids.value(row)),
            split_offsets: split_offsets(entries, row)?,
            path,
        };
        Ok(Self { read, file, deletes, range: None })
    }

    /// Returns the partition spec of the file.
    pub fn partition(&self) -> Result<Arc<PartitionContext>> {
        self.read.partition(self.file.spec_id)
    }

    /// Returns the residual filter for rows of this file, after the parts that its partition tuple decides are folded
    /// away.
    pub fn residual(&self) -> Result<BoundPredicate> {
        let partition = self.partition()?;
        let values: HashMap<i32, &Option<Scalar>> = self.file.partition.iter().map(|(id, v)| (*id, v)).collect();
        let tuple = |id: i32| values.get(&id).map(|value| (*value).clone());
        Ok(project::residual(&self.read.filter, &partition.spec, &self.read.types(), &tuple))
    }

    /// Returns the values of identity-partitioned columns by field id, for columns that the file lacks.
    pub fn constants(&self) -> Result<HashMap<i32, Option<Scalar>>> {
        let partition = self.partition()?;
        let mut constants = HashMap::new();
        for field in partition.spec.fields.iter().filter(|field| field.transform == Transform::Identity) {
            let value = self.file.partition.iter().find(|(id, _)| *id == field.field_id);
            if let (Some(&source), Some((_, value))) = (field.source_ids.first(), value) {
                constants.insert(source, value.clone());
            }
        }
        Ok(constants)
    }

    /// Splits this task into parts of about `target_bytes`, at the split offsets of the file. Returns the task
    /// unchanged if the file cannot be split or is small.
    pub fn split(self, target_bytes: i64) -> Vec<Self> {
        let offsets = &self.file.split_offsets;
        let ascending = offsets.array_windows().all(|[a, b]| a < b);
        let inside = offsets.iter().all(|&offset| (0..self.file.size_bytes).contains(&offset));
        if self.file.format != FileFormat::Parquet || target_bytes <= 0 || !ascending || !inside || offsets.len() < 2 {
            return vec![self];
        }
        let mut parts = Vec::new();
        let mut start = 0;
        for &offset in offsets.iter().skip(1) {
            if offset - start >= target_bytes {
                parts.push((start, offset));
                start = offset;
            }
        }
        parts.push((start, i64::MAX));
        if parts.len() == 1 {
            return vec![self];
        }
        parts.into_iter().map(|range| Self { range: Some(range), ..self.clone() }).collect()
    }

    /// Returns the maximum number of bytes that a reader of this task fetches, including deletes.
    pub fn size_bytes(&self) -> i64 {
        let (start, end) = self.range.unwrap_or((0, self.file.size_bytes));
        let own = end.min(self.file.size_bytes).saturating_sub(start).max(0);
        let deletes = self.deletes.iter().map(|file| file.content_range.map_or(file.size_bytes, |(_, size)| size));
        deletes.fold(own, i64::saturating_add)
    }
}

fn tuple(tuples: &PartitionTuples, row: usize) -> Result<Vec<(i32, Option<Scalar>)>> {
    let value = |(field, column): (&crate::spec::types::NestedField, &arrow_array::ArrayRef)| {
        let scalar = match &field.field_type {
            Type::Primitive(primitive) => primitive.scalar(),
            Type::Struct(_) | Type::List(_) | Type::Map(_) => None,
        };
        let value = match scalar {
            Some(data_type) if column.is_valid(row) => Scalar::from_array(column, row, data_type)?,
            _ => None,
        };
        Ok((field.id, value))
    };
    tuples.fields().fields.iter().zip(tuples.columns()).map(value).collect()
}

fn split_offsets(entries: &ManifestEntries, row: usize) -> Result<Vec<i64>> {
    let Some(list) = entries.split_offsets()?.filter(|list| list.is_valid(row)) else { return Ok(Vec::new()) };
    let values = list.value(row);
    let values =
        values.as_primitive_opt::<Int64Type>().ok_or_else(|| Error::internal("split offsets are not longs"))?;
    Ok(values.iter().flatten().collect())
}

/// Returns the type of a partition value, from the partition type of its spec.
pub(crate) fn partition_value_type(partition: &PartitionContext, field_id: i32) -> Option<PrimitiveType> {
    let field = partition.fields.fields.iter().find(|field| field.id == field_id)?;
    match &field.field_type {
        Type::Primitive(primitive) => Some(primitive.clone()),
        Type::Struct(_) | Type::List(_) | Type::Map(_) => None,
    }
}

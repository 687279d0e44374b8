//! Provides the partition and value statistics of manifests to the pruning evaluator (spec: "Manifest",
//! `_PARTITION_STATS`, `_KEY_STATS`, `_VALUE_STATS`). Pruning never changes the result: statistics that cannot be
//! decoded or mapped are treated as unknown.
//!
//! Statistics are rows of the schema that a file was written with. A table column is found in it by field id; files
//! without the column have NULLs. If the type has changed, bounds are kept only if the cast preserves the order of
//! values, see `widening.rs`. Integers that became strings can also be tested as numbers (see `printed.rs`).

use std::cell::RefCell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Float64Array, Int64Array, ListArray, UInt32Array, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::cast;
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use bytes::Bytes;
use frazil_core::error::{Error, Result};
use frazil_core::prune::{Bounds, ColumnStats, prune};
use frazil_core::scalar::ScalarType;
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate};
use hashbrown::HashMap;

use super::altered_bounds::{End, trusted, within_day};
use super::layout::{FileLayout, Layouts, Place};
use super::partitions::Partitions;
use super::printed::{is_printed, with_numbers};
use super::replaced::{WithReplaced, where_replaced};
use super::widening::Widening;
use crate::binary_row;
use crate::context::ReadContext;
use crate::context::altered_columns::is_altered;
use crate::context::file_format::FileFormat;
use crate::file_index::{FileIndex, IndexSelection, IndexedColumn};
use crate::spec::manifest::ManifestEntries;
use crate::spec::manifest_list::ManifestFileMeta;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataType, TypeRoot, comparable};

/// Returns the part of a filter that depends only on the columns `ids`. Tests of other columns are replaced by true.
pub fn part_of(filter: &BoundPredicate, ids: &[i32]) -> BoundPredicate {
    match filter {
        BoundPredicate::And(parts) => BoundPredicate::and(parts.iter().map(|part| part_of(part, ids))),
        BoundPredicate::Or(parts) => BoundPredicate::or(parts.iter().map(|part| part_of(part, ids))),
        BoundPredicate::Leaf(column, _) if !ids.contains(&column.id) => BoundPredicate::True,
        BoundPredicate::Condition(_) => BoundPredicate::True,
        other => other.clone(),
    }
}

/// The partition statistics of manifests.
#[derive(Debug)]
pub struct ManifestStats<'a> {
    manifests: &'a [ManifestFileMeta],
    read: &'a ReadContext,
}

impl<'a> ManifestStats<'a> {
    /// Creates the statistics of these manifests.
    pub fn new(manifests: &'a [ManifestFileMeta], read: &'a ReadContext) -> Self {
        Self { manifests, read }
    }
}

impl ColumnStats for ManifestStats<'_> {
    fn len(&self) -> usize {
        self.manifests.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let fields = self.read.partition_fields();
        let Some(position) = fields.iter().position(|field| field.id == column.id) else { return Ok(None) };
        let types = self.read.partition_types();
        let rows =
            |pick: fn(&ManifestFileMeta) -> &Vec<u8>| BinaryArray::from_iter_values(self.manifests.iter().map(pick));
        let decode = |rows: &BinaryArray| decoded(rows, &types, position);
        // Null counts are used only if they are 0.
        let none = |manifest: &ManifestFileMeta| {
            let counts = manifest.partition_stats.null_counts.as_ref()?;
            counts.get(position).copied().flatten().filter(|count| *count == 0)
        };
        Ok(Some(Bounds {
            row_count: None,
            null_count: Some(self.manifests.iter().map(none).collect()),
            nan_count: None,
            lower: decode(&rows(|manifest| &manifest.partition_stats.min)),
            upper: decode(&rows(|manifest| &manifest.partition_stats.max)),
            exact: true,
        }))
    }
}

/// Returns which items may hold matching rows.
///
/// NaNs are not counted, and not every writer includes them in bounds. A float column may therefore contain NaN in any
/// file. Separate tests would keep too many files: `d > 5` is true for NaN, and `d < 6` is true for smaller values.
/// Instead, the filter is evaluated for rows without NaN, and for each column for rows with NaN in that column.
fn may_match(filter: &BoundPredicate, stats: &dyn ColumnStats) -> Result<BooleanBuffer> {
    let columns = filter.columns().into_iter();
    let floats: Vec<&BoundColumn> = columns.filter(|column| column.data_type.is_float()).collect();
    if floats.is_empty() {
        return Ok(prune(filter, stats)?.may);
    }
    let mut may = prune(filter, &WithoutNans(stats))?.may;
    for column in floats {
        let counted = stats.bounds(column)?.is_some_and(|bounds| bounds.nan_count.is_some());
        match if counted { filter.clone() } else { where_nan(filter, column)? } {
            BoundPredicate::False => {}
            filter => may = &may | &prune(&filter, stats)?.may,
        }
    }
    Ok(may)
}

/// Returns the filter that remains for rows with NaN in `column`, where tests of that column are replaced by their
/// results.
fn where_nan(filter: &BoundPredicate, column: &BoundColumn) -> Result<BoundPredicate> {
    let each = |parts: &[BoundPredicate]| parts.iter().map(|part| where_nan(part, column)).collect::<Result<Vec<_>>>();
    Ok(match filter {
        BoundPredicate::And(parts) => BoundPredicate::and(each(parts)?),
        BoundPredicate::Or(parts) => BoundPredicate::or(each(parts)?),
        BoundPredicate::Leaf(tested, _) if tested.id == column.id => {
            let nan: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
            let nan = Nan(Bounds::constant(&cast(&nan, &column.data_type.arrow())?));
            if prune(filter, &nan)?.may.value(0) { BoundPredicate::True } else { BoundPredicate::False }
        }
        other => other.clone(),
    })
}

/// The statistics of one item with a single row, NaN.
struct Nan(Bounds);

impl ColumnStats for Nan {
    fn len(&self) -> usize {
        1
    }

    fn bounds(&self, _: &BoundColumn) -> Result<Option<Bounds>> {
        Ok(Some(self.0.clone()))
    }
}

/// The statistics of rows without NaN in any column whose NaNs are not counted.
struct WithoutNans<'a>(&'a dyn ColumnStats);

impl ColumnStats for WithoutNans<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let none = || Int64Array::from_value(0, self.len());
        let bounds = self.0.bounds(column)?;
        Ok(bounds.map(|bounds| Bounds { nan_count: bounds.nan_count.or_else(|| Some(none())), ..bounds }))
    }
}

/// The verdict for each entry.
#[derive(Debug)]
pub struct FileVerdicts {
    /// Whether the bucket may hold keys of matching rows.
    pub buckets: BooleanBuffer,
    /// Whether the keys may be those of matching rows.
    pub keys: BooleanBuffer,
    /// Whether the rows may match before merging.
    pub rows: BooleanBuffer,
}

/// Returns whether a file may have matching rows according to the index in its manifest. An index that does not decode
/// allows all rows.
///
/// # Errors
/// `CorruptManifest` for a schema that is not in the table.
pub fn may_match_index(read: &ReadContext, entries: &ManifestEntries, file: usize) -> Result<bool> {
    if entries.embedded_indexes().is_null(file) {
        return Ok(true);
    }
    let schema = read.file_schema(entries.schema_ids().value(file))?;
    let file_name = entries.file_names().value(file);
    let column = |id: i32| {
        let of = |schema: &TableSchema| schema.fields.iter().find(|field| field.id == id).cloned();
        let (file, read) = of(schema).zip(of(&read.schema))?;
        if is_altered(file_name, schema.id, &file.data_type) {
            return None;
        }
        let is_replaced = schema.id > 0;
        Some(IndexedColumn { name: file.name, file_type: file.data_type, read_type: read.data_type, is_replaced })
    };
    let bytes = Bytes::copy_from_slice(entries.embedded_indexes().value(file));
    let rows = usize::try_from(entries.row_counts().value(file)).unwrap_or(usize::MAX);
    let selection = FileIndex::parse(bytes).map(|index| index.evaluate(&read.filter, rows, &column));
    Ok(!matches!(selection, Ok(IndexSelection::Skip)))
}

/// The statistics of entries: values of partition columns, key ranges of key columns, and the recorded statistics of
/// other columns.
#[derive(Debug)]
pub struct EntryStats<'a> {
    read: &'a ReadContext,
    entries: &'a ManifestEntries,
    partitions: &'a Partitions,
    layouts: Layouts,
    /// The cached bounds of requested columns, because a column may have several tests.
    known: RefCell<HashMap<(i32, bool), Option<Bounds>>>,
}

impl<'a> EntryStats<'a> {
    /// Creates the statistics of `entries`, whose partitions are `partitions`.
    ///
    /// # Errors
    /// `CorruptManifest` for a schema that is not in the table.
    pub fn try_new(read: &'a ReadContext, entries: &'a ManifestEntries, partitions: &'a Partitions) -> Result<Self> {
        let layouts = Layouts::try_new(read, entries)?;
        Ok(Self { read, entries, partitions, layouts, known: RefCell::default() })
    }

    /// Evaluates each entry by keys and values, regardless of its bucket.
    ///
    /// # Errors
    /// Only internal errors.
    pub fn judge(&self) -> Result<FileVerdicts> {
        let keys = self.read.key_fields().into_iter().chain(self.read.partition_fields());
        let keys: Vec<i32> = keys.map(|field| field.id).collect();
        let keys = may_match(&part_of(&self.read.filter, &keys), self)?;
        let rows = self.may_match(self)?;
        Ok(FileVerdicts { buckets: BooleanBuffer::new_set(keys.len()), rows: &rows & &keys, keys })
    }

    /// Returns which groups of files may hold matching rows. The files of a group hold columns of the same rows, newest
    /// first.
    ///
    /// # Errors
    /// Only internal errors.
    pub fn judge_groups(&self, groups: &[Vec<usize>]) -> Result<BooleanBuffer> {
        self.may_match(&GroupStats { files: self, groups })
    }

    /// Returns which items may hold matching rows by their values. Rows without U+FFFD in any string, and rows with it
    /// in some column, are evaluated separately.
    fn may_match(&self, stats: &dyn ColumnStats) -> Result<BooleanBuffer> {
        let filter = self.filter();
        let mut may = may_match(&filter, stats)?;
        if self.entries.schema_ids().values().iter().all(|id| *id == 0) {
            return Ok(may);
        }
        let mut columns = filter.columns();
        columns.retain(|column| column.data_type == ScalarType::String && !self.is_key(column.id));
        let ids: Vec<i32> = columns.iter().map(|column| column.id).collect();
        for column in columns {
            match where_replaced(&filter, column) {
                BoundPredicate::False => {}
                filter => may = &may | &may_match(&filter, &WithReplaced { stats, ids: &ids })?,
            }
        }
        Ok(may)
    }

    fn is_key(&self, id: i32) -> bool {
        let mut keys = self.read.key_fields().into_iter().chain(self.read.partition_fields());
        keys.any(|field| field.id == id)
    }

    /// Returns the filter with additional tests of numbers, for files in which a string column is still numeric.
    fn filter(&self) -> BoundPredicate {
        let was_number = |id: i32| {
            let field = self.read.schema.fields.iter().find(|field| field.id == id);
            let printed = |to: &DataType| {
                let mut places = self.layouts.all().iter().map(|layout| layout.place(id));
                places.any(|place| matches!(place, Place::At(_, from) if is_printed(&from.root, &to.root)))
            };
            field.is_some_and(|field| printed(&field.data_type)) && !self.is_key(id)
        };
        with_numbers(&self.read.filter, &was_number)
    }

    /// Returns the minimum of a column in each entry, or NULL if it is unknown.
    ///
    /// # Errors
    /// `CorruptManifest` for statistics that do not decode.
    pub fn least(&self, id: i32) -> Result<Option<ArrayRef>> {
        Ok(self.decoded_bounds(id, false)?.and_then(|bounds| bounds.lower))
    }

    fn decoded_bounds(&self, id: i32, number: bool) -> Result<Option<Bounds>> {
        if let Some(values) = self.partitions.entry_values(id)? {
            return Ok(Some(Bounds::constant(&values)));
        }
        match self.read.key_fields().iter().position(|field| field.id == id) {
            Some(position) => Ok(Some(self.key_bounds(position))),
            None => self.value_bounds(id, number),
        }
    }

    fn key_bounds(&self, position: usize) -> Bounds {
        let types = self.read.key_types();
        let stats = self.entries.key_stats();
        // The minimum and maximum keys are ordered by the first column first, so they bound only the first column.
        let (min, max) = match position {
            0 => (self.entries.min_keys(), self.entries.max_keys()),
            _ => (stats.min, stats.max),
        };
        let bound = |rows: &BinaryArray, end| {
            let values = decoded(rows, &types, position)?;
            Some(trusted(values, end, types.get(position)?, self.entries, 0..self.entries.len()))
        };
        Bounds {
            row_count: Some(self.entries.row_counts().clone()),
            null_count: Some(Int64Array::from_value(0, self.entries.len())),
            nan_count: None,
            lower: bound(min, End::Lower),
            upper: bound(max, End::Upper),
            exact: true,
        }
    }

    fn value_bounds(&self, id: i32, number: bool) -> Result<Option<Bounds>> {
        let Some(field) = self.read.schema.fields.iter().find(|field| field.id == id) else { return Ok(None) };
        let number = number && matches!(field.data_type.root, TypeRoot::VarChar(_));
        let to = if number { DataType::nullable(TypeRoot::BigInt) } else { field.data_type.clone() };
        let stats = self.entries.value_stats();
        let rows = self.entries.row_counts();
        let unknown = to.scalar().map_or(arrow_schema::DataType::Null, frazil_core::scalar::ScalarType::arrow);
        let unknown = new_null_array(&unknown, 1);
        let mut bounds = [vec![unknown.clone()], vec![unknown]];
        let mut places = vec![(0, 0); self.entries.len()];
        let mut null_counts = vec![None; self.entries.len()];
        for layout in self.layouts.all() {
            let (position, from) = match layout.place(id) {
                Place::Unknown => continue,
                Place::Absent => {
                    layout.rows().for_each(|row| set(&mut null_counts, row, Some(rows.value(row))));
                    continue;
                }
                Place::At(position, from) => (position, from),
            };
            if number && !is_printed(&from.root, &field.data_type.root) {
                continue;
            }
            let Some(widening) = Widening::new(from, &to) else { continue };
            let is_decimal = [from, &to].iter().any(|data_type| matches!(data_type.root, TypeRoot::Decimal(..)));
            for row in layout.rows() {
                // Statistics include decimals that exceed the precision, but such decimals are read as NULL.
                let format = FileFormat::of_file_name(self.entries.file_names().value(row));
                let uncounted = is_decimal && format == Some(FileFormat::Avro);
                let count = null_count(stats.null_counts, row, position).filter(|_| !uncounted);
                set(&mut null_counts, row, count);
            }
            let known = self.read_bounds(layout, position, from, &widening)?;
            if widening.makes_nulls() {
                let is_known = |i| known.iter().flatten().filter(|bounds| bounds.is_valid(i)).count() == 2;
                let unknown = layout.rows().enumerate().filter(|(i, _)| !is_known(*i));
                unknown.for_each(|(_, row)| set(&mut null_counts, row, None));
            }
            let Some([min, max]) = known else { continue };
            layout.rows().enumerate().for_each(|(i, row)| set(&mut places, row, (bounds[0].len(), i)));
            for (all, part) in bounds.iter_mut().zip([min, max]) {
                all.push(part);
            }
        }
        let [lower, upper] = bounds.map(|parts| {
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            interleave(&parts, &places)
        });
        Ok(Some(Bounds {
            row_count: Some(rows.clone()),
            null_count: Some(null_counts.into_iter().collect()),
            nan_count: None,
            lower: Some(lower?),
            upper: Some(upper?),
            // Equal bounds are exact: truncated bounds differ, because a truncated upper bound is incremented.
            exact: true,
        }))
    }

    /// Returns the bounds of the values that are read from a column, for files of one layout.
    fn read_bounds(
        &self,
        layout: &FileLayout,
        position: usize,
        from: &DataType,
        widening: &Widening,
    ) -> Result<Option<[ArrayRef; 2]>> {
        let (stats, types) = (self.entries.value_stats(), layout.types());
        let stored = |rows: &BinaryArray, end| {
            let values = decoded(&layout.select(rows)?, &types, position);
            Ok::<_, Error>(values.map(|values| trusted(values, end, from, self.entries, layout.rows())))
        };
        let (Some(min), Some(max)) = (stored(stats.min, End::Lower)?, stored(stats.max, End::Upper)?) else {
            return Ok(None);
        };
        let bounds = widening.apply(&[min, max]);
        Ok(if matches!(from.root, TypeRoot::Time(_)) { bounds.map(within_day) } else { bounds })
    }
}

impl ColumnStats for EntryStats<'_> {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let key = (column.id, column.data_type == ScalarType::Int64);
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let bounds = self.decoded_bounds(key.0, key.1)?;
        self.known.borrow_mut().insert(key, bounds.clone());
        Ok(bounds)
    }
}

/// The statistics of groups of files that hold columns of the same rows. Those of a column are from the newest file
/// that has it, if that file has all rows of the group.
struct GroupStats<'a> {
    files: &'a EntryStats<'a>,
    groups: &'a [Vec<usize>],
}

impl GroupStats<'_> {
    /// Returns the file whose statistics of a column apply to the group; `absent` marks the files without the column.
    fn file(&self, group: &[usize], absent: &[bool]) -> Option<u32> {
        let entries = self.files.entries;
        let range = |file: usize| {
            let first = entries.first_row_ids();
            let rows = entries.row_counts().value(file);
            first.is_valid(file).then(|| (first.value(file), first.value(file).saturating_add(rows)))
        };
        let sequence = |file: usize| entries.max_sequence_numbers().value(file);
        let having: Vec<usize> = group.iter().copied().filter(|file| absent.get(*file) == Some(&false)).collect();
        let newest = having.iter().copied().max_by_key(|file| sequence(*file));
        // If no file has the column, it is NULL in all files, and the statistics of the first file apply.
        let newest = newest.or(group.first().copied())?;
        let alone = having.iter().filter(|file| sequence(**file) == sequence(newest)).count() <= 1;
        let mut ranges = group.iter().map(|file| range(*file));
        let whole = ranges.all(|other| match (other, range(newest)) {
            (Some(other), Some(range)) => range.0 <= other.0 && other.1 <= range.1,
            _ => false,
        });
        u32::try_from(newest).ok().filter(|_| group.len() == 1 || having.is_empty() || (alone && whole))
    }
}

impl ColumnStats for GroupStats<'_> {
    fn len(&self) -> usize {
        self.groups.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let Some(bounds) = self.files.bounds(column)? else { return Ok(None) };
        let absent = self.files.layouts.absent(column.id, self.files.len());
        let files: UInt32Array = self.groups.iter().map(|group| self.file(group, &absent)).collect();
        let of = |values: &dyn Array| take(values, &files, None);
        let count = |counts: Option<Int64Array>| -> Result<Option<Int64Array>> {
            Ok(counts.map(|counts| of(&counts)).transpose()?.map(|counts| counts.as_primitive().clone()))
        };
        Ok(Some(Bounds {
            row_count: count(bounds.row_count)?,
            null_count: count(bounds.null_count)?,
            nan_count: count(bounds.nan_count)?,
            lower: bounds.lower.map(|lower| of(&lower)).transpose()?,
            upper: bounds.upper.map(|upper| of(&upper)).transpose()?,
            exact: bounds.exact,
        }))
    }
}

/// Returns the values of one field of bounds, or None if they do not decode.
fn decoded(rows: &BinaryArray, types: &[DataType], position: usize) -> Option<ArrayRef> {
    let values = binary_row::decode_bounds(rows, types, &[position]).ok()?.pop()?;
    comparable(&values).ok()
}

fn null_count(counts: &ListArray, row: usize, position: usize) -> Option<i64> {
    let offsets = counts.value_offsets();
    let bound = |at: usize| usize::try_from(*offsets.get(at)?).ok();
    let at = bound(row)?.checked_add(position).filter(|at| bound(row + 1).is_some_and(|end| *at < end))?;
    let values = counts.values().as_primitive_opt::<Int64Type>()?;
    (counts.is_valid(row) && values.is_valid(at)).then(|| values.value(at))
}

fn set<T>(values: &mut [T], at: usize, value: T) {
    if let Some(place) = values.get_mut(at) {
        *place = value;
    }
}

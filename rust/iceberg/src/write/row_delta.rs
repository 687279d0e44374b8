//! Collects deleted rows for a commit: as deletion vectors (v3), as position delete files (v2), or as removed data
//! files (spec: "Delete Formats").

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use frazil_core::bitmap::Positions;
use frazil_core::error::{Error, Result};
use frazil_core::ids;

use super::data_file::{NewDataFile, data_file_rows};
use super::location::LocationProvider;
use super::message::Deletion;
use super::metrics::Metrics;
use crate::deletes::vector;
use crate::files::{AddedFiles, Removals, RemovedFile, TouchedFiles};
use crate::puffin::{BlobMetadata, Writer};
use crate::read::default::repeated;
use crate::scan::context::PartitionContext;
use crate::scan::delete_load::DELETE_FILE_POS_ID;
use crate::scan::output::MetadataColumn;
use crate::scan::partition::{PartitionTuples, TupleKeyer};
use crate::scan::plan::Plan;
use crate::scan::task::{self, FileScanTask};
use crate::spec::arrow::arrow_fields;
use crate::spec::manifest::{DELETE_FILE_PATH_ID, FileContent};
use crate::spec::partition::PartitionSpec;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::types::{StructType, Value};

/// The data files from which rows may be deleted.
#[derive(Debug, Clone)]
pub enum DataFiles {
    /// The data files of a plan.
    Plan(Arc<Plan>),
    /// The data files of tasks that another process planned.
    Tasks(Arc<[FileScanTask]>),
}

impl DataFiles {
    /// Returns the task of a data file, and the manifest that lists it, if known.
    fn get(&self, index: usize) -> Result<(FileScanTask, Option<Arc<str>>)> {
        match self {
            Self::Plan(plan) => Ok((plan.task(index)?, Some(plan.origin(index)?.0.clone()))),
            Self::Tasks(tasks) => {
                let task = tasks.get(index).ok_or_else(|| Error::invalid(format!("task {index} does not exist")))?;
                Ok((task.clone(), None))
            }
        }
    }
}

/// The deleted rows of the data files of a plan.
#[derive(Debug)]
pub struct RowDelta {
    data_files: DataFiles,
    files: BTreeMap<usize, Touched>,
    added: Vec<AddedFiles>,
    removals: Removals,
}

/// A data file from which rows are deleted or were read.
#[derive(Debug)]
struct Touched {
    task: FileScanTask,
    manifest: Option<Arc<str>>,
    /// The newly deleted rows.
    rows: Positions,
    /// The rows that were deleted before.
    before: Vec<Arc<Positions>>,
    /// Whether the whole file is removed.
    goes: bool,
}

/// The granularity of v2 position delete files (`write.delete.granularity`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granularity {
    /// One delete file per data file.
    File,
    /// One delete file per partition.
    Partition,
}

/// The encoders of partition keys, by spec.
type Keyers = HashMap<i32, TupleKeyer>;

/// Position deletes to be written to one file.
#[derive(Debug)]
pub struct PositionFile {
    /// The location of the new file.
    pub path: String,
    /// `file_path`, as a dictionary, and `pos`, sorted by both.
    pub rows: RecordBatch,
    spec_id: i32,
    partition: StructArray,
    /// The data file, if there is only one.
    referenced: Option<String>,
    bounds: [(Vec<u8>, Vec<u8>); 2],
}

impl RowDelta {
    /// Creates an empty set of deletions for these data files.
    pub fn new(data_files: DataFiles) -> Self {
        Self { data_files, files: BTreeMap::new(), added: Vec::new(), removals: Removals::default() }
    }

    fn touch(&mut self, index: usize) -> Result<&mut Touched> {
        if !self.files.contains_key(&index) {
            let (task, manifest) = self.data_files.get(index)?;
            let touched = Touched { task, manifest, rows: Positions::new(), before: Vec::new(), goes: false };
            self.files.insert(index, touched);
        }
        self.files.get_mut(&index).ok_or_else(|| Error::internal("a data file is missing"))
    }

    /// Deletes rows of the data file at `index` of the plan, in which `before` are already deleted.
    ///
    /// # Errors
    /// `CorruptData` for negative positions, and for those after the last row of the data file, which readers reject.
    pub fn delete_rows(&mut self, index: usize, rows: &Int64Array, before: &[Arc<Positions>]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let touched = self.touch(index)?;
        touched.rows.insert_all(rows.values())?;
        let data = &touched.task.file;
        if let Some(last) = data.beyond(&touched.rows) {
            let message = format!("cannot delete position {last} in a file with {} rows", data.record_count);
            return Err(Error::corrupt(message).with("file", &data.path));
        }
        if touched.before.is_empty() {
            touched.before = before.iter().map(|positions| of_rows(positions, data)).collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// Returns the deletions so far, for the process that planned the data files.
    pub fn deletions(&self) -> Vec<Deletion> {
        let deletion = |(index, file): (&usize, &Touched)| {
            let mut before = Positions::new();
            file.before.iter().for_each(|set| before.union_with(set));
            let path = file.task.file.path.to_string();
            Deletion { task: *index, path, rows: file.rows.clone(), before, goes: file.goes }
        };
        self.files.iter().map(deletion).collect()
    }

    /// Adds the deletions that another process made in the data file at `index`.
    ///
    /// # Errors
    /// `CorruptData` if they apply to another data file, or to rows that this one does not have.
    pub fn take(&mut self, index: usize, deletion: &Deletion) -> Result<()> {
        let touched = self.touch(index)?;
        let data = &touched.task.file;
        if *data.path != *deletion.path
            || [&deletion.rows, &deletion.before].iter().any(|rows| data.beyond(rows).is_some())
        {
            let message = "a commit message deletes rows of a data file other than the planned one";
            return Err(Error::corrupt(message).with("file", deletion.path.as_str()));
        }
        touched.rows.union_with(&deletion.rows);
        touched.goes |= deletion.goes;
        if !deletion.before.is_empty() {
            touched.before.push(Arc::new(deletion.before.clone()));
        }
        Ok(())
    }

    /// Removes the data file at `index` of the plan.
    pub fn remove_file(&mut self, index: usize) -> Result<()> {
        self.touch(index)?.goes = true;
        Ok(())
    }

    /// Returns the data files that have deleted rows and stay, by their positions in the plan.
    pub fn staying(&self) -> Vec<usize> {
        self.files.iter().filter(|(_, file)| file.loses_rows()).map(|(index, _)| *index).collect()
    }

    /// Returns the number of newly deleted rows, excluding those of files that were removed without reading them.
    pub fn deleted_rows(&self) -> u64 {
        self.files.values().map(|file| file.rows.len()).sum()
    }

    /// Returns whether no file has newly deleted rows.
    pub fn is_empty(&self) -> bool {
        self.files.values().all(|file| !file.goes && file.rows.is_empty())
    }

    /// Returns which rows at these positions of a data file are newly deleted.
    pub fn is_deleted(&self, index: usize, positions: &Int64Array) -> BooleanArray {
        let rows = self.files.get(&index).map(|file| &file.rows);
        let deleted = |row: usize| {
            let position = positions.values().get(row).and_then(|position| u64::try_from(*position).ok());
            rows.zip(position).is_some_and(|(rows, position)| rows.contains(position))
        };
        BooleanArray::new(BooleanBuffer::collect_bool(positions.len(), deleted), None)
    }

    /// Removes the files that have no rows left. Rows that equality deletes remove are not counted, so an empty file
    /// may stay.
    pub fn remove_emptied(&mut self) {
        for file in self.files.values_mut().filter(|file| file.loses_rows()) {
            file.goes = u64::try_from(file.task.file.record_count) == Ok(file.all_deleted().len());
        }
    }

    /// Records that rows of the data file at `index` of the plan were read, so that a concurrent commit that removes it
    /// or deletes rows of it conflicts.
    pub fn read_file(&mut self, index: usize) -> Result<()> {
        self.touch(index).map(drop)
    }

    /// Removes the delete files that apply only to removed data files. The plan must include all data files of the
    /// snapshot. Data files that are added later are not affected: they are newer than the deletes, or were written
    /// without the deleted rows.
    ///
    /// `removed_before` are the data files that earlier commits removed, along with the delete files that applied only
    /// to them.
    pub fn remove_dangling(&mut self, removed_before: &HashSet<usize>) -> Result<()> {
        let DataFiles::Plan(plan) = &self.data_files else {
            return Err(Error::internal("tasks of another process do not include all data files"));
        };
        let is_first = removed_before.is_empty();
        let mut applied = vec![is_first; plan.deletes().files().len()];
        let mut applies = vec![false; plan.deletes().files().len()];
        let mut place = 0;
        for files in plan.files() {
            for row in 0..files.entries().len() {
                let is_removed = self.files.get(&place).is_some_and(|file| file.goes);
                let was_removed = removed_before.contains(&place);
                for &number in files.deletes().row(row) {
                    let Ok(number) = usize::try_from(number) else { continue };
                    applied.get_mut(number).into_iter().for_each(|one| *one |= !was_removed);
                    applies.get_mut(number).into_iter().for_each(|one| *one |= !was_removed && !is_removed);
                }
                place += 1;
            }
        }
        let dangling = applied.into_iter().zip(applies).map(|(applied, applies)| applied && !applies);
        for (deletes, _) in plan.deletes().files().iter().zip(dangling).filter(|(_, dangling)| *dangling) {
            let offset = deletes.content_range.map(|(offset, _)| offset);
            self.removals.delete_files.insert((deletes.path.to_string(), offset));
        }
        Ok(())
    }

    /// Returns the files to remove, and the data files from which rows are deleted.
    pub fn removals(&self) -> Result<(Removals, TouchedFiles)> {
        let (mut removals, mut touched) = (self.removals.clone(), TouchedFiles::default());
        let mut keyers = Keyers::default();
        for file in self.files.values() {
            let data = &file.task.file;
            let path = data.path.to_string();
            if file.goes {
                let removed = RemovedFile { spec_id: data.spec_id, manifest: file.manifest.clone() };
                removals.data_files.insert(path, removed);
            } else {
                touched.staying.insert(path);
            }
            touched.partitions.insert((data.spec_id, file.partition_key(&mut keyers)?));
        }
        Ok((removals, touched))
    }

    /// Returns the delete files of a commit.
    pub fn added(&self) -> &[AddedFiles] {
        &self.added
    }

    /// Creates a deletion vector for each data file that stays, including the positions that were deleted before.
    /// Removes the delete files that the vectors replace. Returns the Puffin file and its location; None if no vectors
    /// are needed.
    ///
    /// # Errors
    /// `LimitExceeded` for vectors above 2 GiB.
    pub fn vectors(&mut self, table: &TableMetadata) -> Result<Option<(String, Bytes)>> {
        let created_by = format!("frazil {}", env!("CARGO_PKG_VERSION"));
        let mut puffin = Writer::new([("created-by".to_string(), created_by)].into());
        let mut entries: BTreeMap<i32, (Arc<PartitionContext>, Vec<NewDataFile>)> = BTreeMap::new();
        let location = puffin_location(table)?;
        for file in self.files.values().filter(|file| file.loses_rows()) {
            let data = &file.task.file;
            let rows = file.all_deleted();
            let cardinality = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            let metadata = BlobMetadata {
                blob_type: "deletion-vector-v1".to_string(),
                fields: vec![MetadataColumn::Pos.field_id()],
                snapshot_id: -1,
                sequence_number: -1,
                offset: 0,
                length: 0,
                compression_codec: None,
                properties: [
                    ("referenced-data-file".to_string(), data.path.to_string()),
                    ("cardinality".to_string(), cardinality.to_string()),
                ]
                .into(),
            };
            let range = puffin.add(metadata, &vector::encode(&rows)?);
            let long = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let (context, partition) = file.partition()?;
            let entry = NewDataFile {
                content: FileContent::PositionDeletes,
                file_path: location.clone(),
                file_format: "PUFFIN".to_string(),
                partition,
                file_size_bytes: 0,
                column_sizes: BTreeMap::new(),
                metrics: Metrics { record_count: cardinality, ..Metrics::default() },
                split_offsets: None,
                sort_order_id: None,
                referenced_data_file: Some(data.path.to_string()),
                content_range: Some((long(range.start), long(range.end - range.start))),
            };
            entries.entry(data.spec_id).or_insert_with(|| (context, Vec::new())).1.push(entry);
            for deletes in file.task.deletes.iter().filter(|deletes| deletes.referenced_data_file.is_some()) {
                let offset = deletes.content_range.map(|(offset, _)| offset);
                self.removals.delete_files.insert((deletes.path.to_string(), offset));
            }
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let content = Bytes::from(puffin.finish()?);
        for (spec_id, (context, mut files)) in entries {
            let size = i64::try_from(content.len()).unwrap_or(i64::MAX);
            for file in &mut files {
                file.file_size_bytes = size;
            }
            self.added.push(AddedFiles { spec_id, data_files: data_file_rows(&files, &context.fields)? });
        }
        Ok(Some((location, content)))
    }

    /// Returns the position delete files to be written for the data files that stay.
    pub fn position_files(&self, table: &TableMetadata, granularity: Granularity) -> Result<Vec<PositionFile>> {
        let mut groups: BTreeMap<(i32, Vec<u8>, String), Vec<&Touched>> = BTreeMap::new();
        let mut keyers = Keyers::default();
        for file in self.files.values().filter(|file| file.loses_rows()) {
            let own = if granularity == Granularity::File { file.task.file.path.to_string() } else { String::new() };
            groups.entry((file.task.file.spec_id, file.partition_key(&mut keyers)?, own)).or_default().push(file);
        }
        let locations = LocationProvider::of(table)?;
        let operation = ids::uuid()?;
        let file = |(number, members): (usize, Vec<&Touched>)| {
            let name = format!("{number:05}-0-{operation}-00001-deletes.parquet");
            position_file(members, &locations, &name)
        };
        groups.into_values().enumerate().map(file).collect()
    }

    /// Adds a position delete file that was written.
    pub fn add_position_file(
        &mut self,
        file: &PositionFile,
        size_bytes: i64,
        column_sizes: &[i64],
        table: &TableMetadata,
    ) -> Result<()> {
        let ids = [DELETE_FILE_PATH_ID, DELETE_FILE_POS_ID];
        let count = i64::try_from(file.rows.num_rows()).unwrap_or(i64::MAX);
        let bound = |upper: bool| {
            let bounds = ids.into_iter().zip(&file.bounds);
            bounds.map(|(id, (low, high))| (id, if upper { high.clone() } else { low.clone() })).collect()
        };
        let entry = NewDataFile {
            content: FileContent::PositionDeletes,
            file_path: file.path.clone(),
            file_format: "PARQUET".to_string(),
            partition: file.partition.clone(),
            file_size_bytes: size_bytes,
            column_sizes: ids.into_iter().zip(column_sizes.iter().copied()).collect(),
            metrics: Metrics {
                record_count: count,
                value_counts: ids.map(|id| (id, count)).into(),
                null_counts: ids.map(|id| (id, 0)).into(),
                lower_bounds: bound(false),
                upper_bounds: bound(true),
                ..Metrics::default()
            },
            split_offsets: None,
            sort_order_id: None,
            referenced_data_file: file.referenced.clone(),
            content_range: None,
        };
        let fields = table.partition_type(table.spec(file.spec_id)?);
        self.added.push(AddedFiles { spec_id: file.spec_id, data_files: data_file_rows(&[entry], &fields)? });
        Ok(())
    }
}

impl Touched {
    /// Returns whether rows are newly deleted and the file stays.
    fn loses_rows(&self) -> bool {
        !self.goes && !self.rows.is_empty()
    }

    /// Returns the rows that are deleted by position, now or before. Rows that only equality deletes remove are not
    /// included.
    fn all_deleted(&self) -> Positions {
        let mut deleted = self.rows.clone();
        self.before.iter().for_each(|before| deleted.union_with(before));
        deleted
    }

    /// Returns the key of the partition, unique within its spec.
    fn partition_key(&self, keyers: &mut Keyers) -> Result<Vec<u8>> {
        let (context, tuple) = self.partition()?;
        let keyer = match keyers.entry(self.task.file.spec_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(TupleKeyer::new(&context.fields)?),
        };
        Ok(keyer.keys(&PartitionTuples::of_rows(&tuple, &context.fields)?)?.row(0).to_vec())
    }

    /// Returns the spec, and the tuple of the file as one row.
    fn partition(&self) -> Result<(Arc<PartitionContext>, StructArray)> {
        let context = self.task.partition()?;
        let fields = &context.fields;
        let values = |id: i32| self.task.file.partition.iter().find(|(own, _)| *own == id).and_then(|(_, v)| v.clone());
        let columns = fields
            .fields
            .iter()
            .map(|field| repeated(&field.field_type, values(field.id).map(Value::Scalar).as_ref(), 1))
            .collect::<Result<Vec<ArrayRef>>>()?;
        let tuple = StructArray::try_new_with_length(arrow_fields(fields), columns, None, 1)?;
        Ok((context, tuple))
    }
}

/// Returns the positions at which a data file has rows. Positions beyond the end are dropped: a position delete file
/// may contain such positions, unlike a deletion vector.
fn of_rows(positions: &Arc<Positions>, data: &task::DataFile) -> Result<Arc<Positions>> {
    if data.beyond(positions).is_none() {
        return Ok(positions.clone());
    }
    let rows: Vec<i64> = positions.iter().map(u64::cast_signed).filter(|row| *row < data.record_count).collect();
    let mut kept = Positions::new();
    kept.insert_all(&rows)?;
    Ok(Arc::new(kept))
}

fn position_file(mut members: Vec<&Touched>, locations: &LocationProvider, name: &str) -> Result<PositionFile> {
    members.sort_by(|a, b| a.task.file.path.as_bytes().cmp(b.task.file.path.as_bytes()));
    let Some(first) = members.first() else { return Err(Error::internal("a position delete file has no deletes")) };
    let (context, partition) = first.partition()?;
    let rows = position_rows(members.iter().map(|file| (&*file.task.file.path, &file.rows)))?;
    let positions = rows.column(1).as_primitive::<Int64Type>().values();
    let path = |file: &&Touched| file.task.file.path.as_bytes().to_vec();
    let (low, high) = (members.first().map(path), members.last().map(path));
    let least = positions.iter().min().copied().unwrap_or_default().to_le_bytes().to_vec();
    let most = positions.iter().max().copied().unwrap_or_default().to_le_bytes().to_vec();
    Ok(PositionFile {
        path: locations.data_file(&context.spec, &context.fields, &partition, name)?,
        rows,
        spec_id: context.spec.spec_id,
        partition,
        referenced: (members.len() == 1).then(|| first.task.file.path.to_string()),
        bounds: [(low.unwrap_or_default(), high.unwrap_or_default()), (least, most)],
    })
}

/// Returns the rows of a position delete file: positions of data files, in order.
fn position_rows<'a>(members: impl Iterator<Item = (&'a str, &'a Positions)> + Clone) -> Result<RecordBatch> {
    // Paths are dictionary-encoded: a path per row would take many times the space of its position.
    let names = StringArray::from_iter_values(members.clone().map(|(path, _)| path));
    let count = |rows: &Positions| usize::try_from(rows.len()).unwrap_or(usize::MAX);
    let keys = (0_i32..).zip(members.clone()).flat_map(|(key, (_, rows))| std::iter::repeat_n(key, count(rows)));
    let paths = DictionaryArray::try_new(Int32Array::from_iter_values(keys), Arc::new(names))?;
    let positions = Int64Array::from_iter_values(members.flat_map(|(_, rows)| rows.iter()).map(u64::cast_signed));
    let field = |name: &str, data_type, id: i32| {
        let metadata = [("PARQUET:field_id".to_string(), id.to_string())];
        Field::new(name, data_type, false).with_metadata(metadata.into())
    };
    let schema = Schema::new(vec![
        field("file_path", paths.data_type().clone(), DELETE_FILE_PATH_ID),
        field("pos", DataType::Int64, DELETE_FILE_POS_ID),
    ]);
    Ok(RecordBatch::try_new(Arc::new(schema), vec![Arc::new(paths), Arc::new(positions)])?)
}

/// Returns the location of the Puffin file, which holds the deletion vectors of all partitions.
fn puffin_location(table: &TableMetadata) -> Result<String> {
    let (spec, fields) = (PartitionSpec::default(), StructType::default());
    let tuple = StructArray::new_empty_fields(1, None);
    let name = format!("00000-0-{}-00001-deletes.puffin", ids::uuid()?);
    LocationProvider::of(table)?.data_file(&spec, &fields, &tuple, &name)
}

#[cfg(test)]
mod tests {
    use arrow_array::ArrayAccessor;
    use arrow_array::types::Int32Type;

    use super::*;

    #[test]
    fn paths_are_not_repeated_for_every_row() {
        // If these paths were repeated for every row, a string column would exceed its 2 GiB limit.
        let path = "d".repeat(1_000);
        let mut positions = Positions::new();
        positions.insert_all(&(0..2_200_000).collect::<Vec<_>>()).unwrap();
        let rows = position_rows([(path.as_str(), &positions), ("e", &positions)].into_iter()).unwrap();
        assert_eq!(rows.num_rows(), 4_400_000);
        let paths = rows.column(0).as_dictionary::<Int32Type>().downcast_dict::<StringArray>().unwrap();
        assert_eq!(
            [paths.value(0), paths.value(2_199_999), paths.value(2_200_000)],
            [path.as_str(), path.as_str(), "e"]
        );
        assert!(rows.get_array_memory_size() < 256 << 20);
    }
}

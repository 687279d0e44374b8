//! Loads the deletes of a task. Deletion vectors are read here; delete files are opened by the caller, who pushes their
//! batches.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Schema as ArrowSchema};
use frazil_core::bitmap::Positions;
use frazil_core::context::Lease;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::file_values::checked_text;
use frazil_core::storage::Files;

use super::context::ReadContext;
use super::delete_cache::{Deletes, Loaded};
use super::delete_index::DeleteFile;
use super::leaves::{LeafColumns, optional};
use super::task::FileScanTask;
use crate::deletes::equality::EqualityKeysBuilder;
use crate::deletes::position::PositionDeletesBuilder;
use crate::deletes::{RowDeletes, vector};
use crate::read::project::{FileColumns, Projector};
use crate::spec::manifest::{DELETE_FILE_PATH_ID, FileContent};
use crate::spec::types::{NestedField, PrimitiveType, StructType, Type};

/// The field id of `pos` in position delete files.
pub(crate) const DELETE_FILE_POS_ID: i32 = 2_147_483_545;

/// The deletes of one data file that are loaded so far.
#[derive(Debug, Default)]
pub struct TaskDeletes {
    loaded: RowDeletes,
    pending: Vec<DeleteFile>,
    /// The keys under which equality deletes are cached, by equality ids.
    cache_keys: BTreeMap<Vec<i32>, String>,
    /// The memory leases of the loaded deletes.
    leases: Vec<Arc<Lease>>,
}

impl TaskDeletes {
    /// Reads the deletion vector of a task, gets cached deletes, and lists the delete files to be loaded.
    pub fn try_new(task: &FileScanTask) -> Result<Self> {
        let mut deletes = Self::default();
        let mut by_ids: BTreeMap<&[i32], Vec<&DeleteFile>> = BTreeMap::new();
        for file in &task.deletes {
            if file.is_vector() {
                let positions = read_vector(&task.read.files, file)?;
                refuse_beyond(&positions, task, file)?;
                let mut lease = task.read.budget.lease(0)?;
                task.read.resize(&mut lease, positions.size_bytes()).map_err(|e| corrupt_deletes(e, file))?;
                deletes.leases.push(Arc::new(lease));
                deletes.loaded.positions.push(Arc::new(positions));
            } else if file.content == FileContent::EqualityDeletes {
                by_ids.entry(&file.equality_ids).or_default().push(file);
            } else if let Some(loaded) = task.read.cache.find(&position_cache_key(file)) {
                deletes.add(loaded, &file.equality_ids, task);
            } else {
                deletes.pending.push(file.clone());
            }
        }
        for (ids, files) in by_ids {
            let cache_key = equality_cache_key(ids, &files);
            match task.read.cache.find(&cache_key) {
                Some(loaded) => deletes.add(loaded, ids, task),
                None => deletes.pending.extend(files.into_iter().cloned()),
            }
            deletes.cache_keys.insert(ids.to_vec(), cache_key);
        }
        Ok(deletes)
    }

    /// Returns the delete files that are still to be read, in a valid order for pushing them.
    pub fn pending(&self) -> &[DeleteFile] {
        &self.pending
    }

    /// Returns the key columns of the equality deletes.
    pub fn equality_ids(&self) -> impl Iterator<Item = i32> + '_ {
        self.cache_keys.keys().flatten().copied()
    }

    /// Returns the deletes.
    ///
    /// # Errors
    /// `Internal` while delete files are pending: rows must not be returned then.
    pub fn rows(&self) -> Result<&RowDeletes> {
        match self.pending.first() {
            None => Ok(&self.loaded),
            Some(file) => Err(Error::internal("rows were read before their deletes").with("deletes", &file.path)),
        }
    }

    fn add(&mut self, Loaded { deletes, lease }: Loaded, equality_ids: &[i32], task: &FileScanTask) {
        match deletes {
            Deletes::Positions(by_file) => {
                let positions = by_file.for_path(&task.read.files.same_file_key(&task.file.path));
                self.loaded.positions.extend(positions.cloned());
            }
            Deletes::Equality(keys) => self.loaded.equality.push((equality_ids.to_vec(), keys)),
        }
        self.leases.push(lease);
    }
}

/// A loader that reads the pending delete files of a task one after the other.
#[derive(Debug)]
pub struct DeleteLoader {
    read: Arc<ReadContext>,
    keys: BTreeMap<Vec<i32>, (EqualityKeysBuilder, Lease)>,
}

/// A reader of one delete file.
#[derive(Debug)]
pub struct DeleteFileReader {
    file: DeleteFile,
    target: StructType,
    projector: Projector,
    positions: PositionDeletesBuilder,
    lease: Lease,
    rows: u64,
}

impl DeleteLoader {
    /// Creates a loader for the pending deletes of a task.
    pub fn new(read: Arc<ReadContext>) -> Self {
        Self { read, keys: BTreeMap::new() }
    }

    /// Begins a delete file with this schema. The reader's projector has the columns to be read.
    ///
    /// # Errors
    /// `CorruptDeletes` if the file lacks a column that its type of deletes needs.
    pub fn open(&self, file: &DeleteFile, schema: &ArrowSchema) -> Result<DeleteFileReader> {
        let target = self.target(file)?;
        let columns = FileColumns {
            schema,
            name_mapping: self.read.name_mapping.as_ref(),
            constants: &HashMap::new(),
            format: file.format,
        };
        let projector = Projector::try_new(&target, &columns).map_err(|e| corrupt_deletes(e, file))?;
        for id in leaf_ids(file) {
            if projector.file_leaf_of(id).is_none() {
                let message = "a delete file is missing a column that identifies deleted rows";
                return Err(corrupt_deletes(Error::corrupt(message).with("field id", id), file));
            }
        }
        Ok(DeleteFileReader {
            file: file.clone(),
            target,
            projector,
            positions: PositionDeletesBuilder::default(),
            lease: self.read.budget.lease(0)?,
            rows: 0,
        })
    }

    /// Adds rows of a delete file.
    pub fn push(&mut self, reader: &mut DeleteFileReader, batch: &RecordBatch) -> Result<()> {
        self.push_rows(reader, batch).map_err(|e| corrupt_deletes(e, &reader.file))
    }

    fn push_rows(&mut self, reader: &mut DeleteFileReader, batch: &RecordBatch) -> Result<()> {
        reader.rows += batch.num_rows() as u64;
        if let Some(paths) = reader.path_dictionary(batch)? {
            let positions =
                reader.column(batch, DELETE_FILE_POS_ID).and_then(|column| column.as_primitive_opt::<Int64Type>());
            if let Some(positions) = positions {
                return self.push_positions(reader, paths.as_ref(), positions);
            }
        }
        let columns = reader.projector.project(batch, batch.num_rows())?;
        if reader.file.content == FileContent::PositionDeletes {
            let [paths, positions] = columns.as_slice() else {
                return Err(Error::internal("a position delete file does not have two columns"));
            };
            let positions = positions.as_primitive_opt::<Int64Type>();
            let positions = positions.ok_or_else(|| Error::internal("positions are not longs"))?;
            return self.push_positions(reader, paths.as_ref(), positions);
        }
        let leaves = LeafColumns::new(&reader.target, &columns);
        let ids = &reader.file.equality_ids;
        let columns = ids.iter().map(|&id| leaves.leaf(id)).collect::<Result<Vec<_>>>()?;
        let (builder, lease) = if let Some(keys) = self.keys.get_mut(ids) {
            keys
        } else {
            let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
            let keys = (EqualityKeysBuilder::new(&types)?, self.read.budget.lease(0)?);
            self.keys.entry(ids.clone()).or_insert(keys)
        };
        builder.push(&columns, reader.file.sequence_number)?;
        self.read.resize(lease, builder.size_bytes())
    }

    fn push_positions(&self, reader: &mut DeleteFileReader, paths: &dyn Array, positions: &Int64Array) -> Result<()> {
        reader.positions.push(paths, positions)?;
        self.read.resize(&mut reader.lease, reader.positions.size_bytes())
    }

    /// Completes a delete file.
    ///
    /// `CorruptDeletes` if the file has fewer rows than its manifest records. More rows are accepted and applied, as in
    /// other engines, because some writers record too few.
    pub fn finish(&mut self, reader: DeleteFileReader, task: &FileScanTask, deletes: &mut TaskDeletes) -> Result<()> {
        let DeleteFileReader { file, positions, mut lease, rows, .. } = reader;
        if u64::try_from(file.record_count).is_ok_and(|expected| expected > rows) {
            let message = format!("a delete file has {rows} rows, but its manifest records {}", file.record_count);
            return Err(corrupt_deletes(Error::corrupt(message), &file));
        }
        deletes.pending.retain(|pending| *pending != file);
        if file.content == FileContent::PositionDeletes {
            let by_file = positions.finish().with_paths(|path| self.read.files.same_file_key(path));
            self.read.resize(&mut lease, by_file.size_bytes())?;
            let loaded = Loaded { deletes: Deletes::Positions(Arc::new(by_file)), lease: Arc::new(lease) };
            deletes.add(loaded.clone(), &file.equality_ids, task);
            self.read.cache.keep(position_cache_key(&file), loaded);
            return Ok(());
        }
        if deletes.pending.iter().any(|pending| pending.equality_ids == file.equality_ids) {
            return Ok(());
        }
        // Files without rows have no known types and delete nothing.
        let Some((builder, lease)) = self.keys.remove(&file.equality_ids) else { return Ok(()) };
        let loaded = Loaded { deletes: Deletes::Equality(Arc::new(builder.finish())), lease: Arc::new(lease) };
        if let Some(cache_key) = deletes.cache_keys.get(&file.equality_ids) {
            self.read.cache.keep(cache_key.clone(), loaded.clone());
        }
        deletes.add(loaded, &file.equality_ids, task);
        Ok(())
    }

    /// Returns the columns to read: path and position, or the key columns with their current types in the table.
    fn target(&self, file: &DeleteFile) -> Result<StructType> {
        let field = |id, name: &str, data_type| NestedField::new(id, name, Type::Primitive(data_type), false);
        if file.content == FileContent::PositionDeletes {
            let path = field(DELETE_FILE_PATH_ID, "file_path", PrimitiveType::String);
            let position = field(DELETE_FILE_POS_ID, "pos", PrimitiveType::Long);
            return Ok(StructType { fields: vec![path, position] });
        }
        let leaf = |&id: &i32| self.read.leaf_field(id).map(optional).map_err(|e| e.with("file", &file.path));
        Ok(StructType { fields: file.equality_ids.iter().map(leaf).collect::<Result<_>>()? })
    }
}

impl DeleteFileReader {
    /// Returns the projector, which has the columns of the file to be read.
    pub fn projector(&self) -> &Projector {
        &self.projector
    }

    /// Returns the paths of a position delete file if they are dictionary-encoded: there are only a few, so they are
    /// not repeated for every row.
    fn path_dictionary<'b>(&self, batch: &'b RecordBatch) -> Result<Option<&'b ArrayRef>> {
        let Some(paths) = self.column(batch, DELETE_FILE_PATH_ID) else { return Ok(None) };
        let Some(dictionary) = paths.as_any_dictionary_opt() else { return Ok(None) };
        let values = dictionary.values();
        if values.data_type() != &DataType::Utf8 {
            return Ok(None);
        }
        checked_text(values)?;
        Ok(Some(paths))
    }

    /// Returns the column of a batch with a leaf field, for a file without nested columns.
    fn column<'b>(&self, batch: &'b RecordBatch, id: i32) -> Option<&'b ArrayRef> {
        let leaf = self.projector.file_leaf_of(id)?;
        let at = self.projector.leaves().iter().position(|&selected| selected == leaf)?;
        (batch.num_columns() == self.projector.leaves().len()).then(|| batch.columns().get(at))?
    }
}

fn leaf_ids(file: &DeleteFile) -> Vec<i32> {
    match file.content {
        FileContent::PositionDeletes => vec![DELETE_FILE_PATH_ID, DELETE_FILE_POS_ID],
        FileContent::EqualityDeletes | FileContent::Data => file.equality_ids.clone(),
    }
}

/// Returns the positions in a deletion vector.
///
/// # Errors
/// `CorruptDeletes` with the file.
pub(crate) fn read_vector(files: &Files, file: &DeleteFile) -> Result<Positions> {
    let (offset, size) = file.content_range.ok_or_else(|| Error::internal("a deletion vector has no byte range"))?;
    let read_blob = || -> Result<Positions> {
        let range = vector::blob_range(offset, size, files.size(&file.path)?)?;
        let blobs = files.read_ranges(&file.path, std::slice::from_ref(&range))?;
        let blob = blobs.first().ok_or_else(|| Error::internal("reading one byte range returned no buffer"))?;
        vector::decode(blob, Some(file.record_count))
    };
    read_blob().map_err(|e| corrupt_deletes(e, file))
}

/// Rejects positions beyond the end of the data file. A deletion vector applies to exactly one file, so a position
/// beyond the end means that the vector or the recorded row count is wrong.
fn refuse_beyond(positions: &Positions, task: &FileScanTask, file: &DeleteFile) -> Result<()> {
    match task.file.beyond(positions) {
        Some(last) => {
            let message = format!("position {last} is deleted in a file with {} rows", task.file.record_count);
            Err(corrupt_deletes(Error::corrupt(message).with("data file", &task.file.path), file))
        }
        None => Ok(()),
    }
}

fn position_cache_key(file: &DeleteFile) -> String {
    format!("positions {}", file.path)
}

fn equality_cache_key(ids: &[i32], files: &[&DeleteFile]) -> String {
    let mut key = format!("equality {ids:?}");
    for file in files {
        key.push('\n');
        key.push_str(&file.path);
    }
    key
}

pub(crate) fn corrupt_deletes(error: Error, file: &DeleteFile) -> Error {
    error.corrupt_as(ErrorKind::CorruptDeletes).with("file", &file.path)
}

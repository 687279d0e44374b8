//! Collects the rows of a write and assigns them to data files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, StructArray, UInt32Array};
use arrow_row::OwnedRow;
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;
use frazil_core::align::filled;
use frazil_core::error::{Error, Result};
use frazil_core::ids;
use frazil_core::storage::Files;
use frazil_core::storage::sweep::sweep;

use super::align::Align;
use super::contents::Contents;
use super::data_file::{NewDataFile, data_file_rows};
use super::location::LocationProvider;
use super::metrics::MetricsCollector;
use super::metrics_mode::metrics_modes;
use super::order::RowSorter;
use super::partition::{Part, Partitioner, no_partition};
use crate::features::ENCRYPTION;
use crate::files::AddedFiles;
use crate::properties::{self, MetricsMode};
use crate::scan::output::MetadataColumn;
use crate::spec::depth;
use crate::spec::manifest::FileContent;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::sort::SortOrder;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::types::{NestedField, StructType};

/// The maximum number of partitions whose files are written concurrently; rows of further partitions wait until all
/// rows were added.
const MAX_OPEN_PARTITIONS: usize = 64;
/// The highest field id of a column; higher ids are reserved (spec: "Reserved Field IDs").
const MAX_FIELD_ID: i32 = i32::MAX - 200;

/// The columns that rows keep when they are moved to other files (spec: "Row Lineage").
const LINEAGE: [MetadataColumn; 2] = [MetadataColumn::RowId, MetadataColumn::LastUpdatedSequenceNumber];

/// The options of a write.
#[derive(Debug, Clone)]
pub struct RowOptions {
    /// The limits of committed ids, for rows with `_row_id` and `_last_updated_sequence_number` columns, as when rows
    /// are moved to other files (spec: "Row Lineage").
    pub lineage: Option<CommittedIds>,
    /// The approximate maximum size of buffered rows in bytes; further rows are spilled to temporary files.
    pub memory_bytes: usize,
    /// The task and the id of the operation, which are part of file names; a new id by default.
    pub operation: Option<(u64, String)>,
}

/// The upper limits of the row ids and sequence numbers that a table has permanently assigned. Rows that the same
/// transaction added earlier have no permanent ids before the commit. Files do not record ids for such rows, which
/// inherit new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommittedIds {
    next_row_id: i64,
    last_sequence_number: i64,
}

impl CommittedIds {
    /// Returns the limits of a committed state.
    pub fn of(committed: &TableMetadata) -> Self {
        Self { next_row_id: committed.next_row_id.unwrap_or(0), last_sequence_number: committed.last_sequence_number }
    }

    /// Returns rows whose last two columns are the row id and the sequence number, with unassigned values set to NULL.
    fn keep(self, rows: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = rows.columns().to_vec();
        let limits = [self.next_row_id, self.last_sequence_number.saturating_add(1)];
        let first = columns.len().saturating_sub(limits.len());
        for (column, limit) in columns.iter_mut().skip(first).zip(limits) {
            let ids = column.as_primitive_opt::<Int64Type>().ok_or_else(|| Error::internal("ids are not longs"))?;
            if ids.values().iter().any(|&id| id >= limit) {
                *column = Arc::new(ids.unary_opt::<_, Int64Type>(|id| (id < limit).then_some(id)));
            }
        }
        Ok(RecordBatch::try_new(rows.schema(), columns)?)
    }
}

impl Default for RowOptions {
    fn default() -> Self {
        Self { lineage: None, memory_bytes: 256 << 20, operation: None }
    }
}

/// A writer that accepts the rows of users, returns the rows for the files of each partition, and collects the files'
/// metadata. The caller writes the files.
///
/// ```text
/// split(batch)*   -> rows that can be written now
/// next_sorted()*  -> the rows that waited: by partition, one behind the other, in the sort order of the table
/// ```
#[derive(Debug)]
pub struct RowWriter {
    schema: Arc<Schema>,
    fields: Arc<StructType>,
    spec: Arc<PartitionSpec>,
    partition: StructType,
    modes: Arc<HashMap<i32, MetricsMode>>,
    align: Align,
    lineage: Option<CommittedIds>,
    partitioner: Partitioner,
    order: SortOrder,
    /// The buffer of rows until all were added: every row of a sorted table, otherwise the rows of partitions beyond
    /// the first few.
    sorter: Option<RowSorter>,
    memory_bytes: usize,
    locations: LocationProvider,
    /// The partitions, in order of first occurrence.
    partitions: Vec<Partition>,
    by_key: HashMap<OwnedRow, usize>,
    task: u64,
    operation: String,
    files: Vec<NewDataFile>,
    contents: Contents,
}

#[derive(Debug)]
struct Partition {
    tuple: StructArray,
    /// The metrics of the file that is being written.
    metrics: Option<MetricsCollector>,
}

/// The properties of a file that only its writer knows.
#[derive(Debug, Clone, Default)]
pub struct WrittenFile {
    /// The location, as recorded.
    pub path: String,
    /// `PARQUET`, `ORC` or `AVRO`.
    pub format: String,
    /// The length in bytes.
    pub size_bytes: i64,
    /// The size of each leaf column in the file in bytes, by field id; may be empty.
    pub column_sizes: BTreeMap<i32, i64>,
    /// The offsets at which the file can be split.
    pub split_offsets: Option<Vec<i64>>,
}

impl RowWriter {
    /// Creates a writer for new rows of a table, with its current schema, default partition spec, properties and sort
    /// order.
    ///
    /// # Errors
    /// `Unsupported` for unknown transforms and for encrypted tables; `InvalidArgument` for invalid properties and for
    /// columns with a reserved field id.
    pub fn new(table: &TableMetadata, options: &RowOptions) -> Result<Self> {
        let spec = table.spec(table.default_spec_id)?.clone();
        let schema = file_schema(table, options.lineage.is_some())?;
        if let Some(key) = table.properties.get(properties::ENCRYPTION_KEY_ID.key) {
            ENCRYPTION.check_write().map_err(|e| e.with("key", key))?;
        }
        let (task, operation) = match &options.operation {
            Some((_, id)) if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
                return Err(Error::invalid(format!("{id:?} is not a valid operation id")));
            }
            Some((task, id)) => (*task, id.clone()),
            None => (0, ids::uuid()?),
        };
        let partition = table.partition_type(&spec);
        let order = table.sort_orders.iter().find(|order| order.order_id == table.default_sort_order_id);
        let order = order.cloned().unwrap_or_default();
        let partitioner = Partitioner::new(&schema, &spec, &partition)?;
        let sorted = !order.is_unsorted();
        let sorter = sorted.then(|| RowSorter::new(&schema, &partitioner, &order, options.memory_bytes)).transpose()?;
        Ok(Self {
            modes: Arc::new(metrics_modes(&table.properties, table.current_schema()?, &order)?),
            align: Align::new(schema.clone())?,
            locations: LocationProvider::of(table)?,
            partitions: Vec::new(),
            by_key: HashMap::new(),
            task,
            operation,
            files: Vec::new(),
            contents: Contents::new(table)?,
            memory_bytes: options.memory_bytes,
            lineage: options.lineage,
            fields: Arc::new(schema.fields.clone()),
            partitioner,
            order,
            sorter,
            schema,
            spec,
            partition,
        })
    }

    /// Returns the columns of the files.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the schema of the rows that [`RowWriter::split`] returns, with field ids.
    pub fn arrow(&self) -> &SchemaRef {
        self.align.arrow()
    }

    /// Returns the sort order of the files.
    pub fn order(&self) -> &SortOrder {
        &self.order
    }

    /// Returns the rows of a batch that can be written now, for each partition. Partitions are numbered from 0 in order
    /// of first occurrence.
    ///
    /// # Errors
    /// See [`Align::align`] and [`Partitioner::split`]; `Storage` if waiting rows cannot be spilled.
    pub fn split(&mut self, batch: &RecordBatch) -> Result<Vec<(usize, RecordBatch)>> {
        let mut rows = self.align.align(batch)?;
        if let Some(committed) = self.lineage {
            rows = committed.keep(&rows)?;
        }
        self.contents.add(&rows)?;
        if !self.order.is_unsorted() {
            self.hold(rows)?;
            return Ok(Vec::new());
        }
        let parts = self.partitioner.split(&rows)?;
        let (now, later): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| self.is_open(part));
        let numbers: Vec<u32> = later.iter().flat_map(|part| part.rows.values().iter().copied()).collect();
        if !numbers.is_empty() {
            self.hold(take_record_batch(&rows, &UInt32Array::from(numbers))?)?;
        }
        self.collected(&rows, now)
    }

    /// Returns the next waiting rows, at most `most_rows`; all rows of a partition come before those of the next one.
    /// None after the last row. No rows can be added afterwards.
    ///
    /// # Errors
    /// `Storage` if spilled rows cannot be read.
    pub fn next_sorted(&mut self, most_rows: usize) -> Result<Option<Vec<(usize, RecordBatch)>>> {
        let Some(sorter) = &mut self.sorter else { return Ok(None) };
        let Some(rows) = sorter.next_batch(most_rows)? else { return Ok(None) };
        let parts = self.partitioner.split(&rows)?;
        self.collected(&rows, parts).map(Some)
    }

    /// Returns whether the file of a partition can be written now: it is one of the first [`MAX_OPEN_PARTITIONS`]
    /// partitions.
    fn is_open(&mut self, part: &Part) -> bool {
        if self.by_key.contains_key(&part.key) {
            return true;
        }
        if self.partitions.len() >= MAX_OPEN_PARTITIONS {
            return false;
        }
        self.partition(part);
        true
    }

    /// Returns the number of a partition.
    fn partition(&mut self, part: &Part) -> usize {
        let next = self.partitions.len();
        let index = *self.by_key.entry(part.key.clone()).or_insert(next);
        if index == next {
            self.partitions.push(Partition { tuple: part.tuple.clone(), metrics: None });
        }
        index
    }

    fn hold(&mut self, rows: RecordBatch) -> Result<()> {
        if self.sorter.is_none() {
            self.sorter = Some(RowSorter::new(&self.schema, &self.partitioner, &self.order, self.memory_bytes)?);
        }
        self.sorter.as_mut().map_or(Ok(()), |sorter| sorter.push(rows, &self.partitioner))
    }

    /// Returns the rows of each part, and adds their metrics to those of its file.
    fn collected(&mut self, rows: &RecordBatch, parts: Vec<Part>) -> Result<Vec<(usize, RecordBatch)>> {
        let rows_of = |part: Part| {
            let (index, rows) = (self.partition(&part), part.take(rows)?);
            let partition = self.partitions.get_mut(index).ok_or_else(no_partition)?;
            let new = || MetricsCollector::new(self.fields.clone(), self.modes.clone());
            partition.metrics.get_or_insert_with(new).add(&rows)?;
            Ok((index, filled(rows)?))
        };
        parts.into_iter().map(rows_of).collect()
    }

    /// Returns a location for the next file of a partition.
    ///
    /// # Errors
    /// `Internal` for an unknown partition.
    pub fn new_location(&self, partition: usize, count: usize, extension: &str) -> Result<String> {
        let tuple = &self.partitions.get(partition).ok_or_else(no_partition)?.tuple;
        let name = format!("{partition:05}-{}-{}-{count:05}.{extension}", self.task, self.operation);
        self.locations.data_file(&self.spec, &self.partition, tuple, &name)
    }

    /// Rejects columns that cannot be read from data files of a format: `parquet`, `orc` or `avro`.
    ///
    /// # Errors
    /// See [`depth::check`].
    pub fn check_format(&self, format: &str) -> Result<()> {
        depth::check(&self.fields, format)
    }

    /// Completes the file of a partition, which contains the rows that were returned since the previous file.
    ///
    /// # Errors
    /// `Internal` for a partition without rows.
    pub fn close(&mut self, partition: usize, written: WrittenFile) -> Result<()> {
        let partition = self.partitions.get_mut(partition).ok_or_else(no_partition)?;
        let metrics = partition.metrics.take().ok_or_else(no_partition)?.finish();
        let kept = |id: &i32| self.modes.get(id).is_some_and(|mode| *mode != MetricsMode::None);
        let sizes = written.column_sizes.into_iter().filter(|(id, _)| kept(id));
        self.files.push(NewDataFile {
            content: FileContent::Data,
            file_path: written.path,
            file_format: written.format,
            partition: partition.tuple.clone(),
            file_size_bytes: written.size_bytes,
            column_sizes: sizes.collect(),
            metrics,
            split_offsets: written.split_offsets,
            sort_order_id: Some(self.order.order_id),
            referenced_data_file: None,
            content_range: None,
        });
        Ok(())
    }

    /// Returns the contents of the rows, to be checked against the schema to which they are committed.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Returns the written files, for a commit.
    pub fn added(&self) -> Result<Vec<AddedFiles>> {
        if self.files.is_empty() {
            return Ok(Vec::new());
        }
        let data_files = data_file_rows(&self.files, &self.partition)?;
        Ok(vec![AddedFiles { spec_id: self.spec.spec_id, data_files }])
    }

    /// Deletes the files of all tasks of the operation that are not in `kept`, and returns their number. Files that
    /// cannot be deleted are left.
    pub fn sweep(&self, files: &Files, kept: &HashSet<&str>) -> usize {
        sweep(files, self.locations.folder(), &self.operation, |path| kept.contains(path))
    }

    /// Returns the numbers of written files, rows and bytes.
    pub fn written(&self) -> (usize, i64, i64) {
        let rows = self.files.iter().map(|file| file.metrics.record_count).sum();
        (self.files.len(), rows, self.files.iter().map(|file| file.file_size_bytes).sum())
    }
}

/// Returns the columns of the files of a table.
fn file_schema(table: &TableMetadata, lineage: bool) -> Result<Arc<Schema>> {
    let schema = table.current_schema()?;
    if schema.max_field_id() > MAX_FIELD_ID {
        let message = format!("the field id {} of the table is reserved", schema.max_field_id());
        return Err(Error::invalid(message).hint(format!("the highest field id is {MAX_FIELD_ID}")));
    }
    if !lineage {
        return Ok(schema.clone());
    }
    let mut schema = schema.as_ref().clone();
    for column in LINEAGE {
        let name = column.name_in_files(&schema);
        schema.fields.fields.push(NestedField { name, ..column.field(&StructType::default()) });
    }
    Ok(Arc::new(schema))
}

/// Returns the names of the lineage columns that rows keep when they are moved to other files; empty before v3.
///
/// # Errors
/// `CorruptMetadata` for a table without its current schema.
pub fn lineage_names(table: &TableMetadata) -> Result<Vec<String>> {
    if table.format_version < 3 {
        return Ok(Vec::new());
    }
    let schema = table.current_schema()?;
    Ok(LINEAGE.iter().map(|column| column.name_in_files(schema)).collect())
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;

//! The rows of a write on their way into data files.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::{RecordBatch, StructArray};
use arrow_row::OwnedRow;
use arrow_schema::SchemaRef;
use frazil_core::error::{Error, Result};

use super::align::Align;
use super::data_file::{DataFile, data_file_rows};
use super::location::LocationProvider;
use super::metrics::MetricsCollector;
use super::metrics_mode::{MetricsMode, metrics_modes};
use super::partition::Partitioner;
use crate::spec::manifest::FileContent;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::sort::SortOrder;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::types::StructType;
use crate::transaction::ids;
use crate::transaction::snapshot_change::AddedFiles;

/// Takes rows as users have them, gives rows for the files of each partition, and keeps what the files say of them. The
/// files are written by somebody else.
#[derive(Debug)]
pub struct RowWriter {
    schema: Arc<Schema>,
    spec: Arc<PartitionSpec>,
    partition: StructType,
    modes: HashMap<i32, MetricsMode>,
    align: Align,
    partitioner: Partitioner,
    locations: LocationProvider,
    /// In the order in which they were met.
    partitions: Vec<Partition>,
    by_key: HashMap<OwnedRow, usize>,
    operation: String,
    files: Vec<DataFile>,
}

#[derive(Debug)]
struct Partition {
    tuple: StructArray,
    /// Of the file that is being written.
    metrics: Option<MetricsCollector>,
}

/// What only the writer of a file knows.
#[derive(Debug, Clone, Default)]
pub struct WrittenFile {
    /// Where it lies, as recorded.
    pub path: String,
    /// `PARQUET`, `ORC` or `AVRO`.
    pub format: String,
    /// Its length.
    pub size_bytes: i64,
    /// Bytes of each leaf column in the order of [`Schema::leaf_ids`]; may be empty.
    pub column_sizes: Vec<i64>,
    /// Where it can be split.
    pub split_offsets: Option<Vec<i64>>,
}

impl RowWriter {
    /// For new rows of a table: its current schema, its default spec, its properties.
    ///
    /// # Errors
    /// `Unsupported` for transforms that are not known; `InvalidArgument` for properties that cannot be meant.
    pub fn new(table: &TableMetadata) -> Result<Self> {
        let (schema, spec) = (table.current_schema()?.clone(), table.default_spec()?.clone());
        let partition = table.partition_type(&spec);
        let unsorted = SortOrder::default();
        let order = table.sort_orders.iter().find(|order| order.order_id == table.default_sort_order_id);
        Ok(Self {
            modes: metrics_modes(&table.properties, &schema, order.unwrap_or(&unsorted))?,
            align: Align::new(schema.clone()),
            partitioner: Partitioner::new(&schema, &spec, &partition)?,
            locations: LocationProvider::of(table)?,
            partitions: Vec::new(),
            by_key: HashMap::new(),
            operation: ids::uuid()?,
            files: Vec::new(),
            schema,
            spec,
            partition,
        })
    }

    /// The schema of the rows that [`RowWriter::split`] gives, with field ids.
    pub fn arrow(&self) -> &SchemaRef {
        self.align.arrow()
    }

    /// The rows of a batch for each partition, which counts from 0 in the order in which partitions are met.
    ///
    /// # Errors
    /// As [`Align::align`] and [`Partitioner::split`].
    pub fn split(&mut self, batch: &RecordBatch) -> Result<Vec<(usize, RecordBatch)>> {
        let rows = self.align.align(batch)?;
        let parts = self.partitioner.split(&rows)?;
        let mut split = Vec::with_capacity(parts.len());
        for part in parts {
            let next = self.partitions.len();
            let index = *self.by_key.entry(part.key).or_insert(next);
            if index == next {
                self.partitions.push(Partition { tuple: part.tuple, metrics: None });
            }
            let fields = &self.schema.fields;
            let partition = self.partitions.get_mut(index).ok_or_else(no_partition)?;
            let modes = &self.modes;
            let collector =
                partition.metrics.get_or_insert_with(|| MetricsCollector::new(fields.clone(), modes.clone()));
            collector.add(&part.rows)?;
            split.push((index, part.rows));
        }
        Ok(split)
    }

    /// A location for the next file of a partition.
    ///
    /// # Errors
    /// `Internal` for a partition that was not met.
    pub fn new_location(&self, partition: usize, count: usize, extension: &str) -> Result<String> {
        let tuple = &self.partitions.get(partition).ok_or_else(no_partition)?.tuple;
        let name = format!("{partition:05}-0-{}-{count:05}.{extension}", self.operation);
        self.locations.data_file(&self.spec, &self.partition, tuple, &name)
    }

    /// Ends the file of a partition: the rows that came since the last one are in it.
    ///
    /// # Errors
    /// `Internal` for a partition without rows.
    pub fn close(&mut self, partition: usize, written: WrittenFile) -> Result<()> {
        let leaf_ids = self.schema.leaf_ids();
        let partition = self.partitions.get_mut(partition).ok_or_else(no_partition)?;
        let metrics = partition.metrics.take().ok_or_else(no_partition)?.finish();
        let kept = |id: &i32| self.modes.get(id).is_some_and(|mode| *mode != MetricsMode::None);
        let sizes = leaf_ids.into_iter().zip(written.column_sizes).filter(|(id, _)| kept(id));
        self.files.push(DataFile {
            content: FileContent::Data,
            file_path: written.path,
            file_format: written.format,
            partition: partition.tuple.clone(),
            file_size_bytes: written.size_bytes,
            column_sizes: sizes.collect::<BTreeMap<_, _>>(),
            metrics,
            split_offsets: written.split_offsets,
            // Rows are written as they come.
            sort_order_id: Some(0),
            referenced_data_file: None,
            content_range: None,
        });
        Ok(())
    }

    /// The files that are written, for a commit.
    pub fn added(&self) -> Result<Vec<AddedFiles>> {
        if self.files.is_empty() {
            return Ok(Vec::new());
        }
        let data_files = data_file_rows(&self.files, &self.partition)?;
        Ok(vec![AddedFiles { spec_id: self.spec.spec_id, data_files }])
    }

    /// How many files, rows and bytes are written.
    pub fn written(&self) -> (usize, i64, i64) {
        let rows = self.files.iter().map(|file| file.metrics.record_count).sum();
        (self.files.len(), rows, self.files.iter().map(|file| file.file_size_bytes).sum())
    }
}

fn no_partition() -> Error {
    Error::internal("a partition without rows")
}

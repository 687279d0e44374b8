//! Reads a split. The reader is a state machine that requests files and their batches, and returns rows.
//!
//! ```text
//! step()  -> Open(file)   the caller opens it and calls open(file, schema)
//!         -> Read(file)   the caller pushes the next batch of it, or ends it
//!         -> Batch(rows)  rows of the scan
//!         -> Done
//! ```
//!
//! A split is read stage by stage. Files whose rows need no merge are read one after another. Sorted runs whose keys
//! overlap are merged. Files that hold columns of the same rows are combined.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::sql::predicate::eval::evaluate;
use frazil_core::storage::files::Files;

use super::difference::Difference;
use super::expiry::Expiry;
use super::file_reader::{FileReader, Target};
use super::images::{Images, UpdateColumns, Waiting};
use super::projection::SystemColumn;
use super::rows::FieldColumns;
use super::zip::Zip;
use crate::context::output::{MetadataColumn, Output, narrowed};
use crate::merge::{MergeSpec, Merger, Source, Step as MergeStep, Trace, Watch};
use crate::spec::data_file_meta::DataFileMeta;

/// The next step of the reader.
#[derive(Debug)]
pub enum ReadStep {
    /// The file with this index must be opened.
    Open(usize),
    /// The next batch of an open file must be pushed.
    Read(usize),
    /// Rows of the scan.
    Batch(RecordBatch),
    /// There are no more rows.
    Done,
}

/// A part of a split. Files are referenced by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Files that are read one after another.
    Files(Vec<usize>),
    /// Sorted runs, oldest first, of files with ascending keys.
    Merge(Vec<Vec<usize>>),
    /// Files that begin at the same row and hold different columns. The files of each source follow each other.
    Zip(Vec<ZipSource>),
    /// A marker: later stages return only rows that the earlier stages did not have.
    Difference,
}

impl Stage {
    /// Returns the sorted runs of a merge.
    pub fn runs(&self) -> &[Vec<usize>] {
        match self {
            Self::Merge(runs) => runs,
            Self::Files(_) | Self::Zip(_) | Self::Difference => &[],
        }
    }

    /// Returns the sources of a stage that combines columns.
    pub fn zipped(&self) -> &[ZipSource] {
        match self {
            Self::Zip(sources) => sources,
            Self::Files(_) | Self::Merge(_) | Self::Difference => &[],
        }
    }

    /// Returns the stage with all file indexes increased by `offset`.
    #[must_use]
    pub fn shifted(self, offset: usize) -> Self {
        let shift = |files: Vec<usize>| files.into_iter().map(|file| file + offset).collect::<Vec<_>>();
        match self {
            Self::Files(files) => Self::Files(shift(files)),
            Self::Merge(runs) => Self::Merge(runs.into_iter().map(shift).collect()),
            Self::Zip(sources) => {
                let source = |source: ZipSource| ZipSource { files: shift(source.files), ..source };
                Self::Zip(sources.into_iter().map(source).collect())
            }
            Self::Difference => Self::Difference,
        }
    }
}

/// Consecutive files with the same columns of the rows of a [`Stage::Zip`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipSource {
    /// The files.
    pub files: Vec<usize>,
    /// The positions of the target columns that these files provide.
    pub columns: Vec<usize>,
}

/// The processing of rows after they are read.
#[derive(Debug, Clone)]
pub struct Finish {
    /// The columns of the files.
    pub target: Arc<Target>,
    /// The predicate that returned rows satisfy.
    pub filter: BoundPredicate,
    /// The columns that are returned.
    pub output: Output,
    /// Whether rows that only delete are returned.
    pub keeps_retracts: bool,
    /// The columns that identify the two images of an update, which become one row of the binlog.
    pub updates: Option<UpdateColumns>,
}

#[derive(Debug)]
struct FileState {
    reader: FileReader,
    is_open: bool,
    ended: bool,
    /// A batch that was pushed but is not yet processed; at most one.
    waiting: Option<RecordBatch>,
}

/// The files of a split and their locations.
#[derive(Debug)]
struct SplitFiles {
    states: Vec<FileState>,
    storage: Files,
    context: Context,
}

#[derive(Debug)]
enum Running {
    Files(VecDeque<usize>),
    Merge { merger: Box<Merger>, runs: Vec<VecDeque<usize>>, sources: HashMap<usize, Source> },
    Zip { zip: Zip, files: Vec<VecDeque<usize>> },
}

/// The reader of a split.
#[derive(Debug)]
pub struct SplitReader {
    files: SplitFiles,
    stages: VecDeque<Stage>,
    running: Option<Running>,
    merge: Option<Arc<MergeSpec>>,
    finish: Finish,
    schema: SchemaRef,
    difference: Option<Difference>,
    waiting: Waiting,
    expiry: Option<Arc<Expiry>>,
    watch: Option<Watch>,
    context: Context,
}

impl SplitReader {
    /// Creates a reader of files in `storage`, which `stages` reference by index. `merge` is required if there is a
    /// merge.
    ///
    /// # Errors
    /// `Unsupported` if rows must be compared whose values cannot be compared.
    pub fn try_new(
        (files, storage): (Vec<FileReader>, Files),
        stages: Vec<Stage>,
        merge: Option<Arc<MergeSpec>>,
        finish: Finish,
        context: Context,
    ) -> Result<Self> {
        let file = |reader| FileState { reader, is_open: false, ended: false, waiting: None };
        let difference =
            stages.contains(&Stage::Difference).then(|| Difference::try_new(&finish.target)).transpose()?;
        Ok(Self {
            files: SplitFiles { states: files.into_iter().map(file).collect(), storage, context: context.clone() },
            stages: stages.into(),
            running: None,
            merge,
            schema: finish.output.schema(),
            finish,
            difference,
            waiting: Waiting::default(),
            expiry: None,
            watch: None,
            context,
        })
    }

    /// Returns this reader without expired records.
    #[must_use]
    pub fn without_expired(self, expiry: Option<Arc<Expiry>>) -> Self {
        Self { expiry, ..self }
    }

    /// Returns this reader with the columns of a [`Trace`] after those of its rows. All rows must be merged.
    #[must_use]
    pub fn watching(self, watch: Option<Watch>) -> Self {
        Self { watch, ..self }
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns a file by its index.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such file.
    pub fn file(&self, index: usize) -> Result<&FileReader> {
        let file = self.files.states.get(index);
        file.map(|file| &file.reader).ok_or_else(|| Error::invalid(format!("the split has no file {index}")))
    }

    /// Accepts the schema of an opened file. Returns the leaf columns to read, and the top-level columns that contain
    /// them.
    ///
    /// # Errors
    /// As for [`FileReader::open`].
    pub fn open(&mut self, index: usize, schema: &ArrowSchema) -> Result<(Vec<usize>, Vec<usize>)> {
        let file = self.state(index)?;
        file.is_open = true;
        file.reader.open(schema)
    }

    /// Adds rows of an open file, starting at row `first`. `batch` is None if no columns are read.
    ///
    /// # Errors
    /// As for [`FileReader::apply`].
    pub fn push(&mut self, index: usize, first: u64, batch: Option<&RecordBatch>, rows: usize) -> Result<()> {
        let (expiry, watch) = (self.expiry.clone(), self.watch);
        let file = self.state(index)?;
        let mut rows = file.reader.apply(batch, first, rows)?;
        // Looked-up records are visible until their own file is rewritten, and must be found until then.
        let is_looked_up = watch.is_some_and(|watch| file.reader.meta().level > watch.output_level);
        if let Some(expiry) = expiry.filter(|_| !is_looked_up) {
            rows = expiry.live(rows, file.reader.target().position(SystemColumn::ValueKind))?;
        }
        file.waiting = Some(rows).filter(|rows| rows.num_rows() > 0);
        Ok(())
    }

    /// Finishes an open file.
    ///
    /// # Errors
    /// As for [`FileReader::end`].
    pub fn end(&mut self, index: usize) -> Result<()> {
        let file = self.state(index)?;
        file.ended = true;
        file.reader.end()
    }

    /// Advances until input is needed or rows are available.
    ///
    /// # Errors
    /// The errors of merging; `Cancelled`.
    pub fn step(&mut self) -> Result<ReadStep> {
        loop {
            self.context.check()?;
            let Some(running) = &mut self.running else {
                match self.stages.pop_front() {
                    None => return Ok(self.last()?.map_or(ReadStep::Done, ReadStep::Batch)),
                    Some(stage) => self.begin(stage)?,
                }
                continue;
            };
            let step = match running {
                Running::Files(files) => self.files.next(files)?,
                Running::Merge { merger, runs, sources } => merge_step(&mut self.files, merger, runs, sources)?,
                Running::Zip { zip, files } => zip_step(&mut self.files, zip, files)?,
            };
            match step {
                Next::Open(file) => return Ok(ReadStep::Open(file)),
                Next::Read(file) => return Ok(ReadStep::Read(file)),
                Next::End => self.running = None,
                Next::Batch(batch) => {
                    if let Some(rows) = self.finish(batch)? {
                        return Ok(ReadStep::Batch(rows));
                    }
                }
            }
        }
    }

    fn begin(&mut self, stage: Stage) -> Result<()> {
        let queues = |files: Vec<Vec<usize>>| files.into_iter().map(VecDeque::from).collect();
        self.running = match stage {
            Stage::Files(files) => Some(Running::Files(files.into())),
            Stage::Merge(runs) => {
                let spec = self
                    .merge
                    .as_ref()
                    .ok_or_else(|| Error::internal("the split needs a merge, but has no merge specification"))?;
                let mut merger = Merger::try_new(spec, self.finish.target.schema(), runs.len(), &self.context)?;
                if let Some(watch) = self.watch {
                    merger = merger.watching(watch)?;
                }
                let sources = self.files.sources(&runs)?;
                Some(Running::Merge { merger: Box::new(merger), runs: queues(runs), sources })
            }
            Stage::Zip(sources) => {
                let columns = sources.iter().map(|source| source.columns.clone()).collect();
                let files = queues(sources.into_iter().map(|source| source.files).collect());
                Some(Running::Zip { zip: Zip::new(self.finish.target.schema(), columns), files })
            }
            Stage::Difference => {
                if let Some(difference) = &mut self.difference {
                    difference.turn();
                }
                None
            }
        };
        Ok(())
    }

    /// Returns rows of the scan, or None if no row remains.
    fn finish(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        if self.watch.is_some() {
            let (rows, trace) = Trace::split_off(&batch)?;
            let rows = self.finish.rows(&rows, &self.schema)?;
            return rows.map(|rows| trace.appended_to(&rows)).transpose();
        }
        let Some(mut batch) = self.finish.live(batch)? else { return Ok(None) };
        if let Some(difference) = &mut self.difference {
            match difference.take(&batch, &self.context)? {
                None => return Ok(None),
                Some(new) => batch = new,
            }
        }
        if let Some(columns) = &self.finish.updates {
            let Some(complete) = self.waiting.take(batch, columns)? else { return Ok(None) };
            batch = complete;
        }
        self.finish.rows(&batch, &self.schema)
    }

    /// Returns the row that [`Waiting`] still holds back at the end, if it passes the filter.
    fn last(&mut self) -> Result<Option<RecordBatch>> {
        let waited = self.waiting.end();
        waited.map_or(Ok(None), |batch| self.finish.rows(&batch, &self.schema))
    }

    fn state(&mut self, index: usize) -> Result<&mut FileState> {
        self.files.states.get_mut(index).ok_or_else(|| Error::invalid(format!("the split has no file {index}")))
    }
}

impl Finish {
    /// Removes rows that only delete.
    fn live(&self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let kinds = self.target.position(SystemColumn::ValueKind).filter(|_| !self.keeps_retracts);
        let Some(kinds) = kinds.and_then(|at| batch.columns().get(at)) else { return Ok(Some(batch)) };
        let kinds =
            kinds.as_primitive_opt::<Int8Type>().ok_or_else(|| Error::internal("row kinds are not a TINYINT"))?;
        if kinds.values().iter().all(|kind| *kind == 0) {
            return Ok(Some(batch));
        }
        let live: BooleanBuffer = kinds.values().iter().map(|kind| matches!(kind, 0 | 2)).collect();
        filtered(batch, live)
    }

    /// Returns the rows that pass the filter, in the columns of the output.
    fn rows(&self, batch: &RecordBatch, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
        let columns = FieldColumns::new(&self.target.fields, batch.columns());
        let mut matching = evaluate(&self.filter, &columns, batch.num_rows())?;
        let mut images = None;
        if self.output.images {
            let all = Images::try_new(batch, self.updates.as_ref())?;
            matching = all.of_any(&matching);
            images = Some(all.only(&matching)?);
        }
        let images = images.as_ref();
        let Some(batch) = filtered(batch.clone(), matching)? else { return Ok(None) };
        let mut columns = Vec::with_capacity(schema.fields().len());
        let (leading, trailing): (Vec<MetadataColumn>, Vec<_>) =
            self.output.metadata.iter().partition(|column| column.is_leading());
        for column in leading {
            columns.push(self.metadata(column, &batch, images)?);
        }
        for field in &self.output.fields {
            let at = self.target.fields.iter().position(|other| other.id == field.id);
            let found = at.and_then(|at| Some((self.target.fields.get(at)?, batch.columns().get(at)?)));
            let (from, array) =
                found.ok_or_else(|| Error::internal("a column was not read").with("column", &field.name))?;
            let array = narrowed(array, from, field)?;
            columns.push(match (images, schema.fields().get(columns.len())) {
                (Some(images), Some(field)) => images.lists(&array, field)?,
                _ => array,
            });
        }
        for column in trailing {
            columns.push(self.metadata(column, &batch, images)?);
        }
        let rows = images.map_or(batch.num_rows(), Images::rows);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Some(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?))
    }

    /// Returns a metadata column; for rows with several images, that of the last image.
    fn metadata(&self, column: MetadataColumn, batch: &RecordBatch, images: Option<&Images>) -> Result<ArrayRef> {
        let system = match column {
            MetadataColumn::RowKind | MetadataColumn::AuditRowKind => SystemColumn::ValueKind,
            MetadataColumn::SequenceNumber | MetadataColumn::AuditSequenceNumber => SystemColumn::SequenceNumber,
            MetadataColumn::RowId => SystemColumn::RowId,
            MetadataColumn::Position => SystemColumn::Position,
        };
        let array = self.target.position(system).and_then(|at| batch.columns().get(at));
        let array = array.ok_or_else(|| Error::internal("a column was not read").with("column", column.name()))?;
        let array = images.map_or_else(|| Ok(array.clone()), |images| images.last(array))?;
        match column {
            MetadataColumn::RowKind | MetadataColumn::AuditRowKind => row_kinds(&array),
            MetadataColumn::SequenceNumber
            | MetadataColumn::AuditSequenceNumber
            | MetadataColumn::RowId
            | MetadataColumn::Position => {
                array
                    .as_primitive_opt::<Int64Type>()
                    .ok_or_else(|| Error::internal("a system column is not a BIGINT"))?;
                Ok(array)
            }
        }
    }
}

/// The next request or result of the current stage.
enum Next {
    Open(usize),
    Read(usize),
    Batch(RecordBatch),
    End,
}

impl SplitFiles {
    /// Returns the properties of each file that a merge of runs needs.
    fn sources(&self, runs: &[Vec<usize>]) -> Result<HashMap<usize, Source>> {
        let metas = runs.iter().flatten().filter_map(|file| Some((*file, self.states.get(*file)?.reader.meta())));
        let mut files: Vec<(usize, &DataFileMeta)> = metas.collect();
        files.sort_by(|(_, a), (_, b)| a.compare_age(b));
        let source = |(age, (file, meta)): (usize, (usize, &DataFileMeta))| {
            let age = u32::try_from(age).map_err(|_| Error::invalid(format!("too many files in one merge: {age}")))?;
            let number = u32::try_from(file).unwrap_or(u32::MAX);
            Ok((file, Source { level: meta.level, age, file: number }))
        };
        files.into_iter().enumerate().map(source).collect()
    }

    /// Returns the next batch of consecutive files.
    fn next(&mut self, queue: &mut VecDeque<usize>) -> Result<Next> {
        while let Some(&index) = queue.front() {
            let Some(file) = self.states.get_mut(index) else { break };
            if let Some(batch) = file.waiting.take() {
                return Ok(Next::Batch(batch));
            }
            if !file.ended && file.reader.is_blob() {
                file.waiting = file.reader.blobs(&self.storage, &self.context)?;
                file.ended = file.waiting.is_none();
                continue;
            }
            if !file.is_open && !file.ended {
                return Ok(Next::Open(index));
            }
            if !file.ended {
                return Ok(Next::Read(index));
            }
            queue.pop_front();
        }
        Ok(Next::End)
    }
}

fn merge_step(
    files: &mut SplitFiles,
    merger: &mut Merger,
    runs: &mut [VecDeque<usize>],
    sources: &HashMap<usize, Source>,
) -> Result<Next> {
    loop {
        let run = match merger.step()? {
            MergeStep::Batch(batch) => return Ok(Next::Batch(batch)),
            MergeStep::Done => return Ok(Next::End),
            MergeStep::Need(run) => run,
        };
        let queue = runs.get_mut(run).ok_or_else(|| Error::internal("a merge requested a run that does not exist"))?;
        match files.next(queue)? {
            Next::Batch(batch) => {
                let source = queue.front().and_then(|file| sources.get(file)).copied();
                let source =
                    source.ok_or_else(|| Error::internal("a batch of a merge is not from one of its files"))?;
                merger.push(run, Some((source, batch)))?;
            }
            Next::End => merger.push(run, None)?,
            wanted => return Ok(wanted),
        }
    }
}

fn zip_step(files: &mut SplitFiles, zip: &mut Zip, sources: &mut [VecDeque<usize>]) -> Result<Next> {
    while let Some(source) = zip.lacking() {
        let queue = sources.get_mut(source).ok_or_else(|| Error::internal("a column source does not exist"))?;
        match files.next(queue)? {
            Next::Batch(batch) => zip.push(source, batch)?,
            Next::End => {
                zip.end(source)?;
                if zip.is_done() {
                    return Ok(Next::End);
                }
            }
            wanted => return Ok(wanted),
        }
    }
    Ok(Next::Batch(zip.rows()?))
}

fn filtered(batch: RecordBatch, rows: BooleanBuffer) -> Result<Option<RecordBatch>> {
    match rows.count_set_bits() {
        0 => Ok(None),
        all if all == rows.len() => Ok(Some(batch)),
        _ => Ok(Some(filter_record_batch(&batch, &BooleanArray::new(rows, None))?)),
    }
}

fn row_kinds(kinds: &ArrayRef) -> Result<ArrayRef> {
    const NAMES: [&str; 4] = ["+I", "-U", "+U", "-D"];
    let kinds = kinds.as_primitive_opt::<Int8Type>().ok_or_else(|| Error::internal("row kinds are not a TINYINT"))?;
    let name = |kind: &i8| {
        let name = usize::try_from(*kind).ok().and_then(|kind| NAMES.get(kind));
        name.copied().ok_or_else(|| Error::corrupt(format!("unknown row kind {kind}")))
    };
    let names = kinds.values().iter().map(name).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StringArray::from(names)))
}

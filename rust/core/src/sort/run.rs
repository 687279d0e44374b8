//! Stores sorted rows in an unnamed temporary file, which the operating system frees when the process ends for any
//! reason.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::error::{Error, ErrorKind, Result};

/// A written run. The last column of its rows contains their keys.
#[derive(Debug)]
pub(super) struct Run {
    file: File,
    rows: SchemaRef,
}

/// A writer of a run.
pub(super) struct RunWriter {
    stream: StreamWriter<BufWriter<File>>,
    rows: SchemaRef,
    with_keys: SchemaRef,
}

/// A reader of a run from its beginning.
pub(super) struct Reader {
    stream: StreamReader<BufReader<File>>,
    rows: SchemaRef,
}

impl RunWriter {
    pub(super) fn new(rows: SchemaRef) -> Result<Self> {
        let keys = Arc::new(Field::new("", DataType::Binary, false));
        let fields: Vec<_> = rows.fields().iter().cloned().chain([keys]).collect();
        let with_keys = Arc::new(Schema::new(fields));
        let stream = StreamWriter::try_new(BufWriter::new(temporary().map_err(|e| failed(e.into()))?), &with_keys);
        Ok(Self { stream: stream.map_err(failed)?, rows, with_keys })
    }

    pub(super) fn write(&mut self, rows: &RecordBatch, keys: &Arc<dyn Array>) -> Result<()> {
        let columns = rows.columns().iter().chain([keys]).cloned().collect();
        self.stream.write(&RecordBatch::try_new(self.with_keys.clone(), columns)?).map_err(failed)
    }

    pub(super) fn finish(mut self) -> Result<Run> {
        self.stream.finish().map_err(failed)?;
        let buffered = self.stream.into_inner().map_err(failed)?;
        let file = buffered.into_inner().map_err(|e| failed(e.into_error().into()))?;
        Ok(Run { file, rows: self.rows })
    }
}

impl Run {
    pub(super) fn read(mut self) -> Result<Reader> {
        self.file.seek(SeekFrom::Start(0)).map_err(|e| failed(e.into()))?;
        let stream = StreamReader::try_new(BufReader::new(self.file), None).map_err(failed)?;
        Ok(Reader { stream, rows: self.rows })
    }
}

impl Reader {
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.rows
    }

    /// Returns the next rows with their keys.
    pub(super) fn next(&mut self) -> Result<Option<(RecordBatch, BinaryArray)>> {
        let Some(batch) = self.stream.next().transpose().map_err(failed)? else { return Ok(None) };
        let cut = || Error::internal("a run has no keys");
        let (keys, columns) = batch.columns().split_last().ok_or_else(cut)?;
        let keys = keys.as_binary_opt::<i32>().ok_or_else(cut)?.clone();
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(keys.len()));
        let rows = RecordBatch::try_new_with_options(self.rows.clone(), columns.to_vec(), &options)?;
        Ok(Some((rows, keys)))
    }
}

/// Creates a file for this process only. Its name is removed immediately; its contents are freed with the last handle.
fn temporary() -> io::Result<File> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("frazil-sort-{}-{count}", process::id()));
        match options.open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            // The file was left by an earlier process with the same process id, so another name is tried.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cold]
fn failed(error: ArrowError) -> Error {
    let folder = std::env::temp_dir();
    Error::new(ErrorKind::Storage, format!("rows to be sorted do not fit in memory or in {}", folder.display()))
        .caused_by(error)
        .hint("set TMPDIR to a folder with more space, or raise frazil.config.memory_limit")
}

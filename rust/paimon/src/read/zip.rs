//! Combines columns of the same rows from several files (documentation: "Data Evolution").

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::SchemaRef;
use frazil_core::error::{Error, ErrorKind, Result};

/// A combination of columns from several sources, row by row.
#[derive(Debug)]
pub struct Zip {
    schema: SchemaRef,
    sources: Vec<ZippedSource>,
}

#[derive(Debug)]
struct ZippedSource {
    /// The schema columns that the source provides.
    columns: Vec<usize>,
    /// Rows that are not yet combined with rows of the other sources.
    rows: Option<RecordBatch>,
    ended: bool,
}

impl Zip {
    /// Creates the combination. `columns` lists for each source the columns of `schema` that it provides. Columns
    /// without a source are NULL.
    pub fn new(schema: SchemaRef, columns: Vec<Vec<usize>>) -> Self {
        let source = |columns| ZippedSource { columns, rows: None, ended: false };
        Self { schema, sources: columns.into_iter().map(source).collect() }
    }

    /// Returns a source whose rows are needed to continue, or None if rows can be returned or all sources have ended.
    pub fn lacking(&self) -> Option<usize> {
        self.sources.iter().position(|source| source.rows.is_none() && !source.ended)
    }

    /// Returns whether no rows remain.
    pub fn is_done(&self) -> bool {
        self.sources.iter().all(|source| source.ended && source.rows.is_none())
    }

    /// Adds rows of a source, with all columns of the schema.
    ///
    /// # Errors
    /// `Internal` if the source needs no rows.
    pub fn push(&mut self, source: usize, rows: RecordBatch) -> Result<()> {
        let source = self.sources.get_mut(source).filter(|source| source.rows.is_none() && !source.ended);
        source.ok_or_else(|| Error::internal("received rows that were not requested"))?.rows = Some(rows);
        Ok(())
    }

    /// Ends a source.
    ///
    /// # Errors
    /// `CorruptDataFile` if another source still has rows.
    pub fn end(&mut self, source: usize) -> Result<()> {
        if let Some(source) = self.sources.get_mut(source) {
            source.ended = true;
        }
        if self.sources.iter().any(|source| source.rows.is_some()) {
            let message = "files that hold columns of the same rows have different numbers of rows";
            return Err(Error::new(ErrorKind::CorruptDataFile, message));
        }
        Ok(())
    }

    /// Returns as many rows as all sources have.
    ///
    /// # Errors
    /// `Internal` if a source has no rows.
    pub fn rows(&mut self) -> Result<RecordBatch> {
        let counts = self.sources.iter().map(|source| source.rows.as_ref().map_or(0, RecordBatch::num_rows));
        let count = counts.min().unwrap_or(0);
        if count == 0 {
            return Err(Error::internal("columns without rows were combined"));
        }
        let fields = self.schema.fields();
        let mut columns: Vec<_> = fields.iter().map(|_| None).collect();
        for source in &mut self.sources {
            let Some(rows) = source.rows.take() else { continue };
            for &at in &source.columns {
                if let (Some(slot), Some(array)) = (columns.get_mut(at), rows.columns().get(at)) {
                    *slot = Some(array.slice(0, count));
                }
            }
            source.rows = (rows.num_rows() > count).then(|| rows.slice(count, rows.num_rows() - count));
        }
        let columns = columns.into_iter().zip(fields);
        let columns = columns.map(|(column, field)| column.unwrap_or_else(|| new_null_array(field.data_type(), count)));
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns.collect(), &options)?)
    }
}

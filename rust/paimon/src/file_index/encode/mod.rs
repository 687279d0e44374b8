//! Encodes the indexes of a data file, byte for byte as Java does where Java writes in value order. Where Java uses the
//! order of a hash map, columns are in the order of the options, and values ascend.

mod bitmap;
mod bloom;
mod bsi;
mod column;
mod distinct;
mod options;
mod range_bitmap;
mod rows;
#[cfg(test)]
mod tests;

use arrow_array::{ArrayRef, RecordBatch};
use bytes::Bytes;
use frazil_core::error::{Error, ErrorKind, Result};

use self::bitmap::BitmapIndex;
use self::bloom::BloomFilter;
use self::bsi::EncodedSlices;
use self::column::{HeldColumn, map_values};
use self::distinct::Distinct;
pub use self::options::IndexOptions;
use self::options::{IndexedField, Settings};
use self::range_bitmap::RangeBitmap;
use super::{MAGIC, NO_VALUES, VERSION, modified_utf8};

/// A builder that collects the values of one data file. Memory grows with the number of rows, except for Bloom filters.
#[derive(Debug)]
pub struct IndexBuilder {
    fields: Vec<(IndexedField, Vec<Index>)>,
    rows: u32,
}

/// One index of one column.
#[derive(Debug)]
enum Index {
    Bloom(BloomFilter),
    Bitmap(BitmapIndex),
    Bsi(EncodedSlices),
    Range(RangeBitmap),
}

impl IndexBuilder {
    fn new(fields: &[IndexedField]) -> Self {
        let indexes =
            |field: &IndexedField| field.indexes.iter().map(|settings| Index::new(*settings, field)).collect();
        Self { fields: fields.iter().map(|field| (field.clone(), indexes(field))).collect(), rows: 0 }
    }

    /// Adds the next rows of the file. Columns without an index are ignored.
    ///
    /// # Errors
    /// * `InvalidArgument` for a column that is missing or whose Arrow type differs from
    ///   [`DataType::arrow`](crate::spec::types::DataType::arrow).
    /// * `LimitExceeded` for more than 2^31 - 1 rows, and for values that an index cannot hold.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = u32::try_from(batch.num_rows()).ok().and_then(|rows| self.rows.checked_add(rows));
        let rows = rows.filter(|rows| i32::try_from(*rows).is_ok()).ok_or_else(|| {
            Error::new(ErrorKind::LimitExceeded, "a file with indexes can have at most 2147483647 rows")
                .hint("lower the option `target-file-size`")
        })?;
        for (field, indexes) in &mut self.fields {
            let column = batch.column_by_name(&field.column).ok_or_else(|| {
                Error::invalid(format!(
                    "the column `{}`, which has a file index, is missing from the rows",
                    field.column
                ))
            })?;
            let values: ArrayRef = match &field.key {
                Some(key) => map_values(column, key, field)?,
                None => ArrayRef::clone(column),
            };
            let held = HeldColumn::new(&values, field)?;
            for index in indexes {
                index.add(&held, self.rows).map_err(|error| field.named(error))?;
            }
        }
        self.rows = rows;
        Ok(())
    }

    /// Returns the bytes of the index file.
    ///
    /// # Errors
    /// `LimitExceeded` for more than 2 GiB, and for names longer than 65,535 bytes.
    pub fn finish(self) -> Result<Bytes> {
        let rows = self.rows;
        let mut columns = Vec::with_capacity(self.fields.len());
        for (field, indexes) in self.fields {
            let mut bodies = Vec::with_capacity(indexes.len());
            for index in indexes {
                let kind = index.kind();
                // Java writes no body for a map key if no row was written.
                let is_empty = rows == 0 && field.key.is_some();
                let body = if is_empty { None } else { Some(index.finish(rows).map_err(|error| field.named(error))?) };
                bodies.push((kind, body));
            }
            columns.push((field.stored_name(), bodies));
        }
        container(&columns)
    }
}

impl Index {
    fn new(settings: Settings, field: &IndexedField) -> Self {
        let layout = field.layout;
        match settings {
            Settings::Bloom { bits, functions } => Self::Bloom(BloomFilter::new(bits, functions)),
            Settings::Bitmap { version, block_bytes } => {
                Self::Bitmap(BitmapIndex { version, block_bytes, distinct: Distinct::new(layout) })
            }
            Settings::Bsi => Self::Bsi(EncodedSlices::default()),
            Settings::Range { chunk_bytes } => {
                Self::Range(RangeBitmap { chunk_bytes, layout, distinct: Distinct::new(layout) })
            }
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Bloom(_) => "bloom-filter",
            Self::Bitmap(_) => "bitmap",
            Self::Bsi(_) => "bsi",
            Self::Range(_) => "range-bitmap",
        }
    }

    fn add(&mut self, held: &HeldColumn<'_>, first_row: u32) -> Result<()> {
        match self {
            Self::Bloom(filter) => filter.add(held),
            Self::Bitmap(index) => index.distinct.add(held)?,
            Self::Bsi(slices) => slices.add(held, first_row)?,
            Self::Range(index) => index.distinct.add(held)?,
        }
        Ok(())
    }

    fn finish(self, rows: u32) -> Result<Vec<u8>> {
        match self {
            Self::Bloom(filter) => Ok(filter.finish()),
            Self::Bitmap(index) => index.finish(rows),
            Self::Bsi(slices) => slices.finish(rows),
            Self::Range(index) => index.finish(rows),
        }
    }
}

/// The name of a column, and the types of its indexes with their bodies.
type ColumnIndexes = (String, Vec<(&'static str, Option<Vec<u8>>)>);

/// Encodes the index file.
fn container(columns: &[ColumnIndexes]) -> Result<Bytes> {
    let names: Vec<Vec<u8>> = columns.iter().map(|(name, _)| modified_utf8(name)).collect();
    let mut head_length = 24_usize;
    for (name, (_, indexes)) in names.iter().zip(columns) {
        let kinds: usize = indexes.iter().map(|(kind, _)| kind.len().saturating_add(10)).sum();
        head_length = head_length.saturating_add(6).saturating_add(name.len()).saturating_add(kinds);
    }
    let mut out = Vec::with_capacity(head_length);
    out.extend(MAGIC.to_be_bytes());
    out.extend(VERSION.to_be_bytes());
    out.extend(int(head_length)?);
    out.extend(int(columns.len())?);
    let mut start = head_length;
    for (name, (_, indexes)) in names.iter().zip(columns) {
        text(&mut out, name)?;
        out.extend(int(indexes.len())?);
        for (kind, body) in indexes {
            text(&mut out, kind.as_bytes())?;
            let length = body.as_ref().map_or(0, Vec::len);
            out.extend(if body.is_some() { int(start)? } else { NO_VALUES.to_be_bytes() });
            out.extend(int(length)?);
            start = start.saturating_add(length);
        }
    }
    out.extend([0; 4]);
    int(start)?;
    out.extend(columns.iter().flat_map(|(_, indexes)| indexes).filter_map(|(_, body)| body.as_ref()).flatten());
    Ok(out.into())
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    let length = u16::try_from(bytes.len()).map_err(|_| {
        Error::new(ErrorKind::LimitExceeded, format!("a name of {} bytes is too long for a file index", bytes.len()))
    })?;
    out.extend(length.to_be_bytes());
    out.extend(bytes);
    Ok(())
}

/// Encodes a length or position for an index.
fn int(value: usize) -> Result<[u8; 4]> {
    let held = i32::try_from(value);
    held.map(i32::to_be_bytes).map_err(|_| Error::new(ErrorKind::LimitExceeded, "a file index exceeds 2 GiB"))
}

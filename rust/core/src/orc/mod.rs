//! Reads ORC files with timestamps that exceed 64-bit nanoseconds.
//!
//! pyarrow reads ORC faster but rejects timestamps outside 1677-2262, which occur in real tables. Here the orc-rust
//! crate decodes the columns, with timestamps as exact decimal seconds. The timestamps are then converted to
//! microseconds, or to nanoseconds if the values of a batch need and fit them. The schema has pyarrow's names and
//! attributes: `item`, `key`, `value`, and the attributes of each ORC type in the metadata of its field.
//!
//! Timestamps without a zone are stored relative to the zone of their writer. As in pyarrow, they are read as the
//! writer's wall-clock time.
//!
//! Files of the ORC C++ library (which pyarrow uses for writing) are rejected if a selected column may contain
//! timestamps before 1970, according to its statistics. The library stores their fractions of seconds as negative
//! numbers. orc-rust misreads them, and its output does not show the error.
//!
//! orc-rust panics on some corrupt files and trusts lengths that a file declares. The footer is therefore decoded and
//! checked here first, ranges are served without allocating, and panics are converted to errors. The lengths of lists
//! and maps are not checked: a malicious file can still cause a large allocation.

mod tail;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, ListArray, MapArray, PrimitiveArray, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use bytes::{Buf, Bytes};
use orc_rust::arrow_reader::{ArrowReader, ArrowReaderBuilder};
use orc_rust::projection::ProjectionMask;
use orc_rust::reader::ChunkReader;

use crate::error::{Error, Result};

/// An in-memory ORC file whose tail has been checked.
#[derive(Debug)]
pub struct OrcFile {
    bytes: Bytes,
    schema: SchemaRef,
    ambiguous: Vec<bool>,
}

impl OrcFile {
    /// Decodes the tail of a file.
    ///
    /// # Errors
    /// `CorruptData`; `Unsupported` for unions and LZO.
    pub fn open(bytes: Bytes) -> Result<Self> {
        let tail = tail::read(&bytes)?;
        Ok(Self { bytes, schema: Arc::new(Schema::new(tail.fields)), ambiguous: tail.ambiguous })
    }

    /// Returns all columns, all nullable, with the attributes of their ORC types (such as field ids) as metadata, and
    /// with timestamps in microseconds.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the rows of these top-level columns, which are returned in file order, in batches of at most
    /// `batch_rows`.
    ///
    /// Timestamps keep all digits if nanoseconds can represent all values of a column in a batch. Otherwise they are
    /// microseconds, rounded down.
    ///
    /// # Errors
    /// `InvalidArgument` if no column or a non-existent one is selected; `Unsupported` for columns of the C++
    /// library that may contain timestamps before 1970; `CorruptData`.
    pub fn batches(&self, columns: &[usize], batch_rows: usize) -> Result<OrcBatches> {
        if columns.is_empty() || columns.iter().any(|at| *at >= self.schema.fields().len()) {
            return Err(Error::invalid(format!(
                "invalid selection of columns {columns:?} from an ORC file with {} columns",
                self.schema.fields().len()
            )));
        }
        if let Some(column) = columns.iter().find(|at| self.ambiguous.get(**at) == Some(&true)) {
            return Err(Error::unsupported(
                "timestamps before 1970 in a file of the ORC C++ library are only supported within 1677-2262, in data \
                 files",
            )
            .with("column", self.schema.field(*column).name()));
        }
        let wanted = self.schema.fields().iter().enumerate().filter(|(at, _)| columns.contains(at));
        let fields: Fields = wanted.map(|(_, field)| Arc::clone(field)).collect();
        let decoded: Fields = fields.iter().map(|field| Arc::new(with_decimals(field))).collect();
        let reader = guarded(|| {
            let builder = ArrowReaderBuilder::try_new(OrcSource(self.bytes.clone())).map_err(refused)?;
            let roots = builder.file_metadata().root_data_type();
            let ids = roots.children().iter().enumerate().filter(|(at, _)| columns.contains(at));
            let ids: Vec<_> = ids.map(|(_, column)| column.data_type().column_index()).collect();
            let mask = ProjectionMask::roots(roots, ids);
            let schema = Arc::new(Schema::new(decoded));
            Ok(builder.with_projection(mask).with_schema(schema).with_batch_size(batch_rows.max(1)).build())
        })?;
        Ok(OrcBatches { reader: Some(reader), schema: Arc::new(Schema::new(fields)) })
    }
}

/// An iterator over batches of an [`OrcFile`], which ends after the first error.
pub struct OrcBatches {
    reader: Option<ArrowReader<OrcSource>>,
    schema: SchemaRef,
}

impl std::fmt::Debug for OrcBatches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OrcBatches").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl OrcBatches {
    /// Returns the schema of the batches. It declares timestamps in microseconds, but a batch may contain nanoseconds.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Iterator for OrcBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        // A reader that failed is not used again.
        let mut reader = self.reader.take()?;
        let batch = guarded(|| reader.next().transpose().map_err(refused)).transpose()?;
        let finished = batch.and_then(|batch| {
            let fields: Fields = fitted_all(self.schema.fields(), batch.columns());
            let columns = fields.iter().zip(batch.columns());
            let columns = columns.map(|(field, column)| finish(column, field.data_type())).collect::<Result<_>>()?;
            Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
        });
        if finished.is_ok() {
            self.reader = Some(reader);
        }
        Some(finished)
    }
}

/// The type of timestamps that orc-rust must not round: 38 digits, nine of them after the point.
const SECONDS: DataType = DataType::Decimal128(38, 9);

fn with_decimals(field: &FieldRef) -> Field {
    let fields = |fields: &Fields| fields.iter().map(with_decimals).collect::<Fields>();
    let data_type = match field.data_type() {
        DataType::Timestamp(..) => SECONDS,
        DataType::Struct(inner) => DataType::Struct(fields(inner)),
        DataType::List(element) => DataType::List(Arc::new(with_decimals(element))),
        DataType::Map(entries, sorted) => DataType::Map(Arc::new(with_decimals(entries)), *sorted),
        other => other.clone(),
    };
    field.as_ref().clone().with_data_type(data_type)
}

fn fitted_all(fields: &Fields, columns: &[ArrayRef]) -> Fields {
    fields.iter().zip(columns).map(|(field, column)| fitted(field, column)).collect()
}

/// Returns the field with timestamps in nanoseconds if the decoded array has digits that microseconds would lose and
/// nanoseconds can represent all of its values.
fn fitted(field: &FieldRef, array: &ArrayRef) -> FieldRef {
    let data_type = match (field.data_type(), array.data_type()) {
        (DataType::Timestamp(_, zone), from) if *from == SECONDS && needs_nanos(array.as_primitive()) => {
            DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())
        }
        (DataType::Struct(inner), DataType::Struct(_)) => {
            DataType::Struct(fitted_all(inner, array.as_struct().columns()))
        }
        (DataType::List(element), DataType::List(_)) => {
            DataType::List(fitted(element, array.as_list::<i32>().values()))
        }
        (DataType::Map(entries, sorted), DataType::Map(..)) => {
            let held: ArrayRef = Arc::new(array.as_map().entries().clone());
            DataType::Map(fitted(entries, &held), *sorted)
        }
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

fn needs_nanos(nanos: &PrimitiveArray<Decimal128Type>) -> bool {
    let values = || nanos.iter().flatten();
    values().any(|value| value % 1000 != 0) && values().all(|value| i64::try_from(value).is_ok())
}

/// Converts the timestamps of a decoded array from decimal seconds to the type in `to`.
fn finish(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    Ok(match (array.data_type(), to) {
        (from, DataType::Timestamp(unit, zone)) if *from == SECONDS => {
            timestamps(array.as_primitive(), *unit, zone.as_deref())?
        }
        (DataType::Struct(_), DataType::Struct(fields)) => Arc::new(finish_struct(array.as_struct(), fields)?),
        (DataType::List(_), DataType::List(element)) => {
            let list = array.as_list::<i32>();
            let values = finish(list.values(), element.data_type())?;
            Arc::new(ListArray::try_new(Arc::clone(element), list.offsets().clone(), values, list.nulls().cloned())?)
        }
        (DataType::Map(..), DataType::Map(entries, sorted)) => {
            let map = array.as_map();
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(Error::internal("a map type has no entries"));
            };
            let values = finish_struct(map.entries(), fields)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(Arc::clone(entries), offsets, values, nulls, *sorted)?)
        }
        (from, to) => return Err(Error::corrupt(format!("an ORC column of the type {to} was decoded as {from}"))),
    })
}

fn finish_struct(array: &StructArray, fields: &Fields) -> Result<StructArray> {
    let columns = fields.iter().zip(array.columns()).map(|(field, column)| finish(column, field.data_type()));
    let columns = columns.collect::<Result<_>>()?;
    Ok(StructArray::try_new_with_length(fields.clone(), columns, array.nulls().cloned(), array.len())?)
}

fn timestamps(nanos: &PrimitiveArray<Decimal128Type>, unit: TimeUnit, zone: Option<&str>) -> Result<ArrayRef> {
    let scaled = |per_unit: i128| {
        move |value: i128| {
            i64::try_from(value.div_euclid(per_unit))
                .map_err(|_| Error::corrupt(format!("an ORC timestamp of {value} ns does not fit 64 bits")))
        }
    };
    Ok(match unit {
        TimeUnit::Nanosecond => {
            Arc::new(nanos.try_unary::<_, TimestampNanosecondType, _>(scaled(1))?.with_timezone_opt(zone))
        }
        _ => Arc::new(nanos.try_unary::<_, TimestampMicrosecondType, _>(scaled(1000))?.with_timezone_opt(zone)),
    })
}

/// Runs orc-rust, which panics on some unexpected input. Its partial results are then dropped, so no incomplete data is
/// visible.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Error::corrupt(format!("the ORC decoder failed: {text}")))
    })
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::corrupt("the ORC decoder rejected the file").caused_by(error)
}

/// An in-memory file that is read in slices: lengths in the file are checked before use, and nothing is allocated.
struct OrcSource(Bytes);

impl ChunkReader for OrcSource {
    type T = bytes::buf::Reader<Bytes>;

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn get_read(&self, offset: u64) -> io::Result<Self::T> {
        let rest = self.len().checked_sub(offset).ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(self.get_bytes(offset, rest)?.reader())
    }

    fn get_bytes(&self, offset: u64, length: u64) -> io::Result<Bytes> {
        let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
        match range {
            Some(range) if range.end <= self.0.len() => Ok(self.0.slice(range)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests;

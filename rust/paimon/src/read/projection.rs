//! Determines the columns of a data file that a read needs, and converts them to the columns of the schema that is read
//! (documentation: "Schema Evolution").
//!
//! A wanted field is matched by id to a field of the schema that the file was written with, at every level of rows.
//! That field is matched by name to a column of the file. If either is missing, the field is NULL. Partition columns
//! are constants, regardless of the file.

use std::collections::HashMap;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, new_null_array};
use arrow_schema::{DataType as ArrowType, Schema};
use frazil_core::error::{Error, Result};

use super::convert::{convert, prune};
use super::leaves::{Leaves, Wanted};
use crate::cast::Caster;
use crate::context::file_format::FileFormat;
use crate::dictionary;
use crate::spec::columns;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// The properties of a data file that are known before it is read.
#[derive(Debug, Clone, Copy)]
pub struct FileColumns<'a> {
    /// The Arrow schema of the file, from its reader.
    pub arrow: &'a Schema,
    /// The fields that the file was written with: all of its schema, or the written subset.
    pub fields: &'a [DataField],
    /// The format of the file.
    pub format: FileFormat,
    /// Partition columns of the file: arrays of one value by field id, in the Arrow type of the column.
    pub constants: &'a HashMap<i32, ArrayRef>,
}

/// A file column in addition to those of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SystemColumn {
    /// The number that orders the changes of a row: Int64.
    SequenceNumber,
    /// The row kind, 0 to 3 for +I, -U, +U, -D: Int8.
    ValueKind,
    /// The id of a row in the table: Int64.
    RowId,
    /// The position of a row in its file, which is not stored: Int64.
    Position,
}

impl SystemColumn {
    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::SequenceNumber => columns::SEQUENCE_NUMBER,
            Self::ValueKind => columns::VALUE_KIND,
            Self::RowId => columns::ROW_ID,
            Self::Position => columns::POSITION,
        }
    }

    /// Returns the type of the values.
    pub fn data_type(self) -> DataType {
        DataType::nullable(match self {
            Self::SequenceNumber | Self::RowId | Self::Position => TypeRoot::BigInt,
            Self::ValueKind => TypeRoot::TinyInt,
        })
    }
}

/// The conversion from one data file to the columns of a read.
#[derive(Debug)]
pub struct Projection {
    columns: Vec<ProjectedColumn>,
    leaves: Vec<usize>,
    top_level: Vec<usize>,
    /// Whether strings and bytes may stay dictionary-encoded.
    dictionaries: bool,
}

impl Projection {
    /// Plans how to read `wanted`, which are fields of the schema that is read, and system columns from a file.
    ///
    /// # Errors
    /// `Unsupported` naming the column for a cast that does not exist; `Internal` for a constant of another type;
    /// `LimitExceeded` for columns that are nested too deep.
    pub fn try_new(wanted: &[DataField], system: &[SystemColumn], file: &FileColumns) -> Result<Self> {
        let lookup = Lookup::of(file);
        let planned = wanted.iter().map(|field| lookup.plan(field).map_err(|error| error.with("column", &field.name)));
        let mut columns = planned.collect::<Result<Vec<_>>>()?;
        columns.extend(system.iter().map(|column| lookup.system_column(*column)));
        let (leaves, top_level) = select(&mut columns, file)?;
        Ok(Self { columns, leaves, top_level, dictionaries: false })
    }

    /// Keeps dictionary-encoded columns of strings and bytes unchanged.
    #[must_use]
    pub fn keeping_dictionaries(self, dictionaries: bool) -> Self {
        Self { dictionaries, ..self }
    }

    /// Returns the leaf columns to read, in ascending order, counted depth-first over the file as in Parquet. Empty if
    /// the file has none of the wanted fields. For ORC and Avro files, these are all leaves of each needed top-level
    /// column.
    pub fn leaves(&self) -> &[usize] {
        &self.leaves
    }

    /// Returns the top-level columns that contain [`Projection::leaves`], in ascending order.
    pub fn top_level(&self) -> &[usize] {
        &self.top_level
    }

    /// Converts `rows` rows of exactly the selected columns, in file order, to the wanted fields followed by the system
    /// columns, each in its Arrow type. Structs may be pruned to the selected leaves. If there are no columns to read,
    /// the batch may be None. A system column that the file lacks is NULL.
    ///
    /// # Errors
    /// `CorruptData` naming the column if a value cannot be read as its type, or is NULL in a NOT NULL type;
    /// `LimitExceeded` if strings exceed 2 GiB; `Internal` if the batch does not have the selected columns.
    pub fn project(&self, batch: Option<&RecordBatch>, rows: usize) -> Result<Vec<ArrayRef>> {
        match batch {
            Some(batch) if !self.top_level.is_empty() && batch.num_rows() != rows => {
                return Err(Error::internal(format!("received {} rows where {rows} were read", batch.num_rows())));
            }
            None if !self.top_level.is_empty() => {
                return Err(Error::internal("received no batch although columns were read"));
            }
            _ => {}
        }
        let columns = self.columns.iter().map(|column| {
            column.read(batch, rows, self.dictionaries).map_err(|error| error.with("column", &column.name))
        });
        columns.collect()
    }
}

/// A column of the read and the source of its values.
#[derive(Debug)]
struct ProjectedColumn {
    name: String,
    to: ArrowType,
    nullable: bool,
    source: ColumnSource,
}

#[derive(Debug)]
enum ColumnSource {
    Null,
    Constant(ArrayRef),
    File(Box<FileColumn>),
}

/// A column of the file.
#[derive(Debug)]
struct FileColumn {
    /// The position in the file.
    index: usize,
    /// The position among the columns that are read.
    position: usize,
    name: String,
    /// The wanted part of the type in the schema of the file.
    from: DataType,
    format: FileFormat,
    cast: Option<Caster>,
}

/// The fields and columns of a file.
struct Lookup<'p, 'a> {
    file: &'p FileColumns<'a>,
    written: HashMap<i32, &'a DataField>,
    places: HashMap<&'a str, usize>,
}

impl<'p, 'a> Lookup<'p, 'a> {
    fn of(file: &'p FileColumns<'a>) -> Self {
        let written = file.fields.iter().map(|field| (field.id, field)).collect();
        let places = file.arrow.fields().iter().enumerate().map(|(at, field)| (field.name().as_str(), at)).collect();
        Self { file, written, places }
    }

    fn plan(&self, field: &DataField) -> Result<ProjectedColumn> {
        let to = field.data_type.arrow();
        let source = match self.file.constants.get(&field.id) {
            Some(value) if value.len() == 1 && *value.data_type() == to => {
                ColumnSource::Constant(ArrayRef::clone(value))
            }
            Some(value) => {
                let (found, length) = (value.data_type(), value.len());
                return Err(Error::internal(format!(
                    "received {length} partition values of type {found}, expected one of {to}"
                )));
            }
            None => self.source(field)?,
        };
        Ok(ProjectedColumn { name: field.name.clone(), to, nullable: field.data_type.nullable, source })
    }

    fn source(&self, field: &DataField) -> Result<ColumnSource> {
        let Some(written) = self.written.get(&field.id) else { return Ok(ColumnSource::Null) };
        // The types must be compatible even if the file has no values.
        let from = prune(&written.data_type, &field.data_type);
        let cast = Caster::at(&field.name, &from, &field.data_type)?;
        Ok(self.column(&written.name, from, cast))
    }

    fn system_column(&self, column: SystemColumn) -> ProjectedColumn {
        let to = column.data_type();
        let source = self.column(column.name(), to.clone(), None);
        ProjectedColumn { name: column.name().to_owned(), to: to.arrow(), nullable: true, source }
    }

    fn column(&self, name: &str, from: DataType, cast: Option<Caster>) -> ColumnSource {
        let file = |index: &usize| FileColumn {
            index: *index,
            position: 0,
            name: name.to_owned(),
            from,
            format: self.file.format,
            cast,
        };
        self.places.get(name).map(file).map_or(ColumnSource::Null, |column| ColumnSource::File(Box::new(column)))
    }
}

/// Returns the leaves and the top-level columns to read, and records in `columns` the position of each.
fn select(columns: &mut [ProjectedColumn], file: &FileColumns) -> Result<(Vec<usize>, Vec<usize>)> {
    let mut readers = vec![Vec::new(); file.arrow.fields().len()];
    for (at, column) in columns.iter().enumerate() {
        if let ColumnSource::File(column) = &column.source
            && let Some(readers) = readers.get_mut(column.index)
        {
            readers.push(at);
        }
    }
    let mut leaves = Leaves::default();
    let mut top_level = Vec::new();
    for (at, (field, readers)) in file.arrow.fields().iter().zip(readers).enumerate() {
        for reader in &readers {
            if let Some(ProjectedColumn { source: ColumnSource::File(column), .. }) = columns.get_mut(*reader) {
                column.position = top_level.len();
            }
        }
        let only = match readers.as_slice() {
            [reader] if file.format == FileFormat::Parquet => columns.get(*reader).map(|column| &column.source),
            _ => None,
        };
        let wanted = match only {
            Some(ColumnSource::File(column)) => Wanted::Part(&column.from),
            _ if readers.is_empty() => Wanted::Nothing,
            _ => Wanted::All,
        };
        leaves.pass(field, wanted).map_err(|error| error.with("column", field.name()))?;
        if !readers.is_empty() {
            top_level.push(at);
        }
    }
    Ok((leaves.wanted, top_level))
}

impl ProjectedColumn {
    fn read(&self, batch: Option<&RecordBatch>, rows: usize, dictionaries: bool) -> Result<ArrayRef> {
        let array = match &self.source {
            ColumnSource::Null => new_null_array(&self.to, rows),
            ColumnSource::Constant(value) => arrow_select::take::take(value, &UInt64Array::from(vec![0; rows]), None)?,
            ColumnSource::File(column) => column.read(batch, dictionaries)?,
        };
        if !dictionary::holds(array.data_type(), &self.to) {
            return Err(Error::internal(format!("a column has type {}, expected {}", array.data_type(), self.to)));
        }
        if !self.nullable && array.logical_null_count() > 0 {
            return Err(Error::corrupt("the column is NOT NULL, but the data file contains NULL or lacks the column"));
        }
        Ok(array)
    }
}

impl FileColumn {
    fn read(&self, batch: Option<&RecordBatch>, dictionaries: bool) -> Result<ArrayRef> {
        let found = batch.and_then(|batch| {
            let field = batch.schema_ref().fields().get(self.position)?;
            Some((field.name().clone(), batch.columns().get(self.position)?))
        });
        let array = match found {
            Some((name, array)) if name == self.name && dictionaries && self.stays_dictionary(array) => {
                let array = dictionary::replaced(array)?;
                dictionary::check(&array)?;
                return Ok(array);
            }
            Some((name, array)) if name == self.name => convert(array, &self.from, self.format)?,
            found => {
                let found = found.map_or_else(|| "nothing".to_owned(), |(name, _)| name);
                return Err(Error::internal(format!("expected column {}, received {found}", self.name)));
            }
        };
        match &self.cast {
            None => Ok(array),
            Some(cast) => cast.cast(&array),
        }
    }

    /// Returns whether a dictionary-encoded array can be returned unchanged: it needs no cast and has the type of the
    /// column.
    fn stays_dictionary(&self, array: &ArrayRef) -> bool {
        let is_dictionary = matches!(array.data_type(), ArrowType::Dictionary(..));
        is_dictionary && self.cast.is_none() && dictionary::holds(array.data_type(), &self.from.arrow())
    }
}

#[cfg(test)]
#[path = "projection_tests.rs"]
mod tests;

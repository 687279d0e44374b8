//! Which columns of a data file a read needs, and how batches of them become columns of the schema that is read
//! (documentation: "Schema Evolution").
//!
//! A wanted field is the field of the same id in the schema that the file was written with, at every level of rows, and
//! that one is the column of the file of the same name. Without either it is NULL. Partition columns are constants,
//! whatever the file has for them.

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

/// What is known of a data file before it is read.
#[derive(Debug, Clone, Copy)]
pub struct FileColumns<'a> {
    /// The schema of the file as its reader gives it.
    pub arrow: &'a Schema,
    /// The fields that the file was written with: those of its schema, or the ones of them that were written.
    pub fields: &'a [DataField],
    /// The format of the file.
    pub format: FileFormat,
    /// Partition columns of the file: arrays of one value by field id, in the Arrow type of the column.
    pub constants: &'a HashMap<i32, ArrayRef>,
}

/// A column that files have beside those of their schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SystemColumn {
    /// The order of changes to a row: Int64.
    SequenceNumber,
    /// What a row does, 0 to 3 for +I, -U, +U, -D: Int8.
    ValueKind,
    /// The number of a row in the table: Int64.
    RowId,
}

impl SystemColumn {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::SequenceNumber => columns::SEQUENCE_NUMBER,
            Self::ValueKind => columns::VALUE_KIND,
            Self::RowId => columns::ROW_ID,
        }
    }

    /// The type of its values.
    pub fn data_type(self) -> DataType {
        DataType::nullable(match self {
            Self::SequenceNumber | Self::RowId => TypeRoot::BigInt,
            Self::ValueKind => TypeRoot::TinyInt,
        })
    }
}

/// The way from one data file to the columns of a read.
#[derive(Debug)]
pub struct Projection {
    columns: Vec<Column>,
    leaves: Vec<usize>,
    top_level: Vec<usize>,
    /// Whether texts and bytes may stay dictionaries.
    dictionaries: bool,
}

impl Projection {
    /// Plans how to read `wanted`, fields of the schema that is read, and columns beside them from a file.
    ///
    /// # Errors
    /// `Unsupported` naming the column for a cast that does not exist; `Internal` for a constant of another type;
    /// `LimitExceeded` for columns nested too deep.
    pub fn try_new(wanted: &[DataField], system: &[SystemColumn], file: &FileColumns) -> Result<Self> {
        let lookup = Lookup::of(file);
        let planned = wanted.iter().map(|field| lookup.plan(field).map_err(|error| error.with("column", &field.name)));
        let mut columns = planned.collect::<Result<Vec<_>>>()?;
        columns.extend(system.iter().map(|column| lookup.system_column(*column)));
        let (leaves, top_level) = select(&mut columns, file)?;
        Ok(Self { columns, leaves, top_level, dictionaries: false })
    }

    /// Leaves columns of texts and bytes that come as dictionaries as they are.
    #[must_use]
    pub fn keeping_dictionaries(self, dictionaries: bool) -> Self {
        Self { dictionaries, ..self }
    }

    /// The leaf columns to read, counted depth-first over the file as Parquet counts them, ascending. Empty when the
    /// file has none of the wanted fields. Of ORC and Avro files all leaves of each needed top-level column.
    pub fn leaves(&self) -> &[usize] {
        &self.leaves
    }

    /// The top-level columns that hold [`Projection::leaves`], ascending.
    pub fn top_level(&self) -> &[usize] {
        &self.top_level
    }

    /// Turns `rows` rows of exactly the selected columns, in file order, into the wanted fields and then the columns
    /// beside them, each in its Arrow type. Structs may be pruned to the selected leaves. Without anything to read there
    /// need not be a batch. A column beside them that the file lacks is NULL.
    ///
    /// # Errors
    /// `CorruptData` naming the column when a value cannot be read as its type or is NULL where the type excludes it;
    /// `LimitExceeded` when texts exceed 2 GiB; `Internal` when the batch does not hold what was selected.
    pub fn project(&self, batch: Option<&RecordBatch>, rows: usize) -> Result<Vec<ArrayRef>> {
        match batch {
            Some(batch) if !self.top_level.is_empty() && batch.num_rows() != rows => {
                return Err(Error::internal(format!("{} rows came where {rows} were read", batch.num_rows())));
            }
            None if !self.top_level.is_empty() => return Err(Error::internal("no batch came where columns were read")),
            _ => {}
        }
        let columns = self.columns.iter().map(|column| {
            column.read(batch, rows, self.dictionaries).map_err(|error| error.with("column", &column.name))
        });
        columns.collect()
    }
}

/// A column of the read and where its values come from.
#[derive(Debug)]
struct Column {
    name: String,
    to: ArrowType,
    nullable: bool,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Null,
    Constant(ArrayRef),
    File(Box<FileColumn>),
}

/// A column of the file.
#[derive(Debug)]
struct FileColumn {
    /// Its place in the file.
    index: usize,
    /// Its place among those that are read.
    position: usize,
    name: String,
    /// What of its type in the schema of the file is wanted.
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

    fn plan(&self, field: &DataField) -> Result<Column> {
        let to = field.data_type.arrow();
        let source = match self.file.constants.get(&field.id) {
            Some(value) if value.len() == 1 && *value.data_type() == to => Source::Constant(ArrayRef::clone(value)),
            Some(value) => {
                let (found, length) = (value.data_type(), value.len());
                return Err(Error::internal(format!("{length} partition values of type {found} came for one of {to}")));
            }
            None => self.source(field)?,
        };
        Ok(Column { name: field.name.clone(), to, nullable: field.data_type.nullable, source })
    }

    fn source(&self, field: &DataField) -> Result<Source> {
        let Some(written) = self.written.get(&field.id) else { return Ok(Source::Null) };
        // The types must go together even where the file has no values.
        let from = prune(&written.data_type, &field.data_type);
        let cast = Caster::at(&field.name, &from, &field.data_type)?;
        Ok(self.column(&written.name, from, cast))
    }

    fn system_column(&self, column: SystemColumn) -> Column {
        let to = column.data_type();
        let source = self.column(column.name(), to.clone(), None);
        Column { name: column.name().to_owned(), to: to.arrow(), nullable: true, source }
    }

    fn column(&self, name: &str, from: DataType, cast: Option<Caster>) -> Source {
        let file = |index: &usize| FileColumn {
            index: *index,
            position: 0,
            name: name.to_owned(),
            from,
            format: self.file.format,
            cast,
        };
        self.places.get(name).map(file).map_or(Source::Null, |column| Source::File(Box::new(column)))
    }
}

/// The leaves and the columns of the file that are read; says in `columns` where each of them then stands.
fn select(columns: &mut [Column], file: &FileColumns) -> Result<(Vec<usize>, Vec<usize>)> {
    let mut readers = vec![Vec::new(); file.arrow.fields().len()];
    for (at, column) in columns.iter().enumerate() {
        if let Source::File(column) = &column.source
            && let Some(readers) = readers.get_mut(column.index)
        {
            readers.push(at);
        }
    }
    let mut leaves = Leaves::default();
    let mut top_level = Vec::new();
    for (at, (field, readers)) in file.arrow.fields().iter().zip(readers).enumerate() {
        for reader in &readers {
            if let Some(Column { source: Source::File(column), .. }) = columns.get_mut(*reader) {
                column.position = top_level.len();
            }
        }
        let only = match readers.as_slice() {
            [reader] if file.format == FileFormat::Parquet => columns.get(*reader).map(|column| &column.source),
            _ => None,
        };
        let wanted = match only {
            Some(Source::File(column)) => Wanted::Part(&column.from),
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

impl Column {
    fn read(&self, batch: Option<&RecordBatch>, rows: usize, dictionaries: bool) -> Result<ArrayRef> {
        let array = match &self.source {
            Source::Null => new_null_array(&self.to, rows),
            Source::Constant(value) => arrow_select::take::take(value, &UInt64Array::from(vec![0; rows]), None)?,
            Source::File(column) => column.read(batch, dictionaries)?,
        };
        if !dictionary::holds(array.data_type(), &self.to) {
            return Err(Error::internal(format!("{} was read where {} was planned", array.data_type(), self.to)));
        }
        if !self.nullable && array.logical_null_count() > 0 {
            return Err(Error::corrupt("the column is NOT NULL and the data file holds NULL or lacks it"));
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
                return Err(Error::internal(format!("column {} was to be read, {found} came", self.name)));
            }
        };
        match &self.cast {
            None => Ok(array),
            Some(cast) => cast.cast(&array),
        }
    }

    /// Whether the values of a dictionary are those of the column.
    fn stays_dictionary(&self, array: &ArrayRef) -> bool {
        let is_dictionary = matches!(array.data_type(), ArrowType::Dictionary(..));
        is_dictionary && self.cast.is_none() && dictionary::holds(array.data_type(), &self.from.arrow())
    }
}

#[cfg(test)]
#[path = "projection_tests.rs"]
mod tests;

//! The columns of the data files of primary-key tables (documentation: "Data Files").
//!
//! ```text
//! _KEY_<key>*   not in thin mode    _SEQUENCE_NUMBER    _VALUE_KIND    the columns of the table
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use frazil_core::error::{Error, Result};

use super::align::FILE_FIELD_ID;
use super::upsert::Records;
use crate::read::projection::SystemColumn;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;

/// How the names of key columns begin.
const KEY_PREFIX: &str = "_KEY_";

/// Ids of key columns are this and the id of the column of the table (Java's `SpecialFields`).
const KEY_ID_BASE: i32 = i32::MAX / 2;
const SEQUENCE_ID: i32 = i32::MAX - 1;
const KIND_ID: i32 = i32::MAX - 2;

/// Turns records into rows of files.
#[derive(Debug)]
pub(crate) struct FileSchema {
    arrow: SchemaRef,
    has_keys: bool,
}

impl FileSchema {
    /// Return the one of a table whose columns are `values`, in files.
    ///
    /// # Errors
    /// `InvalidArgument` for options that do not parse.
    pub(crate) fn try_new(schema: &TableSchema, values: &Schema, options: &Options) -> Result<Self> {
        let has_keys = !options.boolean("data-file.thin-mode", false)?;
        let with_id = |field: Field, id: i32| -> FieldRef {
            Arc::new(field.with_metadata([(FILE_FIELD_ID.to_string(), id.to_string())].into()))
        };
        let keys = schema.trimmed_primary_keys().into_iter().filter_map(|key| schema.field(key));
        let mut fields: Vec<FieldRef> = keys
            .filter(|_| has_keys)
            .map(|key| {
                let field = Field::new(format!("{KEY_PREFIX}{}", key.name), key.data_type.arrow(), false);
                with_id(field, KEY_ID_BASE.saturating_add(key.id))
            })
            .collect();
        let number = Field::new(SystemColumn::SequenceNumber.name(), DataType::Int64, false);
        fields.push(with_id(number, SEQUENCE_ID));
        fields.push(with_id(Field::new(SystemColumn::ValueKind.name(), DataType::Int8, false), KIND_ID));
        fields.extend(values.fields().iter().cloned());
        Ok(Self { arrow: Arc::new(Schema::new(fields)), has_keys })
    }

    pub(crate) fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// Return records with the columns of their keys as rows of a file.
    pub(crate) fn rows(&self, records: &Records, keys: Vec<ArrayRef>) -> Result<RecordBatch> {
        let mut columns = if self.has_keys { keys } else { Vec::new() };
        columns.push(Arc::new(records.sequences.clone()));
        columns.push(Arc::new(records.kinds.clone()));
        columns.extend(records.values.columns().iter().cloned());
        RecordBatch::try_new(self.arrow.clone(), columns)
            .map_err(|error| Error::internal("merged records do not fit the files").caused_by(error))
    }
}

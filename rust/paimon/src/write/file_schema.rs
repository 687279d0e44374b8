//! Defines the columns of the data files of primary-key tables (documentation: "Data Files").
//!
//! ```text
//! _KEY_<key>*   not in thin mode    _SEQUENCE_NUMBER    _VALUE_KIND    the columns of the table
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use frazil_core::error::{Error, Result};

use super::align::FILE_FIELD_ID;
use super::upsert::Records;
use crate::read::projection::SystemColumn;
use crate::spec::columns::KEY_PREFIX;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// The base of the ids of key columns, to which the id of the table column is added (Java's `SpecialFields`).
const KEY_ID_BASE: i32 = i32::MAX / 2;
const SEQUENCE_ID: i32 = i32::MAX - 1;
const KIND_ID: i32 = i32::MAX - 2;

/// The converter from records to rows of files.
#[derive(Debug)]
pub(crate) struct FileSchema {
    arrow: SchemaRef,
    columns: Vec<DataField>,
    has_keys: bool,
}

impl FileSchema {
    /// Creates the converter for a table whose columns in files are `values`.
    ///
    /// # Errors
    /// `InvalidArgument` for options that do not parse.
    pub(crate) fn try_new(schema: &TableSchema, values: &Schema, options: &Options) -> Result<Self> {
        let has_keys = !options.boolean("data-file.thin-mode", false)?;
        let column = |id: i32, name: String, root: TypeRoot| DataField {
            id,
            name,
            data_type: DataType::required(root),
            description: None,
            default_value: None,
        };
        let keys = schema.trimmed_primary_keys().into_iter().filter_map(|key| schema.field(key));
        let mut columns: Vec<DataField> = keys
            .filter(|_| has_keys)
            .map(|key| {
                let id = KEY_ID_BASE.saturating_add(key.id);
                column(id, format!("{KEY_PREFIX}{}", key.name), key.data_type.root.clone())
            })
            .collect();
        columns.push(column(SEQUENCE_ID, SystemColumn::SequenceNumber.name().to_string(), TypeRoot::BigInt));
        columns.push(column(KIND_ID, SystemColumn::ValueKind.name().to_string(), TypeRoot::TinyInt));
        let with_id = |column: &DataField| -> FieldRef {
            let metadata = [(FILE_FIELD_ID.to_string(), column.id.to_string())];
            Arc::new(Field::new(&column.name, column.data_type.arrow(), false).with_metadata(metadata.into()))
        };
        let fields: Vec<FieldRef> = columns.iter().map(with_id).chain(values.fields().iter().cloned()).collect();
        columns.extend(schema.fields.iter().cloned());
        Ok(Self { arrow: Arc::new(Schema::new(fields)), columns, has_keys })
    }

    /// Returns the columns.
    pub(crate) fn columns(&self) -> &[DataField] {
        &self.columns
    }

    pub(crate) fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// Converts records with their key columns to rows of a file.
    pub(crate) fn rows(&self, records: &Records, keys: Vec<ArrayRef>) -> Result<RecordBatch> {
        let mut columns = if self.has_keys { keys } else { Vec::new() };
        columns.push(Arc::new(records.sequences.clone()));
        columns.push(Arc::new(records.kinds.clone()));
        columns.extend(records.values.columns().iter().cloned());
        RecordBatch::try_new(self.arrow.clone(), columns)
            .map_err(|error| Error::internal("merged records do not match the schema of files").caused_by(error))
    }
}

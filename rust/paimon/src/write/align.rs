//! Converts user rows to rows of a table: columns by name, in the types and order of the table.
//!
//! The permitted conversions are listed in [`frazil_core::align`]. Strings and bytes that are longer than the
//! column, times with more digits than it has, and NULL in a NOT NULL column are rejected.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType as ArrowType, Field, Fields, SchemaRef, TimeUnit};
use frazil_core::align::{self, Aligner, Limit, RowShape, Rules, Target};
use frazil_core::error::{Error, Result};

use crate::spec::columns::ROW_KIND;
use crate::spec::json::shown;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// The key of Arrow field metadata from which writers of data files take the field id.
pub(super) const FILE_FIELD_ID: &str = "PARQUET:field_id";

/// The base of the ids of elements, keys and values: keys have ids below the base, elements and values above it (Java's
/// `SpecialFields`).
const STRUCTURED_ID_BASE: i32 = i32::MAX / 4;

/// The number of ids that are reserved for the parts of one field.
const IDS_OF_FIELD: i32 = 1 << 10;

/// The rules for rows that are already in files.
pub(super) const RULES: Rules =
    Rules { not_null: "NOT NULL", type_name, digits_hint: "truncate the column", unique_keys: false };

/// The rules for new rows: keys of Java's maps are unique.
const NEW_ROWS: Rules = Rules { unique_keys: true, ..RULES };

/// The converter from batches of one schema to rows of a table.
#[derive(Debug)]
pub struct Align {
    schema: Arc<TableSchema>,
    aligner: Aligner,
}

impl Align {
    /// Creates a converter for a table of this schema.
    pub fn new(schema: Arc<TableSchema>) -> Self {
        let targets = schema.fields.iter().map(target_of).collect();
        Self { aligner: Aligner::new(targets, RULES), schema }
    }

    /// Creates a converter for new rows of a table, in which missing columns have their defaults. If `has_kinds`, the
    /// last column contains row kinds as strings.
    pub(super) fn of_new_rows(schema: Arc<TableSchema>, defaults: &[Option<ArrayRef>], has_kinds: bool) -> Self {
        let kind = DataType::nullable(TypeRoot::VarChar(i32::MAX.unsigned_abs()));
        let kinds = target(ROW_KIND, &kind, Id { of_field: -1, depth: 0, in_file: -1 });
        let with_default =
            |(field, default): (&DataField, &Option<ArrayRef>)| Target { default: default.clone(), ..target_of(field) };
        let columns = schema.fields.iter().zip(defaults).map(with_default);
        let targets = columns.chain(has_kinds.then_some(kinds)).collect();
        Self { aligner: Aligner::new(targets, NEW_ROWS), schema }
    }

    /// Returns the Arrow schema of the rows, with field ids.
    pub fn arrow(&self) -> &SchemaRef {
        self.aligner.arrow()
    }

    /// Converts a batch to rows of the table. Missing columns are NULL or have their defaults.
    ///
    /// # Errors
    /// `InvalidArgument` naming a column that the table does not have, that occurs twice, or whose type cannot be
    /// converted to the table's; also naming the row where a NOT NULL column is NULL or a value does not fit.
    pub fn align(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.aligner.align(batch, |name| no_such_column(&self.schema.fields, name))
    }
}

/// Returns the rows of the source of a merge in the types of the table's columns. With `exact`, a column whose values
/// the table rejects is an error; otherwise it keeps its type.
///
/// # Errors
/// See [`align::source_batches`].
pub fn source_batches(schema: &TableSchema, batches: &[RecordBatch], exact: bool) -> Result<Vec<RecordBatch>> {
    let targets: Vec<_> = schema.fields.iter().map(target_of).collect();
    align::source_batches(&targets, &NEW_ROWS, batches, exact)
}

/// Returns the target of a column.
pub(super) fn target_of(field: &DataField) -> Target {
    target(&field.name, &field.data_type, Id { of_field: field.id, depth: 0, in_file: field.id })
}

/// The id of a value in files.
#[derive(Clone, Copy)]
struct Id {
    /// The column, or the field of a ROW, that contains the value.
    of_field: i32,
    /// The number of arrays and maps of that field that enclose the value.
    depth: i32,
    in_file: i32,
}

impl Id {
    /// Returns the id of the elements of an array or the values of a map.
    fn part(self) -> Self {
        let depth = self.depth.saturating_add(1);
        Self { depth, in_file: STRUCTURED_ID_BASE.saturating_add(self.offset(depth)), ..self }
    }

    /// Returns the id of the keys of a map.
    fn key(self) -> Self {
        let depth = self.depth.saturating_add(1);
        Self { depth, in_file: STRUCTURED_ID_BASE.saturating_sub(self.offset(depth)), ..self }
    }

    fn offset(self, depth: i32) -> i32 {
        self.of_field.saturating_mul(IDS_OF_FIELD).saturating_add(depth)
    }
}

fn target(name: &str, data_type: &DataType, id: Id) -> Target {
    let shape = match &data_type.root {
        TypeRoot::Array(element) => RowShape::List(Box::new(target("element", element, id.part()))),
        TypeRoot::Map(key, value) => map(key, value, id),
        TypeRoot::Multiset(element) => map(element, &DataType::required(TypeRoot::Int), id),
        TypeRoot::Row(fields) => RowShape::Struct(fields.iter().map(target_of).collect()),
        TypeRoot::Variant => RowShape::Variant,
        _ => RowShape::Leaf(limit(data_type)),
    };
    let arrow = match &shape {
        RowShape::Struct(fields) => ArrowType::Struct(fields.iter().map(|field| field.field.clone()).collect()),
        RowShape::List(element) => ArrowType::List(element.field.clone()),
        RowShape::Map(parts) => {
            let entries: Fields = parts.iter().map(|part| part.field.clone()).collect();
            ArrowType::Map(Arc::new(Field::new("entries", ArrowType::Struct(entries), false)), false)
        }
        RowShape::Leaf(_) | RowShape::Variant => data_type.arrow(),
    };
    // The metadata of a variant field includes its extension type.
    let mut field = data_type.field(name).with_data_type(arrow);
    field.metadata_mut().insert(FILE_FIELD_ID.to_string(), id.in_file.to_string());
    Target { field: Arc::new(field), type_name: data_type.to_string(), shape, default: None }
}

/// Returns the shape of a map. Keys are not nullable, regardless of their type: Arrow does not support nullable keys.
fn map(key: &DataType, value: &DataType, id: Id) -> RowShape {
    let key = DataType::required(key.root.clone());
    RowShape::Map(Box::new([target("key", &key, id.key()), target("value", value, id.part())]))
}

/// Returns the limit of the values of a type.
fn limit(data_type: &DataType) -> Limit {
    match data_type.root {
        TypeRoot::Char(length) | TypeRoot::VarChar(length) => Limit::Characters(length),
        TypeRoot::Binary(length) | TypeRoot::VarBinary(length) => Limit::Bytes(length),
        TypeRoot::Time(digits) | TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) => {
            let kept = match data_type.arrow() {
                ArrowType::Timestamp(TimeUnit::Microsecond, _) => 6,
                ArrowType::Timestamp(TimeUnit::Nanosecond, _) => 9,
                _ => 3,
            };
            let lost = u32::from(digits).abs_diff(kept);
            let ticks = 10_i64.checked_pow(lost).filter(|_| u32::from(digits) < kept);
            ticks.map_or(Limit::None, Limit::Ticks)
        }
        _ => Limit::None,
    }
}

fn no_such_column(fields: &[DataField], name: &str) -> Error {
    let names: Vec<String> = fields.iter().map(|field| format!("`{}`", shown(&field.name))).collect();
    let name = shown(name);
    Error::invalid(format!("the table has no column `{name}`"))
        .with("column", &name)
        .hint(format!("the table has the columns {}", names.join(", ")))
}

fn type_name(data_type: &ArrowType) -> String {
    data_type.to_string().to_lowercase()
}

#[cfg(test)]
#[path = "align_tests.rs"]
mod tests;

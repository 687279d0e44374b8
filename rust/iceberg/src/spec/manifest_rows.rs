//! Reads manifests and manifest lists with all fields, for operations that rewrite them.
//!
//! Rows have the fields of the latest version ([`manifest_type`](super::manifest_type)); fields that an older version
//! lacks are NULL. Maps are lists of key and value, as stored in the file. If they are not needed, maps and lists can
//! stay encoded ([`Kind::Encoded`]), because they are most of the decoding work.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Int64Array, PrimitiveArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use frazil_core::avro::{self, AvroFile, Column, Key, Kind, Projection};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::arrow::arrow_primitive;
use super::avro_schema::avro_schema;
use super::manifest_type::{manifest_entry, manifest_file};
use super::partition_value;
use super::types::{NestedField, StructType, Type};

/// The format version whose fields the rows have.
const ROWS_VERSION: u8 = 3;

/// The value of `block_size_in_bytes` in v1, which readers ignore.
const BLOCK_SIZE_BYTES: i64 = 64 << 20;

/// The number of entries in a batch; entries with all their statistics are about a kilobyte each.
const BATCH_ROWS: usize = 8_192;

/// The field id of `data_file`.
const DATA_FILE_ID: i32 = 2;

/// The field id of `partition`, the tuple of a file.
pub(crate) const PARTITION_ID: i32 = 102;

/// Reads the rows of a manifest.
///
/// Java (1.11) writes `fixed` values in partition tuples with a length prefix, although its schema declares `fixed`,
/// and reads no other form. Such a file is recognised by the lengths, which must all match the schema; other files are
/// read as the Avro specification requires.
///
/// # Errors
/// See [`AvroFile::read`].
pub(crate) fn read_manifest(file: &AvroFile, projection: &Projection, context: &Context) -> Result<RecordBatch> {
    if let Some(sized) = file.schema().with_sized_fixed(PARTITION_ID) {
        match file.clone().with_schema(sized).read(projection, context) {
            Err(error) if error.kind() == ErrorKind::CorruptData => {}
            other => return other,
        }
    }
    file.read(projection, context)
}

/// Reads every entry of a manifest, including deleted ones, without inheritance.
///
/// # Errors
/// `CorruptManifest`.
pub fn read_entries(bytes: Bytes, partition: &StructType, context: &Context) -> Result<RecordBatch> {
    let columns = columns(&manifest_entry(ROWS_VERSION, partition.clone()));
    let read = AvroFile::open(bytes).and_then(|file| read_typed(&file, columns, partition, context));
    read.map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))
}

/// Reads every entry of a manifest in order to copy it to another one: maps and lists of files stay encoded if their
/// encoding is the one written here.
///
/// # Errors
/// `CorruptManifest`.
pub fn read_entries_to_copy(manifest: &AvroFile, partition: &StructType, context: &Context) -> Result<RecordBatch> {
    let entry = manifest_entry(ROWS_VERSION, partition.clone());
    let written = avro::Schema::parse(avro_schema("manifest_entry", &entry)?.as_bytes())?;
    let mut columns = columns(&entry);
    keep_encoded(&mut columns, manifest.schema(), &written);
    read_typed(manifest, columns, partition, context).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))
}

/// Reads rows whose partition values have the types of `partition`, regardless of the manifest's schema.
fn read_typed(
    manifest: &AvroFile,
    mut columns: Vec<Column>,
    partition: &StructType,
    context: &Context,
) -> Result<RecordBatch> {
    as_recorded(&mut columns);
    let rows = read_manifest(manifest, &Projection::new(columns), context)?;
    typed_rows(&rows, partition)
}

/// Reads the entries of a manifest in batches, without inheritance, and only the file fields in `wanted`.
///
/// # Errors
/// `CorruptManifest`; later errors are items of the iterator.
pub(crate) fn entry_batches(
    manifest: &AvroFile,
    partition: &StructType,
    wanted: &dyn Fn(&str) -> bool,
    context: &Context,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + Send + use<>> {
    let corrupt = |e: Error| e.corrupt_as(ErrorKind::CorruptManifest);
    let mut fields = columns(&manifest_entry(ROWS_VERSION, partition.clone()));
    if let Some(Column { kind: Kind::Struct(files), .. }) = child(&mut fields, DATA_FILE_ID) {
        files.retain(|column| wanted(&column.name));
    }
    as_recorded(&mut fields);
    let schema = sized_schema(manifest, &fields, context).unwrap_or_else(|| manifest.schema().clone());
    let batches = manifest.clone().with_schema(schema).batches(&Projection::new(fields), BATCH_ROWS, context);
    let partition = partition.clone();
    let typed = move |rows: Result<RecordBatch>| rows.and_then(|rows| typed_rows(&rows, &partition)).map_err(corrupt);
    Ok(batches.map_err(corrupt)?.map(typed))
}

/// Returns the schema with a length prefix for `fixed` values, if the partition values of all entries are written this
/// way.
fn sized_schema(manifest: &AvroFile, fields: &[Column], context: &Context) -> Option<avro::Schema> {
    let sized = manifest.schema().with_sized_fixed(PARTITION_ID)?;
    let mut fields = fields.to_vec();
    fields.retain(|column| column.keys.contains(&Key::Id(DATA_FILE_ID)));
    if let Some(Column { kind: Kind::Struct(files), .. }) = fields.first_mut() {
        files.retain(|column| column.keys.contains(&Key::Id(PARTITION_ID)));
    }
    manifest.clone().with_schema(sized.clone()).read(&Projection::new(fields), context).ok().map(|_| sized)
}

/// Changes the partition columns so that values are read with the types that the manifest declares.
fn as_recorded(columns: &mut [Column]) {
    let partition_column = child(columns, DATA_FILE_ID)
        .and_then(|files| if let Kind::Struct(columns) = &mut files.kind { Some(columns) } else { None })
        .and_then(|columns| child(columns, PARTITION_ID));
    if let Some(Column { kind: Kind::Struct(values), .. }) = partition_column {
        for value in values {
            value.kind = Kind::Natural;
        }
    }
}

/// Returns the same rows with partition values of the types of `partition`.
fn typed_rows(rows: &RecordBatch, partition: &StructType) -> Result<RecordBatch> {
    let columns = rows.schema_ref().fields().iter().zip(rows.columns()).map(|(field, column)| {
        if field.name() == "data_file" { with_typed_partition(column, partition) } else { Ok(column.clone()) }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let fields = rows.schema_ref().fields().iter().zip(&columns);
    let fields: Fields = fields.map(|(field, column)| retyped(field, column)).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// Returns a `data_file` column with partition values of the types of `partition`.
fn with_typed_partition(files: &ArrayRef, partition: &StructType) -> Result<ArrayRef> {
    let mistyped = || Error::internal("data_file and partition are not structs");
    let files = files.as_struct_opt().ok_or_else(mistyped)?;
    let columns = files.fields().iter().zip(files.columns()).map(|(field, column)| {
        if field.name() != "partition" || partition.fields.is_empty() {
            return Ok(column.clone());
        }
        let tuple = column.as_struct_opt().ok_or_else(mistyped)?;
        let values = partition.fields.iter().zip(tuple.columns()).map(|(field, values)| {
            partition_value::typed(values, &rows_type(&field.field_type))
                .map_err(|e| e.with("partition field", &field.name))
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(StructArray::try_new(rows_fields(partition), values, tuple.nulls().cloned())?) as ArrayRef)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let fields = files.fields().iter().zip(&columns).map(|(field, column)| retyped(field, column)).collect();
    Ok(Arc::new(StructArray::try_new(fields, columns, files.nulls().cloned())?))
}

fn retyped(field: &Field, column: &ArrayRef) -> Field {
    field.clone().with_data_type(column.data_type().clone())
}

/// Returns the column with this field id.
fn child(columns: &mut [Column], id: i32) -> Option<&mut Column> {
    columns.iter_mut().find(|column| column.keys.contains(&Key::Id(id)))
}

/// Marks lists and maps to stay encoded if their type in `found` is exactly that in `written`.
fn keep_encoded(columns: &mut [Column], found: &avro::Schema, written: &avro::Schema) {
    for column in columns {
        let (Some(found), Some(written)) = (part(found, column), part(written, column)) else { continue };
        match &mut column.kind {
            Kind::Struct(inner) => keep_encoded(inner, found, written),
            Kind::List(_) if found.non_null() == written.non_null() => column.kind = Kind::Encoded,
            _ => {}
        }
    }
}

/// Returns the type of the record field that matches a column by id.
fn part<'a>(record: &'a avro::Schema, column: &Column) -> Option<&'a avro::Schema> {
    let wanted = |field: &&avro::Field| field.id.is_some_and(|id| column.keys.contains(&Key::Id(id)));
    record.as_record()?.fields.iter().find(wanted).map(|field| &field.schema)
}

/// Reads a manifest list. Fields that v1 lacks become 0, which is correct for v1: the content is data, and the sequence
/// number is lower than all others.
///
/// # Errors
/// `CorruptManifest`.
pub fn read_list(bytes: Bytes, context: &Context) -> Result<RecordBatch> {
    let projection = Projection::new(columns(&manifest_file(ROWS_VERSION)));
    let rows = AvroFile::open(bytes).and_then(|file| file.read(&projection, context));
    let rows = rows.map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))?;
    let columns =
        rows.schema_ref().fields().iter().zip(rows.columns()).map(|(field, column)| match field.name().as_str() {
            "content" => zero_for_null::<Int32Type>(column),
            "sequence_number" | "min_sequence_number" => zero_for_null::<Int64Type>(column),
            _ => Ok(column.clone()),
        });
    Ok(RecordBatch::try_new(rows.schema(), columns.collect::<Result<_>>()?)?)
}

/// Returns a numeric column with NULL replaced by 0.
fn zero_for_null<T: ArrowPrimitiveType>(column: &ArrayRef) -> Result<ArrayRef> {
    if column.null_count() == 0 {
        return Ok(column.clone());
    }
    let numbers =
        column.as_primitive_opt::<T>().ok_or_else(|| Error::internal("a column does not have the expected type"))?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(numbers.iter().map(Option::unwrap_or_default))))
}

fn columns(fields: &StructType) -> Vec<Column> {
    fields
        .fields
        .iter()
        .map(|field| Column::new(Key::Id(field.id), field.name.clone(), kind(&field.field_type)))
        .collect()
}

fn kind(field_type: &Type) -> Kind {
    match field_type {
        Type::Primitive(primitive) => Kind::Leaf(arrow_primitive(primitive)),
        Type::Struct(fields) => Kind::Struct(columns(fields)),
        Type::List(list) => Kind::List(Box::new(kind(&list.element.field_type))),
        Type::Map(map) => {
            let entry = StructType { fields: vec![map.key.clone(), map.value.clone()] };
            Kind::List(Box::new(Kind::Struct(columns(&entry))))
        }
    }
}

/// Returns the Arrow schema of rows of these fields: all nullable, with maps as lists of key and value.
pub fn rows_schema(fields: &StructType) -> Schema {
    Schema::new(rows_fields(fields))
}

fn rows_fields(fields: &StructType) -> Fields {
    fields.fields.iter().map(rows_field).collect()
}

fn rows_field(field: &NestedField) -> Field {
    Field::new(&field.name, rows_type(&field.field_type), true)
}

fn rows_type(field_type: &Type) -> DataType {
    let list = |item: DataType| DataType::List(Arc::new(Field::new("element", item, true)));
    match field_type {
        Type::Primitive(primitive) => arrow_primitive(primitive),
        Type::Struct(fields) => DataType::Struct(rows_fields(fields)),
        Type::List(element) => list(rows_type(&element.element.field_type)),
        Type::Map(map) => {
            let entry = StructType { fields: vec![map.key.clone(), map.value.clone()] };
            list(DataType::Struct(rows_fields(&entry)))
        }
    }
}

/// Returns the columns of `rows` that are in `fields`, in order, for a file of a given version.
pub fn columns_for(rows: &RecordBatch, fields: &StructType) -> Result<RecordBatch> {
    let named = |name: &str| rows.column_by_name(name).cloned();
    let columns = select(fields, &named, rows.num_rows())?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let schema = Schema::new(fields_of(fields, &columns));
    Ok(RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)?)
}

fn select(fields: &StructType, named: &dyn Fn(&str) -> Option<ArrayRef>, len: usize) -> Result<Vec<ArrayRef>> {
    fields.fields.iter().map(|field| column_for(field, named(&field.name), len)).collect()
}

fn column_for(field: &NestedField, found: Option<ArrayRef>, len: usize) -> Result<ArrayRef> {
    let found = match (found, field.name.as_str()) {
        (None, "block_size_in_bytes") => return Ok(Arc::new(Int64Array::from_value(BLOCK_SIZE_BYTES, len))),
        (None, _) => return Ok(new_null_array(&rows_type(&field.field_type), len)),
        // A v1 manifest has only data files, so a missing content code is 0.
        (Some(codes), "content") => return zero_for_null::<Int32Type>(&codes),
        (Some(found), _) => found,
    };
    // Only structs of the manifest itself differ between versions; all other types are the same in every version.
    let (Type::Struct(inner), Some(record)) = (&field.field_type, found.as_struct_opt()) else { return Ok(found) };
    let columns = select(inner, &|name| record.column_by_name(name).cloned(), len)?;
    let fields = fields_of(inner, &columns);
    let chosen = StructArray::try_new_with_length(fields, columns, record.nulls().cloned(), len)?;
    Ok(Arc::new(chosen))
}

fn fields_of(fields: &StructType, columns: &[ArrayRef]) -> Fields {
    let typed =
        |(field, column): (&NestedField, &ArrayRef)| rows_field(field).with_data_type(column.data_type().clone());
    fields.fields.iter().zip(columns).map(typed).collect()
}

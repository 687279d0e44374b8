//! Manifests and manifest lists with everything that they say, for operations that write them again.
//!
//! Rows have the fields of the newest version ([`manifest_type`](super::manifest_type)); what a file of an older
//! version does not have is NULL. Maps are lists of key and value, as they lie in the file; where nobody looks into them,
//! maps and lists can stay encoded ([`Kind::Encoded`]): they are most of what there is to decode.

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

/// The version whose fields rows have.
const ROWS_VERSION: u8 = 3;

/// What v1 writes for `block_size_in_bytes`, which nobody reads any more.
const BLOCK_SIZE_BYTES: i64 = 64 << 20;

/// Entries with all their statistics are about a kilobyte each.
const BATCH_ROWS: usize = 8_192;

/// The id of `data_file`.
const DATA_FILE_ID: i32 = 2;

/// The id of `partition`, the tuple of a file.
pub(crate) const PARTITION_ID: i32 = 102;

/// Reads the rows of a manifest.
///
/// Java (1.11) writes values of `fixed` in partition tuples with a length before the bytes, although its schema says
/// `fixed`, and reads nothing else. Such a file is told by the lengths, which must all be those of the schema; others
/// are read as the Avro specification has it.
///
/// # Errors
/// As [`AvroFile::read`].
pub(crate) fn read_manifest(file: &AvroFile, projection: &Projection, context: &Context) -> Result<RecordBatch> {
    if let Some(sized) = file.schema().with_sized_fixed(PARTITION_ID) {
        match file.clone().with_schema(sized).read(projection, context) {
            Err(error) if error.kind() == ErrorKind::CorruptData => {}
            other => return other,
        }
    }
    file.read(projection, context)
}

/// Reads every entry of a manifest, deleted ones too, nothing inherited.
///
/// # Errors
/// `CorruptManifest`.
pub fn read_entries(bytes: Bytes, partition: &StructType, context: &Context) -> Result<RecordBatch> {
    let columns = columns(&manifest_entry(ROWS_VERSION, partition.clone()));
    let read = AvroFile::open(bytes).and_then(|file| read_typed(&file, columns, partition, context));
    read.map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))
}

/// Reads every entry of a manifest that goes into another one: maps and lists of files stay as they are encoded, where
/// that is how they are written here.
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

/// Reads rows whose partition values have the types of `partition`, whatever the schema of the manifest says.
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

/// Read the entries of a manifest in batches, nothing inherited: of files only the fields that `wanted` names.
///
/// # Errors
/// `CorruptManifest`; errors found later are items of the iterator.
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

/// The schema with a length before values of `fixed`, if the partition values of all entries are written so.
fn sized_schema(manifest: &AvroFile, fields: &[Column], context: &Context) -> Option<avro::Schema> {
    let sized = manifest.schema().with_sized_fixed(PARTITION_ID)?;
    let mut fields = fields.to_vec();
    fields.retain(|column| column.keys.contains(&Key::Id(DATA_FILE_ID)));
    if let Some(Column { kind: Kind::Struct(files), .. }) = fields.first_mut() {
        files.retain(|column| column.keys.contains(&Key::Id(PARTITION_ID)));
    }
    manifest.clone().with_schema(sized.clone()).read(&Projection::new(fields), context).ok().map(|_| sized)
}

/// Takes partition values as the manifest has them.
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

/// The same rows, whose partition values have the types of `partition`.
fn typed_rows(rows: &RecordBatch, partition: &StructType) -> Result<RecordBatch> {
    let columns = rows.schema_ref().fields().iter().zip(rows.columns()).map(|(field, column)| {
        if field.name() == "data_file" { with_typed_partition(column, partition) } else { Ok(column.clone()) }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let fields = rows.schema_ref().fields().iter().zip(&columns);
    let fields: Fields = fields.map(|(field, column)| retyped(field, column)).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// A column `data_file` whose partition values have the types of `partition`.
fn with_typed_partition(files: &ArrayRef, partition: &StructType) -> Result<ArrayRef> {
    let mistyped = || Error::internal("data_file and partition are structs");
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

/// The column of this field id.
fn child(columns: &mut [Column], id: i32) -> Option<&mut Column> {
    columns.iter_mut().find(|column| column.keys.contains(&Key::Id(id)))
}

/// Leaves lists, and maps among them, encoded where `found` has the very types of `written`.
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

/// The type of the field of a record that a column is found in by its id.
fn part<'a>(record: &'a avro::Schema, column: &Column) -> Option<&'a avro::Schema> {
    let wanted = |field: &&avro::Field| field.id.is_some_and(|id| column.keys.contains(&Key::Id(id)));
    record.as_record()?.fields.iter().find(wanted).map(|field| &field.schema)
}

/// Reads a manifest list. What v1 did not have is 0, as it means there: data, older than every sequence number.
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

/// A column of numbers with 0 where it is NULL.
fn zero_for_null<T: ArrowPrimitiveType>(column: &ArrayRef) -> Result<ArrayRef> {
    if column.null_count() == 0 {
        return Ok(column.clone());
    }
    let numbers = column.as_primitive_opt::<T>().ok_or_else(|| Error::internal("a column of another type"))?;
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

/// The Arrow schema of rows of these fields: all nullable, maps as lists of key and value.
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

/// The columns of `rows` that `fields` names, in their order: what a file of some version is written from.
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
        // In v1 there was nothing but data.
        (Some(codes), "content") => return zero_for_null::<Int32Type>(&codes),
        (Some(found), _) => found,
    };
    // Only what is a record of the file's own is chosen from; the rest is as it is in every version.
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

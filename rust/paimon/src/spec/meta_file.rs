//! Reads metadata files: Avro, ORC or Parquet, depending on `manifest.format` when they were written (spec:
//! "Manifest").
//!
//! The format is detected from the first bytes. Fields are found by name, in any order; fields that a release did not
//! have yet are NULL. Structs are flattened: their fields become ordinary columns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, RecordBatchOptions, StructArray,
    make_array, new_null_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use frazil_core::avro::{AvroFile, Column, Key, Kind, Projection};
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::file_values::cast;
use frazil_core::orc::OrcFile;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

const ORC_MAGIC: &[u8] = b"ORC";
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The number of rows that ORC and Parquet decode at a time.
const BATCH_ROWS: usize = 8192;

/// Returns a leaf column that is found by name.
pub(super) fn leaf(name: &str, data_type: DataType) -> Column {
    column(name, Kind::Leaf(data_type))
}

/// Returns a column of any type that is found by name.
pub(super) fn column(name: &str, kind: Kind) -> Column {
    Column::new(Key::Name(name.to_string()), name, kind)
}

/// Returns the type of an optional list of leaves.
pub(super) fn list(item: DataType) -> Kind {
    Kind::List(Box::new(Kind::Leaf(item)))
}

/// Returns all rows of a file, with structs replaced by their fields.
///
/// # Errors
/// `CorruptData` for files that do not decode, required columns that are missing or contain NULL, and types that cannot
/// be converted to the wanted ones; `LimitExceeded` and `Cancelled` by `context`.
pub(super) fn read(bytes: Bytes, columns: &[Column], context: &Context) -> Result<RecordBatch> {
    read_projected(bytes, &Projection::new(columns.to_vec()), context)
}

/// Reads columns as [`read`] does, with a projection that is shared by many files.
pub(super) fn read_projected(bytes: Bytes, projection: &Projection, context: &Context) -> Result<RecordBatch> {
    let columns = &projection.fields;
    let batch = if bytes.starts_with(ORC_MAGIC) {
        conform(&read_orc(bytes, columns, context)?, columns)?
    } else if bytes.starts_with(PARQUET_MAGIC) {
        conform(&read_parquet(&bytes, columns, context)?, columns)?
    } else {
        AvroFile::open(bytes)?.read(projection, context)?
    };
    flatten(&batch)
}

/// Returns the schema of the result of [`read`] for these columns.
pub(super) fn schema(columns: &[Column]) -> Schema {
    Schema::new(flat_fields(&fields_of(columns), false))
}

/// Rejects unsupported versions.
pub(super) fn check_version(batch: &RecordBatch, expected: i32) -> Result<()> {
    let versions: &Int32Array = typed(batch, "_VERSION")?;
    match versions.values().iter().find(|version| **version != expected) {
        Some(other) => {
            Err(Error::unsupported(format!("version {other} of metadata is not supported, expected {expected}")))
        }
        None => Ok(()),
    }
}

/// Returns a requested column.
pub(super) fn typed<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a T> {
    let array = batch.column_by_name(name).and_then(|array| array.as_any().downcast_ref::<T>());
    array.ok_or_else(|| Error::internal("a metadata column does not have the requested type").with("column", name))
}

/// Returns one value, or None for NULL and beyond the end.
pub(super) fn value<'a, A>(
    batch: &'a RecordBatch,
    name: &str,
    row: usize,
) -> Result<Option<<&'a A as ArrayAccessor>::Item>>
where
    A: Array + 'static,
    &'a A: ArrayAccessor,
{
    let array = typed::<A>(batch, name)?;
    Ok((row < array.len() && array.is_valid(row)).then(|| array.value(row)))
}

/// Returns one value of a required column of lengths or counts.
pub(super) fn count(batch: &RecordBatch, name: &str, row: usize) -> Result<i64> {
    match value::<Int64Array>(batch, name, row)? {
        Some(count @ 0..) => Ok(count),
        other => Err(Error::corrupt(format!("invalid {name} {other:?}"))),
    }
}

/// Returns the numbers of a list, with None for NULL elements, or None for a NULL list.
pub(super) fn longs(lists: &ListArray, row: usize) -> Option<Vec<Option<i64>>> {
    let list = lists.is_valid(row).then(|| lists.value(row))?;
    Some(list.as_primitive_opt::<Int64Type>()?.iter().collect())
}

/// Returns the names of a list, or None for NULL.
pub(super) fn texts(lists: &ListArray, row: usize) -> Result<Option<Vec<String>>> {
    if lists.is_null(row) {
        return Ok(None);
    }
    let list = lists.value(row);
    let texts =
        list.as_string_opt::<i32>().ok_or_else(|| Error::internal("a list of names does not contain strings"))?;
    let text = |text: Option<&str>| text.map(ToString::to_string).ok_or_else(|| Error::corrupt("a name is NULL"));
    texts.iter().map(text).collect::<Result<_>>().map(Some)
}

fn flat_fields(fields: &Fields, nullable: bool) -> Vec<FieldRef> {
    let flat = |field: &FieldRef| match field.data_type() {
        DataType::Struct(inner) => flat_fields(inner, nullable || field.is_nullable()),
        _ => vec![Arc::new(field.as_ref().clone().with_nullable(nullable || field.is_nullable()))],
    };
    fields.iter().flat_map(flat).collect()
}

/// Returns the positions, in the file, of the fields that belong to wanted columns.
fn found(fields: &Fields, columns: &[Column]) -> Vec<usize> {
    let wanted = |field: &FieldRef| columns.iter().any(|column| is_named(column, field.name()));
    (0..).zip(fields).filter(|(_, field)| wanted(field)).map(|(at, _)| at).collect()
}

fn is_named(column: &Column, name: &str) -> bool {
    column.keys.iter().any(|key| matches!(key, Key::Name(key) if key == name))
}

fn read_orc(bytes: Bytes, columns: &[Column], context: &Context) -> Result<RecordBatch> {
    let file = OrcFile::open(bytes)?;
    let batches = file.batches(&found(file.schema().fields(), columns), BATCH_ROWS)?;
    let schema = Arc::clone(batches.schema());
    collect(&schema, batches, context)
}

fn read_parquet(bytes: &Bytes, columns: &[Column], context: &Context) -> Result<RecordBatch> {
    let refused = |error: ParquetError| Error::corrupt("the Parquet decoder rejected the file").caused_by(error);
    let read = || {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(bytes, options).map_err(refused)?;
        let roots = found(metadata.schema().fields(), columns);
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes.clone(), metadata);
        let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().map_err(refused)?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        collect(&schema, reader.map(|batch| Ok(batch?)), context)
    };
    // The decoder should return errors. A panic on unforeseen damage must not propagate.
    let guarded = catch_unwind(AssertUnwindSafe(read));
    guarded.unwrap_or_else(|_| Err(Error::corrupt("the Parquet decoder panicked")))
}

fn collect(
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    context: &Context,
) -> Result<RecordBatch> {
    let mut leases = Vec::new();
    let mut collected = Vec::new();
    for batch in batches {
        context.check()?;
        let batch = batch?;
        leases.push(context.budget.lease(batch.get_array_memory_size() as u64)?);
        collected.push(batch);
    }
    Ok(concat_batches(schema, &collected)?)
}

/// Converts the columns of ORC and Parquet files to the wanted types. The Avro decoder returns wanted types directly.
fn conform(batch: &RecordBatch, columns: &[Column]) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let schema = batch.schema();
    let columns_of = |name: &str| schema.index_of(name).ok().map(|at| batch.column(at));
    let arrays = children(columns_of, columns, rows)?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::new(Schema::new(fields_of(columns)));
    Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
}

fn children<'a>(find: impl Fn(&str) -> Option<&'a ArrayRef>, columns: &[Column], rows: usize) -> Result<Vec<ArrayRef>> {
    let array = |column: &Column| {
        let mut names = column.keys.iter().filter_map(|key| if let Key::Name(name) = key { Some(name) } else { None });
        let array = match names.find_map(|name| find(name)) {
            Some(array) => conformed(array, &column.kind),
            None if column.required => Err(Error::corrupt("a required field is missing")),
            None => Ok(new_null_array(&type_of(&column.kind)?, rows)),
        };
        array.map_err(|error| error.with("field", &column.name))
    };
    columns.iter().map(array).collect()
}

fn conformed(array: &ArrayRef, kind: &Kind) -> Result<ArrayRef> {
    let mismatch = || Error::corrupt(format!("unexpected values of type {}", array.data_type()));
    match kind {
        Kind::Leaf(wanted) => leaf_as(array, wanted),
        Kind::Struct(columns) => {
            let array = array.as_struct_opt().ok_or_else(mismatch)?;
            let arrays = children(|name| array.column_by_name(name), columns, array.len())?;
            let (fields, nulls) = (fields_of(columns), array.nulls().cloned());
            Ok(Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, array.len())?))
        }
        Kind::List(element) => {
            let array = array.as_list_opt::<i32>().ok_or_else(mismatch)?;
            let values = conformed(array.values(), element)?;
            let field = Arc::new(Field::new("element", values.data_type().clone(), true));
            Ok(Arc::new(ListArray::try_new(field, array.offsets().clone(), values, array.nulls().cloned())?))
        }
        Kind::Lookup { .. } | Kind::Encoded | Kind::Natural | Kind::NaturalWide => {
            Err(Error::internal("metadata columns cannot be of this type"))
        }
    }
}

/// Converts a column to the wanted type. Conversions that would lose information are errors.
fn leaf_as(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let widens = match (array.data_type(), wanted) {
        (from, to) if from == to => return Ok(Arc::clone(array)),
        (from, DataType::Int32 | DataType::Int64) => from.is_signed_integer(),
        (DataType::Timestamp(..), DataType::Timestamp(..)) => true,
        _ => false,
    };
    if !widens {
        return Err(Error::corrupt(format!("values of type {}, expected {wanted}", array.data_type())));
    }
    cast(array, wanted)
}

fn fields_of(columns: &[Column]) -> Fields {
    let field = |column: &Column| {
        let data_type = type_of(&column.kind).unwrap_or(DataType::Null);
        Field::new(&column.name, data_type, !column.required)
    };
    columns.iter().map(field).collect()
}

fn type_of(kind: &Kind) -> Result<DataType> {
    Ok(match kind {
        Kind::Leaf(data_type) => data_type.clone(),
        Kind::Struct(columns) => DataType::Struct(fields_of(columns)),
        Kind::List(element) => DataType::List(Arc::new(Field::new("element", type_of(element)?, true))),
        Kind::Lookup { .. } | Kind::Encoded | Kind::Natural | Kind::NaturalWide => {
            return Err(Error::internal("metadata columns cannot be of this type"));
        }
    })
}

fn flatten(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let mut arrays = Vec::new();
    for array in batch.columns() {
        flatten_into(array, None, &mut arrays)?;
    }
    let fields = flat_fields(schema.fields(), false);
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?)
}

/// Appends the fields of a struct; they are NULL where the struct is NULL.
fn flatten_into(array: &ArrayRef, outer: Option<&NullBuffer>, arrays: &mut Vec<ArrayRef>) -> Result<()> {
    if let Some(inner) = array.as_struct_opt() {
        let nulls = NullBuffer::union(outer, inner.nulls());
        return inner.columns().iter().try_for_each(|column| flatten_into(column, nulls.as_ref(), arrays));
    }
    arrays.push(match outer {
        Some(outer) if outer.null_count() > 0 => {
            let nulls = NullBuffer::union(Some(outer), array.nulls());
            make_array(array.to_data().into_builder().nulls(nulls).build()?)
        }
        _ => Arc::clone(array),
    });
    Ok(())
}

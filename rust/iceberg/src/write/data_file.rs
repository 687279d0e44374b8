//! Converts written data files to the rows that a commit adds.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, ListArray, StringArray, StructArray, new_null_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat;
use frazil_core::error::{Error, Result};

use super::metrics::Metrics;
use crate::spec::manifest::FileContent;
use crate::spec::manifest_rows::rows_schema;
use crate::spec::manifest_type::data_file;
use crate::spec::types::StructType;

/// A written file.
#[derive(Debug, Clone)]
pub struct NewDataFile {
    /// The content of the file.
    pub content: FileContent,
    /// The location.
    pub file_path: String,
    /// `PARQUET`, `ORC`, `AVRO` or `PUFFIN`.
    pub file_format: String,
    /// The partition tuple, as one row.
    pub partition: StructArray,
    /// The length in bytes.
    pub file_size_bytes: i64,
    /// 108: the size of each column in the file, in bytes.
    pub column_sizes: BTreeMap<i32, i64>,
    /// The counts and bounds.
    pub metrics: Metrics,
    /// 132: the offsets at which the file can be split.
    pub split_offsets: Option<Vec<i64>>,
    /// 140: the sort order of its rows.
    pub sort_order_id: Option<i32>,
    /// 143: for deletes, the data file to which all of them apply.
    pub referenced_data_file: Option<String>,
    /// 144, 145: for a deletion vector, its offset and length.
    pub content_range: Option<(i64, i64)>,
}

/// Returns the files as rows of `data_file` ([`manifest_rows`](crate::spec::manifest_rows)).
///
/// # Errors
/// `Internal` for partition tuples with another type.
pub fn data_file_rows(files: &[NewDataFile], partition: &StructType) -> Result<StructArray> {
    let schema = rows_schema(&data_file(3, partition.clone()));
    let column = |field: &Arc<Field>| -> Result<ArrayRef> {
        let texts = |of: &dyn Fn(&NewDataFile) -> &str| -> ArrayRef {
            Arc::new(files.iter().map(|file| Some(of(file))).collect::<StringArray>())
        };
        let longs =
            |of: &dyn Fn(&NewDataFile) -> i64| -> ArrayRef { Arc::new(files.iter().map(of).collect::<Int64Array>()) };
        let counts = |of: &dyn Fn(&NewDataFile) -> &BTreeMap<i32, i64>| map_of_longs(files, of, field.data_type());
        let bounds = |of: &dyn Fn(&NewDataFile) -> &BTreeMap<i32, Vec<u8>>| map_of_bytes(files, of, field.data_type());
        Ok(match field.name().as_str() {
            "content" => Arc::new(files.iter().map(|file| file.content.code()).collect::<Int32Array>()),
            "file_path" => texts(&|file| &file.file_path),
            "file_format" => texts(&|file| &file.file_format),
            "partition" => tuples(files, field.data_type())?,
            "record_count" => longs(&|file| file.metrics.record_count),
            "file_size_in_bytes" => longs(&|file| file.file_size_bytes),
            "column_sizes" => counts(&|file| &file.column_sizes)?,
            "value_counts" => counts(&|file| &file.metrics.value_counts)?,
            "null_value_counts" => counts(&|file| &file.metrics.null_counts)?,
            "nan_value_counts" => counts(&|file| &file.metrics.nan_counts)?,
            "lower_bounds" => bounds(&|file| &file.metrics.lower_bounds)?,
            "upper_bounds" => bounds(&|file| &file.metrics.upper_bounds)?,
            "split_offsets" => {
                let lists = files.iter().map(|file| file.split_offsets.as_ref().map(|o| o.iter().map(|o| Some(*o))));
                let lists = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(lists);
                arrow_cast::cast(&lists, field.data_type())?
            }
            "referenced_data_file" => {
                Arc::new(files.iter().map(|file| file.referenced_data_file.as_deref()).collect::<StringArray>())
            }
            "content_offset" => {
                Arc::new(files.iter().map(|file| file.content_range.map(|(offset, _)| offset)).collect::<Int64Array>())
            }
            "content_size_in_bytes" => {
                Arc::new(files.iter().map(|file| file.content_range.map(|(_, size)| size)).collect::<Int64Array>())
            }
            "sort_order_id" => Arc::new(files.iter().map(|file| file.sort_order_id).collect::<Int32Array>()),
            _ => new_null_array(field.data_type(), files.len()),
        })
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    Ok(StructArray::try_new_with_length(schema.fields().clone(), columns, None, files.len())?)
}

/// Returns the partition tuples in the type of the rows.
fn tuples(files: &[NewDataFile], data_type: &DataType) -> Result<ArrayRef> {
    let DataType::Struct(fields) = data_type else { return Err(Error::internal("partition tuples are not structs")) };
    let column = |position: usize| -> Result<ArrayRef> {
        let parts: Option<Vec<&dyn Array>> =
            files.iter().map(|file| file.partition.columns().get(position).map(AsRef::as_ref)).collect();
        let parts = parts.ok_or_else(|| Error::internal("a partition tuple belongs to another spec"))?;
        if parts.is_empty() {
            let field =
                fields.get(position).ok_or_else(|| Error::internal("a partition tuple belongs to another spec"))?;
            return Ok(new_null_array(field.data_type(), 0));
        }
        Ok(concat(&parts)?)
    };
    let columns = (0..fields.len()).map(column).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, None, files.len())?))
}

fn map_of_longs(
    files: &[NewDataFile],
    of: &dyn Fn(&NewDataFile) -> &BTreeMap<i32, i64>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let mut values = Int64Builder::new();
    files.iter().flat_map(|file| of(file).values()).for_each(|value| values.append_value(*value));
    map_of(files.iter().map(|file| of(file).keys().copied().collect()), Arc::new(values.finish()), data_type)
}

fn map_of_bytes(
    files: &[NewDataFile],
    of: &dyn Fn(&NewDataFile) -> &BTreeMap<i32, Vec<u8>>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let mut values = BinaryBuilder::new();
    files.iter().flat_map(|file| of(file).values()).for_each(|value| values.append_value(value));
    map_of(files.iter().map(|file| of(file).keys().copied().collect()), Arc::new(values.finish()), data_type)
}

/// Returns maps as lists of key and value; an empty map is NULL.
fn map_of(keys: impl Iterator<Item = Vec<i32>>, values: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let DataType::List(element) = data_type else { return Err(Error::internal("maps are not lists")) };
    let DataType::Struct(fields) = element.data_type() else {
        return Err(Error::internal("maps are not lists of entries"));
    };
    let mut all = Int32Builder::new();
    let mut lengths = Vec::new();
    for keys in keys {
        all.append_slice(&keys);
        lengths.push(keys.len());
    }
    let nulls = lengths.iter().map(|length| *length > 0).collect::<Vec<bool>>().into();
    let len = values.len();
    let entries = StructArray::try_new_with_length(fields.clone(), vec![Arc::new(all.finish()), values], None, len)?;
    Ok(Arc::new(ListArray::try_new(
        element.clone(),
        OffsetBuffer::from_lengths(lengths),
        Arc::new(entries),
        Some(nulls),
    )?))
}

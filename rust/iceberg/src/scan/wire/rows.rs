//! The rows of a wire task: data files and delete files as columns.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema};
use frazil_core::error::{Error, Result};
use frazil_core::scalar::Scalar;

use super::super::context::ReadContext;
use super::super::delete_index::DeleteFile;
use super::super::task::{DataFile, FileScanTask, partition_value_type};
use crate::read::FileFormat;
use crate::spec::manifest::FileContent;
use crate::spec::single_value;

/// The numeric columns of a row, in order.
const NUMBERS: [&str; 8] = [
    "record_count",
    "size",
    "sequence_number",
    "first_row_id",
    "content_offset",
    "content_size",
    "range_start",
    "range_end",
];

type Numbers = [Option<i64>; NUMBERS.len()];

pub(super) fn write(tasks: &[FileScanTask]) -> Result<RecordBatch> {
    let mut rows = Builder::new();
    for (number, task) in tasks.iter().enumerate() {
        let number = i32::try_from(number).map_err(|_| Error::invalid("more than 2^31 tasks"))?;
        rows.data_file(number, task);
        for file in &task.deletes {
            rows.delete_file(number, file);
        }
    }
    rows.finish()
}

pub(super) fn read(batch: &RecordBatch, read: &Arc<ReadContext>) -> Result<Vec<FileScanTask>> {
    let columns = WireColumns(batch);
    let mut tasks: Vec<FileScanTask> = Vec::new();
    for row in 0..batch.num_rows() {
        let content = FileContent::from_code(columns.int("content", row)?.unwrap_or(-1));
        let number = columns.int("task", row)?.and_then(|n| usize::try_from(n).ok());
        match (content, number) {
            (Some(FileContent::Data), Some(n)) if n == tasks.len() => tasks.push(columns.task(row, read)?),
            (Some(content), Some(n)) if n + 1 == tasks.len() && content != FileContent::Data => {
                let file = columns.delete_file(row, content)?;
                tasks.last_mut().ok_or_else(malformed)?.deletes.push(file);
            }
            _ => return Err(malformed()),
        }
    }
    Ok(tasks)
}

struct Builder {
    task: Int32Builder,
    content: Int32Builder,
    path: StringBuilder,
    format: StringBuilder,
    spec_id: Int32Builder,
    partition: ListBuilder<StructBuilder>,
    equality_ids: ListBuilder<Int32Builder>,
    referenced: StringBuilder,
    numbers: [Int64Builder; NUMBERS.len()],
}

fn partition_fields() -> Fields {
    vec![Field::new("field_id", DataType::Int32, false), Field::new("value", DataType::Binary, true)].into()
}

impl Builder {
    fn new() -> Self {
        let partition =
            StructBuilder::new(partition_fields(), vec![Box::new(Int32Builder::new()), Box::new(BinaryBuilder::new())]);
        Self {
            task: Int32Builder::new(),
            content: Int32Builder::new(),
            path: StringBuilder::new(),
            format: StringBuilder::new(),
            spec_id: Int32Builder::new(),
            partition: ListBuilder::new(partition),
            equality_ids: ListBuilder::new(Int32Builder::new()),
            referenced: StringBuilder::new(),
            numbers: Default::default(),
        }
    }

    fn data_file(&mut self, task: i32, scan: &FileScanTask) {
        let file = &scan.file;
        self.common(task, FileContent::Data, &file.path, file.format, file.spec_id);
        for (id, value) in &file.partition {
            self.partition_value(*id, value.as_ref());
        }
        self.partition.append(true);
        self.equality_ids.append(true);
        self.referenced.append_null();
        let (start, end) = scan.range.unzip();
        let counts = [Some(file.record_count), Some(file.size_bytes), Some(file.sequence_number), file.first_row_id];
        self.numbers([counts[0], counts[1], counts[2], counts[3], None, None, start, end]);
    }

    fn delete_file(&mut self, task: i32, file: &DeleteFile) {
        self.common(task, file.content, &file.path, file.format, file.spec_id);
        self.partition.append(true);
        self.equality_ids.values().append_slice(&file.equality_ids);
        self.equality_ids.append(true);
        self.referenced.append_option(file.referenced_data_file.as_deref());
        let (offset, size) = file.content_range.unzip();
        let (count, bytes, sequence) = (file.record_count, file.size_bytes, file.sequence_number);
        self.numbers([Some(count), Some(bytes), Some(sequence), None, offset, size, None, None]);
    }

    fn common(&mut self, task: i32, content: FileContent, path: &str, format: FileFormat, spec_id: i32) {
        self.task.append_value(task);
        self.content.append_value(content.code());
        self.path.append_value(path);
        self.format.append_value(format.name());
        self.spec_id.append_value(spec_id);
    }

    fn partition_value(&mut self, id: i32, value: Option<&Scalar>) {
        let entry = self.partition.values();
        if let Some(ids) = entry.field_builder::<Int32Builder>(0) {
            ids.append_value(id);
        }
        if let Some(values) = entry.field_builder::<BinaryBuilder>(1) {
            values.append_option(value.map(single_value::encode));
        }
        entry.append(true);
    }

    fn numbers(&mut self, values: Numbers) {
        self.numbers.iter_mut().zip(values).for_each(|(builder, value)| builder.append_option(value));
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let mut columns: Vec<(&str, ArrayRef, bool)> = vec![
            ("task", Arc::new(self.task.finish()), false),
            ("content", Arc::new(self.content.finish()), false),
            ("path", Arc::new(self.path.finish()), false),
            ("format", Arc::new(self.format.finish()), false),
            ("spec_id", Arc::new(self.spec_id.finish()), false),
            ("partition", Arc::new(self.partition.finish()), false),
            ("equality_ids", Arc::new(self.equality_ids.finish()), false),
            ("referenced_data_file", Arc::new(self.referenced.finish()), true),
        ];
        for (name, builder) in NUMBERS.into_iter().zip(&mut self.numbers) {
            columns.push((name, Arc::new(builder.finish()), true));
        }
        let fields: Vec<Field> =
            columns.iter().map(|(name, array, null)| Field::new(*name, array.data_type().clone(), *null)).collect();
        let columns = columns.into_iter().map(|(_, array, _)| array).collect();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }
}

struct WireColumns<'a>(&'a RecordBatch);

impl WireColumns<'_> {
    fn column(&self, name: &str) -> Result<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(malformed)
    }

    fn int(&self, name: &str, row: usize) -> Result<Option<i32>> {
        let column = self.column(name)?.as_primitive_opt::<Int32Type>().ok_or_else(malformed)?;
        Ok(column.is_valid(row).then(|| column.value(row)))
    }

    fn long(&self, name: &str, row: usize) -> Result<Option<i64>> {
        let column = self.column(name)?.as_primitive_opt::<Int64Type>().ok_or_else(malformed)?;
        Ok(column.is_valid(row).then(|| column.value(row)))
    }

    fn count(&self, name: &str, row: usize) -> Result<i64> {
        self.long(name, row)?.filter(|&n| n >= 0).ok_or_else(malformed)
    }

    fn text(&self, name: &str, row: usize) -> Result<Option<Arc<str>>> {
        let column = self.column(name)?.as_string_opt::<i32>().ok_or_else(malformed)?;
        Ok(column.is_valid(row).then(|| column.value(row).into()))
    }

    fn task(&self, row: usize, read: &Arc<ReadContext>) -> Result<FileScanTask> {
        let spec_id = self.int("spec_id", row)?.ok_or_else(malformed)?;
        let file = DataFile {
            path: self.text("path", row)?.ok_or_else(malformed)?,
            format: FileFormat::parse(&self.text("format", row)?.ok_or_else(malformed)?)?,
            spec_id,
            partition: self.partition(row, spec_id, read)?,
            record_count: self.count("record_count", row)?,
            size_bytes: self.count("size", row)?,
            sequence_number: self.long("sequence_number", row)?.ok_or_else(malformed)?,
            first_row_id: self.long("first_row_id", row)?,
            split_offsets: Vec::new(),
        };
        let range = self.long("range_start", row)?.zip(self.long("range_end", row)?);
        Ok(FileScanTask { read: read.clone(), file, deletes: Vec::new(), range })
    }

    fn partition(&self, row: usize, spec_id: i32, read: &ReadContext) -> Result<Vec<(i32, Option<Scalar>)>> {
        let partition = read.partition(spec_id)?;
        let list = self.column("partition")?.as_list_opt::<i32>().ok_or_else(malformed)?.value(row);
        let entries = list.as_struct_opt().ok_or_else(malformed)?;
        let [ids, values] = entries.columns() else { return Err(malformed()) };
        let ids = ids.as_primitive_opt::<Int32Type>().ok_or_else(malformed)?;
        let values = values.as_binary_opt::<i32>().ok_or_else(malformed)?;
        let value = |i: usize| -> Result<(i32, Option<Scalar>)> {
            let id = ids.value(i);
            if values.is_null(i) {
                return Ok((id, None));
            }
            let data_type = partition_value_type(&partition, id).ok_or_else(malformed)?;
            let value = single_value::decode(&data_type, values.value(i)).ok_or_else(malformed)?;
            Ok((id, Some(value)))
        };
        (0..ids.len()).map(value).collect()
    }

    fn delete_file(&self, row: usize, content: FileContent) -> Result<DeleteFile> {
        let ids = self.column("equality_ids")?.as_list_opt::<i32>().ok_or_else(malformed)?.value(row);
        let ids = ids.as_primitive_opt::<Int32Type>().ok_or_else(malformed)?;
        Ok(DeleteFile {
            content,
            path: self.text("path", row)?.ok_or_else(malformed)?,
            format: FileFormat::parse(&self.text("format", row)?.ok_or_else(malformed)?)?,
            size_bytes: self.count("size", row)?,
            record_count: self.count("record_count", row)?,
            sequence_number: self.long("sequence_number", row)?.ok_or_else(malformed)?,
            spec_id: self.int("spec_id", row)?.ok_or_else(malformed)?,
            equality_ids: ids.values().to_vec(),
            referenced_data_file: self.text("referenced_data_file", row)?,
            content_range: self.long("content_offset", row)?.zip(self.long("content_size", row)?),
        })
    }
}

fn malformed() -> Error {
    Error::corrupt("the files of a task are malformed")
}

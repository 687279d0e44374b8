//! The `position_deletes` metadata table: one row for each row that a position delete file or a deletion vector
//! deletes, and one part per delete file. Deletion vectors are read here; the caller opens position delete files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use frazil_core::context::Context;
use frazil_core::envelope::{self, EnvelopeKind};
use frazil_core::error::{Error, Result};
use frazil_core::virtual_table::{FileRows, Part, PartBatches, PartFile, VirtualTable};

use super::entries::FilesTable;
use crate::read::FileFormat;
use crate::read::project::{FileColumns, Projector};
use crate::scan::delete_index::DeleteFile;
use crate::scan::delete_load::{DELETE_FILE_POS_ID, corrupt_deletes, read_vector};
use crate::scan::leaves::optional;
use crate::spec::arrow::arrow_fields;
use crate::spec::manifest::{DELETE_FILE_PATH_ID, FileContent};
use crate::spec::types::{NestedField, PrimitiveType, StructType, Type};
use crate::table::Table;

const PART: EnvelopeKind = EnvelopeKind { name: "delete file", key: "frazil.delete-file", version: "1" };
/// The field id of `row` in position delete files.
const DELETE_FILE_ROW_ID: i32 = 2_147_483_544;
/// The format version from which position deletes are written as deletion vectors.
const VECTOR_VERSION: u8 = 3;
const BATCH_ROWS: usize = 65_536;
/// The recorded properties of a delete file, as columns of the metadata table `delete_files`.
const RECORDED: [&str; 8] = [
    "file_path",
    "file_format",
    "spec_id",
    "record_count",
    "file_size_in_bytes",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
];

#[derive(Debug, Clone)]
pub(super) struct PositionDeletesTable {
    table: Table,
    files: FilesTable,
    row: StructType,
    schema: SchemaRef,
}

/// One delete file, as a row of `delete_files`.
struct DeletePart(RecordBatch);

impl PositionDeletesTable {
    /// Creates the table for the delete files in `files`.
    pub(super) fn new(table: &Table, files: FilesTable) -> Result<Self> {
        let current = table.metadata().current_schema()?;
        let row = StructType { fields: current.fields.fields.iter().cloned().map(optional).collect() };
        let mut fields = vec![
            Field::new("file_path", DataType::Utf8, false),
            Field::new("pos", DataType::Int64, false),
            Field::new("row", DataType::Struct(arrow_fields(&row)), true),
        ];
        fields.extend(files.schema().field_with_name("partition").ok().cloned());
        fields.push(Field::new("spec_id", DataType::Int32, false));
        fields.push(Field::new("delete_file_path", DataType::Utf8, false));
        if table.metadata().format_version >= VECTOR_VERSION {
            fields.push(Field::new("content_offset", DataType::Int64, true));
            fields.push(Field::new("content_size_in_bytes", DataType::Int64, true));
        }
        Ok(Self { table: table.clone(), files, row, schema: Arc::new(Schema::new(fields)) })
    }

    fn batch(
        &self,
        columns: &[usize],
        rows: usize,
        column: &dyn Fn(&Field) -> Result<ArrayRef>,
    ) -> Result<RecordBatch> {
        let schema = Arc::new(self.schema.project(columns)?);
        let columns = schema.fields().iter().map(|field| column(field)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }
}

impl VirtualTable for PositionDeletesTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn parts(&self, context: &Context) -> Result<Vec<Part>> {
        let schema = self.files.schema();
        let recorded = RECORDED.iter().chain(&["partition", "content"]).filter_map(|name| schema.index_of(name).ok());
        let mut columns: Vec<usize> = recorded.collect();
        columns.sort_unstable();
        let mut parts = Vec::new();
        for manifest in self.files.parts(context)? {
            for files in self.files.read(&manifest, &columns, context)? {
                let files = files?;
                let contents =
                    files.column_by_name("content").and_then(|column| column.as_primitive_opt::<Int32Type>());
                for (row, content) in contents.ok_or_else(malformed)?.iter().enumerate() {
                    if content == Some(FileContent::PositionDeletes.code()) {
                        parts.push(envelope::seal(PART, String::new(), files.slice(row, 1))?);
                    }
                }
            }
        }
        Ok(parts)
    }

    fn read(&self, part: &[u8], columns: &[usize], context: &Context) -> Result<PartBatches> {
        let part = DeletePart::from_bytes(part)?;
        let file = part.delete_file()?;
        let data_file = file.referenced_data_file.clone().ok_or_else(|| {
            corrupt_deletes(Error::corrupt("a deletion vector does not reference a data file"), &file)
        })?;
        let positions = read_vector(self.table.files(), &file)?;
        let lease = context.budget.lease(positions.len().saturating_mul(8))?;
        let (scan, columns) = (self.clone(), columns.to_vec());
        let mut left = positions.iter().collect::<Vec<u64>>().into_iter();
        Ok(Box::new(std::iter::from_fn(move || {
            let _held = &lease;
            let next: Vec<u64> = left.by_ref().take(BATCH_ROWS).collect();
            let rows = next.len();
            let column = |field: &Field| match field.name().as_str() {
                "file_path" => {
                    Ok(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&*data_file, rows))) as ArrayRef)
                }
                "pos" => {
                    let longs = next.iter().map(|&position| i64::try_from(position));
                    let longs = longs.collect::<std::result::Result<Vec<i64>, _>>();
                    Ok(Arc::new(Int64Array::from(longs.map_err(|_| Error::corrupt("a position exceeds 2^63"))?))
                        as ArrayRef)
                }
                name => match part.constant(name, rows)? {
                    Some(column) => Ok(column),
                    None => Ok(new_null_array(field.data_type(), rows)),
                },
            };
            (rows > 0).then(|| scan.batch(&columns, rows, &column))
        })))
    }

    fn file(&self, part: &[u8]) -> Result<Option<PartFile>> {
        let file = DeletePart::from_bytes(part)?.delete_file()?;
        let (files, path) = (self.table.files().clone(), file.path.to_string());
        Ok((!file.is_vector()).then(|| PartFile { files, path, format: file.format.name() }))
    }

    fn open(&self, part: &[u8], schema: &Schema, columns: &[usize]) -> Result<Box<dyn FileRows>> {
        let part = DeletePart::from_bytes(part)?;
        let file = part.delete_file()?;
        let primitive = |id, name: &str, data_type| NestedField::new(id, name, Type::Primitive(data_type), true);
        let read = columns.iter().filter_map(|&column| match self.schema.fields().get(column)?.name().as_str() {
            "file_path" => Some(primitive(DELETE_FILE_PATH_ID, "file_path", PrimitiveType::String)),
            "pos" => Some(primitive(DELETE_FILE_POS_ID, "pos", PrimitiveType::Long)),
            "row" => Some(NestedField::new(DELETE_FILE_ROW_ID, "row", Type::Struct(self.row.clone()), false)),
            _ => None,
        });
        let target = StructType { fields: read.collect() };
        let file_columns = FileColumns { schema, name_mapping: None, constants: &HashMap::new(), format: file.format };
        let projector = Projector::try_new(&target, &file_columns).map_err(|e| corrupt_deletes(e, &file))?;
        Ok(Box::new(OpenPositionFile { table: self.clone(), part, file, projector, target, columns: columns.to_vec() }))
    }
}

/// A reader of a position delete file.
struct OpenPositionFile {
    table: PositionDeletesTable,
    part: DeletePart,
    file: DeleteFile,
    projector: Projector,
    target: StructType,
    columns: Vec<usize>,
}

impl std::fmt::Debug for OpenPositionFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PositionFile").field(&self.file.path).finish()
    }
}

impl FileRows for OpenPositionFile {
    fn wanted(&self) -> (Vec<usize>, Vec<usize>) {
        (self.projector.leaves().to_vec(), self.projector.top_level().to_vec())
    }

    fn rows(&self, batch: &RecordBatch, count: usize) -> Result<RecordBatch> {
        let projected = self.projector.project(batch, count).map_err(|e| corrupt_deletes(e, &self.file))?;
        self.table.batch(&self.columns, count, &|field| {
            let own = self.target.fields.iter().position(|own| own.name == *field.name());
            match own.and_then(|at| projected.get(at)) {
                Some(column) => Ok(column.clone()),
                None => self.part.constant(field.name(), count)?.ok_or_else(malformed),
            }
        })
    }
}

impl DeletePart {
    /// Returns a column that is the same in all rows of the part; None for other columns.
    fn constant(&self, name: &str, rows: usize) -> Result<Option<ArrayRef>> {
        let name = match name {
            "delete_file_path" => "file_path",
            "partition" | "spec_id" | "content_offset" | "content_size_in_bytes" => name,
            _ => return Ok(None),
        };
        let value = self.0.column_by_name(name).ok_or_else(malformed)?;
        let places = UInt32Array::from_iter_values(std::iter::repeat_n(0, rows));
        Ok(Some(take(value.as_ref(), &places, None)?))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self(envelope::open(PART, bytes)?.1))
    }

    fn text(&self, name: &str) -> Result<Option<Arc<str>>> {
        let column =
            self.0.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()).ok_or_else(malformed)?;
        Ok(column.iter().next().flatten().map(Arc::from))
    }

    fn long(&self, name: &str) -> Result<Option<i64>> {
        let column = self.0.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
        Ok(column.ok_or_else(malformed)?.iter().next().flatten())
    }

    fn delete_file(&self) -> Result<DeleteFile> {
        let spec_id = self.0.column_by_name("spec_id").and_then(|column| column.as_primitive_opt::<Int32Type>());
        Ok(DeleteFile {
            content: FileContent::PositionDeletes,
            path: self.text("file_path")?.ok_or_else(malformed)?,
            format: FileFormat::parse(&self.text("file_format")?.ok_or_else(malformed)?)?,
            size_bytes: self.long("file_size_in_bytes")?.unwrap_or_default(),
            record_count: self.long("record_count")?.unwrap_or_default(),
            sequence_number: 0,
            spec_id: spec_id.and_then(|ids| ids.iter().next().flatten()).ok_or_else(malformed)?,
            equality_ids: Vec::new(),
            referenced_data_file: self.text("referenced_data_file")?,
            content_range: self.long("content_offset")?.zip(self.long("content_size_in_bytes")?),
        })
    }
}

fn malformed() -> Error {
    Error::corrupt("a part of `position_deletes` is malformed")
}

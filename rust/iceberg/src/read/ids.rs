//! Assigns field ids to the columns of a data file (spec: "Column Projection", appendix A).
//!
//! A file with ids is matched by ids only: a column without an id is not a column of the table. A file without any ids
//! uses the table's name mapping. Without a name mapping, Parquet columns have the ids 1, 2, 3 … in order; ORC and
//! Avro columns are matched by the current names. Both are as in the reference implementation.

use std::collections::HashMap;
use std::ops::Range;

use arrow_schema::{DataType, Field, Fields};
use frazil_core::error::{Error, ErrorKind, Result};

use super::FileFormat;
use super::project::FileColumns;
use crate::spec::arrow::FIELD_ID;
use crate::spec::name_mapping::{MappedField, NameMapping};
use crate::spec::types::{NestedField, StructType, Type};

/// The attribute that holds the field id of an ORC type.
const ORC_FIELD_ID: &str = "iceberg.id";

/// The maximum nesting depth of columns; deeper ones are rejected before they can exhaust the stack.
const MAX_DEPTH: usize = 128;

/// A column of a data file, at any level.
#[derive(Debug)]
pub(crate) struct FileField<'a> {
    /// The column as the file defines it.
    pub(crate) field: &'a Field,
    /// The field id in the table, if the column has one.
    pub(crate) id: Option<i32>,
    /// The leaf columns of the column, counted depth-first over the whole file.
    pub(crate) leaves: Range<usize>,
    /// The fields of a struct, the element of a list, or the key and value of a map.
    pub(crate) children: Vec<FileField<'a>>,
}

/// Returns the columns of a file with the ids by which `target` is to be matched.
pub(crate) fn file_fields<'a>(file: &FileColumns<'a>, target: &StructType) -> Result<Vec<FileField<'a>>> {
    let mut leaf = 0;
    let mut fields = tree(file.schema.fields(), &mut leaf, 0)?;
    if fields.iter().any(has_id) {
        return Ok(fields);
    }
    match (file.name_mapping, file.format) {
        (Some(mapping), _) => by_name(&mut fields, mapping),
        (None, FileFormat::Parquet) => {
            for (field, id) in fields.iter_mut().zip(1..) {
                field.id = Some(id);
            }
        }
        (None, FileFormat::Orc | FileFormat::Avro | FileFormat::Puffin) => by_name(&mut fields, &names_of(target)),
    }
    Ok(fields)
}

fn tree<'a>(fields: &'a Fields, leaf: &mut usize, depth: usize) -> Result<Vec<FileField<'a>>> {
    fields.iter().map(|field| node(field, leaf, depth)).collect()
}

fn node<'a>(field: &'a Field, leaf: &mut usize, depth: usize) -> Result<FileField<'a>> {
    if depth > MAX_DEPTH {
        let message = format!("columns of the data file are nested more than {MAX_DEPTH} levels deep");
        return Err(Error::new(ErrorKind::LimitExceeded, message));
    }
    let first = *leaf;
    let children = match field.data_type() {
        DataType::Struct(fields) => tree(fields, leaf, depth + 1)?,
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::FixedSizeList(element, _) => vec![node(element, leaf, depth + 1)?],
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => tree(fields, leaf, depth + 1)?,
            other => return Err(Error::corrupt(format!("a map in the data file has entries of type {other}"))),
        },
        _ => {
            *leaf += 1;
            Vec::new()
        }
    };
    Ok(FileField { field, id: own_id(field)?, leaves: first..*leaf, children })
}

/// Returns the id that the file records; negative ids mean None.
fn own_id(field: &Field) -> Result<Option<i32>> {
    let metadata = field.metadata();
    let Some(text) = metadata.get(FIELD_ID).or_else(|| metadata.get(ORC_FIELD_ID)) else { return Ok(None) };
    match text.parse::<i32>() {
        Ok(id) => Ok((id >= 0).then_some(id)),
        Err(_) => Err(Error::corrupt(format!("the field id {text:?} of the data file is not an integer"))
            .with("column", field.name())
            .corrupt_as(ErrorKind::CorruptDataFile)),
    }
}

fn has_id(field: &FileField) -> bool {
    field.id.is_some() || field.children.iter().any(has_id)
}

fn by_name(fields: &mut [FileField], mapping: &NameMapping) {
    let index = index(mapping);
    for field in fields {
        assign(field, index.get(field.field.name().as_str()).copied());
    }
}

fn assign(field: &mut FileField, mapped: Option<&MappedField>) {
    let Some(mapped) = mapped else { return };
    field.id = mapped.field_id;
    // Name mappings always use these names for the parts of lists and maps, whereas the names in files differ between
    // writers.
    let parts: &[&str] = match field.field.data_type() {
        DataType::Struct(_) => return by_name(&mut field.children, &mapped.fields),
        DataType::Map(..) => &["key", "value"],
        _ => &["element"],
    };
    let index = index(&mapped.fields);
    for (child, part) in field.children.iter_mut().zip(parts) {
        assign(child, index.get(part).copied());
    }
}

fn index(mapping: &NameMapping) -> HashMap<&str, &MappedField> {
    mapping.fields.iter().flat_map(|field| field.names.iter().map(move |name| (name.as_str(), field))).collect()
}

/// Returns the mapping that maps every field of the table by its current name only.
fn names_of(fields: &StructType) -> NameMapping {
    NameMapping { fields: fields.fields.iter().map(name_of).collect() }
}

fn name_of(field: &NestedField) -> MappedField {
    let fields = match &field.field_type {
        Type::Primitive(_) => NameMapping::default(),
        Type::Struct(fields) => names_of(fields),
        Type::List(list) => NameMapping { fields: vec![name_of(&list.element)] },
        Type::Map(map) => NameMapping { fields: vec![name_of(&map.key), name_of(&map.value)] },
    };
    MappedField { field_id: Some(field.id), names: vec![field.name.clone()], fields }
}

//! Plans which leaf columns of a data file a projection needs, and converts batches of them to columns of the table
//! (spec: "Column Projection").
//!
//! Fields are matched by id at every level of structs; the element of a list and the key and value of a map belong to
//! their list or map. The value of a field that the file lacks is the first of these: the identity partition value of
//! the file, its initial default, NULL. A required field with none of these is an error.
//!
//! A struct of which the file has none of the wanted fields is still read through its cheapest leaf, for its NULLs.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::scalar::Scalar;

use super::columns::{Column, Read, Slot, Source};
use super::ids::{FileField, file_fields};
use super::{FileFormat, convert, default};
use crate::spec::arrow::{arrow_field, arrow_schema, arrow_type};
use crate::spec::name_mapping::NameMapping;
use crate::spec::types::{NestedField, PrimitiveType, StructType, Type, Value};

/// The properties of a data file that are known before it is read.
#[derive(Debug, Clone, Copy)]
pub struct FileColumns<'a> {
    /// The schema of the file as its reader returns it, with field ids in the field metadata if the file has any.
    pub schema: &'a Schema,
    /// The name mapping of the table; used when the file has no field ids.
    pub name_mapping: Option<&'a NameMapping>,
    /// Identity partition values of the file by source field id; used for fields that the file lacks.
    pub constants: &'a HashMap<i32, Option<Scalar>>,
    /// The format of the file.
    pub format: FileFormat,
}

/// A projector from the columns of one data file to the projected columns of a table.
#[derive(Debug)]
pub struct Projector {
    schema: Arc<Schema>,
    columns: Vec<Column>,
    leaves: Vec<usize>,
    top_level: Vec<usize>,
    leaf_by_id: HashMap<i32, (usize, DataType)>,
}

impl Projector {
    /// Plans reading `target`, the wanted fields of the table, from a file.
    ///
    /// # Errors
    /// `CorruptDataFile` if a required field is missing, a type cannot be read as that of the table, or two columns of
    /// the file have the same wanted id; `CorruptMetadata` if a default does not fit its field.
    pub fn try_new(target: &StructType, file: &FileColumns) -> Result<Self> {
        Self::plan(target, file).map_err(|error| error.corrupt_as(ErrorKind::CorruptDataFile))
    }

    fn plan(target: &StructType, file: &FileColumns) -> Result<Self> {
        let fields = file_fields(file, target)?;
        let leaf_count = fields.last().map_or(0, |field| field.leaves.end);
        let mut planner = ProjectionPlanner {
            file,
            wanted: vec![false; leaf_count],
            whole: vec![false; fields.len()],
            leaf_by_id: HashMap::new(),
            path: Vec::new(),
        };
        // The position of a field depends on all selected leaves, so they are selected first.
        planner.fields(target, &fields, Place::Top)?;
        let columns = planner.fields(target, &fields, Place::Top)?;
        let leaves = (0..).zip(&planner.wanted).filter_map(|(leaf, &wanted)| wanted.then_some(leaf)).collect();
        let top_level = (0..).zip(&planner.whole).filter_map(|(at, &wanted)| wanted.then_some(at)).collect();
        Ok(Self { schema: Arc::new(arrow_schema(target)), columns, leaves, top_level, leaf_by_id: planner.leaf_by_id })
    }

    /// Returns the schema of the projected columns.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the leaf columns to read, counted depth-first over the file as in Parquet, in ascending order. Empty if
    /// the file has none of the wanted fields. For ORC and Avro files, all leaves of each needed top-level column are
    /// included.
    pub fn leaves(&self) -> &[usize] {
        &self.leaves
    }

    /// Returns the top-level columns that contain [`Projector::leaves`], in ascending order.
    pub fn top_level(&self) -> &[usize] {
        &self.top_level
    }

    /// Returns the leaf column with the values of a wanted primitive field that is not inside a list or a map; None if
    /// the file lacks it.
    pub fn file_leaf_of(&self, field_id: i32) -> Option<usize> {
        self.leaf_by_id.get(&field_id).map(|(leaf, _)| *leaf)
    }

    /// Returns the file's Arrow type of the column that [`Projector::file_leaf_of`] returns for a field; None if the
    /// file lacks it.
    pub fn file_type_of(&self, field_id: i32) -> Option<&DataType> {
        self.leaf_by_id.get(&field_id).map(|(_, data_type)| data_type)
    }

    /// Converts `row_count` rows of exactly the selected leaves, in file order and with structs pruned to them, to the
    /// wanted columns.
    ///
    /// # Errors
    /// `CorruptDataFile` if a value cannot be read as the type of the table or a required field is NULL; `Internal` if
    /// the batch does not hold the selected leaves.
    pub fn project(&self, batch: &RecordBatch, row_count: usize) -> Result<Vec<ArrayRef>> {
        if !self.top_level.is_empty() && batch.num_rows() != row_count {
            return Err(Error::internal(format!("the batch has {} rows, expected {row_count}", batch.num_rows())));
        }
        let fields = batch.schema_ref().fields();
        let columns = self.columns.iter().map(|column| column.read(fields, batch.columns(), row_count, None));
        columns.collect::<Result<_>>().map_err(|error| error.corrupt_as(ErrorKind::CorruptDataFile))
    }
}

/// The place of a struct whose fields are planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the top level of the file.
    Top,
    /// Nested in structs only.
    Struct,
    /// Nested in a list or a map.
    Repeated,
}

struct ProjectionPlanner<'p, 'a> {
    file: &'p FileColumns<'a>,
    wanted: Vec<bool>,
    whole: Vec<bool>,
    leaf_by_id: HashMap<i32, (usize, DataType)>,
    path: Vec<String>,
}

impl ProjectionPlanner<'_, '_> {
    fn fields(&mut self, target: &StructType, fields: &[FileField], place: Place) -> Result<Vec<Column>> {
        let mut planned = Vec::with_capacity(target.fields.len());
        for field in &target.fields {
            self.path.push(field.name.clone());
            planned.push(self.field(field, fields, place).map_err(|error| error.with("column", self.path.join(".")))?);
            self.path.pop();
        }
        let positions = self.positions(fields, place);
        let placed = planned.into_iter().map(|(slot, planned)| {
            let source = match planned {
                Planned::Fill(source) => source,
                Planned::File(at, read) => {
                    let position = positions.get(at).copied().flatten();
                    let position = position.ok_or_else(|| Error::internal("a column that is read was not selected"))?;
                    Source::File { position, name: fields.get(at).map_or("", |f| f.field.name()).to_string(), read }
                }
            };
            Ok(Column { slot, source })
        });
        placed.collect()
    }

    /// Returns, for each field of the file, its position in batches that hold only the selected leaves; None if it is
    /// not selected.
    fn positions(&self, fields: &[FileField], place: Place) -> Vec<Option<usize>> {
        let mut next = 0;
        let position = |(at, field): (usize, &FileField)| {
            let selected = match (self.file.format, place) {
                (_, Place::Top) => self.whole.get(at).copied().unwrap_or_default(),
                (FileFormat::Parquet, _) => self.selects_any(field),
                // Below the top level these formats are read completely.
                (FileFormat::Orc | FileFormat::Avro | FileFormat::Puffin, _) => true,
            };
            selected.then(|| {
                next += 1;
                next - 1
            })
        };
        fields.iter().enumerate().map(position).collect()
    }

    fn field(&mut self, target: &NestedField, fields: &[FileField], place: Place) -> Result<(Slot, Planned)> {
        let slot = self.slot(target);
        if matches!(target.field_type, Type::Primitive(PrimitiveType::Unknown)) {
            return Ok((slot, Planned::Fill(Source::Null)));
        }
        let mut found = (0..).zip(fields).filter(|(_, field)| field.id == Some(target.id));
        let Some((at, field)) = found.next() else { return self.missing(target, slot, fields) };
        if let Some((_, other)) = found.next() {
            let (first, second) = (field.field.name(), other.field.name());
            return Err(Error::corrupt(format!(
                "columns {first} and {second} of the data file both have the field id {}",
                target.id
            )));
        }
        // A column of type unknown, or of Avro's null type, stores only NULL.
        if field.field.data_type() == &DataType::Null {
            return if target.required {
                Err(self.lacks(target, fields))
            } else {
                Ok((slot, Planned::Fill(Source::Null)))
            };
        }
        if place == Place::Top {
            if let Some(whole) = self.whole.get_mut(at) {
                *whole = true;
            }
            if self.file.format != FileFormat::Parquet {
                self.select_all(field);
            }
        }
        let read = self.read(&target.field_type, field, if place == Place::Top { Place::Struct } else { place })?;
        if let (Read::Leaf { .. }, Place::Top | Place::Struct) = (&read, place) {
            self.leaf_by_id.insert(target.id, (field.leaves.start, field.field.data_type().clone()));
        }
        Ok((slot, Planned::File(at, read)))
    }

    fn slot(&self, target: &NestedField) -> Slot {
        Slot { path: self.path.join("."), field: Arc::new(arrow_field(target)) }
    }

    fn missing(&self, target: &NestedField, slot: Slot, fields: &[FileField]) -> Result<(Slot, Planned)> {
        let value = match (self.file.constants.get(&target.id), &target.initial_default) {
            (Some(constant), _) => constant.clone().map(Value::Scalar),
            (None, default) => default.clone(),
        };
        let source = match value {
            Some(value) => Source::One(default::one(&target.field_type, &value)?),
            None if target.required => return Err(self.lacks(target, fields)),
            None => Source::Null,
        };
        Ok((slot, Planned::Fill(source)))
    }

    fn lacks(&self, target: &NestedField, fields: &[FileField]) -> Error {
        const SHOWN: usize = 40;
        let describe = |field: &FileField| match field.id {
            Some(id) => format!("{} (id {id})", field.field.name()),
            None => field.field.name().clone(),
        };
        let mut names: Vec<_> = fields.iter().take(SHOWN).map(describe).collect();
        if fields.len() > SHOWN {
            names.push(format!("{} more", fields.len() - SHOWN));
        }
        Error::corrupt(format!(
            "the required column {} (id {}) has no initial default and is missing from the data file, which has {}",
            self.path.join("."),
            target.id,
            if names.is_empty() { "no columns".to_string() } else { names.join(", ") }
        ))
    }

    /// Selects the leaves of a file column and returns its conversion to `target`.
    fn read(&mut self, target: &Type, field: &FileField, place: Place) -> Result<Read> {
        match (target, field.field.data_type(), field.children.as_slice()) {
            (Type::Primitive(PrimitiveType::Variant), DataType::Struct(_), _) => {
                self.select_all(field);
                Ok(Read::Variant)
            }
            (Type::Primitive(primitive), from, []) if convert::is_convertible(from, primitive, self.file.format) => {
                self.select_all(field);
                Ok(Read::Leaf { to: primitive.clone(), format: self.file.format })
            }
            (Type::Struct(fields), DataType::Struct(_), children) => {
                // The position of each child depends on the final selection, so the leaf for its NULLs is selected
                // first.
                if !reads_any(fields, children) {
                    self.select_cheapest(field);
                }
                Ok(Read::Struct(self.fields(fields, children, place)?))
            }
            (Type::List(list), from, [element]) if is_list(from) => {
                Ok(Read::List(Box::new(self.part(&list.element, element)?)))
            }
            (Type::Map(map), DataType::Map(..), [key, value]) => {
                // A map with an unselected key leaf would not be returned as a map.
                self.select_all(key);
                Ok(Read::Map(Box::new((self.part(&map.key, key)?, self.part(&map.value, value)?))))
            }
            // Avro stores maps whose keys are not strings as arrays of key-value records.
            (Type::Map(map), from, [FileField { children, .. }]) if is_list(from) => match children.as_slice() {
                [key, value] => {
                    self.select_all(key);
                    Ok(Read::Map(Box::new((self.part(&map.key, key)?, self.part(&map.value, value)?))))
                }
                _ => Err(self.differs(target, field)),
            },
            _ => Err(self.differs(target, field)),
        }
    }

    fn part(&mut self, target: &NestedField, field: &FileField) -> Result<(Slot, Read)> {
        self.path.push(target.name.clone());
        let read = self.read(&target.field_type, field, Place::Repeated)?;
        let slot = self.slot(target);
        self.path.pop();
        Ok((slot, read))
    }

    fn differs(&self, target: &Type, field: &FileField) -> Error {
        let (from, to) = (field.field.data_type(), arrow_type(target));
        Error::corrupt(format!("the data file column has the type {from}, which cannot be read as {to}"))
            .with("column", self.path.join("."))
    }

    fn select_all(&mut self, field: &FileField) {
        if let Some(leaves) = self.wanted.get_mut(field.leaves.clone()) {
            leaves.fill(true);
        }
    }

    fn selects_any(&self, field: &FileField) -> bool {
        self.wanted.get(field.leaves.clone()).is_some_and(|leaves| leaves.contains(&true))
    }

    fn select_cheapest(&mut self, field: &FileField) {
        if let Some(leaf) = cheapest(field).and_then(|(_, leaf)| self.wanted.get_mut(leaf)) {
            *leaf = true;
        }
    }
}

enum Planned {
    Fill(Source),
    /// The field of the file at this position among its siblings.
    File(usize, Read),
}

fn is_list(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::List(_) | D::LargeList(_) | D::ListView(_) | D::LargeListView(_) | D::FixedSizeList(..))
}

/// Returns whether a file struct with these `children` has a wanted field that stores values, so that it is read.
fn reads_any(wanted: &StructType, children: &[FileField]) -> bool {
    wanted.fields.iter().any(|field| children.iter().any(|child| child.id == Some(field.id) && is_read(field, child)))
}

fn is_read(wanted: &NestedField, child: &FileField) -> bool {
    child.field.data_type() != &DataType::Null && wanted.field_type != Type::Primitive(PrimitiveType::Unknown)
}

/// Returns the leaf under `field` that is cheapest to read, with its cost: lists and maps cost more than any leaf next
/// to them.
fn cheapest(field: &FileField) -> Option<(u32, usize)> {
    let own = match field.field.data_type() {
        DataType::Struct(_) => 0,
        _ if !field.children.is_empty() => 1000,
        DataType::Boolean => 1,
        other => other.primitive_width().and_then(|width| u32::try_from(width).ok()).map_or(100, |width| width * 8),
    };
    if field.children.is_empty() {
        return (!field.leaves.is_empty()).then_some((own, field.leaves.start));
    }
    field.children.iter().filter_map(cheapest).min().map(|(cost, leaf)| (cost + own, leaf))
}

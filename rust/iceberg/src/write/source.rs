//! Computes the source values of a partition field or a sort field.

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use frazil_core::error::{Error, Result};

use crate::spec::schema::{FieldPath, Schema};
use crate::spec::transform::Transform;
use crate::spec::types::{PrimitiveType, Type};

/// A column, possibly nested in structs, and its transform.
#[derive(Debug)]
pub(super) struct RowSource {
    /// The positions of the column, from the outermost struct inwards.
    steps: Vec<usize>,
    source_type: PrimitiveType,
    transform: Transform,
}

impl RowSource {
    /// Creates a source for rows of `schema`, in the order of its columns.
    ///
    /// # Errors
    /// `Unsupported` for unknown transforms and those of several columns; `InvalidArgument` for columns that are
    /// missing or not primitive.
    pub(super) fn new(schema: &Schema, source_ids: &[i32], transform: &Transform) -> Result<Self> {
        let &[id] = source_ids else {
            return Err(Error::unsupported("writing with transforms of several columns is not supported"));
        };
        let path = schema.path(id).ok_or_else(|| Error::invalid(format!("no column has the id {id}")))?;
        let Type::Primitive(source_type) = &path.field().field_type else {
            return Err(Error::invalid(format!("the column `{}` does not have a primitive type", path.full_name())));
        };
        if let Transform::Unknown(text) = transform {
            return Err(Error::unsupported(format!("the transform {text:?} is not supported")));
        }
        Ok(Self { steps: steps(schema, &path)?, source_type: source_type.clone(), transform: transform.clone() })
    }

    /// Returns the type of the values.
    pub(super) fn result_type(&self) -> Result<PrimitiveType> {
        let message = || format!("the transform {} does not apply to the type {}", self.transform, self.source_type);
        self.transform.result_type(&self.source_type).ok_or_else(|| Error::invalid(message()))
    }

    /// Returns the values for the rows of a batch.
    pub(super) fn values(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        self.transform.apply(column(batch, &self.steps)?.as_ref(), &self.source_type)
    }
}

/// Returns the positions that lead to a column.
fn steps(schema: &Schema, path: &FieldPath<'_>) -> Result<Vec<usize>> {
    let mut fields: Vec<_> = schema.fields.fields.iter().collect();
    let mut steps = Vec::new();
    for field in path.fields() {
        let step = fields.iter().position(|other| other.id == field.id);
        steps.push(step.ok_or_else(|| Error::invalid("the column is inside a list or a map"))?);
        fields = match &field.field_type {
            Type::Struct(inner) => inner.fields.iter().collect(),
            _ => Vec::new(),
        };
    }
    Ok(steps)
}

/// Returns a column, with NULL wherever a parent struct is NULL.
fn column(batch: &RecordBatch, steps: &[usize]) -> Result<ArrayRef> {
    let missing = || Error::internal("the rows do not have a column that they are sorted or partitioned by");
    let (first, inner) = steps.split_first().ok_or_else(missing)?;
    let outer = batch.columns().get(*first).cloned().ok_or_else(missing)?;
    inner
        .iter()
        .try_fold(outer, |array, &step| frazil_core::nested::child(array.as_struct_opt().ok_or_else(missing)?, step))
}

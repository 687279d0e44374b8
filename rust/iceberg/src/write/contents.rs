//! Records the contents of new data files. A commit checks them against the latest schema, which another writer may
//! have changed since the files were written.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::nested::{Repeated, child};

use crate::spec::schema::{MAX_FIELD_ID, Schema};
use crate::spec::table_metadata::TableMetadata;
use crate::spec::types::{NestedField, StructType, Type};

/// The contents of rows, and the schema and the partition spec with which they were written.
#[derive(Debug, Clone)]
pub struct Contents {
    schema: Arc<Schema>,
    spec_id: i32,
    partition: StructType,
    /// The fields with NULL in any row; None if unknown.
    nulls: Option<HashSet<i32>>,
    /// The fields with a value in any row; None if unknown.
    values: Option<HashSet<i32>>,
}

impl Contents {
    /// Creates the contents of no rows, with the current schema of a table and its default spec.
    ///
    /// # Errors
    /// `CorruptMetadata` for a table without a current schema or default spec.
    pub fn new(table: &TableMetadata) -> Result<Self> {
        let unknown = Self::unknown(table)?;
        Ok(Self { nulls: Some(HashSet::new()), values: Some(HashSet::new()), ..unknown })
    }

    /// Creates the contents of rows that were not inspected.
    ///
    /// # Errors
    /// See [`Contents::new`].
    pub fn unknown(table: &TableMetadata) -> Result<Self> {
        let spec_id = table.default_spec_id;
        let partition = table.partition_type(table.spec(spec_id)?);
        Ok(Self { schema: table.current_schema()?.clone(), spec_id, partition, nulls: None, values: None })
    }

    /// Inspects rows, whose first columns are those of the schema.
    ///
    /// # Errors
    /// `Internal` for rows with another schema.
    pub fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        let schema = self.schema.clone();
        schema.fields.fields.iter().zip(rows.columns()).try_for_each(|(field, column)| self.look(field, column, None))
    }

    /// Inspects the values of a field; `parents` marks the rows in which a parent struct is NULL.
    fn look(&mut self, field: &NestedField, values: &ArrayRef, parents: Option<&NullBuffer>) -> Result<()> {
        let nulls = values.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let inside = parents.map_or(0, NullBuffer::null_count);
        let all = NullBuffer::union(nulls.as_ref(), parents);
        let missing = all.as_ref().map_or(0, NullBuffer::null_count);
        if !field.required && missing > inside {
            self.nulls.iter_mut().for_each(|ids| ids.extend([field.id]));
        }
        if missing < values.len() {
            self.values.iter_mut().for_each(|ids| ids.extend([field.id]));
        }
        match &field.field_type {
            Type::Primitive(_) => Ok(()),
            Type::Struct(inner) => {
                let Some(parent) = values.as_struct_opt() else { return Ok(()) };
                let part = |(place, field)| self.look(field, &child(parent, place)?, all.as_ref());
                inner.fields.iter().enumerate().try_for_each(part)
            }
            Type::List(list) => self.look(&list.element, &Repeated::of(values)?.values, None),
            Type::Map(map) => {
                let entries = Repeated::of(values)?.values;
                let Some(entries) = entries.as_struct_opt() else { return Ok(()) };
                self.look(&map.key, &child(entries, 0)?, None)?;
                self.look(&map.value, &child(entries, 1)?, None)
            }
        }
    }

    /// Checks that the latest state of a table can read the contents of the rows.
    ///
    /// # Errors
    /// `CommitConflict` with a column that became required and is NULL in some row; with a column with values that was
    /// dropped (and possibly added again); or with a partition spec whose tuple types changed.
    pub fn check(&self, table: &TableMetadata) -> Result<()> {
        let now = table.current_schema()?;
        if now.fields != self.schema.fields {
            self.check_fields(&self.schema.fields, &now.fields, "")?;
        }
        let spec = table.spec(self.spec_id).map_err(|_| changed("the partition spec of the rows was removed"))?;
        if table.partition_type(spec) != self.partition {
            return Err(changed("the type of a column that the rows are partitioned by was changed"));
        }
        Ok(())
    }

    fn check_fields(&self, written: &StructType, now: &StructType, prefix: &str) -> Result<()> {
        for field in &now.fields {
            let name = format!("{prefix}{}", field.name);
            match written.fields.iter().find(|known| known.id == field.id) {
                Some(known) => self.check_field(known, field, &name)?,
                None if field.required && field.initial_default.is_none() => {
                    return Err(changed(&format!(
                        "the required column `{name}` was added, but the rows do not have it"
                    )));
                }
                None => {}
            }
        }
        let is_gone = |field: &&NestedField| field.id <= MAX_FIELD_ID && !now.fields.iter().any(|f| f.id == field.id);
        let has_values = |field: &&NestedField| self.values.as_ref().is_none_or(|ids| ids.contains(&field.id));
        match written.fields.iter().filter(is_gone).find(has_values) {
            None => Ok(()),
            Some(field) => {
                let again = now.fields.iter().any(|known| known.name == field.name);
                let what = if again { "was dropped and added again" } else { "was dropped" };
                Err(changed(&format!("the column `{prefix}{}`, which has values in the rows, {what}", field.name)))
            }
        }
    }

    fn check_field(&self, written: &NestedField, now: &NestedField, name: &str) -> Result<()> {
        let has_nulls = !written.required && self.nulls.as_ref().is_none_or(|ids| ids.contains(&written.id));
        if now.required && has_nulls {
            return Err(changed(&format!("the column `{name}` became required, but may be NULL in the rows")));
        }
        match (&written.field_type, &now.field_type) {
            (Type::Struct(written), Type::Struct(now)) => self.check_fields(written, now, &format!("{name}.")),
            (Type::List(written), Type::List(now)) => {
                self.check_field(&written.element, &now.element, &format!("{name}.element"))
            }
            (Type::Map(written), Type::Map(now)) => {
                self.check_field(&written.key, &now.key, &format!("{name}.key"))?;
                self.check_field(&written.value, &now.value, &format!("{name}.value"))
            }
            _ => Ok(()),
        }
    }
}

fn changed(what: &str) -> Error {
    Error::new(
        ErrorKind::CommitConflict,
        format!("another writer changed the table after the rows were written: {what}"),
    )
    .hint("load the table again and write the rows again")
}

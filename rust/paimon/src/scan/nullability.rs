//! Handles NOT NULL columns that may nevertheless contain NULL: in files of older schemas in which the column is
//! missing or nullable, or has values that a cast turns into NULL. Java reads NULL in these cases.

use std::sync::Arc;

use frazil_core::error::{ErrorKind, Result};

use crate::cast::is_exact_widening;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};
use crate::table::Table;

/// Returns a schema whose columns are nullable if files of older schemas may contain NULL. Keys are unchanged.
///
/// # Errors
/// The errors of reading older schemas.
pub(super) fn with_older_nulls(table: &Table, schema: Arc<TableSchema>) -> Result<Arc<TableSchema>> {
    let is_key =
        |field: &DataField| schema.primary_keys.contains(&field.name) || schema.partition_keys.contains(&field.name);
    let required = |field: &DataField| !is_key(field) && excludes_null(&field.data_type);
    if schema.id == 0 || !schema.fields.iter().any(required) {
        return Ok(schema);
    }
    let mut relaxed = TableSchema::clone(&schema);
    for id in table.schema_ids()?.into_iter().filter(|id| *id < schema.id) {
        let older = match table.schema_by_id(id) {
            Ok(older) => older.fields.clone(),
            // A schema that cannot be read is ignored here. Only reads of files of that schema fail.
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::CorruptMetadata) => continue,
            Err(e) => return Err(e),
        };
        for field in relaxed.fields.iter_mut().filter(|field| required(field)) {
            relax(&mut field.data_type, type_of(&older, field.id));
        }
    }
    Ok(Arc::new(relaxed))
}

fn type_of(fields: &[DataField], id: i32) -> Option<&DataType> {
    fields.iter().find(|field| field.id == id).map(|field| &field.data_type)
}

/// Returns whether a type is NOT NULL at any level.
fn excludes_null(data_type: &DataType) -> bool {
    let inside = match &data_type.root {
        TypeRoot::Row(fields) => fields.iter().any(|field| excludes_null(&field.data_type)),
        TypeRoot::Array(element) | TypeRoot::Map(_, element) => excludes_null(element),
        _ => false,
    };
    inside || !data_type.nullable
}

/// Makes a type nullable if values of an older type may be NULL when read as this type.
fn relax(data_type: &mut DataType, older: Option<&DataType>) {
    let Some(older) = older else {
        data_type.nullable = true;
        return;
    };
    let keeps = match (&mut data_type.root, &older.root) {
        (TypeRoot::Row(fields), TypeRoot::Row(before)) => {
            for field in fields.iter_mut() {
                relax(&mut field.data_type, type_of(before, field.id));
            }
            true
        }
        (TypeRoot::Array(element), TypeRoot::Array(before)) => {
            relax(element, Some(before));
            true
        }
        (TypeRoot::Map(_, value), TypeRoot::Map(_, before)) => {
            relax(value, Some(before));
            true
        }
        _ => is_exact_widening(older, data_type),
    };
    data_type.nullable |= older.nullable || !keeps;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::types::TypeRoot::{Array, BigInt, Decimal, Int, Row};

    fn required(root: TypeRoot) -> DataType {
        DataType { root, nullable: false }
    }

    fn relaxed(to: TypeRoot, from: Option<&DataType>) -> DataType {
        let mut to = required(to);
        relax(&mut to, from);
        to
    }

    fn row(root: TypeRoot, nullable: bool) -> TypeRoot {
        let data_type = DataType { root, nullable };
        Row(vec![DataField { id: 7, name: "x".into(), data_type, description: None, default_value: None }])
    }

    #[test]
    fn columns_missing_nullable_or_narrowed_in_older_files_become_nullable() {
        assert!(relaxed(Int, None).nullable);
        assert!(relaxed(Int, Some(&DataType::nullable(Int))).nullable);
        assert!(relaxed(Decimal(3, 1), Some(&required(Decimal(9, 1)))).nullable);
        assert!(!relaxed(Int, Some(&required(Int))).nullable);
        assert!(!relaxed(BigInt, Some(&required(Int))).nullable);
    }

    #[test]
    fn parts_of_nested_values_are_relaxed_each_by_its_own_past() {
        let to = relaxed(row(Decimal(3, 1), false), Some(&required(row(Decimal(9, 1), false))));
        assert_eq!(to, required(row(Decimal(3, 1), true)));
        let to = relaxed(Array(Box::new(required(Int))), Some(&required(Array(Box::new(DataType::nullable(Int))))));
        assert_eq!(to, required(Array(Box::new(DataType::nullable(Int)))));
        assert!(excludes_null(&DataType::nullable(row(Int, false))));
        assert!(!excludes_null(&DataType::nullable(row(Int, true))));
    }
}

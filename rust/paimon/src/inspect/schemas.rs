//! The system table `schemas`: the schemas of the table, with lists and maps as JSON.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int64Array, StringArray, TimestampMillisecondArray};
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};

use super::{InspectColumn, InspectState, NULLABLE, REQUIRED, ViewKind, display};
use crate::spec::schema::TableSchema;
use crate::spec::type_text::fields_to_json;

pub(super) const COLUMNS: [InspectColumn; 7] = [
    ("schema_id", ViewKind::Long, REQUIRED),
    ("fields", ViewKind::Text, REQUIRED),
    ("partition_keys", ViewKind::Text, REQUIRED),
    ("primary_keys", ViewKind::Text, REQUIRED),
    ("options", ViewKind::Text, REQUIRED),
    ("comment", ViewKind::Text, NULLABLE),
    ("update_time", ViewKind::Time, REQUIRED),
];

pub(super) fn rows(state: &InspectState, context: &Context) -> Result<Vec<ArrayRef>> {
    let mut schemas: Vec<Arc<TableSchema>> = Vec::new();
    for id in state.table.schema_ids()? {
        context.check()?;
        schemas.push(state.table.schema_by_id(id)?);
    }
    let (mut partition_keys, mut primary_keys) = (StringBuilder::new(), StringBuilder::new());
    let mut options = StringBuilder::new();
    for schema in &schemas {
        partition_keys.append_value(json(&schema.partition_keys)?);
        primary_keys.append_value(json(&schema.primary_keys)?);
        options.append_value(options_json(schema)?);
    }
    Ok(vec![
        Arc::new(schemas.iter().map(|schema| Some(schema.id)).collect::<Int64Array>()),
        Arc::new(schemas.iter().map(|schema| Some(fields_to_json(&schema.fields))).collect::<StringArray>()),
        Arc::new(partition_keys.finish()),
        Arc::new(primary_keys.finish()),
        Arc::new(options.finish()),
        Arc::new(schemas.iter().map(|schema| schema.comment.as_deref()).collect::<StringArray>()),
        Arc::new(schemas.iter().map(|schema| Some(schema.time_ms)).collect::<TimestampMillisecondArray>()),
    ])
}

fn options_json(schema: &TableSchema) -> Result<String> {
    let member = |(name, value): (&String, &String)| Ok(format!("{}:{}", json(name)?, json(value)?));
    let members = display::hash_order(&schema.options).into_iter().map(member).collect::<Result<Vec<_>>>()?;
    Ok(format!("{{{}}}", members.join(",")))
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal("a string cannot be serialized").caused_by(error))
}

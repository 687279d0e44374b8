//! The JSON form of the state that the tasks of a scan share.
//!
//! ```json
//! {
//!   "schema": {…},                  // spec: appendix C
//!   "columns": {…},                 // the table columns of the output, as a schema
//!   "metadata-columns": ["_pos"],
//!   "partition-type": {…},          // the type of `_partition`, as a schema
//!   "retired": [{…}],               // schemas of one column each
//!   "filter": {…},                  // see `predicate`
//!   "name-mapping": […],
//!   "partition-specs": [{"spec": {…}, "type": {…}}],
//!   "relocation": [["hdfs://nn/wh/t", "/data/t"]],
//!   "allowed": ["/data/t"]
//! }
//! ```

use std::sync::Arc;

use frazil_core::context::Budget;
use frazil_core::error::{Error, Result};
use frazil_core::storage::Storage;
use frazil_core::storage::files::Files;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::context::{PartitionContext, ReadContext};
use super::super::output::{MetadataColumn, Output};
use super::predicate;
use crate::spec::name_mapping::NameMapping;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::types::{NestedField, StructType, Type};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ContextWire {
    schema: Box<RawValue>,
    columns: Box<RawValue>,
    metadata_columns: Vec<String>,
    partition_type: Box<RawValue>,
    retired: Vec<Box<RawValue>>,
    filter: serde_json::Value,
    name_mapping: Option<Box<RawValue>>,
    partition_specs: Vec<WireSpec>,
    relocation: Vec<(String, String)>,
    allowed: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct WireSpec {
    spec: Box<RawValue>,
    r#type: Box<RawValue>,
}

/// Writes the context.
pub fn to_json(read: &ReadContext) -> Result<String> {
    let (metadata, columns): (Vec<_>, Vec<_>) =
        read.output.fields.fields.iter().cloned().partition(|field| metadata_column(field).is_some());
    let partition_type = metadata.iter().find_map(|field| match &field.field_type {
        Type::Struct(inner) => Some(inner.clone()),
        Type::Primitive(_) | Type::List(_) | Type::Map(_) => None,
    });
    let specs = read.partitions.values().map(|partition| {
        Ok(WireSpec { spec: raw(partition.spec.to_json())?, r#type: struct_json(&partition.fields)? })
    });
    let wire = ContextWire {
        schema: raw(read.schema.to_json())?,
        columns: struct_json(&StructType { fields: columns })?,
        metadata_columns: metadata.into_iter().map(|field| field.name).collect(),
        partition_type: struct_json(&partition_type.unwrap_or_default())?,
        retired: read
            .retired
            .iter()
            .map(|field| struct_json(&StructType { fields: vec![field.clone()] }))
            .collect::<Result<_>>()?,
        filter: predicate::to_json(&read.filter)?,
        name_mapping: read.name_mapping.as_ref().map(|mapping| raw(mapping.to_json())).transpose()?,
        partition_specs: specs.collect::<Result<_>>()?,
        relocation: read.files.relocation().pairs(),
        allowed: read.files.confinement().roots(),
    };
    serde_json::to_string(&wire).map_err(|e| Error::internal("a task context cannot be serialised").caused_by(e))
}

/// Reads the context.
pub fn from_json(text: &str, storage: Arc<dyn Storage>, budget: Budget) -> Result<ReadContext> {
    let wire: ContextWire =
        serde_json::from_str(text).map_err(|e| Error::corrupt("the context of a task is malformed").caused_by(e))?;
    let partition_type = struct_of(&wire.partition_type)?;
    let mut fields = struct_of(&wire.columns)?;
    for name in &wire.metadata_columns {
        let column = MetadataColumn::ALL.into_iter().find(|column| column.name() == name);
        let column = column.ok_or_else(|| Error::corrupt("unknown metadata column").with("column", name))?;
        fields.fields.push(column.field(&partition_type));
    }
    let partitions = wire.partition_specs.iter().map(|wire| {
        let spec = PartitionSpec::from_json(wire.spec.get())?;
        let fields = Arc::new(struct_of(&wire.r#type)?);
        Ok((spec.spec_id, Arc::new(PartitionContext { spec, fields })))
    });
    Ok(ReadContext {
        output: Output { fields },
        schema: Arc::new(Schema::from_json(wire.schema.get())?),
        retired: wire.retired.iter().map(|raw| Ok(struct_of(raw)?.fields)).collect::<Result<Vec<_>>>()?.concat(),
        filter: predicate::from_json(&wire.filter)?,
        name_mapping: wire.name_mapping.map(|raw| NameMapping::from_json(raw.get())).transpose()?,
        partitions: partitions.collect::<Result<_>>()?,
        budget,
        cache: Arc::default(),
        spare: Arc::default(),
        files: Files::assemble(storage, &wire.relocation, &wire.allowed)?,
    })
}

fn metadata_column(field: &NestedField) -> Option<MetadataColumn> {
    MetadataColumn::ALL.into_iter().find(|column| column.field_id() == field.id)
}

fn struct_json(fields: &StructType) -> Result<Box<RawValue>> {
    raw(Schema { fields: fields.clone(), ..Schema::default() }.to_json())
}

fn struct_of(json: &RawValue) -> Result<StructType> {
    Ok(Schema::from_json(json.get())?.fields)
}

fn raw(json: String) -> Result<Box<RawValue>> {
    RawValue::from_string(json).map_err(|e| Error::internal("invalid JSON was generated").caused_by(e))
}

//! Builds the initial state of a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::clock::now_ms;
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::ids;

use super::property_values;
use super::tree::Ids;
use crate::commit::attempts::{Change, Revision};
use crate::commit::requirement::Requirement;
use crate::commit::update::unsupported_version;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::sort::SortOrder;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::types::{NestedField, StructType};
use crate::validation::check;

/// A table to be created.
#[derive(Debug, Clone)]
pub struct CreateTable {
    /// The format version: 1, 2 or 3.
    pub format_version: u8,
    /// The table's folder.
    pub location: String,
    /// The schema; its ids are kept.
    pub schema: Schema,
    /// The partition spec.
    pub spec: PartitionSpec,
    /// The sort order.
    pub order: SortOrder,
    /// The table properties.
    pub properties: BTreeMap<String, String>,
}

impl CreateTable {
    /// Returns the initial state of the table.
    ///
    /// # Errors
    /// See [`check`]: unsupported features of the format version, transforms that do not apply to their columns, and
    /// invalid property values.
    pub fn metadata(&self) -> Result<TableMetadata> {
        if !(1..=3).contains(&self.format_version) {
            return Err(unsupported_version(self.format_version));
        }
        check::schema(&self.schema, self.format_version)?;
        check::depth(&self.schema, &self.properties)?;
        check::spec(&self.spec, &self.schema, &[])?;
        check::order(&self.order, &self.schema)?;
        self.properties.iter().try_for_each(|(key, value)| property_values::check(key, value, &self.schema))?;
        let highest = self.spec.fields.iter().map(|field| field.field_id).max();
        let schema = Schema { schema_id: 0, ..self.schema.clone() };
        let order = SortOrder { order_id: i32::from(!self.order.is_unsorted()), fields: self.order.fields.clone() };
        Ok(TableMetadata {
            format_version: self.format_version,
            table_uuid: Some(ids::uuid()?),
            location: self.location.trim_end_matches('/').to_string(),
            last_sequence_number: 0,
            last_updated_ms: now_ms(),
            last_column_id: schema.max_field_id(),
            schemas: vec![Arc::new(schema)],
            current_schema_id: 0,
            partition_specs: vec![Arc::new(PartitionSpec { spec_id: 0, fields: self.spec.fields.clone() })],
            default_spec_id: 0,
            last_partition_id: highest.unwrap_or(999),
            properties: self.properties.clone(),
            current_snapshot_id: None,
            snapshots: Vec::new(),
            snapshot_log: Vec::new(),
            metadata_log: Vec::new(),
            default_sort_order_id: order.order_id,
            sort_orders: vec![order],
            refs: BTreeMap::new(),
            statistics: Vec::new(),
            partition_statistics: Vec::new(),
            next_row_id: (self.format_version > 2).then_some(0),
            encryption_keys: None,
            unknown: Vec::new(),
        })
    }
}

/// Returns the schema of columns with these names and types as text. New ids are assigned, first to the columns
/// themselves.
///
/// # Errors
/// `InvalidArgument` for an invalid type and for a duplicate name.
pub fn typed_schema(columns: &[(String, String)]) -> Result<Schema> {
    let fields = columns
        .iter()
        .map(|(name, text)| NestedField::from_text(name, text).map_err(|error| error.with("column", name)))
        .collect::<Result<_>>()?;
    let fields = Ids::after(0).given_fields(&StructType { fields })?;
    let schema = Schema { schema_id: 0, fields, identifier_field_ids: Vec::new() };
    // The schema reader checks uniqueness.
    Schema::from_json(&schema.to_json()).map_err(|error| Error::invalid(error.message()))
}

impl Change for CreateTable {
    fn revise(&mut self, base: Option<&TableMetadata>, _: u32, _: &Context) -> Result<Revision> {
        Requirement::AssertCreate.check(base)?;
        Ok(Revision::Create(Box::new(self.metadata()?)))
    }

    fn clean(&mut self, _: Option<&TableMetadata>) {}
}

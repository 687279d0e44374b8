//! Serializes the state that the splits of a scan share, as JSON.
//!
//! ```json
//! {
//!   "table": "/data/t",
//!   "schema": {…}, "schemas": [{…}],      // as the table has them (spec: "Schema")
//!   "options": {"bucket": "1"},
//!   "filter": "k > 10",                   // names are those of the schema
//!   "view": "rows",
//!   "fields": [0, 3, 5],                  // the field ids of the output
//!   "widened": [3],                       // NOT NULL in the schema of a fallback branch, not so in the main one
//!   "renamed": {"3": "v"},                // what the main branch calls columns of a fallback branch; left out if none
//!   "metadata-columns": ["_ROW_KIND"],
//!   "relocation": [["hdfs://nn/wh/t", "/data/t"]],
//!   "allowed": ["/data/t"]
//! }
//! ```

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use frazil_core::error::{Error, Result};
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::sql::predicate::bind::bind;
use frazil_core::storage::Storage;
use frazil_core::storage::files::Files;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::context::output::{MetadataColumn, Output, leaf_ids, pruned};
use crate::context::{ReadContext, View};
use crate::read::scan_read::ScanRead;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::DataField;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ContextWire {
    table: String,
    schema: Box<RawValue>,
    schemas: Vec<Box<RawValue>>,
    options: BTreeMap<String, String>,
    filter: String,
    view: View,
    fields: Vec<i32>,
    widened: Vec<i32>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    renamed: BTreeMap<i32, String>,
    metadata_columns: Vec<String>,
    relocation: Vec<(String, String)>,
    allowed: Vec<String>,
}

/// The maximum nesting depth of ANDs and ORs, because the text of the filter must be parsed again.
const MAX_FILTER_DEPTH: usize = 150;

/// Writes the context.
///
/// # Errors
/// `InvalidArgument` for a filter that is nested too deeply to be parsed.
pub fn to_json(read: &ScanRead) -> Result<String> {
    let context = &read.context;
    if depth(&context.filter) > MAX_FILTER_DEPTH {
        return Err(Error::invalid(format!("the filter nests more than {MAX_FILTER_DEPTH} ANDs and ORs"))
            .hint("splits are sent with their filter: reduce its nesting"));
    }
    let wire = ContextWire {
        table: context.table_location.clone(),
        schema: raw(without_options(&context.schema).to_json())?,
        schemas: context
            .schemas
            .values()
            .map(|schema| raw(without_options(schema).to_json()))
            .collect::<Result<_>>()?,
        options: context.options.all().iter().filter(|(name, _)| !is_secret(name)).map(owned).collect(),
        filter: context.filter.to_string(),
        view: context.view,
        fields: leaf_ids(&read.output.fields),
        widened: widened(&read.output.fields, &context.schema.fields),
        renamed: renamed(&read.output.fields, &context.schema.fields),
        metadata_columns: read.output.metadata.iter().map(|column| column.wire_name().to_string()).collect(),
        relocation: context.files.relocation().pairs(),
        allowed: context.files.confinement().roots(),
    };
    serde_json::to_string(&wire).map_err(|e| Error::internal("a split context cannot be serialized").caused_by(e))
}

/// Reads the context.
///
/// # Errors
/// Fails for anything that [`to_json`] did not write.
pub fn from_json(text: &str, storage: Arc<dyn Storage>) -> Result<ScanRead> {
    let wire: ContextWire = serde_json::from_str(text).map_err(|e| Error::corrupt("malformed JSON").caused_by(e))?;
    let schema = Arc::new(TableSchema::parse(wire.schema.get().as_bytes())?);
    let schemas = wire.schemas.iter().map(|schema| {
        let schema = TableSchema::parse(schema.get().as_bytes())?;
        Ok((schema.id, Arc::new(schema)))
    });
    let metadata = wire.metadata_columns.iter().map(|name| {
        let column = MetadataColumn::ALL.into_iter().find(|column| column.wire_name() == name);
        column.ok_or_else(|| Error::corrupt("unknown metadata column").with("column", name))
    });
    let ids: HashSet<i32> = wire.fields.into_iter().collect();
    let metadata = metadata.collect::<Result<_>>()?;
    let images = wire.view == View::Binlog;
    let mut output = Output { fields: pruned(&schema.fields, &ids), metadata, images };
    for field in &mut output.fields {
        field.data_type.nullable |= wire.widened.contains(&field.id);
        if let Some(name) = wire.renamed.get(&field.id) {
            field.name.clone_from(name);
        }
    }
    let context = ReadContext {
        files: Files::assemble(storage, &wire.relocation, &wire.allowed)?,
        table_location: wire.table,
        filter: bind(&Expression::filter(&wire.filter)?, schema.as_ref(), true)?,
        schemas: schemas.collect::<Result<_>>()?,
        options: Options::new(wire.options),
        view: wire.view,
        schema,
    };
    ScanRead::try_new(Arc::new(context), output)
}

/// Returns the ids of output columns that are nullable although they are NOT NULL in the schema.
fn widened(output: &[DataField], schema: &[DataField]) -> Vec<i32> {
    let not_null = schema.iter().filter(|field| !field.data_type.nullable).map(|field| field.id);
    let not_null: HashSet<i32> = not_null.collect();
    let widened = output.iter().filter(|field| field.data_type.nullable && not_null.contains(&field.id));
    widened.map(|field| field.id).collect()
}

/// Returns the names, by id, of output columns that have a different name in the schema.
fn renamed(output: &[DataField], schema: &[DataField]) -> BTreeMap<i32, String> {
    let is_same = |field: &DataField| schema.iter().any(|other| other.id == field.id && other.name == field.name);
    output.iter().filter(|field| !is_same(field)).map(|field| (field.id, field.name.clone())).collect()
}

fn owned((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), value.clone())
}

fn depth(filter: &BoundPredicate) -> usize {
    match filter {
        BoundPredicate::And(parts) | BoundPredicate::Or(parts) => 1 + parts.iter().map(depth).max().unwrap_or(0),
        BoundPredicate::True | BoundPredicate::False | BoundPredicate::Leaf(..) | BoundPredicate::Condition(_) => 0,
    }
}

/// Removes the options of a schema, because readers in other processes use those of the scan.
fn without_options(schema: &TableSchema) -> TableSchema {
    TableSchema { options: BTreeMap::new(), ..schema.clone() }
}

/// Returns whether an option may hold a secret: options of storages, catalogs and clusters, and names that suggest a
/// secret. None of these options changes how a split is read. Options of fields may change it, so they are not secrets,
/// regardless of the field's name.
fn is_secret(name: &str) -> bool {
    const NAMESPACES: [&str; 13] = [
        "fs.",
        "s3.",
        "s3a.",
        "oss.",
        "dlf.",
        "gs.",
        "gcs.",
        "azure.",
        "dfs.",
        "hadoop.",
        "hive.",
        "jdbc.",
        "security.",
    ];
    const WORDS: [&str; 13] = [
        "secret",
        "password",
        "passphrase",
        "passwd",
        "token",
        "credential",
        "signature",
        "private",
        "access-key",
        "access.key",
        "accesskey",
        "account.key",
        "account-key",
    ];
    let name = name.to_ascii_lowercase();
    !name.starts_with("fields.")
        && (NAMESPACES.iter().any(|prefix| name.starts_with(prefix)) || WORDS.iter().any(|word| name.contains(word)))
}

fn raw(json: String) -> Result<Box<RawValue>> {
    RawValue::from_string(json).map_err(|e| Error::internal("generated JSON is malformed").caused_by(e))
}

//! The state that all tasks of a scan share: the columns, the filter, the partition specs and the files.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use frazil_core::context::{Budget, Lease};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::filter::Spare;
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate};
use frazil_core::storage::files::Files;

use super::delete_cache::DeleteCache;
use super::output::{Output, unknown_field};
use crate::spec::arrow::arrow_schema;
use crate::spec::name_mapping::NameMapping;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::types::{NestedField, PrimitiveType, StructType, Type};
use crate::transform::project;

/// The state that all tasks of a scan share. Immutable; part of the wire form of a task.
#[derive(Debug, Clone)]
pub struct ReadContext {
    /// The columns that the scan returns.
    pub output: Output,
    /// The schema that defines names and types.
    pub schema: Arc<Schema>,
    /// Fields that deletes, filters or specs reference but that `schema` no longer has, each pruned to one leaf.
    pub retired: Vec<NestedField>,
    /// The filter of the returned rows.
    pub filter: BoundPredicate,
    /// The name mapping for data files without ids.
    pub name_mapping: Option<NameMapping>,
    /// The partition specs of the table.
    pub partitions: BTreeMap<i32, Arc<PartitionContext>>,
    /// The memory budget for decoded deletes; not part of the wire form.
    pub budget: Budget,
    /// The cache of decoded deletes; not part of the wire form.
    pub cache: Arc<DeleteCache>,
    /// The memory of released batches for reuse; not part of the wire form.
    pub spare: Arc<Spare>,
    /// The locations of files and the rules for which may be read.
    pub files: Files,
}

/// A partition spec with its types.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionContext {
    /// The spec.
    pub spec: PartitionSpec,
    /// The type of its partition tuples.
    pub fields: Arc<StructType>,
}

impl PartitionContext {
    /// Returns a predicate that is true for the tuple of every row that matches `filter`.
    pub fn inclusive(&self, filter: &BoundPredicate, types: &dyn Fn(i32) -> Option<PrimitiveType>) -> BoundPredicate {
        self.promoted(&project::inclusive(filter, &self.spec, types), &BoundPredicate::True)
    }

    /// Returns a predicate that is true only for tuples whose rows all match `filter`.
    pub fn strict(&self, filter: &BoundPredicate, types: &dyn Fn(i32) -> Option<PrimitiveType>) -> BoundPredicate {
        self.promoted(&project::strict(filter, &self.spec, types), &BoundPredicate::False)
    }

    /// Promotes the literals of a predicate to the types of the partition tuples. A test whose literal cannot be
    /// promoted is replaced by `unknown`.
    ///
    /// Partition tuples have the types of the current schema. A filter on an older snapshot has the types of that
    /// snapshot, which are narrower for columns that were promoted later.
    fn promoted(&self, predicate: &BoundPredicate, unknown: &BoundPredicate) -> BoundPredicate {
        project::map_leaves(predicate, None, &|column, test| {
            let field = self.fields.fields.iter().find(|field| field.id == column.id);
            let data_type = match field.map(|field| &field.field_type) {
                Some(Type::Primitive(primitive)) => primitive.scalar(),
                Some(Type::Struct(_) | Type::List(_) | Type::Map(_)) | None => None,
            };
            let data_type = data_type.unwrap_or(column.data_type);
            let leaf = |test| BoundPredicate::Leaf(BoundColumn { data_type, ..column.clone() }, test);
            test.promote(data_type).map_or_else(|| unknown.clone(), leaf)
        })
    }
}

impl ReadContext {
    /// Resizes a lease to `bytes`. Cached deletes are evicted if necessary.
    ///
    /// # Errors
    /// `LimitExceeded`.
    pub(crate) fn resize(&self, lease: &mut Lease, bytes: usize) -> Result<()> {
        lease.resize(bytes as u64).or_else(|_| {
            self.cache.clear();
            lease.resize(bytes as u64)
        })
    }

    /// Creates the context of a read of `metadata` with `schema`.
    pub fn try_new(
        metadata: &TableMetadata,
        schema: Arc<Schema>,
        output: Output,
        filter: BoundPredicate,
        files: Files,
    ) -> Result<Self> {
        let partitions = metadata.partition_specs.iter().map(|spec| {
            let fields = Arc::new(metadata.partition_type(spec));
            (spec.spec_id, Arc::new(PartitionContext { spec: spec.as_ref().clone(), fields }))
        });
        let partitions = partitions.collect();
        let retired = retired_fields(metadata, &schema);
        Ok(Self {
            output,
            name_mapping: metadata.name_mapping()?,
            retired,
            schema,
            filter,
            partitions,
            budget: Budget::default(),
            cache: Arc::default(),
            spare: Arc::default(),
            files,
        })
    }

    /// Returns the Arrow schema of the rows that the scan returns.
    pub fn output_schema(&self) -> SchemaRef {
        Arc::new(arrow_schema(&self.output.fields))
    }

    /// Returns a partition spec by id.
    pub fn partition(&self, spec_id: i32) -> Result<Arc<PartitionContext>> {
        self.partitions.get(&spec_id).cloned().ok_or_else(|| {
            Error::new(
                ErrorKind::CorruptManifest,
                "a manifest references a partition spec that the table does not have",
            )
            .with("spec id", spec_id)
        })
    }

    /// Returns a function that maps a column id to its type.
    pub fn types(&self) -> impl Fn(i32) -> Option<PrimitiveType> + '_ {
        |id| match self.field(id).map(|field| &field.field_type) {
            Some(Type::Primitive(primitive)) => Some(primitive.clone()),
            _ => None,
        }
    }

    /// Returns a field by id, current or retired.
    pub fn field(&self, id: i32) -> Option<&NestedField> {
        self.schema.field(id).or_else(|| self.retired.iter().find_map(|field| find(field, id)))
    }

    /// Returns the top-level field that contains the leaf `id`, pruned to that leaf.
    ///
    /// # Errors
    /// `CorruptMetadata` if no schema of the table has the field.
    pub fn leaf_field(&self, id: i32) -> Result<NestedField> {
        let current = self.schema.fields.fields.iter().find_map(|field| prune_to(field, id));
        let leaf = current.or_else(|| self.retired.iter().find_map(|field| prune_to(field, id)));
        leaf.ok_or_else(|| unknown_field(id).corrupt_as(ErrorKind::CorruptManifest))
    }

    /// Returns the columns of the filter, in ascending order.
    pub fn filter_ids(&self) -> Vec<i32> {
        let mut ids: Vec<i32> = self.filter.columns().iter().map(|column| column.id).collect();
        ids.sort_unstable();
        ids
    }
}

/// Returns the leaves of other schemas of the table that `schema` lacks, each with its ancestors, latest schema first.
fn retired_fields(metadata: &TableMetadata, schema: &Schema) -> Vec<NestedField> {
    let mut retired: Vec<NestedField> = Vec::new();
    for old in metadata.schemas.iter().rev() {
        for field in &old.fields.fields {
            for id in leaves(field) {
                if schema.field(id).is_none() && !retired.iter().any(|known| find(known, id).is_some()) {
                    retired.extend(prune_to(field, id));
                }
            }
        }
    }
    retired
}

/// Returns the primitive fields of a column that are not inside a list or a map.
fn leaves(field: &NestedField) -> Vec<i32> {
    match &field.field_type {
        Type::Primitive(_) => vec![field.id],
        Type::Struct(inner) => inner.fields.iter().flat_map(leaves).collect(),
        Type::List(_) | Type::Map(_) => Vec::new(),
    }
}

fn find(field: &NestedField, id: i32) -> Option<&NestedField> {
    if field.id == id {
        return Some(field);
    }
    match &field.field_type {
        Type::Struct(inner) => inner.fields.iter().find_map(|field| find(field, id)),
        Type::Primitive(_) | Type::List(_) | Type::Map(_) => None,
    }
}

/// Returns a column pruned to the field `id`; None if that field is not in it or is inside a list or a map.
fn prune_to(field: &NestedField, id: i32) -> Option<NestedField> {
    if field.id == id {
        return Some(field.clone());
    }
    match &field.field_type {
        Type::Struct(inner) => {
            let child = inner.fields.iter().find_map(|field| prune_to(field, id))?;
            Some(NestedField { field_type: Type::Struct(StructType { fields: vec![child] }), ..field.clone() })
        }
        Type::Primitive(_) | Type::List(_) | Type::Map(_) => None,
    }
}

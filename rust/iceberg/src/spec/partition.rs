//! Partition specs (spec: "Partitioning", "Partition Evolution").

use crate::transform::Transform;

/// How rows are put into partitions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionSpec {
    /// The id by which manifests name it.
    pub spec_id: i32,
    /// The fields of the partition tuple, in order.
    pub fields: Vec<PartitionField>,
}

/// One field of a partition tuple.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionField {
    /// The columns it is computed from: one, but for multi-argument transforms (`source-ids`).
    pub source_ids: Vec<i32>,
    /// Its own id, from 1000 on, unique over the specs of a table.
    pub field_id: i32,
    /// Its name in the partition tuple.
    pub name: String,
    /// How the value is computed.
    pub transform: Transform,
}

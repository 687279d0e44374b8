//! Writes manifests (spec: "Manifests", "Manifest Entry Fields") and computes their counts for manifest lists.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use bytes::Bytes;
use frazil_core::avro::{Codec, Writer};
use frazil_core::error::{Error, Result};
use frazil_core::scalar::{Scalar, ScalarType};

use super::avro_schema::avro_schema;
use super::manifest_list::{FieldSummary, ManifestContent};
use super::manifest_rows::columns_for;
use super::manifest_type::manifest_entry;
use super::partition::PartitionSpec;
use super::schema::Schema;
use super::single_value;
use super::types::{NestedField, PrimitiveType, StructType, Type};

/// Returns the partition type as used in the Avro schema.
///
/// Java (1.11) reads and writes `fixed` values in partition tuples with a length prefix, although the Avro type `fixed`
/// has no prefix and other readers expect none. The Avro type `bytes` always has one, so all readers can read it.
fn fixed_as_binary(partition: &StructType) -> StructType {
    let recorded = |field: &NestedField| match field.field_type {
        Type::Primitive(PrimitiveType::Fixed(_)) => {
            NestedField { field_type: Type::Primitive(PrimitiveType::Binary), ..field.clone() }
        }
        _ => field.clone(),
    };
    StructType { fields: partition.fields.iter().map(recorded).collect() }
}

/// The properties that all entries of a manifest share.
#[derive(Debug, Clone, Copy)]
pub struct ManifestHeader<'a> {
    /// The format version in which it is written.
    pub version: u8,
    /// The content of its files.
    pub content: ManifestContent,
    /// The current schema.
    pub schema: &'a Schema,
    /// The spec of its files.
    pub spec: &'a PartitionSpec,
    /// The type of their partition tuples.
    pub partition: &'a StructType,
}

/// A writer of a manifest.
#[derive(Debug)]
pub struct ManifestWriter {
    writer: Writer,
    entry: StructType,
    partition: StructType,
    counts: ManifestCounts,
    summaries: Vec<WrittenSummary>,
}

/// The counts and summaries of a manifest for its manifest list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManifestCounts {
    /// 504, 505, 506: the number of added, existing and deleted files.
    pub files: [i32; 3],
    /// 512, 513, 514: the number of rows in these files.
    pub rows: [i64; 3],
    /// 516: the lowest data sequence number of its live entries; None if all of them inherit theirs.
    pub min_sequence_number: Option<i64>,
    /// 507: one for each partition field.
    pub partitions: Vec<FieldSummary>,
}

/// The compression level. Compression dominates the cost of merging manifests: this level takes half the time of level
/// 6, for files that are 4 to 12 % longer.
const DEFLATE_LEVEL: i32 = 1;

/// The positions of the statuses EXISTING, ADDED, DELETED (0, 1, 2) among the counts, which begin with ADDED.
const PLACES: [usize; 3] = [1, 0, 2];

impl ManifestWriter {
    /// Begins a manifest; see [`Writer::new`] for `sync`.
    ///
    /// # Errors
    /// `Unsupported` for partition types that Avro files cannot store.
    pub fn new(header: &ManifestHeader<'_>, sync: [u8; 16]) -> Result<Self> {
        let entry = manifest_entry(header.version, header.partition.clone());
        let recorded = manifest_entry(header.version, fixed_as_binary(header.partition));
        let schema = header.schema.to_json();
        let spec = super::json::to_text(&header.spec.fields);
        let (spec_id, version) = (header.spec.spec_id.to_string(), header.version.to_string());
        let content = if header.content == ManifestContent::Data { "data" } else { "deletes" };
        let own = Schema { schema_id: 0, fields: entry.clone(), identifier_field_ids: Vec::new() }.to_json();
        let mut metadata = vec![
            ("schema", schema.as_str()),
            ("partition-spec", spec.as_str()),
            ("partition-spec-id", spec_id.as_str()),
            ("format-version", version.as_str()),
            ("iceberg.schema", own.as_str()),
        ];
        if header.version > 1 {
            metadata.push(("content", content));
        }
        Ok(Self {
            writer: Writer::new(&avro_schema("manifest_entry", &recorded)?, &metadata, Codec::Deflate, sync)?
                .with_level(DEFLATE_LEVEL)?,
            summaries: header.partition.fields.iter().map(|field| WrittenSummary::new(&field.field_type)).collect(),
            entry,
            partition: header.partition.clone(),
            counts: ManifestCounts::default(),
        })
    }

    /// Adds entries, in the form that [`manifest_rows`](super::manifest_rows) reads.
    ///
    /// # Errors
    /// `Internal` for rows with other types.
    pub fn write(&mut self, entries: &RecordBatch) -> Result<()> {
        let rows = columns_for(entries, &self.entry)?;
        self.count(entries)?;
        self.writer.write(&rows)
    }

    /// Returns the approximate length of the manifest so far.
    pub fn size_bytes(&self) -> usize {
        self.writer.size_bytes()
    }

    /// Returns the bytes of the manifest, and its counts for the manifest list.
    pub fn finish(mut self) -> Result<(Bytes, ManifestCounts)> {
        self.counts.partitions = self.summaries.into_iter().map(WrittenSummary::finish).collect();
        Ok((self.writer.finish()?, self.counts))
    }

    fn count(&mut self, entries: &RecordBatch) -> Result<()> {
        let missing =
            |name: &'static str| move || Error::internal("manifest rows have no such column").with("column", name);
        let column = |name: &'static str| entries.column_by_name(name).ok_or_else(missing(name));
        let status = column("status")?.as_primitive_opt::<Int32Type>().ok_or_else(missing("status"))?;
        let sequence_numbers = column("sequence_number")?.as_primitive_opt::<Int64Type>();
        let sequence_numbers = sequence_numbers.ok_or_else(missing("sequence_number"))?;
        let data_file = column("data_file")?.as_struct_opt().ok_or_else(missing("data_file"))?;
        let rows = data_file.column_by_name("record_count").and_then(|rows| rows.as_primitive_opt::<Int64Type>());
        let rows = rows.ok_or_else(missing("record_count"))?;
        for row in 0..entries.num_rows() {
            let place = usize::try_from(status.value(row)).ok().and_then(|status| PLACES.get(status)).copied();
            let place = place.ok_or_else(|| Error::internal(format!("invalid entry status {}", status.value(row))))?;
            if let (Some(files), Some(count)) = (self.counts.files.get_mut(place), self.counts.rows.get_mut(place)) {
                *files = files.saturating_add(1);
                *count = count.saturating_add(rows.value(row));
            }
            if place == 2 {
                continue;
            }
            let own = sequence_numbers.is_valid(row).then(|| sequence_numbers.value(row));
            let least = self.counts.min_sequence_number.into_iter().chain(own).min();
            self.counts.min_sequence_number = least;
        }
        let tuples = data_file.column_by_name("partition").and_then(|tuples| tuples.as_struct_opt());
        for (field, summary) in self.partition.fields.iter().zip(&mut self.summaries) {
            match tuples.and_then(|tuples| tuples.column_by_name(&field.name)) {
                Some(values) => summary.add(values)?,
                None => summary.contains_null |= entries.num_rows() > 0,
            }
        }
        Ok(())
    }
}

/// A summary of a partition field under construction.
#[derive(Debug)]
struct WrittenSummary {
    /// The type of the values; None if they have no order.
    data_type: Option<ScalarType>,
    contains_null: bool,
    contains_nan: bool,
    bounds: Option<(Scalar, Scalar)>,
}

impl WrittenSummary {
    fn new(field_type: &Type) -> Self {
        let data_type = match field_type {
            Type::Primitive(primitive) => primitive.scalar(),
            _ => None,
        };
        Self { data_type, contains_null: false, contains_nan: false, bounds: None }
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let Some(data_type) = self.data_type else { return Ok(()) };
        for row in 0..values.len() {
            let Some(value) = Scalar::from_array(values, row, data_type)? else {
                self.contains_null = true;
                continue;
            };
            if value.is_nan() {
                self.contains_nan = true;
                continue;
            }
            self.bounds = Some(match self.bounds.take() {
                None => (value.clone(), value),
                Some((lower, upper)) => (
                    if value.compare(&lower).is_some_and(std::cmp::Ordering::is_lt) { value.clone() } else { lower },
                    if value.compare(&upper).is_some_and(std::cmp::Ordering::is_gt) { value } else { upper },
                ),
            });
        }
        Ok(())
    }

    fn finish(self) -> FieldSummary {
        let (lower, upper) = self.bounds.map(|(l, u)| (signed_zero(l, -0.0), signed_zero(u, 0.0))).unzip();
        FieldSummary {
            contains_null: self.contains_null,
            contains_nan: self.data_type.map(|data_type| data_type.is_float() && self.contains_nan),
            lower_bound: lower.map(|value| single_value::encode(&value).into()),
            upper_bound: upper.map(|value| single_value::encode(&value).into()),
        }
    }
}

/// Returns a bound in which zero is replaced by `zero`: -0.0 in a lower bound and 0.0 in an upper bound, so that both
/// zeros are included (spec: "Manifest Lists").
fn signed_zero(value: Scalar, zero: f64) -> Scalar {
    #[expect(clippy::cast_possible_truncation, reason = "zero")]
    match value {
        Scalar::Float32(0.0) => Scalar::Float32(zero as f32),
        Scalar::Float64(0.0) => Scalar::Float64(zero),
        other => other,
    }
}

#[cfg(test)]
#[path = "manifest_write_tests.rs"]
mod tests;

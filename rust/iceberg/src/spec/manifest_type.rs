//! The fields of manifests and manifest lists by format version (spec: "Manifests", "Manifest Lists"), in the order and
//! with the names that Java writes.

use std::sync::Arc;

use super::types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};

/// Returns the type of a manifest entry with partition tuples of this type.
pub fn manifest_entry(version: u8, partition: StructType) -> StructType {
    let long = || Type::Primitive(PrimitiveType::Long);
    let int = || Type::Primitive(PrimitiveType::Int);
    let mut fields = vec![required(0, "status", int(), None)];
    fields.push(optional(1, "snapshot_id", long(), None));
    if version > 1 {
        fields.push(optional(3, "sequence_number", long(), None));
        fields.push(optional(4, "file_sequence_number", long(), None));
    }
    fields.push(required(2, "data_file", Type::Struct(data_file(version, partition)), None));
    StructType { fields }
}

/// Returns the type of the file of a manifest entry.
pub fn data_file(version: u8, partition: StructType) -> StructType {
    let long = || Type::Primitive(PrimitiveType::Long);
    let text = || Type::Primitive(PrimitiveType::String);
    let bytes = || Type::Primitive(PrimitiveType::Binary);
    let partition_doc = (version > 1).then_some("Partition data tuple, schema based on the partition spec");
    let mut fields = Vec::new();
    if version > 1 {
        let doc = "Contents of the file: 0=data, 1=position deletes, 2=equality deletes";
        fields.push(required(134, "content", Type::Primitive(PrimitiveType::Int), Some(doc)));
    }
    fields.extend([
        required(100, "file_path", text(), Some("Location URI with FS scheme")),
        required(101, "file_format", text(), Some("File format name: avro, orc, or parquet")),
        required(102, "partition", Type::Struct(partition), partition_doc),
        required(103, "record_count", long(), Some("Number of records in the file")),
        required(104, "file_size_in_bytes", long(), Some("Total file size in bytes")),
    ]);
    if version == 1 {
        // Readers ignore the value, but the first Java releases fail if the field is missing.
        fields.push(required(105, "block_size_in_bytes", long(), None));
    }
    fields.extend([
        map(108, "column_sizes", (117, 118), long(), "Map of column id to total size on disk"),
        map(109, "value_counts", (119, 120), long(), "Map of column id to total count, including null and NaN"),
        map(110, "null_value_counts", (121, 122), long(), "Map of column id to null value count"),
        map(137, "nan_value_counts", (138, 139), long(), "Map of column id to number of NaN values in the column"),
        map(125, "lower_bounds", (126, 127), bytes(), "Map of column id to lower bound"),
        map(128, "upper_bounds", (129, 130), bytes(), "Map of column id to upper bound"),
        optional(131, "key_metadata", bytes(), Some("Encryption key metadata blob")),
        list(132, "split_offsets", 133, long(), "Splittable offsets"),
    ]);
    if version > 1 {
        let int = Type::Primitive(PrimitiveType::Int);
        fields.push(list(135, "equality_ids", 136, int, "Equality comparison field IDs"));
    }
    fields.push(optional(140, "sort_order_id", Type::Primitive(PrimitiveType::Int), Some("Sort order ID")));
    if version > 2 {
        let doc = "The first row ID assigned to the first row in the data file";
        fields.push(optional(142, "first_row_id", long(), Some(doc)));
    }
    if version > 1 {
        let doc = "Fully qualified location (URI with FS scheme) of a data file that all deletes reference";
        fields.push(optional(143, "referenced_data_file", text(), Some(doc)));
    }
    if version > 2 {
        fields.extend([
            optional(144, "content_offset", long(), Some("The offset in the file where the content starts")),
            optional(145, "content_size_in_bytes", long(), Some("The length of referenced content stored in the file")),
        ]);
    }
    StructType { fields }
}

/// Returns the type of a manifest in a manifest list.
pub fn manifest_file(version: u8) -> StructType {
    let long = || Type::Primitive(PrimitiveType::Long);
    let int = || Type::Primitive(PrimitiveType::Int);
    // In v1 the counts are optional.
    let count = if version == 1 { optional } else { required };
    let mut fields = vec![
        required(500, "manifest_path", Type::Primitive(PrimitiveType::String), Some("Location URI with FS scheme")),
        required(501, "manifest_length", long(), Some("Total file size in bytes")),
        required(502, "partition_spec_id", int(), Some("Spec ID used to write")),
    ];
    if version > 1 {
        fields.extend([
            required(517, "content", int(), Some("Contents of the manifest: 0=data, 1=deletes")),
            required(515, "sequence_number", long(), Some("Sequence number when the manifest was added")),
            required(516, "min_sequence_number", long(), Some("Lowest sequence number in the manifest")),
        ]);
    }
    fields.push(required(503, "added_snapshot_id", long(), Some("Snapshot ID that added the manifest")));
    let files = [
        count(504, "added_files_count", int(), Some("Added entry count")),
        count(505, "existing_files_count", int(), Some("Existing entry count")),
        count(506, "deleted_files_count", int(), Some("Deleted entry count")),
    ];
    let rows = [
        count(512, "added_rows_count", long(), Some("Added rows count")),
        count(513, "existing_rows_count", long(), Some("Existing rows count")),
        count(514, "deleted_rows_count", long(), Some("Deleted rows count")),
    ];
    let summaries = list(507, "partitions", 508, Type::Struct(partition_summary()), "Summary for each partition");
    fields.extend(files);
    if version == 1 {
        fields.push(summaries);
        fields.extend(rows);
    } else {
        fields.extend(rows);
        fields.push(summaries);
    }
    let doc = "Encryption key metadata blob";
    fields.push(optional(519, "key_metadata", Type::Primitive(PrimitiveType::Binary), Some(doc)));
    if version > 2 {
        let doc = "Starting row ID to assign to new rows in ADDED data files";
        fields.push(optional(520, "first_row_id", long(), Some(doc)));
    }
    StructType { fields }
}

/// Returns the type of the summary of a partition field in a manifest list.
pub fn partition_summary() -> StructType {
    let boolean = || Type::Primitive(PrimitiveType::Boolean);
    let bytes = || Type::Primitive(PrimitiveType::Binary);
    StructType {
        fields: vec![
            required(509, "contains_null", boolean(), Some("True if any file has a null partition value")),
            optional(518, "contains_nan", boolean(), Some("True if any file has a nan partition value")),
            optional(510, "lower_bound", bytes(), Some("Partition lower bound for all files")),
            optional(511, "upper_bound", bytes(), Some("Partition upper bound for all files")),
        ],
    }
}

fn required(id: i32, name: &str, field_type: Type, doc: Option<&str>) -> NestedField {
    NestedField { required: true, ..optional(id, name, field_type, doc) }
}

fn optional(id: i32, name: &str, field_type: Type, doc: Option<&str>) -> NestedField {
    NestedField { doc: doc.map(str::to_string), ..NestedField::new(id, name, field_type, false) }
}

fn list(id: i32, name: &str, element_id: i32, element: Type, doc: &str) -> NestedField {
    let element = required(element_id, "element", element, None);
    optional(id, name, Type::List(Arc::new(ListType { element })), Some(doc))
}

/// Returns an optional map field with these ids, whose keys are column ids.
fn map(id: i32, name: &str, (key_id, value_id): (i32, i32), value: Type, doc: &str) -> NestedField {
    let key = required(key_id, "key", Type::Primitive(PrimitiveType::Int), None);
    let value = required(value_id, "value", value, None);
    optional(id, name, Type::Map(Arc::new(MapType { key, value })), Some(doc))
}

#[cfg(test)]
mod tests {
    use frazil_core::avro::AvroFile;
    use serde_json::Value;

    use super::super::avro_schema::avro_schema;
    use super::super::partition::PartitionSpec;
    use super::super::schema::Schema;
    use super::*;

    /// Every Avro file that Java wrote for the golden tables has the schema that we would write.
    #[test]
    fn the_schemas_are_those_that_java_writes() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/iceberg");
        let (mut manifests, mut lists) = (0, 0);
        for table in std::fs::read_dir(folder).unwrap() {
            for file in std::fs::read_dir(table.unwrap().path().join("metadata")).into_iter().flatten() {
                let path = file.unwrap().path();
                let Ok(file) = std::fs::read(&path).map_err(drop).and_then(|b| AvroFile::open(b).map_err(drop)) else {
                    continue;
                };
                let text = |key| file.metadata(key).map(|value| String::from_utf8(value.to_vec()).unwrap());
                // Only Java's writer records the schema.
                if text("iceberg.schema").is_none() {
                    continue;
                }
                let theirs: Value = serde_json::from_str(&text("avro.schema").unwrap()).unwrap();
                let version: u8 = text("format-version").unwrap().parse().unwrap();
                let ours = match text("partition-spec") {
                    None => {
                        lists += 1;
                        avro_schema("manifest_file", &manifest_file(version))
                    }
                    Some(fields) => {
                        manifests += 1;
                        let schema = Schema::from_json(&text("schema").unwrap()).unwrap();
                        let spec = format!(r#"{{"spec-id": 0, "fields": {fields}}}"#);
                        let spec = PartitionSpec::from_json(&spec).unwrap();
                        let partition = spec.partition_type(|id| schema.field(id).map(|field| &field.field_type));
                        avro_schema("manifest_entry", &manifest_entry(version, partition))
                    }
                };
                let ours: Value = serde_json::from_str(&ours.unwrap()).unwrap();
                assert!(ours == theirs, "{}:\n{ours}\n{theirs}", path.display());
            }
        }
        assert!(manifests > 20 && lists > 20, "{manifests} {lists}");
    }
}

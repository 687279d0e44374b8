//! Defines targets for the components of Apache Iceberg tables.

use std::sync::Arc;

use bytes::Bytes;
use frazil_core::context::Budget;
use frazil_core::storage::MemoryStorage;
use frazil_iceberg::deletes::vector;
use frazil_iceberg::puffin::Footer;
use frazil_iceberg::scan::wire;
use frazil_iceberg::spec::manifest;
use frazil_iceberg::spec::manifest_list::{self, ManifestFile};
use frazil_iceberg::spec::name_mapping::NameMapping;
use frazil_iceberg::spec::schema::Schema;
use frazil_iceberg::spec::single_value;
use frazil_iceberg::spec::table_metadata::TableMetadata;
use frazil_iceberg::spec::transform::Transform;
use frazil_iceberg::spec::types::PrimitiveType;
use frazil_iceberg::write::message::Message;

use super::{Outcome, Refusal, Target, choice, context, framed, law, target, text};

const BLOB_LIMIT_BYTES: usize = 64 << 20;

pub(super) const TARGETS: &[Target] = &[
    target("iceberg_manifest_list", manifest_list, &[]).with_golden("iceberg", "snap-", ".avro"),
    target("iceberg_manifest", manifest, &[]).with_golden("iceberg", "", "-m0.avro"),
    target("iceberg_metadata_json", metadata_json, &[]).with_golden("iceberg", "", ".json"),
    target("iceberg_schema_json", schema_json, SCHEMAS),
    target("iceberg_name_mapping", name_mapping, NAME_MAPPINGS),
    target("iceberg_puffin", puffin, &[]).with_golden("iceberg", "", ".puffin"),
    target("iceberg_deletion_vector", deletion_vector, &[DELETION_VECTOR]),
    target("iceberg_single_value", single_value, SINGLE_VALUES),
    target("iceberg_transform", transform, &[b"bucket[16]", b"truncate[10]", b"day", b"void", b"identity"]),
    target("iceberg_task", task, &[]),
    target("iceberg_task_context", task_context, &[]),
    target("iceberg_message", message, &[]),
];

fn manifest_list(input: &[u8]) -> Outcome {
    manifest_list::read(Bytes::copy_from_slice(input), &context()).map(drop)?;
    Ok(())
}

fn manifest(input: &[u8]) -> Outcome {
    let bytes = Bytes::copy_from_slice(input);
    let _ = manifest::partition_spec_id(&bytes);
    let file = ManifestFile { added_snapshot_id: Some(7), first_row_id: Some(0), ..ManifestFile::inline("m.avro") };
    let entries = manifest::read(bytes, &file, &[1, 2, 3], &context())?;
    for id in [1, 2, 3, 4] {
        entries.statistics(id)?;
    }
    law(entries.paths()?.iter().count() == entries.len(), "columns have the length of the entries")
}

fn metadata_json(input: &[u8]) -> Outcome {
    let metadata = TableMetadata::parse(input)?;
    let _ = (metadata.current_schema(), metadata.default_spec(), metadata.name_mapping());
    let _ = metadata.ancestors(metadata.current_snapshot_id.unwrap_or(0)).count();
    Ok(())
}

fn schema_json(input: &[u8]) -> Outcome {
    let schema = Schema::from_json(text(input)?)?;
    let again = Schema::from_json(&schema.to_json());
    law(again.is_ok_and(|again| again == schema), "a formatted schema parses to itself")
}

fn name_mapping(input: &[u8]) -> Outcome {
    let mapping = NameMapping::from_json(text(input)?)?;
    law(NameMapping::from_json(&mapping.to_json()).is_ok(), "a formatted mapping parses")
}

fn puffin(input: &[u8]) -> Outcome {
    let footer = Footer::of_file(input)?;
    for blob in &footer.blobs {
        let start = usize::try_from(blob.offset).map_err(|_| Refusal::Error)?;
        let length = usize::try_from(blob.length).map_err(|_| Refusal::Error)?;
        let stored = start.checked_add(length).and_then(|end| input.get(start..end)).ok_or(Refusal::Error)?;
        let unpacked = blob.unpack(stored, BLOB_LIMIT_BYTES)?;
        let _ = vector::decode(&unpacked, None);
    }
    Ok(())
}

fn deletion_vector(input: &[u8]) -> Outcome {
    // Most lengths begin with 0; other inputs test that invalid frames are rejected.
    let framed = if input.first() == Some(&0) && input.len() > 8 { framed(input) } else { input.to_vec() };
    let positions = vector::decode(&framed, None)?;
    if positions.max().is_some_and(|max| max >= 1 << 40) {
        return Ok(());
    }
    let again = vector::encode(&positions).and_then(|bytes| vector::decode(&bytes, None))?;
    law(again.len() == positions.len() && again.max() == positions.max(), "a written vector reads back")
}

fn single_value(input: &[u8]) -> Outcome {
    let types = [
        PrimitiveType::Boolean,
        PrimitiveType::Int,
        PrimitiveType::Long,
        PrimitiveType::Float,
        PrimitiveType::Double,
        PrimitiveType::Decimal { precision: 38, scale: 10 },
        PrimitiveType::Date,
        PrimitiveType::Timestamptz,
        PrimitiveType::String,
        PrimitiveType::Uuid,
        PrimitiveType::Fixed(3),
        PrimitiveType::Binary,
    ];
    let (choice, bytes) = choice(input)?;
    let data_type = types.get(choice % types.len()).ok_or(Refusal::Error)?;
    let value = single_value::decode(data_type, bytes).ok_or(Refusal::Error)?;
    // Compared as bytes, because NaN is not equal to itself.
    let written = single_value::encode(&value);
    let again = single_value::decode(data_type, &written).map(|again| single_value::encode(&again));
    law(again == Some(written), "a written value reads back")
}

fn transform(input: &[u8]) -> Outcome {
    let transform = Transform::parse(text(input)?);
    law(Transform::parse(&transform.to_string()) == transform, "a formatted transform parses to itself")
}

fn task(input: &[u8]) -> Outcome {
    let tasks = wire::read(input, Arc::new(MemoryStorage::default()), Budget::default())?;
    let written = wire::write(&tasks)?;
    let again = wire::read(&written, Arc::new(MemoryStorage::default()), Budget::default());
    law(again.is_ok_and(|again| again.len() == tasks.len()), "written tasks read back")
}

/// Decodes the part of a task that follows the checksum and that frazil itself decodes.
fn task_context(input: &[u8]) -> Outcome {
    let read = wire::context::from_json(text(input)?, Arc::new(MemoryStorage::default()), Budget::default())?;
    let written = wire::context::to_json(&read)?;
    law(
        wire::context::from_json(&written, Arc::new(MemoryStorage::default()), Budget::default()).is_ok(),
        "a written context reads back",
    )
}

fn message(input: &[u8]) -> Outcome {
    let table = TableMetadata::parse(WRITTEN_TABLE)?;
    let message = Message::read(input, &table)?;
    let again = Message::read(&message.write()?, &table);
    law(again.is_ok_and(|again| again.deletions == message.deletions), "a written message reads back")
}

/// The table that the seeds of messages were written for.
const WRITTEN_TABLE: &[u8] =
    br#"{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"memory:/t","last-sequence-number":0,"last-updated-ms":1,"last-column-id":2,"current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","required":false,"type":"long"},{"id":2,"name":"p","required":false,"type":"long"}]}],"default-spec-id":3,"partition-specs":[{"spec-id":3,"fields":[{"name":"p","transform":"identity","source-id":2,"field-id":1000}]}],"last-partition-id":1000,"default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}]}"#;

/// One bitmap of one array container, 1, 5, 7, with its magic number; the target corrects length and checksum.
const DELETION_VECTOR: &[u8] =
    b"\0\0\0\0\xd1\xd3\x39\x64\x01\0\0\0\0\0\0\0\0\0\0\0\x3a\x30\0\0\x01\0\0\0\0\0\x02\0\x10\0\0\0\x01\0\x05\0\x07\0\0\0\0\0";

const SCHEMAS: &[&[u8]] = &[
    br#"{"type":"struct","schema-id":1,"identifier-field-ids":[1],"fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"m","required":false,"type":{"type":"map","key-id":3,"key":"string","value-id":4,"value-required":false,"value":{"type":"list","element-id":5,"element-required":true,"element":"decimal(9, 2)"}}}]}"#,
    br#"{"type":"struct","fields":[{"id":1,"name":"a","required":false,"type":"fixed[16]","initial-default":"00"},{"id":2,"name":"g","required":false,"type":"geography(srid:4326, karney)"},{"id":3,"name":"v","required":false,"type":"variant","doc":"x"}]}"#,
];

const NAME_MAPPINGS: &[&[u8]] = &[br#"[{"field-id": 1, "names": ["id", "ID"], "fields": [{"names": ["x"]}]}]"#];

/// A type, followed by a value of it.
const SINGLE_VALUES: &[&[u8]] = &[b"\x00\x01", b"\x08iceberg", b"\x0c\xf7\x9b\x77\xd2\x79\x98\x11\xb2"];

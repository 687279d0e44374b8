//! One target for each decoder.

use std::sync::Arc;

use bytes::Bytes;
use frazil_core::avro::{AvroFile, Projection};
use frazil_core::bitmap::Positions;
use frazil_core::context::{Budget, Context};
use frazil_core::error::Error;
use frazil_core::orc::OrcFile;
use frazil_core::predicate::Predicate;
use frazil_core::storage::{Location, MemoryStorage};
use frazil_core::variant;
use frazil_iceberg::deletes::vector;
use frazil_iceberg::puffin::Footer;
use frazil_iceberg::scan::wire;
use frazil_iceberg::single_value;
use frazil_iceberg::spec::manifest;
use frazil_iceberg::spec::manifest_list::{self, ManifestFile};
use frazil_iceberg::spec::name_mapping::NameMapping;
use frazil_iceberg::spec::schema::Schema;
use frazil_iceberg::spec::table_metadata::TableMetadata;
use frazil_iceberg::spec::types::PrimitiveType;
use frazil_iceberg::transform::Transform;

const BUDGET_BYTES: u64 = 64 << 20;
const BLOB_LIMIT_BYTES: usize = 64 << 20;
const BATCH_ROWS: usize = 1024;

/// Why an input went no further.
pub(crate) enum Refusal {
    /// The decoder refused it, as it should.
    Error,
    /// The decoder accepted it, and what came out contradicts itself.
    BrokenLaw(&'static str),
}

impl From<Error> for Refusal {
    fn from(_: Error) -> Self {
        Self::Error
    }
}

type Outcome = Result<(), Refusal>;

/// A decoder, and where valid inputs for it are found.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&[u8]) -> Outcome,
    /// Prefix and suffix of the names of golden files that are seeds; none when the suffix is empty.
    golden: (&'static str, &'static str),
    /// Seeds that are easier to read here than in files.
    pub(crate) seeds: &'static [&'static [u8]],
}

impl Target {
    pub(crate) fn is_golden_seed(&self, name: &str) -> bool {
        let (prefix, suffix) = self.golden;
        !suffix.is_empty() && name.starts_with(prefix) && name.ends_with(suffix)
    }
}

const fn target(
    name: &'static str,
    run: fn(&[u8]) -> Outcome,
    golden: (&'static str, &'static str),
    seeds: &'static [&'static [u8]],
) -> Target {
    Target { name, run, golden, seeds }
}

/// Every target.
pub(crate) const TARGETS: &[Target] = &[
    target("avro", avro, ("", ".avro"), &[]),
    target("manifest_list", manifest_list, ("snap-", ".avro"), &[]),
    target("manifest", manifest, ("", "-m0.avro"), &[]),
    target("metadata_json", metadata_json, ("", ".json"), &[]),
    target("schema_json", schema_json, ("", ""), SCHEMAS),
    target(
        "name_mapping",
        name_mapping,
        ("", ""),
        &[br#"[{"field-id": 1, "names": ["id", "ID"], "fields": [{"names": ["x"]}]}]"#],
    ),
    target("puffin", puffin, ("", ".puffin"), &[]),
    target("deletion_vector", deletion_vector, ("", ""), &[DELETION_VECTOR]),
    target("roaring", roaring, ("", ""), &[ROARING]),
    target(
        "single_value",
        single_value,
        ("", ""),
        &[b"\x00\x01", b"\x08iceberg", b"\x0c\xf7\x9b\x77\xd2\x79\x98\x11\xb2"],
    ),
    target("predicate", predicate, ("", ""), PREDICATES),
    target("transform", transform, ("", ""), &[b"bucket[16]", b"truncate[10]", b"day", b"void", b"identity"]),
    target("location", location, ("", ""), LOCATIONS),
    target("task", task, ("", ""), &[]),
    target("task_context", task_context, ("", ""), &[]),
    target("variant", variant, ("", ""), VARIANTS),
    target("orc", orc, ("", ".orc"), &[]),
];

fn context() -> Context {
    Context::new(Budget::new(BUDGET_BYTES))
}

fn text(input: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(input).map_err(|_| Refusal::Error)
}

fn law(holds: bool, law: &'static str) -> Outcome {
    if holds { Ok(()) } else { Err(Refusal::BrokenLaw(law)) }
}

fn avro(input: &[u8]) -> Outcome {
    let file = AvroFile::open(Bytes::copy_from_slice(input))?;
    let projection = Projection::natural(file.schema())?;
    for batch in file.batches(&projection, BATCH_ROWS, &context())? {
        law(batch?.num_rows() <= BATCH_ROWS, "a batch has no more rows than asked for")?;
    }
    Ok(())
}

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
    law(again.is_ok_and(|again| again == schema), "a printed schema parses to itself")
}

fn name_mapping(input: &[u8]) -> Outcome {
    let mapping = NameMapping::from_json(text(input)?)?;
    law(NameMapping::from_json(&mapping.to_json()).is_ok(), "a printed mapping parses")
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
    // The checksum hides everything behind it, so it is made right in half of the cases.
    let mut input = input.to_vec();
    if input.first() == Some(&0) && input.len() > 8 {
        let body = input.len() - 4;
        let checksum = checksum(input.get(4..body).unwrap_or(&[])).to_be_bytes();
        input.splice(body.., checksum);
        let length = u32::try_from(body - 4).unwrap_or(0).to_be_bytes();
        input.splice(..4, length);
    }
    let positions = vector::decode(&input, None)?;
    if positions.max().is_some_and(|max| max >= 1 << 40) {
        return Ok(());
    }
    let again = vector::encode(&positions).and_then(|bytes| vector::decode(&bytes, None))?;
    law(again.len() == positions.len() && again.max() == positions.max(), "a written vector reads back")
}

fn roaring(input: &[u8]) -> Outcome {
    let positions = Positions::decode_portable64(input)?;
    // The form fills the gap before a high key, which takes gigabytes.
    if positions.max().is_none_or(|max| max < 1 << 40) {
        let again = Positions::decode_portable64(&positions.encode_portable64()?)?;
        law(again.len() == positions.len() && again.max() == positions.max(), "written positions read back")?;
    }
    let end = positions.max().map_or(0, |max| max.saturating_add(1));
    law(positions.count_in(0..end) == positions.len(), "all positions lie before the end")?;
    law(positions.max().is_none_or(|max| positions.contains(max)), "the greatest position is one of them")?;
    law(
        positions.kept(0, 1000).count_set_bits() == 1000 - usize::try_from(positions.count_in(0..1000)).unwrap_or(0),
        "the mask agrees with the count",
    )
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
    let (&choice, bytes) = input.split_first().ok_or(Refusal::Error)?;
    let data_type = types.get(usize::from(choice) % types.len()).ok_or(Refusal::Error)?;
    let value = single_value::decode(data_type, bytes).ok_or(Refusal::Error)?;
    // Compared as bytes: NaN differs from itself.
    let written = single_value::encode(&value);
    let again = single_value::decode(data_type, &written).map(|again| single_value::encode(&again));
    law(again == Some(written), "a written value reads back")
}

fn predicate(input: &[u8]) -> Outcome {
    let predicate = Predicate::parse(text(input)?)?;
    law(
        Predicate::parse(&predicate.to_string()).is_ok_and(|again| again == predicate),
        "a printed predicate parses to itself",
    )
}

fn transform(input: &[u8]) -> Outcome {
    let transform = Transform::parse(text(input)?);
    law(Transform::parse(&transform.to_string()) == transform, "a printed transform parses to itself")
}

fn location(input: &[u8]) -> Outcome {
    let location = Location::parse(text(input)?)?;
    let canonical = location.canonical();
    let again = Location::parse(&canonical);
    law(canonical.is_empty() || again.is_ok_and(|again| again.canonical() == canonical), "a canonical text is its own")
}

fn task(input: &[u8]) -> Outcome {
    let tasks = wire::read(input, Arc::new(MemoryStorage::default()))?;
    let written = wire::write(&tasks)?;
    let again = wire::read(&written, Arc::new(MemoryStorage::default()));
    law(again.is_ok_and(|again| again.len() == tasks.len()), "written tasks read back")
}

/// What stands behind the checksum of a task and is decoded by frazil itself.
fn task_context(input: &[u8]) -> Outcome {
    let read = wire::context::from_json(text(input)?, Arc::new(MemoryStorage::default()))?;
    let written = wire::context::to_json(&read)?;
    law(wire::context::from_json(&written, Arc::new(MemoryStorage::default())).is_ok(), "a written context reads back")
}

/// The first byte is the length of the metadata.
fn variant(input: &[u8]) -> Outcome {
    let (&length, rest) = input.split_first().ok_or(Refusal::Error)?;
    let (metadata, value) = rest.split_at_checked(usize::from(length)).ok_or(Refusal::Error)?;
    variant::to_json(metadata, value)?;
    Ok(())
}

fn orc(input: &[u8]) -> Outcome {
    let file = OrcFile::open(Bytes::copy_from_slice(input), &|_| false)?;
    let columns: Vec<usize> = (0..file.schema().fields().len()).collect();
    for batch in file.batches(&columns, BATCH_ROWS)? {
        batch?;
    }
    Ok(())
}

/// CRC-32 as gzip has it, which deletion vectors use.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// Magic and checksum around [`ROARING`]; the target puts length and checksum right.
const DELETION_VECTOR: &[u8] =
    b"\0\0\0\0\xd1\xd3\x39\x64\x01\0\0\0\0\0\0\0\0\0\0\0\x3a\x30\0\0\x01\0\0\0\0\0\x02\0\x10\0\0\0\x01\0\x05\0\x07\0\0\0\0\0";

/// One bitmap of one array container: 1, 5, 7.
const ROARING: &[u8] = b"\x01\0\0\0\0\0\0\0\0\0\0\0\x3a\x30\0\0\x01\0\0\0\0\0\x02\0\x10\0\0\0\x01\0\x05\0\x07\0";

const SCHEMAS: &[&[u8]] = &[
    br#"{"type":"struct","schema-id":1,"identifier-field-ids":[1],"fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"m","required":false,"type":{"type":"map","key-id":3,"key":"string","value-id":4,"value-required":false,"value":{"type":"list","element-id":5,"element-required":true,"element":"decimal(9, 2)"}}}]}"#,
    br#"{"type":"struct","fields":[{"id":1,"name":"a","required":false,"type":"fixed[16]","initial-default":"00"},{"id":2,"name":"g","required":false,"type":"geography(srid:4326, karney)"},{"id":3,"name":"v","required":false,"type":"variant","doc":"x"}]}"#,
];

const PREDICATES: &[&[u8]] = &[
    b"ts >= '2024-01-01T00:00:00' and id in (1, 2) and name like 'a%' and not (x is null or f is nan)",
    b"a.b between -1.5e-3 and +2 or `odd name` <> \"other\".\"x\" or b = X'00ff'",
    b"d = DATE '2024-01-01' and t < TIME '10:00:00.5' and z > TIMESTAMP '2024-01-01T00:00:00+01:00'",
    b"f = nan or f = -inf or f <= -0.0 or flag or not flag and x is not null and y not in (null, 'it''s')",
];

const LOCATIONS: &[&[u8]] = &[
    b"s3a://bucket/wh/t/data/f.parquet",
    b"file:///wh/./t/../u//f",
    b"hdfs://nn:8020/wh/t",
    b"abfss://c@acc.dfs.core.windows.net/k",
    b"C:\\wh\\t",
];

const VARIANTS: &[&[u8]] = &[
    // {"a": 5, "b": null}
    b"\x07\x01\x02\x00\x01\x02ab\x02\x02\x00\x01\x00\x02\x03\x0c\x05\x00",
    // [true, "hi", 1.5]
    b"\x03\x01\x00\x00\x03\x03\x00\x01\x04\x0d\x04\x09hi\x1c\x00\x00\x00\x00\x00\x00\xf8\x3f",
];

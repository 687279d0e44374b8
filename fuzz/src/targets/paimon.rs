//! Defines targets for the components of Apache Paimon tables.

use std::sync::{Arc, OnceLock};

use arrow_array::{Array, BooleanArray};
use bytes::Bytes;
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::sql::predicate::bind::bind;
use frazil_core::storage::{Files, MemoryStorage, Storage};
use frazil_paimon::context::{ReadContext, View};
use frazil_paimon::deletion_vector;
use frazil_paimon::features::check_readable;
use frazil_paimon::file_index::{FileIndex, IndexSelection, IndexedColumn};
use frazil_paimon::merge::MergeSpec;
use frazil_paimon::read::blob::BlobFile;
use frazil_paimon::scan::partitions::Partitions;
use frazil_paimon::scan::prune::EntryStats;
use frazil_paimon::spec::options::Options;
use frazil_paimon::spec::schema::TableSchema;
use frazil_paimon::spec::snapshot::Snapshot;
use frazil_paimon::spec::types::{DataField, DataType, TypeRoot};
use frazil_paimon::spec::{index_manifest, manifest, manifest_list};
use frazil_paimon::table::SnapshotChoice;
use frazil_paimon::task::wire;

use super::{Outcome, Refusal, Target, choice, context, framed, law, target, text};

pub(super) const TARGETS: &[Target] = &[
    target("paimon_manifest_list", manifest_list, &[]).with_golden("paimon", "manifest-list-", ""),
    target("paimon_manifest", manifest, &[]).with_golden("paimon", "manifest-", ""),
    target("paimon_index_manifest", index_manifest, &[]).with_golden("paimon", "index-manifest-", ""),
    target("paimon_schema_json", schema_json, &[]).with_golden("paimon", "schema-", ""),
    target("paimon_snapshot_json", snapshot_json, &[]).with_golden("paimon", "snapshot-", ""),
    target("paimon_type", data_type, TYPES),
    target("paimon_file_index", file_index, &[]),
    target("paimon_deletion_vector", deletion_vector, &[DELETION_VECTOR]),
    target("paimon_blob", blob, &[BLOB]),
    target("paimon_split", split, &[]),
    target("paimon_split_context", split_context, &[]),
];

fn manifest_list(input: &[u8]) -> Outcome {
    manifest_list::read(Bytes::copy_from_slice(input), &context())?;
    Ok(())
}

fn manifest(input: &[u8]) -> Outcome {
    let entries = manifest::read(Bytes::copy_from_slice(input), manifest::WantedFields::ALL, &context())?;
    for row in 0..entries.len() {
        let _ = entries.file(row);
    }
    let fields =
        vec![field(0, "id", TypeRoot::Int), field(1, "v", TypeRoot::VarChar(9)), field(2, "p", TypeRoot::Date)];
    let schema = schema(fields, &["p".to_string()], &["id", "p"], &[]);
    let read = read_context(schema, "id > 3 AND v IS NOT NULL AND p <> DATE '2024-01-01'")?;
    if let Ok(partitions) = Partitions::try_new(entries.partitions(), &read)
        && let Ok(verdicts) = EntryStats::try_new(&read, &entries, &partitions).and_then(|stats| stats.judge())
    {
        law(verdicts.rows.len() == entries.len(), "every entry has a verdict")?;
        law((&verdicts.rows & &!&verdicts.keys).count_set_bits() == 0, "rows are also pruned by their keys")?;
    }
    let none = entries.filter(&BooleanArray::from(vec![false; entries.len()]))?;
    law(none.is_empty(), "a filter that keeps nothing returns nothing")?;
    let folded = entries.clone().fold().map_or(0, |folded| folded.len());
    law(folded <= entries.len(), "folding adds nothing")?;
    law(entries.clone().live().map_or(0, |live| live.len()) <= folded, "live files were not deleted")
}

fn index_manifest(input: &[u8]) -> Outcome {
    index_manifest::read(Bytes::copy_from_slice(input), &context())?;
    Ok(())
}

/// Parses a schema with its options.
fn schema_json(input: &[u8]) -> Outcome {
    let schema = TableSchema::parse(input)?;
    let options = Options::new(schema.options.clone());
    let _ = (check_readable(&schema, &options), SnapshotChoice::from_options(&options));
    if let Ok(merge) = MergeSpec::try_new(&schema, &options) {
        let required = merge.required_fields(&schema.fields);
        law(required.len() == schema.fields.len(), "all columns are needed for all columns")?;
    }
    let again = TableSchema::parse(schema.to_json().as_bytes());
    law(again.is_ok_and(|again| again == schema), "a formatted schema parses to itself")
}

fn snapshot_json(input: &[u8]) -> Outcome {
    Snapshot::parse(input)?;
    Ok(())
}

/// Parses a type as JSON.
fn data_type(input: &[u8]) -> Outcome {
    let json = serde_json::from_slice(input).map_err(|_| Refusal::Error)?;
    let data_type = DataType::parse_json(&json)?;
    let again = serde_json::from_str(&data_type.to_json()).ok().map(|json| DataType::parse_json(&json));
    let _ = (data_type.arrow(), data_type.scalar());
    law(again.is_some_and(|again| again.is_ok_and(|again| again == data_type)), "a formatted type parses to itself")
}

/// Evaluates an index. The input is the number of rows and the index; its length selects the test.
fn file_index(input: &[u8]) -> Outcome {
    let (rows, bytes) = choice(input)?;
    let index = FileIndex::parse(Bytes::copy_from_slice(bytes))?;
    let (schema, filters) = indexed();
    let column = |id: i32| {
        let field = schema.fields.iter().find(|field| field.id == id)?;
        let data_type = || field.data_type.clone();
        Some(IndexedColumn {
            name: field.name.clone(),
            file_type: data_type(),
            read_type: data_type(),
            is_replaced: false,
        })
    };
    for filter in filters.iter().skip(input.len() % TESTS.len()).step_by(TESTS.len()) {
        if let IndexSelection::Rows(bits) = index.evaluate(filter, rows, &column) {
            law(bits.len() == rows, "a selection has a bit for each row")?;
            law((1..rows).contains(&bits.count_set_bits()), "a selection is neither nothing nor everything")?;
        }
    }
    Ok(())
}

/// The columns of the indexes in the seeds, and a literal of each.
const INDEXED: &[(&str, TypeRoot, &str)] = &[
    ("f_bool", TypeRoot::Boolean, "true"),
    ("f_i8", TypeRoot::TinyInt, "-128"),
    ("f_i32", TypeRoot::Int, "7"),
    ("f_i64", TypeRoot::BigInt, "-9223372036854775808"),
    ("f_f64", TypeRoot::Double, "nan"),
    ("f_d5", TypeRoot::Decimal(5, 2), "-1.5"),
    ("f_d38", TypeRoot::Decimal(38, 10), "12345678901234567890"),
    ("f_str", TypeRoot::VarChar(i32::MAX.cast_unsigned()), "'b'"),
    ("f_vb", TypeRoot::VarBinary(300), "X'00ff'"),
    ("f_date", TypeRoot::Date, "DATE '1970-01-02'"),
    ("f_time", TypeRoot::Time(3), "TIME '12:00:00'"),
    ("f_ts3", TypeRoot::Timestamp(3), "TIMESTAMP '1969-12-31 23:59:59.999'"),
    ("f_ts6", TypeRoot::Timestamp(6), "TIMESTAMP '1969-12-31 23:59:59.999999'"),
    ("f_ltz6", TypeRoot::LocalZonedTimestamp(6), "TIMESTAMP '1970-01-01 00:00:00Z'"),
];

/// The tests of each column: `c` is replaced by the column, `v` by its literal.
const TESTS: &[&str] =
    &["c = v", "c <> v", "c < v", "c <= v", "c > v", "c >= v", "c IN (v, NULL)", "c IS NULL", "c IS NOT NULL"];

fn indexed() -> &'static (TableSchema, Vec<BoundPredicate>) {
    static INDEXED_SCHEMA: OnceLock<(TableSchema, Vec<BoundPredicate>)> = OnceLock::new();
    INDEXED_SCHEMA.get_or_init(|| {
        let fields = INDEXED.iter().zip(0..).map(|((name, root, _), id)| field(id, name, root.clone())).collect();
        let schema = schema(fields, &[], &[], &[]);
        let asked = INDEXED.iter().flat_map(|(name, _, literal)| {
            TESTS.iter().map(move |test| test.replacen('v', literal, 1).replacen('c', name, 1))
        });
        let bound = |text: String| bind(&Expression::filter(&text).ok()?, &schema, true).ok();
        let filters = asked.filter_map(bound).collect();
        (schema, filters)
    })
}

/// Returns a nullable column.
pub(super) fn field(id: i32, name: &str, root: TypeRoot) -> DataField {
    DataField {
        id,
        name: name.to_string(),
        data_type: DataType::nullable(root),
        description: None,
        default_value: None,
    }
}

/// Returns a table of these columns.
pub(super) fn schema(
    fields: Vec<DataField>,
    partition_keys: &[String],
    primary_keys: &[&str],
    options: &[(&str, &str)],
) -> TableSchema {
    TableSchema {
        version: 3,
        id: 0,
        highest_field_id: 1000,
        fields,
        partition_keys: partition_keys.to_vec(),
        primary_keys: primary_keys.iter().map(ToString::to_string).collect(),
        options: options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        comment: None,
        time_ms: 0,
    }
}

/// Returns a scan of a table whose files were all written with `schema`.
pub(super) fn read_context(schema: TableSchema, filter: &str) -> Result<ReadContext, Refusal> {
    let schema = Arc::new(schema);
    Ok(ReadContext {
        files: Files::below(Arc::new(MemoryStorage::default()), "memory://t")?,
        table_location: "memory://t".to_string(),
        schemas: (0..4).map(|id| (id, schema.clone())).collect(),
        filter: bind(&Expression::filter(filter)?, schema.as_ref(), true)?,
        schema,
        options: Options::default(),
        view: View::Rows,
    })
}

/// Decodes a vector; most inputs have a valid frame.
fn deletion_vector(input: &[u8]) -> Outcome {
    let framed = if input.first() == Some(&0) && input.len() > 8 { framed(input) } else { input.to_vec() };
    let positions = deletion_vector::decode(&framed)?;
    let end = positions.max().map_or(0, |max| max.saturating_add(1));
    law(positions.count_in(0..end) == positions.len(), "all positions are before the end")
}

fn blob(input: &[u8]) -> Outcome {
    let path = "memory://t/f.blob";
    let storage = MemoryStorage::default();
    storage.put(path, Bytes::copy_from_slice(input))?;
    let files = Files::below(Arc::new(storage), "memory://t")?;
    let (mut rows, mut described, mut length) = (0, 0, 0);
    let mut file = BlobFile::open(&files, path, &context())?;
    while let Some(values) = file.descriptors(path)? {
        described += values.len();
    }
    let mut file = BlobFile::open(&files, path, &context())?;
    while let Some(values) = file.values(&files, &context())? {
        rows += values.len();
        length += values.value_data().len();
    }
    law(rows == described, "every value has a descriptor")?;
    law(length < input.len(), "values are smaller than their file")
}

fn split(input: &[u8]) -> Outcome {
    let splits = wire::read(input, Arc::new(MemoryStorage::default()))?;
    for split in &splits {
        let _ = (split.partition(), split.reader(&context()).map(drop));
    }
    let again = wire::read(&wire::write(&splits)?, Arc::new(MemoryStorage::default()));
    law(again.is_ok_and(|again| again.len() == splits.len()), "written splits read back")
}

/// Decodes the part of a split that follows the checksum and that frazil itself decodes.
fn split_context(input: &[u8]) -> Outcome {
    let read = wire::context::from_json(text(input)?, Arc::new(MemoryStorage::default()))?;
    let again = wire::context::from_json(&wire::context::to_json(&read)?, Arc::new(MemoryStorage::default()));
    // Compared as text, because NaN is not equal to itself.
    let filter = read.context.filter.to_string();
    law(again.is_ok_and(|again| again.context.filter.to_string() == filter), "a written context reads back")
}

const TYPES: &[&[u8]] = &[
    br#""DECIMAL(38, 10) NOT NULL""#,
    br#""TIMESTAMP(9) WITH LOCAL TIME ZONE""#,
    br#"{"type":"MAP","key":"VARCHAR(20) NOT NULL","value":{"type":"ARRAY<INT>","element":"INT"}}"#,
    br#"{"type":"ROW NOT NULL","fields":[{"id":7,"name":"a","type":"CHAR(3)","description":"x","defaultValue":"1"},{"id":8,"name":"m","type":{"type":"MULTISET","element":"VARBINARY(2147483647)"}}]}"#,
    br#""VARIANT""#,
];

/// A frame around one 32-bit bitmap: 2, 3.
const DELETION_VECTOR: &[u8] =
    b"\0\0\0\x18\x5e\x43\xf2\xd0\x3a\x30\0\0\x01\0\0\0\0\0\x01\0\x10\0\0\0\x02\0\x03\0\xc8\x98\xf6\x3d";

/// Lily and Alice.
const BLOB: &[u8] = b"\xcf\x11\x4e\x58Lily\x14\0\0\0\0\0\0\0\xc6\xc9\x3a\x45\
    \xcf\x11\x4e\x58Alice\x15\0\0\0\0\0\0\0\x15\xf0\x97\xed\x28\x02\x02\0\0\0\x01";

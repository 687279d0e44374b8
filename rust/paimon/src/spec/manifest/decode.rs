//! Decodes files to entries (spec: "Manifest", table of fields).

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMillisecondType};
use arrow_array::{ArrayRef, ArrowPrimitiveType, ListArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use frazil_core::avro::{AvroFile, Column, Kind, Projection, Record};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::super::file_name::check_file_names;
use super::super::meta_file::{self, check_version, column, leaf, list, typed};
use super::super::partition_path::POSTPONED;
use super::super::stats;
use super::{ADD, DELETE, ManifestEntries, nulls, zeros};

/// The only supported version of entries. Releases before 0.4 wrote version 1.
pub const VERSION: i32 = 2;

pub(in super::super) const KEY_STATS: [&str; 3] =
    ["_KEY_STATS._MIN_VALUES", "_KEY_STATS._MAX_VALUES", "_KEY_STATS._NULL_COUNTS"];
pub(in super::super) const VALUE_STATS: [&str; 3] =
    ["_VALUE_STATS._MIN_VALUES", "_VALUE_STATS._MAX_VALUES", "_VALUE_STATS._NULL_COUNTS"];

const VALUE_STATS_COLS: &str = "_VALUE_STATS_COLS";

const CREATION_TIME: &str = "_CREATION_TIME";

/// The statistics that a reader of a manifest needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedFields {
    /// Whether bounds and null counts of key fields are read.
    pub key_stats: bool,
    /// Whether bounds and null counts of columns are read, and the names of these columns.
    pub value_stats: bool,
}

impl WantedFields {
    /// All statistics.
    pub const ALL: Self = Self { key_stats: true, value_stats: true };
    /// No statistics.
    pub const FILES: Self = Self { key_stats: false, value_stats: false };
}

/// Decodes a manifest in Avro, ORC or Parquet. Unwanted statistics are not decoded and are NULL.
///
/// # Errors
/// `CorruptManifest` for violations of the spec: NULL in required fields, unknown kinds, negative lengths, counts and
/// levels, or names that are paths; `Unsupported` for versions other than 2; `LimitExceeded` and `Cancelled` by
/// `context`.
pub fn read(bytes: Bytes, wanted: WantedFields, context: &Context) -> Result<ManifestEntries> {
    decode(bytes, wanted, context).map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest))
}

fn decode(bytes: Bytes, wanted: WantedFields, context: &Context) -> Result<ManifestEntries> {
    let batch = meta_file::read_projected(bytes, projection(wanted), context)?;
    check_version(&batch, VERSION)?;
    check(&batch)?;
    let schema = schema();
    let zeros = zeros(batch.num_rows());
    let array = |field: &Arc<Field>| -> Result<ArrayRef> {
        match batch.column_by_name(field.name()) {
            None => nulls(field.data_type(), batch.num_rows(), &zeros),
            Some(array) if field.name() == CREATION_TIME => {
                let times = array.as_primitive_opt::<TimestampMillisecondType>();
                let times = times.ok_or_else(|| Error::internal("the creation times are not timestamps"))?;
                Ok(Arc::new(times.reinterpret_cast::<Int64Type>()))
            }
            Some(array) => Ok(Arc::clone(array)),
        }
    };
    let arrays = schema.fields().iter().map(array).collect::<Result<_>>()?;
    ManifestEntries::try_new(RecordBatch::try_new(Arc::clone(schema), arrays)?)
}

/// Returns whether a manifest can be rewritten without loss: it must be an Avro file with only known columns. Newer
/// releases may have additional ones.
///
/// # Errors
/// `CorruptManifest` for an Avro file whose header does not decode.
pub(crate) fn can_rewrite(bytes: &Bytes) -> Result<bool> {
    if !bytes.starts_with(b"Obj") {
        return Ok(false);
    }
    let file = AvroFile::open(bytes.clone()).map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest))?;
    Ok(file.schema().as_record().is_some_and(|record| has_known_fields(record, "")))
}

/// Returns whether all fields are known. Fields of statistics are identified by the names of their record and of the
/// field.
fn has_known_fields(record: &Record, prefix: &str) -> bool {
    record.fields.iter().all(|field| match field.schema.as_record() {
        Some(inner) if field.name == "_FILE" => has_known_fields(inner, ""),
        Some(inner) => has_known_fields(inner, &format!("{}.", field.name)),
        None => {
            let name = format!("{prefix}{}", field.name);
            name == "_VERSION" || schema().column_with_name(&name).is_some()
        }
    })
}

/// Returns the schema of all entries, regardless of the wanted statistics.
pub(in super::super) fn schema() -> &'static SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let all = meta_file::schema(&columns(WantedFields::ALL));
        let field = |field: &Arc<Field>| match field.name().as_str() {
            "_VERSION" => None,
            CREATION_TIME => Some(Field::new(CREATION_TIME, DataType::Int64, true)),
            name if KEY_STATS.contains(&name) || VALUE_STATS.contains(&name) => {
                Some(field.as_ref().clone().with_nullable(true))
            }
            _ => Some(field.as_ref().clone()),
        };
        Arc::new(Schema::new(all.fields().iter().filter_map(field).collect::<Vec<_>>()))
    });
    &SCHEMA
}

/// Returns whether a column belongs to statistics, or lists their columns.
pub(super) fn is_stats(name: &str) -> bool {
    KEY_STATS.contains(&name) || VALUE_STATS.contains(&name) || name == VALUE_STATS_COLS
}

/// Returns the columns that are decoded. The projection is cached, because a scan reads hundreds of manifests.
fn projection(wanted: WantedFields) -> &'static Projection {
    static ALL: [LazyLock<Projection>; 4] = {
        const fn wanted<const KEYS: bool, const VALUES: bool>() -> LazyLock<Projection> {
            LazyLock::new(|| Projection::new(columns(WantedFields { key_stats: KEYS, value_stats: VALUES })))
        }
        [wanted::<false, false>(), wanted::<false, true>(), wanted::<true, false>(), wanted::<true, true>()]
    };
    let [neither, values, keys, both] = &ALL;
    match (wanted.key_stats, wanted.value_stats) {
        (false, false) => neither,
        (false, true) => values,
        (true, false) => keys,
        (true, true) => both,
    }
}

fn columns(wanted: WantedFields) -> Vec<Column> {
    let required = |name, data_type| leaf(name, data_type).required();
    let mut file = vec![
        required("_FILE_NAME", DataType::Utf8),
        required("_FILE_SIZE", DataType::Int64),
        required("_ROW_COUNT", DataType::Int64),
        required("_MIN_KEY", DataType::Binary),
        required("_MAX_KEY", DataType::Binary),
        required("_MIN_SEQUENCE_NUMBER", DataType::Int64),
        required("_MAX_SEQUENCE_NUMBER", DataType::Int64),
        required("_SCHEMA_ID", DataType::Int64),
        required("_LEVEL", DataType::Int32),
        column("_EXTRA_FILES", list(DataType::Utf8)).required(),
        leaf(CREATION_TIME, DataType::Timestamp(TimeUnit::Millisecond, None)),
        leaf("_DELETE_ROW_COUNT", DataType::Int64),
        // The embedded index is always decoded, because it is part of the identity of a file.
        leaf("_EMBEDDED_FILE_INDEX", DataType::Binary),
        leaf("_FILE_SOURCE", DataType::Int32),
        leaf("_EXTERNAL_PATH", DataType::Utf8),
        leaf("_FIRST_ROW_ID", DataType::Int64),
        column("_WRITE_COLS", list(DataType::Utf8)),
    ];
    if wanted.key_stats {
        file.push(stats::column("_KEY_STATS", KEY_STATS));
    }
    if wanted.value_stats {
        file.push(stats::column("_VALUE_STATS", VALUE_STATS));
    }
    // `_VALUE_STATS_COLS` is always in the schema of entries, but NULL if value statistics are not wanted.
    if wanted.value_stats {
        file.push(column(VALUE_STATS_COLS, list(DataType::Utf8)));
    }
    vec![
        required("_VERSION", DataType::Int32),
        required("_KIND", DataType::Int32),
        required("_PARTITION", DataType::Binary),
        required("_BUCKET", DataType::Int32),
        required("_TOTAL_BUCKETS", DataType::Int32),
        column("_FILE", Kind::Struct(file)).required(),
    ]
}

/// Rejects values that violate the spec.
pub(super) fn check(batch: &RecordBatch) -> Result<()> {
    refuse::<Int32Type>(batch, "_KIND", |kind| kind != ADD && kind != DELETE)?;
    refuse::<Int32Type>(batch, "_BUCKET", |bucket| bucket < 0 && bucket != POSTPONED)?;
    refuse::<Int32Type>(batch, "_LEVEL", |level| level < 0)?;
    for name in ["_FILE_SIZE", "_ROW_COUNT", "_DELETE_ROW_COUNT"] {
        refuse::<Int64Type>(batch, name, |count| count < 0)?;
    }
    check_file_names(typed(batch, "_FILE_NAME")?, "_FILE_NAME")?;
    let extra = typed::<ListArray>(batch, "_EXTRA_FILES")?.values().as_string_opt();
    check_file_names(extra.ok_or_else(|| Error::internal("the names of extra files are not strings"))?, "_EXTRA_FILES")
}

fn refuse<T: ArrowPrimitiveType>(batch: &RecordBatch, name: &'static str, is_bad: fn(T::Native) -> bool) -> Result<()>
where
    T::Native: std::fmt::Display,
{
    let array: &PrimitiveArray<T> = typed(batch, name)?;
    // Values under NULL may be arbitrary, so NULLs are considered only if a value is invalid.
    if !array.values().iter().any(|value| is_bad(*value)) {
        return Ok(());
    }
    match array.iter().flatten().find(|value| is_bad(*value)) {
        Some(value) => Err(Error::corrupt(format!("invalid {name} {value}"))),
        None => Ok(()),
    }
}

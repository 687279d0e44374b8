//! Files to entries (spec: "Manifest", its table of fields).

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use frazil_core::avro::{Column, Kind};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::super::meta_file::{self, column, leaf, list};
use super::{ADD, DELETE, ManifestEntries};

/// The only version of entries that is read. Releases before 0.4 wrote 1.
pub(in crate::spec) const VERSION: i32 = 2;

/// The bucket of files of a postpone table; no other number is below -1.
const POSTPONE_BUCKET: i32 = -2;

pub(super) const KEY_STATS: [&str; 3] = ["_KEY_STATS._MIN_VALUES", "_KEY_STATS._MAX_VALUES", "_KEY_STATS._NULL_COUNTS"];
pub(super) const VALUE_STATS: [&str; 3] =
    ["_VALUE_STATS._MIN_VALUES", "_VALUE_STATS._MAX_VALUES", "_VALUE_STATS._NULL_COUNTS"];

const CREATION_TIME: &str = "_CREATION_TIME";

/// What a reader of a manifest needs beside the files themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Bounds and null counts of key fields.
    pub key_stats: bool,
    /// Bounds and null counts of columns, and which columns have them.
    pub value_stats: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Self = Self { key_stats: true, value_stats: true };
    /// No statistics.
    pub const FILES: Self = Self { key_stats: false, value_stats: false };
}

/// Decodes a manifest in Avro, ORC or Parquet. What is not wanted is not decoded and is NULL.
///
/// # Errors
/// `CorruptManifest` for what the spec does not allow: NULL in required fields, unknown kinds, negative lengths, counts
/// and levels; `Unsupported` for versions other than 2; `LimitExceeded` and `Cancelled` by `context`.
pub fn read(bytes: Bytes, wanted: Wanted, context: &Context) -> Result<ManifestEntries> {
    decode(bytes, wanted, context).map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest))
}

fn decode(bytes: Bytes, wanted: Wanted, context: &Context) -> Result<ManifestEntries> {
    let batch = meta_file::read(bytes, &projection(wanted), context)?;
    check_version(&batch, VERSION)?;
    check(&batch)?;
    let schema = schema();
    let array = |field: &Arc<Field>| -> Result<ArrayRef> {
        match batch.column_by_name(field.name()) {
            None => Ok(new_null_array(field.data_type(), batch.num_rows())),
            Some(array) if field.name() == CREATION_TIME => {
                let times = array.as_primitive_opt::<TimestampMillisecondType>();
                let times = times.ok_or_else(|| Error::internal("creation times are timestamps"))?;
                Ok(Arc::new(times.reinterpret_cast::<Int64Type>()))
            }
            Some(array) => Ok(Arc::clone(array)),
        }
    };
    let arrays = schema.fields().iter().map(array).collect::<Result<_>>()?;
    ManifestEntries::try_new(RecordBatch::try_new(Arc::clone(schema), arrays)?)
}

/// The schema of all entries, whatever was wanted of them.
pub(super) fn schema() -> &'static SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let all = meta_file::schema(&projection(Wanted::ALL));
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

fn projection(wanted: Wanted) -> Vec<Column> {
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
        // Always, for it is a part of what identifies a file.
        leaf("_EMBEDDED_FILE_INDEX", DataType::Binary),
        leaf("_FILE_SOURCE", DataType::Int32),
        leaf("_EXTERNAL_PATH", DataType::Utf8),
        leaf("_FIRST_ROW_ID", DataType::Int64),
        column("_WRITE_COLS", list(DataType::Utf8)),
    ];
    if wanted.key_stats {
        file.push(stats("_KEY_STATS", KEY_STATS));
    }
    if wanted.value_stats {
        file.push(stats("_VALUE_STATS", VALUE_STATS));
    }
    // In the schema also where it is not wanted, being NULL then.
    if wanted.value_stats {
        file.push(column("_VALUE_STATS_COLS", list(DataType::Utf8)));
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

/// The columns of statistics, under the names that they have in the output.
pub(in crate::spec) fn stats(name: &str, output: [&str; 3]) -> Column {
    let [min, max, null_counts] = output;
    let named = |column: Column, name: &str| Column { name: name.to_string(), ..column };
    let fields = vec![
        named(leaf("_MIN_VALUES", DataType::Binary).required(), min),
        named(leaf("_MAX_VALUES", DataType::Binary).required(), max),
        named(column("_NULL_COUNTS", list(DataType::Int64)), null_counts),
    ];
    column(name, Kind::Struct(fields)).required()
}

/// Refuses versions whose rules are others.
pub(in crate::spec) fn check_version(batch: &RecordBatch, expected: i32) -> Result<()> {
    let versions = ints(batch, "_VERSION")?;
    match versions.iter().find(|version| **version != expected) {
        Some(other) => Err(Error::unsupported(format!("version {other} of metadata, {expected} is read"))),
        None => Ok(()),
    }
}

fn check(batch: &RecordBatch) -> Result<()> {
    refuse(ints(batch, "_KIND")?, "_KIND", |kind| kind != ADD && kind != DELETE)?;
    refuse(ints(batch, "_BUCKET")?, "_BUCKET", |bucket| bucket < POSTPONE_BUCKET)?;
    refuse(ints(batch, "_LEVEL")?, "_LEVEL", |level| level < 0)?;
    for name in ["_FILE_SIZE", "_ROW_COUNT"] {
        refuse(longs(batch, name)?, name, |count| count < 0)?;
    }
    let counts = named(batch, "_DELETE_ROW_COUNT")?.as_primitive_opt::<Int64Type>();
    let negative = counts.and_then(|counts| counts.iter().flatten().find(|count| *count < 0));
    negative.map_or(Ok(()), |count| Err(refused("_DELETE_ROW_COUNT", count)))
}

fn refuse<T: Copy + std::fmt::Display>(values: &[T], name: &'static str, is_bad: impl Fn(T) -> bool) -> Result<()> {
    let bad = values.iter().find(|value| is_bad(**value));
    bad.map_or(Ok(()), |value| Err(refused(name, value)))
}

fn refused(name: &'static str, value: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("{name} is {value}"))
}

/// A required column of numbers.
pub(in crate::spec) fn ints<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a [i32]> {
    let array = named(batch, name)?.as_primitive_opt::<Int32Type>();
    array.map(|array| &**array.values()).ok_or_else(|| mistyped(name))
}

/// A required column of numbers.
pub(in crate::spec) fn longs<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a [i64]> {
    let array = named(batch, name)?.as_primitive_opt::<Int64Type>();
    array.map(|array| &**array.values()).ok_or_else(|| mistyped(name))
}

fn named<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a dyn Array> {
    batch.column_by_name(name).map(AsRef::as_ref).ok_or_else(|| mistyped(name))
}

fn mistyped(name: &'static str) -> Error {
    Error::internal("a metadata column is not as it was asked for").with("column", name)
}

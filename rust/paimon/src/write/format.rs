//! Determines the formats of data files from options, and the columns and codecs that they support.
//!
//! | | Parquet | ORC | Avro |
//! |---|---|---|---|
//! | TIMESTAMP of 7 to 9 digits | INT96 | timestamp | rejected |
//! | TIME of 4 to 9 digits | milliseconds | milliseconds | rejected |
//! | BINARY(n), VARBINARY(n) | binary | rejected | bytes |
//! | MULTISET | map | rejected | rejected |
//! | VARIANT | variant | rejected | rejected |
//!
//! Java's writers reject the same types, some of them only in the middle of a write.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use frazil_core::error::{Error, Result};

use super::avro_schema::avro_schema;
use crate::context::file_format::FileFormat;
use crate::read::convert::without_blanks;
use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// Codecs by their names in options, with the names that the writers use.
type Codecs = &'static [(&'static str, &'static str)];

const PARQUET_CODECS: Codecs = &[
    ("zstd", "zstd"),
    ("snappy", "snappy"),
    ("gzip", "gzip"),
    ("brotli", "brotli"),
    ("lz4", "lz4"),
    ("lz4_raw", "lz4"),
    ("none", "none"),
    ("uncompressed", "none"),
];
const ORC_CODECS: Codecs =
    &[("zstd", "zstd"), ("snappy", "snappy"), ("zlib", "zlib"), ("lz4", "lz4"), ("none", "uncompressed")];
const AVRO_CODECS: Codecs = &[
    ("zstd", "zstandard"),
    ("zstandard", "zstandard"),
    ("snappy", "snappy"),
    ("deflate", "deflate"),
    ("null", "null"),
];

/// Returns the format of new files of a level. Append tables have a single format.
///
/// # Errors
/// `Unsupported` for another format; `InvalidArgument` for an option that does not parse.
pub(super) fn format_of(options: &Options, level: Option<i32>) -> Result<FileFormat> {
    let by_level = per_level(options, "file.format.per.level")?;
    match level.and_then(|level| by_level.get(&level)) {
        Some(name) => parse("file.format.per.level", name),
        None => parse("file.format", options.text("file.format").unwrap_or("parquet")),
    }
}

/// Returns the distinct formats of all files that may be written to a table.
fn formats(schema: &TableSchema, options: &Options) -> Result<Vec<FileFormat>> {
    let mut found = vec![format_of(options, None)?];
    if !schema.primary_keys.is_empty() {
        for level in per_level(options, "file.format.per.level")?.into_keys() {
            let format = format_of(options, Some(level))?;
            if !found.contains(&format) {
                found.push(format);
            }
        }
    }
    Ok(found)
}

/// Returns the names for levels in an option such as `0:avro,3:orc`.
fn per_level(options: &Options, name: &str) -> Result<BTreeMap<i32, String>> {
    let entry = |entry: &str| {
        let (level, value) = entry.split_once(':')?;
        Some((level.trim().parse().ok()?, value.trim().to_ascii_lowercase()))
    };
    let entries = options.list(name).into_iter().map(|text| {
        entry(text).ok_or_else(|| {
            Error::invalid(format!("the option `{name}` contains the invalid entry `{}`", shown(text)))
                .with("option", name)
                .hint("specify a list of levels with their values, for example `0:avro,5:parquet`")
        })
    });
    entries.collect()
}

fn parse(option: &str, name: &str) -> Result<FileFormat> {
    match name.trim().to_ascii_lowercase().as_str() {
        "parquet" => Ok(FileFormat::Parquet),
        "orc" => Ok(FileFormat::Orc),
        "avro" => Ok(FileFormat::Avro),
        other => {
            let message = format!("writing tables with the option `{option}` = `{}` is not supported", shown(other));
            Err(Error::unsupported(message).hint("supported formats are parquet, orc and avro"))
        }
    }
}

/// Returns the codec of files, by the name that its writer uses, and whether the level of the option applies.
///
/// # Errors
/// `Unsupported` naming a codec that cannot be written; `InvalidArgument` for an option that does not parse.
pub(super) fn codec_of(format: FileFormat, options: &Options, level: Option<i32>) -> Result<(&'static str, bool)> {
    let (codecs, own) = match format {
        FileFormat::Parquet => (PARQUET_CODECS, "parquet.compression"),
        FileFormat::Orc => (ORC_CODECS, "orc.compress"),
        FileFormat::Avro => (AVRO_CODECS, "avro.codec"),
    };
    let by_level = per_level(options, "file.compression.per.level")?;
    let (option, name) = match options.text(own) {
        Some(name) => (own, name),
        None => match level.and_then(|level| by_level.get(&level)) {
            Some(name) => ("file.compression.per.level", name.as_str()),
            None => ("file.compression", options.text("file.compression").unwrap_or("zstd")),
        },
    };
    let name = name.trim().to_ascii_lowercase();
    let Some((_, codec)) = codecs.iter().find(|(known, _)| *known == name) else {
        let known: Vec<_> = codecs.iter().map(|(known, _)| *known).collect();
        let message = format!("writing {} files with the codec `{}` is not supported", display(format), shown(&name));
        return Err(Error::unsupported(message)
            .with("option", option)
            .hint(format!("supported codecs are {}", known.join(", "))));
    };
    Ok((codec, name == "zstd"))
}

/// Rejects columns and codecs that the files of a table do not support.
///
/// # Errors
/// `Unsupported` naming the column or the option; `InvalidArgument` for an option that does not parse.
pub(super) fn check_formats(schema: &TableSchema, options: &Options) -> Result<()> {
    let mut levels = vec![None];
    if !schema.primary_keys.is_empty() {
        let named = ["file.format.per.level", "file.compression.per.level"].map(|name| per_level(options, name));
        for by_level in named {
            levels.extend(by_level?.into_keys().map(Some));
        }
    }
    for level in levels {
        codec_of(format_of(options, level)?, options, level)?;
    }
    for format in formats(schema, options)? {
        for field in &schema.fields {
            check_type(&field.data_type, format).map_err(|error| error.with("column", shown(&field.name)))?;
        }
        if format == FileFormat::Avro {
            // Rejects names that are not valid in Avro.
            avro_schema(&schema.fields)?;
        }
    }
    Ok(())
}

fn check_type(data_type: &DataType, format: FileFormat) -> Result<()> {
    use TypeRoot as T;
    let is_held = match (&data_type.root, format) {
        (T::Multiset(_) | T::Variant, FileFormat::Orc | FileFormat::Avro) | (T::Binary(_), FileFormat::Orc) => false,
        (T::VarBinary(length), FileFormat::Orc) => *length == i32::MAX.unsigned_abs(),
        (T::Time(digits), FileFormat::Avro) => *digits <= 3,
        (T::Timestamp(digits) | T::LocalZonedTimestamp(digits), FileFormat::Avro) => *digits <= 6,
        _ => true,
    };
    if !is_held {
        let message = format!("writing columns of type {data_type} to {} files is not supported", display(format));
        return Err(Error::unsupported(message).hint(hint(&data_type.root)));
    }
    match &data_type.root {
        T::Array(part) | T::Multiset(part) => check_type(part, format),
        T::Map(key, value) => check_type(key, format).and_then(|()| check_type(value, format)),
        T::Row(fields) => fields.iter().try_for_each(|field| check_type(&field.data_type, format)),
        _ => Ok(()),
    }
}

fn hint(root: &TypeRoot) -> &'static str {
    match root {
        TypeRoot::Binary(_) | TypeRoot::VarBinary(_) => {
            "Java does not support this either: change the column to BYTES, or set `file.format` to parquet or avro"
        }
        TypeRoot::Timestamp(_) | TypeRoot::LocalZonedTimestamp(_) => {
            "Java does not support this either: change the column to TIMESTAMP(6), or set `file.format` to parquet \
                or orc"
        }
        TypeRoot::Time(_) => {
            "Java does not support this either: change the column to TIME(3), or set `file.format` to parquet or orc"
        }
        _ => "Java does not support this either: set `file.format` to parquet",
    }
}

fn display(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Parquet => "Parquet",
        FileFormat::Orc => "ORC",
        FileFormat::Avro => "Avro",
    }
}

/// The columns whose values are stored without trailing spaces: CHAR columns in ORC files.
#[derive(Debug)]
pub(crate) struct Blanks {
    places: Vec<usize>,
    /// The positions of the key columns among these CHAR columns.
    keys: Vec<usize>,
}

impl Blanks {
    /// Determines the CHAR columns if any file of the table may be ORC; otherwise none.
    pub(crate) fn try_new(schema: &TableSchema, options: &Options) -> Result<Self> {
        if !formats(schema, options)?.contains(&FileFormat::Orc) {
            return Ok(Self { places: Vec::new(), keys: Vec::new() });
        }
        let is_char = |(_, field): &(usize, &DataField)| matches!(field.data_type.root, TypeRoot::Char(_));
        let columns = || schema.fields.iter().enumerate().filter(is_char);
        let keys = schema.trimmed_primary_keys();
        let is_key = |field: &DataField| keys.contains(&field.name.as_str());
        Ok(Self {
            places: columns().map(|(place, _)| place).collect(),
            keys: columns().filter(|(_, field)| is_key(field)).map(|(place, _)| place).collect(),
        })
    }

    /// Returns rows in the form that files store. The first columns of `rows` are those of the table. Bounds, keys,
    /// buckets and indexes are computed from these values, because readers see them.
    pub(crate) fn trimmed(&self, rows: RecordBatch) -> Result<RecordBatch> {
        if self.places.is_empty() {
            return Ok(rows);
        }
        let mut columns = rows.columns().to_vec();
        for place in &self.places {
            if let Some(column) = columns.get_mut(*place) {
                *column = without_blanks(column);
            }
        }
        Ok(RecordBatch::try_new(rows.schema(), columns)?)
    }

    /// Rejects existing keys with trailing spaces in rewritten files. Without the spaces, keys might be equal or out of
    /// order.
    ///
    /// # Errors
    /// `Unsupported` naming the column.
    pub(crate) fn check_keys(&self, rows: &RecordBatch) -> Result<()> {
        for place in &self.keys {
            let column = rows.column(*place);
            if without_blanks(column).as_ref() != column.as_ref() {
                let name = rows.schema_ref().field(*place).name().clone();
                return Err(Error::unsupported(
                    "compacting CHAR keys with trailing spaces to ORC files is not supported",
                )
                .with("column", shown(&name))
                .hint("ORC files store CHAR without trailing spaces: set `file.format` to parquet or avro"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, ArrayRef, StringArray};
    use frazil_core::error::ErrorKind;
    use serde_json::{Value, json};

    use super::*;

    fn table(options: &Value, kind: &Value, keys: &Value) -> (TableSchema, Options) {
        let schema = json!({
            "version": 3, "id": 0, "highestFieldId": 1, "partitionKeys": [], "primaryKeys": keys, "timeMillis": 1,
            "fields": [{"id": 0, "name": "k", "type": "CHAR(3) NOT NULL"}, {"id": 1, "name": "v", "type": kind}],
            "options": options,
        });
        let schema = TableSchema::parse(schema.to_string().as_bytes()).unwrap();
        let options = Options::new(schema.options.clone());
        (schema, options)
    }

    fn checked(options: &Value, kind: &Value, keys: &Value) -> Result<()> {
        let (schema, options) = table(options, kind, keys);
        check_formats(&schema, &options)
    }

    #[test]
    fn types_that_java_does_not_write_are_refused() {
        let array = |element: &str| json!({"type": "ARRAY", "element": element});
        for (format, kind, is_written) in [
            ("parquet", json!("TIMESTAMP(9)"), true),
            ("orc", json!("TIMESTAMP(9)"), true),
            ("avro", json!("TIMESTAMP(6)"), true),
            ("avro", json!("TIMESTAMP(7)"), false),
            ("avro", array("TIMESTAMP(9) WITH LOCAL TIME ZONE"), false),
            ("avro", json!("TIME(3)"), true),
            ("avro", json!("TIME(6)"), false),
            ("orc", json!("TIME(6)"), true),
            ("orc", json!("BYTES"), true),
            ("orc", json!("VARBINARY(4)"), false),
            ("orc", array("BINARY(4)"), false),
            ("avro", json!("BINARY(4)"), true),
            ("parquet", json!({"type": "MULTISET", "element": "STRING"}), true),
            ("orc", json!({"type": "MULTISET", "element": "STRING"}), false),
            ("avro", json!({"type": "MULTISET", "element": "STRING"}), false),
            ("orc", json!("VARIANT"), false),
            ("avro", json!("VARIANT"), false),
        ] {
            for (options, keys) in [
                (json!({"file.format": format}), json!([])),
                (json!({"file.format.per.level": format!("3:{format}")}), json!(["k"])),
            ] {
                let outcome = checked(&options, &kind, &keys);
                assert_eq!(outcome.is_ok(), is_written, "{format} {kind} {outcome:?}");
                if let Err(error) = outcome {
                    assert_eq!(error.kind(), ErrorKind::Unsupported);
                    assert!(error.to_string().contains("column: v"), "{error}");
                }
            }
        }
        // Append tables have no levels.
        checked(&json!({"file.format.per.level": "0:avro"}), &json!("VARIANT"), &json!([])).unwrap();
    }

    #[test]
    fn levels_have_their_own_formats_and_codecs() {
        let (_, options) = table(
            &json!({
                "file.format": "ORC", "file.format.per.level": "0:avro, 5 : parquet",
                "file.compression": "none", "file.compression.per.level": "0:snappy,5:gzip",
            }),
            &json!("INT"),
            &json!(["k"]),
        );
        for (level, format, codec) in [
            (Some(0), FileFormat::Avro, "snappy"),
            (Some(5), FileFormat::Parquet, "gzip"),
            (Some(3), FileFormat::Orc, "uncompressed"),
            (None, FileFormat::Orc, "uncompressed"),
        ] {
            assert_eq!(format_of(&options, level).unwrap(), format);
            assert_eq!(codec_of(format, &options, level).unwrap(), (codec, false));
        }
        for (options, kind) in [
            (json!({"file.format.per.level": "avro"}), ErrorKind::InvalidArgument),
            (json!({"file.compression.per.level": "a:zstd"}), ErrorKind::InvalidArgument),
            (json!({"file.format.per.level": "0:csv"}), ErrorKind::Unsupported),
            (json!({"file.compression.per.level": "0:brotli", "file.format": "orc"}), ErrorKind::Unsupported),
            (json!({"file.format": "avro", "file.compression": "none"}), ErrorKind::Unsupported),
            (json!({"file.format": "orc", "orc.compress": "LZO"}), ErrorKind::Unsupported),
        ] {
            assert_eq!(checked(&options, &json!("INT"), &json!(["k"])).unwrap_err().kind(), kind, "{options}");
        }
        checked(&json!({"file.format": "avro", "avro.codec": "deflate"}), &json!("INT"), &json!([])).unwrap();
    }

    #[test]
    fn trailing_blanks_are_trimmed_only_for_orc() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a "), None, Some(" b")]));
        let rows = RecordBatch::try_from_iter([("k", texts.clone()), ("v", texts.clone())]).unwrap();
        for (options, is_trimmed) in [
            (json!({"file.format": "orc"}), true),
            (json!({"file.format.per.level": "3:orc"}), true),
            (json!({"file.format": "avro"}), false),
        ] {
            let (schema, options) = table(&options, &json!("STRING"), &json!(["k"]));
            let blanks = Blanks::try_new(&schema, &options).unwrap();
            let found = blanks.trimmed(rows.clone()).unwrap();
            assert_eq!(found.column(1), &texts);
            let expected = StringArray::from(vec![Some("a"), None, Some(" b")]);
            assert_eq!(found.column(0).to_data() == expected.to_data(), is_trimmed);
            assert_eq!(blanks.check_keys(&rows).is_err(), is_trimmed);
            blanks.check_keys(&found).unwrap();
        }
    }
}

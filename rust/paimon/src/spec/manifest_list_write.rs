//! Writes manifest lists (spec: "Manifest List").

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, StringArray};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use frazil_core::avro::Codec;
use frazil_core::error::Result;

use super::manifest::VERSION;
use super::manifest_list::ManifestFileMeta;
use super::meta_file_write::{STATS, Type, avro_schema, batch, record, writer};

static SCHEMA: LazyLock<String> = LazyLock::new(|| {
    let int = || Type::Required(r#""int""#);
    let long = || Type::Required(r#""long""#);
    let optional_int = || Type::Optional(r#""int""#);
    let optional_long = || Type::Optional(r#""long""#);
    avro_schema(&[
        ("_VERSION", int()),
        ("_FILE_NAME", Type::Required(r#""string""#)),
        ("_FILE_SIZE", long()),
        ("_NUM_ADDED_FILES", long()),
        ("_NUM_DELETED_FILES", long()),
        ("_PARTITION_STATS", Type::Record(STATS)),
        ("_SCHEMA_ID", long()),
        ("_MIN_BUCKET", optional_int()),
        ("_MAX_BUCKET", optional_int()),
        ("_MIN_LEVEL", optional_int()),
        ("_MAX_LEVEL", optional_int()),
        ("_MIN_ROW_ID", optional_long()),
        ("_MAX_ROW_ID", optional_long()),
    ])
});

/// Returns a file that lists these manifests, in this order.
///
/// # Errors
/// `Unsupported` for a codec that can only be read.
pub fn write(manifests: &[ManifestFileMeta], codec: Codec) -> Result<Bytes> {
    let long = |of: fn(&ManifestFileMeta) -> i64| -> ArrayRef {
        Arc::new(manifests.iter().map(of).map(Some).collect::<Int64Array>())
    };
    let optional_int = |of: fn(&ManifestFileMeta) -> Option<i32>| -> ArrayRef {
        Arc::new(manifests.iter().map(of).collect::<Int32Array>())
    };
    let optional_long = |of: fn(&ManifestFileMeta) -> Option<i64>| -> ArrayRef {
        Arc::new(manifests.iter().map(of).collect::<Int64Array>())
    };
    let bounds = |of: fn(&ManifestFileMeta) -> &[u8]| -> ArrayRef {
        Arc::new(BinaryArray::from_iter_values(manifests.iter().map(of)))
    };
    let columns = vec![
        Arc::new(Int32Array::from(vec![VERSION; manifests.len()])) as ArrayRef,
        Arc::new(StringArray::from_iter_values(manifests.iter().map(|manifest| &manifest.file_name))),
        long(|manifest| manifest.file_size),
        long(|manifest| manifest.num_added_files),
        long(|manifest| manifest.num_deleted_files),
        record(vec![
            bounds(|manifest| &manifest.partition_stats.min),
            bounds(|manifest| &manifest.partition_stats.max),
            Arc::new(null_counts(manifests.iter().map(|manifest| manifest.partition_stats.null_counts.as_deref()))),
        ])?,
        long(|manifest| manifest.schema_id),
        optional_int(|manifest| manifest.min_bucket),
        optional_int(|manifest| manifest.max_bucket),
        optional_int(|manifest| manifest.min_level),
        optional_int(|manifest| manifest.max_level),
        optional_long(|manifest| manifest.min_row_id),
        optional_long(|manifest| manifest.max_row_id),
    ];
    let mut writer = writer(&SCHEMA, codec)?;
    writer.write(&batch(columns)?)?;
    writer.finish()
}

/// Returns null counts as a column of lists, in the form of decoded metadata files.
pub(super) fn null_counts<'a>(counts: impl Iterator<Item = Option<&'a [Option<i64>]>>) -> ListArray {
    let element = Field::new("element", DataType::Int64, true);
    let mut lists = ListBuilder::new(Int64Builder::new()).with_field(element);
    for counts in counts {
        for count in counts.unwrap_or_default() {
            lists.values().append_option(*count);
        }
        lists.append(counts.is_some());
    }
    lists.finish()
}

#[cfg(test)]
mod tests {
    use frazil_core::context::Context;

    use super::super::manifest_list::read;
    use super::super::testing::golden_files;
    use super::*;

    #[test]
    fn golden_manifest_lists_are_written_as_they_were_read() {
        let mut count = 0;
        for (path, bytes) in golden_files(|name| name.starts_with("manifest-list-")) {
            let manifests = read(bytes.into(), &Context::default()).unwrap();
            for codec in [Codec::Zstandard, Codec::Null] {
                let written = write(&manifests, codec).unwrap();
                assert_eq!(read(written, &Context::default()).unwrap(), manifests, "{}", path.display());
            }
            count += 1;
        }
        assert!(count > 100, "{count} manifest lists");
    }

    #[test]
    fn a_list_may_be_empty() {
        assert!(read(write(&[], Codec::Zstandard).unwrap(), &Context::default()).unwrap().is_empty());
    }
}

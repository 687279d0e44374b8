//! Writes index manifests (spec: "Table Index").

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{Array, ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use bytes::Bytes;
use frazil_core::avro::Codec;
use frazil_core::error::{Error, Result};

use super::index_manifest::{DELETION_VECTORS, DeletionRange, GlobalIndex, IndexEntry, VERSION};
use super::meta_file_write::{Type, avro_schema, batch, writer};

/// The locations of deletion vectors: the data file, the offset, the length, and the number of deleted rows.
const RANGES: &str = r#"{"type":"array","items":["null",{"type":"record","name":"record__DELETIONS_VECTORS_RANGES","fields":[{"name":"f0","type":"string"},{"name":"f1","type":"int"},{"name":"f2","type":"int"},{"name":"_CARDINALITY","type":["null","long"],"default":null}]}]}"#;

/// The rows and fields of a global index.
const GLOBAL_INDEX: &str = r#"{"type":"record","name":"record__GLOBAL_INDEX","fields":[{"name":"_ROW_RANGE_START","type":"long"},{"name":"_ROW_RANGE_END","type":"long"},{"name":"_INDEX_FIELD_ID","type":"int"},{"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},{"name":"_INDEX_META","type":["null","bytes"],"default":null}]}"#;

static SCHEMA: LazyLock<String> = LazyLock::new(|| {
    let int = || Type::Required(r#""int""#);
    let long = || Type::Required(r#""long""#);
    let text = || Type::Required(r#""string""#);
    avro_schema(&[
        ("_VERSION", int()),
        ("_KIND", int()),
        ("_PARTITION", Type::Required(r#""bytes""#)),
        ("_BUCKET", int()),
        ("_INDEX_TYPE", text()),
        ("_FILE_NAME", text()),
        ("_FILE_SIZE", long()),
        ("_ROW_COUNT", long()),
        ("_DELETIONS_VECTORS_RANGES", Type::Optional(RANGES)),
        ("_EXTERNAL_PATH", Type::Optional(r#""string""#)),
        ("_GLOBAL_INDEX", Type::Optional(GLOBAL_INDEX)),
    ])
});

/// Returns a file that lists these index files, in this order.
///
/// # Errors
/// `Unsupported` for a codec that can only be read, and for indexes that later releases of Paimon wrote.
pub fn write(entries: &[IndexEntry], codec: Codec) -> Result<Bytes> {
    let int =
        |of: fn(&IndexEntry) -> i32| -> ArrayRef { Arc::new(Int32Array::from_iter_values(entries.iter().map(of))) };
    let long =
        |of: fn(&IndexEntry) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(entries.iter().map(of))) };
    let text =
        |of: fn(&IndexEntry) -> Option<&str>| -> ArrayRef { Arc::new(entries.iter().map(of).collect::<StringArray>()) };
    let columns = vec![
        int(|_| VERSION),
        int(|entry| entry.kind),
        Arc::new(BinaryArray::from_iter_values(entries.iter().map(|entry| &entry.partition))),
        int(|entry| entry.bucket),
        text(|entry| Some(&entry.index_type)),
        text(|entry| Some(&entry.file_name)),
        long(|entry| entry.file_size),
        long(|entry| entry.row_count),
        ranges(entries)?,
        text(|entry| entry.external_path.as_deref()),
        global_indexes(entries)?,
    ];
    let mut writer = writer(&SCHEMA, codec)?;
    writer.write(&batch(columns)?)?;
    writer.finish()
}

fn ranges(entries: &[IndexEntry]) -> Result<ArrayRef> {
    let all: Vec<&DeletionRange> = entries.iter().flat_map(|entry| &entry.deletion_ranges).collect();
    let int =
        |of: fn(&&DeletionRange) -> i32| -> ArrayRef { Arc::new(Int32Array::from_iter_values(all.iter().map(of))) };
    let columns = vec![
        Arc::new(StringArray::from_iter_values(all.iter().map(|range| &range.data_file))) as ArrayRef,
        int(|range| range.offset),
        int(|range| range.length),
        Arc::new(all.iter().map(|range| range.cardinality).collect::<Int64Array>()),
    ];
    let structs = structs(columns, None)?;
    let element = Arc::new(Field::new("element", structs.data_type().clone(), true));
    let lengths = OffsetBuffer::from_lengths(entries.iter().map(|entry| entry.deletion_ranges.len()));
    let has_ranges: NullBuffer = entries.iter().map(|entry| entry.index_type == DELETION_VECTORS).collect();
    Ok(Arc::new(ListArray::try_new(element, lengths, Arc::new(structs), Some(has_ranges))?))
}

fn global_indexes(entries: &[IndexEntry]) -> Result<ArrayRef> {
    let all = || entries.iter().map(|entry| entry.global_index.as_ref());
    if all().flatten().any(|index| index.source_meta.is_some()) {
        return Err(Error::unsupported(
            "rewriting the list of global indexes of a later Paimon release is not supported",
        ));
    }
    let long = |of: fn(&GlobalIndex) -> i64| -> ArrayRef {
        Arc::new(all().map(|index| Some(index.map_or(0, of))).collect::<Int64Array>())
    };
    let mut extra = ListBuilder::new(Int32Builder::new()).with_field(Field::new("element", DataType::Int32, true));
    for ids in all().map(|index| index.and_then(|index| index.extra_field_ids.as_ref())) {
        extra.values().append_slice(ids.map_or(&[][..], Vec::as_slice));
        extra.append(ids.is_some());
    }
    let columns = vec![
        long(|index| index.row_range_start),
        long(|index| index.row_range_end),
        Arc::new(Int32Array::from_iter_values(all().map(|index| index.map_or(0, |index| index.field_id)))),
        Arc::new(extra.finish()),
        Arc::new(all().map(|index| index.and_then(|index| index.index_meta.as_deref())).collect::<BinaryArray>()),
    ];
    let is_set: NullBuffer = all().map(|index| index.is_some()).collect();
    Ok(Arc::new(structs(columns, Some(is_set))?))
}

fn structs(columns: Vec<ArrayRef>, nulls: Option<NullBuffer>) -> Result<StructArray> {
    let field = |(i, column): (usize, &ArrayRef)| Field::new(i.to_string(), column.data_type().clone(), true);
    let fields: Fields = columns.iter().enumerate().map(field).collect();
    Ok(StructArray::try_new(fields, columns, nulls)?)
}

#[cfg(test)]
mod tests {
    use frazil_core::context::Context;

    use super::super::index_manifest::{HASH, read};
    use super::super::manifest::ADD;
    use super::super::testing::golden_files;
    use super::*;

    fn hash_index() -> IndexEntry {
        IndexEntry {
            kind: ADD,
            partition: vec![0, 0, 0, 1],
            bucket: 7,
            index_type: HASH.into(),
            file_name: "index-1".into(),
            file_size: 8,
            row_count: 2,
            deletion_ranges: Vec::new(),
            external_path: None,
            global_index: None,
        }
    }

    #[test]
    fn golden_index_manifests_are_written_as_they_were_read() {
        let mut count = 0;
        for (path, bytes) in golden_files(|name| name.starts_with("index-manifest-")) {
            let entries = read(bytes.into(), &Context::default()).unwrap();
            for codec in [Codec::Zstandard, Codec::Null] {
                let written = write(&entries, codec).unwrap();
                assert_eq!(read(written, &Context::default()).unwrap(), entries, "{}", path.display());
            }
            count += 1;
        }
        assert!(count > 5, "{count} index manifests");
    }

    #[test]
    fn all_kinds_of_indexes_are_written() {
        let ranges = vec![
            DeletionRange { data_file: "a".into(), offset: 1, length: 22, cardinality: Some(5) },
            DeletionRange { data_file: "b".into(), offset: 31, length: 24, cardinality: None },
        ];
        let vectors = |ranges: Vec<DeletionRange>| IndexEntry {
            index_type: DELETION_VECTORS.into(),
            file_size: 60,
            row_count: i64::try_from(ranges.len()).unwrap(),
            deletion_ranges: ranges,
            external_path: Some("file:/x/index-1".into()),
            ..hash_index()
        };
        let global = |extra_field_ids| {
            let (row_range_start, row_range_end, field_id) = (3, 9, 2);
            let index_meta = Some(vec![1, 2]);
            let of = GlobalIndex {
                row_range_start,
                row_range_end,
                field_id,
                extra_field_ids,
                index_meta,
                source_meta: None,
            };
            IndexEntry { index_type: "BTREE".into(), global_index: Some(of), ..hash_index() }
        };
        let entries = vec![
            hash_index(),
            vectors(ranges),
            vectors(Vec::new()),
            global(Some(vec![4, 5])),
            global(Some(Vec::new())),
            global(None),
        ];
        assert_eq!(read(write(&entries, Codec::Zstandard).unwrap(), &Context::default()).unwrap(), entries);
        assert!(read(write(&[], Codec::Null).unwrap(), &Context::default()).unwrap().is_empty());
    }

    #[test]
    fn indexes_of_later_releases_are_not_rewritten() {
        let (row_range_start, row_range_end, field_id) = (0, 1, 0);
        let (extra_field_ids, index_meta, source_meta) = (None, None, Some(vec![0]));
        let of = GlobalIndex { row_range_start, row_range_end, field_id, extra_field_ids, index_meta, source_meta };
        let error = write(&[IndexEntry { global_index: Some(of), ..hash_index() }], Codec::Null).unwrap_err();
        assert_eq!(error.kind(), frazil_core::error::ErrorKind::Unsupported);
    }
}

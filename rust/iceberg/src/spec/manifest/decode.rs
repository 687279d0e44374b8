//! Decodes the live entries of a manifest.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use bytes::Bytes;
use frazil_core::avro::{AvroFile, Column, Key, Kind, Projection};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::{ADDED, DELETED, ManifestEntries, column, int64, mistyped};
use crate::spec::manifest_list::{ManifestContent, ManifestFile};
use crate::spec::manifest_rows::read_manifest;

/// The id of the field `sequence_number`.
const SEQUENCE_NUMBER_ID: i32 = 3;

/// Decodes the live entries of a manifest, with statistics only for `statistics_ids`.
///
/// # Errors
/// `CorruptManifest` for violations of the spec: an unknown status or content, EXISTING entries without sequence
/// numbers, negative counts, or content that differs from the manifest's.
pub fn read(
    bytes: Bytes,
    manifest: &ManifestFile,
    statistics_ids: &[i32],
    context: &Context,
) -> Result<ManifestEntries> {
    decode(bytes, manifest, statistics_ids, context).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))
}

/// Returns the partition spec id that a manifest itself records, for v1 snapshots that reference manifests without a
/// manifest list.
pub fn partition_spec_id(bytes: &Bytes) -> Result<i32> {
    let file = AvroFile::open(bytes.clone()).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))?;
    let text = file.metadata("partition-spec-id").and_then(|text| std::str::from_utf8(text).ok());
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(0))
}

fn decode(bytes: Bytes, manifest: &ManifestFile, statistics_ids: &[i32], context: &Context) -> Result<ManifestEntries> {
    let file = AvroFile::open(bytes)?;
    let written_by_v1 = is_v1(&file);
    let mut entries = entries(&read_manifest(&file, &projection(manifest.content, statistics_ids), context)?)?;
    check_codes(&entries, manifest.content)?;
    let own = int64(entries.column(column::SEQUENCE_NUMBER)?)?;
    let sequence_numbers = inherited_sequence_numbers(entries.status()?, own, manifest, written_by_v1)?;
    let (own, counts) = (entries.first_row_ids()?, entries.record_counts()?);
    let first_row_ids = inherited_first_row_ids(entries.status()?, own, counts, manifest.first_row_id)?;
    entries.put(column::SEQUENCE_NUMBER, Some(Arc::new(sequence_numbers)));
    entries.put(column::FIRST_ROW_ID, first_row_ids.map(|ids| Arc::new(ids) as ArrayRef));
    let status = entries.status()?;
    if status.values().iter().all(|&status| status != DELETED) {
        return Ok(entries);
    }
    let live = BooleanBuffer::collect_bool(entries.len, |row| status.values().get(row) != Some(&DELETED));
    entries.filter(&live.into())
}

fn projection(content: ManifestContent, statistics_ids: &[i32]) -> Projection {
    let column = |id, name: &str, required, kind| Column { required, ..Column::new(Key::Id(id), name, kind) };
    let leaf = |id, name: &str, data_type, required| column(id, name, required, Kind::Leaf(data_type));
    let lookup = |id, name: &str, value| column(id, name, false, Kind::Lookup { keys: statistics_ids.to_vec(), value });
    let list = |id, name: &str, item| column(id, name, false, Kind::List(Box::new(Kind::Leaf(item))));
    let mut data_file = vec![
        leaf(134, "content", DataType::Int32, false),
        leaf(100, "file_path", DataType::Utf8, true),
        leaf(101, "file_format", DataType::Utf8, true),
        column(102, "partition", false, Kind::Natural),
        leaf(103, "record_count", DataType::Int64, true),
        leaf(104, "file_size_in_bytes", DataType::Int64, true),
    ];
    match content {
        ManifestContent::Data => data_file
            .extend([list(132, "split_offsets", DataType::Int64), leaf(142, "first_row_id", DataType::Int64, false)]),
        ManifestContent::Deletes => data_file.extend([
            list(135, "equality_ids", DataType::Int32),
            leaf(143, "referenced_data_file", DataType::Utf8, false),
            leaf(144, "content_offset", DataType::Int64, false),
            leaf(145, "content_size_in_bytes", DataType::Int64, false),
        ]),
    }
    if !statistics_ids.is_empty() {
        data_file.extend([
            lookup(109, "value_counts", DataType::Int64),
            lookup(110, "null_value_counts", DataType::Int64),
            lookup(137, "nan_value_counts", DataType::Int64),
            lookup(125, "lower_bounds", DataType::Binary),
            lookup(128, "upper_bounds", DataType::Binary),
        ]);
    }
    Projection {
        fields: vec![
            leaf(0, "status", DataType::Int32, true),
            leaf(1, "snapshot_id", DataType::Int64, false),
            leaf(SEQUENCE_NUMBER_ID, "sequence_number", DataType::Int64, false),
            column(2, "data_file", true, Kind::Struct(data_file)),
        ],
    }
}

/// Returns the columns of a decoded [`projection`], flattened.
fn entries(batch: &RecordBatch) -> Result<ManifestEntries> {
    let mut entries = ManifestEntries { len: batch.num_rows(), columns: Default::default() };
    let [status, snapshot_ids, sequence_numbers, data_file] = batch.columns() else { return Err(mistyped("entry")) };
    entries.put(column::STATUS, Some(status.clone()));
    entries.put(column::SNAPSHOT_ID, Some(snapshot_ids.clone()));
    entries.put(column::SEQUENCE_NUMBER, Some(sequence_numbers.clone()));
    let data_file = data_file.as_struct_opt().ok_or_else(|| mistyped("data_file"))?;
    for (field, values) in data_file.fields().iter().zip(data_file.columns()) {
        let number = match field.name().as_str() {
            "content" => column::CONTENT,
            "file_path" => column::PATH,
            "file_format" => column::FORMAT,
            "partition" => column::PARTITION,
            "record_count" => column::RECORD_COUNT,
            "file_size_in_bytes" => column::SIZE,
            "split_offsets" => column::SPLIT_OFFSETS,
            "equality_ids" => column::EQUALITY_IDS,
            "first_row_id" => column::FIRST_ROW_ID,
            "referenced_data_file" => column::REFERENCED,
            "content_offset" => column::CONTENT_OFFSET,
            "content_size_in_bytes" => column::CONTENT_SIZE,
            "value_counts" => column::VALUE_COUNTS,
            "null_value_counts" => column::NULL_COUNTS,
            "nan_value_counts" => column::NAN_COUNTS,
            "lower_bounds" => column::LOWER_BOUNDS,
            "upper_bounds" => column::UPPER_BOUNDS,
            other => return Err(mistyped(other)),
        };
        let known = values.is_empty() || values.null_count() < values.len();
        entries.put(number, known.then(|| values.clone()));
    }
    Ok(entries)
}

/// Rejects codes that the spec does not define, and invalid counts.
fn check_codes(entries: &ManifestEntries, content: ManifestContent) -> Result<()> {
    if let Some(unknown) = entries.status()?.values().iter().find(|status| !(0..=DELETED).contains(*status)) {
        return Err(Error::corrupt(format!("a manifest entry has the invalid status {unknown}")));
    }
    let allowed = match content {
        ManifestContent::Data => 0..=0,
        ManifestContent::Deletes => 1..=2,
    };
    let other = match entries.contents()? {
        Some(contents) => contents.iter().map(Option::unwrap_or_default).find(|code| !allowed.contains(code)),
        None => Some(0).filter(|code| !entries.is_empty() && !allowed.contains(code)),
    };
    if let Some(other) = other {
        return Err(Error::corrupt(format!("a manifest with content {content:?} lists a file with content {other}")));
    }
    for (name, counts) in [("record_count", entries.record_counts()?), ("file_size_in_bytes", entries.file_sizes()?)] {
        if let Some(negative) = counts.values().iter().find(|&&count| count < 0) {
            return Err(Error::corrupt(format!("{name} is negative: {negative}")));
        }
    }
    Ok(())
}

/// Returns whether a manifest has v1 entries, which have no sequence numbers. The version is in the Avro metadata; if a
/// writer omitted it, it is derived from the fields.
pub(crate) fn is_v1(manifest: &AvroFile) -> bool {
    manifest.metadata("format-version").map_or_else(
        || {
            let fields = manifest.schema().as_record().map(|entry| entry.fields.as_slice()).unwrap_or_default();
            fields.iter().all(|field| field.id != Some(SEQUENCE_NUMBER_ID))
        },
        |version| version == b"1",
    )
}

/// Returns the sequence numbers: added entries without one inherit the manifest's; v1 entries have 0.
pub(crate) fn inherited_sequence_numbers(
    status: &Int32Array,
    own: &Int64Array,
    manifest: &ManifestFile,
    written_by_v1: bool,
) -> Result<Int64Array> {
    let resolve = |(status, own): (&i32, Option<i64>)| match own {
        Some(own) => Ok(own),
        None if *status == ADDED => Ok(manifest.sequence_number),
        None if written_by_v1 || *status == DELETED => Ok(0),
        None => Err(Error::corrupt("an entry that is not ADDED has no sequence number")),
    };
    status.values().iter().zip(own).map(resolve).collect::<Result<Vec<_>>>().map(Into::into)
}

/// Returns the file sequence numbers: added entries without one inherit the manifest's. Other entries without one use
/// their data sequence number, because Java records neither in v1 files.
pub(crate) fn inherited_file_sequence_numbers(
    status: &Int32Array,
    own: &Int64Array,
    data: &Int64Array,
    manifest: &ManifestFile,
) -> Int64Array {
    let rows = own.iter().zip(status.values()).zip(data);
    rows.map(|((own, status), data)| own.or(if *status == ADDED { Some(manifest.sequence_number) } else { data }))
        .collect()
}

/// Returns the first row ids. Files without one get consecutive ids that start at the manifest's `first_row_id`; files
/// that have one do not advance the count.
pub(crate) fn inherited_first_row_ids(
    status: &Int32Array,
    own: Option<&Int64Array>,
    record_counts: &Int64Array,
    from_manifest: Option<i64>,
) -> Result<Option<Int64Array>> {
    let Some(mut next) = from_manifest else { return Ok(None) };
    let mut resolved = Vec::with_capacity(status.len());
    let files = status.values().iter().zip(record_counts.values());
    for (row, (&status, &count)) in files.enumerate() {
        let own = own.filter(|own| own.is_valid(row)).map(|own| own.value(row));
        if own.is_some() || status == DELETED {
            resolved.push(own);
        } else {
            resolved.push(Some(next));
            next = next.checked_add(count).ok_or_else(|| Error::corrupt("row ids overflow"))?;
        }
    }
    Ok(Some(resolved.into()))
}

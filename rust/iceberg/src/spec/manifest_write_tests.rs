use std::path::Path;

use frazil_core::avro::AvroFile;
use frazil_core::context::Context;

use super::super::manifest_list;
use super::super::manifest_rows::{read_entries, read_entries_to_copy, read_list};
use super::super::table_metadata::TableMetadata;
use super::*;

/// Returns the folders of the golden tables with their latest metadata.
fn tables() -> Vec<(std::path::PathBuf, TableMetadata)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/iceberg");
    let mut tables = Vec::new();
    for table in std::fs::read_dir(folder).unwrap() {
        let metadata = table.unwrap().path().join("metadata");
        let newest = std::fs::read_dir(&metadata).into_iter().flatten().filter_map(|file| {
            let bytes = std::fs::read(file.unwrap().path()).ok()?;
            TableMetadata::parse(&bytes).ok()
        });
        if let Some(newest) = newest.max_by_key(|metadata| (metadata.last_updated_ms, metadata.last_sequence_number)) {
            tables.push((metadata, newest));
        }
    }
    tables
}

/// Every manifest of the golden tables, when rewritten with all fields, reads the same, and its counts match those in
/// its manifest list.
#[test]
fn manifests_written_again_say_the_same() {
    let context = Context::default();
    let (mut seen, mut partitioned) = (0, 0);
    for (folder, table) in tables() {
        for snapshot in &table.snapshots {
            let Some(list) = &snapshot.manifest_list else { continue };
            let local = |location: &str| folder.join(location.rsplit('/').next().unwrap());
            let Ok(list) = std::fs::read(local(list)) else { continue };
            for listed in manifest_list::read(list.into(), &context).unwrap() {
                let Ok(bytes) = std::fs::read(local(&listed.manifest_path)) else { continue };
                let bytes = Bytes::from(bytes);
                let spec = table.spec(listed.partition_spec_id).unwrap();
                let partition = table.partition_type(spec);
                let original = read_entries(bytes.clone(), &partition, &context).unwrap();
                let manifest = AvroFile::open(bytes.clone()).unwrap();
                let copied = read_entries_to_copy(&manifest, &partition, &context).unwrap();
                let file = AvroFile::open(bytes).unwrap();
                let version = match file.metadata("format-version") {
                    Some(b"3") => 3,
                    Some(b"2") => 2,
                    _ => 1,
                };
                let schema = table.current_schema().unwrap();
                let header = ManifestHeader { version, content: listed.content, schema, spec, partition: &partition };
                let mut writer = ManifestWriter::new(&header, [9; 16]).unwrap();
                writer.write(&original.slice(0, original.num_rows() / 2)).unwrap();
                writer.write(&copied.slice(original.num_rows() / 2, original.num_rows().div_ceil(2))).unwrap();
                let (bytes, counts) = writer.finish().unwrap();
                let again = read_entries(bytes.clone(), &partition, &context).unwrap();
                if version == 1 {
                    assert_eq!(again.num_rows(), original.num_rows());
                } else {
                    assert!(again == original, "{}", listed.manifest_path);
                }
                let crate_rows = apache_avro::Reader::new(&bytes[..]).unwrap().map(Result::unwrap).count();
                assert_eq!(crate_rows, original.num_rows());
                check_counts(&listed, &counts);
                seen += 1;
                partitioned += usize::from(!partition.fields.is_empty());
            }
        }
    }
    assert!(seen > 100 && partitioned > 20, "{seen} {partitioned}");
}

fn check_counts(listed: &manifest_list::ManifestFile, counts: &ManifestCounts) {
    let path = &listed.manifest_path;
    let live = |of: [i64; 3]| of[0] + of[1];
    if let Some(files) = listed.live_files_count {
        assert_eq!(live(counts.files.map(i64::from)), files, "{path}");
    }
    if let Some(rows) = listed.live_rows_count {
        assert_eq!(live(counts.rows), rows, "{path}");
    }
    if let Some(summaries) = &listed.partitions {
        for (ours, theirs) in counts.partitions.iter().zip(summaries) {
            assert_eq!(ours.contains_null, theirs.contains_null, "{path}");
            if theirs.contains_nan.is_some() {
                assert_eq!(ours.contains_nan, theirs.contains_nan, "{path}");
            }
        }
    }
}

#[test]
fn lists_keep_everything_when_read_whole() {
    let context = Context::default();
    let mut seen = 0;
    for (folder, table) in tables() {
        for location in table.snapshots.iter().filter_map(|snapshot| snapshot.manifest_list.as_deref()) {
            let Ok(bytes) = std::fs::read(folder.join(location.rsplit('/').next().unwrap())) else { continue };
            let rows = read_list(bytes.clone().into(), &context).unwrap();
            let listed = manifest_list::read(bytes.into(), &context).unwrap();
            assert_eq!(rows.num_rows(), listed.len());
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn bounds_that_are_zero_take_in_both_zeros() {
    let mut summary = WrittenSummary::new(&Type::Primitive("double".parse().unwrap()));
    let values: ArrayRef = std::sync::Arc::new(arrow_array::Float64Array::from(vec![Some(0.0), None, Some(f64::NAN)]));
    summary.add(&values).unwrap();
    let summary = summary.finish();
    assert_eq!((summary.contains_null, summary.contains_nan), (true, Some(true)));
    assert_eq!(summary.lower_bound.as_deref(), Some(&(-0.0_f64).to_le_bytes()[..]));
    assert_eq!(summary.upper_bound.as_deref(), Some(&0.0_f64.to_le_bytes()[..]));
}

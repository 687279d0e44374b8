//! Tests manifest merging.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::Int32Array;
use frazil_core::storage::{Files, MemoryStorage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::manifests::MetadataWriter;
use super::merge::ManifestMerger;
use super::merge_plan::MergeSettings;
use super::*;
use crate::binary_row;
use crate::spec::entries_builder::{BucketOf, EntriesBuilder, NewFile};
use crate::spec::manifest::{ADD, DELETE, ManifestEntries, WantedFields, read};
use crate::spec::manifest_list::ManifestFileMeta;
use crate::spec::stats::SimpleStats;
use crate::spec::testing::{avro, entry, manifest_fields, new_file, with};
use crate::spec::types::DataType;

const ROOT: &str = "memory://warehouse/d.db/t";
const PARTITIONS: &str = "abcdn";

/// Java's merges of manifest lists; `tests/histories/paimon/manifest_merge.py` describes the format.
const OF_JAVA: &str = include_str!("../../testdata/manifest_merge.txt");

/// An entry: whether it adds a file, the number of the file, the partition.
type Entry = (bool, u32, char);

/// A table partitioned by numbers.
struct Fixture {
    table: Table,
    context: Context,
}

impl Fixture {
    fn new() -> Self {
        let storage = Arc::new(MemoryStorage::default());
        let schema = json!({
            "version": 3, "id": 0, "highestFieldId": 1, "partitionKeys": ["p"], "primaryKeys": [], "options": {},
            "fields": [{"id": 0, "name": "k", "type": "INT"}, {"id": 1, "name": "p", "type": "INT"}], "timeMillis": 1,
        });
        let files = Files::below(storage, ROOT).unwrap();
        files.put(&format!("{ROOT}/schema/schema-0"), schema.to_string().into()).unwrap();
        Self { table: Table::open(&files, ROOT, None).unwrap(), context: Context::default() }
    }

    fn writer(&self) -> MetadataWriter<'_> {
        let uncompressed = BTreeMap::from([("manifest.compression".to_string(), "null".to_string())]);
        MetadataWriter::try_new(&self.table, &Options::new(uncompressed)).unwrap()
    }

    fn merger(&self, (target_bytes, least_count, full_bytes): (i64, i64, i64)) -> ManifestMerger<'_> {
        ManifestMerger::new(&self.table, &self.context, MergeSettings { target_bytes, least_count, full_bytes })
    }

    fn read(&self, name: &str) -> ManifestEntries {
        let bytes = self.table.files().read(&self.table.manifest_location(name), u64::MAX).unwrap();
        read(bytes, WantedFields::ALL, &self.context).unwrap()
    }

    /// Stores a manifest in the form that a newer release would write.
    fn put_newer(&self, name: &str, entries: &[Entry]) -> ManifestFileMeta {
        let record = |(adds, number, place): &Entry| {
            let kind = if *adds { ADD } else { DELETE };
            let json = with(with(entry(&number.to_string()), "/_KIND", kind), "/_FILE/_LATER", 7);
            let bytes: Vec<Value> = partition(*place).iter().map(|byte| json!(byte)).collect();
            with(with(json, "/_PARTITION", bytes), "/_TOTAL_BUCKETS", -1)
        };
        let content = avro(&manifest_fields("_LATER"), &entries.iter().map(record).collect::<Vec<_>>());
        let listed = self.writer().manifests(&entries_of(entries)).unwrap().remove(0);
        self.table.files().put(&self.table.manifest_location(name), content).unwrap();
        ManifestFileMeta { file_name: name.to_string(), ..listed }
    }

    /// Returns the files that are live after these manifests.
    fn live(&self, manifests: &[ManifestFileMeta]) -> Vec<Entry> {
        let parts: Vec<_> = manifests.iter().map(|manifest| self.read(&manifest.file_name)).collect();
        let mut live = parse(&ManifestEntries::concat(&parts).unwrap().live().unwrap());
        live.sort_unstable();
        live
    }
}

fn partition(place: char) -> Vec<u8> {
    let value = PARTITIONS.find(place).and_then(|at| i32::try_from(at).ok()).filter(|_| place != 'n');
    let types = [DataType::nullable(crate::spec::types::TypeRoot::Int)];
    let rows = binary_row::encode(&[Arc::new(Int32Array::from(vec![value])) as _], &types).unwrap();
    binary_row::with_arity(&rows, 1).unwrap().value(0).to_vec()
}

/// A file whose statistics identify it.
fn file(number: u32) -> NewFile {
    let stats = SimpleStats { min: number.to_be_bytes().to_vec(), max: vec![1, 2], null_counts: Some(vec![None]) };
    NewFile { value_stats: stats, ..new_file(&number.to_string(), 10) }
}

fn entries_of(entries: &[Entry]) -> ManifestEntries {
    let one = |(adds, number, place): &Entry| {
        let mut builder = EntriesBuilder::default();
        builder.push(BucketOf { partition: &partition(*place), bucket: 0, total_buckets: -1 }, file(*number));
        builder.finish().unwrap().with_kind(if *adds { ADD } else { DELETE }).unwrap()
    };
    ManifestEntries::concat(&entries.iter().map(one).collect::<Vec<_>>()).unwrap()
}

fn parse(entries: &ManifestEntries) -> Vec<Entry> {
    let place = |row| PARTITIONS.chars().find(|place| partition(*place) == entries.partitions().value(row)).unwrap();
    let entry = |row| (entries.kinds().value(row) == ADD, entries.file_names().value(row).parse().unwrap(), place(row));
    (0..entries.len()).map(entry).collect()
}

/// Parses entries such as `+1a-2b`.
fn parse_text(text: &str) -> Vec<Entry> {
    let ends = text.match_indices(|letter: char| letter.is_ascii_lowercase()).map(|(at, _)| at + 1);
    let mut start = 0;
    let mut next = |end: usize| {
        let entry = &text[start..end];
        start = end;
        (entry.starts_with('+'), entry[1..entry.len() - 1].parse().unwrap(), entry.chars().last().unwrap())
    };
    ends.map(&mut next).collect()
}

#[test]
fn manifests_are_merged_as_java_merges_them() {
    let fixture = Fixture::new();
    let mut merged = 0;
    for line in OF_JAVA.lines() {
        let (options, lists) = line.split_once(" | ").unwrap();
        let (before, after) = lists.split_once(" > ").unwrap_or((lists.trim_end_matches(" >"), ""));
        let options: Vec<i64> = options.split(' ').map(|number| number.parse().unwrap()).collect();
        let mut writer = fixture.writer();
        let manifests: Vec<_> = before.split(' ').map(|manifest| manifest.split_once(':').unwrap()).collect();
        let manifests = manifests.iter().map(|(size, entries)| ManifestFileMeta {
            file_size: size.parse().unwrap(),
            ..writer.manifests(&entries_of(&parse_text(entries))).unwrap().remove(0)
        });
        let manifests: Vec<_> = manifests.collect();
        let mut merger = fixture.merger((options[0], options[1], options[2]));
        let found = merger.merge(manifests.clone(), &mut writer).unwrap();
        let expected: Vec<_> = after.split(' ').filter(|part| !part.is_empty()).collect();
        assert_eq!(found.len(), expected.len(), "{line}\n{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            match expected.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
                Some(text) => assert_eq!(parse(&fixture.read(&found.file_name)), parse_text(text), "{line}"),
                None => assert_eq!(found, &manifests[expected.parse::<usize>().unwrap()], "{line}"),
            }
            merged += usize::from(expected.starts_with('['));
        }
    }
    assert!(OF_JAVA.lines().count() == 1000 && merged > 300, "{merged}");
}

#[test]
fn files_keep_their_statistics() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer();
    let parts = ["+1a+2b", "+3n", "-1a", "-9c", "+4a"].map(|text| entries_of(&parse_text(text)));
    let manifests = parts.iter().map(|entries| writer.manifests(entries).unwrap().remove(0)).collect();
    let merged = fixture.merger((1 << 20, 5, 1 << 30)).merge(manifests, &mut writer).unwrap();
    let [merged] = merged.as_slice() else { panic!("{merged:?}") };
    assert_eq!((merged.num_added_files, merged.num_deleted_files), (3, 1));
    let expected = entries_of(&parse_text("+2b+3n-9c+4a"));
    assert_eq!(fixture.read(&merged.file_name).batch(), expected.batch());
    assert_eq!(merged.partition_stats.null_counts, Some(vec![Some(1)]));
}

#[test]
fn manifests_with_unknown_columns_stay() {
    let fixture = Fixture::new();
    for (full, expected) in [
        (1 << 30, &["+2b+3a", "newer", "-2b+5c-4d+6a"][..]),
        // Long enough for a full merge. Entries that remove files of the newer manifest are kept.
        (1, &["+3a+5c+6a", "newer", "-4d"][..]),
    ] {
        let mut writer = fixture.writer();
        let mut write = |text: &str| writer.manifests(&entries_of(&parse_text(text))).unwrap().remove(0);
        let manifests = vec![
            write("+1a+2b"),
            write("-1a+3a"),
            fixture.put_newer("newer", &parse_text("+4d")),
            write("-2b+5c"),
            write("-4d+6a"),
        ];
        let before = fixture.live(&manifests);
        let merged = fixture.merger((1 << 20, 2, full)).merge(manifests, &mut writer).unwrap();
        assert_eq!(fixture.live(&merged), before);
        let found = merged.iter().map(|manifest| match manifest.file_name.as_str() {
            "newer" => "newer".to_string(),
            name => {
                let entry = |(adds, number, place): &Entry| format!("{}{number}{place}", if *adds { '+' } else { '-' });
                parse(&fixture.read(name)).iter().map(entry).collect::<Vec<_>>().concat()
            }
        });
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn merged_manifests_are_reused_by_the_next_attempt() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer();
    let mut merger = fixture.merger((1 << 20, 2, 1 << 30));
    let exists = |manifest: &ManifestFileMeta| {
        fixture.table.files().read(&fixture.table.manifest_location(&manifest.file_name), u64::MAX).is_ok()
    };
    let mut manifests = Vec::new();
    for text in ["+1a", "+2a", "+3a"] {
        manifests.extend(writer.manifests(&entries_of(&parse_text(text))).unwrap());
    }
    let first = merger.merge(manifests[..2].to_vec(), &mut writer).unwrap();
    let second = merger.merge(manifests.clone(), &mut writer).unwrap();
    assert_eq!(second, [first[0].clone(), manifests[2].clone()]);
    // Another writer has merged the first manifests.
    let third = merger.merge(manifests[1..].to_vec(), &mut writer).unwrap();
    assert_eq!(fixture.live(&third), fixture.live(&manifests[1..]));
    assert!(!exists(&first[0]) && exists(&third[0]) && manifests.iter().all(exists));
    writer.delete_all();
    assert!(!exists(&third[0]));
}

#[test]
fn contradictory_manifests_are_not_merged() {
    let fixture = Fixture::new();
    for texts in [["+1a", "+1a"], ["-1a", "-1a"], ["-1a", "+1a"]] {
        let mut writer = fixture.writer();
        let parts = texts.map(|text| entries_of(&parse_text(text)));
        let manifests = parts.iter().map(|entries| writer.manifests(entries).unwrap().remove(0)).collect();
        let error = fixture.merger((1 << 20, 2, 1 << 30)).merge(manifests, &mut writer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptManifest);
    }
}

/// Generates manifests that add files and delete previously added files, each marked whether a newer release wrote it.
fn random_manifests() -> impl Strategy<Value = Vec<(Vec<Entry>, bool)>> {
    let manifest =
        (proptest::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 0..5_usize), 1..6), 0..5_u8);
    proptest::collection::vec(manifest, 1..12).prop_map(|manifests| {
        let (mut live, mut number) = (Vec::new(), 0);
        let mut result = Vec::new();
        for (steps, newer) in manifests {
            let (mut entries, mut added) = (Vec::new(), Vec::new());
            for (deletes, which, place) in steps {
                if deletes && !live.is_empty() {
                    let (_, number, place) = live.swap_remove(which.index(live.len()));
                    entries.push((false, number, place));
                } else {
                    number += 1;
                    added.push((true, number, PARTITIONS.chars().nth(place).unwrap()));
                }
            }
            live.extend(added.iter().copied());
            entries.extend(added);
            result.push((entries, newer == 0));
        }
        result
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_files_are_live_after_a_merge(
        manifests in random_manifests(),
        target in 1000..6000_i64,
        least in 0..6_i64,
        full in 1..30_000_i64,
    ) {
        let fixture = Fixture::new();
        let mut writer = fixture.writer();
        let mut before = Vec::new();
        for (at, (entries, is_newer)) in manifests.iter().enumerate() {
            before.push(if *is_newer {
                fixture.put_newer(&format!("newer-{at}"), entries)
            } else {
                writer.manifests(&entries_of(entries)).unwrap().remove(0)
            });
        }
        let newer = |manifests: &[ManifestFileMeta]| {
            let newer = manifests.iter().filter(|manifest| manifest.file_name.starts_with("newer"));
            newer.map(|manifest| (manifest.file_name.clone(), manifest.clone())).collect::<BTreeMap<_, _>>()
        };
        let after = fixture.merger((target, least, full)).merge(before.clone(), &mut writer).unwrap();
        prop_assert_eq!(fixture.live(&after), fixture.live(&before));
        prop_assert_eq!(newer(&after), newer(&before));
    }
}

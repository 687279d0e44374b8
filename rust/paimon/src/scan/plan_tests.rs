use arrow_array::Array;
use frazil_core::error::ErrorKind;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rstest::rstest;
use serde_json::json;

use crate::scan::stream::batches;
use crate::scan::testing::{Definition, File, Memory, names};

fn primary_key(options: &[(&'static str, &'static str)]) -> Memory {
    let options = [&[("bucket", "2")], options].concat();
    Memory::new(Definition { primary_key: true, partitioned: false, options })
}

fn append(partitioned: bool, options: &[(&'static str, &'static str)]) -> Memory {
    Memory::new(Definition { primary_key: false, partitioned, options: options.to_vec() })
}

fn file(name: &'static str, level: i32, keys: (i32, i32), values: (i32, i32)) -> File {
    File { name, level, keys, values: Some(values), ..File::default() }
}

/// Creates a table with two overlapping files and a separate file.
fn overlapping(options: &[(&'static str, &'static str)]) -> Memory {
    let table = primary_key(options);
    let files =
        vec![file("old", 5, (0, 9), (0, 9)), file("new", 0, (5, 15), (20, 29)), file("far", 5, (50, 59), (0, 9))];
    table.snapshot("", 1, "APPEND", &[files]);
    table
}

#[test]
fn values_leave_out_no_file_that_hides_older_rows() {
    let table = overlapping(&[]);
    assert_eq!(table.files("v = 5"), ["far", "new", "old"]);
    assert_eq!(table.files("v = 25"), ["new", "old"], "the section beside them has no such row");
    assert!(table.files("v = 15").is_empty(), "no version of any row matches");
    assert_eq!(table.files("k < 5"), ["old"], "keys leave out any file");
    assert_eq!(table.files("k < 5 AND v = 25"), Vec::<String>::new());
    assert_eq!(table.files("k = 7 OR v = 25"), ["new", "old"]);
}

#[test]
fn rows_made_of_several_are_not_left_out_by_values() {
    let table = overlapping(&[("merge-engine", "partial-update")]);
    assert_eq!(table.files("v = 15"), ["new", "old"], "one file alone is not merged");
    assert_eq!(table.files("v = 25"), ["new", "old"]);
}

#[test]
fn level_0_waits_where_rows_are_looked_up() {
    for option in [("deletion-vectors.enabled", "true"), ("merge-engine", "first-row")] {
        let table = overlapping(&[option]);
        assert_eq!(table.files(""), ["far", "old"], "{option:?}");
        assert_eq!(table.files("v = 5"), ["far", "old"], "{option:?}");
        assert!(table.files("v = 25").is_empty(), "{option:?}");
    }
    let table = overlapping(&[("deletion-vectors.enabled", "true"), ("deletion-vectors.merge-on-read", "true")]);
    assert_eq!(table.files(""), ["far", "new", "old"]);
}

#[test]
fn a_bucket_on_one_level_is_raw() {
    let table = primary_key(&[]);
    let files = vec![file("a", 5, (0, 9), (0, 9)), file("b", 5, (10, 19), (10, 19)), file("c", 5, (20, 29), (0, 99))];
    table.snapshot("", 1, "APPEND", &[files]);
    let plan = table.scan("", &[], None).unwrap().rows;
    let split = plan.split(0).unwrap();
    assert!(split.raw_convertible && plan.len() == 1);
    assert_eq!(split.bucket_path, "bucket-0");
    assert_eq!(plan.count().unwrap(), (30, vec![]));
    assert_eq!(table.files("v = 15"), ["b", "c"]);
}

#[test]
fn sections_of_a_split_are_found_again() {
    let plan = overlapping(&[]).scan("", &[], None).unwrap().rows;
    let split = plan.split(0).unwrap();
    assert!(!split.raw_convertible);
    let sections = split.sections(&plan.read().key_types()).unwrap();
    assert_eq!(sections.iter().map(|section| section.runs.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(plan.count().unwrap(), (0, vec![0]));
}

#[test]
fn a_file_that_moves_to_another_level_stays() {
    let table = primary_key(&[]);
    let moved = File { level: 5, ..file("a", 0, (0, 9), (0, 9)) };
    let gone = File { added: false, ..file("a", 0, (0, 9), (0, 9)) };
    table.snapshot("", 1, "COMPACT", &[vec![file("a", 0, (0, 9), (0, 9))], vec![gone.clone(), moved]]);
    assert_eq!(table.files(""), ["a"]);
    assert!(table.scan("", &[], None).unwrap().rows.split(0).unwrap().raw_convertible);
    let broken = primary_key(&[]);
    broken.snapshot("", 1, "COMPACT", &[vec![gone]]);
    assert_eq!(broken.scan("", &[], None).unwrap_err().kind(), ErrorKind::CorruptManifest);
}

#[test]
fn files_that_wait_for_a_bucket_are_not_read() {
    let table = primary_key(&[]);
    let waiting = File { bucket: -2, ..file("w", 0, (0, 9), (0, 9)) };
    table.snapshot("", 1, "APPEND", &[vec![waiting, File { bucket: 1, ..file("a", 0, (0, 9), (0, 9)) }]]);
    assert_eq!(table.files(""), ["a"]);
}

#[test]
fn a_key_is_in_one_bucket() {
    let table = primary_key(&[]);
    let files = [0, 1].map(|bucket| File { bucket, ..file("a", 0, (0, 9), (0, 9)) });
    table.snapshot("", 1, "APPEND", &[files.to_vec()]);
    let plan = table.scan("k = 5", &[], None).unwrap().rows;
    assert_eq!((plan.len(), plan.metrics().files_skipped_by_bucket), (1, 1));
    assert_eq!(table.scan("k > 5", &[], None).unwrap().rows.len(), 2);
}

#[test]
fn partitions_leave_out_manifests_entries_and_rows_to_count() {
    let table = append(true, &[]);
    let part = |name, partition| File { name, partition, ..File::default() };
    let manifests = [vec![part("a", Some(1)), part("b", Some(2))], vec![part("c", Some(7))], vec![part("n", None)]];
    table.snapshot("", 1, "APPEND", &manifests);
    let plan = table.scan("p = 1", &[], None).unwrap().rows;
    // The partitions of the last manifest include NULL, but may include other values too.
    assert_eq!((plan.metrics().manifests, plan.metrics().manifests_skipped), (3, 1));
    assert_eq!(plan.metrics().entries_skipped_by_partition, 2);
    assert_eq!(plan.count().unwrap(), (10, vec![]));
    let split = plan.split(0).unwrap();
    assert_eq!(split.bucket_path, "p=1/bucket-0");
    assert_eq!(table.files("p IS NULL"), ["n"]);
    assert_eq!(table.files("p = 1 OR v = 5"), ["a", "b", "c", "n"]);
    assert_eq!(table.files("p = 1 OR v = 50"), ["a"], "partition and bounds together");
    let plan = table.scan("p > 1 AND v >= 0", &[], None).unwrap().rows;
    assert_eq!(plan.count().unwrap(), (0, vec![0, 1]), "bounds do not count rows");
    let batch = batches(&plan).next().unwrap().unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (2, 10));
}

#[test]
fn a_limit_stops_at_splits_of_known_rows() {
    let table = append(true, &[]);
    let files = (1..=4).map(|partition| File { partition: Some(partition), ..File::default() });
    table.snapshot("", 1, "APPEND", &[files.collect()]);
    let splits = |filter, limit| table.scan(filter, &[], Some(limit)).unwrap().rows.len();
    assert_eq!(splits("", 15), 2);
    assert_eq!(splits("", 400), 4);
    assert_eq!(splits("v = 5", 1), 4, "how many rows match is not known");
    assert_eq!(splits("", 0), 0);
}

#[test]
fn unknown_values_leave_out_nothing() {
    let table = append(false, &[]);
    let without = File { name: "without", values: None, ..File::default() };
    let nulls = File { name: "nulls", v_nulls: 10, values: Some((0, 9)), ..File::default() };
    let nan = File { name: "nan", d: (0.0, f64::NAN), values: Some((50, 59)), ..File::default() };
    table.snapshot("", 1, "APPEND", &[vec![without, nulls, nan]]);
    assert_eq!(table.files("v = 99"), ["without"]);
    assert_eq!(table.files("v = 5"), ["without"], "all values are NULL");
    assert_eq!(table.files("v IS NULL"), ["nulls", "without"]);
    assert_eq!(table.files("d > 5.0"), ["nan", "nulls", "without"], "any file may hold NaN");
    assert_eq!(table.files("d = 5.0"), ["nan", "without"]);
    assert_eq!(table.files("d < 0.0"), ["without"]);
}

#[test]
fn files_that_may_hold_nan_are_left_out_by_tests_that_nan_fails() {
    let table = append(false, &[]);
    let file = |name, d| File { name, d, ..File::default() };
    table.snapshot("", 1, "APPEND", &[vec![file("low", (0.0, 1.0)), file("high", (10.0, 20.0))]]);
    assert_eq!(table.files("d > 5.0"), ["high", "low"], "any file may hold NaN");
    assert_eq!(table.files("d > 5.0 AND d < 50.0"), ["high"]);
    assert_eq!(table.files("d > 0.5 AND d < 5.0"), ["low"]);
    assert_eq!(table.files("d > 5.0 AND v >= 0"), ["high", "low"]);
    assert_eq!(table.files("d > 5.0 AND d < 50.0 OR v > 99"), ["high"]);
    assert_eq!(table.files("d IN (15.0, 99.0)"), ["high"]);
    assert_eq!(table.files("d IS NOT NULL"), ["high", "low"]);
    assert!(table.files("d > 50.0 AND d <> nan").is_empty());
}

#[test]
fn columns_are_found_by_id_in_the_schema_of_the_file() {
    let table = append(false, &[]);
    let column = |id: i32, name: &str, text: &str| json!({ "id": id, "name": name, "type": text });
    table.snapshot("", 1, "APPEND", &[vec![File::default()]]);
    let fields = |v: &str| {
        json!([
            column(5, "v", "INT"),
            column(2, "renamed", v),
            column(0, "p", "STRING"),
            column(1, "k", "INT NOT NULL")
        ])
    };
    table.schema("", 1, &fields("BIGINT"));
    assert_eq!(table.files("renamed = 50"), Vec::<String>::new());
    assert_eq!(table.files("renamed = 5"), ["f"]);
    assert_eq!(table.files("v IS NOT NULL"), Vec::<String>::new(), "another column of an old name");
    assert_eq!(table.files("v IS NULL"), ["f"]);
    assert_eq!(table.files("p = '99'"), ["f"], "text is not in the order of numbers");
    table.schema("", 1, &fields("SMALLINT"));
    assert_eq!(table.files("renamed = 50"), Vec::<String>::new(), "both bounds fit a narrower type");
    table.snapshot("", 2, "APPEND", &[vec![File { values: Some((0, 40_000)), ..File::default() }]]);
    assert_eq!(table.files("renamed = -25537"), ["f"], "a narrower type changes values");
}

#[test]
fn files_of_the_same_rows_match_together() {
    let table = append(false, &[("data-evolution.enabled", "true"), ("row-tracking.enabled", "true")]);
    let part = |name, sequence, first, values, columns: &[&'static str]| File {
        name,
        sequence,
        first_row_id: Some(first),
        values: Some(values),
        write_cols: (!columns.is_empty()).then(|| columns.to_vec()),
        ..File::default()
    };
    let files = vec![part("a", 1, 0, (0, 9), &[]), part("a-v", 2, 0, (50, 59), &["v"]), part("b", 1, 10, (0, 9), &[])];
    table.snapshot("", 1, "APPEND", &[files]);
    assert_eq!(table.splits(""), [["a-v", "a", "b"]]);
    assert_eq!(table.files("v = 5"), ["b"], "newer values are in the other file");
    assert_eq!(table.files("v = 55"), ["a", "a-v"]);
    assert_eq!(table.files("k = 5"), ["a", "a-v", "b"]);
    assert_eq!(table.files("k = 50"), Vec::<String>::new());
    let columns = &["_ROW_ID", "v", "_SEQUENCE_NUMBER"];
    table.snapshot("", 2, "APPEND", &[vec![part("a", 1, 0, (0, 9), &[]), part("a-v", 2, 0, (50, 59), columns)]]);
    assert_eq!((table.files("v = 5").len(), table.files("v = 55").len()), (0, 2), "columns that Paimon adds");
}

#[test]
fn statistics_of_files_of_the_same_rows_are_those_of_the_newest_that_has_all_of_them() {
    let part = |name, sequence, (first, rows), values, columns: &[&'static str]| File {
        name,
        sequence,
        rows,
        first_row_id: Some(first),
        values: Some(values),
        write_cols: (!columns.is_empty()).then(|| columns.to_vec()),
        ..File::default()
    };
    // Returns how many files may have v = 5 and v = 55.
    let groups = |files: &[File]| {
        let table = append(false, &[("data-evolution.enabled", "true"), ("row-tracking.enabled", "true")]);
        table.snapshot("", 1, "APPEND", &[files.to_vec()]);
        (table.files("v = 5").len(), table.files("v = 55").len())
    };
    let whole = part("a", 1, (0, 10), (0, 9), &[]);
    let half = |name, first, columns: &[&'static str]| part(name, 2, (first, 5), (50, 59), columns);
    let blobs = [whole.clone(), half("x", 0, &["d"]), half("y", 5, &["d"])];
    assert_eq!(groups(&blobs), (3, 0), "parts without the column do not matter");
    let parts = [whole.clone(), half("x", 0, &["v"])];
    assert_eq!(groups(&parts), (2, 2), "some rows have the values of one file, some of the other");
    let twins = [whole, part("b", 1, (0, 10), (50, 59), &["v"])];
    assert_eq!(groups(&twins), (2, 2), "which of them is newer is not known");
    let absent = [part("c", 1, (0, 10), (0, 9), &["k"]), part("e", 2, (0, 10), (0, 9), &["d"])];
    assert_eq!(groups(&absent), (0, 0), "a column that no file has is NULL");
}

#[test]
fn only_files_made_since_a_time_are_read() {
    let table = primary_key(&[]);
    let made = |name, creation_time_ms| File { creation_time_ms, ..file(name, 0, (0, 9), (0, 9)) };
    let gone = File { added: false, ..made("moved", None) };
    let files = vec![made("old", Some(999)), made("new", Some(1000)), made("unknown", None), made("moved", Some(2000))];
    table.snapshot("", 1, "APPEND", &[files, vec![gone]]);
    let options = [("scan.mode", "from-file-creation-time"), ("scan.file-creation-time-millis", "1000")];
    let plan = table.scan("", &options, None).unwrap();
    assert_eq!(names(&plan), [["new", "unknown"]]);
    assert_eq!((plan.rows.metrics().files, plan.rows.metrics().files_planned), (2, 2));
    assert_eq!(table.files(""), ["new", "old", "unknown"]);
}

#[test]
fn manifests_of_levels_and_buckets_that_are_not_read_are_left_out() {
    let level_0 = vec![file("a", 0, (0, 9), (0, 9))];
    let waiting = vec![File { bucket: -2, ..file("w", 0, (0, 9), (0, 9)) }];
    let compacted = vec![file("c", 5, (0, 9), (0, 9))];
    let skipped = |options: &[(&'static str, &'static str)]| {
        let table = primary_key(options);
        table.snapshot("", 1, "APPEND", &[level_0.clone(), waiting.clone(), compacted.clone()]);
        (table.scan("", &[], None).unwrap().rows.metrics().manifests_skipped, table.files(""))
    };
    assert_eq!(skipped(&[]), (1, vec!["a".to_string(), "c".to_string()]));
    assert_eq!(skipped(&[("deletion-vectors.enabled", "true")]), (2, vec!["c".to_string()]));
}

#[test]
fn metrics_account_for_every_file() {
    let plan = overlapping(&[]).scan("v = 25", &[], None).unwrap().rows;
    let metrics = plan.metrics();
    assert_eq!((metrics.files, metrics.files_planned, metrics.files_skipped_by_stats), (3, 2, 1));
    assert_eq!((metrics.splits_raw, metrics.splits_merged, metrics.levels), (0, 1, Some((0, 5))));
    let table = append(true, &[]);
    let files = (1..=4).map(|partition| File { partition: Some(partition), ..File::default() });
    table.snapshot("", 1, "APPEND", &[files.collect()]);
    let metrics = table.scan("", &[], Some(15)).unwrap().rows.metrics();
    assert_eq!((metrics.files_planned, metrics.files_skipped_by_limit, metrics.splits_raw), (2, 2, 2));
}

#[test]
fn a_plan_holds_no_more_than_its_files() {
    let table = append(true, &[]);
    let files = (0..400).map(|partition| File { partition: Some(partition), ..File::default() });
    table.snapshot("", 1, "APPEND", &[files.collect()]);
    let plan = table.scan("v = 5 AND (p = 7 OR p = 9 OR v = 99)", &[], None).unwrap().rows;
    assert_eq!((plan.entries.len(), plan.len(), plan.metrics().files), (2, 2, 400));
    assert!(plan.entries.value_stats().min.is_null(0), "statistics have done their work");
    assert_eq!(plan.split(1).unwrap().bucket_path, "p=9/bucket-0");
    assert_eq!(plan.count().unwrap(), (0, vec![0, 1]));
}

/// Creates a table with a file of an older schema, in which `v` is an INT from `low` to `high`. `v` now has the type
/// `to`.
fn retyped(to: &str, low: i32, high: i32) -> Memory {
    let table = append(false, &[]);
    let column = |id: i32, name: &str, text: &str| json!({ "id": id, "name": name, "type": text });
    table.snapshot("", 1, "APPEND", &[vec![File { values: Some((low, high)), ..File::default() }]]);
    table.schema("", 1, &json!([column(1, "k", "INT NOT NULL"), column(2, "v", to)]));
    table
}

#[rstest]
#[case("STRING", "v = '300'", false)]
#[case("STRING", "v = '5'", true)]
#[case("STRING", "v = '300' OR v = '-1'", false)]
#[case("STRING", "v IN ('300', '1000')", false)]
#[case("STRING", "v IN ('300', '7')", true)]
#[case("STRING", "v IN ('300', 'x')", false)]
#[case("STRING", "v IN ('x', '05')", false)]
#[case("STRING", "v > '300'", true)]
#[case("STRING", "v > '90'", false)]
#[case("STRING", "v < '0'", false)]
#[case("STRING", "v < '00'", true)]
#[case("STRING", "v <> '300'", true)]
#[case("STRING", "v LIKE '-%'", false)]
#[case("STRING", "v IS NULL", false)]
#[case("STRING", "v = '05'", false)]
#[case("VARCHAR(20)", "v = '300'", false)]
#[case("VARCHAR(2)", "v = '30'", true)]
#[case("VARCHAR(2)", "v = '91'", false)]
#[case("CHAR(20)", "v = '300'", true)]
#[case("DOUBLE", "v = 300", false)]
#[case("DOUBLE", "v < 0", false)]
#[case("DOUBLE", "v > 300", true)]
#[case("FLOAT", "v = 300", false)]
#[case("FLOAT", "v = 9", true)]
#[case("DECIMAL(12, 2)", "v > 9.5", false)]
#[case("DECIMAL(12, 2)", "v > 8.5", true)]
#[case("DECIMAL(5, 2)", "v = 300", false)]
#[case("DECIMAL(2, 2)", "v IS NULL", true)]
#[case("DECIMAL(3, 2)", "v IS NULL", false)]
#[case("SMALLINT", "v = 300", false)]
#[case("TIMESTAMP(6)", "v = timestamp '2020-01-01 00:00:00'", true)]
fn bounds_of_an_older_type_prune_values_that_no_cast_yields(
    #[case] to: &str,
    #[case] filter: &str,
    #[case] kept: bool,
) {
    assert_eq!(retyped(to, 0, 9).files(filter).len(), usize::from(kept));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_file_of_an_older_type_with_a_matching_row_stays(
        values in vec(prop_oneof![-20..2000_i32, any::<i32>()], 1..5),
        other in prop_oneof![-20..2000_i32, any::<i32>()],
        own in any::<bool>(),
        to in select(vec!["STRING", "VARCHAR(20)", "VARCHAR(2)", "DOUBLE", "BIGINT", "DECIMAL(12, 2)"]),
        op in select(vec!["=", "<>", "<", ">", "IN"]),
    ) {
        let literal = if own { values[0] } else { other };
        let cut = |value: i32| value.to_string().chars().take(if to == "VARCHAR(2)" { 2 } else { 20 }).collect::<String>();
        let (is_text, text) = (to == "STRING" || to.starts_with("VARCHAR"), cut(literal));
        let order = |value: i32| if is_text { cut(value).cmp(&text) } else { value.cmp(&literal) };
        let matches = |value: &i32| match op {
            "<>" => order(*value).is_ne(),
            "<" => order(*value).is_lt(),
            ">" => order(*value).is_gt(),
            _ => order(*value).is_eq(),
        };
        let quoted = if is_text { format!("'{text}'") } else { format!("{literal}") };
        let quoted = if op == "IN" { format!("({quoted}, {quoted})") } else { quoted };
        let table = retyped(to, *values.iter().min().unwrap(), *values.iter().max().unwrap());
        let kept = !table.files(&format!("v {op} {quoted}")).is_empty();
        prop_assert!(kept || !values.iter().any(matches), "{to}: v {op} {quoted} of {values:?}");
    }
}

/// Creates a table with four commits; the second one compacts, the third one overwrites.
fn history(options: &[(&'static str, &'static str)]) -> Memory {
    let table = primary_key(options);
    let change = |name| vec![vec![file(name, 0, (0, 9), (0, 9))]];
    for (id, kind, name) in [(1, "APPEND", "a"), (2, "COMPACT", "b"), (3, "OVERWRITE", "c"), (4, "APPEND", "d")] {
        let log = ["log-1", "log-2", "log-3", "log-4"][id - 1];
        table.snapshot_with("", i64::try_from(id).unwrap(), kind, &change(name), &change(log));
    }
    table
}

fn changes(table: &Memory, between: &str, mode: &str) -> Vec<String> {
    let options = [("incremental-between", between), ("incremental-between-scan-mode", mode)];
    let plan = table.scan("", &options, None).unwrap();
    assert!((0..plan.rows.len()).all(|split| plan.rows.split(split).unwrap().streaming));
    names(&plan).concat()
}

#[test]
fn changes_are_files_of_commits() {
    let table = history(&[]);
    assert_eq!(changes(&table, "0,4", "delta"), ["a", "d"]);
    assert_eq!(changes(&table, "1,3", "delta"), Vec::<String>::new());
    assert_eq!(changes(&table, "0,4", "changelog"), ["log-1", "log-2", "log-4"]);
    assert_eq!(changes(&table, "0,4", "auto"), ["a", "d"]);
    assert_eq!(changes(&history(&[("changelog-producer", "input")]), "0,4", "auto"), ["log-1", "log-2", "log-4"]);
    assert_eq!(changes(&table, "2,2", "delta"), Vec::<String>::new());
}

#[test]
fn a_difference_leaves_out_buckets_that_have_not_changed() {
    let table = primary_key(&[]);
    table.snapshot("", 1, "APPEND", &[[0, 1].map(|bucket| File { bucket, ..file("a", 5, (0, 9), (0, 9)) }).to_vec()]);
    let both: Vec<File> = [0, 1].map(|bucket| File { bucket, ..file("a", 5, (0, 9), (0, 9)) }).to_vec();
    table.snapshot("", 2, "APPEND", &[both, vec![file("b", 0, (0, 9), (0, 9))]]);
    let options = [("incremental-between", "1,2"), ("incremental-between-scan-mode", "diff")];
    let plan = table.scan("", &options, None).unwrap();
    assert_eq!(names(&plan).concat().len(), 2);
    assert_eq!(plan.rows.metrics().files_unchanged, 1);
    let before = plan.before.unwrap();
    assert_eq!((before.len(), before.split(0).unwrap().bucket), (1, 0));
}

#[test]
fn options_of_incremental_reads_are_checked() {
    let table = history(&[]);
    let kind = |options: &[(&str, &str)]| table.scan("", options, None).unwrap_err().kind();
    for options in [
        &[("incremental-between", "1")][..],
        &[("incremental-between", "a,b")],
        &[("incremental-between", "3,1")],
        &[("incremental-between", "1,2"), ("incremental-between-scan-mode", "all")],
        &[("incremental-between", "1,2"), ("incremental-between-timestamp", "1,2")],
        &[("incremental-between", "1,2"), ("scan.snapshot-id", "1")],
        &[("incremental-between-timestamp", "9,1")],
    ] {
        assert_eq!(kind(options), ErrorKind::InvalidArgument, "{options:?}");
    }
    assert_eq!(kind(&[("incremental-between", "1,9")]), ErrorKind::NoSuchSnapshot);
    assert_eq!(kind(&[("incremental-between", "1,9000000000000")]), ErrorKind::NoSuchSnapshot);
}

#[test]
fn timestamps_select_the_latest_snapshot_at_that_time() {
    let table = history(&[]);
    let files = |times: &str| {
        let options = [("incremental-between-timestamp", times), ("incremental-between-scan-mode", "changelog")];
        names(&table.scan("", &options, None).unwrap()).concat()
    };
    assert_eq!(files("0,99999"), ["log-1", "log-2", "log-4"]);
    assert_eq!(files("1000,2000"), ["log-2"]);
    assert_eq!(files("1999,2999"), ["log-2"]);
    assert!(files("5000,6000").is_empty());
}

#[test]
fn missing_partitions_are_read_from_the_fallback_branch() {
    let table = append(true, &[("scan.fallback-branch", "b")]);
    let part = |name, partition| File { name, partition: Some(partition), ..File::default() };
    table.snapshot("", 1, "APPEND", &[vec![part("m1", 1), part("m2", 2)]]);
    let column = |id: i32, name: &str, text: &str| json!({ "id": id, "name": name, "type": text });
    let branch = "branch/branch-b/";
    table.schema(
        branch,
        0,
        &json!([
            column(0, "p", "INT"),
            column(1, "k", "INT NOT NULL"),
            column(2, "v", "INT"),
            column(3, "d", "DOUBLE")
        ]),
    );
    table.snapshot(branch, 1, "APPEND", &[vec![part("b2", 2), part("b3", 3)]]);
    assert_eq!(table.files(""), ["b3", "m1", "m2"]);
    assert_eq!(table.files("p = 2"), ["m2"]);
    assert_eq!(table.files("p = 3"), ["b3"]);
    assert!(table.files("p = 2 AND v = 99").is_empty(), "a partition is there even if none of its rows matches");
    let plan = table.scan("", &[], None).unwrap().rows;
    let metrics = plan.metrics();
    assert_eq!((metrics.manifests, metrics.files, metrics.files_planned, metrics.splits_raw), (2, 3, 3, 3));
    assert_eq!(metrics.entries_skipped_by_partition, 1, "a partition that the main branch has");
    assert_eq!(plan.count().unwrap(), (30, vec![]));
    assert_eq!(batches(&plan).map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3);
    assert!(plan.split(3).is_err());
}

#[test]
fn a_table_without_snapshots_has_no_splits() {
    let plan = append(false, &[]).scan("v = 5", &[], None).unwrap().rows;
    assert!(plan.is_empty());
    assert_eq!(plan.count().unwrap(), (0, vec![]));
    assert_eq!(batches(&plan).count(), 0);
}

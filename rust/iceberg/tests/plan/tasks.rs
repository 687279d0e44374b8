//! Tests of the output of a plan: the files that may match, tasks, groups, counts, columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use apache_avro::types::Value;
use frazil_core::context::{Budget, Context};
use frazil_core::error::ErrorKind;
use frazil_core::storage::faulty::{Fault, FaultyStorage};
use frazil_iceberg::scan::output::{MetadataColumn, Output};
use frazil_iceberg::scan::plan::{Plan, ScanMetrics};
use frazil_iceberg::scan::table_scan::ScanOptions;
use frazil_iceberg::scan::wire;
use rstest::rstest;

use crate::support::*;

const DAY_MICROS: i64 = 86_400_000_000;

#[test]
fn each_manifest_is_projected_with_its_own_spec() {
    let by_day = |name: &str, day: Value| Entry::data(name).partition("ts_day", day);
    let by_hour = |name: &str, hour: i32| Entry::data(name).partition("ts_hour", hour);
    let day = |n| Value::Date(n);
    let manifests = [
        Manifest::data("m1", 1, vec![by_day("d9", day(9)), by_day("d10", day(10)), by_day("d11", day(11))])
            .spec(BY_DAY, 1001, "ts_day", "int"),
        Manifest::data(
            "m2",
            2,
            vec![by_hour("h239", 239), by_hour("h240", 240), by_hour("h263", 263), by_hour("h264", 264)],
        )
        .spec(BY_HOUR, 1002, "ts_hour", "int"),
        Manifest::data("m3", 3, vec![Entry::data("none")]),
        Manifest::data("m4", 4, vec![Entry::data("void").partition("a", Value::Null)]).spec(VOID, 1000, "a", "int"),
    ];
    let manifests = manifests.map(|m| {
        if m.spec_id != BY_DAY {
            return m;
        }
        let columns = vec![(1001, "ts_day".to_string(), serde_json::json!({"type": "int", "logicalType": "date"}))];
        Manifest { columns, ..m }
    });
    let table = table(&manifests);
    let filter = "ts >= TIMESTAMP '1970-01-11 00:00:00' and ts < TIMESTAMP '1970-01-12 00:00:00'";
    assert_eq!(10 * DAY_MICROS / 3_600_000_000, 240);
    assert_eq!(names(&plan(&table, filter)), ["d10", "h240", "h263", "none", "void"]);
}

#[test]
fn partition_summaries_spare_the_manifest() {
    let bound = |a: i32| Some(a.to_le_bytes().to_vec());
    let manifest = |name: &str, a: i32, null: bool| {
        let summaries = Some(vec![(null, None, bound(a), bound(a + 1))]);
        Manifest { summaries, ..Manifest::data(name, 1, vec![]) }.spec(BY_A, 1000, "a", "int")
    };
    let mut fixture = Fixture::new();
    fixture.commit(9, "append", &[manifest("m", 1, false), manifest("n", 5, true)]);
    // Planning would fail if the file were read.
    fixture.put("m", "no Avro file".into());
    let table = fixture.open();
    for filter in ["a = 5", "a > 2", "a is null", "a in (3, 6)"] {
        assert_eq!(plan(&table, filter).metrics().manifests_skipped, 1, "{filter}");
    }
    assert_eq!(try_plan(&table, &options("a < 7")).unwrap_err().kind(), ErrorKind::CorruptManifest);
}

#[test]
fn metrics_report_what_was_skipped_and_why() {
    let entry = |name: &str, a: i32, id: i64| {
        Entry::data(name).partition("a", a).bounds(1, &id.to_le_bytes(), &id.to_le_bytes())
    };
    let entries = vec![entry("f", 1, 1), entry("g", 1, 2), entry("h", 2, 1), entry("i", 2, 2)];
    let table = table(&[Manifest::data("m", 1, entries).spec(BY_A, 1000, "a", "int")]);
    let plan = plan(&table, "a = 2 and id = 2");
    let expected = ScanMetrics {
        manifests: 1,
        files: 4,
        files_skipped_by_partition: 2,
        files_skipped_by_bounds: 1,
        ..Default::default()
    };
    assert_eq!((names(&plan), plan.metrics()), (vec!["i".to_string()], &expected));
}

#[rstest]
#[case::four_bytes_are_the_int_of_a_long(1, &7_i32.to_le_bytes(), &9_i32.to_le_bytes(), "id = 8", true)]
#[case::four_bytes_compare_as_a_long(1, &7_i32.to_le_bytes(), &9_i32.to_le_bytes(), "id = 10", false)]
#[case::decimals_of_few_bytes_may(6, &[0x04], &[0x01, 0x00], "d = 2.00", true)]
#[case::decimals_compare_by_number(6, &[0xFF], &[0x01, 0x00], "d = -0.02", false)]
#[case::decimals_of_few_bytes_are_signed(6, &[0xFE], &[0x7F], "d = -0.02", true)]
#[case::not_equal_where_all_are(1, &5_i64.to_le_bytes(), &5_i64.to_le_bytes(), "id <> 5", false)]
#[case::bounds_that_do_not_decode(1, &[1, 2, 3], &[1, 2, 3], "id = 8", true)]
fn bounds_rule_files_out(
    #[case] id: i32,
    #[case] lower: &[u8],
    #[case] upper: &[u8],
    #[case] filter: &str,
    #[case] kept: bool,
) {
    let table = table(&[Manifest::data("m", 1, vec![Entry::data("f").bounds(id, lower, upper)])]);
    assert_eq!(plan(&table, filter).len(), usize::from(kept));
}

#[test]
fn equal_bounds_say_nothing_of_nan_where_it_is_not_counted() {
    // NULL never differs from 5, but NaN does.
    let five = 5_f64.to_le_bytes();
    let entry = Entry { null_counts: vec![], ..Entry::data("f").bounds(5, &five, &five) };
    let known = Entry { nan_counts: vec![(5, 0)], ..entry.clone() };
    for (entry, kept) in [(entry, 1), (known, 0)] {
        assert_eq!(plan(&table(&[Manifest::data("m", 1, vec![entry])]), "x <> 5").len(), kept);
    }
}

fn five_manifests() -> Vec<Manifest> {
    let manifest = |i: i32| {
        Manifest::data(&format!("m{i}"), 1, vec![Entry::data(&format!("f{i}")), Entry::data(&format!("g{i}"))])
    };
    (0..5).map(manifest).collect()
}

/// Returns a plan on one thread, and the number of storage calls it needed.
fn counted(manifests: &[Manifest], options: &ScanOptions) -> (Plan, u64) {
    let mut fixture = Fixture::new();
    fixture.commit(9, "append", manifests);
    let counting = Arc::new(FaultyStorage::new(fixture.storage.clone(), Fault::Truncate, u64::MAX));
    let table = fixture.open_in(counting.clone());
    let before = counting.calls();
    let scan = frazil_iceberg::scan::table_scan::TableScan::try_new(&table, options).unwrap();
    let plan = scan.plan(1, &Context::default()).unwrap();
    (plan, counting.calls() - before)
}

#[rstest]
#[case::nothing(0, &[], 2)]
#[case::less_than_a_file(1, &["f0"], 2)]
#[case::a_file(10, &["f0"], 2)]
#[case::a_row_more(11, &["f0", "g0"], 2)]
#[case::two_manifests(25, &["f0", "g0", "f1"], 3)]
#[case::more_than_there_is(1000, &["f0", "g0", "f1", "g1", "f2", "g2", "f3", "g3", "f4", "g4"], 6)]
fn a_limit_stops_planning_early(#[case] limit: u64, #[case] files: &[&str], #[case] most_calls: u64) {
    let (plan, calls) = counted(&five_manifests(), &ScanOptions { limit: Some(limit), ..options("") });
    assert_eq!(names(&plan), files);
    assert!(calls <= most_calls, "{calls} calls");
}

#[test]
fn a_limit_counts_only_rows_that_surely_match() {
    let mut manifests = five_manifests();
    let limited = |manifests: &[Manifest], filter| {
        names(&counted(manifests, &ScanOptions { limit: Some(10), ..options(filter) }).0).len()
    };
    assert_eq!(limited(&manifests, ""), 1);
    assert_eq!(limited(&manifests, "id > 5"), 10, "nothing is known of id");
    manifests.push(Manifest::deletes("d", 1, vec![Entry::vector("v", "f0")]));
    assert_eq!(limited(&manifests, ""), 2, "rows of the first file are deleted");
}

#[test]
fn bounds_leave_files_out_but_never_count_rows() {
    let bounds =
        |name: &str, lower: i64, upper: i64| Entry::data(name).bounds(1, &lower.to_le_bytes(), &upper.to_le_bytes());
    let entries = vec![
        bounds("all", 6, 9),
        bounds("some", 1, 9),
        bounds("none", 1, 2),
        bounds("deleted", 6, 9),
        Entry::data("unknown"),
    ];
    let manifests = [Manifest::data("m", 1, entries), Manifest::deletes("d", 1, vec![Entry::vector("v", "deleted")])];
    let plan = plan(&table(&manifests), "id > 5");
    let (rows, unread) = plan.count().unwrap();
    let unread: Vec<_> = unread.into_iter().map(|i| names(&plan)[i].clone()).collect();
    let read = ["all", "some", "deleted", "unknown"].map(String::from).to_vec();
    assert_eq!((rows, unread), (0, read), "counts may contradict rows where a name mapping changed");
}

#[test]
fn identity_partitions_count_without_bounds() {
    let entry = |name: &str, a: i32| Entry::data(name).partition("a", a);
    let manifest = Manifest::data("m", 1, vec![entry("f", 1), entry("g", 2)]).spec(BY_A, 1000, "a", "int");
    assert_eq!(plan(&table(&[manifest]), "a = 2").count().unwrap(), (10, vec![]));
}

fn select(names: &[&str], case_sensitive: bool) -> Result<Vec<String>, ErrorKind> {
    let table = Fixture::new().open();
    let (_, schema) = table.choose(&options("").snapshot).unwrap();
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let output = Output::select(&schema, table.metadata(), &names, case_sensitive).map_err(|e| e.kind())?;
    Ok(output.fields.fields.into_iter().map(|field| field.name).collect())
}

#[rstest]
#[case::all(&["*"], &["id", "a", "s", "ts", "x", "d"])]
#[case::none(&[], &[])]
#[case::the_order_of_the_schema(&["s", "id"], &["id", "s"])]
#[case::each_once(&["s", "s"], &["s"])]
#[case::metadata_columns_follow_as_named(&["_pos", "s", "_file", "id", "_pos"], &["id", "s", "_pos", "_file"])]
#[case::all_and_metadata_columns(&["_row_id", "*"], &["id", "a", "s", "ts", "x", "d", "_row_id"])]
#[case::only_metadata_columns(&["_deleted"], &["_deleted"])]
fn columns_are_selected_in_order(#[case] selected: &[&str], #[case] expected: &[&str]) {
    assert_eq!(select(selected, true).unwrap(), expected);
}

#[test]
fn names_are_compared_by_case_if_asked() {
    assert_eq!(select(&["ID"], true), Err(ErrorKind::InvalidArgument));
    assert_eq!(select(&["ID"], false), Ok(vec!["id".to_string()]));
    assert_eq!(select(&["none"], false), Err(ErrorKind::InvalidArgument));
}

#[test]
fn metadata_columns_have_the_reserved_names_and_ids() {
    let expected = [
        ("_file", 2_147_483_646),
        ("_pos", 2_147_483_645),
        ("_deleted", 2_147_483_644),
        ("_spec_id", 2_147_483_643),
        ("_partition", 2_147_483_642),
        ("_row_id", 2_147_483_540),
        ("_last_updated_sequence_number", 2_147_483_539),
    ];
    assert_eq!(MetadataColumn::ALL.map(|column| (column.name(), column.field_id())), expected);
    for (name, _) in expected {
        assert_eq!(select(&[name], true).unwrap(), [name]);
    }
}

fn sized(name: &str, size: i64, split_offsets: &[i64]) -> Entry {
    Entry { size, split_offsets: Some(split_offsets.to_vec()), ..Entry::data(name) }
}

/// The file ranges that tasks read.
type Parts = BTreeMap<String, Vec<Option<(i64, i64)>>>;

/// Returns the parts of each file over all groups, and the bytes of each group.
fn parts(plan: &Plan, target: i64, open_cost: i64) -> (Parts, Vec<i64>) {
    let storage = plan.read().files.storage().clone();
    let mut parts = Parts::new();
    let mut weights = Vec::new();
    for group in plan.groups(target, open_cost, &Context::default()).unwrap() {
        let tasks = wire::read(&group, storage.clone(), Budget::default()).unwrap();
        weights.push(tasks.iter().map(|task| task.size_bytes().max(open_cost)).sum());
        for task in tasks {
            parts.entry(task.file.path.rsplit('/').next().unwrap().to_string()).or_default().push(task.range);
        }
    }
    for ranges in parts.values_mut() {
        ranges.sort_unstable();
    }
    (parts, weights)
}

#[test]
fn groups_hold_every_file_once_and_split_at_split_offsets() {
    let orc = Entry { format: "ORC".into(), ..sized("orc", 900, &[4, 300, 600]) };
    let entries = vec![
        sized("small", 50, &[4]),
        sized("large", 1000, &[4, 200, 400, 600, 800]),
        sized("disordered", 1000, &[4, 600, 400]),
        sized("outside", 1000, &[4, 400, 1000]),
        sized("unknown", 1000, &[]),
        orc,
    ];
    let plan = plan(&table(&[Manifest::data("m", 1, entries)]), "");
    let (found, weights) = parts(&plan, 450, 10);
    assert_eq!(found["large"], [Some((0, 600)), Some((600, i64::MAX))]);
    for whole in ["small", "disordered", "outside", "unknown", "orc"] {
        assert_eq!(found[whole], [None], "{whole}");
    }
    assert_eq!((found.len(), weights.iter().sum::<i64>()), (6, 50 + 4 * 1000 + 900));
}

#[test]
fn groups_are_packed_up_to_the_target() {
    let entries = (0..100).map(|i| sized(&format!("f{i}"), 10 + i % 7, &[])).collect();
    let plan = plan(&table(&[Manifest::data("m", 1, entries)]), "");
    let (found, weights) = parts(&plan, 100, 0);
    assert!(found.len() == 100 && found.values().all(|ranges| *ranges == [None]));
    assert!(weights.iter().all(|&weight| weight <= 100) && weights.len() < 20, "{weights:?}");
    let (_, costly) = parts(&plan, 100, 50);
    assert_eq!(costly.len(), 50, "opening a file counts for fifty bytes");
    assert_eq!(parts(&plan, 0, 0).0.len(), 100, "a target of nothing packs nothing together");
}

#[test]
fn deletes_travel_with_every_part_of_their_file() {
    let data = Manifest::data("m", 1, vec![sized("f", 1000, &[4, 500])]);
    let plan = plan(&table(&[data, Manifest::deletes("d", 1, vec![Entry::vector("v", "f")])]), "");
    let groups = plan.groups(400, 0, &Context::default()).unwrap();
    let read = |group: &Vec<u8>| wire::read(group, plan.read().files.storage().clone(), Budget::default()).unwrap();
    let tasks: Vec<_> = groups.iter().flat_map(read).collect();
    assert_eq!(tasks.iter().map(|task| task.deletes.len()).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn tasks_beyond_the_plan_and_cancelled_plans_are_errors() {
    let table = table(&five_manifests());
    let plan = plan(&table, "");
    assert_eq!(plan.task(10).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let context = Context::default();
    context.cancel();
    assert_eq!(plan.groups(100, 0, &context).unwrap_err().kind(), ErrorKind::Cancelled);
    let scan = frazil_iceberg::scan::table_scan::TableScan::try_new(&table, &options("")).unwrap();
    assert_eq!(scan.plan(1, &context).unwrap_err().kind(), ErrorKind::Cancelled);
}

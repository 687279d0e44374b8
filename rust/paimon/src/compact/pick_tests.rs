use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array};
use frazil_core::error::ErrorKind;

use super::*;
use crate::binary_row;
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::options::Options;
use crate::spec::types::{DataType, TypeRoot};

/// Java's picks; `tests/histories/paimon/compaction_picks.py` describes the format.
const OF_JAVA: &str = include_str!("../../testdata/compaction_picks.txt");
const NOW_MS: i64 = 1_700_000_000_000;

fn key_types() -> [DataType; 1] {
    [DataType::required(TypeRoot::Int)]
}

fn keys(values: &[i32]) -> Vec<Vec<u8>> {
    let column: ArrayRef = Arc::new(Int32Array::from(values.to_vec()));
    let rows = binary_row::with_arity(&binary_row::encode(&[column], &key_types()).unwrap(), 1).unwrap();
    rows.iter().map(|row| row.unwrap().to_vec()).collect()
}

/// Parses a file: its level, length, sequence numbers, creation time, name and keys.
fn file(text: &str) -> DataFileMeta {
    let parts: Vec<&str> = text.split('/').collect();
    let number = |at: usize| parts[at].parse::<i64>().unwrap();
    let keys = keys(&[6, 7].map(|at| i32::try_from(number(at)).unwrap()));
    DataFileMeta {
        file_name: parts[5].to_string(),
        file_size_bytes: number(1),
        row_count: 1,
        min_key: keys[0].clone(),
        max_key: keys[1].clone(),
        min_sequence_number: number(2),
        max_sequence_number: number(3),
        schema_id: 0,
        level: i32::try_from(number(0)).unwrap(),
        extra_files: Vec::new(),
        creation_time_ms: Some(number(4)),
        delete_row_count: None,
        embedded_file_index: None,
        file_source: None,
        value_stats_cols: None,
        external_path: None,
        first_row_id: None,
        write_cols: None,
    }
}

fn files(text: &str) -> Vec<DataFileMeta> {
    text.split(' ').filter(|file| !file.is_empty()).map(file).collect()
}

fn levels(text: &str, least: i32) -> frazil_core::error::Result<Levels> {
    Levels::try_new(&files(text), &key_types(), least)
}

fn strategy(text: &str) -> frazil_core::error::Result<Strategy> {
    let pairs = text.split(',').filter_map(|option| option.split_once('='));
    let options: BTreeMap<String, String> = pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Strategy::try_new(&Options::new(options))
}

fn unit_text(unit: Option<&Unit>) -> String {
    let Some(unit) = unit else { return "-".to_string() };
    let files: Vec<String> = unit.files.iter().map(ToString::to_string).collect();
    format!("{}{} {}", unit.output_level, if unit.rewrites { "!" } else { "" }, files.join(" "))
}

#[test]
fn files_are_picked_as_java_picks_them() {
    let (mut picked, mut full, mut ended) = (0, 0, 0);
    for line in OF_JAVA.lines() {
        let (before, expected) = line.split_once(" > ").unwrap();
        let parts: Vec<&str> = before.split(" | ").collect();
        let strategy = strategy(parts[0]).unwrap();
        let levels = levels(parts[2], strategy.levels).unwrap();
        if let Some(forced) = parts[1].strip_prefix("full") {
            assert_eq!(unit_text(pick_full(&levels, &|_| forced == "!").as_ref()), expected, "{line}");
            full += 1;
            continue;
        }
        let state: Vec<&str> = parts[1].split(' ').collect();
        let last_full_ms = state[1].parse::<i64>().ok().map(|age| NOW_MS - age);
        let last_full_ms = last_full_ms.filter(|_| strategy.early_full.is_some());
        let mut picker = Picker { strategy, last_full_ms, delays: state[2].parse().unwrap() };
        let unit = picker.pick(&levels, Now { ms: NOW_MS, hour: state[0].parse().unwrap() });
        let was_full = u8::from(picker.last_full_ms == Some(NOW_MS));
        let found = format!("{} | {was_full} {}", unit_text(unit.as_ref()), picker.delays);
        assert_eq!(found, expected, "{line}");
        picked += usize::from(unit.is_some());
        ended += usize::from(was_full == 1);
    }
    assert_eq!(OF_JAVA.lines().count(), 1000);
    assert!(picked > 300 && full > 50 && ended > 50, "{picked} {full} {ended}");
}

#[test]
fn level_0_is_ordered_by_sequence_then_time_then_name() {
    // In UTF-16 order, the character outside the BMP sorts before U+FF5E.
    let text = "0/1/1/9/7/b/0/9 0/1/1/9/7/a/0/9 0/1/0/9/9/z/0/9 0/1/0/10/9/z/0/9 0/1/1/9/6/c/0/9 \
        0/1/5/5/0/\u{ff5e}/0/9 0/1/5/5/0/\u{1f600}/0/9";
    let levels = levels(text, 2).unwrap();
    let order: Vec<usize> = levels.runs().iter().flat_map(|run| run.files.clone()).collect();
    assert_eq!(order, [3, 2, 4, 1, 0, 6, 5]);
}

#[test]
fn levels_have_runs_in_the_order_of_keys() {
    let levels = levels("3/5/0/1/0/a/50/60 0/7/8/9/0/b/0/99 3/6/0/1/0/c/-9/49", 2).unwrap();
    let runs: Vec<_> = levels.runs().iter().map(|run| (run.level, run.files.clone(), run.size_bytes)).collect();
    assert_eq!(runs, [(0, vec![1], 7), (3, vec![2, 0], 11)]);
    assert_eq!((levels.count(), levels.max_level(), levels.highest_level()), (4, 3, Some(3)));
    assert!(levels.drops_deletes(3) && !levels.drops_deletes(2) && !levels.drops_deletes(0));
}

#[test]
fn an_empty_bucket_has_nothing_to_pick() {
    let levels = levels("", 6).unwrap();
    assert_eq!((levels.max_level(), levels.highest_level()), (5, None));
    assert_eq!(pick_full(&levels, &|_| true), None);
    let mut picker = Picker::new(strategy("compaction.optimization-interval=1 h,force-lookup=true").unwrap());
    assert_eq!(picker.pick(&levels, Now { ms: NOW_MS, hour: 0 }), None);
    assert!(!picker.must_wait(&levels));
}

#[test]
fn levels_that_contradict_themselves_are_refused() {
    for (text, kind, said) in [
        ("", ErrorKind::InvalidArgument, "at least 2 levels"),
        ("0/1/0/1/0/a/0/9", ErrorKind::InvalidArgument, "at least 2 levels"),
        ("-1/1/0/1/0/a/0/9", ErrorKind::CorruptManifest, "`a` has the negative level -1"),
        ("1/-1/0/1/0/a/0/9", ErrorKind::CorruptManifest, "`a` has the negative length -1"),
        (
            "1/1/0/1/0/a/0/9 1/1/0/1/0/b/9/10",
            ErrorKind::CorruptManifest,
            "`a` and `b` of level 1 have overlapping keys",
        ),
        (
            "1/1/0/1/0/a/9/10 1/1/0/1/0/b/0/9",
            ErrorKind::CorruptManifest,
            "`b` and `a` of level 1 have overlapping keys",
        ),
        ("0/1/0/1/0/a/0/9 2/1/0/1/0/b/0/9 0/1/0/1/0/a/0/9", ErrorKind::CorruptManifest, "`a` has two entries"),
        (
            "1/9223372036854775807/0/1/0/a/0/9 1/1/0/1/0/b/10/11",
            ErrorKind::CorruptManifest,
            "the files of level 1 exceed",
        ),
    ] {
        let error = levels(text, 1).unwrap_err();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(error.to_string().contains(said), "{text}: {error}");
    }
    // The highest level that a manifest can hold takes no memory for the levels below it.
    assert_eq!(levels("2147483647/1/0/1/0/a/0/9", 2).unwrap().runs().len(), 1);
}

#[test]
fn files_in_the_highest_level_are_rewritten_only_where_rows_are_dropped() {
    let two = "5/1/0/1/0/a/0/9 5/1/0/1/0/b/10/19";
    let highest = levels(two, 6).unwrap();
    assert_eq!(pick_full(&highest, &|_| false), None);
    let second = Unit { output_level: 5, files: vec![1], rewrites: true };
    assert_eq!(pick_full(&highest, &|file| file == 1), Some(second));
    let below = levels(two, 7).unwrap();
    assert_eq!(pick_full(&below, &|_| false), Some(Unit { output_level: 6, files: vec![0, 1], rewrites: false }));
}

#[test]
fn level_0_waits_as_often_as_its_interval_says() {
    let gentle =
        "force-lookup=true,lookup-compact=gentle,num-sorted-run.compaction-trigger=2,lookup-compact.max-interval=3";
    let mut picker = Picker::new(strategy(gentle).unwrap());
    let levels = levels("0/5/0/1/0/a/0/9", 6).unwrap();
    let mut pick = || picker.pick(&levels, Now { ms: NOW_MS, hour: 0 }).is_some();
    assert_eq!([0; 7].map(|_| pick()), [false, false, true, false, false, true, false]);
}

#[test]
fn a_full_compaction_is_due_again_after_its_interval() {
    let mut picker = Picker::new(strategy("compaction.optimization-interval=1 h").unwrap());
    let levels = levels("0/5/0/1/0/a/0/9 1/500/0/1/0/b/0/9", 6).unwrap();
    let mut pick = |ms| picker.pick(&levels, Now { ms: NOW_MS + ms, hour: 0 }).is_some();
    assert_eq!([0, 1, 3_600_000, 3_600_001, 3_600_002].map(&mut pick), [true, false, false, true, false]);
}

#[test]
fn options_have_javas_defaults() {
    let of = |text| strategy(text).unwrap();
    let default = of("");
    assert_eq!((default.compaction_trigger, default.stop_trigger, default.levels), (5, 8, 6));
    assert_eq!((default.size_amplification_percent, default.size_ratio_percent), (200, 1));
    assert_eq!((default.off_peak, default.early_full, default.level_0), (None, None, Level0::Stay));
    let stop = |text| of(text).stop_trigger;
    assert_eq!(stop("num-sorted-run.compaction-trigger=7,num-sorted-run.stop-trigger=3"), 7);
    assert_eq!(stop("num-sorted-run.compaction-trigger=2147483647"), i32::MAX);
    assert_eq!(of("num-sorted-run.compaction-trigger=2147483647").levels, i32::MAX);
    for (text, level_0) in [
        ("compaction.force-up-level-0=true", Level0::Always),
        ("merge-engine=first-row", Level0::Always),
        ("changelog-producer=lookup,lookup-compact=RADICAL", Level0::Always),
        ("deletion-vectors.enabled=true,lookup-compact=gentle", Level0::Delay(10)),
        ("force-lookup=true,lookup-compact=Gentle,lookup-compact.max-interval=2", Level0::Delay(5)),
        ("lookup-compact=gentle", Level0::Stay),
    ] {
        assert_eq!(of(text).level_0, level_0, "{text}");
    }
    let mut picker = Picker::new(of("num-sorted-run.stop-trigger=1,num-sorted-run.compaction-trigger=1"));
    let two = levels("0/5/0/1/0/a/0/9 1/500/0/1/0/b/0/9", 6).unwrap();
    assert!(picker.must_wait(&two));
    picker = Picker::new(of("num-sorted-run.stop-trigger=2,num-sorted-run.compaction-trigger=1"));
    assert!(!picker.must_wait(&two) && picker.strategy().stop_trigger == 2);
}

#[test]
fn options_out_of_range_are_named() {
    for (text, name) in [
        ("num-sorted-run.compaction-trigger=0", "num-sorted-run.compaction-trigger"),
        ("num-levels=2147483648", "num-levels"),
        ("compaction.size-ratio=few", "compaction.size-ratio"),
        ("force-lookup=true,lookup-compact=hasty", "lookup-compact"),
        ("compaction.total-size-threshold=much", "compaction.total-size-threshold"),
        ("compaction.optimization-interval=often", "compaction.optimization-interval"),
    ] {
        let error = strategy(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
        assert!(error.to_string().contains(name), "{text}: {error}");
    }
}

//! Compares the columnar engines with a model that merges random histories record by record and field by field.
//!
//! `FRAZIL_HISTORIES` sets the number of histories per merge engine. A failure reports its seed. Every other history is
//! read with only some of its columns, like a scan with a projection.

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::context::Context;
use rstest::rstest;

use super::tests::{Record, arrow, batch, records, run, run_at, table};
use super::{MergeSpec, Merger};

const COLUMNS: [&str; 5] = ["g1", "a", "g2", "b", "c"];
const DELETE: i8 = 3;

type Row = Vec<Option<i32>>;
type Merged = Option<(i8, Row)>;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Engine {
    Deduplicate,
    FirstRow,
    PartialUpdate,
    Aggregation,
}

/// The options of a case, and their meaning for the model.
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
struct Case {
    engine: Engine,
    options: &'static [(&'static str, &'static str)],
    /// Whether records may retract.
    retracts: bool,
    sequence: &'static [usize],
    descending: bool,
    ignore_delete: bool,
    remove_on_delete: bool,
    /// The sequence groups: sequence fields, columns, and whether a delete removes the row.
    groups: &'static [(&'static [usize], &'static [usize], bool)],
    functions: &'static [(usize, &'static str)],
}

const PLAIN: Case = Case {
    engine: Engine::Deduplicate,
    options: &[],
    retracts: true,
    sequence: &[],
    descending: false,
    ignore_delete: false,
    remove_on_delete: false,
    groups: &[],
    functions: &[],
};

const UPDATE: (&str, &str) = ("merge-engine", "partial-update");
const FIRST: (&str, &str) = ("merge-engine", "first-row");
const AGGREGATE: (&str, &str) = ("merge-engine", "aggregation");
const G1: (&str, &str) = ("fields.g1.sequence-group", "a");
const G2: (&str, &str) = ("fields.g2.sequence-group", "b");
const SUM_A: (&str, &str) = ("fields.a.aggregate-function", "sum");
const LAST_B: (&str, &str) = ("fields.b.aggregate-function", "last_value");
const FIRST_A: (&str, &str) = ("fields.a.aggregate-function", "first_value");
const IGNORE_A: (&str, &str) = ("fields.a.ignore-retract", "true");
const IGNORE_B: (&str, &str) = ("fields.b.ignore-retract", "true");
const FIRST_NON_NULL_B: (&str, &str) = ("fields.b.aggregate-function", "first_non_null_value");

const CASES: &[Case] = &[
    PLAIN,
    Case { options: &[("sequence.field", "g1")], sequence: &[0], ..PLAIN },
    Case {
        options: &[("sequence.field", "g1,g2"), ("sequence.field.sort-order", "descending")],
        sequence: &[0, 2],
        descending: true,
        ..PLAIN
    },
    Case { options: &[("ignore-delete", "true")], ignore_delete: true, ..PLAIN },
    Case { engine: Engine::FirstRow, options: &[FIRST], retracts: false, ..PLAIN },
    Case { engine: Engine::FirstRow, options: &[FIRST, ("ignore-delete", "true")], ignore_delete: true, ..PLAIN },
    Case { engine: Engine::PartialUpdate, options: &[UPDATE], retracts: false, ..PLAIN },
    Case {
        engine: Engine::PartialUpdate,
        options: &[UPDATE, ("sequence.field", "g1")],
        retracts: false,
        sequence: &[0],
        ..PLAIN
    },
    Case { engine: Engine::PartialUpdate, options: &[UPDATE, ("ignore-delete", "true")], ignore_delete: true, ..PLAIN },
    Case {
        engine: Engine::PartialUpdate,
        options: &[UPDATE, ("partial-update.remove-record-on-delete", "true")],
        remove_on_delete: true,
        ..PLAIN
    },
    Case {
        engine: Engine::PartialUpdate,
        options: &[UPDATE, G1, G2],
        groups: &[(&[0], &[1], false), (&[2], &[3], false)],
        ..PLAIN
    },
    Case {
        engine: Engine::PartialUpdate,
        options: &[UPDATE, G1, G2, SUM_A, LAST_B],
        groups: &[(&[0], &[1], false), (&[2], &[3], false)],
        functions: &[(1, "sum"), (3, "last_value")],
        ..PLAIN
    },
    Case {
        engine: Engine::PartialUpdate,
        options: &[UPDATE, G1, G2, SUM_A, ("partial-update.remove-record-on-sequence-group", "g2")],
        groups: &[(&[0], &[1], false), (&[2], &[3], true)],
        functions: &[(1, "sum")],
        ..PLAIN
    },
    Case {
        engine: Engine::PartialUpdate,
        options: &[UPDATE, G1, G2, FIRST_A, FIRST_NON_NULL_B],
        retracts: false,
        groups: &[(&[0], &[1], false), (&[2], &[3], false)],
        functions: &[(1, "first_value"), (3, "first_non_null_value")],
        ..PLAIN
    },
    Case {
        engine: Engine::PartialUpdate,
        options: &[UPDATE, G1, G2, FIRST_A, FIRST_NON_NULL_B, IGNORE_A, IGNORE_B],
        groups: &[(&[0], &[1], false), (&[2], &[3], false)],
        functions: &[(1, "first_value"), (3, "first_non_null_value")],
        ..PLAIN
    },
    Case {
        engine: Engine::PartialUpdate,
        options: &[UPDATE, G1, ("ignore-delete", "true")],
        ignore_delete: true,
        groups: &[(&[0], &[1], false)],
        ..PLAIN
    },
    Case {
        engine: Engine::PartialUpdate,
        options: &[UPDATE, ("fields.g1,g2.sequence-group", "a,b")],
        groups: &[(&[0, 2], &[1, 3], false)],
        ..PLAIN
    },
    Case { engine: Engine::Aggregation, options: &[AGGREGATE], ..PLAIN },
    Case {
        engine: Engine::Aggregation,
        options: &[AGGREGATE, SUM_A, LAST_B, ("fields.c.aggregate-function", "max")],
        retracts: false,
        functions: &[(1, "sum"), (3, "last_value"), (4, "max")],
        ..PLAIN
    },
    Case {
        engine: Engine::Aggregation,
        options: &[AGGREGATE, FIRST_A, FIRST_NON_NULL_B],
        retracts: false,
        functions: &[(1, "first_value"), (3, "first_non_null_value")],
        ..PLAIN
    },
    Case {
        engine: Engine::Aggregation,
        options: &[AGGREGATE, SUM_A, LAST_B, ("sequence.field", "g2"), ("aggregation.remove-record-on-delete", "true")],
        sequence: &[2],
        remove_on_delete: true,
        functions: &[(1, "sum"), (2, "last_value"), (3, "last_value")],
        ..PLAIN
    },
];

impl Case {
    fn function(&self, column: usize) -> Option<&'static str> {
        self.functions.iter().find(|(of, _)| *of == column).map(|(_, name)| *name)
    }

    /// Returns whether the function of a column ignores retracts.
    fn ignores_retract(&self, column: usize) -> bool {
        let option = format!("fields.{}.ignore-retract", COLUMNS[column]);
        self.options.contains(&(option.as_str(), "true"))
    }

    fn group(&self, column: usize) -> Option<&(&'static [usize], &'static [usize], bool)> {
        self.groups.iter().find(|(sequence, values, _)| sequence.contains(&column) || values.contains(&column))
    }

    /// Sorts the records of a key, each (run, record).
    fn sort(&self, records: &mut [(usize, Record)]) {
        records.sort_by(|(x, a), (y, b)| {
            let fields = self.sequence.iter().map(|&column| {
                let (a, b) = (a.values[column], b.values[column]);
                if self.descending && a.is_some() && b.is_some() { b.cmp(&a) } else { a.cmp(&b) }
            });
            let fields = fields.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then);
            fields.then(a.number.cmp(&b.number)).then((b.kind & 1).cmp(&(a.kind & 1))).then(x.cmp(y))
        });
    }

    /// Returns the merged row of a key. With `lookup`, only one record above level 0 takes part: the first of the
    /// lowest level.
    fn merge(&self, levels: &[(i32, Record)], lookup: bool) -> Merged {
        let own = |record: &Record| Some((record.kind, record.values.clone()));
        if let [(_, only)] = levels {
            return own(only);
        }
        let above = levels.iter().enumerate().filter(|(_, (level, _))| *level > 0);
        let looked_up = above.min_by_key(|(_, (level, _))| *level).map(|(at, _)| at);
        let takes_part = |at: usize, level: i32| !lookup || level == 0 || looked_up == Some(at);
        let records = levels.iter().enumerate().filter(|(at, (level, _))| takes_part(*at, *level));
        let records: Vec<Record> = records.map(|(_, (_, record))| record.clone()).collect();
        let counted = || records.iter().filter(|record| !self.ignore_delete || record.kind & 1 == 0);
        match self.engine {
            Engine::Deduplicate => counted().next_back().and_then(own),
            Engine::FirstRow => counted().next().and_then(own),
            Engine::Aggregation => Some(self.aggregate(&records)),
            Engine::PartialUpdate => Some(self.update(&records)),
        }
    }

    fn aggregate(&self, records: &[Record]) -> (i8, Row) {
        let mut row = vec![None; COLUMNS.len()];
        let mut found = [false; COLUMNS.len()];
        let mut kind = 0;
        for record in records {
            kind = 0;
            if self.remove_on_delete && record.kind == DELETE {
                row.clone_from(&record.values);
                kind = DELETE;
                continue;
            }
            for (column, value) in row.iter_mut().enumerate() {
                let function = self.function(column).unwrap_or("last_non_null_value");
                let input = record.values[column];
                *value = match record.kind & 1 {
                    1 => retracted(function, *value, input),
                    _ => folded(function, &mut found[column], *value, input),
                };
            }
        }
        (kind, row)
    }

    fn update(&self, records: &[Record]) -> (i8, Row) {
        let mut row: Row = vec![None; COLUMNS.len()];
        let mut found = [false; COLUMNS.len()];
        let mut has_row = false;
        let mut added = false;
        let mut removed = false;
        'records: for record in records {
            removed = false;
            let retract = record.kind & 1 == 1;
            if retract && !has_row {
                row.clone_from(&record.values);
            }
            has_row = true;
            if retract && self.ignore_delete {
                continue;
            }
            if retract && self.remove_on_delete {
                if record.kind == DELETE {
                    row.clone_from(&record.values);
                    removed = true;
                }
                continue;
            }
            added |= !retract;
            let before = row.clone();
            let newer = |sequence: &[usize]| {
                let of = |row: &Row| sequence.iter().map(|&column| row[column]).collect::<Vec<_>>();
                (of(&record.values).iter().any(Option::is_some)).then(|| of(&record.values) >= of(&before))
            };
            for (sequence, _, _) in self.groups.iter().filter(|group| group.2) {
                if record.kind == DELETE && newer(sequence) == Some(true) {
                    row.clone_from(&record.values);
                    removed = true;
                    continue 'records;
                }
            }
            for (column, value) in row.iter_mut().enumerate() {
                let input = record.values[column];
                let Some((sequence, _, _)) = self.group(column) else {
                    *value = if retract { *value } else { input.or(*value) };
                    continue;
                };
                *value = match (newer(sequence), self.function(column)) {
                    (None, _) | (Some(false), None) => *value,
                    (Some(true), _) if sequence.contains(&column) => input,
                    (Some(_), Some(_)) if retract && self.ignores_retract(column) => *value,
                    (Some(_), Some(function)) if retract => retracted(function, *value, input),
                    (Some(true), Some(function)) => folded(function, &mut found[column], *value, input),
                    // Java swaps the accumulator and the input.
                    (Some(false), Some(function)) => folded(function, &mut found[column], input, *value),
                    (Some(true), None) if retract => None,
                    (Some(true), None) => input,
                };
            }
        }
        (if added && !removed { 0 } else { DELETE }, row)
    }
}

/// Folds a value. `found` is `initialized` in Java's aggregators of the first value.
fn folded(function: &str, found: &mut bool, old: Option<i32>, input: Option<i32>) -> Option<i32> {
    match function {
        "sum" => old.map_or(input, |old| Some(old + input.unwrap_or(0))),
        "max" => old.max(input),
        "last_value" => input,
        "last_non_null_value" => input.or(old),
        "first_value" if !*found => {
            *found = true;
            input
        }
        "first_non_null_value" if !*found && input.is_some() => {
            *found = true;
            input
        }
        "first_value" | "first_non_null_value" => old,
        _ => panic!("{function}"),
    }
}

fn retracted(function: &str, old: Option<i32>, input: Option<i32>) -> Option<i32> {
    match function {
        "sum" => old.map_or(input.map(|input| -input), |old| Some(old - input.unwrap_or(0))),
        "last_value" => None,
        "last_non_null_value" => old.filter(|_| input.is_none()),
        _ => panic!("{function}"),
    }
}

/// The pseudorandom number generator xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    fn small(&mut self, bound: u64) -> i32 {
        i32::try_from(self.below(bound)).unwrap()
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// Generates runs with their levels, oldest first, each sorted by key. A level above 0 is one run with distinct keys.
fn history(random: &mut Random, case: &Case) -> Vec<(i32, Vec<Record>)> {
    let keys = if random.one_in(50) { 2000 } else { 1 + random.below(12) };
    let numbers_collide = random.one_in(4);
    let mut number = 0;
    let mut runs = Vec::new();
    for above in 1..=random.small(6) {
        let level = if random.one_in(2) { 0 } else { above ^ 3 };
        let share = 1 + random.below(4);
        let (from, to) = if random.one_in(3) { (random.below(keys), random.below(keys)) } else { (0, keys) };
        let mut run = Vec::new();
        for key in from..to {
            if random.below(4) >= share {
                continue;
            }
            let times = if level == 0 && random.one_in(20) { 2 } else { 1 };
            for _ in 0..times {
                number += i64::from(!numbers_collide || random.one_in(2));
                let value = |random: &mut Random| (!random.one_in(4)).then(|| random.small(5));
                let values = COLUMNS.iter().map(|_| value(random)).collect();
                let kind = if case.retracts { random.small(4) } else { 2 * random.small(2) };
                let (key, kind) = (i32::try_from(key).unwrap(), i8::try_from(kind).unwrap());
                run.push(Record { key, values, number, kind });
            }
        }
        runs.push((level, run));
    }
    runs
}

fn expected(case: &Case, runs: &[(i32, Vec<Record>)], lookup: bool) -> Vec<(i32, i8, Row)> {
    let mut keys: BTreeMap<i32, Vec<(usize, Record)>> = BTreeMap::new();
    for (run, (_, records)) in runs.iter().enumerate() {
        for record in records {
            keys.entry(record.key).or_default().push((run, record.clone()));
        }
    }
    let mut merged = Vec::new();
    for (key, mut records) in keys {
        case.sort(&mut records);
        let records: Vec<_> = records.into_iter().map(|(run, record)| (runs[run].0, record)).collect();
        // First-row keeps the first of all records, regardless of level.
        merged.extend(
            case.merge(&records, lookup && case.engine != Engine::FirstRow).map(|(kind, row)| (key, kind, row)),
        );
    }
    merged
}

/// The default number of histories of each engine.
const HISTORIES: u64 = 500;

#[rstest]
fn random_histories_merge_as_the_model_says(
    #[values(Engine::Deduplicate, Engine::FirstRow, Engine::PartialUpdate, Engine::Aggregation)] engine: Engine,
) {
    let histories = std::env::var("FRAZIL_HISTORIES").ok();
    let histories = histories.map_or(HISTORIES, |text| text.parse().expect("FRAZIL_HISTORIES is a number"));
    let cases: Vec<&Case> = CASES.iter().filter(|case| case.engine == engine).collect();
    for seed in 1..=histories {
        let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let case = cases[usize::try_from(seed).unwrap() % cases.len()];
        let runs = history(random, case);
        let wanted = wanted(random);
        let lookup = random.one_in(2);
        let merged = merged(random, (case, lookup), &runs, &wanted);
        let merged = merged.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let mut expected = expected(case, &runs, lookup);
        for (_, _, row) in &mut expected {
            *row = wanted.iter().map(|&column| row[column]).collect();
        }
        assert!(
            merged == expected,
            "seed {seed}, {:?} lookup {lookup} {wanted:?}\n{merged:?}\n{expected:?}",
            case.options
        );
    }
}

/// Returns all columns, or some of them.
fn wanted(random: &mut Random) -> Vec<usize> {
    let all = random.one_in(2);
    (0..COLUMNS.len()).filter(|_| all || random.one_in(2)).collect()
}

/// Merges the wanted columns with the engine, in batches of random size.
fn merged(
    random: &mut Random,
    (case, lookup): (&Case, bool),
    runs: &[(i32, Vec<Record>)],
    wanted: &[usize],
) -> frazil_core::error::Result<Vec<(i32, i8, Row)>> {
    let looks_up = [("changelog-producer", "lookup"), ("force-lookup", "true"), ("deletion-vectors.enabled", "true")];
    let looks_up = looks_up[usize::try_from(random.below(3)).unwrap()];
    let options: Vec<_> = case.options.iter().copied().chain(lookup.then_some(looks_up)).collect();
    let (table, options) = table(&COLUMNS, &options);
    let spec = MergeSpec::try_new(&table, &options)?;
    let fields: Vec<_> = wanted.iter().map(|&column| table.fields[column + 1].clone()).collect();
    let read = spec.required_fields(&fields);
    let read: Vec<usize> =
        (0..COLUMNS.len()).filter(|&column| read.iter().any(|name| name == COLUMNS[column])).collect();
    let narrow = |record: &Record| Record {
        values: read.iter().map(|&column| record.values[column]).collect(),
        ..record.clone()
    };
    let mut fields = vec![table.fields[0].clone()];
    fields.extend(read.iter().map(|&column| table.fields[column + 1].clone()));
    let schema = arrow(&fields);
    let most = if random.one_in(2) { 4 } else { 700 };
    let rows = 1 + usize::try_from(random.below(most)).unwrap();
    let batches = |run: &Vec<Record>| {
        let run: Vec<Record> = run.iter().map(narrow).collect();
        run.chunks(rows).map(|part| batch(&schema, part)).collect()
    };
    let levels: Vec<i32> = runs.iter().map(|(level, _)| *level).collect();
    let mut merger = Merger::try_new(&spec, Arc::clone(&schema), levels.len(), &Context::default())?;
    let merged = run_at(&mut merger, &levels, runs.iter().map(|(_, run)| batches(run)).collect())?;
    let places: Vec<usize> = wanted.iter().map(|column| read.binary_search(column).unwrap()).collect();
    let row = |record: Record| {
        let values = places.iter().map(|&place| record.values[place]).collect();
        (record.key, record.kind, values)
    };
    Ok(merged.iter().flat_map(records).map(row).collect())
}

/// Returns the CPU time of this thread, if the system reports it.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
    nanoseconds / 1e9
}

/// Measures merging five runs of a million rows in a release build: `cargo test --release -- --ignored --nocapture`.
#[test]
#[ignore = "measures; prints rows per second"]
fn throughput() {
    use arrow_array::{ArrayRef, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray};
    use arrow_schema::{DataType, Field, Schema};

    const ROWS: i64 = 1_000_000;
    let text_key = std::env::var("FRAZIL_TEXT_KEY").is_ok();
    let key = |key: i64| format!("user-{key:010}");
    let key_type = if text_key { DataType::Utf8 } else { DataType::Int64 };
    let fields = vec![
        Field::new("k", key_type, false),
        Field::new("v1", DataType::Float64, true),
        Field::new("v2", DataType::Float64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("_SEQUENCE_NUMBER", DataType::Int64, false),
        Field::new("_VALUE_KIND", DataType::Int8, false),
    ];
    let schema = Arc::new(Schema::new(fields));
    let mut random = Random(17);
    let mut runs: Vec<Vec<RecordBatch>> = Vec::new();
    for number in 0..5_i64 {
        let mut keys: Vec<i64> = (0..ROWS).map(|_| i64::try_from(random.below(2_000_000)).unwrap()).collect();
        keys.sort_unstable();
        keys.dedup();
        let make = |keys: &[i64]| {
            let keyed: ArrayRef = if text_key {
                Arc::new(keys.iter().map(|&of| Some(key(of))).collect::<StringArray>())
            } else {
                Arc::new(Int64Array::from(keys.to_vec()))
            };
            let doubles = || -> ArrayRef { Arc::new(Float64Array::from(vec![1.5; keys.len()])) };
            let texts: StringArray = keys.iter().map(|of| Some(format!("value {}", of % 1000))).collect();
            let numbers = Int64Array::from_iter_values((0..).take(keys.len()).map(|row| row + number * ROWS));
            let kinds = Int8Array::from(vec![0; keys.len()]);
            let columns =
                vec![keyed, doubles(), doubles(), Arc::new(texts) as ArrayRef, Arc::new(numbers), Arc::new(kinds)];
            RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
        };
        runs.push(keys.chunks(65_536).map(make).collect());
    }
    let rows: usize = runs.iter().flatten().map(RecordBatch::num_rows).sum();
    for options in
        [&[][..], &[("sequence.field", "v1")], &[UPDATE], &[AGGREGATE, ("fields.v1.aggregate-function", "sum")]]
    {
        let (mut table, options) = table(&["v1", "v2", "s"], options);
        let types = [crate::spec::types::TypeRoot::BigInt, crate::spec::types::TypeRoot::Double];
        for (field, root) in table.fields.iter_mut().zip([&types[0], &types[1], &types[1]]) {
            field.data_type.root = root.clone();
        }
        table.fields[3].data_type.root = crate::spec::types::TypeRoot::VarChar(100);
        let spec = MergeSpec::try_new(&table, &options).unwrap();
        let mut best = f64::MAX;
        let mut merged = 0;
        for _ in 0..5 {
            let mut merger = Merger::try_new(&spec, Arc::clone(&schema), runs.len(), &Context::default()).unwrap();
            let input = runs.clone();
            let start = cpu_seconds();
            merged = run(&mut merger, input).unwrap().iter().map(RecordBatch::num_rows).sum();
            best = best.min(cpu_seconds() - start);
        }
        println!("{options:?}: {rows} -> {merged}, {:.1} M rows per CPU second", rows as f64 / best / 1e6);
    }
}

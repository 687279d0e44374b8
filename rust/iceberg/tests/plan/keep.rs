//! Tests the correctness of pruning: a file with a matching row is always planned, and the plan's claims about its rows
//! are true.

use std::collections::BTreeMap;
use std::sync::Arc;

use apache_avro::types::Value;
use arrow_array::types::{Date32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray, StringArray};
use frazil_core::scalar::Scalar;
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::eval::{RowColumns, evaluate};
use frazil_core::sql::predicate::{BoundPredicate, ColumnName, CompareOp, Literal};
use frazil_iceberg::scan::table_scan::ScanOptions;
use frazil_iceberg::spec::single_value::encode;
use frazil_iceberg::spec::transform::Transform;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value as Json, json};

use crate::support::*;

/// The name, the type in schemas and the type in Avro; the id of a column is its position, counted from 1.
const COLUMNS: [(&str, &str); 5] = [("i", "int"), ("l", "long"), ("x", "double"), ("s", "string"), ("d", "date")];

type Row = Vec<Option<Scalar>>;

fn avro_type(column: usize) -> Json {
    if COLUMNS[column].0 == "d" { json!({"type": "int", "logicalType": "date"}) } else { json!(COLUMNS[column].1) }
}

/// Returns one of only a few values, so that bounds overlap and partitions hold several rows.
fn value(column: usize) -> BoxedStrategy<Scalar> {
    match column {
        0 => select(vec![i32::MIN, -3, -2, -1, 0, 1, 2, 7, i32::MAX]).prop_map(Scalar::Int32).boxed(),
        1 => select(vec![i64::MIN, -11, -10, -1, 0, 5, 10, i64::MAX]).prop_map(Scalar::Int64).boxed(),
        2 => select(vec![f64::NAN, f64::NEG_INFINITY, -1.5, -0.0, 0.0, 2.25, f64::INFINITY])
            .prop_map(Scalar::Float64)
            .boxed(),
        3 => select(vec!["", "a", "ab", "abc", "abd", "b", "é", "\u{10ffff}", "\u{10ffff}\u{10ffff}a"])
            .prop_map(|text| Scalar::String(text.into()))
            .boxed(),
        _ => select(vec![i32::MIN, -365, -1, 0, 1, 19_000]).prop_map(Scalar::Date).boxed(),
    }
}

fn row() -> impl Strategy<Value = Row> {
    let maybe = |column| prop::option::weighted(0.8, value(column));
    (maybe(0), maybe(1), maybe(2), maybe(3), maybe(4)).prop_map(|(a, b, c, d, e)| vec![a, b, c, d, e])
}

/// Returns partition fields: column and transform.
fn spec() -> impl Strategy<Value = Vec<(usize, Transform)>> {
    let field = (0..5_usize).prop_flat_map(|column| {
        let transforms = match column {
            0 | 1 => vec![Transform::Identity, Transform::Bucket(3), Transform::Truncate(4), Transform::Void],
            2 => vec![Transform::Identity, Transform::Void],
            3 => vec![Transform::Identity, Transform::Bucket(3), Transform::Truncate(1), Transform::Truncate(2)],
            _ => vec![Transform::Identity, Transform::Bucket(2), Transform::Day, Transform::Month, Transform::Year],
        };
        (Just(column), select(transforms))
    });
    prop::collection::vec(field, 0..3)
}

fn predicate() -> impl Strategy<Value = Expression> {
    let literal = |column| prop_oneof![10 => value(column).prop_map(Literal::Typed), 1 => Just(Literal::Null)];
    let ops = vec![CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq, CompareOp::Eq, CompareOp::NotEq];
    let leaf = (0..5_usize).prop_flat_map(move |column| {
        let name = ColumnName(vec![COLUMNS[column].0.into()]);
        let (named, listed) = (name.clone(), name.clone());
        let compare = (select(ops.clone()), literal(column))
            .prop_map(move |(op, value)| Expression::compare(named.clone(), op, value));
        let members = prop::collection::vec(literal(column), 0..4)
            .prop_map(move |values| Expression::is_in(listed.clone(), values));
        let other = match column {
            2 => prop_oneof![Just(Expression::is_nan(name.clone())), Just(Expression::is_null(name))].boxed(),
            3 => select(vec!["a%", "ab%", "%", "", "a_", "%b", "a%d", "\u{10ffff}%", "abc"])
                .prop_map(move |pattern| Expression::like(name.clone(), pattern).unwrap())
                .boxed(),
            _ => Just(Expression::is_null(name)).boxed(),
        };
        prop_oneof![4 => compare, 2 => members, 1 => other]
    });
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(Expression::And),
            prop::collection::vec(inner.clone(), 1..3).prop_map(Expression::Or),
            inner.prop_map(|inner| Expression::Not(Box::new(inner))),
        ]
    })
}

/// The statistics that a writer records for a column in a file.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is recorded or not, whatever the others are")]
struct Recorded {
    counts: bool,
    nulls: bool,
    nans: bool,
    lower: bool,
    upper: bool,
    truncated: bool,
}

fn recorded() -> impl Strategy<Value = Vec<Recorded>> {
    let flags = prop::array::uniform6(any::<bool>());
    let one = flags.prop_map(|[counts, nulls, nans, lower, upper, truncated]| Recorded {
        counts,
        nulls,
        nans,
        lower,
        upper,
        truncated,
    });
    let full = Recorded { counts: true, nulls: true, nans: true, lower: true, upper: true, truncated: false };
    prop::collection::vec(prop_oneof![Just(full), one], 5)
}

/// Returns the lowest and the highest value, ignoring NaN.
fn range<'a>(values: impl Iterator<Item = &'a Scalar> + Clone) -> Option<(&'a Scalar, &'a Scalar)> {
    let ordered = |a: &&Scalar, b: &&Scalar| a.compare(b).unwrap();
    let values = values.filter(|value| !value.is_nan());
    Some((values.clone().min_by(ordered)?, values.max_by(ordered)?))
}

/// Returns bounds as bytes. Strings are cut to one character, and the upper one is incremented, or omitted if that is
/// impossible.
fn bounds(lower: &Scalar, upper: &Scalar, truncated: bool) -> (Vec<u8>, Option<Vec<u8>>) {
    let (Scalar::String(lower), Scalar::String(upper), true) = (lower, upper, truncated) else {
        return (encode(lower), Some(encode(upper)));
    };
    let lower: String = lower.chars().take(1).collect();
    let upper = match upper.chars().next() {
        Some(first) if upper.chars().count() > 1 => {
            char::from_u32(u32::from(first) + 1).map(|next| next.to_string().into_bytes())
        }
        _ => Some(upper.clone().into_bytes()),
    };
    (lower.into_bytes(), upper)
}

fn entry(name: &str, rows: &[Row], partition: Vec<(String, Value)>, recorded: &[Recorded]) -> Entry {
    let count = |n: usize| i64::try_from(n).unwrap();
    let mut entry = Entry { record_count: count(rows.len()), partition, ..Entry::data(name) };
    for (column, recorded) in recorded.iter().enumerate() {
        let id = i32::try_from(column).unwrap() + 1;
        let values = rows.iter().filter_map(|row| row[column].as_ref());
        if recorded.counts {
            entry.value_counts.push((id, count(rows.len())));
        }
        if recorded.nulls {
            entry.null_counts.push((id, count(rows.len() - values.clone().count())));
        }
        if recorded.nans && column == 2 {
            entry.nan_counts.push((id, count(values.clone().filter(|value| value.is_nan()).count())));
        }
        let Some((lower, upper)) = range(values) else { continue };
        let (lower, upper) = bounds(lower, upper, recorded.truncated);
        if recorded.lower {
            entry.lower.push((id, lower));
        }
        if let Some(upper) = upper.filter(|_| recorded.upper) {
            entry.upper.push((id, upper));
        }
    }
    entry
}

fn avro(value: Option<&Scalar>) -> Value {
    match value {
        None => Value::Null,
        Some(Scalar::Int32(v)) => Value::Int(*v),
        Some(Scalar::Date(v)) => Value::Date(*v),
        Some(Scalar::Int64(v)) => Value::Long(*v),
        Some(Scalar::Float64(v)) => Value::Double(*v),
        Some(Scalar::String(v)) => Value::String(v.clone()),
        Some(other) => panic!("no partition value: {other:?}"),
    }
}

/// Returns a name that no partition field at another position has.
fn field_name(position: usize) -> String {
    format!("p{position}")
}

fn tuple(row: &Row, spec: &[(usize, Transform)]) -> Vec<Option<Scalar>> {
    let apply = |(column, transform): &(usize, Transform)| {
        row[*column].as_ref().and_then(|v| transform.apply_scalar(v).unwrap())
    };
    spec.iter().map(apply).collect()
}

fn summary(values: &[Option<&Scalar>]) -> Summary {
    let present = values.iter().flatten().copied();
    let nan = present.clone().any(Scalar::is_nan);
    let range = range(present.clone());
    let (lower, upper) = range.map(|(lower, upper)| (encode(lower), encode(upper))).unzip();
    (values.iter().any(Option::is_none), Some(nan), lower, upper)
}

/// Returns one manifest of the rows, with a file for each partition, and the rows of each file.
fn manifest(
    name: &str,
    rows: &[Row],
    spec: &[(usize, Transform)],
    recorded: &[Recorded],
    summaries: bool,
) -> (Manifest, BTreeMap<String, Vec<Row>>) {
    let mut partitions: Vec<(Vec<Option<Scalar>>, Vec<Row>)> = Vec::new();
    for row in rows {
        let tuple = tuple(row, spec);
        let same = |known: &Vec<Option<Scalar>>| format!("{known:?}") == format!("{tuple:?}");
        match partitions.iter_mut().find(|(known, _)| same(known)) {
            Some((_, rows)) => rows.push(row.clone()),
            None => partitions.push((tuple, vec![row.clone()])),
        }
    }
    let columns = spec.iter().enumerate().map(|(position, (column, transform))| {
        let avro_type = match transform {
            Transform::Bucket(_) | Transform::Month | Transform::Year => json!("int"),
            _ => avro_type(*column),
        };
        (1000 + i32::try_from(position).unwrap(), field_name(position), avro_type)
    });
    let columns = columns.collect();
    let of_field = |position: usize| partitions.iter().map(|(tuple, _)| tuple[position].as_ref()).collect::<Vec<_>>();
    let summaries = summaries.then(|| (0..spec.len()).map(|position| summary(&of_field(position))).collect());
    let mut files = BTreeMap::new();
    let mut entries = Vec::new();
    for (number, (tuple, rows)) in partitions.iter().enumerate() {
        let partition = tuple.iter().enumerate().map(|(i, value)| (field_name(i), avro(value.as_ref()))).collect();
        let name = format!("{name}-{number}");
        entries.push(entry(&name, rows, partition, recorded));
        files.insert(name, rows.clone());
    }
    (Manifest { spec_id: 0, columns, summaries, ..Manifest::data(name, 1, entries) }, files)
}

/// Rows as columns.
struct Columns<'a>(&'a [Row]);

impl RowColumns for Columns<'_> {
    fn column(&self, id: i32) -> Option<ArrayRef> {
        let column = usize::try_from(id).ok()?.checked_sub(1)?;
        let values = self.0.iter().map(|row| row[column].as_ref());
        macro_rules! primitive {
            ($t:ty, $variant:ident) => {
                Arc::new(
                    values
                        .map(|v| v.map(|v| if let Scalar::$variant(v) = v { *v } else { panic!("{v:?}") }))
                        .collect::<PrimitiveArray<$t>>(),
                )
            };
        }
        Some(match column {
            0 => primitive!(Int32Type, Int32),
            1 => primitive!(Int64Type, Int64),
            2 => primitive!(Float64Type, Float64),
            3 => Arc::new(
                values
                    .map(|v| v.map(|v| if let Scalar::String(v) = v { v.as_str() } else { panic!("{v:?}") }))
                    .collect::<StringArray>(),
            ),
            _ => primitive!(Date32Type, Date),
        })
    }
}

fn matching(predicate: &BoundPredicate, rows: &[Row]) -> Vec<bool> {
    evaluate(predicate, &Columns(rows), rows.len()).unwrap().iter().collect()
}

fn fixture(spec: &[(usize, Transform)]) -> Fixture {
    let columns =
        COLUMNS.iter().zip(1..).map(|((name, t), id)| json!({"id": id, "name": name, "required": false, "type": t}));
    let fields = spec.iter().enumerate().map(|(position, (column, transform))| {
        json!({"source-id": column + 1, "field-id": 1000 + position, "name": field_name(position), "transform": transform.to_string()})
    });
    let spec = json!({"spec-id": 0, "fields": fields.collect::<Vec<_>>()});
    Fixture::of(&columns.collect::<Vec<_>>(), &[spec])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_file_with_a_matching_row_is_planned(
        spec in spec(),
        first in prop::collection::vec(row(), 1..8),
        second in prop::collection::vec(row(), 0..8),
        stats in (recorded(), recorded()),
        summaries in any::<[bool; 2]>(),
        filters in prop::collection::vec(predicate(), 5),
    ) {
        let mut fixture = fixture(&spec);
        let (m1, files) = manifest("m1", &first, &spec, &stats.0, summaries[0]);
        let (m2, more) = manifest("m2", &second, &spec, &stats.1, summaries[1]);
        let files: BTreeMap<_, _> = files.into_iter().chain(more).collect();
        fixture.commit(1, "append", &[m1, m2]);
        let table = fixture.open();
        for row_filter in filters {
            let plan = try_plan(&table, &ScanOptions { row_filter: row_filter.clone(), ..options("") }).unwrap();
            let filter = plan.read().filter.clone();
            let planned = names(&plan);
            for (name, rows) in &files {
                let found = matching(&filter, rows).contains(&true);
                prop_assert!(!found || planned.contains(name), "{} lost {} with {:?}", row_filter, name, rows);
            }
            let (counted, unread) = plan.count().unwrap();
            let mut expected = 0;
            for (index, name) in planned.iter().enumerate() {
                let rows = &files[name];
                let residual = plan.task(index).unwrap().residual().unwrap();
                prop_assert_eq!(matching(&residual, rows), matching(&filter, rows), "{} leaves {:?} of {:?}", row_filter, residual, rows);
                if !unread.contains(&index) {
                    prop_assert!(!matching(&filter, rows).contains(&false), "{} takes {} whole with {:?}", row_filter, name, rows);
                    expected += rows.len() as u64;
                }
            }
            prop_assert_eq!(counted, expected);
        }
    }
}

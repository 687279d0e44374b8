use std::sync::Arc;

use crate::error::ErrorKind;
use crate::sql::expression::Expression;
use arrow_array::{Date32Array, Int64Array, TimestampMicrosecondArray};

use super::super::{Action, Clause};
use super::*;

/// Returns a merger that deletes dates that equal timestamps of the source.
fn merger(zone: Option<&str>) -> (Merger, RecordBatch) {
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), Some(2), None]));
    let target = RecordBatch::try_from_iter([("d", days)]).unwrap();
    let moments = TimestampMicrosecondArray::from(vec![Some(86_400_000_000), Some(2 * 86_400_000_000 + 1), None]);
    let moments: ArrayRef = Arc::new(moments.with_timezone_opt(zone));
    let source = RecordBatch::try_from_iter([("at", moments)]).unwrap();
    let plan = MergePlan {
        target_alias: "t".to_string(),
        source_alias: "s".to_string(),
        on: Expression::parse("t.d = s.at").unwrap(),
        clauses: vec![Clause { when: When::Matched, condition: None, action: Action::Delete }],
        unique_source: false,
        now_micros: 0,
    };
    let mut merger = Merger::new(&plan, target.schema(), source.schema()).unwrap();
    merger.source(source).unwrap();
    merger.seal().unwrap();
    (merger, target)
}

#[test]
fn a_filter_knows_days_of_moments_and_nothing_of_instants() {
    let (merger, target) = merger(None);
    let filter = merger.filter().unwrap().unwrap();
    assert_eq!(filter.to_string(), "d IN (TIMESTAMP '1970-01-02 00:00:00', TIMESTAMP '1970-01-03 00:00:00.000001')");
    assert!(Expression::filter(&filter.to_string()).is_ok());
    assert_eq!(merger.probe(&target).unwrap().deleted, [0]);
}

#[test]
fn instants_are_compared_with_days_without_a_filter() {
    let (merger, target) = merger(Some("UTC"));
    assert_eq!(merger.filter().unwrap(), None);
    assert_eq!(merger.probe(&target).unwrap().deleted, [0]);
}

#[test]
fn only_columns_that_decide_are_needed() {
    let longs = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
    let whole = RecordBatch::try_from_iter(["a", "b", "c"].map(|name| (name, longs(&[1, 2])))).unwrap();
    let source = RecordBatch::try_from_iter([("a", longs(&[2]))]).unwrap();
    let plan = MergePlan {
        target_alias: "t".to_string(),
        source_alias: "s".to_string(),
        on: Expression::parse("t.a = s.a").unwrap(),
        clauses: vec![Clause {
            when: When::Matched,
            condition: Some(Expression::parse("t.c > 0").unwrap()),
            action: Action::Delete,
        }],
        unique_source: false,
        now_micros: 0,
    };
    let mut merger = Merger::new(&plan, whole.schema(), source.schema()).unwrap();
    merger.source(source).unwrap();
    merger.seal().unwrap();
    assert_eq!(merger.target_columns(), ["a", "c"]);
    for columns in [&[0, 2][..], &[0, 1, 2]] {
        assert_eq!(merger.probe_partial(&whole.project(columns).unwrap()).unwrap().deleted, [1]);
    }
    let error = merger.probe_partial(&whole.project(&[0, 1]).unwrap()).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("`c`"), "{error}");
}

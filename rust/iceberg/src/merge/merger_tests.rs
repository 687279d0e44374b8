use std::sync::Arc;

use arrow_array::{Date32Array, TimestampMicrosecondArray};
use frazil_core::expression::Expression;
use frazil_core::predicate::Predicate;

use super::super::{Action, Clause};
use super::*;

/// Deletes days that are moments of the source.
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
    assert_eq!(filter, "d IN (TIMESTAMP '1970-01-02 00:00:00', TIMESTAMP '1970-01-03 00:00:00.000001')");
    assert!(Predicate::parse(&filter).is_ok());
    assert_eq!(merger.probe(&target).unwrap().deleted, [0]);
}

#[test]
fn instants_are_compared_with_days_without_a_filter() {
    let (merger, target) = merger(Some("UTC"));
    assert_eq!(merger.filter().unwrap(), None);
    assert_eq!(merger.probe(&target).unwrap().deleted, [0]);
}

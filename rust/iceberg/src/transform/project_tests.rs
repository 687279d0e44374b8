use arrow_schema::TimeUnit;
use frazil_core::scalar::ScalarType;
use frazil_core::sql::predicate::{LikePart, LikePattern};
use proptest::prelude::*;

use super::super::tests::{transforms, values};
use super::*;
use CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};

const DECIMAL: PrimitiveType = PrimitiveType::Decimal { precision: 9, scale: 2 };

fn spec(transforms: &[Transform]) -> PartitionSpec {
    let field = |(field_id, transform): (i32, &Transform)| PartitionField {
        source_ids: vec![1],
        field_id,
        name: format!("p{}", field_id - 1000),
        transform: transform.clone(),
    };
    PartitionSpec { spec_id: 0, fields: (1000..).zip(transforms).map(field).collect() }
}

fn column(source: &PrimitiveType) -> BoundColumn {
    BoundColumn { id: 1, name: "c".into(), data_type: source.scalar().unwrap(), nullable: true }
}

/// Returns the inclusive and strict projections as text.
fn both(transforms: &[Transform], source: &PrimitiveType, test: Test) -> (String, String) {
    let predicate = BoundPredicate::Leaf(column(source), test);
    let source_types = |id| (id == 1).then(|| source.clone());
    let spec = spec(transforms);
    (show(&inclusive(&predicate, &spec, &source_types)), show(&strict(&predicate, &spec, &source_types)))
}

fn show(predicate: &BoundPredicate) -> String {
    let join = |parts: &[BoundPredicate], by: &str| parts.iter().map(show).collect::<Vec<_>>().join(by);
    match predicate {
        BoundPredicate::True => "true".into(),
        BoundPredicate::False => "false".into(),
        BoundPredicate::And(parts) => format!("({})", join(parts, " and ")),
        BoundPredicate::Or(parts) => format!("({})", join(parts, " or ")),
        BoundPredicate::Leaf(column, test) => format!("{} {}", column.name, show_test(test)),
        BoundPredicate::Condition(condition) => condition.to_string(),
    }
}

fn show_test(test: &Test) -> String {
    let list = |values: &[Scalar]| values.iter().map(show_scalar).collect::<Vec<_>>().join(", ");
    match test {
        Test::Compare(op, value) => {
            let op = match op {
                Lt => "<",
                LtEq => "<=",
                Gt => ">",
                GtEq => ">=",
                Eq => "=",
                NotEq => "!=",
            };
            format!("{op} {}", show_scalar(value))
        }
        Test::In(values) => format!("in {}", list(values)),
        Test::NotIn(values) => format!("not in {}", list(values)),
        Test::StartsWith(value) => format!("starts with {}", show_scalar(value)),
        Test::NotStartsWith(value) => format!("not starts with {}", show_scalar(value)),
        Test::IsNull => "is null".into(),
        Test::NotNull => "not null".into(),
        other => format!("{other:?}"),
    }
}

fn show_scalar(value: &Scalar) -> String {
    match value {
        Scalar::Int32(value) | Scalar::Date(value) => value.to_string(),
        Scalar::Int64(value) => value.to_string(),
        Scalar::Decimal { unscaled, .. } => unscaled.to_string(),
        Scalar::String(text) => text.clone(),
        other => format!("{other:?}"),
    }
}

fn micros(value: i64) -> Scalar {
    Scalar::Timestamp { value, unit: TimeUnit::Microsecond, utc: false }
}

fn text(text: &str) -> Scalar {
    Scalar::String(text.into())
}

/// Checks cases of one transform: a test, its inclusive and its strict projection.
fn check(transform: &Transform, source: &PrimitiveType, cases: Vec<(Test, &str, &str)>) {
    for (test, inclusive, strict) in cases {
        let name = format!("{transform:?} {}", show_test(&test));
        let found = both(std::slice::from_ref(transform), source, test);
        assert_eq!((found.0.as_str(), found.1.as_str()), (inclusive, strict), "{name}");
    }
}

fn compares(
    ops: &[(CompareOp, &'static str, &'static str)],
    value: &Scalar,
) -> Vec<(Test, &'static str, &'static str)> {
    ops.iter().map(|(op, inclusive, strict)| (Test::Compare(*op, value.clone()), *inclusive, *strict)).collect()
}

#[test]
fn identity_keeps_every_test() {
    let like = LikePattern { text: "%x".into(), parts: vec![LikePart::Any, LikePart::Text("x".into())] };
    for test in [
        Test::Compare(Lt, text("a")),
        Test::NotNan,
        Test::IsNull,
        Test::NotStartsWith(text("a")),
        Test::Like(Arc::new(like.clone())),
        Test::NotLike(Arc::new(like)),
    ] {
        let expected = format!("p0 {}", show_test(&test));
        assert_eq!(both(&[Transform::Identity], &PrimitiveType::String, test), (expected.clone(), expected));
    }
}

#[test]
fn buckets_answer_equality_only() {
    let (value, others) = (Scalar::Int32(34), [0, 1].map(Scalar::Int32));
    let mut cases = compares(
        &[
            (Eq, "p0 = 79", "false"),
            (NotEq, "p0 not null", "p0 != 79"),
            (Lt, "p0 not null", "false"),
            (LtEq, "p0 not null", "false"),
            (Gt, "p0 not null", "false"),
            (GtEq, "p0 not null", "false"),
        ],
        &value,
    );
    cases.push((Test::In(others.clone().into()), "p0 in 56, 76", "false"));
    cases.push((Test::NotIn(others.into()), "p0 not null", "p0 not in 56, 76"));
    cases.push((Test::IsNull, "p0 is null", "p0 is null"));
    cases.push((Test::NotNull, "p0 not null", "p0 not null"));
    check(&Transform::Bucket(100), &PrimitiveType::Int, cases);
    let one: Arc<[Scalar]> = [0, 1].map(Scalar::Int32).into();
    check(&Transform::Bucket(1), &PrimitiveType::Int, vec![(Test::In(one), "p0 = 0", "false")]);
}

#[test]
fn truncated_numbers_compare_by_their_step() {
    let cases = [
        (Lt, "p0 <= 90", "p0 < 100"),
        (LtEq, "p0 <= 100", "p0 < 100"),
        (Gt, "p0 >= 100", "p0 > 100"),
        (GtEq, "p0 >= 100", "p0 > 90"),
        (Eq, "p0 = 100", "false"),
        (NotEq, "p0 not null", "p0 != 100"),
    ];
    let decimal = Scalar::Decimal { unscaled: 100, precision: 9, scale: 2 };
    check(&Transform::Truncate(10), &DECIMAL, compares(&cases, &decimal));
    let wrapped = [
        (Lt, "(p0 <= 90 or p0 = 2147483646)", "p0 < 100"),
        (LtEq, "(p0 <= 100 or p0 = 2147483646)", "p0 < 100"),
        (Gt, "p0 >= 100", "(p0 > 100 and p0 != 2147483646)"),
        (GtEq, "p0 >= 100", "(p0 > 90 and p0 != 2147483646)"),
        (Eq, "p0 = 100", "false"),
        (NotEq, "p0 not null", "p0 != 100"),
    ];
    check(&Transform::Truncate(10), &PrimitiveType::Int, compares(&wrapped, &Scalar::Int32(100)));
}

#[test]
fn numbers_at_the_ends_of_their_type_lose_no_row() {
    let least = [
        (Lt, "p0 not null", "false"),
        (LtEq, "p0 = 2147483646", "false"),
        (Gt, "p0 not null", "(p0 > -2147483640 and p0 != 2147483646)"),
        (GtEq, "p0 not null", "false"),
        (Eq, "p0 = 2147483646", "false"),
    ];
    // The strict projection of `>` at the lowest value is the complement of its first step only.
    let least = least.map(|case| if case.0 == Gt { (Gt, "p0 not null", "p0 != 2147483646") } else { case });
    check(&Transform::Truncate(10), &PrimitiveType::Int, compares(&least, &Scalar::Int32(i32::MIN)));
    let most = [
        (Gt, "p0 not null", "(p0 > 2147483640 and p0 != 2147483646)"),
        (LtEq, "(p0 <= 2147483640 or p0 = 2147483646)", "false"),
    ];
    check(&Transform::Truncate(10), &PrimitiveType::Int, compares(&most, &Scalar::Int32(i32::MAX)));
    let even = [(Lt, "p0 <= -16", "p0 < 0"), (Gt, "p0 >= 0", "p0 > 0")];
    check(&Transform::Truncate(16), &PrimitiveType::Int, compares(&even, &Scalar::Int32(0)));
    let most = Scalar::Decimal { unscaled: 999_999_999, precision: 9, scale: 2 };
    check(&Transform::Truncate(10), &DECIMAL, compares(&[(Gt, "p0 not null", "p0 > 999999990")], &most));
    let least = Scalar::Decimal { unscaled: -999_999_999, precision: 9, scale: 2 };
    check(&Transform::Truncate(10), &DECIMAL, compares(&[(GtEq, "p0 not null", "false")], &least));
}

#[test]
fn truncated_text_compares_by_code_points() {
    let clef = "\u{1d11e}";
    let (wide, wide_longer) = (format!("{clef}a"), format!("{clef}ab"));
    let wide_equal = format!("p0 = {wide}");
    let wide_starts = format!("p0 starts with {wide}");
    let mut cases = compares(
        &[
            (Lt, "p0 <= ab", "p0 < ab"),
            (LtEq, "p0 <= ab", "p0 < ab"),
            (Gt, "p0 >= ab", "p0 > ab"),
            (GtEq, "p0 >= ab", "p0 > ab"),
            (Eq, "p0 = ab", "false"),
            (NotEq, "p0 not null", "p0 != ab"),
        ],
        &text("abc"),
    );
    cases.extend([
        (Test::StartsWith(text("a")), "p0 starts with a", "p0 starts with a"),
        (Test::StartsWith(text("ab")), "p0 = ab", "p0 = ab"),
        (Test::StartsWith(text("abc")), "p0 starts with ab", "false"),
        (Test::NotStartsWith(text("a")), "p0 not starts with a", "p0 not starts with a"),
        (Test::NotStartsWith(text("ab")), "p0 != ab", "p0 != ab"),
        (Test::NotStartsWith(text("abc")), "p0 not null", "p0 not starts with ab"),
        (Test::StartsWith(text(clef)), "p0 starts with \u{1d11e}", "p0 starts with \u{1d11e}"),
        (Test::StartsWith(text(&wide)), &wide_equal, &wide_equal),
        (Test::StartsWith(text(&wide_longer)), &wide_starts, "false"),
        (Test::StartsWith(text("")), "p0 starts with ", "p0 starts with "),
    ]);
    check(&Transform::Truncate(2), &PrimitiveType::String, cases);
}

#[test]
fn projection_tolerates_off_by_one_tuples_before_the_epoch() {
    let year_before = Scalar::Date(-365);
    let cases = [
        (Lt, "p0 <= -12", "p0 < -12"),
        (LtEq, "p0 <= -11", "p0 < -12"),
        (Gt, "p0 >= -12", "p0 > -11"),
        (GtEq, "p0 >= -12", "p0 > -12"),
        (Eq, "p0 in -12, -11", "false"),
        (NotEq, "p0 not null", "p0 not in -12, -11"),
    ];
    check(&Transform::Month, &PrimitiveType::Date, compares(&cases, &year_before));
    let days = [
        (Lt, "p0 <= -3", "p0 < -2"),
        (LtEq, "p0 <= -2", "p0 < -1"),
        (Gt, "p0 >= -1", "p0 > -2"),
        (GtEq, "p0 >= -2", "p0 > -3"),
        (Eq, "p0 = -2", "false"),
        (NotEq, "p0 not null", "p0 != -2"),
    ];
    check(&Transform::Day, &PrimitiveType::Date, compares(&days, &Scalar::Date(-2)));
}

#[test]
fn hour_projection_tolerates_off_by_one_tuples_at_the_epoch() {
    let hour = 3_600_000_000;
    let at = |value, ops: &[(CompareOp, &'static str, &'static str)]| {
        check(&Transform::Hour, &PrimitiveType::Timestamp, compares(ops, &micros(value)));
    };
    at(
        0,
        &[
            (Lt, "p0 <= 0", "p0 < -1"),
            (LtEq, "p0 <= 0", "p0 < -1"),
            (Gt, "p0 >= -1", "p0 > 0"),
            (GtEq, "p0 >= -1", "p0 > 0"),
            (Eq, "p0 = 0", "false"),
            (NotEq, "p0 not null", "p0 != 0"),
        ],
    );
    at(1, &[(Eq, "p0 in -1, 0", "false")]);
    at(1_000_000, &[(Gt, "p0 >= 0", "p0 > 0"), (Eq, "p0 = 0", "false"), (Lt, "p0 <= 0", "p0 < 0")]);
    at(
        5 * hour,
        &[
            (Lt, "p0 <= 4", "p0 < 5"),
            (LtEq, "p0 <= 5", "p0 < 5"),
            (Gt, "p0 >= 5", "p0 > 5"),
            (GtEq, "p0 >= 5", "p0 > 4"),
        ],
    );
    at(i64::MAX, &[(LtEq, "p0 not null", "false"), (Gt, "p0 not null", "false")]);
}

#[test]
fn uninformative_transforms_are_omitted_from_projections() {
    let test = || Test::Compare(Eq, Scalar::Int32(1));
    for transform in [Transform::Void, Transform::Unknown("zorder".into()), Transform::Day, Transform::Bucket(0)] {
        assert_eq!(both(&[transform], &PrimitiveType::Int, test()), ("true".into(), "false".into()));
    }
    let predicate = BoundPredicate::Leaf(column(&PrimitiveType::Int), test());
    let mut several = spec(&[Transform::Identity]);
    several.fields[0].source_ids = vec![1, 2];
    assert_eq!(inclusive(&predicate, &several, &|_| Some(PrimitiveType::Int)), BoundPredicate::True);
    let dropped = spec(&[Transform::Identity]);
    assert_eq!(inclusive(&predicate, &dropped, &|_| None), BoundPredicate::True);
    assert_eq!(strict(&predicate, &dropped, &|_| Some(PrimitiveType::Long)), BoundPredicate::False);
}

#[test]
fn several_fields_on_one_column_all_count() {
    let transforms = [Transform::Bucket(100), Transform::Void, Transform::Truncate(16)];
    let (inclusive, strict) = both(&transforms, &PrimitiveType::Int, Test::Compare(Eq, Scalar::Int32(34)));
    assert_eq!((inclusive.as_str(), strict.as_str()), ("(p0 = 79 and p2 = 32)", "false"));
    let (inclusive, strict) = both(&transforms, &PrimitiveType::Int, Test::Compare(NotEq, Scalar::Int32(34)));
    assert_eq!(inclusive, "(p0 not null and p2 not null)");
    assert_eq!(strict, "(p0 != 79 or p2 != 32)");
}

#[test]
fn a_partition_field_is_a_column_of_its_own() {
    let predicate = BoundPredicate::Leaf(column(&PrimitiveType::Timestamp), Test::IsNull);
    let projected = inclusive(&predicate, &spec(&[Transform::Day]), &|_| Some(PrimitiveType::Timestamp));
    let column = BoundColumn { id: 1000, name: "p0".into(), data_type: ScalarType::Date, nullable: true };
    assert_eq!(projected, BoundPredicate::Leaf(column, Test::IsNull));
}

/// Returns the tuples under which writers, correct and incorrect ones, have stored a value.
fn tuples(transform: &Transform, source: &PrimitiveType, value: &Scalar) -> Vec<Option<Scalar>> {
    let Ok(tuple) = transform.apply_scalar(value) else { return Vec::new() };
    let mut tuples = vec![tuple.clone()];
    if let (Some(unit), Some(ticks), Some(tuple)) = (Unit::of(transform), temporal::ticks(value), tuple) {
        let count = i32::try_from(unit.count(source, ticks)).unwrap();
        assert_eq!(tuple, unit.scalar(count));
        if count < 0 && !(unit == Unit::Day && *source == PrimitiveType::Date) {
            tuples.push(Some(unit.scalar(count + 1)));
        }
        if temporal::ticks_per_second(source).is_some_and(|second| (1..second).contains(&ticks)) {
            tuples.push(Some(unit.scalar(-1)));
        }
    }
    tuples
}

/// Returns all tests that a type supports, with these literals.
fn tests_of(source: &PrimitiveType, literals: &[Scalar]) -> Vec<Test> {
    let mut tests = vec![Test::IsNull, Test::NotNull, Test::NotNan];
    if source.scalar().unwrap().is_float() {
        tests.push(Test::IsNan);
    }
    for literal in literals {
        tests.extend([Lt, LtEq, Gt, GtEq, Eq, NotEq].map(|op| Test::Compare(op, literal.clone())));
        if matches!(literal, Scalar::String(_) | Scalar::Binary(_)) {
            tests.extend([Test::StartsWith(literal.clone()), Test::NotStartsWith(literal.clone())]);
        }
        if let Scalar::String(text) = literal {
            let parts = vec![LikePart::Any, LikePart::Text(text.clone())];
            let pattern = Arc::new(LikePattern { text: String::new(), parts });
            tests.extend([Test::Like(Arc::clone(&pattern)), Test::NotLike(pattern)]);
        }
    }
    let mut sorted = literals.to_vec();
    sorted.sort_by(|a, b| a.compare(b).unwrap());
    sorted.dedup();
    if sorted.len() > 1 {
        tests.extend([Test::In(sorted.clone().into()), Test::NotIn(sorted.into())]);
    }
    tests
}

#[test]
fn no_matching_row_is_pruned_and_no_other_row_is_taken_unseen() {
    for (source, transforms) in transforms() {
        for transform in &transforms {
            let spec = spec(&[transform.clone(), Transform::Void]);
            let source_types = |_| Some(source.clone());
            let rows = (values(&source), proptest::collection::vec(values(&source), 1..4));
            let config = ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
            proptest!(config, |((value, mut literals) in rows)| {
                literals.push(value.clone());
                let mut rows = vec![(None, None)];
                rows.extend(tuples(transform, &source, &value).into_iter().map(|tuple| (Some(&value), tuple)));
                for test in tests_of(&source, &literals) {
                    let predicate = BoundPredicate::Leaf(column(&source), test.clone());
                    let inclusive = inclusive(&predicate, &spec, &source_types);
                    let strict = strict(&predicate, &spec, &source_types);
                    for (value, tuple) in &rows {
                        let matches = passes(&test, *value).unwrap();
                        let fields = |id| Some(if id == 1000 { tuple.clone() } else { None });
                        let told = format!("{transform:?} {source:?} {test:?} {value:?} in {tuple:?}");
                        let (may, must) = (evaluate(&inclusive, &fields).unwrap(), evaluate(&strict, &fields).unwrap());
                        prop_assert!(may || !matches, "inclusive {told}: {}", show(&inclusive));
                        prop_assert!(matches || !must, "strict {told}: {}", show(&strict));
                        let left = residual(&predicate, &spec, &source_types, &fields);
                        let row = |_| Some(value.cloned());
                        prop_assert_eq!(evaluate(&left, &row), Some(matches), "residual {}", told);
                    }
                }
            });
        }
    }
}

#[test]
fn a_residual_keeps_only_what_the_partition_tuple_does_not_decide() {
    let leaf = |test| BoundPredicate::Leaf(column(&PrimitiveType::Timestamp), test);
    let day = 86_400_000_000;
    let (from, to) = (leaf(Test::Compare(GtEq, micros(10 * day))), leaf(Test::Compare(Lt, micros(20 * day + 1))));
    let between = BoundPredicate::And(vec![from.clone(), to.clone()]);
    let outside = BoundPredicate::Or(vec![leaf(Test::IsNull), leaf(Test::Compare(Lt, micros(10 * day)))]);
    let spec = spec(&[Transform::Day]);
    let at = |predicate: &BoundPredicate, tuple: Option<Option<Scalar>>| {
        residual(predicate, &spec, &|_| Some(PrimitiveType::Timestamp), &|_| tuple.clone())
    };
    let on = |day| Some(Some(Scalar::Date(day)));
    assert_eq!(at(&between, on(9)), BoundPredicate::False);
    assert_eq!(at(&between, on(10)), BoundPredicate::True);
    assert_eq!(at(&between, on(20)), to);
    assert_eq!(at(&between, on(21)), BoundPredicate::False);
    assert_eq!(at(&between, Some(None)), BoundPredicate::False);
    assert_eq!(at(&between, None), between);
    assert_eq!(at(&outside, on(9)), BoundPredicate::True);
    assert_eq!(at(&outside, on(10)), BoundPredicate::False);
    assert_eq!(at(&outside, Some(None)), BoundPredicate::True);
    // A tuple whose type differs from the spec decides nothing.
    assert_eq!(at(&between, Some(Some(Scalar::Int64(9)))), between);
}

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int32Array,
    LargeListArray, NullArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use rstest::rstest;

use super::bind::Scope;
use super::rows::{Relation, Rows};
use super::*;
use crate::error::ErrorKind;
use crate::sql::predicate::bind::bind;
use crate::sql::predicate::eval::evaluate;
use crate::sql::predicate::testing::{self, Names, TYPES};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn values(text: &str, batch: &RecordBatch) -> crate::error::Result<ArrayRef> {
    let schema = batch.schema();
    let bound = Scope::new(vec![("t", Some(&schema))], 0).bind(&Expression::parse(text)?)?;
    bound.evaluate(&Rows::new(batch.num_rows(), vec![Some(Relation::whole(batch))]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// A predicate and an expression with the same text keep the same rows.
    #[test]
    fn conditions_hold_where_predicates_do(predicate in testing::predicates(), rows in testing::rows()) {
        let rows = testing::columns(&rows);
        let names = Names(TYPES.to_vec());
        let bound = bind(&predicate, &names, true).unwrap();
        let columns: Vec<(&str, ArrayRef)> =
            TYPES.iter().zip(0..).map(|((name, _), id)| (*name, rows.0[&id].clone())).collect();
        let batch = batch(columns);
        let expected = evaluate(&bound, &rows, batch.num_rows()).unwrap();
        let schema = batch.schema();
        let text = predicate.to_string();
        let bound = Scope::new(vec![("t", Some(&schema))], 0).bind_condition(&Expression::parse(&text).unwrap()).unwrap();
        let rows = Rows::new(batch.num_rows(), vec![Some(Relation::whole(&batch))]);
        prop_assert_eq!(bound.holds(&rows).unwrap(), expected, "{}", text);
    }
}

fn numbers() -> RecordBatch {
    batch(vec![
        ("i", Arc::new(Int32Array::from(vec![Some(1), None, Some(0)]))),
        ("f", Arc::new(Float64Array::from(vec![-0.0, f64::NAN, 1.0]))),
        ("s", Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]))),
    ])
}

#[rstest]
#[case("i + 1", DataType::Int32)]
#[case("i + 3000000000", DataType::Int64)]
#[case("i / 2", DataType::Float64)]
#[case("i * 1.5", DataType::Decimal128(13, 1))]
#[case("i + f", DataType::Float64)]
#[case("1.5 * 1.5", DataType::Decimal128(5, 2))]
#[case("coalesce(i, 1.5)", DataType::Decimal128(11, 1))]
#[case("case when i = 1 then i else 3000000000 end", DataType::Int64)]
#[case("null", DataType::Null)]
#[case("null + 1", DataType::Int32)]
#[case("length(s)", DataType::Int32)]
fn types_follow_their_rules(#[case] text: &str, #[case] expected: DataType) {
    assert_eq!(*values(text, &numbers()).unwrap().data_type(), expected);
}

/// Arrow allows decimals whose precision is less than the scale, and negative scales, which add zeros before the point.
#[rstest]
#[case("d + e", -100, 2, None)]
#[case("d * d", -100, 2, None)]
#[case("d * d", -2, 2, Some("1000000"))]
#[case("d + e", -2, 2, Some("1000.10"))]
#[case("case when d > e then 1 end", -2, 2, Some("1"))]
#[case("case when d > e then 1 end", -100, 38, None)]
fn scales_may_be_negative(#[case] text: &str, #[case] d: i8, #[case] e: i8, #[case] expected: Option<&str>) {
    let decimal =
        |scale| -> ArrayRef { Arc::new(Decimal128Array::from(vec![10]).with_precision_and_scale(38, scale).unwrap()) };
    let found = values(text, &batch(vec![("d", decimal(d)), ("e", decimal(e))])).ok();
    let shown = found.map(|found| arrow_cast::display::array_value_to_string(&found, 0).unwrap());
    assert_eq!(shown.as_deref(), expected);
}

#[test]
fn operators_keep_no_more_of_their_text_than_messages_show() {
    let text = format!("'{}' || s", "x".repeat(100_000));
    let Expression::Call(Function::Concat, _, kept) = Expression::parse(&text).unwrap() else { panic!() };
    assert!(kept.starts_with("'xxx") && kept.ends_with("...") && kept.len() < 200, "{}", kept.len());
}

#[test]
fn only_rows_that_need_it_are_divided() {
    let found = values("case when i <> 0 then 10 % i end", &numbers()).unwrap();
    assert_eq!(found.as_ref(), &Int32Array::from(vec![Some(0), None, None]) as &dyn Array);
    assert!(values("i = 0 or 10 % i = 0", &numbers()).is_ok());
    assert!(values("i <> 0 and 10 % i = 0", &numbers()).is_ok());
    assert!(values("10 % i = 0 and i <> 0", &numbers()).unwrap_err().to_string().contains("`10 % i`"));
}

#[rstest]
#[case("1", "i", true)]
#[case("1.0", "i", true)]
#[case("1.5", "i", false)]
#[case("3000000000", "i", false)]
#[case("i + 1", "i", true)]
#[case("f", "i", false)]
#[case("0.1", "f", true)]
#[case("i", "f", true)]
#[case("i * 1.0", "f", true)]
#[case("i + 3000000000", "i", true)]
#[case("i * 1.5", "i", false)]
#[case("f * 1.5", "i", false)]
#[case("'1'", "i", false)]
#[case("cast('1' as int)", "i", true)]
#[case("i", "s", false)]
#[case("null", "s", true)]
fn columns_take_numbers_that_keep_their_whole_part(#[case] text: &str, #[case] column: &str, #[case] taken: bool) {
    let schema = numbers().schema();
    let bound = Scope::new(vec![("t", Some(&schema))], 0).bind(&Expression::parse(text).unwrap()).unwrap();
    let assigned = bound.assign(schema.field_with_name(column).unwrap());
    assert_eq!(assigned.is_ok(), taken, "{assigned:?}");
}

/// Returns a struct `s` of one field with this type and nullability.
fn struct_of(data_type: DataType, nullable: bool) -> DataType {
    DataType::Struct(vec![Field::new("x", data_type, nullable)].into())
}

#[rstest]
#[case(vec![true, true], false)]
#[case(vec![true, false], true)]
fn null_in_a_required_part_is_refused_where_it_is_seen(#[case] valid: Vec<bool>, #[case] taken: bool) {
    let DataType::Struct(fields) = struct_of(DataType::Int32, true) else { panic!() };
    let values = Arc::new(Int32Array::from(vec![Some(1), None]));
    let structs: ArrayRef = Arc::new(StructArray::new(fields, vec![values], Some(valid.into())));
    let to = struct_of(DataType::Int64, false);
    let kind = |array: &ArrayRef, to: &DataType| widened(array, to).map_err(|error| error.kind());
    assert_eq!(
        kind(&structs, &to).map(|array| array.data_type().clone()),
        if taken { Ok(to.clone()) } else { refused() }
    );
    // Lists with all offset sizes, whose elements are these structs with one additional field.
    let element = Arc::new(Field::new("item", structs.data_type().clone(), true));
    let lists: ArrayRef = Arc::new(LargeListArray::new(element, OffsetBuffer::from_lengths([1, 1]), structs, None));
    let mut wider = vec![Field::new("y", DataType::Utf8, true)];
    wider.push(Field::new("x", DataType::Int64, false));
    let to = DataType::List(Arc::new(Field::new("item", DataType::Struct(wider.into()), true)));
    assert_eq!(kind(&lists, &to).map(|array| array.len()), if taken { Ok(2) } else { refused() });
}

fn refused<T>() -> Result<T, ErrorKind> {
    Err(ErrorKind::InvalidArgument)
}

#[rstest]
#[case("null is distinct from x", Some(false))]
#[case("x is distinct from null", Some(false))]
#[case("null <=> x", Some(true))]
#[case("x = null", None)]
#[case("null = x", None)]
#[case("x in (1, x)", None)]
fn a_column_of_nothing_is_compared_as_null_is(#[case] text: &str, #[case] expected: Option<bool>) {
    let found = values(text, &batch(vec![("x", Arc::new(NullArray::new(3)))])).unwrap();
    assert_eq!(found.as_ref(), &BooleanArray::from(vec![expected; 3]) as &dyn Array);
}

/// Members are looked up together; the result must equal that of comparing with each of them.
#[rstest]
#[case("i", &["1", "2", "1.5", "null", "i", "10 / i"])]
#[case("cast(i as long)", &["0", "3000000000"])]
#[case("cast(i as float)", &["0.1", "1"])]
#[case("f", &["0", "nan", "7"])]
#[case("cast(i as decimal(9, 2))", &["0", "1.00", "1.005"])]
#[case("s", &["'b'", "'a'", "'b'", "null"])]
#[case("cast(s as binary)", &["X'61'", "X''"])]
#[case("cast(i as boolean)", &["true", "null"])]
#[case("d", &["date '1970-01-02'", "timestamp '1970-01-01 00:00:00'"])]
#[case("cast(d as timestamp)", &["timestamp '1970-01-02 00:00:00'", "date '1970-01-01'"])]
#[case("null", &["1", "null"])]
#[case("1", &["1", "2"])]
fn in_is_equal_to_one_of_them(#[case] value: &str, #[case] members: &[&str]) {
    let numbers = numbers();
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), None, Some(0)]));
    let columns = ["i", "f", "s"].map(|name| (name, numbers[name].clone())).into_iter();
    let batch = batch(columns.chain([("d", days)]).collect());
    for count in 1..=members.len() {
        let members = &members[..count];
        let each: Vec<String> = members.iter().map(|member| format!("{value} = {member}")).collect();
        let together = format!("{value} in ({})", members.join(", "));
        let expected = values(&each.join(" or "), &batch).unwrap();
        assert_eq!(values(&together, &batch).unwrap().as_ref(), expected.as_ref(), "{together}");
    }
}

#[rstest]
#[case("case when d = '1970-01-02' then 1 end", &[Some("1"), None, None])]
#[case("d < '1970-01-01 12:00:00'", &[Some("false"), None, Some("true")])]
#[case("coalesce(d, date '1970-01-03') >= '1970-01-02'", &[Some("true"), Some("true"), Some("false")])]
#[case("i = 1.5", &[Some("false"), None, Some("false")])]
#[case("not i = 1.5", &[Some("true"), None, Some("true")])]
#[case("i < 3e9", &[Some("true"), None, Some("true")])]
#[case("i is distinct from 1.5", &[Some("true"), Some("true"), Some("true")])]
#[case("i is distinct from 1", &[Some("false"), Some("true"), Some("true")])]
#[case("i + 1 in (1.5, 2)", &[Some("true"), None, Some("false")])]
#[case("i in ()", &[Some("false"), Some("false"), Some("false")])]
#[case("i in (1.5)", &[Some("false"), None, Some("false")])]
#[case("i in (1, null)", &[Some("true"), None, None])]
#[case("cast(s as binary) = X'61'", &[Some("true"), None, Some("false")])]
#[case("u = '00000000-0000-0000-0000-000000000001'", &[Some("true"), None, None])]
#[case("u in ('00000000-0000-0000-0000-000000000001', X'00')", &[Some("true"), None, None])]
fn a_literal_takes_the_type_of_the_value_beside_it(#[case] text: &str, #[case] expected: &[Option<&str>]) {
    let numbers = numbers();
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), None, Some(0)]));
    let columns = ["i", "f", "s"].map(|name| (name, numbers[name].clone())).into_iter();
    let mut one = [0; 16];
    one[15] = 1;
    let uuids = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some(one), None, None].into_iter(), 16).unwrap();
    let batch = batch(columns.chain([("d", days), ("u", Arc::new(uuids) as ArrayRef)]).collect());
    let found = values(text, &batch).unwrap();
    let shown = (0..3)
        .map(|row| (!found.is_null(row)).then(|| arrow_cast::display::array_value_to_string(&found, row).unwrap()));
    let shown: Vec<Option<String>> = shown.collect();
    assert_eq!(shown, expected.iter().map(|value| value.map(str::to_string)).collect::<Vec<_>>());
}

#[rstest]
#[case(
    "case when s = 5 then 1 end",
    "a value of type string cannot be compared with 5; write a string in single quotes"
)]
#[case("length(s) > 'x'", "a value of type int cannot be compared with 'x'; write a number")]
#[case("i in (1, 'x')", "a value of type int cannot be compared with 'x'")]
fn a_literal_of_another_type_is_refused(#[case] text: &str, #[case] expected: &str) {
    let error = values(text, &numbers()).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn a_statement_has_one_moment() {
    let scope = Scope::new(vec![], 1_700_000_000_000_000);
    let bound = scope.bind(&Expression::parse("current_timestamp = current_timestamp() ").unwrap()).unwrap();
    assert!(bound.holds(&Rows::new(1, vec![])).unwrap().value(0));
    let day = scope.bind(&Expression::parse("current_date = date '2023-11-14'").unwrap()).unwrap();
    assert!(day.holds(&Rows::new(1, vec![])).unwrap().value(0));
}

#[rstest]
#[case("cast(1.005e0 as decimal(9, 2))", Some("1.01"))]
#[case("cast(-2.5e0 as decimal(9, 0))", Some("-3"))]
#[case("cast(1.0049e0 as decimal(9, 2))", Some("1.00"))]
#[case("cast(1e-30 as decimal(38, 38))", Some("0.00000000000000000000000000000100000000"))]
#[case("cast(999.995e0 as decimal(5, 2))", None)]
#[case("cast(1e300 as decimal(38, 0))", None)]
#[case("cast(cast('nan' as double) as decimal(9, 2))", None)]
fn doubles_become_decimals_by_their_shortest_digits(#[case] text: &str, #[case] expected: Option<&str>) {
    let one = batch(vec![("x", Arc::new(Int32Array::from(vec![1])))]);
    let found = values(text, &one);
    match expected {
        Some(expected) => assert_eq!(found.unwrap().as_primitive::<Decimal128Type>().value_as_string(0), expected),
        None => assert_eq!(found.unwrap_err().kind(), ErrorKind::InvalidArgument),
    }
    let tried = values(&text.replacen("cast", "try_cast", 1), &one).unwrap();
    assert_eq!(tried.is_null(0), expected.is_none());
}

#[rstest]
#[case("DATE '2024-01-31' + INTERVAL 1 MONTH", "DATE '2024-02-29'")]
#[case("DATE '2024-02-29' - INTERVAL '1' YEAR", "DATE '2023-02-28'")]
#[case("DATE '2024-03-01' - INTERVAL '1 week 1 day'", "DATE '2024-02-22'")]
#[case("DATE '2024-03-01' - INTERVAL 12 HOURS", "TIMESTAMP '2024-02-29 12:00:00'")]
#[case("TIMESTAMP '1970-01-01 00:00:00' - INTERVAL '0.000001' SECOND", "TIMESTAMP '1969-12-31 23:59:59.999999'")]
#[case(
    "TIMESTAMP '2024-01-31 23:59:59.123456789' + INTERVAL 1 MONTH 1 DAY",
    "TIMESTAMP '2024-03-01 23:59:59.123456789'"
)]
#[case("TIMESTAMP '2024-01-01 00:00:00Z' + INTERVAL '-1 hour'", "TIMESTAMP '2023-12-31 23:00:00Z'")]
#[case("DATE '2024-01-01' + INTERVAL 1 DAY - INTERVAL 2 DAYS", "DATE '2023-12-31'")]
fn intervals_are_added_as_in_spark(#[case] text: &str, #[case] expected: &str) {
    let row = batch(vec![("x", Arc::new(Int32Array::from(vec![1])))]);
    let parsed = Expression::parse(text).unwrap();
    assert_eq!(values(text, &row).unwrap().as_ref(), values(expected, &row).unwrap().as_ref());
    assert_eq!(values(&parsed.to_string(), &row).unwrap().as_ref(), values(expected, &row).unwrap().as_ref());
}

#[rstest]
#[case("DATE '2024-01-01' + INTERVAL 99999999 YEARS", "does not fit")]
#[case("x + INTERVAL 1 DAY", "does not accept int")]
#[case("DATE '2024-01-01' + INTERVAL '1-2' YEAR TO MONTH", "not a supported interval")]
#[case("DATE '2024-01-01' + INTERVAL '1' FORTNIGHT", "not a supported interval")]
#[case("DATE '2024-01-01' + INTERVAL 1.5 DAYS", "not a supported interval")]
#[case("year('2024-01-01')", "does not accept string")]
fn unsupported_intervals_and_parts_are_refused(#[case] text: &str, #[case] expected: &str) {
    let error = values(text, &batch(vec![("x", Arc::new(Int32Array::from(vec![1])))])).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// A range of a column, to which a filter is converted, keeps the rows for which the condition holds.
    #[test]
    fn years_and_days_are_compared_as_ranges(
        micros in prop::collection::vec(prop::option::weighted(0.9, -70_000_000_000_000_000..70_000_000_000_000_000_i64), 1..20),
        year in prop::sample::select(vec!["-248", "1", "1969", "1970", "1970.5", "2024", "3e9", "null"]),
        op in prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">=", "in", "not in"]),
    ) {
        let days: Vec<Option<i32>> =
            micros.iter().map(|value| value.map(|value| i32::try_from(value.div_euclid(86_400_000_000)).unwrap())).collect();
        let times = TimestampMicrosecondArray::from(micros);
        let batch = batch(vec![
            ("d", Arc::new(Date32Array::from(days))),
            ("ts", Arc::new(times.clone())),
            ("tz", Arc::new(times.with_timezone("UTC"))),
        ]);
        let types = ["d", "ts", "tz"].map(|name| {
            let field = batch.schema().field_with_name(name).unwrap().clone();
            (name, scalar_type(field.data_type()).unwrap())
        });
        let columns = testing::Rows((0..).zip(batch.columns().iter().cloned()).collect());
        let schema = batch.schema();
        for name in ["d", "ts", "tz"] {
            let day = format!("date '{:0>4}-03-01'", year.trim_start_matches('-'));
            let right = |value: &str| if op.ends_with("in") { format!("({value}, {value})") } else { value.to_string() };
            let mut texts = vec![format!("year({name}) {op} {}", right(year))];
            if year.parse::<u16>().is_ok() {
                texts.push(format!("date({name}) {op} {}", right(&day)));
            }
            for text in texts.iter().flat_map(|text| [text.clone(), format!("not ({text})")]) {
                let condition = Expression::parse(&text).unwrap();
                let bound = bind(&condition, &testing::Names(types.to_vec()), true).unwrap();
                prop_assert!(!bound.has_condition() || year == "null" || year == "3e9" || year == "1970.5", "{text}");
                let kept = evaluate(&bound, &columns, batch.num_rows()).unwrap();
                let rows = Rows::new(batch.num_rows(), vec![Some(Relation::whole(&batch))]);
                let expected = Scope::new(vec![("t", Some(&schema))], 0).bind_condition(&condition).unwrap();
                prop_assert_eq!(kept, expected.holds(&rows).unwrap(), "{}", text);
            }
        }
    }
}

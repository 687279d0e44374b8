use proptest::prelude::*;
use rstest::rstest;

use super::super::{ColumnName, CompareOp, Literal};
use super::*;
use crate::error::ErrorKind;

fn name(text: &str) -> ColumnName {
    ColumnName(text.split('.').map(str::to_string).collect())
}

fn number(text: &str) -> Literal {
    Literal::Number(text.to_string())
}

fn text(text: &str) -> Literal {
    Literal::String(text.to_string())
}

fn compare(column: &str, op: CompareOp, literal: Literal) -> Expression {
    Expression::compare(name(column), op, literal)
}

fn eq(column: &str, digits: &str) -> Expression {
    compare(column, CompareOp::Eq, number(digits))
}

fn not(inner: Expression) -> Expression {
    Expression::Not(Box::new(inner))
}

#[test]
fn a_filter_of_everything_parses() {
    let filter = "ts >= '2024-01-01T00:00:00' and id in (1, 2) and name like 'a%' and not (x is null or f is nan)";
    let expected = Expression::And(vec![
        compare("ts", CompareOp::GtEq, text("2024-01-01T00:00:00")),
        Expression::is_in(name("id"), vec![number("1"), number("2")]),
        Expression::like(name("name"), "a%").unwrap(),
        not(Expression::Or(vec![Expression::is_null(name("x")), Expression::is_nan(name("f"))])),
    ]);
    assert_eq!(Expression::filter(filter).unwrap(), expected);
}

#[rstest]
#[case("x == 1", eq("x", "1"))]
#[case("x=1", eq("x", "1"))]
#[case("x<-1", compare("x", CompareOp::Lt, number("-1")))]
#[case("x <> +1", compare("x", CompareOp::NotEq, number("1")))]
#[case("x != .5", compare("x", CompareOp::NotEq, number(".5")))]
#[case("x = -0.0", eq("x", "-0.0"))]
#[case("x = 1e-3", eq("x", "1e-3"))]
#[case("x = -Infinity", eq("x", "-inf"))]
#[case("x = null", compare("x", CompareOp::Eq, Literal::Null))]
#[case("x = TRUE", compare("x", CompareOp::Eq, Literal::Boolean(true)))]
#[case("x = X'00Ff'", compare("x", CompareOp::Eq, Literal::Binary(vec![0, 255])))]
#[case("x = DATE '2024-01-01'", compare("x", CompareOp::Eq, Literal::Date("2024-01-01".into())))]
#[case("date = date '2024-01-01'", compare("date", CompareOp::Eq, Literal::Date("2024-01-01".into())))]
#[case("time > time '10:00'", compare("time", CompareOp::Gt, Literal::Time("10:00".into())))]
#[case("x >= Timestamp'2024-01-01'", compare("x", CompareOp::GtEq, Literal::Timestamp("2024-01-01".into())))]
#[case("x = 'it''s'", compare("x", CompareOp::Eq, text("it's")))]
#[case("x = ''", compare("x", CompareOp::Eq, text("")))]
#[case("a.b.c = 1", eq("a.b.c", "1"))]
#[case("`a b`.\"c\"\"d\" = 1", Expression::compare(ColumnName(vec!["a b".into(), "c\"d".into()]), CompareOp::Eq, number("1")))]
#[case("\"a.b\" = 1", Expression::compare(ColumnName(vec!["a.b".into()]), CompareOp::Eq, number("1")))]
#[case("`not` is null", Expression::is_null(name("not")))]
#[case("gr\u{f6}\u{df}e > 1", compare("gr\u{f6}\u{df}e", CompareOp::Gt, number("1")))]
#[case("\u{1F600}$1 > 1", compare("\u{1F600}$1", CompareOp::Gt, number("1")))]
#[case("x is not null", not(Expression::is_null(name("x"))))]
#[case("x is not NaN", not(Expression::is_nan(name("x"))))]
#[case("x not in ('a', null)", not(Expression::is_in(name("x"), vec![text("a"), Literal::Null])))]
#[case("x in ()", Expression::is_in(name("x"), vec![]))]
#[case("x not like 'a'", not(Expression::like(name("x"), "a").unwrap()))]
#[case("x like '5!%!!' escape '!'", Expression::like(name("x"), r"5\%\!").unwrap())]
#[case(r"x like '\d' escape ''", Expression::like(name("x"), r"\\d").unwrap())]
#[case(r"x like '\%' escape '\'", Expression::like(name("x"), r"\%").unwrap())]
#[case("flag", Expression::Column(name("flag")))]
#[case("not flag", not(Expression::Column(name("flag"))))]
#[case("true", Expression::TRUE)]
#[case("not False", not(Expression::FALSE))]
#[case("(((x = 1)))", eq("x", "1"))]
#[case("not x = 1 and y = 2", Expression::And(vec![not(eq("x", "1")), eq("y", "2")]))]
#[case("x = 1 or y = 2 and z = 3", Expression::Or(vec![eq("x", "1"), Expression::And(vec![eq("y", "2"), eq("z", "3")])]))]
#[case("x = 1\n\tAND\u{a0}y = 2", Expression::And(vec![eq("x", "1"), eq("y", "2")]))]
fn text_parses_to(#[case] filter: &str, #[case] expected: Expression) {
    let parsed = Expression::filter(filter).unwrap();
    assert_eq!(parsed, expected);
    assert_eq!(Expression::filter(&parsed.to_string()).unwrap(), expected, "{parsed}");
}

#[rstest]
#[case("x is distinct from 1", "x IS DISTINCT FROM 1")]
#[case("x <=> null", "x IS NOT DISTINCT FROM NULL")]
#[case("x is true", "x IS NOT DISTINCT FROM true")]
#[case("end = 1 and as > 2 and when is null", "\"end\" = 1 AND \"as\" > 2 AND \"when\" IS NULL")]
#[case("case = 1 or case is null", "\"case\" = 1 OR \"case\" IS NULL")]
#[case("x = y", "x = y")]
#[case("x + 1 > y * 2 or not z", "(x + 1) > (y * 2) OR NOT z")]
#[case("upper(s) = 'A' and x = 1", "upper(s) = 'A' AND x = 1")]
#[case("x in (1, y)", "x IN (1, y)")]
#[case("x between y and 3", "x >= y AND x <= 3")]
#[case("case when x > 1 then y else z end", "CASE WHEN x > 1 THEN y ELSE z END")]
#[case(
    "cast(s as decimal(9, 2)) > 1 or try_cast(s as timestamptz) is null",
    "CAST(s AS decimal(9, 2)) > 1 OR TRY_CAST(s AS timestamptz) IS NULL"
)]
#[case("s || 'x' like '%x'", "(s || 'x') LIKE '%x'")]
#[case("-x < 1", "(0 - x) < 1")]
#[case("x = - -1", "x = 1")]
#[case("x - y - z * 2 * w = 1", "(x - y - (z * 2 * w)) = 1")]
#[case("x - (y - z) * 2 / 3 = 1", "(x - ((y - z) * 2 / 3)) = 1")]
#[case("a || b || concat(c, d, e) = 'x'", "(a || b || concat(c, d, e)) = 'x'")]
#[case(
    "case when a then case when b then 1 else 2 end else case x when 1 then 3 end end = 1",
    "CASE WHEN a THEN CASE WHEN b THEN 1 ELSE 2 END ELSE CASE WHEN x = 1 THEN 3 END END = 1"
)]
#[case(
    "if(a, if(b, 1, 2), 3) = nullif(nullif(x, 1), 2)",
    "CASE WHEN a THEN CASE WHEN b THEN 1 ELSE 2 END ELSE 3 END = CASE WHEN CASE WHEN x = 1 THEN NULL ELSE x END = 2 THEN NULL ELSE CASE WHEN x = 1 THEN NULL ELSE x END END"
)]
#[case("x = \"inf\" and \"nan\" <> y", "x = \"inf\" AND \"nan\" <> y")]
#[case("year(d) = 2024 and dayofmonth(ts) = hour(ts)", "year(d) = 2024 AND day(ts) = hour(ts)")]
#[case("date(ts) = d", "CAST(ts AS date) = d")]
#[case("s not ilike 'A$_%' escape '$'", r"lower(s) NOT LIKE 'a\_%'")]
#[case(
    "ts - interval 1 day + interval '0.5' second > interval and interval + 1 = 2",
    "(ts + INTERVAL '0 months -1 days 0.000000 seconds' + INTERVAL '0 months 0 days 0.500000 seconds') > interval AND (interval + 1) = 2"
)]
#[case("1 = 2", "1 = 2")]
#[case("(x > 1) = (y > 1)", "(x > 1) = (y > 1)")]
#[case("x % 2 = nan or y is not nan", "(x % 2) = nan OR y IS NOT NAN")]
fn other_conditions_print_as_sql_that_parses_again(#[case] filter: &str, #[case] expected: &str) {
    let parsed = Expression::filter(filter).unwrap();
    assert_eq!(parsed.to_string(), expected);
    assert_eq!(Expression::filter(expected).unwrap().to_string(), expected);
}

#[test]
fn types_of_casts_print_as_they_parse() {
    for name in [
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "decimal(38, 0)",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "timestamp_ns",
        "timestamptz_ns",
        "string",
        "uuid",
        "binary",
    ] {
        let text = format!("CAST(x AS {name}) IS NULL");
        assert_eq!(Expression::filter(&text).unwrap().to_string(), text);
    }
}

#[test]
fn long_chains_of_operators_print_without_nesting() {
    for operator in ["+", "*", "-", "||"] {
        let text = format!("({}) = 1", ["x"; 400].join(&format!(" {operator} ")));
        assert_eq!(Expression::filter(&text).unwrap().to_string(), text);
    }
}

#[test]
fn the_current_time_is_a_literal() {
    let parsed = Expression::filter("ts < current_timestamp and d = current_date()").unwrap();
    let Expression::And(parts) = &parsed else { panic!("{parsed}") };
    assert!(matches!(&parts[..], [Expression::Compare(..), Expression::Compare(..)]), "{parsed:?}");
}

#[test]
fn between_binds_tighter_than_and() {
    let range =
        Expression::And(vec![compare("x", CompareOp::GtEq, number("1")), compare("x", CompareOp::LtEq, number("2"))]);
    let parsed = Expression::filter("x between 1 and 2 and y = 3").unwrap();
    assert_eq!(parsed, Expression::And(vec![range.clone(), eq("y", "3")]));
    assert_eq!(Expression::filter("x not between 1 and 2").unwrap(), not(range));
}

#[rstest]
#[case("", "character 1: expected a column, a literal, a function or `(`, found the end")]
#[case("x >", "character 4: expected a column, a literal, a function or `(`, found the end")]
#[case("x = and", "character 5: expected a column, a literal, a function or `(`, found `and`")]
#[case("x = 1 y", "character 7: expected an operator or the end, found `y`")]
#[case("(x = 1", "character 7: expected an operator or `)`, found the end")]
#[case("x = 1)", "character 6: expected an operator or the end, found `)`")]
#[case("x is 1", "character 6: expected NULL, NAN, TRUE, FALSE or DISTINCT FROM after IS, found the number 1")]
#[case("x not 1", "character 7: expected IN, BETWEEN, LIKE or ILIKE after NOT")]
#[case("x in 1", "character 6: expected `(` after IN")]
#[case("x in (1 2)", "character 9: expected `,` or `)`, found the number 2")]
#[case("x in (1,)", "character 9: expected a column, a literal, a function or `(`, found `)`")]
#[case("x between 1 or 2", "character 13: expected AND and the upper end of BETWEEN")]
#[case("x like 1", "character 8: expected a pattern in single quotes after LIKE")]
#[case("x like 'a' escape 'ab'", "character 19: expected one character")]
#[case("x = 'abc", "character 5: ' is not closed")]
#[case("\u{f6} = `abc", "character 5: ` is not closed")]
#[case("x = X'0'", "character 5: X'...' requires pairs")]
#[case("x = X'+f'", "character 5: X'...' requires pairs")]
#[case("x = 1e", "character 5: the exponent")]
#[case("x = 10L", "character 5: a number is followed directly by other text")]
#[case("x = 1.2.3", "character 5: a number is followed directly by other text")]
#[case("a. = 1", "character 3: expected a field name after `.`")]
#[case("a.1 = 1", "character 3: expected a field name after `.`")]
#[case("x like 'a\\'", "ends with an escape")]
#[case("upper(x, y) = 'A'", "character 1: upper takes 1 arguments, not 2")]
#[case("nope(x)", "character 1: no function nope")]
#[case("x = 1; drop", "character 6: unexpected `;`")]
fn errors_say_where_and_what(#[case] filter: &str, #[case] expected: &str) {
    let error = Expression::filter(filter).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth: usize| format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Expression::filter(&nested(200)).is_ok());
    assert!(Expression::filter(&nested(201)).is_err());
    assert!(Expression::filter(&nested(1_000_000)).is_err());
    assert!(Expression::filter(&"not ".repeat(1_000_000)).is_err());
}

#[test]
fn messages_stay_short() {
    let error = Expression::filter(&format!("x = 1 {}", "y".repeat(1_000_000))).unwrap_err();
    assert!(error.to_string().len() < 1000, "{}", error.to_string().len());
}

fn names() -> impl Strategy<Value = ColumnName> {
    let part = prop_oneof![
        "[a-z_][a-z0-9_$]{0,6}",
        "\\PC{0,6}",
        prop::sample::select(vec!["and", "NOT", "null", "nan", "inf", "date", "X", "true", "a.b", "\"`'", ""])
            .prop_map(str::to_string),
    ];
    prop::collection::vec(part, 1..4).prop_map(ColumnName)
}

fn literals() -> impl Strategy<Value = Literal> {
    prop_oneof![
        Just(Literal::Null),
        any::<bool>().prop_map(Literal::Boolean),
        "-?([0-9]{1,5}(\\.[0-9]{0,4})?|\\.[0-9]{1,3})([eE][+-]?[0-9]{1,3})?".prop_map(Literal::Number),
        prop::sample::select(vec!["-inf", "-0.0"]).prop_map(number),
        "\\PC{0,6}".prop_map(Literal::String),
        "[a-z'%\n]{0,4}".prop_map(Literal::String),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Literal::Binary),
        "\\PC{0,6}".prop_map(Literal::Date),
        "\\PC{0,6}".prop_map(Literal::Time),
        "\\PC{0,6}".prop_map(Literal::Timestamp),
    ]
}

fn predicates() -> impl Strategy<Value = Expression> {
    use CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let leaf = prop_oneof![
        Just(Expression::TRUE),
        Just(Expression::FALSE),
        (names(), prop::sample::select(vec![Eq, Gt, GtEq, Lt, LtEq, NotEq]), literals())
            .prop_map(|(name, op, literal)| Expression::compare(name, op, literal)),
        (names(), prop::collection::vec(literals(), 0..4)).prop_map(|(name, list)| Expression::is_in(name, list)),
        names().prop_map(Expression::is_null),
        names().prop_map(Expression::is_nan),
        (names(), "([a%_']|\\\\[%_\\\\]){0,5}").prop_map(|(name, pattern)| Expression::like(name, &pattern).unwrap()),
        names().prop_map(Expression::Column),
    ];
    leaf.prop_recursive(4, 20, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::Or),
            inner.prop_map(not),
        ]
    })
}

proptest! {
    #[test]
    fn printed_predicates_round_trip(predicate in predicates()) {
        let text = predicate.to_string();
        prop_assert_eq!(Expression::filter(&text).unwrap(), predicate, "{}", text);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        let _ = Expression::filter(&text);
    }

    #[test]
    fn no_tokens_panic(words in prop::collection::vec(prop::sample::select(vec![
        "x", "and", "or", "not", "(", ")", "in", "between", "like", "is", "null", "nan", "1", "-", "'a'", "=", "<",
        ",", "date", "X'00'", "true", "a.b", "escape", "+", "*", "||", "<=>", "case", "when", "then", "else", "end", "as",
        "cast", "int", "distinct", "from", "upper", "current_date", "inf",
    ]), 0..14)) {
        if let Ok(predicate) = Expression::filter(&words.join(" ")) {
            let text = predicate.to_string();
            prop_assert_eq!(Expression::filter(&text).unwrap().to_string(), text);
        }
    }
}

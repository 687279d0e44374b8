use arrow_schema::TimeUnit;
use rstest::rstest;

use super::*;

struct Schema;

const COLUMNS: [(&str, ScalarType); 14] = [
    ("i", ScalarType::Int32),
    ("f", ScalarType::Float64),
    ("s", ScalarType::String),
    ("b", ScalarType::Boolean),
    ("d", ScalarType::Date),
    ("ts", ScalarType::Timestamp { unit: TimeUnit::Microsecond, utc: false }),
    ("tz", ScalarType::Timestamp { unit: TimeUnit::Microsecond, utc: true }),
    ("dec", ScalarType::Decimal { precision: 9, scale: 2 }),
    ("bin", ScalarType::Binary),
    ("u", ScalarType::Null),
    ("a.b", ScalarType::Int32),
    ("customer_id", ScalarType::Int64),
    ("list", ScalarType::Null),
    ("inf", ScalarType::Float64),
];

impl Columns for Schema {
    fn column(&self, name: &ColumnName, case_sensitive: bool) -> Result<Option<BoundColumn>> {
        let wanted = name.0.join(".");
        let same = |known: &str| known == wanted || (!case_sensitive && known.eq_ignore_ascii_case(&wanted));
        Ok(COLUMNS.iter().zip(1..).find(|((known, _), _)| same(known)).map(|((name, data_type), id)| BoundColumn {
            id,
            name: (*name).into(),
            data_type: *data_type,
            nullable: true,
        }))
    }

    fn names(&self) -> Vec<String> {
        COLUMNS.iter().map(|(name, _)| (*name).to_string()).collect()
    }

    fn comparable(&self, column: &BoundColumn) -> bool {
        &*column.name != "list"
    }
}

fn bound(filter: &str) -> Result<BoundPredicate> {
    bind(&Expression::filter(filter).unwrap(), &Schema, true)
}

#[rstest]
#[case("i < 5", "i < 5")]
#[case("not i < 5", "i >= 5")]
#[case("5 < i", "i > 5")]
#[case("5 >= i + 0", "5 >= (i + 0)")]
#[case("nan = f", "f = nan")]
#[case("f = -Infinity", "f = -inf")]
#[case("inf = 1", "\"inf\" = 1.0")]
#[case("inf = nan", "\"inf\" = nan")]
#[case("true = b", "b = true")]
#[case("i is distinct from 1.5", "i IS NOT NULL OR i IS NULL")]
#[case("i is not distinct from 5", "i = 5")]
#[case("i <=> null", "i IS NULL")]
#[case("not (b is true)", "b <> true OR b IS NULL")]
#[case("d = cast('2024-01-31' as date)", "d = DATE '2024-01-31'")]
#[case("i in (1 + 1, 7 % 4)", "i IN (2, 3)")]
#[case("year(d) = 2024", "d >= DATE '2024-01-01' AND d < DATE '2025-01-01'")]
#[case("2024 < year(ts)", "ts >= TIMESTAMP '2025-01-01 00:00:00'")]
#[case("not year(tz) = 1969", "tz < TIMESTAMP '1969-01-01 00:00:00Z' OR tz >= TIMESTAMP '1970-01-01 00:00:00Z'")]
#[case("date(ts) <= '2024-02-28'", "ts < TIMESTAMP '2024-02-29 00:00:00'")]
#[case("date(d) = DATE '2024-02-29'", "d >= DATE '2024-02-29' AND d < DATE '2024-03-01'")]
#[case("month(d) = 3", "month(d) = 3")]
#[case("d > DATE '2024-03-31' - INTERVAL 1 MONTH", "d > DATE '2024-02-29'")]
#[case("ts >= DATE '2024-03-01' - INTERVAL 1 HOUR", "ts >= TIMESTAMP '2024-02-29 23:00:00'")]
#[case("d < TIMESTAMP '2024-03-01 00:00:00' + INTERVAL 1 HOUR", "d <= DATE '2024-03-01'")]
#[case("i < cast(null as int)", "FALSE")]
#[case("i = 1 % 0", "i = (1 % 0)")]
#[case("dec = cast(0.5 as double)", "dec = CAST(0.5 AS double)")]
#[case("f = cast(0.5 as double)", "f = 0.5")]
#[case("dec in (1 + 1, 0.5)", "dec IN (0.50, 2.00)")]
#[case("tz = cast('2024-01-01 00:00:00+00:00' as timestamptz)", "tz = TIMESTAMP '2024-01-01 00:00:00Z'")]
#[case("not (i < 5 and s = 'a')", "i >= 5 OR s <> 'a'")]
#[case("not (i < 5 or not s = 'a')", "i >= 5 AND s = 'a'")]
#[case("i < 3e9", "i IS NOT NULL")]
#[case("i > 3e9", "FALSE")]
#[case("i = 3e9", "FALSE")]
#[case("i <> 3e9", "i IS NOT NULL")]
#[case("i >= -3e9", "i IS NOT NULL")]
#[case("i < 1.5", "i <= 1")]
#[case("i >= 1.5", "i > 1")]
#[case("i = 1.5", "FALSE")]
#[case("not i = 1.5", "i IS NOT NULL")]
#[case("i < -1.5", "i <= -2")]
#[case("dec >= 1.001", "dec > 1.00")]
#[case("i = null", "FALSE")]
#[case("not i = null", "FALSE")]
#[case("not (i = null or i = 1)", "FALSE")]
#[case("i in (3, 1, 2, 1, 1.5, null)", "i IN (1, 2, 3)")]
#[case("i in (1, 1.0)", "i = 1")]
#[case("i in (1.5, 1e10)", "FALSE")]
#[case("i in ()", "FALSE")]
#[case("i not in ()", "TRUE")]
#[case("i not in (2, 1)", "i NOT IN (1, 2)")]
#[case("i not in (1, 1.5)", "i <> 1")]
#[case("i not in (1.5)", "i IS NOT NULL")]
#[case("i not in (1, null)", "FALSE")]
#[case("f in (0.0, -0.0)", "f = 0.0")]
#[case("f in (nan, 1)", "f IN (1.0, nan)")]
#[case("f in (nan, nan)", "f = nan")]
#[case("i between 1 and 2", "i >= 1 AND i <= 2")]
#[case("i not between 1 and 2", "i < 1 OR i > 2")]
#[case("i between 1 and 2 and (f > 1 and s = 'x')", "i >= 1 AND i <= 2 AND f > 1.0 AND s = 'x'")]
#[case("i is null", "i IS NULL")]
#[case("i is not null", "i IS NOT NULL")]
#[case("f is nan", "f IS NAN")]
#[case("f is not nan", "f IS NOT NAN")]
#[case("i is nan", "FALSE")]
#[case("i is not nan", "TRUE")]
#[case("b", "b = true")]
#[case("not b", "b = false")]
#[case("b = 'TRUE'", "b = true")]
#[case("s like 'abc'", "s = 'abc'")]
#[case("s like ''", "s = ''")]
#[case("s like '%'", "s IS NOT NULL")]
#[case("s not like '%%'", "FALSE")]
#[case("s like 'abc%'", "s LIKE 'abc%'")]
#[case("s not like 'abc%'", "s NOT LIKE 'abc%'")]
#[case(r"s like 'a\%c'", "s = 'a%c'")]
#[case(r"s like 'a\%c%'", r"s LIKE 'a\%c%'")]
#[case("s like '%a_'", "s LIKE '%a_'")]
#[case("s not like 'a_'", "s NOT LIKE 'a_'")]
#[case("d >= '2024-01-01T12:00'", "d > DATE '2024-01-01'")]
#[case("ts < DATE '2024-01-01'", "ts < TIMESTAMP '2024-01-01 00:00:00'")]
#[case("tz < '2024-01-01 01:00:00+01:00'", "tz < TIMESTAMP '2024-01-01 00:00:00Z'")]
#[case("bin = X'00'", "bin = X'00'")]
#[case("u = 1", "FALSE")]
#[case("not u = 1", "FALSE")]
#[case("u is null", "TRUE")]
#[case("u is not null", "FALSE")]
#[case("u in (1)", "FALSE")]
#[case("u not in (1)", "FALSE")]
#[case("u", "FALSE")]
#[case("list is not null", "list IS NOT NULL")]
#[case("true and i = 1", "i = 1")]
#[case("false or (false or i = 1)", "i = 1")]
#[case("not true", "FALSE")]
#[case("i = 1 or not false", "TRUE")]
#[case("a.b = 1", "a.b = 1")]
fn predicates_bind_to(#[case] filter: &str, #[case] expected: &str) {
    assert_eq!(bound(filter).unwrap().to_string(), expected);
}

#[rstest]
#[case("customer_di = 1", "no column `customer_di`; did you mean `customer_id`?")]
#[case("I = 1", "no column `I`; did you mean `i`?")]
#[case("wholly_other = 1", "no column `wholly_other`")]
#[case("s = 1", "column `s` of type string cannot be compared with 1; write a string in single quotes")]
#[case("i = 'one'", "column `i` of type int cannot be compared with 'one'; write a number")]
#[case("d in ('2024-01-01', 'x')", "column `d` of type date cannot be compared with 'x'")]
#[case("ts > '2024-01-01T00:00:00Z'", "has no time zone")]
#[case("s is nan", "IS NAN is not supported for the column `s` of type string")]
#[case("i like 'a%'", "LIKE is not supported for the column `i` of type int")]
#[case("i and b", "column `i` of type int cannot be used as a condition")]
#[case("d = concat('2024', '-01-01')", "date cannot be compared with one of type string")]
#[case("tz = cast('2024-01-01' as timestamp)", "cannot be compared with one of type timestamp")]
#[case("list = 1", "the values of the column `list` cannot be compared")]
fn invalid_predicates_are_rejected(#[case] filter: &str, #[case] expected: &str) {
    let error = bound(filter).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(error.kind(), crate::error::ErrorKind::InvalidArgument);
}

#[test]
fn case_matters_only_when_asked() {
    let predicate = Expression::filter("I = 1").unwrap();
    assert_eq!(bind(&predicate, &Schema, false).unwrap().to_string(), "i = 1");
}

#[test]
fn columns_are_listed_once() {
    let predicate = bound("(s = 'a' or i = 1) and (i = 2 or f = 3)").unwrap();
    let names: Vec<_> = predicate.columns().iter().map(|column| column.name.to_string()).collect();
    assert_eq!(names, ["s", "i", "f"]);
}

#[test]
fn depth_has_a_limit() {
    let nested = |depth| (0..depth).fold(Expression::TRUE, |inner, _| Expression::Not(Box::new(inner)));
    assert_eq!(bind(&nested(1000), &Schema, true).unwrap(), BoundPredicate::True);
    assert!(bind(&nested(1001), &Schema, true).is_err());
}

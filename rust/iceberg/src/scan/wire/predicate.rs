//! The JSON form of bound predicates: columns by field id, scalars as hexadecimal single values (spec: appendix D).
//!
//! ```json
//! {"and": [{"column": 1, "name": "id", "type": "long", "nullable": true, "test": "lt", "value": "0a00000000000000"}, …]}
//! ```
//!
//! A condition that statistics do not decide is SQL, whose columns `c0`, `c1` and so on are listed:
//!
//! ```json
//! {"condition": "c0 > c1 + 1", "columns": [{"column": 1, "name": "id", "type": "long", "nullable": true}, …]}
//! ```

use std::sync::Arc;

use frazil_core::error::{Error, Result};
use frazil_core::hex;
use frazil_core::scalar::{Scalar, ScalarType};
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, CompareOp, Condition, LikePattern, Test};
use serde_json::{Map, Value as Json, json};

use crate::spec::single_value;
use crate::spec::types::PrimitiveType;

/// The maximum nesting depth: each level is two levels of JSON, whose reader accepts 128.
const DEPTH_LIMIT: usize = 50;

/// The names of comparisons with one scalar.
const COMPARISONS: [(CompareOp, &str); 6] = [
    (CompareOp::Lt, "lt"),
    (CompareOp::LtEq, "lt-eq"),
    (CompareOp::Gt, "gt"),
    (CompareOp::GtEq, "gt-eq"),
    (CompareOp::Eq, "eq"),
    (CompareOp::NotEq, "not-eq"),
];

/// Serialises a predicate.
///
/// # Errors
/// `InvalidArgument` if it is nested too deeply to be read.
pub fn to_json(predicate: &BoundPredicate) -> Result<Json> {
    write(predicate, 0)
}

fn write(predicate: &BoundPredicate, depth: usize) -> Result<Json> {
    if depth > DEPTH_LIMIT {
        return Err(Error::invalid(format!(
            "a filter with more than {DEPTH_LIMIT} nested ANDs and ORs cannot be serialised"
        ))
        .hint("tasks are sent with their filter: use a filter with less nesting"));
    }
    let all = |parts: &[BoundPredicate]| parts.iter().map(|part| write(part, depth + 1)).collect::<Result<Vec<_>>>();
    Ok(match predicate {
        BoundPredicate::True => json!(true),
        BoundPredicate::False => json!(false),
        BoundPredicate::And(parts) => json!({ "and": all(parts)? }),
        BoundPredicate::Or(parts) => json!({ "or": all(parts)? }),
        BoundPredicate::Leaf(column, test) => {
            let (name, value) = test_json(test);
            let mut json = column_json(column);
            json.insert("test".to_string(), name.into());
            json.insert("value".to_string(), value);
            Json::Object(json)
        }
        BoundPredicate::Condition(condition) => json!({
            "condition": condition.sql(),
            "columns": condition.columns().iter().map(column_json).collect::<Vec<_>>(),
        }),
    })
}

fn column_json(column: &BoundColumn) -> Map<String, Json> {
    let fields = [
        ("column", json!(column.id)),
        ("name", json!(&*column.name)),
        ("type", json!(type_text(column.data_type))),
        ("nullable", json!(column.nullable)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// Deserialises a predicate.
pub fn from_json(json: &Json) -> Result<BoundPredicate> {
    read(json, 0)
}

fn read(json: &Json, depth: usize) -> Result<BoundPredicate> {
    if depth > DEPTH_LIMIT {
        return Err(malformed("a predicate is nested too deeply"));
    }
    match json {
        Json::Bool(true) => return Ok(BoundPredicate::True),
        Json::Bool(false) => return Ok(BoundPredicate::False),
        _ => {}
    }
    let parts = |name| json.get(name).and_then(Json::as_array);
    let all = |parts: &Vec<Json>| parts.iter().map(|part| read(part, depth + 1)).collect::<Result<Vec<_>>>();
    if let Some(and) = parts("and") {
        return Ok(BoundPredicate::And(all(and)?));
    }
    if let Some(or) = parts("or") {
        return Ok(BoundPredicate::Or(all(or)?));
    }
    if let Some(sql) = json.get("condition").and_then(Json::as_str) {
        let columns = parts("columns").ok_or_else(|| malformed("a condition has no columns"))?;
        let columns = columns.iter().map(|json| column(json).map(|(column, _)| column)).collect::<Result<_>>()?;
        let condition = Condition::parse(sql, columns);
        let condition = condition.map_err(|error| malformed("a condition does not parse").caused_by(error))?;
        return Ok(BoundPredicate::Condition(Arc::new(condition)));
    }
    let (column, data_type) = column(json)?;
    let test = test(text(json, "test")?, json.get("value").unwrap_or(&Json::Null), &data_type)?;
    Ok(BoundPredicate::Leaf(column, test))
}

fn text<'a>(json: &'a Json, name: &str) -> Result<&'a str> {
    json.get(name).and_then(Json::as_str).ok_or_else(|| malformed("a test has a missing field"))
}

fn column(json: &Json) -> Result<(BoundColumn, PrimitiveType)> {
    let data_type: PrimitiveType = text(json, "type")?.parse().map_err(|_| malformed("a test has an unknown type"))?;
    let id = json.get("column").and_then(Json::as_i64).and_then(|id| i32::try_from(id).ok());
    let column = BoundColumn {
        id: id.ok_or_else(|| malformed("a test has no column"))?,
        name: text(json, "name")?.into(),
        data_type: data_type.scalar().ok_or_else(|| malformed("a test has a type that cannot be compared"))?,
        nullable: json.get("nullable").and_then(Json::as_bool).unwrap_or(true),
    };
    Ok((column, data_type))
}

fn test_json(test: &Test) -> (&'static str, Json) {
    let one = |value: &Scalar| Json::String(hex::encode(&single_value::encode(value)));
    let many = |values: &[Scalar]| Json::Array(values.iter().map(one).collect());
    match test {
        Test::IsNull => ("is-null", Json::Null),
        Test::NotNull => ("not-null", Json::Null),
        Test::IsNan => ("is-nan", Json::Null),
        Test::NotNan => ("not-nan", Json::Null),
        Test::Compare(op, value) => {
            (COMPARISONS.iter().find(|(known, _)| known == op).map_or("eq", |(_, name)| *name), one(value))
        }
        Test::In(values) => ("in", many(values)),
        Test::NotIn(values) => ("not-in", many(values)),
        Test::StartsWith(value) => ("starts-with", one(value)),
        Test::NotStartsWith(value) => ("not-starts-with", one(value)),
        Test::Like(pattern) => ("like", json!(pattern.text)),
        Test::NotLike(pattern) => ("not-like", json!(pattern.text)),
    }
}

fn test(name: &str, value: &Json, data_type: &PrimitiveType) -> Result<Test> {
    let scalar = |value: &Json| {
        let bytes = value.as_str().and_then(hex::decode).ok_or_else(|| malformed("a value is not hexadecimal"))?;
        // Literals are stored as hexadecimal single-value bytes and decoded by the type of the column.
        single_value::decode(data_type, &bytes).ok_or_else(|| malformed("a value does not have the type of its column"))
    };
    let many = || -> Result<Arc<[Scalar]>> {
        value.as_array().ok_or_else(|| malformed("a test has no values"))?.iter().map(scalar).collect()
    };
    let pattern = || -> Result<Arc<LikePattern>> {
        let text = value.as_str().ok_or_else(|| malformed("a test has no pattern"))?;
        Ok(Arc::new(LikePattern::parse(text)?))
    };
    if let Some((op, _)) = COMPARISONS.iter().find(|(_, known)| *known == name) {
        return Ok(Test::Compare(*op, scalar(value)?));
    }
    Ok(match name {
        "is-null" => Test::IsNull,
        "not-null" => Test::NotNull,
        "is-nan" => Test::IsNan,
        "not-nan" => Test::NotNan,
        "in" => Test::In(many()?),
        "not-in" => Test::NotIn(many()?),
        "starts-with" => Test::StartsWith(scalar(value)?),
        "not-starts-with" => Test::NotStartsWith(scalar(value)?),
        "like" => Test::Like(pattern()?),
        "not-like" => Test::NotLike(pattern()?),
        other => return Err(malformed("unknown test").with("test", other)),
    })
}

/// Returns the Iceberg type with the same comparison order as a scalar type.
fn type_text(data_type: ScalarType) -> String {
    use arrow_schema::TimeUnit;
    let primitive = match data_type {
        ScalarType::Null => PrimitiveType::Unknown,
        ScalarType::Boolean => PrimitiveType::Boolean,
        ScalarType::Int8 | ScalarType::Int16 | ScalarType::Int32 => PrimitiveType::Int,
        ScalarType::Int64 => PrimitiveType::Long,
        ScalarType::Float32 => PrimitiveType::Float,
        ScalarType::Float64 => PrimitiveType::Double,
        ScalarType::Decimal { precision, scale } => PrimitiveType::Decimal { precision, scale: scale.unsigned_abs() },
        ScalarType::Date => PrimitiveType::Date,
        ScalarType::Time => PrimitiveType::Time,
        ScalarType::Timestamp { unit: TimeUnit::Nanosecond, utc: false } => PrimitiveType::TimestampNs,
        ScalarType::Timestamp { unit: TimeUnit::Nanosecond, utc: true } => PrimitiveType::TimestamptzNs,
        ScalarType::Timestamp { utc: false, .. } => PrimitiveType::Timestamp,
        ScalarType::Timestamp { utc: true, .. } => PrimitiveType::Timestamptz,
        ScalarType::String => PrimitiveType::String,
        ScalarType::Uuid => PrimitiveType::Uuid,
        ScalarType::Fixed(length) => PrimitiveType::Fixed(length),
        ScalarType::Binary => PrimitiveType::Binary,
    };
    primitive.to_string()
}

fn malformed(what: &str) -> Error {
    Error::corrupt(what)
}

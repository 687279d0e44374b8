//! Parses partition specs as users write them: `day(ts)`, `bucket(16, id)`, `truncate(4, name)`, `region`.

use frazil_core::error::{Error, Result};

use super::partition::{PARTITION_ID_BASE, PartitionField, PartitionSpec};
use super::schema::Schema;
use super::transform::Transform;

impl PartitionSpec {
    /// Returns a spec with these fields over the columns of `schema`, with ids starting at 1000 and Spark's names.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid transform and for missing columns.
    pub fn from_texts(texts: &[impl AsRef<str>], schema: &Schema) -> Result<Self> {
        let fields = (PARTITION_ID_BASE + 1..).zip(texts).map(|(field_id, text)| {
            let text = text.as_ref().trim();
            let (transform, column) = parse(text).ok_or_else(|| {
                Error::invalid(format!("`{text}` is not a valid partition field"))
                    .hint("expected a column, or year(c), month(c), day(c), hour(c), bucket(n, c), truncate(width, c)")
            })?;
            let path = schema.find(&column, true)?.ok_or_else(|| schema.no_such_column(&column))?;
            let name = named(&transform, &path.full_name().replace('.', "_"));
            Ok(PartitionField { source_ids: vec![path.field().id], field_id, name, transform })
        });
        Ok(Self { spec_id: 0, fields: fields.collect::<Result<_>>()? })
    }
}

/// Returns the transform and the column of a text like `bucket(16, id)`; None if it is invalid.
pub(crate) fn parse(text: &str) -> Option<(Transform, String)> {
    let call = text.split_once('(').filter(|_| !text.starts_with(['"', '`']));
    let Some((function, arguments)) = call else {
        return (!text.is_empty()).then(|| (Transform::Identity, text.to_string()));
    };
    let arguments = arguments.strip_suffix(')')?.trim();
    let function = function.trim().to_ascii_lowercase();
    // `bucket(16, id)` is Spark's order; other engines use `bucket(id, 16)`. Quoted names may contain commas.
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let first = arguments.split_once(',').and_then(|(a, b)| Some((number(a)?, b.trim())));
    let last = || arguments.rsplit_once(',').and_then(|(a, b)| Some((number(b)?, a.trim())));
    let (number, column) = match first.or_else(last) {
        Some((number, column)) => (Some(number), column),
        None => (None, arguments),
    };
    if column.contains(',') && !column.contains(['"', '`']) {
        return None;
    }
    let transform = match (function.as_str(), number) {
        ("identity", None) => Transform::Identity,
        ("year" | "years", None) => Transform::Year,
        ("month" | "months", None) => Transform::Month,
        ("day" | "days" | "date", None) => Transform::Day,
        ("hour" | "hours" | "date_hour", None) => Transform::Hour,
        ("void", None) => Transform::Void,
        ("bucket", Some(number @ 1..)) => Transform::Bucket(number),
        ("truncate", Some(number @ 1..)) => Transform::Truncate(number),
        _ => return None,
    };
    (!column.is_empty()).then(|| (transform, column.to_string()))
}

fn named(transform: &Transform, column: &str) -> String {
    let suffix = match transform {
        Transform::Identity | Transform::Unknown(_) => return column.to_string(),
        Transform::Bucket(_) => "bucket",
        Transform::Truncate(_) => "trunc",
        Transform::Year => "year",
        Transform::Month => "month",
        Transform::Day => "day",
        Transform::Hour => "hour",
        Transform::Void => "null",
    };
    format!("{column}_{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_people_write_them() {
        let schema = Schema::from_json(
            r#"{"type": "struct", "fields": [{"id": 1, "name": "id", "required": false, "type": "long"},
                {"id": 2, "name": "ts", "required": false, "type": "timestamp"},
                {"id": 3, "name": "s", "required": false, "type": {"type": "struct", "fields": [
                    {"id": 4, "name": "x", "required": false, "type": "string"}]}}]}"#,
        )
        .unwrap();
        let texts = ["days(ts)", " bucket( 16 , id )", "truncate(id, 10)", "id", "identity(s.x)", "HOUR(ts)"];
        let spec = PartitionSpec::from_texts(&texts, &schema).unwrap();
        let found: Vec<_> = spec
            .fields
            .iter()
            .map(|field| format!("{} {} {} {:?}", field.field_id, field.name, field.transform, field.source_ids))
            .collect();
        assert_eq!(
            found,
            [
                "1000 ts_day day [2]",
                "1001 id_bucket bucket[16] [1]",
                "1002 id_trunc truncate[10] [1]",
                "1003 id identity [1]",
                "1004 s_x identity [4]",
                "1005 ts_hour hour [2]",
            ]
        );
        for wrong in ["", "day(x)", "day()", "bucket(id)", "bucket(0, id)", "frob(id)", "day(ts", "bucket(1, 2, id)"] {
            assert!(PartitionSpec::from_texts(&[wrong], &schema).is_err(), "{wrong}");
        }
    }
}

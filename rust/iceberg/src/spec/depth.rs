//! Checks that types are not nested too deeply for data files to be read again.
//!
//! Readers count levels in different ways. pyarrow accepts 64 levels of Arrow types through the C data interface, in
//! which a map is a list of structs. Its Parquet reader accepts 100 groups, where a list or a map counts as two. The
//! Avro reader of frazil accepts 64 levels, where a nullable type is a union and a map whose keys are not strings is an
//! array of records.

use frazil_core::error::{Error, Result};

use super::types::{StructType, Type};

/// The number of levels that each type adds, and the maximum number of levels from a column to its innermost value.
struct Limit {
    of_struct: usize,
    of_list: usize,
    of_map: usize,
    most: usize,
}

const ARROW: Limit = Limit { of_struct: 1, of_list: 1, of_map: 2, most: 62 };
const PARQUET: Limit = Limit { of_struct: 1, of_list: 2, of_map: 2, most: 98 };
const AVRO: Limit = Limit { of_struct: 2, of_list: 2, of_map: 3, most: 60 };

impl Limit {
    fn levels(&self, field_type: &Type) -> usize {
        let own = match field_type {
            Type::Primitive(_) => return 0,
            Type::Struct(_) => self.of_struct,
            Type::List(_) => self.of_list,
            Type::Map(_) => self.of_map,
        };
        own + field_type.children().into_iter().map(|child| self.levels(&child.field_type)).max().unwrap_or(0)
    }
}

/// Rejects columns that cannot be read from data files of a format (`parquet`, `orc` or `avro`).
///
/// # Errors
/// `Unsupported` with the first such column.
pub fn check(columns: &StructType, format: &str) -> Result<()> {
    let limits = match format {
        "avro" => &[ARROW, AVRO][..],
        "orc" => &[ARROW],
        _ => &[ARROW, PARQUET],
    };
    let is_too_deep = |field_type: &Type| limits.iter().any(|limit| limit.levels(field_type) > limit.most);
    let Some(column) = columns.fields.iter().find(|column| is_too_deep(&column.field_type)) else { return Ok(()) };
    let message = format!("the type is nested too deeply to be read from {format} files");
    let hint = "nest at most 49 lists, 62 structs or 31 maps in Parquet files, 30 lists or structs or 20 maps in Avro";
    Err(Error::unsupported(message).with("column", &column.name).hint(hint))
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Fields};
    use rstest::rstest;

    use super::*;
    use crate::spec::schema::Schema;

    fn column(levels: &str) -> Schema {
        let nested = levels.chars().rev().fold(DataType::Int64, |inner, kind| match kind {
            'l' => DataType::new_list(inner, true),
            's' => DataType::Struct(Fields::from(vec![Field::new("x", inner, true)])),
            _ => {
                let key = Field::new("key", DataType::Int32, false);
                let entries = Fields::from(vec![key, Field::new("value", inner, true)]);
                DataType::Map(Field::new("entries", DataType::Struct(entries), false).into(), false)
            }
        });
        Schema::from_arrow(&Fields::from(vec![Field::new("a", nested, true)])).unwrap()
    }

    #[rstest]
    #[case("parquet", "l", 49)]
    #[case("parquet", "s", 62)]
    #[case("parquet", "m", 31)]
    #[case("orc", "l", 62)]
    #[case("orc", "s", 62)]
    #[case("orc", "m", 31)]
    #[case("avro", "l", 30)]
    #[case("avro", "s", 30)]
    #[case("avro", "m", 20)]
    fn each_kind_of_type_has_its_limit(#[case] format: &str, #[case] kind: &str, #[case] most: usize) {
        assert!(check(&column(&kind.repeat(most)).fields, format).is_ok());
        let error = check(&column(&kind.repeat(most + 1)).fields, format).unwrap_err();
        assert_eq!(error.context(), [("column", "a".to_string())]);
    }
}

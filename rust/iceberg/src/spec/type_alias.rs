//! Parses type names of Spark, SQL, Python and Arrow. Users may write them; metadata never contains them.
//!
//! A name that means different types in different engines keeps its Iceberg meaning: `timestamp` has no time zone,
//! unlike in Spark, and `int` and `float` have 32 bits, unlike in Python.

use frazil_core::error::{Error, Result};

use super::types::PrimitiveType;

/// Parses a type without fields, by its name in the spec or in another engine.
///
/// # Errors
/// `InvalidArgument` for an unknown name and for parameters out of range.
pub(super) fn parse(text: &str) -> Result<PrimitiveType> {
    let parsed = canonical(text).as_deref().unwrap_or(text).parse::<PrimitiveType>();
    parsed.map_err(|e| Error::invalid(e.message()).hint(KNOWN))
}

const KNOWN: &str = "valid types are boolean, int, long, float, double, decimal(9, 2), date, time, timestamp, \
    timestamptz, string, uuid, fixed[16], binary, list<int>, map<string, int>, struct<x: int, y: required string>; \
    in format version 3 also timestamp_ns, timestamptz_ns, variant, geometry, geography and unknown";

/// Returns the spec's name for a name of another engine; None for any other text.
fn canonical(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let name = match text.as_str() {
        "bool" => "boolean",
        "tinyint" | "smallint" | "integer" | "byte" | "short" | "int8" | "int16" | "int32" => "int",
        "bigint" | "int64" => "long",
        "real" | "float32" => "float",
        "float64" => "double",
        "varchar" | "char" | "text" | "str" | "utf8" => "string",
        "bytes" | "varbinary" | "blob" => "binary",
        "timestamp_ntz" => "timestamp",
        "timestamp_ltz" => "timestamptz",
        _ => return with_parameters(&text),
    };
    Some(name.to_string())
}

fn with_parameters(text: &str) -> Option<String> {
    let (name, parameters) = text.split_once('(')?;
    match name.trim_end() {
        "numeric" | "dec" => Some(format!("decimal({parameters}")),
        // The length is not enforced, as in Spark.
        "varchar" | "char" => {
            let length = parameters.strip_suffix(')')?.trim();
            (!length.is_empty() && length.bytes().all(|b| b.is_ascii_digit())).then(|| "string".to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_of_other_engines_are_aliases_of_spec_types() {
        for (text, printed) in [
            ("BIGINT", "long"),
            (" smallint ", "int"),
            ("varchar ( 20 )", "string"),
            ("numeric(9, 2)", "decimal(9, 2)"),
            ("timestamp_ntz", "timestamp"),
            ("timestamp", "timestamp"),
            ("fixed[4]", "fixed[4]"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), printed, "{text}");
        }
        for text in ["bigint(5)", "varchar()", "varchar(x)", "char(3", "numeric", "interval", "\u{e9}("] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

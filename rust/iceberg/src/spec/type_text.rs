//! Types as text: `decimal(9, 2)`, `fixed[16]`, `geography(srid:4326, karney)` (spec: appendix C, "Schemas").
//!
//! Names are parsed in any case and with white space around every part; they are printed as in the spec.

use std::fmt;
use std::str::FromStr;

use frazil_core::error::{Error, ErrorKind, Result};

use super::json::shown;
use super::types::{PrimitiveType, Type};

/// The default coordinate reference system of geometry and geography.
const DEFAULT_CRS: &str = "OGC:CRS84";

/// The edge algorithms of geography; the first is the default.
const EDGE_ALGORITHMS: [&str; 5] = ["spherical", "vincenty", "thomas", "andoyer", "karney"];

const MAX_DECIMAL_PRECISION: u8 = 38;

impl FromStr for PrimitiveType {
    type Err = Error;

    /// Parses the text of a type without fields.
    ///
    /// # Errors
    /// `CorruptMetadata` for names that the spec does not define and parameters out of range.
    fn from_str(text: &str) -> Result<Self> {
        let (name, parameters) = split(text).ok_or_else(|| unknown(text))?;
        let plain = match name.as_str() {
            "decimal" => return decimal(text, parameters),
            "fixed" => return fixed(text, parameters),
            "geometry" => return geometry(text, parameters),
            "geography" => return geography(text, parameters),
            "unknown" => Self::Unknown,
            "boolean" => Self::Boolean,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            "date" => Self::Date,
            "time" => Self::Time,
            "timestamp" => Self::Timestamp,
            "timestamptz" => Self::Timestamptz,
            "timestamp_ns" => Self::TimestampNs,
            "timestamptz_ns" => Self::TimestamptzNs,
            "string" => Self::String,
            "uuid" => Self::Uuid,
            "binary" => Self::Binary,
            "variant" => Self::Variant,
            _ => return Err(unknown(text)),
        };
        if parameters == Parameters::None { Ok(plain) } else { Err(unknown(text)) }
    }
}

impl fmt::Display for PrimitiveType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Decimal { precision, scale } => return write!(f, "decimal({precision}, {scale})"),
            Self::Fixed(length) => return write!(f, "fixed[{length}]"),
            Self::Geometry(Some(crs)) => return write!(f, "geometry({crs})"),
            Self::Geography(Some(crs), None) => return write!(f, "geography({crs})"),
            Self::Geography(crs, Some(algorithm)) => {
                return write!(f, "geography({}, {algorithm})", crs.as_deref().unwrap_or(DEFAULT_CRS));
            }
            Self::Unknown => "unknown",
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp => "timestamp",
            Self::Timestamptz => "timestamptz",
            Self::TimestampNs => "timestamp_ns",
            Self::TimestamptzNs => "timestamptz_ns",
            Self::String => "string",
            Self::Uuid => "uuid",
            Self::Binary => "binary",
            Self::Variant => "variant",
            Self::Geometry(None) => "geometry",
            Self::Geography(None, None) => "geography",
        };
        f.write_str(name)
    }
}

impl fmt::Display for Type {
    /// Formats the type for display: `struct<1: x: optional int>`, `list<string>`, `map<string, int>`. Only primitive
    /// types can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(primitive) => primitive.fmt(f),
            Self::List(list) => write!(f, "list<{}>", list.element.field_type),
            Self::Map(map) => write!(f, "map<{}, {}>", map.key.field_type, map.value.field_type),
            Self::Struct(fields) => {
                f.write_str("struct<")?;
                for (i, field) in fields.fields.iter().enumerate() {
                    let separator = if i == 0 { "" } else { ", " };
                    let presence = if field.required { "required" } else { "optional" };
                    write!(f, "{separator}{}: {}: {presence} {}", field.id, field.name, field.field_type)?;
                }
                f.write_str(">")
            }
        }
    }
}

/// The parameters after a type name.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Parameters<'a> {
    None,
    /// `(…)`
    Round(&'a str),
    /// `[…]`
    Square(&'a str),
}

/// Returns the name in lower case, and the parameters.
fn split(text: &str) -> Option<(String, Parameters<'_>)> {
    let text = text.trim();
    let end = text.find(['(', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    let parameters = if rest.is_empty() {
        Parameters::None
    } else if let Some(inner) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Parameters::Round(inner)
    } else {
        Parameters::Square(rest.strip_prefix('[')?.strip_suffix(']')?)
    };
    Some((name.trim_end().to_ascii_lowercase(), parameters))
}

fn decimal(text: &str, parameters: Parameters<'_>) -> Result<PrimitiveType> {
    let Parameters::Round(inner) = parameters else { return Err(unknown(text)) };
    let parsed = inner.split_once(',').and_then(|(p, s)| Some((number::<u8>(p)?, number::<u8>(s)?)));
    match parsed {
        Some((precision, scale)) if (1..=MAX_DECIMAL_PRECISION).contains(&precision) && scale <= precision => {
            Ok(PrimitiveType::Decimal { precision, scale })
        }
        _ => Err(corrupt(format!(
            "`{}`: precision must be between 1 and 38, and scale between 0 and the precision",
            shown(text)
        ))),
    }
}

fn fixed(text: &str, parameters: Parameters<'_>) -> Result<PrimitiveType> {
    let Parameters::Square(inner) = parameters else { return Err(unknown(text)) };
    // Arrow stores the width of fixed values in 31 bits.
    let length = number::<u32>(inner).filter(|&length| i32::try_from(length).is_ok());
    let length = length.ok_or_else(|| corrupt(format!("`{}`: invalid length", shown(text))))?;
    Ok(PrimitiveType::Fixed(length))
}

fn geometry(text: &str, parameters: Parameters<'_>) -> Result<PrimitiveType> {
    match parameters {
        Parameters::None => Ok(PrimitiveType::Geometry(None)),
        Parameters::Round(crs) => Ok(PrimitiveType::Geometry(not_default(crs, DEFAULT_CRS))),
        Parameters::Square(_) => Err(unknown(text)),
    }
}

fn geography(text: &str, parameters: Parameters<'_>) -> Result<PrimitiveType> {
    let inner = match parameters {
        Parameters::None => "",
        Parameters::Round(inner) => inner,
        Parameters::Square(_) => return Err(unknown(text)),
    };
    let (crs, algorithm) = inner.split_once(',').unwrap_or((inner, ""));
    let algorithm = algorithm.trim().to_ascii_lowercase();
    if !algorithm.is_empty() && !EDGE_ALGORITHMS.contains(&algorithm.as_str()) {
        return Err(corrupt(format!("`{}`: unknown edge algorithm", shown(text))));
    }
    let [default_algorithm, ..] = EDGE_ALGORITHMS;
    Ok(PrimitiveType::Geography(not_default(crs, DEFAULT_CRS), not_default(&algorithm, default_algorithm)))
}

/// Returns a parameter, or None if it equals the default.
fn not_default(parameter: &str, default: &str) -> Option<String> {
    let parameter = parameter.trim();
    (!parameter.is_empty() && !parameter.eq_ignore_ascii_case(default)).then(|| parameter.to_string())
}

/// Parses digits with optional white space around them, without a sign.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let digits = text.trim();
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn unknown(text: &str) -> Error {
    corrupt(format!("unknown type `{}`", shown(text)))
}

fn corrupt(message: String) -> Error {
    Error::new(ErrorKind::CorruptMetadata, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_printed_as_the_spec_writes_them() {
        let cases = [
            ("int", "int"),
            (" Timestamptz_NS ", "timestamptz_ns"),
            ("decimal(9,2)", "decimal(9, 2)"),
            ("decimal( 9 , 2 )", "decimal(9, 2)"),
            ("DECIMAL (38,38)", "decimal(38, 38)"),
            ("fixed[4]", "fixed[4]"),
            ("fixed[ 4 ]", "fixed[4]"),
            ("geometry", "geometry"),
            ("geometry(OGC:CRS84)", "geometry"),
            ("geometry( srid:3857 )", "geometry(srid:3857)"),
            ("geography", "geography"),
            ("geography(OGC:CRS84, spherical)", "geography"),
            ("geography(OGC:CRS84, Karney)", "geography(OGC:CRS84, karney)"),
            ("geography(srid:4269)", "geography(srid:4269)"),
            ("geography(srid:4269 , vincenty)", "geography(srid:4269, vincenty)"),
            ("variant", "variant"),
            ("unknown", "unknown"),
        ];
        for (text, printed) in cases {
            let parsed: PrimitiveType = text.parse().unwrap();
            assert_eq!(parsed.to_string(), printed, "{text}");
            assert_eq!(printed.parse::<PrimitiveType>().unwrap(), parsed, "{text}");
        }
    }

    #[test]
    fn types_outside_the_specification_are_rejected() {
        let cases = [
            "int128",
            "",
            "int(3)",
            "decimal",
            "decimal(9)",
            "decimal(0, 0)",
            "decimal(39, 2)",
            "decimal(99, -5)",
            "decimal(5, 6)",
            "decimal(+5, 2)",
            "decimal[9, 2]",
            "decimal(9, 2",
            "fixed",
            "fixed(4)",
            "fixed[-1]",
            "fixed[4294967295]",
            "fixed[]",
            "geography(x, flat)",
            "geometry[x]",
            "struct",
            "d\u{e9}cimal(",
            "(",
            "[",
        ];
        for text in cases {
            let error = text.parse::<PrimitiveType>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptMetadata, "{text}");
        }
    }
}

//! Converts variants to JSON text, in the form of Spark's `to_json`.
//!
//! Decimals lose their trailing zeros, binary values become base64, dates, times, timestamps and UUIDs become strings,
//! and NaN and the infinities become `"NaN"`, `"Infinity"` and `"-Infinity"`. Fields keep the order of the object:
//! sorted by name.

use std::fmt::Write;

use arrow_array::{Array as _, BinaryArray, StringArray, StructArray, builder::StringBuilder, cast::AsArray};

use super::MAX_DEPTH;
use super::decode::{Metadata, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::scalar::civil::civil_from_days;

/// The maximum length of the JSON text. The limit is needed because a few bytes can reference a long field name many
/// times.
const MAX_JSON_BYTES: usize = i32::MAX as usize;

/// Returns one variant as JSON text.
///
/// # Errors
/// `CorruptData` for bytes that are not a variant; `Unsupported` for unknown primitive types; `LimitExceeded` for
/// values that are nested more than 128 levels deep or text above 2 GiB.
pub fn to_json(metadata: &[u8], value: &[u8]) -> Result<String> {
    let mut text = String::new();
    JsonWriter { metadata: Metadata::parse(metadata)?, budget: value.len(), out: &mut text }.value(value, 0)?;
    Ok(text)
}

/// Returns variants, a struct of binary `metadata` and `value`, as JSON text; NULL stays NULL.
///
/// # Errors
/// See [`to_json`]; `InvalidArgument` if the struct is not an unshredded variant.
pub fn to_json_array(variants: &StructArray) -> Result<StringArray> {
    let column = |name: &str| -> Result<&BinaryArray> {
        let column = variants.column_by_name(name).and_then(|column| column.as_binary_opt());
        column.ok_or_else(|| Error::invalid(format!("a variant needs a binary field {name}")))
    };
    let (metadata, values) = (column("metadata")?, column("value")?);
    let mut texts = StringBuilder::with_capacity(variants.len(), values.value_data().len());
    let (mut text, mut total) = (String::new(), 0_usize);
    for row in 0..variants.len() {
        if variants.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        let value = values.value(row);
        let metadata = Metadata::parse(metadata.value(row))?;
        JsonWriter { metadata, budget: value.len(), out: &mut text }
            .value(value, 0)
            .map_err(|error| error.with("row", row))?;
        total += text.len();
        if total > MAX_JSON_BYTES {
            return Err(too_long());
        }
        texts.append_value(&text);
    }
    Ok(texts.finish())
}

struct JsonWriter<'a, 'o> {
    metadata: Metadata<'a>,
    /// The remaining number of value bytes that may be read. Without this limit, values that share bytes could expand
    /// exponentially.
    budget: usize,
    out: &'o mut String,
}

impl<'a> JsonWriter<'a, '_> {
    fn value(&mut self, bytes: &'a [u8], depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("a variant is nested more than {MAX_DEPTH} levels deep"),
            ));
        }
        let (value, size) = Value::parse(bytes)?;
        match value {
            Value::Object(object) => {
                self.spend(1)?;
                for at in 0..object.len() {
                    let (id, field) = object.field(at)?;
                    self.out.push(if at == 0 { '{' } else { ',' });
                    let name = self.metadata.name(id)?;
                    self.text(name)?;
                    self.out.push(':');
                    self.value(field, depth + 1)?;
                }
                self.out.push_str(if object.is_empty() { "{}" } else { "}" });
            }
            Value::Array(array) => {
                self.spend(1)?;
                for at in 0..array.len() {
                    self.out.push(if at == 0 { '[' } else { ',' });
                    self.value(array.element(at)?, depth + 1)?;
                }
                self.out.push_str(if array.is_empty() { "[]" } else { "]" });
            }
            scalar => {
                self.spend(size)?;
                self.scalar(scalar)?;
            }
        }
        if self.out.len() > MAX_JSON_BYTES { Err(too_long()) } else { Ok(()) }
    }

    fn spend(&mut self, bytes: usize) -> Result<()> {
        let left = self.budget.checked_sub(bytes).ok_or_else(|| Error::corrupt("the values of a variant overlap"))?;
        self.budget = left;
        Ok(())
    }

    fn scalar(&mut self, value: Value) -> Result<()> {
        match value {
            Value::Null | Value::Object(_) | Value::Array(_) => self.out.push_str("null"),
            Value::Boolean(value) => self.put(format_args!("{value}")),
            Value::Int(value) => self.put(format_args!("{value}")),
            Value::Float(value) if value.is_finite() => self.put(format_args!("{value:?}")),
            Value::Double(value) if value.is_finite() => self.put(format_args!("{value:?}")),
            Value::Float(value) => self.not_finite(f64::from(value)),
            Value::Double(value) => self.not_finite(value),
            Value::Decimal { unscaled, scale } => self.decimal(unscaled, scale),
            Value::Date(days) => {
                self.out.push('"');
                self.date(i64::from(days));
                self.out.push('"');
            }
            Value::Time(micros) => {
                self.out.push('"');
                self.time(micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000), 6);
                self.out.push('"');
            }
            Value::Timestamp { value, nanos, utc } => self.timestamp(value, nanos, utc),
            Value::Binary(bytes) => self.base64(bytes),
            Value::String(text) => self.text(text)?,
            Value::Uuid(bytes) => self.uuid(bytes),
        }
        Ok(())
    }

    fn put(&mut self, text: std::fmt::Arguments) {
        // Writing to a String cannot fail.
        let _ = self.out.write_fmt(text);
    }

    fn not_finite(&mut self, value: f64) {
        self.out.push_str(match value {
            _ if value.is_nan() => "\"NaN\"",
            _ if value > 0.0 => "\"Infinity\"",
            _ => "\"-Infinity\"",
        });
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let quoted = serde_json::to_string(text);
        self.out.push_str(
            &quoted.map_err(|error| Error::internal("a string cannot be converted to JSON").caused_by(error))?,
        );
        Ok(())
    }

    fn decimal(&mut self, mut unscaled: i128, scale: u8) {
        let mut scale = usize::from(scale);
        while scale > 0 && unscaled % 10 == 0 {
            unscaled /= 10;
            scale -= 1;
        }
        let sign = if unscaled < 0 { "-" } else { "" };
        let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
        match digits.split_at_checked(digits.len() - scale) {
            Some((whole, fraction)) if scale > 0 => self.put(format_args!("{sign}{whole}.{fraction}")),
            _ => self.put(format_args!("{sign}{digits}")),
        }
    }

    fn date(&mut self, days: i64) {
        let (year, month, day) = civil_from_days(days);
        match year {
            0..=9999 => self.put(format_args!("{year:04}-{month:02}-{day:02}")),
            _ => self.put(format_args!("{year:+05}-{month:02}-{day:02}")),
        }
    }

    /// Writes a number of seconds in a day, and a fraction of `digits` digits without trailing zeros.
    fn time(&mut self, second: i64, fraction: i64, digits: usize) {
        self.put(format_args!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60));
        if fraction > 0 {
            let text = format!("{fraction:0digits$}");
            self.put(format_args!(".{}", text.trim_end_matches('0')));
        }
    }

    fn timestamp(&mut self, value: i64, nanos: bool, utc: bool) {
        let (per_second, digits) = if nanos { (1_000_000_000, 9) } else { (1_000_000, 6) };
        let seconds = value.div_euclid(per_second);
        self.out.push('"');
        self.date(seconds.div_euclid(86_400));
        self.out.push(' ');
        self.time(seconds.rem_euclid(86_400), value.rem_euclid(per_second), digits);
        self.out.push_str(if utc { "+00:00\"" } else { "\"" });
    }

    fn base64(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        self.out.push('"');
        for chunk in bytes.chunks(3) {
            let group =
                chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
            for place in 0..4 {
                let digit = usize::try_from(group >> (18 - 6 * place) & 63).ok().and_then(|at| DIGITS.get(at));
                self.out.push(if place <= chunk.len() { digit.map_or('=', |digit| char::from(*digit)) } else { '=' });
            }
        }
        self.out.push('"');
    }

    fn uuid(&mut self, bytes: [u8; 16]) {
        self.out.push('"');
        for (at, byte) in bytes.iter().enumerate() {
            self.put(format_args!("{}{byte:02x}", if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" }));
        }
        self.out.push('"');
    }
}

fn too_long() -> Error {
    Error::new(ErrorKind::LimitExceeded, "the JSON text of variants exceeds 2 GiB")
}

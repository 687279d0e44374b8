//! Returns the folders of partitions (documentation: "Basic Concepts", options `partition.default-name` and
//! `partition.legacy-name`): `dt=2024-05-14/region=eu`.
//!
//! Folders are names, not values: NULL, empty and blank strings share one name, so a value cannot be recovered from its
//! name. The manifest records which partition a file belongs to.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use frazil_core::error::{Error, Result};
use frazil_core::scalar::civil::civil_from_days;
use frazil_core::scalar::decimal_text;

use super::options::Options;
use super::types::{DataField, TypeRoot};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// The bucket of files whose rows are not yet assigned to buckets; also the value of the option `bucket`.
pub(crate) const POSTPONED: i32 = -2;

/// The rules for converting values to names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// The name of NULL, empty and blank strings.
    pub default_name: String,
    /// Whether dates are numbers of days, times are numbers of milliseconds, and timestamps contain a `T`.
    pub legacy: bool,
}

impl Default for Naming {
    fn default() -> Self {
        Self { default_name: "__DEFAULT_PARTITION__".to_string(), legacy: true }
    }
}

impl Naming {
    /// Returns the rules that the options of a table define.
    ///
    /// # Errors
    /// `InvalidArgument` for a `partition.legacy-name` that is not a Boolean.
    pub fn from_options(options: &Options) -> Result<Self> {
        let default = Self::default();
        let name = options.text("partition.default-name").map(ToString::to_string);
        Ok(Self {
            default_name: name.unwrap_or(default.default_name),
            legacy: options.boolean("partition.legacy-name", default.legacy)?,
        })
    }
}

/// Returns the folder of the partition whose values are at `row` of `values`, with one array for each of the partition
/// `fields`. Empty for a table without partitions. Instants are named by their time in UTC.
///
/// # Errors
/// `InvalidArgument` for values that do not match their field; `Unsupported` for types whose names are arbitrary in
/// Java.
pub fn folder(fields: &[&DataField], values: &[ArrayRef], row: usize, naming: &Naming) -> Result<String> {
    if fields.len() != values.len() || values.iter().any(|array| row >= array.len()) {
        return Err(Error::invalid(format!(
            "{} partition values for {} fields, or the row does not exist",
            values.len(),
            fields.len()
        )));
    }
    let mut path = String::new();
    for (field, array) in fields.iter().zip(values) {
        if !path.is_empty() {
            path.push('/');
        }
        let text = value_text(array, row, &field.data_type.root, naming.legacy);
        let text = text.map_err(|error| error.with("column", &field.name))?;
        let text = text.filter(|text| !text.chars().all(is_java_whitespace));
        escape_into(&field.name, &mut path);
        path.push('=');
        escape_into(text.as_deref().unwrap_or(&naming.default_name), &mut path);
    }
    Ok(path)
}

/// Returns the folder of a bucket, relative to the table. `folder` is that of its partition, empty without partitions.
///
/// # Errors
/// As for [`Options::data_directory`].
pub fn bucket_path(options: &Options, folder: &str, bucket: i32) -> Result<String> {
    let directory = options.data_directory()?;
    let bucket = if bucket == POSTPONED { "bucket-postpone".to_string() } else { format!("bucket-{bucket}") };
    let parts = [directory.as_str(), folder, bucket.as_str()];
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"))
}

/// Escapes a string for use in a file name.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    escape_into(text, &mut escaped);
    escaped
}

fn escape_into(text: &str, path: &mut String) {
    for letter in text.chars() {
        match letter {
            '\u{1}'..='\u{1f}'
            | '"'
            | '#'
            | '%'
            | '\''
            | '*'
            | '/'
            | ':'
            | '='
            | '?'
            | '\\'
            | '\u{7f}'
            | '{'
            | '}'
            | '['
            | ']'
            | '^' => push(path, format_args!("%{:02X}", u32::from(letter))),
            _ => path.push(letter),
        }
    }
}

/// Returns whether a character is whitespace by Java's `Character.isWhitespace`.
fn is_java_whitespace(letter: char) -> bool {
    let breaks = !matches!(letter, '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}');
    matches!(letter, '\u{1c}'..='\u{1f}') || (letter.is_whitespace() && breaks)
}

/// Returns the name of a value before escaping, or None for NULL.
pub(crate) fn value_text(array: &ArrayRef, row: usize, root: &TypeRoot, legacy: bool) -> Result<Option<String>> {
    if array.is_null(row) {
        return Ok(None);
    }
    let text = match root {
        TypeRoot::Boolean => array.as_boolean_opt().map(|array| array.value(row).to_string()),
        TypeRoot::TinyInt => primitive::<Int8Type>(array, row).map(|value| value.to_string()),
        TypeRoot::SmallInt => primitive::<Int16Type>(array, row).map(|value| value.to_string()),
        TypeRoot::Int => primitive::<Int32Type>(array, row).map(|value| value.to_string()),
        TypeRoot::BigInt => primitive::<Int64Type>(array, row).map(|value| value.to_string()),
        TypeRoot::Float => primitive::<Float32Type>(array, row)
            .map(|value| float_text(f64::from(value), &format!("{value}"), &format!("{value:e}"))),
        TypeRoot::Double => primitive::<Float64Type>(array, row)
            .map(|value| float_text(value, &format!("{value}"), &format!("{value:e}"))),
        TypeRoot::Decimal(_, scale) => {
            primitive::<Decimal128Type>(array, row).map(|value| decimal_text(value, scale.cast_signed()))
        }
        TypeRoot::Char(_) | TypeRoot::VarChar(_) => {
            array.as_string_opt::<i32>().map(|array| array.value(row).to_string())
        }
        TypeRoot::Date => primitive::<Date32Type>(array, row)
            .map(|days| if legacy { days.to_string() } else { date_text(i64::from(days)) }),
        TypeRoot::Time(digits) => primitive::<Time32MillisecondType>(array, row)
            .map(|millis| if legacy { millis.to_string() } else { time_text(millis, *digits) }),
        TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) => {
            instant(array, row).map(|instant| timestamp_text(instant, *digits, legacy))
        }
        _ => return Err(Error::unsupported(format!("partitioning by {} is not supported", array.data_type()))),
    };
    text.map(Some)
        .ok_or_else(|| Error::invalid(format!("a partition value has the unexpected Arrow type {}", array.data_type())))
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> Option<T::Native> {
    array.as_primitive_opt::<T>().map(|array| array.value(row))
}

/// Formats a float as Java does: plain from 0.001 to 10 million, otherwise with an exponent, and always with a point.
fn float_text(value: f64, plain: &str, exponential: &str) -> String {
    if value.is_nan() {
        return "NaN".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_string();
    }
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        return if plain.contains('.') { plain.to_string() } else { format!("{plain}.0") };
    }
    match exponential.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => format!("{digits}E{exponent}"),
        Some((digits, exponent)) => format!("{digits}.0E{exponent}"),
        None => exponential.to_string(),
    }
}

/// Formats a date like Java's `LocalDate`: years of at least four digits, with a sign outside of 0 to 9999.
fn date_text(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    let sign = match year {
        ..=-1 => "-",
        0..=9999 => "",
        _ => "+",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// Formats a time with at least one digit after the second, unless the type has none, and without further trailing
/// zeros.
fn time_text(millis: i32, digits: u8) -> String {
    let millis = i64::from(millis).rem_euclid(MILLIS_PER_DAY);
    let mut text = clock_text(millis);
    if digits > 0 {
        let fraction = format!("{:03}", millis % 1_000);
        let fraction = fraction.get(..usize::from(digits).min(3)).unwrap_or_default().trim_end_matches('0');
        push(&mut text, format_args!(".{}", if fraction.is_empty() { "0" } else { fraction }));
    }
    text
}

fn clock_text(millis_of_day: i64) -> String {
    let seconds = millis_of_day / 1_000;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Returns the day since 1970-01-01, and the nanoseconds within the day.
fn instant(array: &ArrayRef, row: usize) -> Option<(i64, i64)> {
    let (value, per_day) = if let Some(millis) = primitive::<TimestampMillisecondType>(array, row) {
        (millis, MILLIS_PER_DAY)
    } else if let Some(micros) = primitive::<TimestampMicrosecondType>(array, row) {
        (micros, MILLIS_PER_DAY * 1_000)
    } else {
        (primitive::<TimestampNanosecondType>(array, row)?, MILLIS_PER_DAY * 1_000_000)
    };
    Some((value.div_euclid(per_day), value.rem_euclid(per_day) * (MILLIS_PER_DAY * 1_000_000 / per_day)))
}

/// Formats a timestamp. Legacy names follow Java's `LocalDateTime`: seconds and fractions only if they are not 0, in
/// groups of three digits. Other names have all digits of the type.
fn timestamp_text((day, nanos): (i64, i64), digits: u8, legacy: bool) -> String {
    let date = date_text(day);
    let clock = clock_text(nanos / 1_000_000);
    let (seconds, fraction) = (nanos / 1_000_000_000 % 60, nanos % 1_000_000_000);
    let fraction_text = format!("{fraction:09}");
    if !legacy {
        let significant = fraction_text.trim_end_matches('0').len().max(usize::from(digits));
        let point = if significant > 0 { "." } else { "" };
        return format!("{date} {clock}{point}{}", fraction_text.get(..significant).unwrap_or_default());
    }
    match fraction {
        0 if seconds == 0 => format!("{date}T{}", clock.get(..5).unwrap_or_default()),
        0 => format!("{date}T{clock}"),
        _ => {
            let significant = fraction_text.trim_end_matches('0').len().next_multiple_of(3);
            format!("{date}T{clock}.{}", fraction_text.get(..significant).unwrap_or_default())
        }
    }
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int64Array,
        StringArray, Time32MillisecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
        TimestampNanosecondArray,
    };

    use super::*;
    use crate::spec::types::DataType;

    fn field(name: &str, root: TypeRoot) -> DataField {
        let data_type = DataType::nullable(root);
        DataField { id: 0, name: name.to_string(), data_type, description: None, default_value: None }
    }

    #[track_caller]
    fn named(values: impl Array + 'static, root: &TypeRoot, legacy: bool, names: &[&str]) {
        let naming = Naming { legacy, ..Naming::default() };
        let (field, values): (_, ArrayRef) = (field("p", root.clone()), Arc::new(values));
        let folder = |row| folder(&[&field], std::slice::from_ref(&values), row, &naming).unwrap();
        let folders: Vec<String> = (0..values.len()).map(folder).collect();
        let expected: Vec<String> = names.iter().map(|name| format!("p={name}")).collect();
        assert_eq!(folders, expected, "{root:?} {legacy}");
    }

    const NONE: &str = "__DEFAULT_PARTITION__";

    #[test]
    fn text_is_escaped_and_nothing_has_the_default_name() {
        let text = ["a/b", "x=1", "50%", " y ", "\u{e9}\u{1f4b0}", "a+b&c", "t\t", "[{^}]", "", "  ", "\u{7f}"];
        let names = [
            "a%2Fb",
            "x%3D1",
            "50%25",
            " y ",
            "\u{e9}\u{1f4b0}",
            "a+b&c",
            "t%09",
            "%5B%7B%5E%7D%5D",
            NONE,
            NONE,
            "%7F",
        ];
        named(StringArray::from(text.to_vec()), &TypeRoot::VarChar(9), true, &names);
        named(StringArray::from(vec![None::<&str>]), &TypeRoot::Char(9), true, &[NONE]);
        assert_eq!(escape("\"#'*:?\\"), "%22%23%27%2A%3A%3F%5C");
    }

    #[test]
    fn numbers_are_as_java_writes_them() {
        named(Int8Array::from(vec![-128, 127]), &TypeRoot::TinyInt, true, &["-128", "127"]);
        named(Int64Array::from(vec![i64::MIN]), &TypeRoot::BigInt, false, &["-9223372036854775808"]);
        named(
            BooleanArray::from(vec![Some(true), Some(false), None]),
            &TypeRoot::Boolean,
            false,
            &["true", "false", NONE],
        );
        let decimals = Decimal128Array::from(vec![-150, 0, 1_234_567_891, 5]).with_precision_and_scale(10, 2).unwrap();
        named(decimals, &TypeRoot::Decimal(10, 2), true, &["-1.50", "0.00", "12345678.91", "0.05"]);
        let whole = Decimal128Array::from(vec![-7]).with_precision_and_scale(10, 0).unwrap();
        named(whole, &TypeRoot::Decimal(10, 0), true, &["-7"]);
        let floats = [-0.0, 1e10, 1.5, f32::INFINITY, f32::NAN, 0.001, 1e-4, 1e7, 9_999_999.0, 3.402_823_5e38];
        let names =
            ["-0.0", "1.0E10", "1.5", "Infinity", "NaN", "0.001", "1.0E-4", "1.0E7", "9999999.0", "3.4028235E38"];
        named(Float32Array::from(floats.to_vec()), &TypeRoot::Float, false, &names);
        named(Float64Array::from(vec![0.1, -1.25e-7]), &TypeRoot::Double, true, &["0.1", "-1.25E-7"]);
    }

    #[test]
    fn legacy_names_count_days_and_milliseconds() {
        named(Date32Array::from(vec![-1, 19_782]), &TypeRoot::Date, true, &["-1", "19782"]);
        named(Time32MillisecondArray::from(vec![3_723_004]), &TypeRoot::Time(3), true, &["3723004"]);
        let millis = TimestampMillisecondArray::from(vec![0, -999, 1_709_210_096_000, 253_402_300_799_999]);
        let names = [
            "1970-01-01T00%3A00",
            "1969-12-31T23%3A59%3A59.001",
            "2024-02-29T12%3A34%3A56",
            "9999-12-31T23%3A59%3A59.999",
        ];
        named(millis, &TypeRoot::Timestamp(3), true, &names);
        let nanos = TimestampNanosecondArray::from(vec![i64::MAX, 1_500]).with_timezone("UTC");
        let names = ["2262-04-11T23%3A47%3A16.854775807", "1970-01-01T00%3A00%3A00.000001500"];
        named(nanos, &TypeRoot::LocalZonedTimestamp(9), true, &names);
    }

    #[test]
    fn other_names_are_casts_to_text() {
        let days = vec![-141_432, -719_162, 0, 2_932_896, 2_932_897, -719_529];
        let names = ["1582-10-10", "0001-01-01", "1970-01-01", "9999-12-31", "+10000-01-01", "-0001-12-31"];
        named(Date32Array::from(days), &TypeRoot::Date, false, &names);
        let times = Time32MillisecondArray::from(vec![0, 3_723_004, 45_296_120]);
        named(times, &TypeRoot::Time(3), false, &["00%3A00%3A00.0", "01%3A02%3A03.004", "12%3A34%3A56.12"]);
        named(Time32MillisecondArray::from(vec![1_000]), &TypeRoot::Time(0), false, &["00%3A00%3A01"]);
        let micros = TimestampMicrosecondArray::from(vec![0, -999_999]);
        let names = ["1970-01-01 00%3A00%3A00.000000", "1969-12-31 23%3A59%3A59.000001"];
        named(micros, &TypeRoot::Timestamp(6), false, &names);
        let seconds = TimestampMillisecondArray::from(vec![0, 1]);
        named(seconds, &TypeRoot::Timestamp(0), false, &["1970-01-01 00%3A00%3A00", "1970-01-01 00%3A00%3A00.001"]);
    }

    #[test]
    fn partitions_nest_and_options_name_them() {
        let fields = [field("a=", TypeRoot::VarChar(9)), field("b", TypeRoot::Date)];
        let values: [ArrayRef; 2] = [Arc::new(StringArray::from(vec![""])), Arc::new(Date32Array::from(vec![0]))];
        let fields: Vec<&DataField> = fields.iter().collect();
        let options = [("partition.default-name", "none"), ("partition.legacy-name", "false")];
        let options = options.map(|(name, value)| (name.to_string(), value.to_string()));
        let naming = Naming::from_options(&Options::new(options.into())).unwrap();
        assert_eq!(folder(&fields, &values, 0, &naming).unwrap(), "a%3D=none/b=1970-01-01");
        assert_eq!(folder(&[], &[], 0, &naming).unwrap(), "");
        assert!(folder(&fields, &values, 1, &naming).is_err());
        let binary: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"x"]));
        let field = field("b", TypeRoot::VarBinary(1));
        assert!(folder(&[&field], &[binary], 0, &naming).is_err());
        let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        assert!(folder(&[fields[1]], &[text], 0, &naming).is_err());
    }
}

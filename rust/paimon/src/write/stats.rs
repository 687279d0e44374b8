//! Collects statistics of the columns of a data file (documentation: options `metadata.stats-mode`,
//! `fields.<column>.stats-mode` and `metadata.stats-dense-store`; Java's `SimpleColStatsCollector` and
//! `SimpleStatsConverter`).
//!
//! Statistics are collected from the rows as they are written, independently of the file format.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringArray, new_null_array};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use arrow_select::concat::concat;
use frazil_core::error::{Error, Result};
use frazil_core::extremes::{extremes, float_extremes, least_and_greatest, upper_text};

use crate::binary_row::{self, NO_FIELDS};
use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::stats::SimpleStats;
use crate::spec::types::{DataField, DataType};

const DEFAULT_MODE: &str = "truncate(16)";

/// The mode of key columns. They always have bounds, because planning needs the key ranges of the files of a bucket.
const OF_KEYS: Mode = Mode::Truncate(128);

/// The statistics that are recorded for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    None,
    /// The number of NULLs.
    Counts,
    /// The number of NULLs and the bounds. Bounds of strings have at most this many code points.
    Truncate(usize),
    Full,
}

impl Mode {
    /// Parses a mode.
    ///
    /// # Errors
    /// `InvalidArgument` naming the option for any other string.
    pub(super) fn parse(option: &str, text: &str) -> Result<Self> {
        let lower = text.to_ascii_lowercase();
        let digits = lower.strip_prefix("truncate(").and_then(|rest| rest.strip_suffix(')'));
        let length = digits.and_then(|digits| digits.parse::<i32>().ok()).filter(|length| *length > 0);
        match (lower.as_str(), length.and_then(|length| usize::try_from(length).ok())) {
            ("none", _) => Ok(Self::None),
            ("counts", _) => Ok(Self::Counts),
            ("full", _) => Ok(Self::Full),
            (_, Some(length)) => Ok(Self::Truncate(length)),
            _ => {
                let message = format!("the option `{option}` is `{}`, which is not a statistics mode", shown(text));
                Err(Error::invalid(message).hint("valid modes are none, counts, truncate(<length above 0>) and full"))
            }
        }
    }
}

/// The statistics that are recorded for the columns of a table.
#[derive(Debug)]
pub struct StatsSettings {
    columns: Vec<(DataField, Mode)>,
    /// Whether columns without statistics are left out.
    dense: bool,
}

impl StatsSettings {
    /// Returns the settings that the options of a table define.
    ///
    /// # Errors
    /// `InvalidArgument` naming an option that does not parse.
    pub fn try_new(schema: &TableSchema, options: &Options) -> Result<Self> {
        let name = "metadata.stats-mode";
        let default = Mode::parse(name, options.text(name).unwrap_or(DEFAULT_MODE))?;
        let is_thin = options.boolean("data-file.thin-mode", false)?;
        let keys = schema.trimmed_primary_keys();
        let column = |field: &DataField| {
            let name = format!("fields.{}.stats-mode", field.name);
            let default = if is_thin && keys.contains(&field.name.as_str()) { OF_KEYS } else { default };
            let mode = options.text(&name).map_or(Ok(default), |text| Mode::parse(&name, text))?;
            Ok((nullable(field), mode))
        };
        Ok(Self {
            columns: schema.fields.iter().map(column).collect::<Result<_>>()?,
            dense: options.boolean("metadata.stats-dense-store", true)?,
        })
    }

    /// Returns the settings for the key columns of a table.
    pub fn of_keys(schema: &TableSchema) -> Self {
        let keys = schema.trimmed_primary_keys().into_iter().filter_map(|key| schema.field(key));
        Self { columns: keys.map(|field| (nullable(field), OF_KEYS)).collect(), dense: false }
    }
}

/// Returns the field as it is in rows of bounds.
fn nullable(field: &DataField) -> DataField {
    DataField { data_type: DataType::nullable(field.data_type.root.clone()), ..field.clone() }
}

/// The collector of the statistics of one file.
#[derive(Debug)]
pub struct StatsCollector {
    settings: Arc<StatsSettings>,
    columns: Vec<StatsColumn>,
}

#[derive(Debug, Clone, Default)]
struct StatsColumn {
    nulls: i64,
    /// The minimum and the maximum.
    bounds: Option<ArrayRef>,
    /// Whether there are NaNs. Bounds are then unknown, because readers order NaN differently.
    has_nan: bool,
}

impl StatsCollector {
    /// Creates a collector for a new file.
    pub fn new(settings: Arc<StatsSettings>) -> Self {
        Self { columns: vec![StatsColumn::default(); settings.columns.len()], settings }
    }

    /// Adds the columns of rows.
    ///
    /// # Errors
    /// The errors of Arrow for columns of other types.
    pub fn add(&mut self, columns: &[ArrayRef]) -> Result<()> {
        for ((column, (_, mode)), values) in self.columns.iter_mut().zip(&self.settings.columns).zip(columns) {
            if *mode != Mode::None {
                let nulls = i64::try_from(values.null_count()).unwrap_or(i64::MAX);
                column.nulls = column.nulls.saturating_add(nulls);
            }
            if matches!(mode, Mode::Full | Mode::Truncate(_)) {
                column.widen(values)?;
            }
        }
        Ok(())
    }

    /// Returns the statistics, and the columns that have them, or None for all columns.
    ///
    /// # Errors
    /// `LimitExceeded` for bounds of more than 2 GiB.
    pub fn finish(self) -> Result<(SimpleStats, Option<Vec<String>>)> {
        let (mut names, mut types, mut null_counts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut min, mut max) = (Vec::new(), Vec::new());
        for (column, (field, mode)) in self.columns.into_iter().zip(&self.settings.columns) {
            if *mode == Mode::None && self.settings.dense {
                continue;
            }
            let nulls = column.nulls;
            let [least, greatest] = column.bounds(*mode, &field.data_type);
            names.push(field.name.clone());
            types.push(field.data_type.clone());
            null_counts.push((*mode != Mode::None).then_some(nulls));
            min.push(least);
            max.push(greatest);
        }
        let stats = SimpleStats { min: row(&min, &types)?, max: row(&max, &types)?, null_counts: Some(null_counts) };
        let all = names.len() == self.settings.columns.len();
        Ok((stats, (!all).then_some(names)))
    }
}

/// Encodes values, each an array of length 1, as a row with its arity.
pub(super) fn row(values: &[ArrayRef], types: &[DataType]) -> Result<Vec<u8>> {
    if values.is_empty() {
        return Ok(NO_FIELDS.to_vec());
    }
    Ok(binary_row::with_arity(&binary_row::encode(values, types)?, types.len())?.value(0).to_vec())
}

impl StatsColumn {
    fn widen(&mut self, values: &ArrayRef) -> Result<()> {
        let (has_nan, found) = bounds_of(values);
        self.has_nan |= has_nan;
        let Some(found) = found else { return Ok(()) };
        self.bounds = match self.bounds.take() {
            None => Some(found),
            Some(known) => bounds_of(&concat(&[&known, &found])?).1,
        };
        Ok(())
    }

    /// Returns the bounds as arrays of length 1, with NULL if unknown.
    fn bounds(self, mode: Mode, data_type: &DataType) -> [ArrayRef; 2] {
        let unknown = || new_null_array(&data_type.arrow(), 1);
        let Some(bounds) = self.bounds.filter(|_| !self.has_nan) else { return [unknown(), unknown()] };
        let (Mode::Truncate(length), Some(texts)) = (mode, bounds.as_string_opt::<i32>()) else {
            return [bounds.slice(0, 1), bounds.slice(1, 1)];
        };
        let least: String = texts.value(0).chars().take(length).collect();
        // As in Java, both bounds are unknown if no string of the maximum length is above the greatest value.
        match upper_text(texts.value(1), length) {
            None => [unknown(), unknown()],
            Some(greatest) => [least, greatest].map(|text| Arc::new(StringArray::from(vec![text])) as ArrayRef),
        }
    }
}

/// Returns whether there are NaNs, and the minimum and maximum, or None for types without bounds and without values.
fn bounds_of(values: &ArrayRef) -> (bool, Option<ArrayRef>) {
    let found = match values.data_type() {
        ArrowType::Boolean => values.as_boolean_opt().and_then(|array| {
            let (trues, count) = (array.true_count(), array.len() - array.null_count());
            (count > 0).then(|| Arc::new(BooleanArray::from(vec![trues == count, trues > 0])) as ArrayRef)
        }),
        ArrowType::Int8 => ordered::<Int8Type>(values),
        ArrowType::Int16 => ordered::<Int16Type>(values),
        ArrowType::Int32 => ordered::<Int32Type>(values),
        ArrowType::Int64 => ordered::<Int64Type>(values),
        ArrowType::Date32 => ordered::<Date32Type>(values),
        ArrowType::Time32(_) => ordered::<Time32MillisecondType>(values),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => ordered::<TimestampMillisecondType>(values),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => ordered::<TimestampMicrosecondType>(values),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => ordered::<TimestampNanosecondType>(values),
        ArrowType::Decimal128(..) => ordered::<Decimal128Type>(values),
        // Java orders -0.0 before 0.0, and other readers may not. A zero bound is therefore widened to -0.0 or 0.0.
        ArrowType::Float32 => return floats::<Float32Type>(values, f32::is_nan, |zero| zero == 0.0, [-0.0, 0.0]),
        ArrowType::Float64 => return floats::<Float64Type>(values, f64::is_nan, |zero| zero == 0.0, [-0.0, 0.0]),
        ArrowType::Utf8 => values.as_string_opt::<i32>().and_then(|texts| {
            let (least, greatest) = least_and_greatest(texts.iter().flatten())?;
            Some(Arc::new(StringArray::from(vec![least, greatest])) as ArrayRef)
        }),
        _ => None,
    };
    (false, found)
}

fn ordered<T: ArrowPrimitiveType>(values: &ArrayRef) -> Option<ArrayRef>
where
    T::Native: Ord + Copy,
{
    let (least, greatest) = extremes(values.as_primitive_opt::<T>()?)?;
    Some(pair::<T>(least, greatest, values.data_type()))
}

fn floats<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    is_nan: impl Fn(T::Native) -> bool,
    is_zero: impl Fn(T::Native) -> bool,
    [negative, positive]: [T::Native; 2],
) -> (bool, Option<ArrayRef>)
where
    T::Native: PartialOrd + Copy,
{
    let Some(array) = values.as_primitive_opt::<T>() else { return (false, None) };
    let (nans, found) = float_extremes(array, is_nan);
    let bounds = found.map(|(least, greatest)| {
        let least = if is_zero(least) { negative } else { least };
        let greatest = if is_zero(greatest) { positive } else { greatest };
        pair::<T>(least, greatest, values.data_type())
    });
    (nans > 0, bounds)
}

fn pair<T: ArrowPrimitiveType>(least: T::Native, greatest: T::Native, data_type: &ArrowType) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values([least, greatest]).with_data_type(data_type.clone()))
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;

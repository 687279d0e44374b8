//! Computes the statistics of a table and its columns (Java's `Statistics` and `ColStats`), as Spark's ANALYZE does.
//!
//! The numbers of distinct values are estimates. Minima and maxima are strings in the form that Java parses; byte strings
//! have none.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::DataType as ArrowType;
use frazil_core::context::Context;
use frazil_core::distinct::DistinctCount;
use frazil_core::error::{Error, Result};
use serde::Serialize;
use serde_json::Value as Json;
use xxhash_rust::xxh64::xxh64;

use crate::cast::Caster;
use crate::spec::json::shown;
use crate::spec::manifest::WantedFields;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};
use crate::table::Table;

/// The statistics of one state of a table, to which its rows are added.
#[derive(Debug)]
pub struct Analysis {
    schema_id: i64,
    columns: Vec<ColumnAnalysis>,
}

/// A statistics file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatisticsFile {
    snapshot_id: i64,
    schema_id: i64,
    merged_record_count: i64,
    merged_record_size: i64,
    col_stats: serde_json::Map<String, Json>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ColumnStatistics {
    col_id: i32,
    distinct_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<String>,
    null_count: u64,
    avg_len: u64,
    max_len: u64,
}

#[derive(Debug)]
struct ColumnAnalysis {
    field: DataField,
    converter: RowConverter,
    distinct: DistinctCount,
    extremes: Option<(OwnedRow, OwnedRow)>,
    rows: u64,
    nulls: u64,
    total_length: u64,
    max_length: u64,
}

impl Analysis {
    /// Creates the statistics of some columns, which may be none; None for all columns that are not nested.
    ///
    /// # Errors
    /// `InvalidArgument` for a column that the table does not have; `Unsupported` for a column of a nested type.
    pub fn try_new(schema: &TableSchema, columns: Option<&[String]>) -> Result<Self> {
        let named = |name: &String| {
            let none = || Error::invalid(format!("the table has no column `{}`", shown(name)));
            schema.field(name).ok_or_else(none)
        };
        let fields = match columns {
            Some(names) => names.iter().map(named).collect::<Result<Vec<_>>>()?,
            None => schema.fields.iter().filter(|field| is_supported(&field.data_type)).collect(),
        };
        let columns = fields.into_iter().map(ColumnAnalysis::try_new).collect::<Result<_>>()?;
        Ok(Self { schema_id: schema.id, columns })
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.field.name.clone()).collect()
    }

    /// Adds rows, whose columns are those of the statistics.
    ///
    /// # Errors
    /// `Internal` for other columns.
    pub fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        for column in &mut self.columns {
            let values = rows.column_by_name(&column.field.name);
            column.add(values.ok_or_else(|| Error::internal("a column to analyze was not read"))?)?;
        }
        Ok(())
    }

    /// Returns the id of the schema that the statistics belong to, and the content of their file. `rows` is the number of
    /// rows that the state has after merging.
    ///
    /// # Errors
    /// The errors of reading the metadata of the snapshot.
    pub fn finish(&self, table: &Table, snapshot_id: i64, rows: i64, context: &Context) -> Result<(i64, String)> {
        let snapshot = table.snapshot(snapshot_id)?;
        let files = table.live_files(&snapshot, None, WantedFields::FILES, context)?;
        let bytes = files.file_sizes().values().iter().fold(0_i64, |sum, size| sum.saturating_add(*size));
        // The share of the files that the rows have after merging.
        let recorded = i128::from(snapshot.total_record_count.unwrap_or(rows).max(1));
        let merged = i128::from(bytes) * i128::from(rows) / recorded;
        let col_stats = self.columns.iter().map(|column| {
            let found =
                serde_json::to_value(column.finish()?).map_err(|_| Error::internal("statistics are not JSON"))?;
            Ok((column.field.name.clone(), found))
        });
        let file = StatisticsFile {
            snapshot_id,
            schema_id: self.schema_id,
            merged_record_count: rows,
            merged_record_size: i64::try_from(merged).unwrap_or(i64::MAX),
            col_stats: col_stats.collect::<Result<_>>()?,
        };
        let text = serde_json::to_string_pretty(&file).map_err(|_| Error::internal("statistics are not JSON"))?;
        Ok((self.schema_id, text))
    }
}

impl ColumnAnalysis {
    fn try_new(field: &DataField) -> Result<Self> {
        if !is_supported(&field.data_type) {
            let message = format!("the column `{}` cannot be analyzed", shown(&field.name));
            return Err(Error::unsupported(message).hint("columns of nested types have no statistics; leave it out"));
        }
        Ok(Self {
            field: field.clone(),
            converter: RowConverter::new(vec![SortField::new(field.data_type.arrow())])?,
            distinct: DistinctCount::default(),
            extremes: None,
            rows: 0,
            nulls: 0,
            total_length: 0,
            max_length: 0,
        })
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let values = cast(values, &self.field.data_type.arrow())?;
        let rows = self.converter.convert_columns(std::slice::from_ref(&values))?;
        let (mut least, mut greatest) = (None, None);
        for row in rows.iter().enumerate().filter(|(at, _)| values.is_valid(*at)).map(|(_, row)| row) {
            self.distinct.add(xxh64(row.data(), 0));
            least = Some(least.map_or(row, |least| row.min(least)));
            greatest = Some(greatest.map_or(row, |greatest| row.max(greatest)));
        }
        if let Some((least, greatest)) = least.zip(greatest) {
            let (least, greatest) = (least.owned(), greatest.owned());
            self.extremes = Some(match self.extremes.take() {
                None => (least, greatest),
                Some((low, high)) => (low.min(least), high.max(greatest)),
            });
        }
        self.rows += values.len() as u64;
        self.nulls += values.null_count() as u64;
        for length in lengths(&values) {
            self.total_length += length;
            self.max_length = self.max_length.max(length);
        }
        Ok(())
    }

    fn finish(&self) -> Result<ColumnStatistics> {
        let (min, max) = match &self.extremes {
            Some((low, high)) => (self.text(low)?, self.text(high)?),
            None => (None, None),
        };
        let (avg_len, max_len) = match fixed_length(&self.field.data_type.root) {
            Some(length) => (length, length),
            None => (self.total_length.div_ceil((self.rows - self.nulls).max(1)), self.max_length),
        };
        Ok(ColumnStatistics {
            col_id: self.field.id,
            distinct_count: self.distinct.estimate(),
            min,
            max,
            null_count: self.nulls,
            avg_len,
            max_len,
        })
    }

    /// Returns a value as Java's serializers print it: dates and times of day are numbers, and the zone of times is UTC.
    fn text(&self, value: &OwnedRow) -> Result<Option<String>> {
        use TypeRoot as T;
        let converted = self.converter.convert_rows([value.row()])?;
        let value = converted.into_iter().next().ok_or_else(|| Error::internal("a value was not converted"))?;
        let (value, root) = match self.field.data_type.root.clone() {
            T::Binary(_) | T::VarBinary(_) => return Ok(None),
            T::Date | T::Time(_) => (cast(&value, &ArrowType::Int32)?, T::Int),
            T::LocalZonedTimestamp(digits) => {
                let plain = DataType::nullable(T::Timestamp(digits));
                (cast(&value, &plain.arrow())?, plain.root)
            }
            root => (value, root),
        };
        let caster = Caster::try_new(&DataType::nullable(root), &DataType::nullable(T::VarChar(STRING)))?;
        let text = caster.map_or(Ok(value.clone()), |caster| caster.cast(&value))?;
        Ok(text.as_string_opt::<i32>().filter(|text| !text.is_empty()).map(|text| text.value(0).to_string()))
    }
}

/// The length of STRING.
const STRING: u32 = i32::MAX.cast_unsigned();

/// Returns the length of the values of a type in bytes, if all have the same.
fn fixed_length(root: &TypeRoot) -> Option<u64> {
    use TypeRoot as T;
    Some(match root {
        T::Boolean | T::TinyInt => 1,
        T::SmallInt => 2,
        T::Int | T::Float | T::Date | T::Time(_) => 4,
        T::BigInt | T::Double | T::Timestamp(_) | T::LocalZonedTimestamp(_) | T::Decimal(..=18, _) => 8,
        T::Decimal(..) => 16,
        _ => return None,
    })
}

/// Returns whether columns of a type have statistics.
fn is_supported(data_type: &DataType) -> bool {
    use TypeRoot as T;
    let root = &data_type.root;
    fixed_length(root).is_some() || matches!(root, T::Char(_) | T::VarChar(_) | T::Binary(_) | T::VarBinary(_))
}

/// Returns the lengths of strings in characters, and of byte strings in bytes.
fn lengths(values: &ArrayRef) -> Vec<u64> {
    if let Some(texts) = values.as_string_opt::<i32>() {
        return texts.iter().flatten().map(|text| text.chars().count() as u64).collect();
    }
    let bytes = values.as_binary_opt::<i32>();
    bytes.map_or(Vec::new(), |bytes| bytes.iter().flatten().map(|bytes| bytes.len() as u64).collect())
}

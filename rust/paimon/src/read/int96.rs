//! Reads Parquet INT96 timestamps exactly. pyarrow wraps values that do not fit 64 bits of nanoseconds.
//!
//! ```text
//! value = nanoseconds of the day: i64 | Julian day: u32      little-endian, 12 bytes
//! ```
//!
//! Paimon writes times before 1970 as negative nanoseconds of a later day, which other readers interpret as a year in
//! the far future.

use arrow_array::TimestampNanosecondArray;
use bytes::Bytes;
use frazil_core::error::{Error, ErrorKind, Result};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

const JULIAN_DAY_OF_EPOCH: i128 = 2_440_588;
const NANOS_PER_DAY: i128 = 86_400_000_000_000;

/// The number of values that are read at a time.
const STEP_ROWS: usize = 65_536;

/// Returns the values of a leaf column outside of lists and maps in these row groups, including NULLs.
///
/// # Errors
/// `Unsupported` for a time that does not fit 64 bits of nanoseconds; `CorruptDataFile` if the file does not decode or
/// the column is not INT96.
pub fn read(file: Bytes, leaf: usize, row_groups: &[usize]) -> Result<TimestampNanosecondArray> {
    let file = SerializedFileReader::new(file).map_err(undecoded)?;
    let column = file.metadata().file_metadata().schema_descr_ptr();
    if leaf >= column.num_columns() || column.column(leaf).max_rep_level() > 0 {
        return Err(Error::internal(format!("leaf column {leaf} is not outside of lists and maps")));
    }
    let max_level = column.column(leaf).max_def_level();
    let mut values = Vec::new();
    for &group in row_groups {
        let group = file.get_row_group(group).map_err(undecoded)?;
        let ColumnReader::Int96ColumnReader(mut reader) = group.get_column_reader(leaf).map_err(undecoded)? else {
            return Err(Error::new(ErrorKind::CorruptDataFile, "a timestamp column is not INT96"));
        };
        while take(&mut reader, max_level, &mut values)? {}
    }
    Ok(values.into())
}

/// Reads further values; returns false at the end.
fn take(reader: &mut ColumnReaderImpl<Int96Type>, max_level: i16, values: &mut Vec<Option<i64>>) -> Result<bool> {
    let (mut levels, mut found) = (Vec::new(), Vec::new());
    let (rows, _, _) = reader.read_records(STEP_ROWS, Some(&mut levels), None, &mut found).map_err(undecoded)?;
    let mut found = found.iter();
    // Without definition levels, no row is NULL.
    for row in 0..rows {
        let is_null = max_level > 0 && levels.get(row).is_none_or(|level| *level < max_level);
        let value = if is_null { None } else { found.next() };
        values.push(value.map(nanoseconds).transpose()?);
    }
    Ok(rows > 0)
}

fn nanoseconds(value: &Int96) -> Result<i64> {
    let [low, high, day] =
        <[u32; 3]>::try_from(value.data()).map_err(|_| Error::internal("an INT96 value does not have 12 bytes"))?;
    let of_day = ((u64::from(high) << 32) | u64::from(low)).cast_signed();
    let nanos = (i128::from(day) - JULIAN_DAY_OF_EPOCH) * NANOS_PER_DAY + i128::from(of_day);
    i64::try_from(nanos).map_err(|_| {
        Error::unsupported(format!("the timestamp {nanos} ns since 1970 does not fit 64 bits"))
            .hint("timestamps of seven to nine digits range from 1677 to 2262; leave the column out of the scan")
    })
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes errors by value")]
fn undecoded(error: ParquetError) -> Error {
    Error::new(ErrorKind::CorruptDataFile, format!("a Parquet file cannot be decoded: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int96(of_day: i64, day: u32) -> Int96 {
        let bits = of_day.cast_unsigned();
        let mut value = Int96::new();
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of the number")]
        value.set_data(bits as u32, (bits >> 32) as u32, day);
        value
    }

    #[test]
    fn times_before_1970_may_have_negative_nanoseconds_of_a_day() {
        assert_eq!(nanoseconds(&int96(1, 2_440_588)).unwrap(), 1);
        assert_eq!(nanoseconds(&int96(-999_999_999, 2_440_588)).unwrap(), -999_999_999);
        assert_eq!(nanoseconds(&int96(86_399_000_000_001, 2_440_587)).unwrap(), -999_999_999);
    }

    #[test]
    fn far_years_are_refused() {
        assert_eq!(nanoseconds(&int96(0, 2_628_000)).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(nanoseconds(&int96(0, 0)).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

//! Tests with files of pyarrow, of Iceberg and of orc-rust itself, and with damaged files.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, TimestampMicrosecondType};
use arrow_array::*;
use arrow_schema::{DataType, Field, TimeUnit};
use bytes::Bytes;
use orc_rust::ArrowWriterBuilder;
use proptest::prelude::*;

use super::{OrcFile, finish, fitted};
use crate::error::{ErrorKind, Result};

/// The columns id, t, z (UTC), l (list), m (map) and s (struct), each with the timestamps [`FAR`]; written by pyarrow.
const CPP_FILE: &[u8] = include_bytes!("../../testdata/orc/far_timestamps.orc");

/// Returns the same file with the writer code of the Java library; it has no fractions that C++ stores differently.
fn far_file() -> Vec<u8> {
    let mut bytes = CPP_FILE.to_vec();
    let writer = bytes.windows(2).rposition(|pair| pair == [9 << 3, 1]).unwrap();
    bytes[writer + 1] = 0;
    bytes
}

/// The columns id, v (timestamp) and note, with field ids; written by Iceberg.
const ICEBERG_FILE: &[u8] = include_bytes!("../../testdata/orc/iceberg_timestamp.orc");

/// Timestamps in the year 1, in the year 9999, before the epoch, and NULL.
const FAR: [Option<i64>; 4] = [Some(-62_135_596_800_000_000), Some(253_402_300_799_999_999), Some(-2_000_000), None];

/// Columns with the timestamps [`LATE`], all NULL, and some before 1970 or in 1970; written by pyarrow: id, late, zoned,
/// none, list, map, struct, fraction, epoch, nested.
const LATE_CPP_FILE: &[u8] = include_bytes!("../../testdata/orc/cpp_timestamps.orc");

/// Timestamps on the second day of 1970, in the year 9999, in the year 2023, and NULL.
const LATE: [Option<i64>; 4] = [Some(86_400_000_001), Some(253_402_300_799_999_999), Some(1_700_000_000_123_456), None];

fn read(bytes: &[u8], columns: &[usize], batch_rows: usize) -> Result<Vec<RecordBatch>> {
    OrcFile::open(Bytes::copy_from_slice(bytes))?.batches(columns, batch_rows)?.collect()
}

fn written(column: ArrayRef) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([("t", column)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriterBuilder::new(&mut bytes, batch.schema()).try_build().unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn timestamps_of_any_year_are_read_at_every_level() {
    let file = OrcFile::open(Bytes::from(far_file())).unwrap();
    let item = Arc::new(Field::new("item", DataType::Timestamp(TimeUnit::Microsecond, None), true));
    assert_eq!(file.schema().field(3).data_type(), &DataType::List(item));
    let batches: Vec<_> = file.batches(&[5, 1, 2, 3, 4], 3).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [3, 1]);
    let rows = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    assert_eq!(rows.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["t", "z", "l", "m", "s"]);
    let far = TimestampMicrosecondArray::from(FAR.to_vec());
    assert_eq!(rows.column(0).as_primitive::<TimestampMicrosecondType>(), &far);
    assert_eq!(rows.column(1).as_primitive::<TimestampMicrosecondType>(), &far.clone().with_timezone("UTC"));
    for row in 0..3 {
        let first = rows.column(2).as_list::<i32>().value(row);
        assert_eq!(first.as_primitive::<TimestampMicrosecondType>().value(0), far.value(row));
        let entries = rows.column(3).as_map().value(row);
        assert_eq!(entries.column(1).as_primitive::<TimestampMicrosecondType>().value(0), far.value(row));
        let field = rows.column(4).as_struct().column(0);
        assert_eq!(field.as_primitive::<TimestampMicrosecondType>().value(row), far.value(row));
    }
    assert!((2..5).all(|column| rows.column(column).is_null(3)));
}

#[test]
fn attributes_travel_as_metadata() {
    let file = OrcFile::open(Bytes::from_static(ICEBERG_FILE)).unwrap();
    let ids = file.schema().fields().iter().map(|field| field.metadata()["iceberg.id"].as_str());
    assert_eq!(ids.collect::<Vec<_>>(), ["1", "2", "3"]);
    let batches = read(ICEBERG_FILE, &[0, 1, 2], 100).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_columns).collect::<Vec<_>>(), [3]);
}

#[test]
fn nanoseconds_are_kept_where_a_batch_needs_them() {
    let values = vec![1_000_000_001, -1_999_999_999, 2_000, i64::MAX];
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(values));
    let found = read(&written(nanos.clone()), &[0], 10).unwrap();
    assert_eq!(found[0].column(0), &nanos);
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1, 2_000_000]));
    let found = read(&written(micros.clone()), &[0], 10).unwrap();
    assert_eq!(found[0].column(0), &micros);
}

#[test]
fn nanoseconds_are_kept_at_every_level() {
    let seconds = |values: Vec<i128>| -> ArrayRef {
        Arc::new(PrimitiveArray::<Decimal128Type>::from(values).with_precision_and_scale(38, 9).unwrap())
    };
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let nested = |leaf: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("x", leaf.data_type().clone(), true));
        let structs: ArrayRef = Arc::new(StructArray::from(vec![(field, leaf)]));
        let item = Arc::new(Field::new("item", structs.data_type().clone(), true));
        Arc::new(ListArray::new(item, arrow_buffer::OffsetBuffer::from_lengths([1, 1]), structs, None))
    };
    let wanted = nested(Arc::new(TimestampMicrosecondArray::from(vec![0, 0]))).data_type().clone();
    assert!(matches!(&wanted, DataType::List(item) if matches!(item.data_type(), DataType::Struct(_))));
    let field = Arc::new(Field::new("l", wanted, true));
    let decoded = nested(seconds(vec![1_000_000_001, -1]));
    let found = finish(&decoded, fitted(&field, &decoded).data_type()).unwrap();
    let expected = nested(Arc::new(TimestampNanosecondArray::from(vec![1_000_000_001, -1])));
    assert_eq!(&found, &expected);
    // Years outside the range of nanoseconds are rounded down to microseconds, as are all values next to them.
    let leaf = Arc::new(Field::new("t", micros, true));
    let far = seconds(vec![i128::from(i64::MAX) + 1, -1]);
    let found = finish(&far, fitted(&leaf, &far).data_type()).unwrap();
    let expected: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![9_223_372_036_854_775, -1]));
    assert_eq!(&found, &expected);
}

#[test]
fn timestamps_that_would_be_misread_are_refused() {
    let file = OrcFile::open(Bytes::from_static(CPP_FILE)).unwrap();
    for column in 1..6 {
        assert_eq!(file.batches(&[0, column], 10).unwrap_err().kind(), ErrorKind::Unsupported);
    }
    assert_eq!(file.batches(&[0], 10).unwrap().count(), 1);
}

#[test]
fn timestamps_after_1970_of_the_cpp_library_are_read_at_every_level() {
    let file = OrcFile::open(Bytes::from_static(LATE_CPP_FILE)).unwrap();
    let rows = file.batches(&[0, 1, 2, 3, 4, 5, 6], 10).unwrap().next().unwrap().unwrap();
    let late = TimestampMicrosecondArray::from(LATE.to_vec());
    assert_eq!(rows.column(1).as_primitive::<TimestampMicrosecondType>(), &late);
    assert_eq!(rows.column(2).as_primitive::<TimestampMicrosecondType>(), &late.clone().with_timezone("UTC"));
    assert_eq!(rows.column(3).null_count(), 4);
    let (list, map) = (rows.column(4).as_list::<i32>(), rows.column(5).as_map());
    for leaf in [list.values(), map.values(), &rows.column(6).as_struct().column(0).slice(0, 3)] {
        assert_eq!(leaf.as_primitive::<TimestampMicrosecondType>(), &late.slice(0, 3));
    }
}

#[test]
fn columns_of_the_cpp_library_that_may_begin_before_1970_are_refused() {
    let file = OrcFile::open(Bytes::from_static(LATE_CPP_FILE)).unwrap();
    for (column, name) in [(7, "fraction"), (8, "epoch"), (9, "nested")] {
        assert_eq!(file.schema().field(column).name(), name);
        let error = file.batches(&[1, column], 10).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(&format!("column: {name}")), "{error}");
    }
}

#[test]
fn columns_that_do_not_exist_are_refused() {
    let file = OrcFile::open(Bytes::from(far_file())).unwrap();
    assert_eq!(file.batches(&[], 10).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(file.batches(&[6], 10).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn invalid_orc_files_are_corrupt() {
    let whole = far_file();
    for bytes in [&b""[..], b"ORC", b"PAR1PAR1", &whole[..whole.len() - 1], &whole[1..]] {
        assert!(read(bytes, &[0], 1).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
    #[test]
    fn damage_is_an_error_or_other_rows_and_never_a_panic(at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        for mut bytes in [far_file(), ICEBERG_FILE.to_vec()] {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            // Lists and maps are excluded, because orc-rust trusts their lengths.
            let _ = read(&bytes, &[0, 1, 2], 10);
        }
    }
}

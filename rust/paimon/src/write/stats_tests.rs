use arrow_array::{
    BinaryArray, Decimal128Array, Float64Array, Int32Array, Time32MillisecondArray, TimestampMicrosecondArray,
};
use frazil_core::error::ErrorKind;
use serde_json::json;

use super::*;

/// Collects statistics of columns: names, types, and values of two batches.
fn collected(options: &[(&str, &str)], columns: &[(&str, &str, [ArrayRef; 2])]) -> (SimpleStats, Option<Vec<String>>) {
    let fields: Vec<_> =
        (0..).zip(columns).map(|(id, (name, kind, _))| json!({"id": id, "name": name, "type": kind})).collect();
    let schema = json!({
        "version": 3, "id": 0, "highestFieldId": 9, "partitionKeys": [], "primaryKeys": [], "timeMillis": 1,
        "fields": fields, "options": {},
    });
    let schema = TableSchema::parse(schema.to_string().as_bytes()).unwrap();
    let options = options.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string()));
    let settings = StatsSettings::try_new(&schema, &Options::new(options.collect())).unwrap();
    let mut collector = StatsCollector::new(Arc::new(settings));
    for batch in 0..2 {
        collector.add(&columns.iter().map(|(_, _, values)| values[batch].clone()).collect::<Vec<_>>()).unwrap();
    }
    collector.finish().unwrap()
}

/// Returns the bounds of one column, as printed by Arrow.
fn bounds(mode: &str, kind: &str, batches: [ArrayRef; 2]) -> (String, String, Option<i64>) {
    let data_type = DataType::parse_json(&json!(kind)).unwrap();
    let (stats, names) = collected(&[("metadata.stats-mode", mode)], &[("c", kind, batches)]);
    assert_eq!(names, None);
    let text = |row: &[u8]| {
        let [value] = &binary_row::decode(row, std::slice::from_ref(&data_type)).unwrap()[..] else { panic!("one") };
        arrow_cast::display::array_value_to_string(value, 0).unwrap()
    };
    (text(&stats.min), text(&stats.max), stats.null_counts.unwrap()[0])
}

#[test]
fn bounds_are_of_all_batches() {
    let ints = |values: Vec<Option<i32>>| Arc::new(Int32Array::from(values)) as ArrayRef;
    let found = bounds("full", "INT", [ints(vec![Some(4), None]), ints(vec![Some(-3), None])]);
    assert_eq!(found, ("-3".into(), "4".into(), Some(2)));
    assert_eq!(bounds("full", "INT", [ints(vec![None]), ints(vec![None])]), (String::new(), String::new(), Some(2)));
    assert_eq!(bounds("counts", "INT", [ints(vec![Some(1)]), ints(vec![None])]).2, Some(1));
    let bools = |values: Vec<bool>| Arc::new(BooleanArray::from(values)) as ArrayRef;
    let found = bounds("full", "BOOLEAN", [bools(vec![true]), bools(vec![true, false])]);
    assert_eq!(found, ("false".into(), "true".into(), Some(0)));
    let times = |value| Arc::new(Time32MillisecondArray::from(vec![value])) as ArrayRef;
    assert_eq!(bounds("full", "TIME(3)", [times(1), times(0)]).1, "00:00:00.001");
    let moments = |value| Arc::new(TimestampMicrosecondArray::from(vec![value])) as ArrayRef;
    assert_eq!(bounds("full", "TIMESTAMP(6)", [moments(1), moments(-1)]).0, "1969-12-31T23:59:59.999999");
    let decimal =
        |value| Arc::new(Decimal128Array::from(vec![value]).with_precision_and_scale(30, 2).unwrap()) as ArrayRef;
    assert_eq!(bounds("full", "DECIMAL(30, 2)", [decimal(150), decimal(-1)]).0, "-0.01");
}

#[test]
fn values_without_an_order_have_no_bounds() {
    let floats = |values: Vec<f64>| Arc::new(Float64Array::from(values)) as ArrayRef;
    assert_eq!(
        bounds("full", "DOUBLE", [floats(vec![0.0]), floats(vec![-0.0])]),
        ("-0.0".into(), "0.0".into(), Some(0))
    );
    let found = bounds("full", "DOUBLE", [floats(vec![1.0]), floats(vec![f64::NAN])]);
    assert_eq!(found, (String::new(), String::new(), Some(0)));
    let bytes = |value: &[u8]| Arc::new(BinaryArray::from_vec(vec![value])) as ArrayRef;
    assert_eq!(bounds("full", "BYTES", [bytes(b"a"), bytes(b"b")]), (String::new(), String::new(), Some(0)));
}

#[test]
fn long_texts_are_truncated_and_bounds_hold() {
    let texts = |values: Vec<&str>| Arc::new(StringArray::from(values)) as ArrayRef;
    let found = bounds("truncate(2)", "STRING", [texts(vec!["abc", "b"]), texts(vec!["zyx", "é日本"])]);
    assert_eq!(found, ("ab".into(), "é\u{65e6}".into(), Some(0)));
    let found = bounds("truncate(1)", "STRING", [texts(vec!["abc"]), texts(vec!["\u{10ffff}x"])]);
    assert_eq!(found, (String::new(), String::new(), Some(0)));
    let found = bounds("TRUNCATE(16)", "STRING", [texts(vec!["abc"]), texts(vec!["abd"])]);
    assert_eq!(found, ("abc".into(), "abd".into(), Some(0)));
}

#[test]
fn columns_have_modes_of_their_own() {
    let ints = || [0, 1].map(|value| Arc::new(Int32Array::from(vec![value])) as ArrayRef);
    let columns = [("a", "INT", ints()), ("b", "INT", ints()), ("c", "INT", ints())];
    let modes = [("metadata.stats-mode", "none"), ("fields.b.stats-mode", "full")];
    let (stats, names) = collected(&modes, &columns);
    assert_eq!((names, stats.null_counts), (Some(vec!["b".to_string()]), Some(vec![Some(0)])));
    let (stats, names) = collected(&[modes[0]], &columns);
    assert_eq!((names, stats.min, stats.null_counts), (Some(vec![]), NO_FIELDS.to_vec(), Some(vec![])));
    let (stats, names) = collected(&[modes[0], modes[1], ("metadata.stats-dense-store", "false")], &columns);
    assert_eq!((names, stats.null_counts), (None, Some(vec![None, Some(0), None])));
    for wrong in ["most", "truncate", "truncate()", "truncate(-1)", "truncate(99999999999999999999)"] {
        let error = Mode::parse("metadata.stats-mode", wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

//! Tests of damaged files: they must cause a typed error, never a panic, a hang, missing rows, or memory allocated for
//! data that does not exist.

use arrow_array::Array;

use super::*;
use crate::context::Budget;

const ROW: &str = r#"{"name":"a","type":"long"},{"name":"b","type":["null","string"]}"#;

/// Returns two rows of [`ROW`]: (1, "xy") and (2, null).
fn two_rows() -> Vec<u8> {
    [long(1), long(1), sized("xy"), long(2), long(0)].concat()
}

fn good() -> Vec<u8> {
    file(&record(ROW), 2, &two_rows())
}

#[test]
fn the_undamaged_file_is_read() {
    let file = AvroFile::open(good()).unwrap();
    assert_eq!(file.metadata("format-version"), Some(&b"2"[..]));
    assert_eq!(file.metadata("partition-spec"), None);
    assert_eq!((file.codec(), file.is_empty()), (Codec::Null, false));
    assert_eq!(read(&good()).unwrap().num_rows(), 2);
}

#[test]
fn a_file_without_blocks_has_no_rows() {
    let bytes = header(&record(ROW), "deflate");
    let batch = read(&bytes).unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (0, 2));
    let file = AvroFile::open(bytes).unwrap();
    assert!(file.is_empty());
    let all = Projection::natural(file.schema()).unwrap();
    assert!(file.batches(&all, 10, &Context::default()).unwrap().next().is_none());
}

#[test]
fn a_cut_file_is_corrupt_wherever_it_is_cut() {
    let bytes = good();
    let end_of_header = header(&record(ROW), "null").len();
    for cut in (0..bytes.len()).filter(|&cut| cut != end_of_header) {
        let (kind, text) = error(read(&bytes[..cut]));
        assert_eq!(kind, ErrorKind::CorruptData, "cut at {cut}: {text}");
    }
}

#[test]
fn a_longer_file_is_corrupt() {
    corrupt(read(&[good(), vec![0]].concat()), "a varint is not terminated");
    corrupt(read(&[good(), vec![0; 40]].concat()), "sync marker");
}

#[test]
fn invalid_headers_are_rejected() {
    corrupt(read(b""), "not an Avro file");
    corrupt(read(b"PAR1................................"), "not an Avro file");
    corrupt(read(&[&MAGIC[..], &long(0), &SYNC].concat()), "the Avro file has no schema");
    corrupt(read(&[&MAGIC[..], &long(i64::MAX), &SYNC].concat()), "a block declares 9223372036854775807 items");
    corrupt(
        read(&[&MAGIC[..], &long(i64::MIN), &long(1), &SYNC].concat()),
        "a block declares 9223372036854775808 items",
    );
    let (kind, text) = error(read(&header(&record(ROW), "lzma9000")));
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(text.contains("lzma9000"), "{text}");
}

#[test]
fn a_header_may_give_the_size_of_its_map() {
    let schema = record(ROW);
    let entry = [sized("avro.schema"), sized(&schema)].concat();
    let size = i64::try_from(entry.len()).unwrap();
    let with_size = |size| [MAGIC.to_vec(), long(-1), long(size), entry.clone(), long(0), SYNC.to_vec()].concat();
    assert_eq!(read(&with_size(size)).unwrap().num_rows(), 0);
    corrupt(read(&with_size(size + 1)), "bytes of items, but they have");
}

#[test]
fn lying_blocks_are_refused() {
    let header = header(&record(ROW), "null");
    let payload = sized(two_rows());
    let block = |parts: &[&[u8]]| [header.clone(), parts.concat()].concat();
    for (what, bytes, says) in [
        ("2^62 rows", block(&[&long(1 << 62), &payload, &SYNC]), "a block declares 4611686018427387904 rows"),
        ("a row too many", block(&[&long(3), &payload, &SYNC]), "a varint is not terminated"),
        ("a row too few", block(&[&long(1), &payload, &SYNC]), "bytes left after the last row"),
        ("no rows", block(&[&long(0), &payload, &SYNC]), "bytes left after the last row"),
        ("negative rows", block(&[&long(-2), &payload, &SYNC]), "a block has -2 rows"),
        ("2^62 bytes", block(&[&long(2), &long(1 << 62), &two_rows(), &SYNC]), "expected 4611686018427387904 bytes"),
        ("negative size", block(&[&long(2), &long(-7), &two_rows(), &SYNC]), "negative length"),
        ("another marker", block(&[&long(2), &payload, b"sync-of-the-filE"]), "sync marker"),
    ] {
        let (kind, text) = error(read(&bytes));
        assert_eq!(kind, ErrorKind::CorruptData, "{what}: {text}");
        assert!(text.contains(says), "{what}: {text}");
    }
    assert_eq!(read(&block(&[&long(0), &long(0), &SYNC])).unwrap().num_rows(), 0);
}

#[test]
fn malformed_values_are_rejected_when_read_or_skipped() {
    let cases: [(&str, &[&[u8]]); 12] = [
        (r#""string""#, &[&long(-1)]),
        (r#""string""#, &[&long(1 << 60)]),
        (r#""bytes""#, &[&long(i64::MIN)]),
        (r#""long""#, &[&[0xff; 10]]),
        (r#"["null","int"]"#, &[&long(2)]),
        (r#"["null","int"]"#, &[&long(-1)]),
        (r#"{"type":"fixed","name":"f","size":9}"#, &[&[0; 8]]),
        (r#"{"type":"array","items":"long"}"#, &[&long(1 << 60), &long(0)]),
        (r#"{"type":"array","items":"long"}"#, &[&long(-1), &long(-5), &long(0)]),
        (r#"{"type":"array","items":"long"}"#, &[&long(-1), &long(1 << 40), &long(0), &long(0)]),
        (r#"{"type":"map","values":"long"}"#, &[&long(1), &long(-3), &long(0), &long(0)]),
        (r#"{"type":"array","items":"long"}"#, &[&long(i64::MIN), &long(0), &long(0)]),
    ];
    for (kind, payload) in cases {
        let bytes = file(&record(&format!(r#"{{"name":"a","type":{kind}}}"#)), 1, &payload.concat());
        assert_eq!(error(read(&bytes)).0, ErrorKind::CorruptData, "{kind} {payload:?}");
        assert_eq!(error(project(&bytes, [])).0, ErrorKind::CorruptData, "{kind} {payload:?} passed over");
    }
}

#[test]
fn values_outside_their_type_are_refused() {
    for (kind, payload) in [
        (r#""boolean""#, vec![2]),
        (r#""int""#, long(1 << 31)),
        (r#""string""#, sized([0xff])),
        (r#"{"type":"enum","name":"e","symbols":["A"]}"#, long(1)),
        (r#"{"type":"enum","name":"e","symbols":["A"]}"#, long(-1)),
        (r#"{"type":"string","logicalType":"uuid"}"#, sized("no uuid")),
        (r#"{"type":"bytes","logicalType":"decimal","precision":2,"scale":0}"#, sized([100])),
        (r#"{"type":"bytes","logicalType":"decimal","precision":2,"scale":0}"#, sized([1; 17])),
        (r#"{"type":"bytes","logicalType":"decimal","precision":2,"scale":0}"#, sized([])),
        (r#"{"type":"array","items":"long"}"#, [long(-1), long(2), long(5), long(0)].concat()),
    ] {
        let bytes = file(&record(&format!(r#"{{"name":"bad_one","type":{kind}}}"#)), 1, &payload);
        corrupt(read(&bytes), "bad_one");
    }
}

#[test]
fn text_is_checked_across_values() {
    // The two halves of one character, in separate values.
    let payload = [sized([0xc3]), sized([0xa4])].concat();
    corrupt(read(&file(&record(r#"{"name":"a","type":"string"}"#), 2, &payload)), "not valid UTF-8");
}

#[test]
fn invalid_schemas_are_rejected() {
    let nested = format!("{}\"long\"{}", r#"{"type":"array","items":"#.repeat(20_000), "}".repeat(20_000));
    for (schema, says) in [
        ("", "not JSON"),
        ("nonsense", "not JSON"),
        ("7", "an Avro type is not a name, a list or an object"),
        (r#""nonsense""#, "not defined"),
        (r#"{"name":"a"}"#, "an Avro type has no \"type\""),
        (r#"{"type":"array"}"#, "items"),
        (r#"{"type":"record","name":"r"}"#, "has no fields"),
        (r#"{"type":"record","fields":[]}"#, "has no \"name\""),
        (r#"{"type":"fixed","name":"f","size":-1}"#, "has no size"),
        (r#"{"type":"enum","name":"e","symbols":[1]}"#, "has no symbols"),
        (r#"["null","null"]"#, "contains null twice"),
        (r#"[["null"]]"#, "an Avro union contains another union directly"),
        (&record(r#"{"name":"a","type":"int"},{"name":"a","type":"int"}"#), "two fields"),
        (&record(r#"{"name":"next","type":["null","row"]}"#), "contains itself"),
        (&record(r#"{"name":"a","type":{"type":"array","items":{"type":"map","values":"row"}}}"#), "contains itself"),
        (&nested, "not JSON"),
        (r#""long""#, "the rows of the Avro file are not records"),
        (r#"["null","string"]"#, "the rows of the Avro file are not records"),
    ] {
        corrupt(read(&header(schema, "null")), says);
    }
}

#[test]
fn schemas_above_the_limits_are_refused() {
    // Each record contains the previous one: deep types without deep JSON.
    let chain = |parts: usize, twice: bool| {
        let part = |i: usize| {
            let inner = if i == 0 { "\"int\"".to_owned() } else { format!("\"r{}\"", i - 1) };
            let second = if twice { format!(r#",{{"name":"y","type":{inner}}}"#) } else { String::new() };
            let fields = format!(r#"{{"name":"x","type":{inner}}}{second}"#);
            format!(r#"{{"name":"f{i}","type":{{"type":"record","name":"r{i}","fields":[{fields}]}}}}"#)
        };
        record(&(0..parts).map(part).collect::<Vec<_>>().join(","))
    };
    assert!(Schema::parse(chain(40, false).as_bytes()).is_ok());
    let (kind, text) = error(Schema::parse(chain(70, false).as_bytes()));
    assert_eq!((kind, text.contains("nested more than")), (ErrorKind::LimitExceeded, true));
    let (kind, text) = error(Schema::parse(chain(40, true).as_bytes()));
    assert_eq!((kind, text.contains("types")), (ErrorKind::LimitExceeded, true));
}

#[test]
fn values_without_bytes_are_limited() {
    let fits = file(&record(r#"{"name":"a","type":"null"}"#), 1_000_000, &[]);
    assert_eq!(project(&fits, []).unwrap().num_rows(), 1_000_000);
    let rows = file(&record(r#"{"name":"a","type":"null"}"#), 1 << 62, &[]);
    assert_eq!(error(read(&rows)).0, ErrorKind::LimitExceeded);
    let array = record(r#"{"name":"a","type":{"type":"array","items":{"type":"fixed","name":"f","size":0}}}"#);
    let items = |count| file(&array, 1, &[long(count), long(0)].concat());
    assert_eq!(read(&items(3)).unwrap().column(0).len(), 1);
    assert_eq!(error(read(&items(1 << 62))).0, ErrorKind::LimitExceeded);
    // The items are not selected, so they are not counted.
    assert_eq!(project(&items(1 << 62), []).unwrap().num_rows(), 1);
    // The allowance applies to the whole file.
    let half = block(600_000, &[]);
    let twice = [header(&record(""), "null"), half.clone(), half].concat();
    assert_eq!(error(read(&twice)).0, ErrorKind::LimitExceeded);
}

#[test]
fn columns_debit_the_budget_and_give_it_back() {
    let payload = sized(vec![b'x'; 1000]).repeat(3000);
    let bytes = file(&record(r#"{"name":"a","type":"string"}"#), 3000, &payload);
    let file = AvroFile::open(bytes).unwrap();
    let all = Projection::natural(file.schema()).unwrap();
    let tight = Context::new(Budget::new(1 << 20));
    assert_eq!(error(file.read(&all, &tight)).0, ErrorKind::LimitExceeded);
    assert_eq!(tight.budget.used_bytes(), 0);
    let wide = Context::new(Budget::new(16 << 20));
    assert_eq!(file.read(&all, &wide).unwrap().num_rows(), 3000);
    assert_eq!(wide.budget.used_bytes(), 0);
}

#[test]
fn nulls_of_wide_values_cannot_fill_the_memory() {
    let schema = record(r#"{"name":"a","type":["null",{"type":"fixed","name":"f","size":16777216}]}"#);
    let bytes = file(&schema, 1000, &long(0).repeat(1000));
    let file = AvroFile::open(bytes).unwrap();
    let all = Projection::natural(file.schema()).unwrap();
    let batches = file.batches(&all, 4, &Context::new(Budget::new(1 << 20))).unwrap();
    assert!(batches.into_iter().next().unwrap().is_err());
    let huge = record(r#"{"name":"a","type":["null",{"type":"fixed","name":"f","size":16777217}]}"#);
    assert_eq!(error(read(&super::file(&huge, 1, &long(0)))).0, ErrorKind::LimitExceeded);
}

#[test]
fn cancelling_stops_at_the_next_block() {
    let bytes = [header(&record(ROW), "null"), block(2, &two_rows()), block(2, &two_rows())].concat();
    let file = AvroFile::open(bytes).unwrap();
    let context = Context::default();
    let mut batches = file.batches(&Projection::natural(file.schema()).unwrap(), 2, &context).unwrap();
    assert!(batches.next().unwrap().is_ok());
    context.cancel();
    assert_eq!(error(batches.next().unwrap()).0, ErrorKind::Cancelled);
    assert!(batches.next().is_none());
}

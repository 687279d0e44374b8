//! Tests of projecting file columns: the columns read, the results and the rejections.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use frazil_core::error::ErrorKind;
use frazil_core::scalar::Scalar;
use rstest::rstest;

use super::FileFormat;
use super::project::{FileColumns, Projector};
use crate::spec::arrow::{FIELD_ID, arrow_field, arrow_schema};
use crate::spec::name_mapping::{MappedField, NameMapping};
use crate::spec::types::{ListType, MapType, NestedField, PrimitiveType as P, StructType, Type, Value};

fn optional(id: i32, name: &str, field_type: impl Into<Type>) -> NestedField {
    NestedField {
        id,
        name: name.to_string(),
        required: false,
        field_type: field_type.into(),
        doc: None,
        initial_default: None,
        write_default: None,
    }
}

fn required(id: i32, name: &str, field_type: impl Into<Type>) -> NestedField {
    NestedField { required: true, ..optional(id, name, field_type) }
}

fn with_default(field: NestedField, value: Value) -> NestedField {
    NestedField { initial_default: Some(value), ..field }
}

impl From<P> for Type {
    fn from(primitive: P) -> Self {
        Self::Primitive(primitive)
    }
}

fn structure(fields: Vec<NestedField>) -> Type {
    Type::Struct(StructType { fields })
}

fn list(element: NestedField) -> Type {
    Type::List(Arc::new(ListType { element }))
}

fn map(key: NestedField, value: NestedField) -> Type {
    Type::Map(Arc::new(MapType { key, value }))
}

/// Returns a field of a file, with an id unless it is 0.
fn file_field(id: i32, name: &str, data_type: DataType) -> Field {
    let field = Field::new(name, data_type, true);
    if id == 0 { field } else { field.with_metadata(HashMap::from([(FIELD_ID.to_string(), id.to_string())])) }
}

fn struct_type(fields: Vec<Field>) -> DataType {
    DataType::Struct(fields.into())
}

fn int(value: i32) -> Value {
    Value::Scalar(Scalar::Int32(value))
}

/// A file of one format for the tests below.
struct File {
    schema: Schema,
    mapping: Option<NameMapping>,
    constants: HashMap<i32, Option<Scalar>>,
    format: FileFormat,
}

impl File {
    fn parquet(fields: Vec<Field>) -> Self {
        Self { schema: Schema::new(fields), mapping: None, constants: HashMap::new(), format: FileFormat::Parquet }
    }

    fn projector(&self, target: Vec<NestedField>) -> frazil_core::error::Result<Projector> {
        let file = FileColumns {
            schema: &self.schema,
            name_mapping: self.mapping.as_ref(),
            constants: &self.constants,
            format: self.format,
        };
        Projector::try_new(&StructType { fields: target }, &file)
    }
}

fn batch(fields: Vec<Field>, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn ints(values: impl Into<Vec<Option<i32>>>) -> ArrayRef {
    Arc::new(Int32Array::from(values.into()))
}

#[test]
fn columns_are_matched_by_id_through_renames_and_reordering() {
    let fields = vec![file_field(1, "a", DataType::Int32), file_field(2, "b", DataType::Int32)];
    let projector = File::parquet(fields.clone())
        .projector(vec![optional(2, "a", P::Int), optional(3, "b", P::Int), optional(1, "c", P::Int)])
        .unwrap();
    assert_eq!(projector.leaves(), [0, 1]);
    assert_eq!(projector.file_leaf_of(2), Some(1));
    assert_eq!(projector.file_leaf_of(3), None);
    let columns = projector.project(&batch(fields, vec![ints([Some(1)]), ints([Some(2)])]), 1).unwrap();
    assert_eq!(columns, [ints([Some(2)]), ints([None]), ints([Some(1)])]);
}

#[test]
fn only_wanted_leaves_are_read_at_any_depth() {
    let inner = struct_type(vec![file_field(3, "x", DataType::Int32), file_field(4, "y", DataType::Int32)]);
    let element = struct_type(vec![file_field(7, "p", DataType::Utf8), file_field(8, "q", DataType::Int32)]);
    let fields = vec![
        file_field(1, "id", DataType::Int32),
        file_field(2, "s", inner),
        file_field(5, "l", DataType::List(Arc::new(file_field(6, "item", element)))),
    ];
    let target = vec![
        optional(5, "l", list(optional(6, "element", structure(vec![optional(8, "q", P::Int)])))),
        optional(2, "s", structure(vec![optional(4, "y", P::Long)])),
    ];
    let projector = File::parquet(fields).projector(target).unwrap();
    assert_eq!(projector.leaves(), [2, 4]);
    assert_eq!(projector.top_level(), [1, 2]);
    assert_eq!(projector.file_leaf_of(4), Some(2));
    assert_eq!(projector.file_leaf_of(8), None, "bounds of elements say nothing about rows");

    let y: Fields = vec![file_field(4, "y", DataType::Int32)].into();
    let s = StructArray::new(y, vec![ints([Some(1), Some(2)])], Some(NullBuffer::from(vec![true, false])));
    let q: Fields = vec![file_field(8, "q", DataType::Int32)].into();
    let elements = StructArray::new(q, vec![ints([Some(7), None, Some(9)])], None);
    let item = Arc::new(file_field(6, "item", elements.data_type().clone()));
    let l = ListArray::new(item, OffsetBuffer::from_lengths([2, 1]), Arc::new(elements), None);
    let batch = batch(
        vec![file_field(2, "s", s.data_type().clone()), file_field(5, "l", l.data_type().clone())],
        vec![Arc::new(s), Arc::new(l)],
    );
    for batch in [batch.clone(), batch.slice(1, 1)] {
        let rows = batch.num_rows();
        let columns = projector.project(&batch, rows).unwrap();
        RecordBatch::try_new(Arc::clone(projector.schema()), columns.clone()).unwrap();
        let l = columns[0].as_list::<i32>();
        let last = l.value(rows - 1);
        assert_eq!(last.as_struct().column(0).as_primitive::<Int32Type>().values(), &[9]);
        let s = columns[1].as_struct();
        assert!(s.is_null(rows - 1));
        if rows == 2 {
            assert_eq!(s.column(0).as_primitive::<Int64Type>().value(0), 1);
        }
    }
}

#[test]
fn a_struct_without_wanted_fields_is_read_for_its_nulls_through_its_cheapest_leaf() {
    let inner = vec![
        file_field(3, "text", DataType::Utf8),
        file_field(4, "l", DataType::List(Arc::new(file_field(5, "item", DataType::Boolean)))),
        file_field(6, "n", DataType::Int32),
    ];
    let fields = vec![file_field(1, "id", DataType::Int32), file_field(2, "s", struct_type(inner))];
    let added = with_default(required(9, "added", P::Int), int(7));
    let projector = File::parquet(fields).projector(vec![optional(2, "s", structure(vec![added]))]).unwrap();
    assert_eq!(projector.leaves(), [3]);
    let n: Fields = vec![file_field(6, "n", DataType::Int32)].into();
    let s = StructArray::new(n, vec![ints([None, None])], Some(NullBuffer::from(vec![true, false])));
    let batch = batch(vec![file_field(2, "s", s.data_type().clone())], vec![Arc::new(s)]);
    let columns = projector.project(&batch, 2).unwrap();
    let s = columns[0].as_struct();
    assert_eq!((s.is_valid(0), s.is_valid(1)), (true, false));
    assert_eq!(s.column(0).as_primitive::<Int32Type>().value(0), 7);
}

#[test]
fn maps_keep_their_keys_and_may_lose_parts_of_their_values() {
    let value = struct_type(vec![file_field(4, "p", DataType::Int32), file_field(5, "q", DataType::Int32)]);
    let entries =
        struct_type(vec![file_field(2, "key", DataType::Utf8).with_nullable(false), file_field(3, "value", value)]);
    let entries = Field::new("key_value", entries, false);
    let fields = vec![file_field(1, "m", DataType::Map(Arc::new(entries), false))];
    let wanted = structure(vec![optional(5, "q", P::Int)]);
    let target = optional(1, "m", map(required(2, "key", P::String), optional(3, "value", wanted)));
    let projector = File::parquet(fields).projector(vec![target]).unwrap();
    assert_eq!(projector.leaves(), [0, 2]);
}

#[test]
fn maps_and_lists_of_any_layout_become_canonical_even_when_sliced() {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..4 {
        for entry in 0..row {
            maps.keys().append_value(format!("{row}{entry}"));
            maps.values().append_value(entry);
        }
        maps.append(row != 1).unwrap();
    }
    let maps = maps.finish();
    let mut lists = ListBuilder::new(Int32Builder::new());
    for row in 0..4 {
        lists.append_value((0..row).map(Some));
    }
    let large =
        arrow_cast::cast(&lists.finish(), &DataType::LargeList(Arc::new(Field::new("item", DataType::Int32, true))));
    let fields = vec![
        Field::new("m", maps.data_type().clone(), true),
        Field::new("l", large.as_ref().unwrap().data_type().clone(), true),
    ];
    let target = vec![
        optional(1, "m", map(required(3, "key", P::String), optional(4, "value", P::Long))),
        optional(2, "l", list(required(5, "element", P::Long))),
    ];
    let projector = File::parquet(fields.clone()).projector(target).unwrap();
    let batch = batch(fields, vec![Arc::new(maps), large.unwrap()]).slice(1, 2);
    let columns = projector.project(&batch, 2).unwrap();
    let m = columns[0].as_map();
    // A NULL map has no entries, whatever values the file stores for it.
    assert_eq!((m.is_null(0), m.value_length(0), m.value_length(1)), (true, 0, 2));
    assert_eq!(m.value(1).column(0).as_string::<i32>().value(1), "21");
    assert_eq!(columns[1].as_list::<i32>().value(1).as_primitive::<Int64Type>().values(), &[0, 1]);
}

#[test]
fn a_field_that_the_file_lacks_is_constant_then_default_then_null() {
    let mut file = File::parquet(vec![file_field(1, "id", DataType::Int32)]);
    file.constants = HashMap::from([(1, Some(Scalar::Int32(99))), (2, Some(Scalar::Int32(5))), (3, None)]);
    let target = vec![
        optional(1, "id", P::Int),
        with_default(required(2, "constant", P::Long), int(6)),
        with_default(optional(3, "null_constant", P::Int), int(6)),
        with_default(optional(4, "default", P::Int), int(6)),
        optional(5, "nothing", P::String),
        optional(6, "unknown", P::Unknown),
    ];
    let projector = file.projector(target).unwrap();
    let columns =
        projector.project(&batch(vec![file_field(1, "id", DataType::Int32)], vec![ints([Some(1), None])]), 2).unwrap();
    assert_eq!(&columns[0], &ints([Some(1), None]), "the file's own column wins over the partition value");
    assert_eq!(columns[1].as_primitive::<Int64Type>().values(), &[5, 5]);
    assert_eq!(&columns[2], &ints([None, None]));
    assert_eq!(&columns[3], &ints([Some(6), Some(6)]));
    assert_eq!((columns[4].data_type(), columns[4].null_count()), (&DataType::Utf8, 2));
    assert_eq!(columns[5].data_type(), &DataType::Null);
}

#[test]
fn nothing_is_read_when_the_file_has_nothing_wanted() {
    let projector = File::parquet(vec![file_field(1, "id", DataType::Int32)])
        .projector(vec![with_default(optional(2, "d", P::Int), int(3))])
        .unwrap();
    assert_eq!((projector.leaves(), projector.top_level()), (&[][..], &[][..]));
    let empty = RecordBatch::new_empty(Arc::new(Schema::empty()));
    assert_eq!(projector.project(&empty, 2).unwrap(), [ints([Some(3), Some(3)])]);
}

#[test]
fn a_struct_default_takes_the_defaults_of_its_fields() {
    let inner = vec![with_default(optional(3, "a", P::Int), int(1)), optional(4, "b", P::Int)];
    let target = with_default(required(2, "s", structure(inner)), Value::Struct(vec![(4, Some(int(2)))]));
    let projector = File::parquet(vec![file_field(1, "id", DataType::Int32)]).projector(vec![target]).unwrap();
    let columns = projector.project(&RecordBatch::new_empty(Arc::new(Schema::empty())), 2).unwrap();
    let s = columns[0].as_struct();
    assert_eq!(s.column(0), &ints([Some(1), Some(1)]));
    assert_eq!(s.column(1), &ints([Some(2), Some(2)]));
}

#[test]
fn a_required_field_must_have_values() {
    let file = File::parquet(vec![file_field(1, "id", DataType::Int32)]);
    let error = file.projector(vec![required(2, "gone", P::Int)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptDataFile);
    assert!(error.to_string().contains("gone (id 2)") && error.to_string().contains("id (id 1)"), "{error}");

    let projector = file.projector(vec![required(1, "id", P::Int)]).unwrap();
    let batch = batch(vec![file_field(1, "id", DataType::Int32)], vec![ints([Some(1), None])]);
    let error = projector.project(&batch, 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptDataFile);
    assert!(error.to_string().contains("column: id"), "{error}");
    assert!(projector.project(&batch.slice(0, 1), 1).is_ok());
}

#[test]
fn a_required_field_of_a_null_struct_may_be_null() {
    let inner: Fields = vec![file_field(2, "x", DataType::Int32)].into();
    let fields = vec![file_field(1, "s", DataType::Struct(inner.clone()))];
    let target = optional(1, "s", structure(vec![required(2, "x", P::Long)]));
    let projector = File::parquet(fields.clone()).projector(vec![target]).unwrap();
    let read = |valid: Vec<bool>| {
        let s = StructArray::new(inner.clone(), vec![ints([Some(1), None])], Some(NullBuffer::from(valid)));
        projector.project(&batch(fields.clone(), vec![Arc::new(s)]), 2)
    };
    assert!(read(vec![true, false]).is_ok());
    let error = read(vec![true, true]).unwrap_err();
    assert!(error.to_string().contains("column: s.x"), "{error}");
}

#[test]
fn the_same_id_twice_is_ambiguous_only_when_it_is_wanted() {
    let file = File::parquet(vec![
        file_field(1, "a", DataType::Int32),
        file_field(1, "b", DataType::Int32),
        file_field(2, "c", DataType::Int32),
    ]);
    assert_eq!(file.projector(vec![optional(1, "a", P::Int)]).unwrap_err().kind(), ErrorKind::CorruptDataFile);
    assert_eq!(file.projector(vec![optional(2, "c", P::Int)]).unwrap().leaves(), [2]);
}

#[test]
fn orc_and_avro_columns_are_read_whole() {
    let inner = struct_type(vec![file_field(3, "x", DataType::Int32), file_field(4, "y", DataType::Int32)]);
    let fields = vec![file_field(1, "id", DataType::Int32), file_field(2, "s", inner)];
    for format in [FileFormat::Orc, FileFormat::Avro] {
        let file = File { format, ..File::parquet(fields.clone()) };
        let projector = file.projector(vec![optional(2, "s", structure(vec![optional(4, "y", P::Int)]))]).unwrap();
        assert_eq!((projector.leaves(), projector.top_level()), (&[1, 2][..], &[1][..]));
        let s: Fields = vec![file_field(3, "x", DataType::Int32), file_field(4, "y", DataType::Int32)].into();
        let s = StructArray::new(s, vec![ints([Some(1)]), ints([Some(2)])], None);
        let columns = projector.project(&batch(vec![fields[1].clone()], vec![Arc::new(s)]), 1).unwrap();
        assert_eq!(columns[0].as_struct().column(0), &ints([Some(2)]));
    }
}

fn mapped(id: i32, names: &[&str], fields: Vec<MappedField>) -> MappedField {
    MappedField {
        field_id: Some(id),
        names: names.iter().map(ToString::to_string).collect(),
        fields: NameMapping { fields },
    }
}

#[test]
fn a_name_mapping_gives_ids_at_every_level_to_files_without_any() {
    let element = struct_type(vec![file_field(0, "old", DataType::Int32), file_field(0, "extra", DataType::Int32)]);
    let fields = vec![
        file_field(0, "renamed", DataType::Int32),
        file_field(0, "l", DataType::List(Arc::new(Field::new("array", element, true)))),
        file_field(0, "unmapped", DataType::Int32),
    ];
    let mapping = NameMapping {
        fields: vec![
            mapped(1, &["a", "renamed"], vec![]),
            mapped(2, &["l"], vec![mapped(3, &["element"], vec![mapped(4, &["x", "old"], vec![])])]),
        ],
    };
    let file = File { mapping: Some(mapping), ..File::parquet(fields) };
    let target = vec![
        optional(1, "a", P::Int),
        optional(2, "l", list(optional(3, "element", structure(vec![optional(4, "x", P::Int)])))),
        optional(5, "unmapped", P::Int),
    ];
    assert_eq!(file.projector(target).unwrap().leaves(), [0, 1]);
}

#[test]
fn a_file_with_some_ids_is_matched_by_them_alone() {
    let mut file = File::parquet(vec![file_field(0, "a", DataType::Int32), file_field(2, "b", DataType::Int32)]);
    file.mapping = Some(NameMapping { fields: vec![mapped(1, &["a"], vec![])] });
    let projector = file.projector(vec![optional(1, "a", P::Int), optional(2, "b", P::Int)]).unwrap();
    assert_eq!(projector.leaves(), [1]);
}

#[rstest]
#[case::parquet_by_position(FileFormat::Parquet, &[0, 1])]
#[case::orc_by_name(FileFormat::Orc, &[1, 2])]
#[case::avro_by_name(FileFormat::Avro, &[1, 2])]
fn without_ids_and_mapping_the_format_decides(#[case] format: FileFormat, #[case] leaves: &[usize]) {
    let fields = ["x", "b", "a"].map(|name| file_field(0, name, DataType::Int32));
    let file = File { format, ..File::parquet(fields.to_vec()) };
    let projector = file.projector(vec![optional(1, "a", P::Int), optional(2, "b", P::Int)]).unwrap();
    assert_eq!(projector.leaves(), leaves);
}

#[test]
fn orc_ids_are_found_under_their_own_attribute() {
    let field =
        Field::new("a", DataType::Int32, true).with_metadata(HashMap::from([("iceberg.id".into(), "7".into())]));
    let file = File { format: FileFormat::Orc, ..File::parquet(vec![field]) };
    assert_eq!(file.projector(vec![optional(7, "b", P::Int)]).unwrap().leaves(), [0]);
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
/// Returns values of a file type, the type of the table, and the expected result; None if they must be rejected.
fn conversions() -> Vec<(ArrayRef, P, Option<ArrayRef>)> {
    let utc = |array: TimestampMicrosecondArray| -> Option<ArrayRef> { Some(Arc::new(array.with_timezone("UTC"))) };
    let decimals = |values: Vec<Option<i128>>, p: u8, s: i8| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(p, s).unwrap())
    };
    let binary = |values: Vec<Option<&[u8]>>| -> ArrayRef { Arc::new(BinaryArray::from(values)) };
    let uuid = [0xF7_u8; 16];
    let longs = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    let dictionary: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
    let text = |values: Vec<Option<&str>>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let fixed = |values: Vec<Option<&[u8]>>, n: i32| -> ArrayRef {
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), n).unwrap())
    };
    let not_text = binary(vec![Some(b"\xff")]);
    let micros = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(values)) };
    let nanos = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(TimestampNanosecondArray::from(values)) };
    let days = |values: Vec<Option<i32>>| -> ArrayRef { Arc::new(Date32Array::from(values)) };
    vec![
        (ints([Some(-1), None]), P::Long, Some(longs(vec![Some(-1), None]))),
        (Arc::new(Int8Array::from(vec![-1])), P::Int, Some(ints([Some(-1)]))),
        (longs(vec![Some(1)]), P::Int, None),
        (Arc::new(Float32Array::from(vec![1.5])), P::Double, Some(Arc::new(Float64Array::from(vec![1.5])))),
        (Arc::new(Float64Array::from(vec![1.5])), P::Float, None),
        (ints([Some(1)]), P::Double, None),
        (
            decimals(vec![Some(-1420)], 9, 2),
            P::Decimal { precision: 18, scale: 2 },
            Some(decimals(vec![Some(-1420)], 18, 2)),
        ),
        (
            decimals(vec![Some(-1420)], 18, 2),
            P::Decimal { precision: 9, scale: 2 },
            Some(decimals(vec![Some(-1420)], 9, 2)),
        ),
        (decimals(vec![Some(10_000)], 18, 2), P::Decimal { precision: 4, scale: 2 }, None),
        (decimals(vec![Some(1)], 9, 2), P::Decimal { precision: 18, scale: 3 }, None),
        (days(vec![Some(-1), None]), P::Timestamp, Some(micros(vec![Some(-86_400_000_000), None]))),
        (days(vec![Some(-1)]), P::TimestampNs, Some(nanos(vec![Some(-86_400_000_000_000)]))),
        (days(vec![Some(i32::MAX)]), P::Timestamp, None),
        (days(vec![Some(200_000)]), P::TimestampNs, None),
        (days(vec![Some(1)]), P::Timestamptz, None),
        (nanos(vec![Some(-1), Some(1999), None]), P::Timestamp, Some(micros(vec![Some(-1), Some(1), None]))),
        (nanos(vec![Some(-1)]), P::Timestamptz, utc(TimestampMicrosecondArray::from(vec![-1]))),
        (micros(vec![Some(7)]), P::Timestamptz, utc(TimestampMicrosecondArray::from(vec![7]))),
        (utc(TimestampMicrosecondArray::from(vec![7])).unwrap(), P::Timestamp, Some(micros(vec![Some(7)]))),
        (micros(vec![Some(-7)]), P::TimestampNs, Some(nanos(vec![Some(-7000)]))),
        (micros(vec![Some(i64::MAX)]), P::TimestampNs, None),
        (Arc::new(TimestampMillisecondArray::from(vec![-7])), P::Timestamp, Some(micros(vec![Some(-7000)]))),
        (
            Arc::new(Time32MillisecondArray::from(vec![7])),
            P::Time,
            Some(Arc::new(Time64MicrosecondArray::from(vec![7000]))),
        ),
        (longs(vec![Some(7)]), P::Time, None),
        (binary(vec![Some(&uuid), None]), P::Uuid, Some(fixed(vec![Some(&uuid), None], 16))),
        (binary(vec![Some(&uuid[1..])]), P::Uuid, None),
        (binary(vec![Some(b"abcd")]), P::Fixed(4), Some(fixed(vec![Some(b"abcd")], 4))),
        (fixed(vec![Some(b"abcd")], 4), P::Fixed(3), None),
        (fixed(vec![Some(b"abcd"), None], 4), P::Binary, Some(binary(vec![Some(b"abcd"), None]))),
        (binary(vec![Some("é".as_bytes())]), P::String, Some(text(vec![Some("é")]))),
        (not_text, P::String, None),
        (Arc::new(LargeStringArray::from(vec!["é"])), P::String, Some(text(vec![Some("é")]))),
        (Arc::new(StringViewArray::from(vec!["é"])), P::String, Some(text(vec![Some("é")]))),
        (Arc::new(dictionary), P::String, Some(text(vec![Some("a"), None, Some("a")]))),
        (Arc::new(LargeBinaryArray::from_vec(vec![b"x"])), P::Geometry(None), Some(binary(vec![Some(b"x")]))),
        (text(vec![Some("1")]), P::Int, None),
        (Arc::new(BooleanArray::from(vec![true])), P::Int, None),
        (ints([Some(1)]), P::Unknown, Some(Arc::new(NullArray::new(1)))),
        (Arc::new(NullArray::new(2)), P::Int, Some(ints([None, None]))),
    ]
}

#[test]
fn values_are_promoted_and_encodings_made_canonical() {
    for (from, to, expected) in conversions() {
        // A row before and after turns the array under test into a slice.
        let doubled = arrow_select::concat::concat(&[&from, &from]).unwrap();
        for from in [Arc::clone(&from), doubled.slice(from.len(), from.len())] {
            let label = format!("{} as {to:?}", from.data_type());
            let field = file_field(1, "c", from.data_type().clone());
            let read = File::parquet(vec![field.clone()]).projector(vec![optional(1, "c", to.clone())]).and_then(
                |projector| {
                    let batch = batch(vec![field.clone()], vec![Arc::clone(&from)]);
                    projector.project(&batch, from.len())
                },
            );
            match (&expected, read) {
                (Some(expected), Ok(columns)) => assert_eq!(&columns[0], expected, "{label}"),
                (None, Err(error)) => assert_eq!(error.kind(), ErrorKind::CorruptDataFile, "{label}: {error}"),
                (_, other) => panic!("{label}: {other:?}"),
            }
        }
    }
}

#[test]
fn orc_stores_times_as_longs() {
    let field = file_field(1, "t", DataType::Int64);
    let file = File { format: FileFormat::Orc, ..File::parquet(vec![field.clone()]) };
    let projector = file.projector(vec![optional(1, "t", P::Time)]).unwrap();
    let columns = projector.project(&batch(vec![field], vec![Arc::new(Int64Array::from(vec![7]))]), 1).unwrap();
    assert_eq!(columns[0].data_type(), &DataType::Time64(TimeUnit::Microsecond));
}

#[test]
fn nested_types_do_not_turn_into_others() {
    let element = Arc::new(Field::new("element", DataType::Int32, true));
    let shapes: Vec<(DataType, Type)> = vec![
        (DataType::Int32, list(optional(2, "element", P::Int))),
        (DataType::List(Arc::clone(&element)), P::Int.into()),
        (DataType::List(element), map(required(2, "key", P::Int), optional(3, "value", P::Int))),
        (struct_type(vec![file_field(2, "x", DataType::Int32)]), list(optional(2, "element", P::Int))),
        (DataType::Utf8, structure(vec![optional(2, "x", P::Int)])),
    ];
    for (from, to) in shapes {
        let error = File::parquet(vec![file_field(1, "c", from)]).projector(vec![optional(1, "c", to)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptDataFile);
        assert!(error.to_string().contains("column: c"), "{error}");
    }
}

#[test]
fn a_batch_that_differs_from_the_selection_is_an_internal_error() {
    let field = file_field(1, "a", DataType::Int32);
    let projector = File::parquet(vec![field]).projector(vec![optional(1, "a", P::Int)]).unwrap();
    let other = batch(vec![file_field(1, "b", DataType::Int32)], vec![ints([Some(1)])]);
    assert_eq!(projector.project(&other, 1).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(projector.project(&other, 2).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn columns_nested_without_end_are_refused() {
    let mut data_type = DataType::Int32;
    for _ in 0..200 {
        data_type = DataType::List(Arc::new(Field::new("element", data_type, true)));
    }
    let error = File::parquet(vec![file_field(1, "a", data_type)]).projector(vec![]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn the_projected_columns_fit_the_projected_schema() {
    let element = optional(3, "element", structure(vec![optional(4, "u", P::Uuid), required(5, "d", P::Date)]));
    let target = vec![required(1, "id", P::Long), optional(2, "l", list(element)), optional(6, "v", P::Variant)];
    let schema = arrow_schema(&StructType { fields: target.clone() });
    let projector =
        File::parquet(schema.fields().iter().map(|f| f.as_ref().clone()).collect()).projector(target).unwrap();
    let empty = RecordBatch::new_empty(Arc::new(schema.clone()));
    RecordBatch::try_new(Arc::new(schema), projector.project(&empty, 0).unwrap()).unwrap();
    assert_eq!(arrow_field(&optional(1, "x", P::Int)).metadata()[FIELD_ID], "1");
}

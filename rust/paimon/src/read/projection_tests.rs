use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{
    BinaryArray, Decimal128Array, Int8Array, Int32Array, Int64Array, LargeStringArray, ListArray, MapArray,
    StringArray, StructArray, Time32MillisecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Field, Fields, TimeUnit};
use frazil_core::error::ErrorKind;

use super::*;
use crate::spec::types::TypeRoot as T;

const STRING: T = T::VarChar(i32::MAX as u32);

fn field(id: i32, name: &str, root: T) -> DataField {
    DataField { id, name: name.into(), data_type: DataType::nullable(root), description: None, default_value: None }
}

fn required(id: i32, name: &str, root: T) -> DataField {
    DataField { data_type: DataType::required(root.clone()), ..field(id, name, root) }
}

fn row(fields: Vec<DataField>) -> T {
    T::Row(fields)
}

fn list(element: T) -> T {
    T::Array(Box::new(DataType::nullable(element)))
}

fn map(key: T, value: T) -> T {
    T::Map(Box::new(DataType::required(key)), Box::new(DataType::nullable(value)))
}

/// Creates a file of these columns.
fn file(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

struct Case<'a> {
    written: &'a [DataField],
    format: FileFormat,
    constants: HashMap<i32, ArrayRef>,
}

impl<'a> Case<'a> {
    fn of(written: &'a [DataField]) -> Self {
        Self { written, format: FileFormat::Parquet, constants: HashMap::new() }
    }

    fn plan(&self, arrow: &Schema, wanted: &[DataField], system: &[SystemColumn]) -> Result<Projection> {
        let file = FileColumns { arrow, fields: self.written, format: self.format, constants: &self.constants };
        Projection::try_new(wanted, system, &file)
    }

    fn read(&self, batch: &RecordBatch, wanted: &[DataField]) -> Result<Vec<ArrayRef>> {
        let plan = self.plan(batch.schema_ref(), wanted, &[])?;
        let arrays = plan.project(Some(&batch.project(plan.top_level()).unwrap()), batch.num_rows())?;
        for (array, field) in arrays.iter().zip(wanted) {
            assert_eq!(array.data_type(), &field.data_type.arrow());
        }
        Ok(arrays)
    }
}

fn ints(values: impl IntoIterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from_iter(values))
}

#[test]
fn fields_are_found_by_id_and_columns_by_name() {
    // a was renamed to z and a new a was added; b was widened and moved to the front, and c was dropped.
    let written = [field(0, "a", T::Int), field(1, "b", T::Int), field(2, "c", STRING)];
    let wanted = [field(1, "b", T::BigInt), field(0, "z", T::Int), field(3, "a", STRING)];
    let batch = file(vec![("c", ints([None, None])), ("b", ints([Some(1), None])), ("a", ints([Some(7), Some(8)]))]);
    let arrays = Case::of(&written).read(&batch, &wanted).unwrap();
    assert_eq!(arrays[0].as_ref(), &Int64Array::from(vec![Some(1), None]));
    assert_eq!(&arrays[1], &ints([Some(7), Some(8)]));
    assert_eq!((arrays[2].len(), arrays[2].null_count()), (2, 2));
}

#[test]
fn schema_columns_missing_from_the_file_are_null() {
    let written = [field(0, "a", T::Int)];
    let plan = Case::of(&written).plan(&Schema::empty(), &written, &[SystemColumn::RowId]).unwrap();
    assert!(plan.leaves().is_empty() && plan.top_level().is_empty());
    let arrays = plan.project(None, 3).unwrap();
    assert_eq!(arrays.iter().map(Array::null_count).collect::<Vec<_>>(), [3, 3]);
    assert_eq!(arrays[1].data_type(), &ArrowType::Int64);
}

#[test]
fn partition_columns_are_constants_regardless_of_the_file() {
    let written = [field(0, "p", T::Int), field(1, "a", T::Int)];
    let batch = file(vec![("p", ints([Some(1), Some(1)])), ("a", ints([Some(5), Some(6)]))]);
    let mut case = Case { constants: [(0, ints([Some(9)]))].into(), ..Case::of(&written) };
    let arrays = case.read(&batch, &written).unwrap();
    assert_eq!(&arrays[0], &ints([Some(9), Some(9)]));
    let plan = case.plan(batch.schema_ref(), &written, &[]).unwrap();
    assert_eq!((plan.leaves(), plan.top_level()), ([1].as_slice(), [1].as_slice()));
    case.constants = [(0, ints([None]))].into();
    assert_eq!(case.read(&batch, &written).unwrap()[0].null_count(), 2);
    case.constants = [(0, Arc::new(Int64Array::from(vec![9])) as ArrayRef)].into();
    assert_eq!(case.read(&batch, &written).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn system_columns_are_read_alongside_the_fields() {
    let written = [field(0, "k", T::Int)];
    let batch = file(vec![
        ("_KEY_k", ints([Some(1)])),
        ("_SEQUENCE_NUMBER", Arc::new(Int64Array::from(vec![17]))),
        ("_VALUE_KIND", ints([Some(3)])),
        ("k", ints([Some(1)])),
    ]);
    let system = [SystemColumn::ValueKind, SystemColumn::SequenceNumber, SystemColumn::RowId];
    let plan = Case::of(&written).plan(batch.schema_ref(), &written, &system).unwrap();
    assert_eq!(plan.top_level(), [1, 2, 3]);
    let arrays = plan.project(Some(&batch.project(plan.top_level()).unwrap()), 1).unwrap();
    assert_eq!(arrays[1].as_primitive::<Int8Type>().values(), &[3], "Avro has INT for TINYINT");
    assert_eq!(arrays[2].as_primitive::<Int64Type>().values(), &[17]);
    assert_eq!(arrays[3].null_count(), 1);
}

/// `r: {x, y: {p, q}, e: [{u, v}], m: {key: {w, t}}}`
fn nested_arrow() -> Schema {
    let leaf = |name: &str| Field::new(name, ArrowType::Int32, true);
    let of = |name: &str, fields: Vec<Field>| Field::new(name, ArrowType::Struct(fields.into()), true);
    let entries =
        ArrowType::Struct(vec![leaf("key").with_nullable(false), of("value", vec![leaf("w"), leaf("t")])].into());
    Schema::new(vec![
        leaf("id"),
        of(
            "r",
            vec![
                leaf("x"),
                of("y", vec![Field::new("p", ArrowType::Utf8, true), leaf("q")]),
                Field::new("e", ArrowType::List(Arc::new(of("element", vec![leaf("u"), leaf("v")]))), true),
                Field::new("m", ArrowType::Map(Arc::new(Field::new("key_value", entries, false)), false), true),
            ],
        ),
    ])
}

fn nested_fields() -> Vec<DataField> {
    let y = row(vec![field(13, "p", STRING), field(14, "q", T::Int)]);
    let e = list(row(vec![field(16, "u", T::Int), field(17, "v", T::Int)]));
    let m = map(T::Int, row(vec![field(19, "w", T::Int), field(20, "t", T::Int)]));
    vec![
        field(0, "id", T::Int),
        field(1, "r", row(vec![field(11, "x", T::Int), field(12, "y", y), field(15, "e", e), field(18, "m", m)])),
    ]
}

#[test]
fn only_wanted_leaves_are_read() {
    let (arrow, written) = (nested_arrow(), nested_fields());
    let wants = |part: DataField| vec![field(1, "r", row(vec![part]))];
    let y = |id| field(12, "renamed", row(vec![field(id, "any", T::Int)]));
    let e = |id| field(15, "e", list(row(vec![field(id, "any", T::Int)])));
    let m = |id| field(18, "m", map(T::Int, row(vec![field(id, "any", T::Int)])));
    for (wanted, leaves) in [
        (written.clone(), vec![0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (wants(field(11, "x", T::Int)), vec![1]),
        (wants(y(14)), vec![3]),
        (wants(y(99)), vec![3]),
        (wants(e(17)), vec![5]),
        (wants(e(99)), vec![4]),
        (wants(m(20)), vec![6, 8]),
        (wants(m(99)), vec![6, 7]),
        (wants(field(99, "new", T::Int)), vec![1]),
        (vec![field(1, "r", STRING)], vec![1, 2, 3, 4, 5, 6, 7, 8]),
    ] {
        let plan = Case::of(&written).plan(&arrow, &wanted, &[]).unwrap();
        assert_eq!(plan.leaves(), leaves, "{wanted:?}");
        let whole = Case { format: FileFormat::Orc, ..Case::of(&written) }.plan(&arrow, &wanted, &[]).unwrap();
        assert_eq!(whole.top_level(), plan.top_level());
        assert!(whole.leaves().len() >= 8);
    }
}

#[test]
fn nested_fields_are_found_by_id_at_every_level() {
    let written = nested_fields();
    let wanted = [field(
        1,
        "s",
        row(vec![
            field(12, "yy", row(vec![field(21, "p", T::Int), field(14, "qq", T::BigInt)])),
            field(15, "e", list(row(vec![field(17, "v", STRING)]))),
            field(18, "m", map(T::Int, row(vec![field(20, "t", T::BigInt), field(19, "w", T::Int)]))),
        ]),
    )];
    // Pruned as in Parquet: x, p and u are not read.
    let of = |fields: Vec<(&str, ArrayRef)>, nulls| {
        let (names, arrays): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        let fields = names.iter().zip(&arrays).map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
        Arc::new(StructArray::new(fields.collect::<Fields>(), arrays, nulls)) as ArrayRef
    };
    let element = of(vec![("v", ints([Some(5), None, Some(6)]))], Some(NullBuffer::from(vec![true, true, false])));
    let element_field = Arc::new(Field::new("item", element.data_type().clone(), true));
    let lists = ListArray::new(element_field, OffsetBuffer::from_lengths([2, 1, 0]), element, None);
    let entries = of(
        vec![("key", ints([Some(1)])), ("value", of(vec![("w", ints([Some(2)])), ("t", ints([Some(3)]))], None))],
        None,
    );
    let ArrowType::Struct(parts) = entries.data_type() else { panic!() };
    let parts = Fields::from(vec![parts[0].as_ref().clone().with_nullable(false), parts[1].as_ref().clone()]);
    let entries = StructArray::new(parts.clone(), entries.as_struct().columns().to_vec(), None);
    let entries_field = Arc::new(Field::new("entries", ArrowType::Struct(parts), false));
    let maps = MapArray::new(entries_field, OffsetBuffer::from_lengths([0, 1, 0]), entries, None, false);
    let y = of(vec![("q", ints([Some(1), Some(2), Some(3)]))], None);
    let r = of(
        vec![("y", y), ("e", Arc::new(lists)), ("m", Arc::new(maps))],
        Some(NullBuffer::from(vec![true, true, false])),
    );

    let plan = Case::of(&written).plan(&nested_arrow(), &wanted, &[]).unwrap();
    assert_eq!(plan.leaves(), [3, 5, 6, 7, 8]);
    let arrays = plan.project(Some(&file(vec![("r", r)])), 3).unwrap();
    assert_eq!(arrays[0].data_type(), &wanted[0].data_type.arrow());
    let s = arrays[0].as_struct();
    assert!(s.is_null(2));
    let yy = s.column_by_name("yy").unwrap().as_struct();
    assert_eq!(yy.column(1).as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(1), Some(2), None]);
    assert_eq!(yy.column(0).null_count(), 3, "a new field of the old name");
    let elements = s.column_by_name("e").unwrap().as_list::<i32>().values().as_struct();
    assert_eq!(elements.column(0).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("5"), None, None]);
    assert!(elements.is_null(2));
    let m = s.column_by_name("m").unwrap().as_map();
    let value = m.values().as_struct();
    assert_eq!(value.column(0).as_primitive::<Int64Type>().values(), &[3]);
    assert_eq!(value.column(1).as_primitive::<Int32Type>().values(), &[2]);
}

#[test]
fn null_in_a_required_column_names_it() {
    let written = [required(0, "a", T::Int), field(1, "r", row(vec![required(2, "x", T::Int)]))];
    let batch = file(vec![("a", ints([Some(1), None]))]);
    let error = Case::of(&written).read(&batch, &written[..1]).unwrap_err();
    assert_eq!((error.kind(), error.context()), (ErrorKind::CorruptData, [("column", "a".to_owned())].as_slice()));
    let relaxed = [field(0, "a", T::Int)];
    assert_eq!(Case::of(&written).read(&batch, &relaxed).unwrap()[0].null_count(), 1);

    let x = |nulls| {
        let fields = Fields::from(vec![Field::new("x", ArrowType::Int32, true)]);
        file(vec![("r", Arc::new(StructArray::new(fields, vec![ints([Some(1), None])], nulls)) as ArrayRef)])
    };
    let error = Case::of(&written).read(&x(None), &written[1..]).unwrap_err();
    assert!(error.context().contains(&("column", "r.x".to_owned())), "{error}");
    let hidden = x(Some(NullBuffer::from(vec![true, false])));
    assert_eq!(Case::of(&written).read(&hidden, &written[1..]).unwrap()[0].null_count(), 1);
}

#[test]
fn values_that_do_not_fit_name_their_column() {
    let written = [field(0, "t", T::Timestamp(6)), field(1, "d", T::Decimal(3, 1)), field(2, "i", T::TinyInt)];
    let far = file(vec![("t", Arc::new(TimestampMicrosecondArray::from(vec![253_402_300_799_000_000])))]);
    let error = Case::of(&written).read(&far, &[field(0, "t", T::Timestamp(9))]).unwrap_err();
    assert!(error.to_string().contains("column: t"), "{error}");
    let wide = Decimal128Array::from(vec![12345]).with_precision_and_scale(9, 1).unwrap();
    assert!(Case::of(&written).read(&file(vec![("d", Arc::new(wide))]), &written[1..2]).is_err());
    assert!(Case::of(&written).read(&file(vec![("i", ints([Some(128)]))]), &written[2..]).is_err());
    assert!(
        Case::of(&written).read(&file(vec![("i", Arc::new(StringArray::from(vec!["1"])))]), &written[2..]).is_err()
    );
}

#[test]
fn a_cast_that_does_not_exist_is_refused_before_anything_is_read() {
    let written = [field(0, "a", T::Int), field(1, "r", row(vec![field(2, "x", T::Int)]))];
    let case = Case::of(&written);
    let error = case.plan(&Schema::empty(), &[field(0, "a", T::Date)], &[]).unwrap_err();
    assert_eq!(error.to_string(), "no cast from INT to DATE (column: a)");
    let error = case.plan(&Schema::empty(), &[field(1, "r", row(vec![field(2, "x", T::Date)]))], &[]).unwrap_err();
    assert_eq!(error.to_string(), "no cast from INT to DATE (column: r.x)");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn formats_store_types_their_own_ways() {
    let utc = |array: TimestampNanosecondArray| Arc::new(array.with_timezone("UTC")) as ArrayRef;
    let millis = ArrowType::Timestamp(TimeUnit::Millisecond, None);
    for (root, stored, wanted) in [
        (T::TinyInt, ints([Some(-128), None]), Arc::new(Int8Array::from(vec![Some(-128), None])) as ArrayRef),
        (T::Time(3), ints([Some(1), None]), Arc::new(Time32MillisecondArray::from(vec![Some(1), None]))),
        (T::Date, ints([Some(1), None]), Arc::new(arrow_array::Date32Array::from(vec![Some(1), None]))),
        (STRING, Arc::new(LargeStringArray::from(vec!["a"])), Arc::new(StringArray::from(vec!["a"]))),
        (T::Timestamp(0), utc(vec![-1, 1_999_999].into()), {
            let stored: ArrayRef = Arc::new(Int64Array::from(vec![-1, 1]));
            arrow_cast::cast(&stored, &millis).unwrap()
        }),
        (
            T::Timestamp(9),
            Arc::new(TimestampMicrosecondArray::from(vec![-1])),
            Arc::new(TimestampNanosecondArray::from(vec![-1000])),
        ),
        (T::LocalZonedTimestamp(9), Arc::new(TimestampNanosecondArray::from(vec![7])), utc(vec![7].into())),
        (
            T::Decimal(9, 1),
            Arc::new(Decimal128Array::from(vec![5]).with_precision_and_scale(5, 1).unwrap()),
            Arc::new(Decimal128Array::from(vec![5]).with_precision_and_scale(9, 1).unwrap()),
        ),
        (
            T::Char(3),
            Arc::new(StringArray::from(vec!["a  ", " b", ""])),
            Arc::new(StringArray::from(vec!["a", " b", ""])),
        ),
        (T::Int, Arc::new(arrow_array::NullArray::new(2)), ints([None, None])),
    ] {
        let written = [field(0, "c", root)];
        let case = Case { format: FileFormat::Orc, ..Case::of(&written) };
        assert_eq!(&case.read(&file(vec![("c", stored)]), &written).unwrap()[0], &wanted, "{written:?}");
    }
    let padded = file(vec![("c", Arc::new(StringArray::from(vec!["a  "])))]);
    let written = [field(0, "c", T::Char(3))];
    assert_eq!(Case::of(&written).read(&padded, &written).unwrap()[0].as_string::<i32>().value(0), "a  ");
}

#[test]
fn lists_of_pairs_are_maps() {
    let pairs = StructArray::from(vec![
        (Arc::new(Field::new("key", ArrowType::Int32, false)), ints([Some(1), Some(2)])),
        (Arc::new(Field::new("value", ArrowType::Int32, true)), ints([Some(3), None])),
    ]);
    let element = Arc::new(Field::new("element", pairs.data_type().clone(), true));
    let lists = |pairs| {
        Arc::new(ListArray::new(Arc::clone(&element), OffsetBuffer::from_lengths([2, 0]), Arc::new(pairs), None))
    };
    let written = [field(0, "m", map(T::Int, T::Int))];
    let arrays = Case::of(&written).read(&file(vec![("m", lists(pairs.clone()))]), &written).unwrap();
    assert_eq!(arrays[0].as_map().keys().as_primitive::<Int32Type>().values(), &[1, 2]);
    let multiset = [field(0, "m", T::Multiset(Box::new(DataType::required(T::Int))))];
    assert!(Case::of(&multiset).read(&file(vec![("m", lists(pairs.clone()))]), &multiset).is_err(), "a count is NULL");

    let null_key =
        Fields::from(vec![Field::new("key", ArrowType::Int32, true), Field::new("value", ArrowType::Int32, true)]);
    let entries = StructArray::new(null_key, vec![ints([None, Some(2)]), ints([Some(3), None])], None);
    let element = Arc::new(Field::new("element", entries.data_type().clone(), true));
    let maps = ListArray::new(element, OffsetBuffer::from_lengths([2, 0]), Arc::new(entries), None);
    assert!(Case::of(&written).read(&file(vec![("m", Arc::new(maps))]), &written).is_err());
}

#[test]
fn lists_keep_to_rows_that_are_not_null() {
    let mut builder = ListBuilder::new(Int32Builder::new());
    builder.append_value([Some(1), Some(2)]);
    builder.append_value([Some(99)]);
    builder.append_value([None, Some(300)]);
    let array = builder.finish();
    let (element, offsets, values, _) = array.into_parts();
    let array = ListArray::new(element, offsets, values, Some(NullBuffer::from(vec![true, false, true])));
    let written = [field(0, "l", list(T::Int))];
    let wanted = [field(0, "l", list(T::TinyInt))];
    let arrays = Case::of(&written).read(&file(vec![("l", Arc::new(array.slice(1, 2)))]), &wanted).unwrap();
    let lists = arrays[0].as_list::<i32>();
    assert!(lists.is_null(0));
    assert_eq!(lists.values().as_primitive::<Int8Type>().iter().collect::<Vec<_>>(), [None, Some(44)]);
}

#[test]
fn variants_have_their_metadata_first() {
    let part = |name: &str, bytes: &'static [u8]| {
        let array: ArrayRef = Arc::new(BinaryArray::from(vec![bytes]));
        (Arc::new(Field::new(name, ArrowType::Binary, false)), array)
    };
    let stored = StructArray::from(vec![part("value", b"\x0c\x05"), part("metadata", b"\x01\x00\x00")]);
    let written = [field(0, "v", T::Variant)];
    let arrays = Case::of(&written).read(&file(vec![("v", Arc::new(stored))]), &written).unwrap();
    assert_eq!(arrays[0].as_struct().column(1).as_binary::<i32>().value(0), b"\x0c\x05");
}

#[test]
fn a_batch_of_other_columns_is_a_bug() {
    let written = [field(0, "a", T::Int), field(1, "b", T::Int)];
    let batch = file(vec![("a", ints([Some(1)])), ("b", ints([Some(2)]))]);
    let plan = Case::of(&written).plan(batch.schema_ref(), &written[1..], &[]).unwrap();
    for result in
        [plan.project(Some(&batch), 1), plan.project(None, 1), plan.project(Some(&batch.project(&[1]).unwrap()), 2)]
    {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Internal);
    }
}

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "random numbers of every width")]

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, ListArray, MapArray, StringArray, StructArray, Time32MillisecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use proptest::prelude::*;

use super::*;

fn nullable(root: TypeRoot) -> DataType {
    DataType::nullable(root)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn one(column: impl arrow_array::Array + 'static, root: TypeRoot) -> Vec<u8> {
    encode(&[Arc::new(column)], &[nullable(root)]).unwrap().value(0).to_vec()
}

const TEXT: TypeRoot = TypeRoot::VarChar(u32::MAX >> 1);

#[test]
fn places_and_parts_are_those_of_java() {
    let int = Int32Array::from(vec![-2]);
    assert_eq!(one(int, TypeRoot::Int), hex("0000000000000000 feffffff00000000"));
    let short = StringArray::from(vec!["1234567"]);
    assert_eq!(one(short, TEXT), hex("0000000000000000 3132333435363787"));
    assert_eq!(one(StringArray::from(vec![""]), TEXT), hex("0000000000000000 0000000000000080"));
    let long = StringArray::from(vec!["123456789"]);
    assert_eq!(one(long, TEXT), hex("0000000000000000 0900000010000000 3132333435363738 3900000000000000"));
    let decimal = |value, digits| Decimal128Array::from(vec![value]).with_precision_and_scale(digits, 2).unwrap();
    assert_eq!(one(decimal(-1, 18), TypeRoot::Decimal(18, 2)), hex("0000000000000000 ffffffffffffffff"));
    let wide = hex("0000000000000000 0200000010000000 ff7f000000000000 0000000000000000");
    assert_eq!(one(decimal(-129, 19), TypeRoot::Decimal(19, 2)), wide);
    let before = hex("0000000000000000 583e0f0010000000 ffffffffffffffff");
    let micros = TimestampMicrosecondArray::from(vec![-1]);
    assert_eq!(one(micros, TypeRoot::Timestamp(6)), before);
    let millis = TimestampMicrosecondArray::from(vec![-1]);
    assert_eq!(one(millis, TypeRoot::Timestamp(3)), hex("0000000000000000 ffffffffffffffff"));
}

#[test]
fn null_keeps_the_part_of_its_type() {
    let wide = Decimal128Array::from(vec![None]).with_precision_and_scale(20, 0).unwrap();
    let zeros = "0000000000000000";
    let row = hex(&format!("0001000000000000 0000000010000000 {zeros}{zeros}"));
    assert_eq!(one(wide, TypeRoot::Decimal(20, 0)), row);
    let row = hex(&format!("0001000000000000 0000000010000000 {zeros}"));
    assert_eq!(one(TimestampMicrosecondArray::from(vec![None]), TypeRoot::LocalZonedTimestamp(6)), row);
    let nothing = hex(&format!("0001000000000000 {zeros}"));
    assert_eq!(one(TimestampMillisecondArray::from(vec![None]), TypeRoot::Timestamp(3)), nothing);
    assert_eq!(one(StringArray::from(vec![None::<&str>]), TEXT), nothing);
    let data_type = nullable(TypeRoot::Timestamp(6));
    let inner = DataField { id: 0, name: "t".into(), data_type, description: None, default_value: None };
    let root = TypeRoot::Row(vec![inner]);
    let ArrowType::Struct(fields) = nullable(root.clone()).arrow() else { unreachable!() };
    let nested = StructArray::new(fields, vec![Arc::new(TimestampMicrosecondArray::from(vec![None]))], None);
    let row = hex(&format!("{zeros} 1800000010000000 0001000000000000 0000000010000000 {zeros}"));
    assert_eq!(one(nested, root), row);
}

#[test]
fn the_57th_field_takes_another_word_of_null_bits() {
    for (arity, header) in [(0, 8), (1, 8), (56, 8), (57, 16), (120, 16), (121, 24)] {
        assert_eq!(layout::row_header_bytes(arity), header, "{arity}");
    }
    let columns: Vec<ArrayRef> =
        (0..57).map(|at| Arc::new(Int32Array::from(vec![(at != 56).then_some(at)])) as _).collect();
    let types = vec![nullable(TypeRoot::Int); 57];
    let rows = encode(&columns, &types).unwrap();
    assert_eq!(rows.value(0)[..16], hex("0000000000000000 0100000000000000"));
    let decoded = decode_columns(&with_arity(&rows, 57).unwrap(), &types, &[56, 55]).unwrap();
    assert!(decoded[0].is_null(0));
    assert_eq!(decoded[1].as_primitive::<Int32Type>().value(0), 55);
}

#[test]
fn rows_without_fields_and_no_rows_are_null() {
    let rows =
        BinaryArray::from_opt_vec(vec![None, Some(&[0; 12]), Some(&hex("00000001 0000000000000000 0700000000000000"))]);
    let decoded = decode_columns(&rows, &[nullable(TypeRoot::BigInt)], &[0]).unwrap();
    assert_eq!(decoded[0].as_primitive::<Int64Type>(), &Int64Array::from(vec![None, None, Some(7)]));
    assert!(decode(&[0; 12], &[]).unwrap().is_empty());
    assert_eq!(encode(&[], &[]).unwrap().len(), 0);
}

#[test]
fn timestamps_are_floored_and_those_beyond_arrow_are_refused_or_unknown() {
    let row = |millis: i64, nanos: u32| {
        let mut row = hex("00000001 0000000000000000");
        row.extend(nanos.to_le_bytes());
        row.extend(16_u32.to_le_bytes());
        row.extend(millis.to_le_bytes());
        row
    };
    let types = [nullable(TypeRoot::Timestamp(6))];
    let decoded = decode(&row(-1000, 1), &types).unwrap();
    assert_eq!(decoded[0].as_primitive::<TimestampMicrosecondType>().value(0), -1_000_000);
    assert!(decode(&row(0, 1_000_000), &types).is_err());
    let nanos = [nullable(TypeRoot::Timestamp(9))];
    let late = row(253_402_300_799_999, 0);
    assert_eq!(decode(&late, &nanos).unwrap_err().kind(), ErrorKind::LimitExceeded);
    let bounds = decode_bounds(&BinaryArray::from_vec(vec![&late]), &nanos, &[0]).unwrap();
    assert!(bounds[0].is_null(0));
}

#[test]
fn damage_is_an_error() {
    let text = [nullable(TEXT)];
    let list = [nullable(TypeRoot::Array(Box::new(nullable(TypeRoot::TinyInt))))];
    let place = |place: &str| hex(&format!("00000001 0000000000000000 {place}"));
    for (row, types) in [
        (hex("0000"), &text),
        (hex("00000002 0000000000000000 0000000000000000 0000000000000000"), &text),
        (hex("00000001 0000000000000000"), &text),
        (place("0000000000000088"), &text),
        (place("ffffffff10000000"), &text),
        (place("09000000ffffff7f"), &text),
        (place("ff000000000000 81"), &text),
        (place("0800000010000000 ffffff7f00000000"), &list),
        (place("0800000010000000 ffffffff00000000"), &list),
        (place("0800000010000000 0400000000000000"), &list),
    ] {
        assert_eq!(decode(&row, types).unwrap_err().kind(), ErrorKind::CorruptData, "{row:02x?}");
    }
}

#[test]
fn parts_that_overlap_are_refused() {
    // One array of 64 strings, each of which refers to the whole array.
    let mut array = 64_i32.to_le_bytes().to_vec();
    array.resize(12, 0);
    let length = 12_u32 + 64 * 8;
    for _ in 0..64 {
        array.extend(length.to_le_bytes());
        array.extend(0_u32.to_le_bytes());
    }
    let mut row = hex("00000001 0000000000000000");
    row.extend(length.to_le_bytes());
    row.extend(16_u32.to_le_bytes());
    row.extend(array);
    let bytes = nullable(TypeRoot::VarBinary(1));
    let error = decode(&row, &[nullable(TypeRoot::Array(Box::new(bytes)))]).unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
}

#[test]
fn columns_of_other_types_are_refused() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    assert!(encode(std::slice::from_ref(&text), &[nullable(TypeRoot::Int)]).is_err());
    assert!(encode(&[text], &[]).is_err());
    assert!(decode_columns(&BinaryArray::from_vec(vec![]), &[], &[0]).is_err());
}

/// A pseudorandom number generator for tests (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, end: u64) -> usize {
        usize::try_from(self.next() % end).unwrap()
    }

    /// Returns a number of any magnitude.
    fn number(&mut self) -> i64 {
        let shift = self.below(64);
        self.next().cast_signed() >> shift
    }

    fn many<T>(&mut self, length: usize, mut value: impl FnMut(&mut Self) -> T) -> Vec<Option<T>> {
        (0..length).map(|_| (self.below(5) > 0).then(|| value(self))).collect()
    }

    fn text(&mut self) -> String {
        let length = self.below(12);
        (0..length).map(|_| ['a', '\u{e9}', '\u{1f4b0}'][self.below(3)]).collect()
    }

    fn data_type(&mut self, depth: usize) -> DataType {
        let scalars = [
            TypeRoot::Boolean,
            TypeRoot::TinyInt,
            TypeRoot::SmallInt,
            TypeRoot::Int,
            TypeRoot::BigInt,
            TypeRoot::Float,
            TypeRoot::Double,
            TypeRoot::Decimal(9, 2),
            TypeRoot::Decimal(38, 10),
            TEXT,
            TypeRoot::VarBinary(9),
            TypeRoot::Date,
            TypeRoot::Time(3),
            TypeRoot::Timestamp(3),
            TypeRoot::Timestamp(6),
            TypeRoot::LocalZonedTimestamp(9),
            TypeRoot::Variant,
        ];
        let child = |random: &mut Self| Box::new(random.data_type(depth - 1));
        let key = || Box::new(DataType::required(TEXT));
        nullable(match if depth == 0 { 9 } else { self.below(10) } {
            0 => TypeRoot::Array(child(self)),
            1 => TypeRoot::Map(key(), child(self)),
            2 => TypeRoot::Multiset(key()),
            3 => {
                let field = |id: i32| DataField {
                    id,
                    name: format!("f{id}"),
                    data_type: self.data_type(depth - 1),
                    description: None,
                    default_value: None,
                };
                TypeRoot::Row((0..3).map(field).collect())
            }
            _ => scalars[self.below(scalars.len() as u64)].clone(),
        })
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each type")]
    fn column(&mut self, data_type: &DataType, length: usize) -> ArrayRef {
        if !data_type.nullable {
            return match data_type.root {
                TypeRoot::Int => {
                    Arc::new(Int32Array::from_iter_values((0..length).map(|_| 1 + i32::from(self.next() as u8))))
                }
                _ => Arc::new(StringArray::from_iter_values((0..length).map(|_| self.text()))),
            };
        }
        let arrow = data_type.arrow();
        match &data_type.root {
            TypeRoot::Boolean => Arc::new(BooleanArray::from(self.many(length, |r| r.next() & 1 == 1))),
            TypeRoot::TinyInt => Arc::new(Int8Array::from(self.many(length, |r| r.next() as i8))),
            TypeRoot::SmallInt => Arc::new(Int16Array::from(self.many(length, |r| r.next() as i16))),
            TypeRoot::Int => Arc::new(Int32Array::from(self.many(length, |r| r.next() as i32))),
            TypeRoot::BigInt => Arc::new(Int64Array::from(self.many(length, Self::number))),
            TypeRoot::Float => Arc::new(Float32Array::from(self.many(length, |r| r.number() as f32))),
            TypeRoot::Double => Arc::new(Float64Array::from(self.many(length, |r| r.number() as f64))),
            TypeRoot::Decimal(digits, scale) => {
                let limit = 10_i128.pow(u32::from(*digits));
                let values = self.many(length, |r| (i128::from(r.number()) * i128::from(r.number())) % limit);
                Arc::new(Decimal128Array::from(values).with_precision_and_scale(*digits, scale.cast_signed()).unwrap())
            }
            TypeRoot::VarBinary(_) => {
                let values = self.many(length, |r| r.text().into_bytes());
                Arc::new(values.iter().map(|value| value.as_deref()).collect::<BinaryArray>())
            }
            TypeRoot::Date => Arc::new(Date32Array::from(self.many(length, |r| r.next() as i32))),
            TypeRoot::Time(_) => {
                Arc::new(Time32MillisecondArray::from(self.many(length, |r| (r.next() % 86_400_000) as i32)))
            }
            TypeRoot::Timestamp(3) => Arc::new(TimestampMillisecondArray::from(self.many(length, Self::number))),
            TypeRoot::Timestamp(_) => Arc::new(TimestampMicrosecondArray::from(self.many(length, Self::number))),
            TypeRoot::LocalZonedTimestamp(_) => {
                Arc::new(TimestampNanosecondArray::from(self.many(length, Self::number)).with_timezone("UTC"))
            }
            TypeRoot::Array(element) => {
                let (offsets, nulls) = self.lists(length);
                let ArrowType::List(field) = arrow else { unreachable!() };
                let values = self.column(element, *offsets.last().unwrap() as usize);
                Arc::new(ListArray::new(field, offsets, values, nulls))
            }
            TypeRoot::Map(key, value) => self.map(&arrow, key, value, length),
            TypeRoot::Multiset(element) => self.map(&arrow, element, &count_type(), length),
            TypeRoot::Row(fields) => {
                let columns = fields.iter().map(|field| self.column(&field.data_type, length)).collect::<Vec<_>>();
                let nulls: NullBuffer =
                    self.many(length, |_| ()).iter().map(Option::is_some).collect::<Vec<_>>().into();
                let ArrowType::Struct(fields) = arrow else { unreachable!() };
                Arc::new(StructArray::new(fields, columns, Some(nulls)))
            }
            TypeRoot::Variant => {
                let halves: Vec<ArrayRef> = (0..2)
                    .map(|_| Arc::new(BinaryArray::from_iter_values((0..length).map(|_| self.text()))) as ArrayRef)
                    .collect();
                let nulls: NullBuffer =
                    self.many(length, |_| ()).iter().map(Option::is_some).collect::<Vec<_>>().into();
                let ArrowType::Struct(fields) = arrow else { unreachable!() };
                Arc::new(StructArray::new(fields, halves, Some(nulls)))
            }
            _ => Arc::new(StringArray::from(self.many(length, Self::text))),
        }
    }

    fn lists(&mut self, length: usize) -> (OffsetBuffer<i32>, Option<NullBuffer>) {
        let lengths = self.many(length, |r| r.below(40));
        let nulls: NullBuffer = lengths.iter().map(Option::is_some).collect::<Vec<_>>().into();
        (OffsetBuffer::from_lengths(lengths.iter().map(|length| length.unwrap_or_default())), Some(nulls))
    }

    fn map(&mut self, arrow: &ArrowType, key: &DataType, value: &DataType, length: usize) -> ArrayRef {
        let (offsets, nulls) = self.lists(length);
        let entries = *offsets.last().unwrap() as usize;
        let columns = vec![self.column(key, entries), self.column(value, entries)];
        let ArrowType::Map(field, sorted) = arrow else { unreachable!() };
        let ArrowType::Struct(fields) = field.data_type() else { unreachable!() };
        let entries = StructArray::new(fields.clone(), columns, None);
        Arc::new(MapArray::new(Arc::clone(field), offsets, entries, nulls, *sorted))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn encoded_rows_round_trip(seed: u64, fields in 1_usize..5, length in 0_usize..6, from in 0_usize..3) {
        let mut random = Random(seed);
        let types: Vec<DataType> = (0..fields).map(|_| random.data_type(2)).collect();
        let columns: Vec<ArrayRef> = types.iter().map(|t| random.column(t, length + from).slice(from, length)).collect();
        let rows = encode(&columns, &types).unwrap();
        prop_assert!(rows.iter().flatten().all(|row| row.len() % 8 == 0));
        let rows = with_arity(&rows, fields).unwrap();
        let all: Vec<usize> = (0..fields).collect();
        let decoded = decode_columns(&rows, &types, &all).unwrap();
        prop_assert_eq!(&decoded, &columns);
    }

    #[test]
    fn damage_never_panics(seed: u64, flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4), cut in 0_usize..9) {
        let mut random = Random(seed);
        let types: Vec<DataType> = (0..3).map(|_| random.data_type(2)).collect();
        let columns: Vec<ArrayRef> = types.iter().map(|data_type| random.column(data_type, 1)).collect();
        let rows = with_arity(&encode(&columns, &types).unwrap(), 3).unwrap();
        let mut row = rows.value(0).to_vec();
        for (at, byte) in flips {
            let at = at % row.len();
            row[at] ^= byte;
        }
        row.truncate(row.len() - cut);
        let _ = decode(&row, &types);
    }
}

#[test]
fn null_within_an_array_keeps_no_part() {
    let mut builder =
        ListBuilder::new(Int32Builder::new()).with_field(arrow_schema::Field::new("element", ArrowType::Int32, true));
    builder.append_value([Some(1), None, Some(3)]);
    let row = one(builder.finish(), TypeRoot::Array(Box::new(nullable(TypeRoot::Int))));
    let expected = "0000000000000000 1800000010000000 0300000002000000 0100000000000000 0300000000000000";
    assert_eq!(row, hex(expected));
}

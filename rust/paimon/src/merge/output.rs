//! Copies the decided rows of one column out of the held batches.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, BinaryType, ByteArrayType, Utf8Type};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, BooleanArray, GenericByteArray, PrimitiveArray, downcast_primitive,
    new_null_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use frazil_core::error::{Error, Result};

use super::held::Pick;
use super::pending::PendingPart;
use crate::dictionary::{Copy, Texts};

/// The rows to copy: `parts` interleaves single rows and ranges.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) picks: &'a [Pick],
    pub(super) parts: &'a [PendingPart],
    pub(super) len: usize,
}

/// A contiguous stretch of rows.
enum Stretch<'a> {
    Single(&'a [Pick]),
    Range(usize, usize, usize),
}

impl<'a> Rows<'a> {
    fn stretches(self) -> impl Iterator<Item = Stretch<'a>> {
        let mut at = 0;
        self.parts.iter().map(move |part| match *part {
            PendingPart::Rows(count) => {
                let start = at;
                at += count as usize;
                Stretch::Single(self.picks.get(start..at).unwrap_or_default())
            }
            PendingPart::Range { batch, start, len } => {
                Stretch::Range(batch as usize, start as usize, (start as usize).saturating_add(len as usize))
            }
        })
    }
}

/// Copies rows of a column whose batches are `arrays`. String and bytes columns may be dictionary-encoded.
/// [`Pick::NULL`] is NULL.
///
/// # Errors
/// `LimitExceeded` if the strings exceed an Arrow column.
pub(super) fn gather(data_type: &DataType, arrays: &[ArrayRef], rows: Rows<'_>) -> Result<ArrayRef> {
    if let [PendingPart::Range { batch, start, len }] = rows.parts
        && let Some(array) = arrays.get(*batch as usize)
        && array.data_type() == data_type
    {
        return Ok(array.slice(*start as usize, *len as usize));
    }
    macro_rules! primitive {
        ($type:ty) => {
            primitive::<$type>(data_type, arrays, rows)
        };
    }
    downcast_primitive! {
        data_type => (primitive),
        DataType::Utf8 => byte_strings::<Utf8Type>(arrays, rows),
        DataType::Binary => byte_strings::<BinaryType>(arrays, rows),
        DataType::Boolean => booleans(arrays, rows),
        _ => nested(data_type, arrays, rows),
    }
}

fn primitive<T: ArrowPrimitiveType>(data_type: &DataType, arrays: &[ArrayRef], rows: Rows<'_>) -> Result<ArrayRef> {
    let sources: Vec<&[T::Native]> =
        arrays.iter().map(|array| array.as_primitive_opt::<T>().map_or(&[][..], |array| array.values())).collect();
    let mut values: Vec<T::Native> = Vec::with_capacity(rows.len);
    for stretch in rows.stretches() {
        match stretch {
            Stretch::Single(picks) => values.extend(picks.iter().map(|pick| {
                let source = sources.get(pick.batch as usize).copied().unwrap_or_default();
                source.get(pick.row as usize).copied().unwrap_or(T::Native::ZERO)
            })),
            Stretch::Range(batch, start, end) => {
                values.extend_from_slice(
                    sources.get(batch).and_then(|source| source.get(start..end)).unwrap_or_default(),
                );
            }
        }
    }
    let nulls = validity(arrays, rows);
    let array = PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), nulls)?;
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

fn byte_strings<T: ByteArrayType<Offset = i32>>(arrays: &[ArrayRef], rows: Rows<'_>) -> Result<ArrayRef> {
    let sources: Vec<Texts<'_>> = arrays.iter().map(|array| Texts::of::<T>(array).unwrap_or_default()).collect();
    let mean_bytes = sources.iter().map(Texts::mean_bytes).max().unwrap_or(0);
    let mut copy = Copy::with_capacity(rows.len, mean_bytes);
    for stretch in rows.stretches() {
        match stretch {
            Stretch::Single(picks) => {
                for pick in picks {
                    let source = sources.get(pick.batch as usize).copied().unwrap_or_default();
                    copy.push(source.value(pick.row as usize))?;
                }
            }
            Stretch::Range(batch, start, end) => {
                let source = sources.get(batch).copied().unwrap_or_default();
                match source.range(start, end) {
                    Some((offsets, values)) => copy.extend(offsets, values)?,
                    None => (start..end).try_for_each(|row| copy.push(source.value(row)))?,
                }
            }
        }
    }
    let (offsets, values) = copy.finish();
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, values.into(), validity(arrays, rows))?))
}

fn booleans(arrays: &[ArrayRef], rows: Rows<'_>) -> Result<ArrayRef> {
    let sources: Vec<Option<&BooleanBuffer>> =
        arrays.iter().map(|array| array.as_boolean_opt().map(BooleanArray::values)).collect();
    let mut values = BooleanBufferBuilder::new(rows.len);
    for stretch in rows.stretches() {
        match stretch {
            Stretch::Single(picks) => {
                for pick in picks {
                    let source = sources.get(pick.batch as usize).copied().flatten();
                    let row = pick.row as usize;
                    values.append(source.is_some_and(|source| row < source.len() && source.value(row)));
                }
            }
            Stretch::Range(batch, start, end) => {
                if let Some(source) = sources.get(batch).copied().flatten() {
                    values.append_buffer(&source.slice(start, end - start));
                }
            }
        }
    }
    let values = values.finish();
    if values.len() != rows.len {
        return Err(Error::internal("a decided row is not held"));
    }
    Ok(Arc::new(BooleanArray::new(values, validity(arrays, rows))))
}

fn nested(data_type: &DataType, arrays: &[ArrayRef], rows: Rows<'_>) -> Result<ArrayRef> {
    let null = new_null_array(data_type, 1);
    let mut sources: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    sources.push(&null);
    let mut places: Vec<(usize, usize)> = Vec::with_capacity(rows.len);
    for stretch in rows.stretches() {
        match stretch {
            Stretch::Single(picks) => {
                let place = |pick: &Pick| (pick.batch as usize, pick.row as usize);
                let or_null = |pick: &Pick| if pick.is_null() { (arrays.len(), 0) } else { place(pick) };
                places.extend(picks.iter().map(or_null));
            }
            Stretch::Range(batch, start, end) => places.extend((start..end).map(|row| (batch, row))),
        }
    }
    Ok(arrow_select::interleave::interleave(&sources, &places)?)
}

/// Returns the validity of the rows, or None if all are valid.
fn validity(arrays: &[ArrayRef], rows: Rows<'_>) -> Option<NullBuffer> {
    let sources: Vec<Option<&NullBuffer>> =
        arrays.iter().map(|array| array.nulls().filter(|nulls| nulls.null_count() > 0)).collect();
    let holes = rows.picks.iter().fold(false, |holes, pick| holes | pick.is_null());
    if !holes && sources.iter().all(Option::is_none) {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(rows.len);
    for stretch in rows.stretches() {
        match stretch {
            Stretch::Single(picks) => {
                for pick in picks {
                    let row = pick.row as usize;
                    let source = sources.get(pick.batch as usize).copied().flatten();
                    valid
                        .append(!pick.is_null() && source.is_none_or(|nulls| row < nulls.len() && nulls.is_valid(row)));
                }
            }
            Stretch::Range(batch, start, end) => match sources.get(batch).copied().flatten() {
                Some(nulls) => valid.append_buffer(&nulls.inner().slice(start, end - start)),
                None => valid.append_n(end - start, true),
            },
        }
    }
    Some(NullBuffer::new(valid.finish())).filter(|nulls| nulls.null_count() > 0)
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Int32Builder, ListBuilder};
    use arrow_array::{BinaryArray, Decimal128Array, Int64Array, ListArray, StringArray, StructArray};
    use arrow_schema::Field;
    use rstest::rstest;

    use super::*;

    fn some(row: usize) -> Option<i64> {
        (row % 3 != 1).then(|| i64::try_from(row).unwrap())
    }

    fn lists(offset: usize) -> ListArray {
        let mut lists = ListBuilder::new(Int32Builder::new());
        for row in offset..offset + 40 {
            lists.append_option((row % 3 != 1).then(|| vec![Some(1), None, i32::try_from(row).ok()]));
        }
        lists.finish()
    }

    fn array(of: &str, offset: usize) -> ArrayRef {
        let rows = || offset..offset + 40;
        match of {
            "int" => Arc::new(rows().map(some).collect::<Int64Array>()),
            "required" => Arc::new(Int64Array::from_iter_values(rows().map(|row| i64::try_from(row).unwrap()))),
            "decimal" => Arc::new(rows().map(|row| some(row).map(i128::from)).collect::<Decimal128Array>()),
            "text" => Arc::new(
                rows()
                    .map(|row| some(row).map(|n| "\u{e9}".repeat(usize::try_from(n).unwrap() % 5)))
                    .collect::<StringArray>(),
            ),
            "bytes" => Arc::new(
                rows()
                    .map(|row| some(row).map(|n| vec![255_u8; usize::try_from(n).unwrap() % 4]))
                    .collect::<BinaryArray>(),
            ),
            "truth" => Arc::new(rows().map(|row| some(row).map(|n| n % 2 == 0)).collect::<BooleanArray>()),
            "list" => Arc::new(lists(offset)),
            _ => {
                let field = Arc::new(Field::new("x", DataType::Int64, true));
                Arc::new(StructArray::from(vec![(field, array("int", offset))]))
            }
        }
    }

    #[rstest]
    fn dictionaries_give_the_rows_of_their_values(#[values("text", "bytes")] of: &str, #[values(0, 7)] skipped: usize) {
        let plain: Vec<ArrayRef> = [0, 100].iter().map(|&offset| array(of, offset).slice(skipped, 30)).collect();
        let data_type = plain[0].data_type();
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(data_type.clone()));
        let mixed = [arrow_cast::cast(&plain[0], &dictionary).unwrap(), plain[1].clone()];
        let pick = |batch, row| Pick { batch, row };
        let picks = [pick(0, 3), pick(1, 29), Pick::NULL, pick(0, 4), pick(0, 29)];
        let range = |batch, start, len| PendingPart::Range { batch, start, len };
        let parts = [PendingPart::Rows(5), range(0, 5, 25), range(1, 0, 3)];
        let rows = Rows { picks: &picks, parts: &parts, len: 33 };
        assert_eq!(&gather(data_type, &mixed, rows).unwrap(), &gather(data_type, &plain, rows).unwrap());
        let whole = Rows { picks: &[], parts: &[range(0, 5, 25)], len: 25 };
        assert_eq!(&gather(data_type, &mixed, whole).unwrap(), &plain[0].slice(5, 25));
    }

    #[rstest]
    fn rows_match_arrow_interleave(
        #[values("int", "required", "decimal", "text", "bytes", "truth", "list", "row")] of: &str,
        #[values(0, 7)] skipped: usize,
    ) {
        let arrays: Vec<ArrayRef> = [0, 100].iter().map(|&offset| array(of, offset).slice(skipped, 30)).collect();
        let pick = |batch, row| Pick { batch, row };
        let picks = [pick(0, 3), pick(1, 29), Pick::NULL, pick(1, 0), pick(0, 29)];
        let range = |batch, start, len| PendingPart::Range { batch, start, len };
        let parts = [PendingPart::Rows(2), range(1, 5, 25), range(0, 0, 1), PendingPart::Rows(3), range(0, 2, 9)];
        let rows = Rows { picks: &picks, parts: &parts, len: 40 };
        let data_type = arrays[0].data_type();
        let null = new_null_array(data_type, 1);
        let mut places = vec![(0, 3), (1, 29)];
        places.extend((5..30).map(|row| (1, row)));
        places.extend([(0, 0), (2, 0), (1, 0), (0, 29)]);
        places.extend((2..11).map(|row| (0, row)));
        let expected = arrow_select::interleave::interleave(&[&arrays[0], &arrays[1], &null], &places).unwrap();
        assert_eq!(&gather(data_type, &arrays, rows).unwrap(), &expected);
        let whole = Rows { picks: &[], parts: &[range(1, 5, 25)], len: 25 };
        assert_eq!(&gather(data_type, &arrays, whole).unwrap(), &arrays[1].slice(5, 25));
    }
}

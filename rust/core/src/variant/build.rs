//! Builds variant values. Fields and elements are appended first; then a header with their offsets is inserted before
//! them.

use crate::error::{Error, ErrorKind, Result};

/// The version of the metadata, and the flag that its names are sorted.
const VERSION: u8 = 1;
const SORTED: u8 = 0x10;

/// A field of an object under construction, with the offset of its value in the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldEntry<'a> {
    pub(super) name: &'a str,
    pub(super) id: usize,
    pub(super) start: usize,
}

/// Returns the metadata with these names, which are sorted and unique.
pub(super) fn metadata<'a>(names: impl ExactSizeIterator<Item = &'a str> + Clone) -> Result<Vec<u8>> {
    let text: String = names.clone().collect();
    let width = width(text.len().max(names.len()))?;
    let mut out = vec![(width - 1) << 6 | SORTED | VERSION];
    push_number(&mut out, names.len(), width);
    let mut end = 0;
    push_number(&mut out, end, width);
    for name in names {
        end += name.len();
        push_number(&mut out, end, width);
    }
    out.extend(text.bytes());
    Ok(out)
}

/// Appends a primitive: its type id and its bytes.
pub(super) fn primitive(out: &mut Vec<u8>, type_id: u8, bytes: &[u8]) {
    out.push(type_id << 2);
    out.extend_from_slice(bytes);
}

/// Appends a decimal in the width that its precision requires.
pub(super) fn decimal(out: &mut Vec<u8>, unscaled: i128, precision: u8, scale: u8) {
    let (type_id, width) = match precision {
        0..=9 => (8, 4),
        10..=18 => (9, 8),
        _ => (10, 16),
    };
    out.extend([type_id << 2, scale]);
    out.extend(unscaled.to_le_bytes().iter().take(width));
}

/// Appends a string, in the short form if possible.
pub(super) fn string(out: &mut Vec<u8>, text: &str) -> Result<()> {
    match u8::try_from(text.len()) {
        Ok(length @ 0..=63) => {
            out.push(length << 2 | 1);
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
        _ => long_bytes(out, 16, text.as_bytes()),
    }
}

/// Appends bytes with a four-byte length.
pub(super) fn long_bytes(out: &mut Vec<u8>, type_id: u8, bytes: &[u8]) -> Result<()> {
    let Ok(length) = u32::try_from(bytes.len()) else { return Err(too_long(bytes.len())) };
    primitive(out, type_id, &length.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Converts the bytes from `start` to the end of `out` to an array, whose elements begin at `starts`.
pub(super) fn array(out: &mut Vec<u8>, start: usize, starts: &[usize]) -> Result<()> {
    let data_len = out.len() - start;
    let offset_width = width(data_len)?;
    let large = starts.len() > 0xff;
    let type_header = (offset_width - 1) | (u8::from(large) << 2);
    let mut header = vec![type_header << 2 | 3];
    push_count(&mut header, starts.len(), large)?;
    let offsets = starts.iter().map(|at| at - start).chain([data_len]);
    offsets.for_each(|offset| push_number(&mut header, offset, offset_width));
    insert(out, start, &header);
    Ok(())
}

/// Converts the bytes from `start` to the end of `out` to an object of `fields`, and sorts the fields by name.
pub(super) fn object(out: &mut Vec<u8>, start: usize, fields: &mut [FieldEntry]) -> Result<()> {
    fields.sort_unstable_by_key(|field| field.name);
    let data_len = out.len() - start;
    let offset_width = width(data_len)?;
    let id_width = width(fields.iter().map(|field| field.id).max().unwrap_or(0))?;
    let large = fields.len() > 0xff;
    let type_header = (offset_width - 1) | ((id_width - 1) << 2) | (u8::from(large) << 4);
    let mut header = vec![type_header << 2 | 2];
    push_count(&mut header, fields.len(), large)?;
    for field in fields.iter() {
        push_number(&mut header, field.id, id_width);
    }
    let offsets = fields.iter().map(|field| field.start - start).chain([data_len]);
    offsets.for_each(|offset| push_number(&mut header, offset, offset_width));
    insert(out, start, &header);
    Ok(())
}

fn insert(out: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = out.len();
    out.resize(end + bytes.len(), 0);
    out.copy_within(at..end, at + bytes.len());
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Returns the number of bytes that are needed to store a number: one to four.
fn width(number: usize) -> Result<u8> {
    match number {
        0..=0xff => Ok(1),
        0x100..=0xffff => Ok(2),
        0x1_0000..=0xff_ffff => Ok(3),
        _ if u32::try_from(number).is_ok() => Ok(4),
        _ => Err(too_long(number)),
    }
}

fn push_count(out: &mut Vec<u8>, count: usize, large: bool) -> Result<()> {
    width(count)?;
    push_number(out, count, if large { 4 } else { 1 });
    Ok(())
}

fn push_number(out: &mut Vec<u8>, number: usize, width: u8) {
    out.extend((number as u64).to_le_bytes().iter().take(usize::from(width)));
}

fn too_long(length: usize) -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("a variant of {length} bytes is too long"))
}

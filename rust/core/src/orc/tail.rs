//! Checks the tail of an ORC file before a decoder relies on it (ORC specification v1, "File Tail").
//!
//! ```text
//! … stripes … | metadata | footer (compressed in chunks) | postscript | length of the postscript: u8
//! chunk: header, three bytes little-endian = length << 1 | (1 if stored as it is); then the bytes
//! ```
//!
//! Types form a tree that is numbered in pre-order. This numbering is checked, because a tree with other numbers could
//! be cyclic, or could grow exponentially from a few bytes.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use orc_rust::proto::r#type::Kind;
use orc_rust::proto::{ColumnStatistics, CompressionKind, Footer, PostScript, Type};
use prost::Message;

use crate::bytes::Cursor;
use crate::error::{Error, ErrorKind, Result};

const MAGIC: &[u8] = b"ORC";

/// The maximum length of a chunk, whose header has 23 bits for it.
const MAX_CHUNK_BYTES: u64 = 1 << 23;

/// The maximum length of a footer; decompression stops beyond it.
const MAX_FOOTER_BYTES: usize = 256 << 20;

const MAX_DEPTH: usize = 128;

/// The code of the ORC C++ library as a writer.
const WRITER_CPP: u32 = 1;

/// A day in milliseconds, which exceeds the offset of every zone.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The columns of a file, according to its tail.
pub(super) struct Tail {
    /// The columns, with the attributes of their types as metadata.
    pub(super) fields: Fields,
    /// Whether each column can contain a timestamp that orc-rust misreads.
    pub(super) ambiguous: Vec<bool>,
}

/// Reads and checks the tail.
pub(super) fn read(file: &[u8]) -> Result<Tail> {
    let footer = footer(file)?;
    let mut tree = Tree { types: &footer.types, next: 1 };
    let Some(root) = footer.types.first().filter(|root| root.kind() == Kind::Struct) else {
        return Err(Error::corrupt("the root of an ORC file is not a struct"));
    };
    let fields = tree.children(root, 0)?;
    if tree.next != footer.types.len() {
        return Err(Error::corrupt("some ORC types do not belong to any column"));
    }
    let ambiguous = match footer.writer() {
        WRITER_CPP => ambiguous_columns(root, &footer),
        _ => vec![false; fields.len()],
    };
    Ok(Tail { fields, ambiguous })
}

/// Returns for each column of a file of the C++ library whether one of its timestamps, at any level, can be before 1970.
fn ambiguous_columns(root: &Type, footer: &Footer) -> Vec<bool> {
    let starts = root.subtypes.iter().map(|id| usize::try_from(*id).unwrap_or(usize::MAX));
    let starts: Vec<usize> = starts.chain([footer.types.len()]).collect();
    let is_ambiguous = |id: usize| {
        let is_timestamp = |found: &Type| matches!(found.kind(), Kind::Timestamp | Kind::TimestampInstant);
        footer.types.get(id).is_some_and(is_timestamp) && !footer.statistics.get(id).is_some_and(is_after_1970)
    };
    starts.iter().zip(starts.iter().skip(1)).map(|(start, end)| (*start..*end).any(is_ambiguous)).collect()
}

/// Returns whether the statistics exclude timestamps before 1970 in every zone.
fn is_after_1970(statistics: &ColumnStatistics) -> bool {
    let minimum = statistics.timestamp_statistics.as_ref().and_then(|found| found.minimum_utc);
    statistics.number_of_values == Some(0) || minimum.is_some_and(|minimum| minimum >= DAY_MS)
}

fn footer(file: &[u8]) -> Result<Footer> {
    let (Some((&length, rest)), true) = (file.split_last(), file.starts_with(MAGIC)) else {
        return Err(Error::corrupt("not an ORC file"));
    };
    let (rest, postscript) = last(rest, u64::from(length))?;
    let postscript =
        PostScript::decode(postscript).map_err(|error| Error::corrupt("invalid ORC postscript").caused_by(error))?;
    let (rest, footer) = last(rest, postscript.footer_length())?;
    last(rest, postscript.metadata_length())?;
    let chunk_bytes = postscript.compression_block_size.unwrap_or(256 << 10);
    if chunk_bytes > MAX_CHUNK_BYTES {
        return Err(Error::corrupt(format!("ORC compression chunks of {chunk_bytes} bytes are too long")));
    }
    let footer = match postscript.compression() {
        CompressionKind::None => Footer::decode(footer),
        kind => Footer::decode(decompress(footer, kind, usize::try_from(chunk_bytes).unwrap_or(0))?.as_slice()),
    };
    footer.map_err(|error| Error::corrupt("invalid ORC footer").caused_by(error))
}

fn last(bytes: &[u8], length: u64) -> Result<(&[u8], &[u8])> {
    let at = usize::try_from(length).ok().and_then(|length| bytes.len().checked_sub(length));
    at.and_then(|at| bytes.split_at_checked(at)).ok_or_else(|| {
        Error::corrupt(format!(
            "a section in the tail of an ORC file has {length} bytes, but only {} are left",
            bytes.len()
        ))
    })
}

fn decompress(bytes: &[u8], kind: CompressionKind, chunk_bytes: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut cursor = Cursor::new(bytes);
    while !cursor.is_empty() {
        let [a, b, c] = cursor.array()?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let chunk = cursor.take_declared(i64::from(header >> 1))?;
        if header & 1 == 1 {
            out.extend_from_slice(chunk);
        } else {
            decompress_chunk(chunk, kind, chunk_bytes, &mut out)?;
        }
        if out.len() > MAX_FOOTER_BYTES {
            return Err(Error::new(ErrorKind::LimitExceeded, "the footer of an ORC file exceeds 256 MiB"));
        }
    }
    Ok(out)
}

fn decompress_chunk(chunk: &[u8], kind: CompressionKind, limit: usize, out: &mut Vec<u8>) -> Result<()> {
    let failed =
        |error: Box<dyn std::error::Error + Send + Sync>| Error::corrupt("invalid ORC footer chunk").caused_by(error);
    match kind {
        CompressionKind::Zlib => {
            let mut reader = flate2::read::DeflateDecoder::new(chunk).take(limit as u64);
            reader.read_to_end(out).map_err(|error| failed(error.into()))?;
        }
        CompressionKind::Snappy => {
            if snap::raw::decompress_len(chunk).map_err(|error| failed(error.into()))? > limit {
                return Err(Error::corrupt("an ORC footer chunk exceeds the length declared by its file"));
            }
            out.extend(snap::raw::Decoder::new().decompress_vec(chunk).map_err(|error| failed(error.into()))?);
        }
        CompressionKind::Lz4 => {
            out.extend(lz4_flex::block::decompress(chunk, limit).map_err(|error| failed(error.into()))?);
        }
        CompressionKind::Zstd => {
            out.extend(zstd::bulk::decompress(chunk, limit).map_err(|error| failed(error.into()))?);
        }
        CompressionKind::Lzo | CompressionKind::None => {
            return Err(Error::unsupported("LZO compression of ORC files is not supported"));
        }
    }
    Ok(())
}

struct Tree<'a> {
    types: &'a [Type],
    /// The expected number of the next type in pre-order.
    next: usize,
}

impl Tree<'_> {
    fn children(&mut self, parent: &Type, depth: usize) -> Result<Fields> {
        if parent.subtypes.len() != parent.field_names.len() {
            return Err(Error::corrupt("an ORC struct has different numbers of names and fields"));
        }
        let children = parent.subtypes.iter().zip(&parent.field_names);
        children.map(|(id, name)| self.field(*id, name, depth + 1).map(Arc::new)).collect()
    }

    fn field(&mut self, id: u32, name: &str, depth: usize) -> Result<Field> {
        let at = usize::try_from(id).unwrap_or(usize::MAX);
        if at != self.next || depth > MAX_DEPTH {
            return Err(Error::corrupt(
                "the types of an ORC file are not numbered in pre-order, or are nested too deeply",
            ));
        }
        self.next += 1;
        let Some(described) = self.types.get(at) else {
            return Err(Error::corrupt(format!("ORC type {id} is missing")));
        };
        let attributes = described.attributes.iter().map(|pair| (pair.key().to_string(), pair.value().to_string()));
        let attributes: HashMap<_, _> = attributes.collect();
        let data_type = self.data_type(described, depth)?;
        Ok(Field::new(name, data_type, true).with_metadata(attributes))
    }

    fn data_type(&mut self, described: &Type, depth: usize) -> Result<DataType> {
        let Ok(kind) = Kind::try_from(described.kind.unwrap_or_default()) else {
            return Err(Error::unsupported(format!(
                "the ORC type {} is not supported",
                described.kind.unwrap_or_default()
            )));
        };
        Ok(match kind {
            Kind::Boolean => DataType::Boolean,
            Kind::Byte => DataType::Int8,
            Kind::Short => DataType::Int16,
            Kind::Int => DataType::Int32,
            Kind::Long => DataType::Int64,
            Kind::Float => DataType::Float32,
            Kind::Double => DataType::Float64,
            Kind::String | Kind::Varchar | Kind::Char => DataType::Utf8,
            Kind::Binary => DataType::Binary,
            Kind::Date => DataType::Date32,
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::TimestampInstant => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Kind::Decimal => decimal(described.precision(), described.scale())?,
            Kind::Struct => DataType::Struct(self.children(described, depth)?),
            Kind::List => match described.subtypes.as_slice() {
                [element] => DataType::List(Arc::new(self.field(*element, "item", depth + 1)?)),
                _ => return Err(Error::corrupt("an ORC list does not have exactly one element type")),
            },
            Kind::Map => match described.subtypes.as_slice() {
                [key, value] => {
                    let key = self.field(*key, "key", depth + 1)?.with_nullable(false);
                    let fields = Fields::from(vec![key, self.field(*value, "value", depth + 1)?]);
                    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(fields), false)), false)
                }
                _ => return Err(Error::corrupt("an ORC map does not have exactly a key type and a value type")),
            },
            Kind::Union => return Err(Error::unsupported("unions in ORC files are not supported")),
        })
    }
}

fn decimal(precision: u32, scale: u32) -> Result<DataType> {
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(digits @ 1..=38), Ok(point)) if scale <= precision => Ok(DataType::Decimal128(digits, point)),
        _ => Err(Error::corrupt(format!("invalid ORC type decimal({precision}, {scale})"))),
    }
}

//! Reads and writes Puffin files (Puffin spec, "File structure"): blobs of statistics and deletion vectors, described
//! by a footer.
//!
//! ```text
//! file:    magic "PFA1" | blobs ... | footer
//! footer:  magic "PFA1" | payload | payload length: i32 LE | flags: 4 bytes | magic "PFA1"
//! payload: JSON of UTF-8; one LZ4 frame of it when bit 0 of byte 0 of the flags is set
//! ```
//!
//! Deletion vectors are read by the offset and length in their manifest entry, never through the footer: some writers
//! do not write one (see [`crate::deletes::vector`]).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Read, Result as IoResult};
use std::ops::Range;

use frazil_core::bytes::Cursor;
use frazil_core::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// The magic at both ends of the file and before the footer.
pub const MAGIC: [u8; 4] = *b"PFA1";
/// The length of the trailer, which locates the footer: payload length, flags and magic.
pub const TRAILER_BYTES: u64 = 12;
/// The maximum length of a footer, both as stored and decompressed.
pub const FOOTER_MAX_BYTES: usize = 64 << 20;
const FOOTER_COMPRESSED: u8 = 1;
const LZ4_FRAME_MAGIC: u32 = 0x184d_2204;

/// The footer of a Puffin file, which describes its blobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footer {
    /// The blobs, in the order of the footer.
    pub blobs: Vec<BlobMetadata>,
    /// The properties of the file, such as `created-by`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

/// The metadata of one blob (Puffin spec, "BlobMetadata").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BlobMetadata {
    /// The type of the blob; any string. Unknown types should be skipped.
    #[serde(rename = "type")]
    pub blob_type: String,
    /// The field ids from which it was computed.
    pub fields: Vec<i32>,
    /// The snapshot from which it was computed; -1 if the blob inherits the snapshot of its commit.
    pub snapshot_id: i64,
    /// The sequence number of that snapshot; -1 if the blob inherits the sequence number of its commit.
    pub sequence_number: i64,
    /// The offset in the file.
    pub offset: u64,
    /// The length in the file.
    pub length: u64,
    /// The compression codec, `lz4` or `zstd`; None if the blob is not compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression_codec: Option<String>,
    /// The properties of the blob, such as `ndv`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

/// Returns the byte range of the footer, from magic to magic, given the last [`TRAILER_BYTES`] of a file of
/// `file_bytes`.
///
/// # Errors
/// `CorruptData` if the magic is wrong or the footer does not fit in the file; `LimitExceeded` above
/// [`FOOTER_MAX_BYTES`].
pub fn footer_range(trailer: &[u8], file_bytes: u64) -> Result<Range<u64>> {
    let mut cursor = Cursor::new(trailer);
    let payload_bytes = cursor.le_i32()?;
    cursor.take(4)?;
    expect_magic(&mut cursor, "at the end of the file")?;
    let Ok(payload_bytes) = u64::try_from(payload_bytes) else {
        return Err(Error::corrupt(format!("the footer length {payload_bytes} is negative")));
    };
    // The file starts with a magic as well.
    let Some(start) = file_bytes.checked_sub(TRAILER_BYTES + payload_bytes + 4).filter(|start| *start >= 4) else {
        return Err(Error::corrupt(format!("a footer of {payload_bytes} bytes does not fit in {file_bytes} bytes")));
    };
    if payload_bytes > FOOTER_MAX_BYTES as u64 {
        return Err(over_limit("the footer", FOOTER_MAX_BYTES));
    }
    Ok(start..file_bytes)
}

impl Footer {
    /// Parses a footer, whose bytes from magic to magic are `footer` and which starts at offset `start` of its file.
    ///
    /// # Errors
    /// `CorruptData` for an invalid footer, and for blobs outside `4..start`; `Unsupported` for unknown flags;
    /// `LimitExceeded` if it is longer than [`FOOTER_MAX_BYTES`].
    pub fn parse(footer: &[u8], start: u64) -> Result<Self> {
        let mut cursor = Cursor::new(footer);
        expect_magic(&mut cursor, "before the footer")?;
        let Some(payload_bytes) = cursor.remaining().checked_sub(12) else {
            return Err(cursor.error(format_args!("the footer is truncated")));
        };
        let payload = cursor.take(payload_bytes)?;
        if usize::try_from(cursor.le_i32()?).ok() != Some(payload_bytes) {
            return Err(cursor.error(format_args!("the length of the footer does not match its declared length")));
        }
        let flags = cursor.array::<4>()?;
        expect_magic(&mut cursor, "at the end of the file")?;
        let payload = match flags {
            [0, 0, 0, 0] => Cow::Borrowed(payload),
            [FOOTER_COMPRESSED, 0, 0, 0] => Cow::Owned(unpack_lz4(payload, FOOTER_MAX_BYTES)?),
            _ => return Err(Error::unsupported(format!("unknown flags {flags:?} in a Puffin footer"))),
        };
        let footer: Self = serde_json::from_slice(&payload)
            .map_err(|error| Error::corrupt("the Puffin footer is not valid JSON").caused_by(error))?;
        for blob in &footer.blobs {
            let fits = blob.offset >= 4 && blob.offset.checked_add(blob.length).is_some_and(|end| end <= start);
            if !fits {
                return Err(Error::corrupt(format!(
                    "a blob of {} bytes at {} is not before the footer at {start}",
                    blob.length, blob.offset
                )));
            }
        }
        Ok(footer)
    }

    /// Returns the footer of a complete file.
    ///
    /// # Errors
    /// See [`footer_range`] and [`Footer::parse`]; `CorruptData` if the file does not start with the magic.
    pub fn of_file(file: &[u8]) -> Result<Self> {
        expect_magic(&mut Cursor::new(file), "at the start of the file")?;
        let trailer =
            file.last_chunk::<12>().ok_or_else(|| Error::corrupt("the file is too short to have a footer"))?;
        let range = footer_range(trailer, file.len() as u64)?;
        let footer = usize::try_from(range.start).ok().and_then(|start| file.get(start..)).unwrap_or_default();
        Self::parse(footer, range.start)
    }
}

impl BlobMetadata {
    /// Returns the decompressed bytes of the blob, given its stored bytes.
    ///
    /// # Errors
    /// `LimitExceeded` above `limit_bytes`, `CorruptData` if decompression fails, `Unsupported` for unknown codecs.
    pub fn unpack<'a>(&self, stored: &'a [u8], limit_bytes: usize) -> Result<Cow<'a, [u8]>> {
        if stored.len() as u64 != self.length {
            return Err(Error::corrupt(format!("got {} bytes of a blob of {}", stored.len(), self.length)));
        }
        match self.compression_codec.as_deref() {
            None if stored.len() > limit_bytes => Err(over_limit("the blob", limit_bytes)),
            None => Ok(Cow::Borrowed(stored)),
            Some("lz4") => unpack_lz4(stored, limit_bytes).map(Cow::Owned),
            Some("zstd") => unpack_zstd(stored, limit_bytes).map(Cow::Owned),
            Some(codec) => Err(Error::unsupported(format!("Puffin blobs with the codec {codec:?} are not supported"))),
        }
    }
}

/// A writer that builds a Puffin file in memory, with uncompressed blobs and footer.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    footer: Footer,
}

impl Writer {
    /// Creates a writer for a file with these properties and no blobs.
    pub fn new(properties: BTreeMap<String, String>) -> Self {
        Self { bytes: MAGIC.to_vec(), footer: Footer { blobs: Vec::new(), properties } }
    }

    /// Appends a blob and returns its byte range. Sets `offset`, `length` and `compression_codec` of `metadata`.
    pub fn add(&mut self, mut metadata: BlobMetadata, blob: &[u8]) -> Range<u64> {
        metadata.offset = self.bytes.len() as u64;
        metadata.length = blob.len() as u64;
        metadata.compression_codec = None;
        let range = metadata.offset..metadata.offset + metadata.length;
        self.bytes.extend_from_slice(blob);
        self.footer.blobs.push(metadata);
        range
    }

    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// `LimitExceeded` if the footer is longer than [`FOOTER_MAX_BYTES`].
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let payload = serde_json::to_vec(&self.footer)
            .map_err(|error| Error::internal("a Puffin footer cannot be written").caused_by(error))?;
        let length = i32::try_from(payload.len()).ok().filter(|_| payload.len() <= FOOTER_MAX_BYTES);
        let length = length.ok_or_else(|| over_limit("the footer", FOOTER_MAX_BYTES))?;
        self.bytes.extend(MAGIC);
        self.bytes.extend(payload);
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend(MAGIC);
        Ok(self.bytes)
    }
}

fn expect_magic(cursor: &mut Cursor<'_>, place: &str) -> Result<()> {
    if cursor.array()? != MAGIC {
        return Err(cursor.error(format_args!("no Puffin magic {place}")));
    }
    Ok(())
}

/// Decompresses one LZ4 frame, which must declare the length of its content (Puffin spec, "Compression codecs").
fn unpack_lz4(stored: &[u8], limit_bytes: usize) -> Result<Vec<u8>> {
    let mut header = Cursor::new(stored);
    let magic = header.le_u32()?;
    let [flags, _block_size] = header.array()?;
    if magic != LZ4_FRAME_MAGIC || flags & 0b1000 == 0 {
        return Err(Error::corrupt("expected an LZ4 frame that declares the length of its content"));
    }
    let declared = header.le_u64()?;
    let Some(declared) = usize::try_from(declared).ok().filter(|declared| *declared <= limit_bytes) else {
        return Err(over_limit("an LZ4 frame", limit_bytes));
    };
    let mut rest = stored;
    let content = read_at_most(lz4_flex::frame::FrameDecoder::new(&mut rest), declared)
        .map_err(|error| Error::corrupt("an LZ4 frame cannot be decompressed").caused_by(error))?;
    // The decoder accepts truncated input as the end of a frame, so the end mark and the checksum are checked here.
    let tail_bytes = if flags & 0b100 == 0 { 4 } else { 8 };
    let tail = stored.len().checked_sub(tail_bytes).and_then(|at| stored.get(at..)).unwrap_or_default();
    if content.len() != declared || !rest.is_empty() || !tail.starts_with(&[0; 4]) {
        return Err(Error::corrupt(format!("an LZ4 frame does not hold the {declared} bytes that it declares")));
    }
    Ok(content)
}

fn unpack_zstd(stored: &[u8], limit_bytes: usize) -> Result<Vec<u8>> {
    let corrupt = |error| Error::corrupt("a zstd frame cannot be decompressed").caused_by(error);
    let decoder = zstd::stream::read::Decoder::with_buffer(stored).map_err(corrupt)?.single_frame();
    let content = read_at_most(decoder, limit_bytes).map_err(corrupt)?;
    if content.len() > limit_bytes {
        return Err(over_limit("a zstd frame", limit_bytes));
    }
    Ok(content)
}

/// Reads to the end, or up to one byte more than `limit_bytes`.
fn read_at_most(reader: impl Read, limit_bytes: usize) -> IoResult<Vec<u8>> {
    let mut content = Vec::new();
    reader.take(limit_bytes as u64 + 1).read_to_end(&mut content)?;
    Ok(content)
}

fn over_limit(what: &str, limit_bytes: usize) -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("{what} exceeds {limit_bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn blob(blob_type: &str, field: i32) -> BlobMetadata {
        BlobMetadata {
            blob_type: blob_type.to_owned(),
            fields: vec![field],
            snapshot_id: 2,
            sequence_number: 1,
            offset: 0,
            length: 0,
            compression_codec: None,
            properties: BTreeMap::new(),
        }
    }

    fn two_blobs() -> Vec<u8> {
        let mut writer = Writer::new(BTreeMap::from([("created-by".to_owned(), "Test 1234".to_owned())]));
        assert_eq!(writer.add(blob("some-blob", 1), b"abcdefghi"), 4..13);
        assert_eq!(writer.add(blob("some-other-blob", 2), &[7; 83]), 13..96);
        writer.finish().unwrap()
    }

    fn file(payload: &[u8], flags: [u8; 4]) -> Vec<u8> {
        let length = i32::try_from(payload.len()).unwrap().to_le_bytes();
        [b"PFA1PFA1", payload, &length, &flags, b"PFA1"].concat()
    }

    fn lz4(content: &[u8], declare: bool) -> Vec<u8> {
        let info = lz4_flex::frame::FrameInfo::new().content_size(declare.then_some(content.len() as u64));
        let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_empty_file_of_the_reference_writer() {
        let bytes = [&b"PFA1PFA1{\"blobs\":[]}"[..], &[12, 0, 0, 0, 0, 0, 0, 0], b"PFA1"].concat();
        assert_eq!(Writer::new(BTreeMap::new()).finish().unwrap(), bytes);
        assert_eq!(Footer::of_file(&bytes).unwrap(), Footer::default());
    }

    #[test]
    fn blobs_are_described_in_the_order_and_words_of_the_reference_writer() {
        let bytes = two_blobs();
        let json = r#"{"blobs":[{"type":"some-blob","fields":[1],"snapshot-id":2,"sequence-number":1,"offset":4,"length":9},{"type":"some-other-blob","fields":[2],"snapshot-id":2,"sequence-number":1,"offset":13,"length":83}],"properties":{"created-by":"Test 1234"}}"#;
        assert_eq!(&bytes[96..100], MAGIC);
        assert_eq!(&bytes[100..bytes.len() - 12], json.as_bytes());
        let footer = Footer::of_file(&bytes).unwrap();
        assert_eq!(footer.blobs[1].unpack(&bytes[13..96], 100).unwrap(), [7; 83].as_slice());
        assert_eq!(footer.blobs[1].unpack(&bytes[13..96], 82).unwrap_err().kind(), ErrorKind::LimitExceeded);
        assert!(footer.blobs[1].unpack(&bytes[13..95], 100).is_err());
    }

    #[test]
    fn a_compressed_footer_is_read() {
        let json = br#"{"blobs":[],"properties":{"a":"b"}}"#;
        let footer = Footer::of_file(&file(&lz4(json, true), [1, 0, 0, 0])).unwrap();
        assert_eq!(footer.properties["a"], "b");
        assert!(Footer::of_file(&file(&lz4(json, false), [1, 0, 0, 0])).is_err());
        assert!(Footer::of_file(&file(json, [1, 0, 0, 0])).is_err());
    }

    #[test]
    fn a_footer_that_cannot_be_meant_is_refused() {
        let blob = |offset: &str, length: &str| {
            let blob =
                r#"{"blobs":[{"type":"t","fields":[],"snapshot-id":1,"sequence-number":1,"offset":OO,"length":LL}]}"#;
            file(blob.replace("OO", offset).replace("LL", length).as_bytes(), [0; 4])
        };
        let mut lies = two_blobs();
        let at = lies.len() - 12;
        lies[at..at + 4].copy_from_slice(&0x7fff_fff0_u32.to_le_bytes());
        let mut negative = lies.clone();
        negative[at..at + 4].copy_from_slice(&(-1_i32).to_le_bytes());
        let mut garbage = two_blobs();
        garbage[100..116].fill(0xff);
        let mut shorter = two_blobs();
        let length = shorter[at] - 1;
        shorter[at] = length;
        let cases = [
            ("nothing", vec![]),
            ("magic only", b"PFA1".to_vec()),
            ("no footer", b"PFA1xxxxxxxxPFA1".to_vec()),
            ("length lies (X21)", lies),
            ("length is negative", negative),
            ("length is one too short", shorter),
            ("garbage (X22)", garbage),
            ("cut", two_blobs()[..200].to_vec()),
            ("no start magic", two_blobs()[1..].to_vec()),
            ("no JSON object", file(b"[]", [0; 4])),
            ("nested without end", file(&[b'['; 5000], [0; 4])),
            ("blob in the magic", blob("3", "0")),
            ("blob in the footer", blob("4", "1")),
            ("blob that wraps", blob("18446744073709551615", "2")),
            ("blob before the file", blob("-1", "2")),
        ];
        for (what, bytes) in cases {
            assert_eq!(Footer::of_file(&bytes).expect_err(what).kind(), ErrorKind::CorruptData, "{what}");
        }
        assert!(Footer::of_file(&blob("4", "0")).is_ok());
        assert_eq!(Footer::of_file(&file(b"{\"blobs\":[]}", [2, 0, 0, 0])).unwrap_err().kind(), ErrorKind::Unsupported);
        let long = footer_range(&[&[0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0][..], b"PFA1"].concat(), 1 << 40);
        assert_eq!(long.unwrap_err().kind(), ErrorKind::LimitExceeded);
    }

    #[test]
    fn blobs_decompress_up_to_the_limit() {
        let content = vec![7; 100_000];
        let zstd = zstd::encode_all(content.as_slice(), 1).unwrap();
        for (codec, stored) in [("lz4", lz4(&content, true)), ("zstd", zstd)] {
            let mut blob = blob("t", 1);
            blob.compression_codec = Some(codec.to_owned());
            blob.length = stored.len() as u64;
            assert_eq!(blob.unpack(&stored, 100_000).unwrap(), content, "{codec}");
            assert_eq!(blob.unpack(&stored, 99_999).unwrap_err().kind(), ErrorKind::LimitExceeded, "{codec}");
            for cut in 0..stored.len() {
                blob.length = cut as u64;
                assert!(blob.unpack(&stored[..cut], 100_000).is_err(), "{codec} cut at {cut}");
            }
            blob.compression_codec = Some("brotli".to_owned());
            assert_eq!(blob.unpack(&stored[..stored.len() - 1], 1).unwrap_err().kind(), ErrorKind::Unsupported);
        }
    }
}

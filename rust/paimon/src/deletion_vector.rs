//! Reads and writes deletion vectors (spec: "Table Index", "Deletion Vectors"), which record the deleted rows of one data file.
//!
//! ```text
//! file:    version: u8 = 1 | vector ...
//! vector:  size: i32 BE | data: size bytes | CRC-32 of data: u32 BE
//! data:    v1  magic: 5e 43 f2 d0 (1581511376 BE) | 32-bit portable roaring bitmap
//!          v2  magic: d1 d3 39 64 (1681511377 LE) | 64-bit portable roaring bitmap
//! ```
//!
//! The index manifest records the offset of the size field in the file, and a length: that of the data in v1 (8 bytes
//! less than the vector), that of the whole vector in v2. Positions are those of the rows in the data file, before any
//! filter.

use bytes::Bytes;
use frazil_core::bitmap::Positions;
use frazil_core::bytes::Cursor;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::Files;

use crate::spec::data_file_meta::DeletionFile;
use crate::spec::index_manifest::DeletionRange;

const FILE_VERSION: u8 = 1;
const MAGIC_32: [u8; 4] = 1_581_511_376_u32.to_be_bytes();
const MAGIC_64: [u8; 4] = 1_681_511_377_u32.to_le_bytes();
/// The number of bytes of the frame: the size before the data and the checksum after the data.
const FRAME_BYTES: u64 = 8;

/// Reads the deletion vector of a data file. One request suffices for v1 vectors and for vectors that another vector
/// follows; otherwise a second request is needed.
///
/// # Errors
/// `CorruptDeletes` for an invalid vector, or if the number of positions is not the recorded one; `Unsupported` for an
/// unknown version of the file; the errors of [`Files::read_ranges`]. All name the file.
pub fn read(files: &Files, deletion: &DeletionFile) -> Result<Positions> {
    let place = |error: Error| {
        error.corrupt_as(ErrorKind::CorruptDeletes).with("file", &deletion.path).with("offset", deletion.offset)
    };
    let (start, length) = range(deletion).map_err(place)?;
    // Only the vector records its version, and the version determines whether the length includes the frame. The longer
    // range is tried first.
    let parts = match files.read_ranges(&deletion.path, &[0..1, start..start + length + FRAME_BYTES]) {
        Err(error) if error.kind() == ErrorKind::CorruptData => {
            files.read_ranges(&deletion.path, &[0..1, start..start + length])
        }
        other => other,
    };
    let parts = parts.map_err(place)?;
    let [version, content] = parts.as_slice() else {
        return Err(Error::internal("the storage returned an unexpected number of ranges").with("file", &deletion.path));
    };
    match version.first() {
        Some(&FILE_VERSION) => {}
        found => {
            let version = found.copied().unwrap_or_default();
            return Err(place(Error::unsupported(format!(
                "version {version} of deletion vector files is not supported"
            ))));
        }
    }
    let vector = vector_of(content, length).map_err(place)?;
    let positions = decode(vector).map_err(place)?;
    match deletion.cardinality {
        Some(count) if u64::try_from(count) != Ok(positions.len()) => Err(place(Error::corrupt(format!(
            "a deletion vector has {} positions, but {count} are recorded",
            positions.len()
        )))),
        _ => Ok(positions),
    }
}

/// Returns the positions of a vector that spans all of `bytes`: size, data and checksum.
///
/// # Errors
/// `CorruptDeletes` for an invalid size, magic, checksum or bitmap.
pub fn decode(bytes: &[u8]) -> Result<Positions> {
    decode_frame(bytes).map_err(|error| error.corrupt_as(ErrorKind::CorruptDeletes))
}

/// An index file of deletion vectors under construction.
#[derive(Debug)]
pub(crate) struct VectorFile {
    bytes: Vec<u8>,
    /// Whether bitmaps have 64 bits (`deletion-vectors.bitmap64`).
    is_wide: bool,
    ranges: Vec<DeletionRange>,
}

impl VectorFile {
    /// Begins a file.
    pub(crate) fn new(is_wide: bool) -> Self {
        Self { bytes: vec![FILE_VERSION], is_wide, ranges: Vec::new() }
    }

    /// Adds the deleted rows of a data file.
    ///
    /// # Errors
    /// `LimitExceeded` for a file of more than 2 GiB, and for positions that the bitmap does not hold.
    pub(crate) fn push(&mut self, data_file: &str, deleted: &Positions) -> Result<()> {
        let too_long = || Error::new(ErrorKind::LimitExceeded, "deletion vectors exceed 2 GiB").with("file", data_file);
        let (magic, bitmap) = if self.is_wide {
            (MAGIC_64, deleted.encode_portable64()?)
        } else {
            (MAGIC_32, deleted.encode_portable32()?)
        };
        let data = [&magic[..], &bitmap].concat();
        let offset = i32::try_from(self.bytes.len()).map_err(|_| too_long())?;
        let size = i32::try_from(data.len()).map_err(|_| too_long())?;
        let frame = if self.is_wide { FRAME_BYTES } else { 0 };
        let length = i32::try_from(data.len() as u64 + frame).map_err(|_| too_long())?;
        self.bytes.extend(size.to_be_bytes());
        self.bytes.extend(&data);
        self.bytes.extend(crc32fast::hash(&data).to_be_bytes());
        let cardinality = i64::try_from(deleted.len()).ok();
        self.ranges.push(DeletionRange { data_file: data_file.to_string(), offset, length, cardinality });
        Ok(())
    }

    /// Returns the content of the file and the places of its vectors.
    pub(crate) fn finish(self) -> (Bytes, Vec<DeletionRange>) {
        (self.bytes.into(), self.ranges)
    }
}

fn decode_frame(bytes: &[u8]) -> Result<Positions> {
    let mut cursor = Cursor::new(bytes);
    let size = cursor.be_i32()?;
    let data = cursor.take_declared(i64::from(size))?;
    let expected = cursor.be_u32()?;
    if !cursor.is_empty() {
        return Err(cursor.error(format_args!("{} bytes left over after a deletion vector", cursor.remaining())));
    }
    let magic = data.first_chunk::<4>();
    if !matches!(magic, Some(&MAGIC_32 | &MAGIC_64)) {
        return Err(Error::corrupt("the bytes do not start with the magic number of a deletion vector"));
    }
    let actual = crc32fast::hash(data);
    if actual != expected {
        return Err(Error::corrupt(format!(
            "the checksum of a deletion vector is {actual:08x}, but {expected:08x} is recorded"
        )));
    }
    let bitmap = data.get(MAGIC_32.len()..).unwrap_or_default();
    if magic == Some(&MAGIC_32) { Positions::decode_portable32(bitmap) } else { Positions::decode_portable64(bitmap) }
}

/// Returns the start of a vector and its recorded length.
fn range(deletion: &DeletionFile) -> Result<(u64, u64)> {
    let (offset, length) = (u64::try_from(deletion.offset), u64::try_from(deletion.length));
    match (offset, length) {
        // Java writes offsets and lengths as i32.
        (Ok(offset @ 1..), Ok(length @ 4..)) if u32::try_from(offset.max(length)).is_ok() => Ok((offset, length)),
        _ => Err(Error::corrupt(format!("invalid length of a deletion vector: {} bytes", deletion.length))),
    }
}

/// Returns the bytes of the vector from the bytes read, after checking its recorded length.
fn vector_of(content: &[u8], length: u64) -> Result<&[u8]> {
    let mut cursor = Cursor::new(content);
    let size = u64::from(cursor.be_u32()?);
    let counts_frame = cursor.array::<4>()? == MAGIC_64;
    let recorded = if counts_frame { size + FRAME_BYTES } else { size };
    if recorded != length {
        return Err(Error::corrupt(format!("a deletion vector has {size} bytes of data, but {length} are recorded")));
    }
    let end = usize::try_from(size + FRAME_BYTES).unwrap_or(usize::MAX);
    content.get(..end).ok_or_else(|| Error::corrupt("a deletion vector exceeds the end of its file"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frazil_core::storage::{MemoryStorage, Storage};
    use rstest::rstest;

    use super::*;

    /// Files from the Java project: {2, 3} and {1}.
    const FILE_32: &str = "01 00000018 5e43f2d0 3a300000 01000000 00000100 10000000 02000300 c898f63d
                              00000016 5e43f2d0 3a300000 01000000 00000000 10000000 0100 fa2b5192";
    const FILE_64: &str = "01 00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 00000100 10000000 02000300 7a813847
                              00000022 d1d33964 0100000000000000 00000000 3a300000 01000000 00000000 10000000 0100 eebd85f4";

    fn hex(text: &str) -> Vec<u8> {
        let digits: String = text.split_whitespace().collect();
        (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
    }

    fn at(offset: i64, length: i64, cardinality: Option<i64>) -> DeletionFile {
        DeletionFile { path: "memory://m/t/index/index-0".into(), offset, length, cardinality }
    }

    fn read_from(content: &[u8], deletion: &DeletionFile) -> Result<Vec<u64>> {
        let storage = MemoryStorage::default();
        storage.put(&deletion.path, Bytes::copy_from_slice(content)).unwrap();
        let files = Files::below(Arc::new(storage), "memory://m/t").unwrap();
        read(&files, deletion).map(|positions| positions.iter().collect())
    }

    #[rstest]
    #[case(FILE_32, 1, 24, vec![2, 3])]
    #[case(FILE_32, 33, 22, vec![1])]
    #[case(FILE_64, 1, 44, vec![2, 3])]
    #[case(FILE_64, 45, 42, vec![1])]
    fn vectors_of_both_versions_are_read(
        #[case] file: &str,
        #[case] offset: i64,
        #[case] length: i64,
        #[case] expected: Vec<u64>,
    ) {
        let count = i64::try_from(expected.len()).unwrap();
        for cardinality in [None, Some(count)] {
            assert_eq!(read_from(&hex(file), &at(offset, length, cardinality)).unwrap(), expected);
        }
        for wrong in [at(offset, length, Some(count + 1)), at(offset, length, Some(-1))] {
            assert_eq!(read_from(&hex(file), &wrong).unwrap_err().kind(), ErrorKind::CorruptDeletes);
        }
    }

    #[rstest]
    #[case(FILE_32, false)]
    #[case(FILE_64, true)]
    fn files_are_written_as_java_writes_them(#[case] file: &str, #[case] is_wide: bool) {
        let mut written = VectorFile::new(is_wide);
        for (name, deleted) in [("a", &[2_i64, 3][..]), ("b", &[1])] {
            let mut positions = Positions::new();
            positions.insert_all(deleted).unwrap();
            written.push(name, &positions).unwrap();
        }
        let (content, ranges) = written.finish();
        assert_eq!(content, hex(file));
        let read = ranges.iter().map(|range| {
            let place = at(range.offset.into(), range.length.into(), range.cardinality);
            (range.data_file.as_str(), read_from(&content, &place).unwrap())
        });
        assert_eq!(read.collect::<Vec<_>>(), [("a", vec![2, 3]), ("b", vec![1])]);
    }

    #[test]
    fn large_vectors_are_read_back() {
        let mut positions = Positions::new();
        positions.insert_all(&(0..200_000).chain([1 << 31, 4_294_967_295]).collect::<Vec<i64>>()).unwrap();
        let mut written = VectorFile::new(false);
        written.push("a", &positions).unwrap();
        let (content, ranges) = written.finish();
        let found = read_from(&content, &at(1, ranges[0].length.into(), ranges[0].cardinality)).unwrap();
        assert_eq!(found, positions.iter().collect::<Vec<u64>>());
        positions.insert(1 << 32).unwrap();
        assert_eq!(VectorFile::new(false).push("a", &positions).unwrap_err().kind(), ErrorKind::LimitExceeded);
        VectorFile::new(true).push("a", &positions).unwrap();
    }

    #[test]
    fn a_place_that_holds_no_such_vector_is_refused() {
        let lengths = [i64::MIN, -1, 0, 3, 4, 16, 23, 32, 43, 45, 52, 1 << 31, i64::MAX];
        for file in [FILE_32, FILE_64].map(hex) {
            for offset in [-1, 0, 1, 2, 33, 45, 80, 200, i64::MAX] {
                for length in lengths {
                    let error = read_from(&file, &at(offset, length, None)).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::CorruptDeletes, "{offset} {length}");
                    assert!(error.to_string().contains("index-0"), "{error}");
                }
            }
        }
    }

    #[test]
    fn another_version_of_the_file_is_named() {
        let error = read_from(&hex(&FILE_32.replacen("01", "7e", 1)), &at(1, 24, None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("version 126"), "{error}");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        for (file, offset, length) in [(FILE_32, 33, 22), (FILE_64, 45, 42)] {
            let file = hex(file);
            let start = usize::try_from(offset).unwrap();
            for bit in 0..8 * (file.len() - start) {
                let mut damaged = file.clone();
                damaged[start + bit / 8] ^= 1 << (bit % 8);
                let error = read_from(&damaged, &at(offset, length, None)).expect_err("a flipped bit");
                assert_eq!(error.kind(), ErrorKind::CorruptDeletes, "{bit}");
                assert!(decode(&damaged[start..]).is_err(), "{bit}");
            }
            for end in start..file.len() {
                let error = read_from(&file[..end], &at(offset, length, None)).expect_err("a cut file");
                assert_eq!(error.kind(), ErrorKind::CorruptDeletes, "{end}");
                assert!(decode(&file[start..end]).is_err());
            }
            assert!(decode(&file[start..]).is_ok());
            assert!(decode(&[&file[start..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn a_nonexistent_file_is_reported_as_missing() {
        let files = Files::below(Arc::new(MemoryStorage::default()), "memory://m/t").unwrap();
        assert_eq!(read(&files, &at(1, 24, None)).unwrap_err().kind(), ErrorKind::MissingFile);
    }
}

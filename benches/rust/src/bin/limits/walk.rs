//! Decompresses manifests with libdeflate, and decodes every field of every entry to columns.
//!
//! The fields must be those of the tables of `benches/tables`, in the order in which Java writes them. Other manifests
//! are decoded incorrectly.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use crate::measure::{cpu_time, print};

const PASSES: usize = 3;
const SYNC_BYTES: usize = 16;
/// The columns whose bounds are decoded.
const BOUNDED: [i64; 2] = [1, 3];

/// Decodes manifests and prints the time, without reading the files.
pub(crate) fn walk(paths: &[&str]) -> ExitCode {
    let files: Vec<PathBuf> = paths.iter().flat_map(|path| manifests(Path::new(path))).collect();
    if files.is_empty() {
        eprintln!("no manifests in {}", paths.join(", "));
        return ExitCode::FAILURE;
    }
    let mut best: Option<Duration> = None;
    let mut entries = 0;
    for _ in 0..PASSES {
        let mut columns = Columns::default();
        let mut time = Duration::ZERO;
        for file in &files {
            let bytes = std::fs::read(file).expect("a manifest must be readable");
            let start = cpu_time();
            walk_file(&bytes, &mut columns);
            time += cpu_time().saturating_sub(start);
        }
        entries = columns.ends.len();
        assert!(entries == columns.rows.len() && entries == columns.upper[1].len());
        std::hint::black_box(&columns);
        best = Some(best.map_or(time, |best| best.min(time)));
    }
    print("walk", best.unwrap_or_default(), entries as u64);
    ExitCode::SUCCESS
}

/// Returns the manifests of a table, identified by the partition spec in their header, or the file at `path`.
fn manifests(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let folder = std::fs::read_dir(path.join("metadata")).expect("a table must have a metadata folder");
    let files = folder.map(|entry| entry.expect("a folder must be listable").path());
    let avro = files.filter(|file| file.extension().is_some_and(|end| end == "avro"));
    let mut found: Vec<PathBuf> = avro
        .filter(|file| {
            let bytes = std::fs::read(file).expect("a file must be readable");
            Header::read(&mut Cursor { bytes: &bytes, at: 0 }).partition_fields.is_some()
        })
        .collect();
    found.sort();
    found
}

/// The decoded columns of entries.
#[derive(Default)]
struct Columns {
    paths: Vec<u8>,
    ends: Vec<usize>,
    partitions: [Vec<i32>; 2],
    rows: Vec<i64>,
    bytes: Vec<i64>,
    lower: [Vec<i64>; 2],
    upper: [Vec<i64>; 2],
    /// The sum of the values that are not stored.
    sum: i64,
}

/// The properties in the header of a manifest.
struct Header {
    deflated: bool,
    version_3: bool,
    /// The number of partition fields; `None` for a manifest list.
    partition_fields: Option<usize>,
}

impl Header {
    fn read(cursor: &mut Cursor<'_>) -> Self {
        cursor.at = b"Obj\x01".len();
        let mut header = Self { deflated: false, version_3: false, partition_fields: None };
        cursor.items(|cursor| {
            let (key, value) = (cursor.bytes(), cursor.bytes());
            match key {
                b"avro.codec" => header.deflated = value == b"deflate",
                b"format-version" => header.version_3 = value == b"3",
                b"partition-spec" => {
                    let text = String::from_utf8_lossy(value);
                    header.partition_fields = Some(text.matches("\"transform\"").count());
                }
                _ => {}
            }
        });
        cursor.at += SYNC_BYTES;
        header
    }
}

fn walk_file(bytes: &[u8], columns: &mut Columns) {
    blocks(bytes, |header, count, block| {
        let mut cursor = Cursor { bytes: block, at: 0 };
        for _ in 0..count {
            walk_entry(&mut cursor, header, columns);
        }
    });
}

/// Decompresses manifests and compresses them again, at Java's level or another one, and prints the time.
pub(crate) fn repack(level: &str, paths: &[&str]) -> ExitCode {
    let level = level.parse().ok().and_then(|level| CompressionLvl::new(level).ok()).expect("a level");
    let mut deflate = Compressor::new(level);
    let mut room = Vec::new();
    let (mut time, mut size) = (Duration::ZERO, 0);
    for file in paths.iter().flat_map(|path| manifests(Path::new(path))) {
        let bytes = std::fs::read(file).expect("a manifest must be readable");
        let start = cpu_time();
        blocks(&bytes, |_, _, block| {
            room.resize(deflate.deflate_compress_bound(block.len()), 0);
            size += deflate.deflate_compress(block, &mut room).expect("a block must be compressible");
        });
        time += cpu_time().saturating_sub(start);
    }
    print("repack", time, size as u64);
    ExitCode::SUCCESS
}

fn blocks(bytes: &[u8], mut each: impl FnMut(&Header, i64, &[u8])) {
    let mut file = Cursor { bytes, at: 0 };
    let header = Header::read(&mut file);
    let mut inflate = Decompressor::new();
    let mut raw = Vec::new();
    while file.at < bytes.len() {
        let (count, block) = (file.long(), file.bytes());
        file.at += SYNC_BYTES;
        let block = if header.deflated {
            // Deflate expands data at most 1032 times, so the buffer grows once or twice per file.
            let mut length = inflate.deflate_decompress(block, &mut raw);
            while length.is_err() {
                raw.resize((raw.len() * 2).max(1 << 17), 0);
                length = inflate.deflate_decompress(block, &mut raw);
            }
            &raw[..length.expect("a block must be decompressible")]
        } else {
            block
        };
        each(&header, count, block);
    }
}

#[inline(always)]
fn walk_entry(cursor: &mut Cursor<'_>, header: &Header, columns: &mut Columns) {
    let mut sum = cursor.long(); // status
    for _ in 0..3 {
        sum = sum.wrapping_add(cursor.optional_long()); // snapshot id, sequence numbers
    }
    sum = sum.wrapping_add(cursor.long()); // content
    columns.paths.extend_from_slice(cursor.bytes());
    columns.ends.push(columns.paths.len());
    cursor.bytes(); // format
    for field in 0..header.partition_fields.unwrap_or(0) {
        columns.partitions[field].push(cursor.optional_long() as i32);
    }
    columns.rows.push(cursor.long());
    columns.bytes.push(cursor.long());
    for _ in 0..4 {
        // Sizes, and counts of values, NULLs and NaNs.
        cursor.optional_items(|cursor| {
            cursor.long();
            sum = sum.wrapping_add(cursor.long());
        });
    }
    for bounds in [&mut columns.lower, &mut columns.upper] {
        let mut found = [0; 2];
        cursor.optional_items(|cursor| {
            let (column, value) = (cursor.long(), cursor.bytes());
            for (known, found) in BOUNDED.iter().zip(&mut found) {
                if column == *known {
                    *found = value.try_into().map_or(0, i64::from_le_bytes);
                }
            }
        });
        bounds[0].push(found[0]);
        bounds[1].push(found[1]);
    }
    cursor.optional_bytes(); // key metadata
    for _ in 0..2 {
        // Split offsets, equality ids.
        cursor.optional_items(|cursor| sum = sum.wrapping_add(cursor.long()));
    }
    sum = sum.wrapping_add(cursor.optional_long()); // sort order
    if header.version_3 {
        sum = sum.wrapping_add(cursor.optional_long()); // first row id
    }
    cursor.optional_bytes(); // referenced data file
    if header.version_3 {
        sum = sum.wrapping_add(cursor.optional_long()); // content offset
        sum = sum.wrapping_add(cursor.optional_long()); // content size
    }
    columns.sum = columns.sum.wrapping_add(sum);
}

/// A position in Avro's binary encoding.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    fn long(&mut self) -> i64 {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = self.bytes[self.at];
            self.at += 1;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return (value >> 1) as i64 ^ -((value & 1) as i64);
            }
            shift += 7;
        }
    }

    #[inline(always)]
    fn bytes(&mut self) -> &'a [u8] {
        let length = self.long() as usize;
        let found = &self.bytes[self.at..self.at + length];
        self.at += length;
        found
    }

    #[inline(always)]
    fn optional_long(&mut self) -> i64 {
        if self.long() == 1 { self.long() } else { 0 }
    }

    #[inline(always)]
    fn optional_bytes(&mut self) {
        if self.long() == 1 {
            self.bytes();
        }
    }

    #[inline(always)]
    fn items(&mut self, mut item: impl FnMut(&mut Self)) {
        loop {
            let count = self.long();
            if count == 0 {
                return;
            }
            for _ in 0..count {
                item(self);
            }
        }
    }

    #[inline(always)]
    fn optional_items(&mut self, item: impl FnMut(&mut Self)) {
        if self.long() == 1 {
            self.items(item);
        }
    }
}

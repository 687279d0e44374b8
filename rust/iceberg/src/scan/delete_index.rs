//! Which delete files apply to which data files (spec: "Scan Planning").
//!
//! * A deletion vector applies to the data file that it names, if the file is not newer; position deletes are not read
//!   for that file then.
//! * Position deletes apply to data files of the same spec and partition that are not newer; those that name one data
//!   file apply to it alone.
//! * Equality deletes apply to data files that are strictly older, in the same spec and partition, or anywhere when their
//!   spec is unpartitioned; those whose keys cannot be in a data file, by the bounds of both, are left out.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use frazil_core::error::{Error, ErrorKind, Result};

use super::key_range::{KeyRange, KeyStatistics, may_share_key};
use super::partition::{PartitionTuples, TupleKeys};
use crate::read::FileFormat;
use crate::spec::manifest::{DELETE_FILE_PATH_ID, FileContent, ManifestEntries};

/// One delete file, or one deletion vector in a Puffin file.
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteFile {
    /// Position or equality deletes.
    pub content: FileContent,
    /// Where it lies, as recorded.
    pub path: Arc<str>,
    /// Its format; Puffin for deletion vectors.
    pub format: FileFormat,
    /// Its length as recorded; of the whole Puffin file for a deletion vector.
    pub size_bytes: i64,
    /// How many rows it has; the cardinality of a deletion vector.
    pub record_count: i64,
    /// Its data sequence number.
    pub sequence_number: i64,
    /// Its partition spec.
    pub spec_id: i32,
    /// The columns that identify deleted rows, ascending; empty for position deletes.
    pub equality_ids: Vec<i32>,
    /// The data file that all its deletes are for, as recorded.
    pub referenced_data_file: Option<Arc<str>>,
    /// Where the deletion vector begins and how long it is.
    pub content_range: Option<(i64, i64)>,
}

impl DeleteFile {
    /// Whether it is a deletion vector.
    pub fn is_vector(&self) -> bool {
        self.format == FileFormat::Puffin
    }
}

/// The delete files of a snapshot, ordered for lookup.
#[derive(Debug, Default)]
pub struct DeleteIndex {
    files: Vec<DeleteFile>,
    vector_by_path: HashMap<String, u32>,
    positions_by_path: HashMap<String, Vec<u32>>,
    positions_by_partition: HashMap<PartitionKey, Vec<u32>>,
    equality_by_partition: HashMap<PartitionKey, Vec<u32>>,
    equality_everywhere: Vec<u32>,
    /// What equality deletes have in the columns of their keys, by number.
    key_ranges: HashMap<u32, Vec<KeyRange>>,
}

/// A spec and a partition tuple in the row format of [`PartitionTuples::keys`].
type PartitionKey = (i32, Box<[u8]>);

impl DeleteIndex {
    /// Whether there are no deletes at all.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The delete files, by the numbers that [`DeleteIndex::assign`] gives.
    pub fn files(&self) -> &[DeleteFile] {
        &self.files
    }

    /// The columns of which equality deletes make their keys, ascending.
    pub fn equality_ids(&self) -> Vec<i32> {
        let mut ids: Vec<i32> = self.key_ranges.values().flatten().map(|range| range.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Takes the entries of a delete manifest, with what they have in the columns of keys. The spec is known by its id and
    /// whether it is unpartitioned; `key` makes paths comparable.
    pub fn push(
        &mut self,
        entries: &ManifestEntries,
        tuples: &PartitionTuples,
        keyed: &KeyStatistics,
        spec: (i32, bool),
        key: &dyn Fn(&str) -> String,
    ) -> Result<()> {
        let (spec_id, unpartitioned) = spec;
        let keys = tuples.keys()?;
        for row in 0..entries.len() {
            let file = delete_file(entries, spec_id, row)?;
            let number = u32::try_from(self.files.len()).map_err(|_| Error::corrupt("above 2^32 delete files"))?;
            let partition = || (spec_id, Box::from(keys.row(row)));
            if file.content == FileContent::EqualityDeletes {
                let mut ranges = keyed.row(row)?;
                ranges.retain(|range| file.equality_ids.contains(&range.id));
                self.key_ranges.insert(number, ranges);
                if unpartitioned {
                    self.equality_everywhere.push(number);
                } else {
                    self.equality_by_partition.entry(partition()).or_default().push(number);
                }
            } else if file.is_vector() {
                let referenced = file.referenced_data_file.as_deref().unwrap_or_default();
                if self.vector_by_path.insert(key(referenced), number).is_some() {
                    return Err(corrupt("two deletion vectors for one data file", referenced));
                }
            } else if let Some(path) = &file.referenced_data_file {
                self.positions_by_path.entry(key(path)).or_default().push(number);
            } else {
                self.positions_by_partition.entry(partition()).or_default().push(number);
            }
            self.files.push(file);
        }
        Ok(())
    }

    /// Orders the index; to be called once, after the last [`DeleteIndex::push`].
    pub fn finish(&mut self) {
        let files = &self.files;
        let sort = |numbers: &mut Vec<u32>| numbers.sort_by_key(|&n| (sequence_number(files, n), n));
        self.positions_by_path.values_mut().for_each(sort);
        self.positions_by_partition.values_mut().for_each(sort);
        self.equality_by_partition.values_mut().for_each(sort);
        sort(&mut self.equality_everywhere);
    }

    /// The delete files that apply to each data file: offsets into a list of numbers, as an Arrow list has them.
    pub fn assign(
        &self,
        entries: &ManifestEntries,
        tuples: &PartitionTuples,
        keyed: &KeyStatistics,
        spec_id: i32,
        key: &dyn Fn(&str) -> String,
    ) -> Result<Assignments> {
        let by_path = !self.vector_by_path.is_empty() || !self.positions_by_path.is_empty();
        let keys = tuples.keys()?;
        let paths = entries.paths()?;
        let mut lookup = Lookup { index: self, spec_id, keys: &keys, last: None };
        let mut assignments = Assignments::with_capacity(entries.len());
        for (row, &sequence) in entries.sequence_numbers()?.values().iter().enumerate() {
            let path = by_path.then(|| key(paths.value(row)));
            lookup.collect_equality(row, sequence, keyed, &mut assignments.numbers)?;
            lookup
                .collect_positions(row, sequence, path.as_deref(), &mut assignments.numbers)
                .map_err(|e| e.with("file", paths.value(row)))?;
            assignments.offsets.push(assignments.numbers.len());
        }
        Ok(assignments)
    }
}

/// Lists of delete files, one for each data file.
#[derive(Debug, Default, Clone)]
pub struct Assignments {
    offsets: Vec<usize>,
    numbers: Vec<u32>,
}

impl Assignments {
    fn with_capacity(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self { offsets, numbers: Vec::new() }
    }

    /// The memory that the lists hold.
    pub fn size_bytes(&self) -> usize {
        size_of_val(self.offsets.as_slice()) + size_of_val(self.numbers.as_slice())
    }

    /// The numbers of the delete files of a data file, in ascending order of their sequence numbers within each kind.
    pub fn row(&self, row: usize) -> &[u32] {
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(&start), Some(&end)) => self.numbers.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }
}

/// The partition lookups of the last row are kept: files of one partition follow each other.
struct Lookup<'a> {
    index: &'a DeleteIndex,
    spec_id: i32,
    keys: &'a TupleKeys,
    last: Option<(usize, &'a [u32], &'a [u32])>,
}

impl<'a> Lookup<'a> {
    fn collect_equality(
        &mut self,
        row: usize,
        sequence: i64,
        keyed: &KeyStatistics,
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        let index = self.index;
        let Some(newer) = sequence.checked_add(1) else { return Ok(()) };
        let everywhere = from_sequence(&index.files, &index.equality_everywhere, newer);
        let here = from_sequence(&index.files, self.partition(row).1, newer);
        if everywhere.is_empty() && here.is_empty() {
            return Ok(());
        }
        let ranges = keyed.row(row)?;
        let reaches = |n: &&u32| index.key_ranges.get(n).is_none_or(|others| may_share_key(others, &ranges));
        numbers.extend(everywhere.iter().chain(here).filter(reaches));
        Ok(())
    }

    fn collect_positions(
        &mut self,
        row: usize,
        sequence: i64,
        path: Option<&str>,
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        let index = self.index;
        let (positions, _) = self.partition(row);
        let vector = path.and_then(|path| index.vector_by_path.get(path)).copied();
        // A vector that is older than the data file belongs to a file that was there before under the same path.
        if let Some(vector) = vector.filter(|&n| sequence_number(&index.files, n) >= sequence) {
            let file = usize::try_from(vector).ok().and_then(|n| index.files.get(n));
            if let Some(file) = file.filter(|file| file.spec_id != self.spec_id) {
                let message = "a deletion vector and its data file are of different partition specs";
                return Err(corrupt(message, &file.path)
                    .with("spec", file.spec_id)
                    .with("spec of the data", self.spec_id));
            }
            numbers.push(vector);
            return Ok(());
        }
        numbers.extend_from_slice(from_sequence(&index.files, positions, sequence));
        if let Some(by_path) = path.and_then(|path| index.positions_by_path.get(path)) {
            numbers.extend_from_slice(from_sequence(&index.files, by_path, sequence));
        }
        Ok(())
    }

    fn partition(&mut self, row: usize) -> (&'a [u32], &'a [u32]) {
        let index = self.index;
        if index.positions_by_partition.is_empty() && index.equality_by_partition.is_empty() {
            return (&[], &[]);
        }
        if let Some((last, positions, equality)) = self.last
            && self.keys.row(last) == self.keys.row(row)
        {
            return (positions, equality);
        }
        let key: PartitionKey = (self.spec_id, Box::from(self.keys.row(row)));
        let of = |map: &'a HashMap<PartitionKey, Vec<u32>>| map.get(&key).map_or(&[][..], Vec::as_slice);
        let found = (of(&index.positions_by_partition), of(&index.equality_by_partition));
        self.last = Some((row, found.0, found.1));
        found
    }
}

/// The part of a list, sorted by sequence number, that is not older than `sequence`.
fn from_sequence<'a>(files: &[DeleteFile], numbers: &'a [u32], sequence: i64) -> &'a [u32] {
    let start = numbers.partition_point(|&n| sequence_number(files, n) < sequence);
    numbers.get(start..).unwrap_or_default()
}

fn sequence_number(files: &[DeleteFile], number: u32) -> i64 {
    usize::try_from(number).ok().and_then(|n| files.get(n)).map_or(0, |file| file.sequence_number)
}

fn delete_file(entries: &ManifestEntries, spec_id: i32, row: usize) -> Result<DeleteFile> {
    let path: Arc<str> = entries.paths()?.value(row).into();
    let content = FileContent::from_code(entries.contents()?.map_or(0, |contents| contents.value(row))).filter(|c| *c != FileContent::Data);
    let content = content.ok_or_else(|| corrupt("a delete manifest lists a file that is no delete file", &path))?;
    let format = FileFormat::parse(entries.formats()?.value(row)).map_err(|e| e.with("file", &path))?;
    let mut file = DeleteFile {
        content,
        format,
        size_bytes: entries.file_sizes()?.value(row),
        record_count: entries.record_counts()?.value(row),
        sequence_number: entries.sequence_numbers()?.value(row),
        spec_id,
        equality_ids: Vec::new(),
        referenced_data_file: referenced_data_file(entries, row)?,
        content_range: None,
        path,
    };
    if content == FileContent::EqualityDeletes {
        file.equality_ids = equality_ids(entries, row)?;
        if file.equality_ids.is_empty() {
            return Err(corrupt("an equality delete file names no columns", &file.path));
        }
    } else if file.is_vector() {
        file.content_range = Some(content_range(entries, row, &file)?);
    }
    Ok(file)
}

/// The data file that is named, or that the bounds of the path column show to be the only one.
fn referenced_data_file(entries: &ManifestEntries, row: usize) -> Result<Option<Arc<str>>> {
    if let Some(named) = entries.referenced_data_files()?.filter(|named| named.is_valid(row)) {
        return Ok(Some(named.value(row).into()));
    }
    let statistics = entries.statistics(DELETE_FILE_PATH_ID)?.unwrap_or_default();
    let (Some(lower), Some(upper)) = (&statistics.lower_bounds, &statistics.upper_bounds) else { return Ok(None) };
    if lower.is_null(row) || upper.is_null(row) || lower.value(row) != upper.value(row) {
        return Ok(None);
    }
    Ok(std::str::from_utf8(lower.value(row)).ok().map(Into::into))
}

fn content_range(entries: &ManifestEntries, row: usize, file: &DeleteFile) -> Result<(i64, i64)> {
    if file.referenced_data_file.is_none() {
        return Err(corrupt("a deletion vector names no data file", &file.path));
    }
    let offset = entries.content_offsets()?.filter(|offsets| offsets.is_valid(row));
    let size = entries.content_sizes()?.filter(|sizes| sizes.is_valid(row));
    match (offset, size) {
        (Some(offset), Some(size)) => Ok((offset.value(row), size.value(row))),
        _ => Err(corrupt("a deletion vector has no offset or no size", &file.path)),
    }
}

fn equality_ids(entries: &ManifestEntries, row: usize) -> Result<Vec<i32>> {
    let Some(list) = entries.equality_ids()?.filter(|list| list.is_valid(row)) else { return Ok(Vec::new()) };
    let values = list.value(row);
    let values = values.as_primitive_opt::<Int32Type>().ok_or_else(|| Error::internal("equality ids are no ints"))?;
    let mut ids: Vec<i32> = values.iter().flatten().collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn corrupt(what: &str, path: &str) -> Error {
    Error::new(ErrorKind::CorruptManifest, what).with("file", path)
}

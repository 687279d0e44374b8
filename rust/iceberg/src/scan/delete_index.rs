//! Assigns delete files to data files (spec: "Scan Planning").
//!
//! * A deletion vector applies to the data file that it references, unless the file is newer. Position deletes are then
//!   not read for that file.
//! * Position deletes apply to data files of the same spec and partition that are not newer. Position deletes that
//!   reference one data file apply only to that file.
//! * Equality deletes apply to data files that are strictly older, in the same spec and partition, or in any partition
//!   if their spec is unpartitioned. Deletes whose keys cannot be in a data file, according to the bounds of both, are
//!   omitted.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, BinaryArray, Int32Array, Int64Array, ListArray, StringArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use frazil_core::error::{Error, ErrorKind, Result};
use hashbrown::HashMap;

use super::key_range::{KeyRange, KeyStatistics, may_share_key};
use super::partition::{PartitionTuples, TupleKeys};
use crate::read::FileFormat;
use crate::spec::manifest::{DELETE_FILE_PATH_ID, FileContent, ManifestEntries};

/// One delete file, or one deletion vector in a Puffin file.
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteFile {
    /// Position or equality deletes.
    pub content: FileContent,
    /// The location, as recorded.
    pub path: Arc<str>,
    /// The format; Puffin for deletion vectors.
    pub format: FileFormat,
    /// The length as recorded; for a deletion vector, that of the whole Puffin file.
    pub size_bytes: i64,
    /// The number of rows; for a deletion vector, its cardinality.
    pub record_count: i64,
    /// The data sequence number.
    pub sequence_number: i64,
    /// The partition spec.
    pub spec_id: i32,
    /// The columns that identify deleted rows, in ascending order; empty for position deletes.
    pub equality_ids: Vec<i32>,
    /// The data file to which all its deletes apply, as recorded.
    pub referenced_data_file: Option<Arc<str>>,
    /// The offset and the length of the deletion vector.
    pub content_range: Option<(i64, i64)>,
}

impl DeleteFile {
    /// Returns whether this is a deletion vector in a Puffin file.
    pub fn is_vector(&self) -> bool {
        self.format == FileFormat::Puffin
    }
}

/// The delete files of a snapshot, ordered for lookup.
#[derive(Debug, Default)]
pub struct DeleteIndex {
    files: Vec<DeleteFile>,
    vector_by_path: HashMap<String, i32>,
    positions_by_path: HashMap<String, Sequence>,
    /// The deletes by spec, then by partition tuple in the row format of [`PartitionTuples::keys`].
    by_partition: HashMap<i32, HashMap<Box<[u8]>, PartitionDeletes>>,
    equality_everywhere: Sequence,
    /// The value ranges of equality deletes in their key columns, by number.
    key_ranges: HashMap<i32, Vec<KeyRange>>,
}

/// The delete files of one partition.
#[derive(Debug, Default)]
struct PartitionDeletes {
    positions: Sequence,
    equality: Sequence,
}

/// Delete files in ascending order of their data sequence numbers: those that apply to a data file are at the end.
#[derive(Debug, Default)]
struct Sequence {
    sequence_numbers: Vec<i64>,
    numbers: Vec<i32>,
}

impl Sequence {
    fn push(&mut self, sequence_number: i64, number: i32) {
        self.sequence_numbers.push(sequence_number);
        self.numbers.push(number);
    }

    /// Sorts the delete files by sequence number. Files with equal sequence numbers keep the order of their manifests.
    fn finish(&mut self) {
        if self.sequence_numbers.is_sorted() {
            return;
        }
        let mut pairs: Vec<(i64, i32)> = self.sequence_numbers.drain(..).zip(self.numbers.drain(..)).collect();
        pairs.sort_unstable();
        for (sequence_number, number) in pairs {
            self.push(sequence_number, number);
        }
    }

    /// Returns the delete files whose sequence number is at least `sequence_number`.
    fn from(&self, sequence_number: i64) -> &[i32] {
        let start = self.sequence_numbers.partition_point(|own| *own < sequence_number);
        self.numbers.get(start..).unwrap_or_default()
    }
}

impl DeleteIndex {
    /// Returns whether there are no deletes.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the delete files, indexed by the numbers that [`DeleteIndex::assign`] returns.
    pub fn files(&self) -> &[DeleteFile] {
        &self.files
    }

    /// Returns the key columns of equality deletes, in ascending order.
    pub fn equality_ids(&self) -> Vec<i32> {
        let mut ids: Vec<i32> = self.key_ranges.values().flatten().map(|range| range.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Adds the entries of a delete manifest, with the value ranges of their key columns. The spec is identified by its
    /// id and whether it is unpartitioned; `key` makes paths comparable.
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
        let columns = DeleteColumns::try_new(entries, spec_id)?;
        for row in 0..entries.len() {
            let file = columns.file(row)?;
            let number = i32::try_from(self.files.len()).map_err(|_| too_many("more than 2^31 delete files"))?;
            let sequence_number = file.sequence_number;
            if file.content == FileContent::EqualityDeletes {
                let mut ranges = keyed.row(row)?;
                ranges.retain(|range| file.equality_ids.contains(&range.id));
                self.key_ranges.insert(number, ranges);
                if unpartitioned {
                    self.equality_everywhere.push(sequence_number, number);
                } else {
                    self.partition(spec_id, keys.row(row)).equality.push(sequence_number, number);
                }
            } else if file.is_vector() {
                let referenced = file.referenced_data_file.as_deref().unwrap_or_default();
                if self.vector_by_path.insert(key(referenced), number).is_some() {
                    return Err(corrupt("a data file has two deletion vectors", referenced));
                }
            } else if let Some(path) = &file.referenced_data_file {
                self.positions_by_path.entry(key(path)).or_default().push(sequence_number, number);
            } else {
                self.partition(spec_id, keys.row(row)).positions.push(sequence_number, number);
            }
            self.files.push(file);
        }
        Ok(())
    }

    fn partition(&mut self, spec_id: i32, key: &[u8]) -> &mut PartitionDeletes {
        self.by_partition.entry(spec_id).or_default().entry_ref(key).or_default()
    }

    /// Sorts the index. Must be called once, after the last [`DeleteIndex::push`].
    pub fn finish(&mut self) {
        self.positions_by_path.values_mut().for_each(Sequence::finish);
        for partition in self.by_partition.values_mut().flat_map(HashMap::values_mut) {
            partition.positions.finish();
            partition.equality.finish();
        }
        self.equality_everywhere.finish();
    }

    /// Returns, for each data file, the numbers of the delete files that apply to it, as offsets and values like an
    /// Arrow list.
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
        let by_partition = self.by_partition.get(&spec_id);
        let lookup = Lookup { index: self, spec_id, keys: &keys, by_partition };
        let (mut offsets, mut numbers) = (Vec::with_capacity(entries.len() + 1), Vec::new());
        offsets.push(0);
        for (row, &sequence) in entries.sequence_numbers()?.values().iter().enumerate() {
            let path = by_path.then(|| key(paths.value(row)));
            lookup.collect_equality(row, sequence, keyed, &mut numbers)?;
            lookup
                .collect_positions(row, sequence, path.as_deref(), &mut numbers)
                .map_err(|e| e.with("file", paths.value(row)))?;
            let end = i32::try_from(numbers.len());
            offsets.push(end.map_err(|_| too_many("more than 2^31 pairs of a data file and a delete file"))?);
        }
        Ok(Assignments { offsets: OffsetBuffer::new(offsets.into()), numbers: numbers.into() })
    }
}

/// Lists of delete files, one for each data file, like an Arrow list. All lists are empty by default.
#[derive(Debug, Clone)]
pub struct Assignments {
    offsets: OffsetBuffer<i32>,
    numbers: ScalarBuffer<i32>,
}

impl Default for Assignments {
    fn default() -> Self {
        Self { offsets: OffsetBuffer::new_empty(), numbers: Vec::new().into() }
    }
}

impl Assignments {
    /// Returns the memory size of the lists in bytes.
    pub fn size_bytes(&self) -> usize {
        size_of_val(&*self.offsets) + size_of_val(&*self.numbers)
    }

    /// Returns the numbers of the delete files of a data file, in ascending order of their sequence numbers within each
    /// type.
    pub fn row(&self, row: usize) -> &[i32] {
        let offset = |row: usize| self.offsets.get(row).and_then(|offset| usize::try_from(*offset).ok());
        match (offset(row), offset(row + 1)) {
            (Some(start), Some(end)) => self.numbers.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Returns the lists of the first `rows` data files as the offsets and values of an Arrow list.
    pub fn lists(&self, rows: usize) -> (OffsetBuffer<i32>, ScalarBuffer<i32>) {
        if self.numbers.is_empty() {
            return (OffsetBuffer::new_zeroed(rows), self.numbers.clone());
        }
        (self.offsets.slice(0, rows), self.numbers.clone())
    }
}

/// A lookup of the deletes for data files of one spec.
struct Lookup<'a> {
    index: &'a DeleteIndex,
    spec_id: i32,
    keys: &'a TupleKeys,
    by_partition: Option<&'a HashMap<Box<[u8]>, PartitionDeletes>>,
}

impl Lookup<'_> {
    fn collect_equality(&self, row: usize, sequence: i64, keyed: &KeyStatistics, numbers: &mut Vec<i32>) -> Result<()> {
        let index = self.index;
        let Some(newer) = sequence.checked_add(1) else { return Ok(()) };
        let everywhere = index.equality_everywhere.from(newer);
        let here = self.partition(row).map_or(&[][..], |partition| partition.equality.from(newer));
        if everywhere.is_empty() && here.is_empty() {
            return Ok(());
        }
        let ranges = keyed.row(row)?;
        let reaches = |n: &&i32| index.key_ranges.get(*n).is_none_or(|others| may_share_key(others, &ranges));
        numbers.extend(everywhere.iter().chain(here).filter(reaches));
        Ok(())
    }

    fn collect_positions(&self, row: usize, sequence: i64, path: Option<&str>, numbers: &mut Vec<i32>) -> Result<()> {
        let index = self.index;
        let vector = path.and_then(|path| index.vector_by_path.get(path)).copied();
        let vector = vector.and_then(|n| Some((n, index.files.get(usize::try_from(n).ok()?)?)));
        // A vector that is older than the data file belongs to an earlier file with the same path.
        if let Some((number, file)) = vector.filter(|(_, file)| file.sequence_number >= sequence) {
            if file.spec_id != self.spec_id {
                let message = "a deletion vector and its data file have different partition specs";
                return Err(corrupt(message, &file.path)
                    .with("spec", file.spec_id)
                    .with("spec of the data", self.spec_id));
            }
            numbers.push(number);
            return Ok(());
        }
        if let Some(partition) = self.partition(row) {
            numbers.extend_from_slice(partition.positions.from(sequence));
        }
        if let Some(by_path) = path.and_then(|path| index.positions_by_path.get(path)) {
            numbers.extend_from_slice(by_path.from(sequence));
        }
        Ok(())
    }

    fn partition(&self, row: usize) -> Option<&PartitionDeletes> {
        self.by_partition?.get(self.keys.row(row))
    }
}

/// The columns of the entries of a delete manifest.
struct DeleteColumns<'a> {
    spec_id: i32,
    paths: &'a StringArray,
    formats: &'a StringArray,
    contents: Option<&'a Int32Array>,
    sizes: &'a Int64Array,
    record_counts: &'a Int64Array,
    sequence_numbers: &'a Int64Array,
    equality_ids: Option<&'a ListArray>,
    referenced: Option<&'a StringArray>,
    content_offsets: Option<&'a Int64Array>,
    content_sizes: Option<&'a Int64Array>,
    path_bounds: Option<(BinaryArray, BinaryArray)>,
}

impl<'a> DeleteColumns<'a> {
    fn try_new(entries: &'a ManifestEntries, spec_id: i32) -> Result<Self> {
        let statistics = entries.statistics(DELETE_FILE_PATH_ID)?.unwrap_or_default();
        Ok(Self {
            spec_id,
            paths: entries.paths()?,
            formats: entries.formats()?,
            contents: entries.contents()?,
            sizes: entries.file_sizes()?,
            record_counts: entries.record_counts()?,
            sequence_numbers: entries.sequence_numbers()?,
            equality_ids: entries.equality_ids()?,
            referenced: entries.referenced_data_files()?,
            content_offsets: entries.content_offsets()?,
            content_sizes: entries.content_sizes()?,
            path_bounds: statistics.lower_bounds.zip(statistics.upper_bounds),
        })
    }

    fn file(&self, row: usize) -> Result<DeleteFile> {
        let path: Arc<str> = self.paths.value(row).into();
        let content = FileContent::from_code(self.contents.map_or(0, |contents| contents.value(row)));
        let content = content.filter(|content| *content != FileContent::Data);
        let content =
            content.ok_or_else(|| corrupt("a delete manifest lists a file that is not a delete file", &path))?;
        let format = FileFormat::parse(self.formats.value(row)).map_err(|e| e.with("file", &path))?;
        let mut file = DeleteFile {
            content,
            format,
            size_bytes: self.sizes.value(row),
            record_count: self.record_counts.value(row),
            sequence_number: self.sequence_numbers.value(row),
            spec_id: self.spec_id,
            equality_ids: Vec::new(),
            referenced_data_file: self.referenced_data_file(row),
            content_range: None,
            path,
        };
        if content == FileContent::EqualityDeletes {
            file.equality_ids = self.equality_ids(row)?;
            if file.equality_ids.is_empty() {
                return Err(corrupt("an equality delete file has no equality ids", &file.path));
            }
        } else if file.is_vector() {
            file.content_range = Some(self.content_range(row, &file)?);
        }
        Ok(file)
    }

    /// Returns the data file that a delete file references. If none is recorded, equal bounds of the path column
    /// identify it.
    fn referenced_data_file(&self, row: usize) -> Option<Arc<str>> {
        if let Some(named) = self.referenced.filter(|named| named.is_valid(row)) {
            return Some(named.value(row).into());
        }
        let (lower, upper) = self.path_bounds.as_ref()?;
        let only = lower.is_valid(row) && upper.is_valid(row) && lower.value(row) == upper.value(row);
        std::str::from_utf8(lower.value(row)).ok().filter(|_| only).map(Into::into)
    }

    fn content_range(&self, row: usize, file: &DeleteFile) -> Result<(i64, i64)> {
        if file.referenced_data_file.is_none() {
            return Err(corrupt("a deletion vector does not reference a data file", &file.path));
        }
        let value =
            |column: Option<&Int64Array>| column.filter(|column| column.is_valid(row)).map(|column| column.value(row));
        value(self.content_offsets)
            .zip(value(self.content_sizes))
            .ok_or_else(|| corrupt("a deletion vector has no offset or no size", &file.path))
    }

    fn equality_ids(&self, row: usize) -> Result<Vec<i32>> {
        let Some(lists) = self.equality_ids.filter(|lists| lists.is_valid(row)) else { return Ok(Vec::new()) };
        let values = lists.value(row);
        let values =
            values.as_primitive_opt::<Int32Type>().ok_or_else(|| Error::internal("equality ids are not integers"))?;
        let mut ids: Vec<i32> = values.iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}

fn too_many(what: &str) -> Error {
    Error::new(ErrorKind::LimitExceeded, what)
}

fn corrupt(what: &str, path: &str) -> Error {
    Error::new(ErrorKind::CorruptManifest, what).with("file", path)
}

//! Combines entries in the order of their manifests: a DELETE cancels the ADD of the same file.
//!
//! A file is identified by partition, bucket, level, name, extra files, embedded index and external path. The level
//! is included because a compaction may move a file to another level by DELETE and ADD of the same name.

use std::hash::BuildHasher;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, BooleanArray, StringArray};
use frazil_core::error::{Error, ErrorKind, Result};
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::{DELETE, ManifestEntries};

impl ManifestEntries {
    /// Returns the entries of files that are live after all entries are applied. If some entries were left out (for
    /// example of some partitions or buckets), both the ADD and the DELETE of each such file must be left out.
    ///
    /// # Errors
    /// `CorruptManifest` for a file that is deleted but was not added before, or is added or deleted twice.
    pub fn live(self) -> Result<Self> {
        match self.lasting()? {
            None => Ok(self),
            Some(lasting) => self.filter(&lasting),
        }
    }

    /// Returns which entries [`ManifestEntries::live`] keeps, or None for all.
    ///
    /// # Errors
    /// As for [`ManifestEntries::live`].
    pub fn lasting(&self) -> Result<Option<BooleanArray>> {
        self.cancelled(false)
    }

    /// Combines entries that follow other entries, such as a delta. Deletions of files in the earlier entries are kept.
    ///
    /// # Errors
    /// `CorruptManifest` for a file that is added or deleted twice, or added after it was deleted.
    pub fn fold(self) -> Result<Self> {
        match self.cancelled(true)? {
            None => Ok(self),
            Some(lasting) => self.filter(&lasting),
        }
    }

    fn cancelled(&self, may_delete_others: bool) -> Result<Option<BooleanArray>> {
        let files = Files::of(self)?;
        let hasher = DefaultHashBuilder::default();
        let hash = |row: usize| hasher.hash_one(files.hashed(row));
        let kinds = self.kinds().values();
        let is_delete = |row: usize| kinds.get(row).is_some_and(|kind| *kind == DELETE);
        let mut open: HashTable<usize> = HashTable::with_capacity(self.len());
        let mut gone = Vec::new();
        for row in 0..self.len() {
            let entry = open.entry(hash(row), |other| files.equal(*other, row), |other| hash(*other));
            match (entry, is_delete(row)) {
                (Entry::Vacant(_), true) if !may_delete_others => {
                    return Err(files.refused(row, "a file is deleted but was never added"));
                }
                (Entry::Vacant(entry), _) => {
                    entry.insert(row);
                }
                (Entry::Occupied(entry), true) if !is_delete(*entry.get()) => {
                    gone.extend([row, *entry.get()]);
                    entry.remove();
                }
                (Entry::Occupied(_), true) => return Err(files.refused(row, "a file is deleted twice")),
                (Entry::Occupied(entry), false) if is_delete(*entry.get()) => {
                    return Err(files.refused(row, "a file is added after it was deleted"));
                }
                (Entry::Occupied(_), false) => return Err(files.refused(row, "a file is added twice")),
            }
        }
        if gone.is_empty() {
            return Ok(None);
        }
        let mut kept = vec![true; self.len()];
        for row in gone {
            if let Some(kept) = kept.get_mut(row) {
                *kept = false;
            }
        }
        Ok(Some(BooleanArray::from(kept)))
    }
}

/// The columns that identify the files of entries.
struct Files<'a> {
    entries: &'a ManifestEntries,
    extra_names: &'a StringArray,
}

impl<'a> Files<'a> {
    fn of(entries: &'a ManifestEntries) -> Result<Self> {
        let extra_names = entries.extra_files().values().as_string_opt();
        let extra_names = extra_names.ok_or_else(|| Error::internal("the names of extra files are not strings"))?;
        Ok(Self { entries, extra_names })
    }

    /// Returns the columns that are hashed: name, bucket and level, which distinguish almost all files.
    #[inline]
    fn hashed(&self, row: usize) -> (&[u8], i32, i32) {
        let entries = self.entries;
        (entries.file_names().value(row).as_bytes(), entries.buckets().value(row), entries.levels().value(row))
    }

    fn equal(&self, a: usize, b: usize) -> bool {
        self.equal_in(a, self, b)
    }

    /// Returns whether a file is the same as a file of other entries.
    fn equal_in(&self, a: usize, others: &Files<'_>, b: usize) -> bool {
        let (ours, theirs) = (self.entries, others.entries);
        self.hashed(a) == others.hashed(b)
            && ours.partitions().value(a) == theirs.partitions().value(b)
            && bytes(ours.embedded_indexes(), a) == bytes(theirs.embedded_indexes(), b)
            && text(ours.external_paths(), a) == text(theirs.external_paths(), b)
            && self.extra_files(a).eq(others.extra_files(b))
    }

    fn extra_files(&self, row: usize) -> impl Iterator<Item = &str> {
        let offsets = self.entries.extra_files().value_offsets();
        let ends = offsets.get(row).zip(offsets.get(row + 1));
        let ends = ends.and_then(|(start, end)| Some(usize::try_from(*start).ok()?..usize::try_from(*end).ok()?));
        ends.unwrap_or_default().map(|at| self.extra_names.value(at))
    }

    #[cold]
    fn refused(&self, row: usize, what: &str) -> Error {
        let (entries, error) = (self.entries, Error::new(ErrorKind::CorruptManifest, what));
        let error = error.with("data_file", entries.file_names().value(row));
        error.with("bucket", entries.buckets().value(row)).with("level", entries.levels().value(row))
    }
}

fn bytes(array: &BinaryArray, row: usize) -> Option<&[u8]> {
    array.is_valid(row).then(|| array.value(row))
}

fn text(array: &StringArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

/// A set of files that are looked up by identity.
#[derive(Debug)]
pub(crate) struct FileSet {
    entries: ManifestEntries,
    hasher: DefaultHashBuilder,
    rows: HashTable<usize>,
}

impl FileSet {
    /// Creates the set of the files of entries of any kind. Of several entries of the same file, the first is kept.
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn try_new(entries: ManifestEntries) -> Result<Self> {
        let hasher = DefaultHashBuilder::default();
        let mut rows = HashTable::with_capacity(entries.len());
        let files = Files::of(&entries)?;
        let hash = |row: usize| hasher.hash_one(files.hashed(row));
        for row in 0..entries.len() {
            if let Entry::Vacant(entry) = rows.entry(hash(row), |other| files.equal(*other, row), |other| hash(*other))
            {
                entry.insert(row);
            }
        }
        Ok(Self { entries, hasher, rows })
    }

    /// Returns the entries of the files.
    pub(crate) fn entries(&self) -> &ManifestEntries {
        &self.entries
    }

    /// Returns, for each entry, the row of the same file in [`FileSet::entries`], or None if the set does not contain
    /// the file.
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn rows_of(&self, entries: &ManifestEntries) -> Result<Vec<Option<usize>>> {
        let (known, files) = (Files::of(&self.entries)?, Files::of(entries)?);
        let row = |row: usize| {
            let hash = self.hasher.hash_one(files.hashed(row));
            self.rows.find(hash, |other| files.equal_in(row, &known, *other)).copied()
        };
        Ok((0..entries.len()).map(row).collect())
    }
}

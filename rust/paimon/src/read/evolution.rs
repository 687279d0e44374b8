//! Determines which columns to read from which files, for files that hold columns of the same rows (documentation:
//! "Data Evolution").
//!
//! Files whose row ids overlap hold columns of the same rows. If several files have a column, the one with the greatest
//! sequence number has its latest values. A file of a BLOB column may have only a part of the rows; the remaining rows
//! are in the files that follow.

use frazil_core::error::{Error, ErrorKind, Result};

use super::file_reader::Target;
use super::split_reader::{Stage, ZipSource};
use crate::context::ReadContext;
use crate::context::split::DataSplit;
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::types::{DataField, TypeRoot};

/// A range of row ids: the first, and the one after the last.
type Range = (i64, i64);

/// Returns the stages in which the columns of the files of a split are combined.
///
/// # Errors
/// `CorruptManifest` if no file of a group has all rows of the group, or the rows of a BLOB column have gaps.
pub(super) fn zip_stages(read: &ReadContext, split: &DataSplit, target: &Target) -> Result<Vec<Stage>> {
    if split.deletion_files.iter().any(Option::is_some) {
        return Err(Error::unsupported(
            "deletion vectors on files that hold columns of the same rows are not supported",
        ));
    }
    let mut stages = Vec::new();
    for (range, group) in groups(split)? {
        match group.as_slice() {
            [only] => stages.push(Stage::Files(vec![*only])),
            _ => stages.push(Stage::Zip(RowIdGroup { read, split, range, files: &group }.sources(target)?)),
        }
    }
    Ok(stages)
}

/// Groups files with overlapping row ids, in the order of their first row.
fn groups(split: &DataSplit) -> Result<Vec<(Range, Vec<usize>)>> {
    let mut files: Vec<(Range, usize)> = Vec::with_capacity(split.files.len());
    for (number, file) in split.files.iter().enumerate() {
        files.push((range(file)?, number));
    }
    files.sort_by_key(|((first, _), number)| (*first, *number));
    let mut groups: Vec<(Range, Vec<usize>)> = Vec::new();
    for ((first, end), number) in files {
        match groups.last_mut() {
            Some(((_, group_end), group)) if first < *group_end => {
                *group_end = end.max(*group_end);
                group.push(number);
            }
            _ => groups.push(((first, end), vec![number])),
        }
    }
    Ok(groups)
}

fn range(file: &DataFileMeta) -> Result<Range> {
    let first = file.first_row_id.ok_or_else(|| corrupt("a file has no first row id", file))?;
    let end = first.checked_add(file.row_count).filter(|end| first >= 0 && *end > first);
    Ok((first, end.ok_or_else(|| corrupt("a file has invalid row ids", file))?))
}

struct RowIdGroup<'a> {
    read: &'a ReadContext,
    split: &'a DataSplit,
    range: Range,
    files: &'a [usize],
}

impl RowIdGroup<'_> {
    fn sources(&self, target: &Target) -> Result<Vec<ZipSource>> {
        let mut sources: Vec<ZipSource> = Vec::new();
        for (position, field) in target.fields.iter().enumerate() {
            let files = if field.data_type.root == TypeRoot::Blob { self.blobs(field)? } else { self.newest(field)? };
            if let Some(files) = files {
                take(&mut sources, files, position);
            }
        }
        // Row ids and system columns are read from a file that has all of the rows.
        let whole = self.files.iter().filter(|file| self.file(**file).is_some_and(|file| !is_blob(file)));
        let newest = whole.max_by_key(|file| self.file(**file).map(|file| file.max_sequence_number));
        let newest = *newest
            .ok_or_else(|| Error::new(ErrorKind::CorruptManifest, "BLOB files lack a file with all of their rows"))?;
        let system = target.fields.len()..target.fields.len() + target.system.len();
        if system.is_empty() && sources.is_empty() {
            sources.push(ZipSource { files: vec![newest], columns: Vec::new() });
        }
        for position in system {
            take(&mut sources, vec![newest], position);
        }
        Ok(sources)
    }

    fn file(&self, number: usize) -> Option<&DataFileMeta> {
        self.split.files.get(number)
    }

    /// Returns the file with the latest values of a column, or None if no file has the column.
    fn newest(&self, field: &DataField) -> Result<Option<Vec<usize>>> {
        let mut newest: Option<(i64, usize)> = None;
        for &number in self.files {
            let Some(file) = self.file(number).filter(|file| !is_blob(file)) else { continue };
            if range(file)? != self.range {
                return Err(corrupt("files that hold columns of the same rows have different row ids", file));
            }
            if self.has(file, field)? && newest.is_none_or(|(sequence, _)| file.max_sequence_number > sequence) {
                newest = Some((file.max_sequence_number, number));
            }
        }
        Ok(newest.map(|(_, number)| vec![number]))
    }

    /// Returns the consecutive files with the latest values of a BLOB column, or None if there are none.
    fn blobs(&self, field: &DataField) -> Result<Option<Vec<usize>>> {
        let mut files: Vec<(Range, i64, usize)> = Vec::new();
        for &number in self.files {
            let Some(file) = self.file(number).filter(|file| is_blob(file)) else { continue };
            if self.has(file, field)? {
                files.push((range(file)?, file.max_sequence_number, number));
            }
        }
        if files.is_empty() {
            return self.newest(field);
        }
        files.sort_by_key(|((first, _), sequence, _)| (*first, std::cmp::Reverse(*sequence)));
        let (mut next, end) = self.range;
        let mut chosen = Vec::new();
        for ((first, file_end), _, number) in files {
            if first == next {
                chosen.push(number);
                next = file_end;
            }
        }
        if next == end {
            return Ok(Some(chosen));
        }
        Err(Error::new(ErrorKind::CorruptManifest, "the files of a BLOB column do not cover all rows")
            .with("column", &field.name))
    }

    /// Returns whether a file was written with a column.
    fn has(&self, file: &DataFileMeta, field: &DataField) -> Result<bool> {
        let schema = self.read.file_schema(file.schema_id)?;
        let written = schema.fields.iter().find(|other| other.id == field.id);
        Ok(written.is_some_and(|written| file.write_cols.as_ref().is_none_or(|names| names.contains(&written.name))))
    }
}

/// Assigns a column to the source with the given files, which is created if it does not exist.
fn take(sources: &mut Vec<ZipSource>, files: Vec<usize>, column: usize) {
    match sources.iter_mut().find(|source| source.files == files) {
        Some(source) => source.columns.push(column),
        None => sources.push(ZipSource { files, columns: vec![column] }),
    }
}

/// Returns whether a file holds a single BLOB column.
pub(super) fn is_blob(file: &DataFileMeta) -> bool {
    matches!(file.file_name.rsplit_once('.'), Some((_, "blob")))
}

fn corrupt(what: &str, file: &DataFileMeta) -> Error {
    Error::new(ErrorKind::CorruptManifest, what).with("file", &file.file_name)
}

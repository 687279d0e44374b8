//! Holds manifest entries with the verdicts of the filter. Each manifest is evaluated when it is read, so its
//! statistics need not be kept and concatenated with those of other manifests. Excluded files can be dropped
//! immediately, unless a later entry may refer to one of them.

use arrow_array::cast::AsArray;
use arrow_array::{BinaryArray, BooleanArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::filter::filter;
use frazil_core::error::Result;

use super::buckets::BucketKeys;
use super::partitions::Partitions;
use super::prune::{EntryStats, FileVerdicts};
use crate::context::ReadContext;
use crate::spec::manifest::{ADD, ManifestEntries};

/// Entries, with or without verdicts.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) entries: ManifestEntries,
    /// The verdicts; None before the evaluation.
    pub(super) verdicts: Option<FileVerdicts>,
    pub(super) dropped: Dropped,
}

/// The facts that are kept about dropped files.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    pub(super) files: usize,
    /// The number of files that were dropped by bucket.
    pub(super) by_bucket: usize,
    /// The partitions of dropped files, and possibly further partitions, as bytes with their arity.
    pub(super) partitions: Vec<BinaryArray>,
}

/// The handling of files that the filter excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// Files are kept, because later entries may refer to them.
    Stay,
    /// Files are dropped if their keys cannot include the key of a matching row.
    GoByKeys,
    /// Files are dropped if none of their rows can match.
    GoByRows,
}

impl Judged {
    /// Creates entries without verdicts.
    pub(super) fn unknown(entries: ManifestEntries) -> Self {
        Self { entries, verdicts: None, dropped: Dropped::default() }
    }

    /// Evaluates entries by bucket, keys and values. Their statistics are NULL afterwards.
    ///
    /// # Errors
    /// `CorruptManifest` for a partition that does not decode.
    pub(super) fn new(entries: ManifestEntries, read: &ReadContext, left_out: LeftOut) -> Result<Self> {
        let partitions = Partitions::try_new(entries.partitions(), read)?;
        let verdicts = EntryStats::try_new(read, &entries, &partitions)?.judge()?;
        let verdicts = FileVerdicts { buckets: may_be_in_bucket(&entries, read)?, ..verdicts };
        let stays = match left_out {
            LeftOut::Stay => BooleanBuffer::new_set(entries.len()),
            LeftOut::GoByKeys => &verdicts.buckets & &verdicts.keys,
            LeftOut::GoByRows => &verdicts.buckets & &verdicts.rows,
        };
        let files = stays.len() - stays.count_set_bits();
        if files == 0 || entries.kinds().values().iter().any(|kind| *kind != ADD) {
            let entries = entries.without_stats()?;
            return Ok(Self { entries, verdicts: Some(verdicts), dropped: Dropped::default() });
        }
        let by_bucket = verdicts.buckets.len() - verdicts.buckets.count_set_bits();
        let dropped = Dropped { files, by_bucket, partitions: vec![partitions.rows().clone()] };
        let kept = Self { entries, verdicts: Some(verdicts), dropped }.filter(&BooleanArray::from(stays))?;
        Ok(Self { entries: kept.entries.without_stats()?, ..kept })
    }

    /// Concatenates all entries in order.
    ///
    /// # Errors
    /// As for [`ManifestEntries::concat`].
    pub(super) fn concat(parts: Vec<Self>) -> Result<Self> {
        let mut dropped = Dropped::default();
        let judged = parts.iter().all(|part| part.verdicts.is_some());
        let mut bits = [(); 3].map(|()| BooleanBufferBuilder::new(0));
        let mut entries = Vec::with_capacity(parts.len());
        for part in parts {
            dropped.files += part.dropped.files;
            dropped.by_bucket += part.dropped.by_bucket;
            dropped.partitions.extend(part.dropped.partitions);
            if part.entries.is_empty() {
                continue;
            }
            if let Some(FileVerdicts { buckets, keys, rows }) = &part.verdicts {
                bits.iter_mut().zip([buckets, keys, rows]).for_each(|(all, next)| all.append_buffer(next));
            }
            entries.push(part.entries);
        }
        let [buckets, keys, rows] = bits.map(|mut bits| bits.finish());
        let verdicts = judged.then_some(FileVerdicts { buckets, keys, rows });
        Ok(Self { entries: ManifestEntries::concat(&entries)?, verdicts, dropped })
    }

    /// Returns the entries for which `keep` is true.
    ///
    /// # Errors
    /// As for [`ManifestEntries::filter`].
    pub(super) fn filter(self, keep: &BooleanArray) -> Result<Self> {
        let verdicts = self.verdicts.map(|verdicts| verdicts.filter(keep)).transpose()?;
        Ok(Self { entries: self.entries.filter(keep)?, verdicts, dropped: self.dropped })
    }
}

impl FileVerdicts {
    fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        let of = |bits: &BooleanBuffer| -> Result<BooleanBuffer> {
            Ok(filter(&BooleanArray::from(bits.clone()), keep)?.as_boolean().values().clone())
        };
        Ok(Self { buckets: of(&self.buckets)?, keys: of(&self.keys)?, rows: of(&self.rows)? })
    }
}

/// Returns the entries in buckets that may hold a matching key.
pub(super) fn may_be_in_bucket(entries: &ManifestEntries, read: &ReadContext) -> Result<BooleanBuffer> {
    let Some(mut keys) = BucketKeys::try_new(read)? else { return Ok(BooleanBuffer::new_set(entries.len())) };
    let (buckets, totals) = (entries.buckets().values(), entries.total_buckets().values());
    let mut may = BooleanBufferBuilder::new(entries.len());
    for ((bucket, total), schema) in buckets.iter().zip(totals).zip(entries.schema_ids().values()) {
        may.append(keys.may_be_in(*bucket, *total, read.file_schema(*schema)?)?);
    }
    Ok(may.finish())
}

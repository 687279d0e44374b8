//! Builds snapshot summaries (spec: "Snapshots", appendix F "Optional Snapshot Summary Fields"), with counts computed
//! as in Java.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, StructArray};
use frazil_core::error::{Error, Result};

use crate::scan::partition::partition_keys;
use crate::spec::manifest_entries::{file_long, file_text};
use crate::spec::snapshot::Summary;
use crate::spec::types::StructType;

/// The engine that created a snapshot.
const ENGINE: [(&str, &str); 2] = [("engine-name", "frazil"), ("engine-version", env!("CARGO_PKG_VERSION"))];

/// The content code of delete files in manifests: position deletes, then equality deletes.
const POSITION_DELETES: i32 = 1;
const EQUALITY_DELETES: i32 = 2;

/// The counts of added and removed files of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) added: Side,
    pub(super) removed: Side,
    /// The spec and tuple of each changed partition.
    partitions: HashSet<(i32, Box<[u8]>)>,
}

/// The counts of either the added or the removed files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Side {
    /// The number of data files.
    pub data_files: i64,
    /// The number of rows in data files.
    pub records: i64,
    /// The total size of all files in bytes; for a deletion vector, only that of its content.
    pub bytes: i64,
    /// The number of delete files and deletion vectors.
    pub delete_files: i64,
    vectors: i64,
    position_delete_files: i64,
    equality_delete_files: i64,
    /// The number of positions in position delete files and deletion vectors.
    pub position_deletes: i64,
    equality_deletes: i64,
}

impl Side {
    /// Adds rows of `data_file` to the counts.
    fn count(&mut self, files: &StructArray) -> Result<()> {
        let contents = files.column_by_name("content").and_then(|column| column.as_primitive_opt::<Int32Type>());
        let contents = contents.ok_or_else(|| Error::internal("the files have no content column"))?;
        let (records, sizes) = (file_long(files, "record_count")?, file_long(files, "file_size_in_bytes")?);
        let (formats, content_sizes) = (file_text(files, "file_format")?, file_long(files, "content_size_in_bytes")?);
        for row in 0..files.len() {
            let (count, size) = (records.value(row), sizes.value(row));
            let own_size = if content_sizes.is_valid(row) { content_sizes.value(row) } else { size };
            self.bytes = self.bytes.saturating_add(own_size);
            match contents.is_valid(row).then(|| contents.value(row)) {
                Some(POSITION_DELETES) => {
                    self.delete_files += 1;
                    self.position_deletes = self.position_deletes.saturating_add(count);
                    if formats.value(row).eq_ignore_ascii_case("puffin") {
                        self.vectors += 1;
                    } else {
                        self.position_delete_files += 1;
                    }
                }
                Some(EQUALITY_DELETES) => {
                    self.delete_files += 1;
                    self.equality_delete_files += 1;
                    self.equality_deletes = self.equality_deletes.saturating_add(count);
                }
                _ => {
                    self.data_files += 1;
                    self.records = self.records.saturating_add(count);
                }
            }
        }
        Ok(())
    }
}

/// Whether files are added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileSign {
    Added,
    Removed,
}

impl Counts {
    /// Returns the counts of `data_file` rows of one spec.
    pub(super) fn of(files: &StructArray, spec_id: i32, partition: &Arc<StructType>, sign: FileSign) -> Result<Self> {
        let mut counts = Self::default();
        match sign {
            FileSign::Added => counts.added.count(files)?,
            FileSign::Removed => counts.removed.count(files)?,
        }
        let keys = partition_keys(files, partition)?;
        let distinct: HashSet<&[u8]> = (0..files.len()).map(|row| keys.row(row)).collect();
        counts.partitions = distinct.into_iter().map(|key| (spec_id, key.into())).collect();
        Ok(counts)
    }

    /// Adds the counts of `other`.
    pub(super) fn add(&mut self, other: &Self) {
        for (own, other) in [(&mut self.added, &other.added), (&mut self.removed, &other.removed)] {
            let Side { data_files, records, bytes, delete_files, .. } = own;
            *data_files += other.data_files;
            *records = records.saturating_add(other.records);
            *bytes = bytes.saturating_add(other.bytes);
            *delete_files += other.delete_files;
            own.vectors += other.vectors;
            own.position_delete_files += other.position_delete_files;
            own.equality_delete_files += other.equality_delete_files;
            own.position_deletes = own.position_deletes.saturating_add(other.position_deletes);
            own.equality_deletes = own.equality_deletes.saturating_add(other.equality_deletes);
        }
        self.partitions.extend(other.partitions.iter().cloned());
    }

    /// Returns the operation of the snapshot: `append` if files are only added, `overwrite` if data files are added and
    /// rows or files are removed, otherwise `delete`.
    pub(super) fn operation(&self) -> &'static str {
        let removes = self.removed != Side::default() || self.added.delete_files > 0;
        match (self.added.data_files > 0, removes) {
            (true, false) => "append",
            (true, true) => "overwrite",
            (false, _) => "delete",
        }
    }

    /// Returns the summary of a snapshot with this operation, whose totals continue those of `previous`. Entries of
    /// `properties` never replace computed entries. None if the summary would be too long.
    pub(super) fn summary(
        &self,
        operation: &str,
        previous: Option<&Summary>,
        properties: &BTreeMap<String, String>,
    ) -> Option<Summary> {
        let mut entries: Vec<(&str, String)> = vec![("operation", operation.to_string())];
        let (added, removed) = (&self.added, &self.removed);
        let counted = [
            ("added-data-files", added.data_files),
            ("deleted-data-files", removed.data_files),
            ("added-equality-delete-files", added.equality_delete_files),
            ("removed-equality-delete-files", removed.equality_delete_files),
            ("added-position-delete-files", added.position_delete_files),
            ("removed-position-delete-files", removed.position_delete_files),
            ("added-dvs", added.vectors),
            ("removed-dvs", removed.vectors),
            ("added-delete-files", added.delete_files),
            ("removed-delete-files", removed.delete_files),
            ("added-records", added.records),
            ("deleted-records", removed.records),
            ("added-files-size", added.bytes),
            ("removed-files-size", removed.bytes),
            ("added-position-deletes", added.position_deletes),
            ("removed-position-deletes", removed.position_deletes),
            ("added-equality-deletes", added.equality_deletes),
            ("removed-equality-deletes", removed.equality_deletes),
        ];
        entries.extend(counted.iter().filter(|(_, count)| *count > 0).map(|(key, count)| (*key, count.to_string())));
        entries.push(("changed-partition-count", self.partitions.len().to_string()));
        let totals = [
            ("total-records", added.records, removed.records),
            ("total-files-size", added.bytes, removed.bytes),
            ("total-data-files", added.data_files, removed.data_files),
            ("total-delete-files", added.delete_files, removed.delete_files),
            ("total-position-deletes", added.position_deletes, removed.position_deletes),
            ("total-equality-deletes", added.equality_deletes, removed.equality_deletes),
        ];
        for (key, added, removed) in totals {
            // If the previous snapshot did not record a total, the new total is unknown.
            let before = previous.map_or(Some(0), |previous| previous.count(key));
            let after = before.and_then(|before| before.checked_add(added)?.checked_sub(removed));
            if let Some(after) = after.filter(|&after| after >= 0) {
                entries.push((key, after.to_string()));
            }
        }
        entries.extend(ENGINE.iter().map(|(key, value)| (*key, (*value).to_string())));
        let reserved = counted.iter().map(|(key, _)| *key).chain(totals.iter().map(|(key, ..)| *key));
        let reserved: Vec<&str> = reserved.chain(entries.iter().map(|(key, _)| *key)).collect();
        let own = properties.iter().filter(|(key, _)| !reserved.contains(&key.as_str()));
        let own: Vec<(&str, &str)> = own.map(|(key, value)| (key.as_str(), value.as_str())).collect();
        Summary::new(entries.iter().map(|(key, value)| (*key, value.as_str())).chain(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_follow_from_the_snapshot_before_or_are_left_out() {
        let added = Side { data_files: 2, records: 10, bytes: 99, ..Side::default() };
        let counts = Counts { added, ..Counts::default() };
        let properties = BTreeMap::from([("total-records".to_string(), "7".to_string()), ("x".into(), "y".into())]);
        let first = counts.summary("append", None, &properties).unwrap();
        assert_eq!(first.value("operation"), Some("append"));
        assert_eq!((first.count("total-records"), first.count("total-delete-files")), (Some(10), Some(0)));
        assert_eq!((first.value("x"), first.value("deleted-records")), (Some("y"), None));
        let second = counts.summary("append", Some(&first), &properties).unwrap();
        assert_eq!((second.count("total-records"), second.count("total-files-size")), (Some(20), Some(198)));
        let uncounted = Summary::new([("operation", "append"), ("total-data-files", "5")]).unwrap();
        let third = counts.summary("append", Some(&uncounted), &properties).unwrap();
        assert_eq!((third.count("total-records"), third.count("total-data-files")), (None, Some(7)));
    }
}

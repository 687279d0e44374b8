//! What snapshots say of themselves (spec: "Snapshots", appendix F "Optional Snapshot Summary Fields"), as Java counts.

use std::collections::BTreeMap;

use crate::spec::snapshot::Summary;

/// Who made a snapshot.
const ENGINE: [(&str, &str); 2] = [("engine-name", "frazil"), ("engine-version", env!("CARGO_PKG_VERSION"))];

/// What an operation adds and removes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) added_data_files: i64,
    pub(super) added_delete_files: i64,
    pub(super) added_records: i64,
    pub(super) added_files_bytes: i64,
    pub(super) added_position_deletes: i64,
    pub(super) added_equality_deletes: i64,
    pub(super) removed_data_files: i64,
    pub(super) removed_delete_files: i64,
    pub(super) removed_records: i64,
    pub(super) removed_files_bytes: i64,
    pub(super) removed_position_deletes: i64,
    pub(super) removed_equality_deletes: i64,
    pub(super) changed_partitions: i64,
}

impl Counts {
    /// The summary of a snapshot of this operation behind `previous`; entries of `properties` come last and never
    /// replace what is counted. None when it is longer than a summary can be.
    pub(super) fn summary(
        &self,
        operation: &str,
        previous: Option<&Summary>,
        properties: &BTreeMap<String, String>,
    ) -> Option<Summary> {
        let mut entries: Vec<(&str, String)> = vec![("operation", operation.to_string())];
        let counted = [
            ("added-data-files", self.added_data_files),
            ("deleted-data-files", self.removed_data_files),
            ("added-delete-files", self.added_delete_files),
            ("removed-delete-files", self.removed_delete_files),
            ("added-records", self.added_records),
            ("deleted-records", self.removed_records),
            ("added-files-size", self.added_files_bytes),
            ("removed-files-size", self.removed_files_bytes),
            ("added-position-deletes", self.added_position_deletes),
            ("removed-position-deletes", self.removed_position_deletes),
            ("added-equality-deletes", self.added_equality_deletes),
            ("removed-equality-deletes", self.removed_equality_deletes),
        ];
        entries.extend(counted.iter().filter(|(_, count)| *count > 0).map(|(key, count)| (*key, count.to_string())));
        entries.push(("changed-partition-count", self.changed_partitions.to_string()));
        let totals = [
            ("total-records", self.added_records, self.removed_records),
            ("total-files-size", self.added_files_bytes, self.removed_files_bytes),
            ("total-data-files", self.added_data_files, self.removed_data_files),
            ("total-delete-files", self.added_delete_files, self.removed_delete_files),
            ("total-position-deletes", self.added_position_deletes, self.removed_position_deletes),
            ("total-equality-deletes", self.added_equality_deletes, self.removed_equality_deletes),
        ];
        for (key, added, removed) in totals {
            // What the snapshot before did not count cannot be known.
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
        let counts = Counts {
            added_data_files: 2,
            added_records: 10,
            added_files_bytes: 99,
            changed_partitions: 1,
            ..Counts::default()
        };
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

//! Commits to tables of a REST catalog (REST specification, "updateTable"), where the server keeps the states of a
//! table.
//!
//! A commit sends the updates in order, with the requirements on the latest state. The server applies them to the
//! latest state, which may be newer than the state known here, and writes the metadata file.

use std::fmt;
use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::publish::Swap;
use serde_json::{Value, json};

use super::pointer::{Pointer, Proposal};
use super::requirement::Requirement;
use super::update::TableUpdate;
use crate::spec::table_metadata::TableMetadata;
use crate::table::State;

/// A table on a server.
pub trait RestTable: fmt::Debug + Send + Sync {
    /// Returns the latest state as its metadata file and its metadata; None if the table does not exist.
    ///
    /// # Errors
    /// The server's error if it cannot answer.
    fn load(&self) -> Result<Option<(String, Vec<u8>)>>;

    /// Sends a commit, a JSON object of `requirements` and `updates`. Returns the new state, or None if a requirement
    /// does not hold.
    ///
    /// # Errors
    /// `CommitStateUnknown` and `Internal` if the commit may have taken effect; after any other error nothing changed.
    fn commit(&self, request: &str) -> Result<Option<(String, Vec<u8>)>>;
}

/// Finds and changes the latest state of a table through its server.
#[derive(Debug)]
pub struct RestPointer {
    table: Box<dyn RestTable>,
}

impl RestPointer {
    /// Creates the pointer to the table of a server, which may not exist yet.
    pub fn new(table: Box<dyn RestTable>) -> Self {
        Self { table }
    }

    /// Returns the outcome of a commit that was refused or whose response was lost: a request may be sent twice, so the
    /// first one may have taken effect. Updates that were refused because the table has changed are retried on its
    /// latest state.
    fn settle(&self, proposal: &Proposal<'_>, otherwise: Swap<State>) -> Swap<State> {
        let newest = match self.table.load() {
            Ok(newest) => newest,
            Err(error) => {
                return match otherwise {
                    Swap::Refused(refusal) => Swap::Refused(refusal),
                    _ => Swap::Unknown(error),
                };
            }
        };
        let Some(Ok(newest)) = newest.map(state) else { return otherwise };
        let is_ours = if proposal.base.is_none() {
            newest.metadata.table_uuid.is_some() && newest.metadata.table_uuid == proposal.next.table_uuid
        } else {
            let added = proposal.added_snapshots();
            newest.metadata.snapshots.iter().any(|snapshot| added.contains(&snapshot.snapshot_id))
        };
        let has_changed = proposal.base.is_some_and(|base| base.metadata_location != newest.metadata_location);
        match otherwise {
            _ if is_ours => Swap::Done(newest),
            Swap::Refused(_) if has_changed => Swap::Lost,
            otherwise => otherwise,
        }
    }
}

impl Pointer for RestPointer {
    fn load(&self) -> Result<Option<State>> {
        self.table.load()?.map(state).transpose()
    }

    /// Returns None: the commit asserts that the table does not exist.
    fn existing(&self) -> Result<Option<State>> {
        Ok(None)
    }

    fn swap(&self, proposal: &Proposal<'_>) -> Swap<State> {
        let request = match request(proposal) {
            Ok(request) => request.to_string(),
            Err(error) => return Swap::Refused(error),
        };
        match self.table.commit(&request) {
            // The commit took effect even if the response cannot be read, so the files of the change must not be
            // deleted.
            Ok(Some(answer)) => state(answer).map_or_else(Swap::Unknown, Swap::Done),
            Ok(None) => self.settle(proposal, Swap::Lost),
            Err(error) if matches!(error.kind(), ErrorKind::CommitStateUnknown | ErrorKind::Internal) => {
                self.settle(proposal, Swap::Unknown(error))
            }
            Err(error) => self.settle(proposal, Swap::Refused(error)),
        }
    }

    /// Does nothing: the server deletes the files that it wrote.
    fn delete(&self, _: &str) {}
}

fn state((metadata_location, metadata): (String, Vec<u8>)) -> Result<State> {
    let metadata = TableMetadata::parse(&metadata)
        .map_err(|e| e.corrupt_as(ErrorKind::CorruptMetadata).with("file", &metadata_location))?;
    Ok(State { metadata: Arc::new(metadata), metadata_location })
}

fn request(proposal: &Proposal<'_>) -> Result<Value> {
    let base = proposal.base.map(|base| base.metadata.as_ref());
    let requirements = serde_json::to_value(Requirement::of(base, proposal.updates)).map_err(unserializable)?;
    let mut last_column_id = base.map_or(0, |base| base.last_column_id);
    let updates: Vec<Value> = proposal
        .updates
        .iter()
        .map(|update| {
            let mut value = serde_json::to_value(update).map_err(unserializable)?;
            if let (TableUpdate::AddSchema(schema), Value::Object(members)) = (update, &mut value) {
                // Deprecated, but earlier servers need it.
                last_column_id = last_column_id.max(schema.max_field_id());
                members.insert("last-column-id".to_string(), json!(last_column_id));
            }
            Ok(value)
        })
        .collect::<Result<_>>()?;
    Ok(json!({ "requirements": requirements, "updates": updates }))
}

fn unserializable(error: serde_json::Error) -> Error {
    Error::internal("metadata cannot be serialised").caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::Mutex;

    use crate::commit::update::{LAST_ADDED, MetadataBuilder};
    use crate::spec::snapshot::SnapshotRef;

    const TABLE: &str = r#"{"format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "/t",
        "last-sequence-number": 1, "last-updated-ms": 5, "last-column-id": 1, "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "a", "required": false, "type": "int"}]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "properties": {"a": "1", "b": "2"},
        "current-snapshot-id": 20, "snapshots": [
            {"snapshot-id": 20, "sequence-number": 1, "timestamp-ms": 4, "manifest-list": "m", "summary": {}}],
        "refs": {"main": {"snapshot-id": 20, "type": "branch"}, "old": {"snapshot-id": 20, "type": "tag"}}}"#;

    fn table(properties: &str) -> State {
        let metadata = TABLE.replace(r#"{"a": "1", "b": "2"}"#, properties);
        State { metadata: Arc::new(TableMetadata::parse(metadata.as_bytes()).unwrap()), metadata_location: "1".into() }
    }

    fn sent(base: Option<&State>, updates: &[TableUpdate]) -> Value {
        let next = table("{}").metadata;
        request(&Proposal { base, next: &next, updates }).unwrap()
    }

    fn names(request: &Value, list: &str, key: &str) -> Vec<String> {
        let items = request.get(list).and_then(Value::as_array).unwrap();
        items.iter().map(|item| item.get(key).and_then(Value::as_str).unwrap().to_string()).collect()
    }

    #[test]
    fn updates_are_sent_in_order_with_their_requirements() {
        let schema = r#"{"type": "struct", "schema-id": 1, "fields": [
            {"id": 1, "name": "a", "required": false, "type": "int"},
            {"id": 2, "name": "b", "required": false, "type": "int"}]}"#;
        let updates = [
            TableUpdate::SetProperties([("a".to_string(), "3".to_string())].into()),
            TableUpdate::AddSchema(crate::spec::schema::Schema::from_json(schema).unwrap()),
            TableUpdate::SetCurrentSchema(LAST_ADDED),
            TableUpdate::SetRef("new".into(), SnapshotRef::branch(20)),
            TableUpdate::RemoveRef("old".into()),
            TableUpdate::UpgradeFormatVersion(3),
        ];
        let request = sent(Some(&table("{}")), &updates);
        let expected = json!({
            "requirements": [
                {"type": "assert-table-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"},
                {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 1},
                {"type": "assert-current-schema-id", "current-schema-id": 0},
                {"type": "assert-ref-snapshot-id", "ref": "new", "snapshot-id": null},
                {"type": "assert-ref-snapshot-id", "ref": "old", "snapshot-id": 20},
            ],
            "updates": [
                {"action": "set-properties", "updates": {"a": "3"}},
                {"action": "add-schema", "schema": serde_json::from_str::<Value>(schema).unwrap(), "last-column-id": 2},
                {"action": "set-current-schema", "schema-id": -1},
                {"action": "set-snapshot-ref", "ref-name": "new", "snapshot-id": 20, "type": "branch"},
                {"action": "remove-snapshot-ref", "ref-name": "old"},
                {"action": "upgrade-format-version", "format-version": 3},
            ],
        });
        assert_eq!(request, expected);
    }

    #[test]
    fn references_must_stay_when_snapshots_are_removed() {
        let request = sent(Some(&table("{}")), &[TableUpdate::RemoveSnapshots(vec![20])]);
        assert_eq!(names(&request, "updates", "action"), ["remove-snapshots"]);
        let required = ["assert-table-uuid", "assert-ref-snapshot-id", "assert-ref-snapshot-id"];
        assert_eq!(names(&request, "requirements", "type"), required);
    }

    #[test]
    fn a_new_table_is_sent_whole() {
        let request = sent(None, &TableUpdate::creating(&table(r#"{"a": "1"}"#).metadata));
        assert_eq!(names(&request, "requirements", "type"), ["assert-create"]);
        let expected = [
            "assign-uuid",
            "upgrade-format-version",
            "add-schema",
            "set-current-schema",
            "add-spec",
            "set-default-spec",
            "add-sort-order",
            "set-default-sort-order",
            "set-location",
            "set-properties",
            "add-snapshot",
            "set-snapshot-ref",
            "set-snapshot-ref",
        ];
        assert_eq!(names(&request, "updates", "action"), expected);
    }

    /// A server that refuses every commit with errors of one kind.
    #[derive(Debug)]
    struct Refusing(ErrorKind, Mutex<Option<State>>);

    impl RestTable for Refusing {
        fn load(&self) -> Result<Option<(String, Vec<u8>)>> {
            let newest = self.1.lock().unwrap();
            let codec = crate::spec::metadata_write::MetadataCodec::None;
            Ok(newest.as_ref().map(|state| (state.metadata_location.clone(), state.metadata.to_bytes(codec).unwrap())))
        }

        fn commit(&self, _: &str) -> Result<Option<(String, Vec<u8>)>> {
            Err(Error::new(self.0, "no"))
        }
    }

    #[test]
    fn a_refused_commit_is_made_again_only_on_a_newer_state() {
        let base = table("{}");
        let updates = [TableUpdate::UpgradeFormatVersion(3)];
        let mut builder = MetadataBuilder::new(base.metadata.as_ref().clone(), 6);
        for update in &updates {
            builder.apply(update.clone()).unwrap();
        }
        let next = Arc::new(builder.into_metadata().unwrap());
        let proposal = Proposal { base: Some(&base), next: &next, updates: &updates };
        let newer = State { metadata_location: "2".into(), ..base.clone() };
        let outcome = |kind, newest: Option<&State>| {
            RestPointer::new(Box::new(Refusing(kind, Mutex::new(newest.cloned())))).swap(&proposal)
        };
        for kind in [ErrorKind::Catalog, ErrorKind::Unavailable, ErrorKind::Forbidden] {
            assert!(matches!(outcome(kind, Some(&base)), Swap::Refused(error) if error.kind() == kind));
            assert!(matches!(outcome(kind, None), Swap::Refused(_)));
            assert!(matches!(outcome(kind, Some(&newer)), Swap::Lost));
        }
        for newest in [&base, &newer] {
            assert!(matches!(outcome(ErrorKind::CommitStateUnknown, Some(newest)), Swap::Unknown(_)));
        }
    }
}

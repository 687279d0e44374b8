//! Tables of a REST catalog (REST specification, "updateTable"): the server keeps the states of a table.
//!
//! A new state is sent as the updates that turn the known state into it, with what must hold of the newest state. The
//! server makes them, and writes the metadata file.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::publish::Swap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::catalog::is_definite;
use super::pointer::Pointer;
use super::update::LAST_ADDED;
use crate::spec::table_metadata::TableMetadata;
use crate::table::State;

/// A table as a server keeps it.
pub trait RestTable: fmt::Debug + Send + Sync {
    /// The newest state: its metadata file and its metadata; None when there is no such table.
    ///
    /// # Errors
    /// What the server says when it cannot answer.
    fn load(&self) -> Result<Option<(String, Vec<u8>)>>;

    /// Sends a commit, a JSON object of `requirements` and `updates`; gives the new state, and None if a requirement
    /// does not hold.
    ///
    /// # Errors
    /// Those of [`is_definite`] say that nothing changed; after any other error it may have.
    fn commit(&self, request: &str) -> Result<Option<(String, Vec<u8>)>>;
}

/// Finds and changes the newest state of a table by its server.
#[derive(Debug)]
pub struct RestPointer {
    table: Box<dyn RestTable>,
    /// What the server made of the last commit.
    made: Mutex<Option<State>>,
}

impl RestPointer {
    /// The table of a server, whether there is one or not.
    pub fn new(table: Box<dyn RestTable>) -> Self {
        Self { table, made: Mutex::default() }
    }

    /// Notes the state that a commit made.
    fn done(&self, answer: (String, Vec<u8>)) -> Swap {
        let location = answer.0.clone();
        match (state(answer), self.made.lock()) {
            (Ok(state), Ok(mut made)) => {
                *made = Some(state);
                Swap::Done(location)
            }
            // The commit is made: its files may not be deleted.
            (Err(error), _) => Swap::Unknown(error),
            (_, Err(_)) => Swap::Unknown(Error::internal("a commit failed before")),
        }
    }

    /// What became of a commit that was refused, or whose answer was lost: a request that was sent twice finds its own
    /// first effect.
    fn settle(&self, base: Option<&State>, next: &TableMetadata, otherwise: Swap) -> Swap {
        let newest = match self.table.load() {
            Ok(newest) => newest,
            Err(error) => return Swap::Unknown(error),
        };
        let Some(answer) = newest else { return otherwise };
        let Ok(newest) = TableMetadata::parse(&answer.1) else { return otherwise };
        let is_ours = match base {
            None => newest.table_uuid.is_some() && newest.table_uuid == next.table_uuid,
            Some(base) => {
                let added = &snapshot_ids(next) - &snapshot_ids(&base.metadata);
                !added.is_disjoint(&snapshot_ids(&newest))
            }
        };
        if is_ours { self.done(answer) } else { otherwise }
    }
}

impl Pointer for RestPointer {
    fn load(&self) -> Result<Option<State>> {
        self.table.load()?.map(state).transpose()
    }

    fn swap(&self, base: Option<&State>, next: &TableMetadata) -> Swap {
        let request = match request(base.map(|base| base.metadata.as_ref()), next) {
            Ok(request) => request.to_string(),
            Err(error) => return Swap::Refused(error),
        };
        match self.table.commit(&request) {
            Ok(Some(answer)) => self.done(answer),
            Ok(None) => self.settle(base, next, Swap::Lost),
            Err(error) if is_definite(error.kind()) => Swap::Refused(error),
            Err(error) => self.settle(base, next, Swap::Unknown(error)),
        }
    }

    fn completed(&self, metadata_file: &str) -> Option<Arc<TableMetadata>> {
        let made = self.made.lock().ok()?.take()?;
        (made.metadata_location == metadata_file).then_some(made.metadata)
    }

    /// The server deletes what it wrote.
    fn delete(&self, _: &str) {}
}

fn state((metadata_location, metadata): (String, Vec<u8>)) -> Result<State> {
    let metadata = TableMetadata::parse(&metadata)
        .map_err(|e| e.corrupt_as(ErrorKind::CorruptMetadata).with("file", &metadata_location))?;
    Ok(State { metadata: Arc::new(metadata), metadata_location })
}

fn snapshot_ids(metadata: &TableMetadata) -> HashSet<i64> {
    metadata.snapshots.iter().map(|snapshot| snapshot.snapshot_id).collect()
}

/// The commit that turns `base` into `next`; None for a table that it makes.
fn request(base: Option<&TableMetadata>, next: &TableMetadata) -> Result<Value> {
    let mut request = Request { requirements: Vec::new(), updates: Vec::new() };
    match base {
        None => request.require("assert-create", &[]),
        Some(base) => request.require("assert-table-uuid", &[("uuid", json!(base.table_uuid))]),
    }
    request.definition(base, next)?;
    request.properties(base, next);
    request.snapshots(base, next)?;
    request.statistics(base, next)?;
    Ok(json!({ "requirements": request.requirements, "updates": request.updates }))
}

struct Request {
    requirements: Vec<Value>,
    updates: Vec<Value>,
}

impl Request {
    fn require(&mut self, kind: &str, members: &[(&str, Value)]) {
        let requirement = object("type", kind, members);
        if !self.requirements.contains(&requirement) {
            self.requirements.push(requirement);
        }
    }

    fn update(&mut self, action: &str, members: &[(&str, Value)]) {
        self.updates.push(object("action", action, members));
    }

    /// The format version, schemas, specs and sort orders.
    fn definition(&mut self, base: Option<&TableMetadata>, next: &TableMetadata) -> Result<()> {
        if base.is_none() {
            self.update("assign-uuid", &[("uuid", json!(next.table_uuid))]);
        }
        if base.is_none_or(|base| base.format_version != next.format_version) {
            self.update("upgrade-format-version", &[("format-version", json!(next.format_version))]);
        }
        let known: HashSet<i32> = base.iter().flat_map(|base| &base.schemas).map(|one| one.schema_id).collect();
        let mut last_added = None;
        for schema in next.schemas.iter().filter(|one| !known.contains(&one.schema_id)) {
            let members = [("schema", value(schema.as_ref())?), ("last-column-id", json!(next.last_column_id))];
            self.update("add-schema", &members);
            self.require_last("assigned-field-id", base.map(|base| base.last_column_id));
            last_added = Some(schema.schema_id);
        }
        self.select(
            "current-schema",
            "schema-id",
            base.map(|b| b.current_schema_id),
            next.current_schema_id,
            last_added,
        );
        let known: HashSet<i32> = base.iter().flat_map(|base| &base.partition_specs).map(|one| one.spec_id).collect();
        let mut last_added = None;
        for spec in next.partition_specs.iter().filter(|one| !known.contains(&one.spec_id)) {
            self.update("add-spec", &[("spec", value(spec.as_ref())?)]);
            self.require_last("assigned-partition-id", base.map(|base| base.last_partition_id));
            last_added = Some(spec.spec_id);
        }
        self.select("default-spec", "spec-id", base.map(|b| b.default_spec_id), next.default_spec_id, last_added);
        let known: HashSet<i32> = base.iter().flat_map(|base| &base.sort_orders).map(|one| one.order_id).collect();
        let mut last_added = None;
        for order in next.sort_orders.iter().filter(|one| !known.contains(&one.order_id)) {
            self.update("add-sort-order", &[("sort-order", value(order)?)]);
            last_added = Some(order.order_id);
        }
        let before = base.map(|base| base.default_sort_order_id);
        self.select("default-sort-order", "sort-order-id", before, next.default_sort_order_id, last_added);
        Ok(())
    }

    /// Requires that nobody else gave an id to a column or a partition field.
    fn require_last(&mut self, what: &str, known: Option<i32>) {
        if let Some(known) = known {
            let member = format!("last-{what}");
            self.require(&format!("assert-{member}"), &[(&member, json!(known))]);
        }
    }

    /// Selects a schema, spec or sort order: by its id, or as the one that was added last, whose id the server gives.
    fn select(&mut self, what: &str, member: &str, base: Option<i32>, next: i32, last_added: Option<i32>) {
        if base == Some(next) {
            return;
        }
        let id = if last_added == Some(next) { LAST_ADDED } else { next };
        self.update(&format!("set-{what}"), &[(member, json!(id))]);
        if let Some(base) = base {
            self.require(&format!("assert-{what}-id"), &[(&format!("{what}-id"), json!(base))]);
        }
    }

    fn properties(&mut self, base: Option<&TableMetadata>, next: &TableMetadata) {
        if base.is_none_or(|base| base.location != next.location) {
            self.update("set-location", &[("location", json!(next.location))]);
        }
        let none = BTreeMap::new();
        let before = base.map_or(&none, |base| &base.properties);
        let removed: Vec<&String> = before.keys().filter(|&key| !next.properties.contains_key(key)).collect();
        if !removed.is_empty() {
            self.update("remove-properties", &[("removals", json!(removed))]);
        }
        let set: BTreeMap<&String, &String> =
            next.properties.iter().filter(|&(key, value)| before.get(key) != Some(value)).collect();
        if !set.is_empty() {
            self.update("set-properties", &[("updates", json!(set))]);
        }
    }

    fn snapshots(&mut self, base: Option<&TableMetadata>, next: &TableMetadata) -> Result<()> {
        let (before, after) = (base.map(snapshot_ids).unwrap_or_default(), snapshot_ids(next));
        for snapshot in next.snapshots.iter().filter(|one| !before.contains(&one.snapshot_id)) {
            self.update("add-snapshot", &[("snapshot", value(snapshot.as_ref())?)]);
            // Files were written by this schema.
            if let Some(base) = base {
                let current = json!(base.current_schema_id);
                self.require("assert-current-schema-id", &[("current-schema-id", current)]);
            }
        }
        let none = BTreeMap::new();
        let refs = base.map_or(&none, |base| &base.refs);
        let mut changed: Vec<&String> = Vec::new();
        for name in refs.keys().filter(|&name| !next.refs.contains_key(name)) {
            self.update("remove-snapshot-ref", &[("ref-name", json!(name))]);
            changed.push(name);
        }
        for (name, reference) in next.refs.iter().filter(|&(name, one)| refs.get(name) != Some(one)) {
            let Value::Object(members) = value(reference)? else { continue };
            let mut members: Vec<(&str, Value)> =
                members.iter().map(|(key, one)| (key.as_str(), one.clone())).collect();
            members.push(("ref-name", json!(name)));
            self.update("set-snapshot-ref", &members);
            changed.push(name);
        }
        let removed: Vec<i64> = before.difference(&after).copied().collect();
        if !removed.is_empty() {
            self.update("remove-snapshots", &[("snapshot-ids", json!(removed))]);
            // A snapshot that a branch or tag names is not removed.
            changed = refs.keys().chain(next.refs.keys()).collect();
        }
        if base.is_some() {
            for name in changed {
                let known = refs.get(name).map(|reference| reference.snapshot_id);
                self.require("assert-ref-snapshot-id", &[("ref", json!(name)), ("snapshot-id", json!(known))]);
            }
        }
        Ok(())
    }

    fn statistics(&mut self, base: Option<&TableMetadata>, next: &TableMetadata) -> Result<()> {
        let after = snapshot_ids(next);
        let before = base.map(|base| base.statistics.as_slice()).unwrap_or_default();
        for file in next.statistics.iter().filter(|one| !before.contains(one)) {
            self.update("set-statistics", &[("snapshot-id", json!(file.snapshot_id)), ("statistics", value(file)?)]);
        }
        let kept: HashSet<i64> = next.statistics.iter().map(|file| file.snapshot_id).collect();
        for file in before.iter().filter(|one| after.contains(&one.snapshot_id) && !kept.contains(&one.snapshot_id)) {
            self.update("remove-statistics", &[("snapshot-id", json!(file.snapshot_id))]);
        }
        let before = base.map(|base| base.partition_statistics.as_slice()).unwrap_or_default();
        for file in next.partition_statistics.iter().filter(|one| !before.contains(one)) {
            self.update("set-partition-statistics", &[("partition-statistics", value(file)?)]);
        }
        let kept: HashSet<i64> = next.partition_statistics.iter().map(|file| file.snapshot_id).collect();
        for file in before.iter().filter(|one| after.contains(&one.snapshot_id) && !kept.contains(&one.snapshot_id)) {
            self.update("remove-partition-statistics", &[("snapshot-id", json!(file.snapshot_id))]);
        }
        Ok(())
    }
}

fn object(key: &str, name: &str, members: &[(&str, Value)]) -> Value {
    let mut object = Map::new();
    object.insert(key.to_string(), json!(name));
    object.extend(members.iter().map(|(key, value)| ((*key).to_string(), value.clone())));
    Value::Object(object)
}

fn value(part: &impl Serialize) -> Result<Value> {
    serde_json::to_value(part).map_err(|e| Error::internal("metadata does not serialise").caused_by(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"{"format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "/t",
        "last-sequence-number": 1, "last-updated-ms": 5, "last-column-id": 1, "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "a", "required": false, "type": "int"}]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "properties": {"a": "1", "b": "2"},
        "current-snapshot-id": 20, "snapshots": [
            {"snapshot-id": 20, "sequence-number": 1, "timestamp-ms": 4, "manifest-list": "m", "summary": {}}],
        "refs": {"main": {"snapshot-id": 20, "type": "branch"}, "old": {"snapshot-id": 20, "type": "tag"}}}"#;

    fn names(request: &Value, list: &str, key: &str) -> Vec<String> {
        let items = request.get(list).and_then(Value::as_array).unwrap();
        items.iter().map(|item| item.get(key).and_then(Value::as_str).unwrap().to_string()).collect()
    }

    #[test]
    fn nothing_is_sent_for_what_did_not_change() {
        let table = TableMetadata::parse(TABLE.as_bytes()).unwrap();
        let request = request(Some(&table), &table).unwrap();
        assert!(names(&request, "updates", "action").is_empty());
        assert_eq!(names(&request, "requirements", "type"), ["assert-table-uuid"]);
    }

    #[test]
    fn what_changed_is_sent_with_what_it_requires() {
        let table = TableMetadata::parse(TABLE.as_bytes()).unwrap();
        let mut next = table.clone();
        let schema = r#"{"type": "struct", "schema-id": 1, "fields": [
            {"id": 1, "name": "a", "required": false, "type": "int"},
            {"id": 2, "name": "b", "required": false, "type": "int"}]}"#;
        next.schemas.push(Arc::new(crate::spec::schema::Schema::from_json(schema).unwrap()));
        (next.current_schema_id, next.last_column_id) = (1, 2);
        next.properties = [("a".to_string(), "3".to_string())].into();
        next.refs.remove("old");
        let request = request(Some(&table), &next).unwrap();
        assert_eq!(
            names(&request, "updates", "action"),
            ["add-schema", "set-current-schema", "remove-properties", "set-properties", "remove-snapshot-ref"]
        );
        assert_eq!(request.pointer("/updates/1/schema-id"), Some(&json!(LAST_ADDED)));
        assert_eq!(request.pointer("/updates/3/updates"), Some(&json!({"a": "3"})));
        assert_eq!(
            names(&request, "requirements", "type"),
            [
                "assert-table-uuid",
                "assert-last-assigned-field-id",
                "assert-current-schema-id",
                "assert-ref-snapshot-id"
            ]
        );
        assert_eq!(request.pointer("/requirements/1/last-assigned-field-id"), Some(&json!(1)));
        assert_eq!(
            request.pointer("/requirements/3"),
            Some(&json!(
                {"type": "assert-ref-snapshot-id", "ref": "old", "snapshot-id": 20}
            ))
        );
    }

    #[test]
    fn all_references_must_stay_when_snapshots_go() {
        let table = TableMetadata::parse(TABLE.as_bytes()).unwrap();
        let mut next = table.clone();
        next.snapshots.clear();
        let request = request(Some(&table), &next).unwrap();
        assert_eq!(names(&request, "updates", "action"), ["remove-snapshots"]);
        let required = ["assert-table-uuid", "assert-ref-snapshot-id", "assert-ref-snapshot-id"];
        assert_eq!(names(&request, "requirements", "type"), required);
    }

    #[test]
    fn a_new_table_is_sent_whole() {
        let table = TableMetadata::parse(TABLE.as_bytes()).unwrap();
        let request = request(None, &table).unwrap();
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
}

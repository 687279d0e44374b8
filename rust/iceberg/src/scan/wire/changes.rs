//! The wire form of a stage of changes.
//!
//! The form is an envelope like that of tasks, with a row for each file before and after a snapshot and for its delete
//! files. The shared state is
//!
//! ```json
//! {
//!   "read": {…}, "result": {…},                              // see `context`
//!   "pairing": {"columns": 3, "identifiers": [0], "across-commits": false},
//!   "changes": [{"ordinal": 0, "snapshot-id": 17, "before": true, "after": false}]
//! }
//! ```

use std::sync::Arc;

use frazil_core::context::Budget;
use frazil_core::envelope::{self, EnvelopeKind};
use frazil_core::error::{Error, Result};
use frazil_core::storage::Storage;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::changes::{ChangeStage, ChangeTask, Pairing};
use super::super::context::ReadContext;
use super::{context, rows};

const STAGE: EnvelopeKind = EnvelopeKind { name: "stage of changes", key: "frazil.changes", version: "1" };

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Wire {
    read: Box<RawValue>,
    result: Box<RawValue>,
    pairing: Option<WirePairing>,
    changes: Vec<WireChange>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct WirePairing {
    columns: usize,
    identifiers: Vec<usize>,
    across_commits: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct WireChange {
    ordinal: i32,
    snapshot_id: i64,
    before: bool,
    after: bool,
}

/// Serialises a stage.
///
/// # Errors
/// `Internal` for values that JSON cannot represent.
pub fn write(stage: &ChangeStage) -> Result<Vec<u8>> {
    let raw = |read: &ReadContext| RawValue::from_string(context::to_json(read)?).map_err(unwritten);
    let wire = Wire {
        read: raw(&stage.read)?,
        result: raw(&stage.result)?,
        pairing: stage.pairing.clone().map(|Pairing { columns, identifiers, across_commits }| WirePairing {
            columns,
            identifiers,
            across_commits,
        }),
        changes: stage.tasks.iter().map(WireChange::of).collect(),
    };
    let files: Vec<_> = stage.tasks.iter().flat_map(|task| [&task.before, &task.after]).flatten().cloned().collect();
    envelope::seal(STAGE, serde_json::to_string(&wire).map_err(unwritten)?, rows::write(&files)?)
}

/// Deserialises a stage that [`write`] serialised; files are read from `storage`.
///
/// # Errors
/// `Unsupported` for another version; `CorruptData` for any other invalid input.
pub fn read(bytes: &[u8], storage: &Arc<dyn Storage>, budget: &Budget) -> Result<ChangeStage> {
    let (wire, batch) = envelope::open(STAGE, bytes)?;
    let wire: Wire = serde_json::from_str(&wire).map_err(|e| malformed().caused_by(e))?;
    let context = |json: &RawValue| {
        let read = context::from_json(json.get(), storage.clone(), budget.clone());
        read.map(Arc::new).map_err(|e| malformed().caused_by(e))
    };
    let (read, result) = (context(&wire.read)?, context(&wire.result)?);
    let mut files = rows::read(&batch, &read)?.into_iter();
    let mut tasks = Vec::with_capacity(wire.changes.len());
    for change in wire.changes {
        let mut side = |is_there: bool| if is_there { files.next().map(Some).ok_or_else(malformed) } else { Ok(None) };
        let (before, after) = (side(change.before)?, side(change.after)?);
        if before.is_none() && after.is_none() {
            return Err(malformed());
        }
        tasks.push(ChangeTask { ordinal: change.ordinal, snapshot_id: change.snapshot_id, before, after });
    }
    if files.next().is_some() {
        return Err(malformed());
    }
    let pairing = wire.pairing.map(|WirePairing { columns, identifiers, across_commits }| Pairing {
        columns,
        identifiers,
        across_commits,
    });
    Ok(ChangeStage { read, result, pairing, tasks })
}

impl WireChange {
    fn of(task: &ChangeTask) -> Self {
        Self {
            ordinal: task.ordinal,
            snapshot_id: task.snapshot_id,
            before: task.before.is_some(),
            after: task.after.is_some(),
        }
    }
}

fn malformed() -> Error {
    Error::corrupt("the context of a stage of changes is malformed")
}

fn unwritten(error: serde_json::Error) -> Error {
    Error::internal("a stage of changes cannot be serialised").caused_by(error)
}

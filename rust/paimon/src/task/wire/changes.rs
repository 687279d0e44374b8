//! Defines the wire form of a stage of changes.
//!
//! The form is an envelope of one record batch, with a row for each side of the stage and the wire form of its splits.
//! The shared state is
//!
//! ```json
//! {
//!   "ordinal": 0, "snapshot-id": 17,
//!   "fields": [0, 3], "filter": "k > 10",     // what is returned: field ids and names of the schema of the splits
//!   "identifiers": [0],                       // positions of columns; null if rows are not paired
//!   "updates": true
//! }
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray};
use frazil_core::envelope::{self, EnvelopeKind};
use frazil_core::error::{Error, Result};
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::bind::bind;
use frazil_core::storage::Storage;
use serde::{Deserialize, Serialize};

use crate::context::output::{leaf_ids, pruned};
use crate::task::SplitTask;
use crate::task::changes::{ChangeStage, Side, WantedChanges};

const STAGE: EnvelopeKind = EnvelopeKind { name: "stage of changes", key: "frazil.paimon.changes", version: "1" };

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Wire {
    ordinal: i32,
    snapshot_id: i64,
    fields: Vec<i32>,
    filter: String,
    identifiers: Option<Vec<usize>>,
    updates: bool,
}

/// Writes a stage.
///
/// # Errors
/// As for [`SplitTask::to_bytes`]; `Internal` for values that JSON cannot hold.
pub fn write(stage: &ChangeStage) -> Result<Vec<u8>> {
    let wire = Wire {
        ordinal: stage.ordinal,
        snapshot_id: stage.snapshot_id,
        fields: leaf_ids(&stage.wanted.fields),
        filter: stage.wanted.filter.to_string(),
        identifiers: stage.pairing.clone(),
        updates: stage.has_updates,
    };
    let wire =
        serde_json::to_string(&wire).map_err(|e| Error::internal("a stage cannot be serialized").caused_by(e))?;
    let (mut names, mut contents) = (Vec::new(), Vec::new());
    for side in Side::ALL {
        let splits = stage.splits.iter().filter(|(of, _)| *of == side).map(|(_, split)| split.clone());
        let splits: Vec<SplitTask> = splits.collect();
        if !splits.is_empty() {
            names.push(side.name());
            contents.push(SplitTask::to_bytes(&splits)?);
        }
    }
    let names: ArrayRef = Arc::new(StringArray::from(names));
    let contents: ArrayRef = Arc::new(BinaryArray::from_iter_values(contents));
    envelope::seal(STAGE, wire, RecordBatch::try_from_iter([("side", names), ("splits", contents)])?)
}

/// Reads a stage that [`write`] wrote. Files are read from `storage`.
///
/// # Errors
/// `Unsupported` for another version; `CorruptData` for anything else that [`write`] did not write.
pub fn read(bytes: &[u8], storage: &Arc<dyn Storage>) -> Result<ChangeStage> {
    let (wire, batch) = envelope::open(STAGE, bytes)?;
    let wire: Wire = serde_json::from_str(&wire).map_err(|e| malformed().caused_by(e))?;
    let column = |at: usize| batch.columns().get(at).ok_or_else(malformed);
    let names = column(0)?.as_string_opt::<i32>().ok_or_else(malformed)?;
    let contents = column(1)?.as_binary_opt::<i32>().ok_or_else(malformed)?;
    let mut splits = Vec::new();
    for row in 0..batch.num_rows() {
        let side = Side::ALL.into_iter().find(|side| names.is_valid(row) && side.name() == names.value(row));
        let side = side.ok_or_else(malformed)?;
        let of_side = SplitTask::from_bytes(contents.value(row), storage.clone())?;
        splits.extend(of_side.into_iter().map(|split| (side, split)));
    }
    let (_, first) = splits.first().ok_or_else(malformed)?;
    let schema = first.read.context.schema.clone();
    if wire.identifiers.iter().flatten().any(|at| *at >= schema.fields.len()) {
        return Err(malformed());
    }
    let ids: HashSet<i32> = wire.fields.into_iter().collect();
    let filter = bind(&Expression::filter(&wire.filter)?, schema.as_ref(), true)?;
    Ok(ChangeStage {
        ordinal: wire.ordinal,
        snapshot_id: wire.snapshot_id,
        splits,
        wanted: Arc::new(WantedChanges { fields: pruned(&schema.fields, &ids), filter }),
        pairing: wire.identifiers,
        has_updates: wire.updates,
    })
}

fn malformed() -> Error {
    Error::corrupt("the wire form of a stage of changes is malformed")
}

//! Checks that the columns that a change references are the columns that the user saw, and not later columns with the
//! same names.

use frazil_core::error::{Error, ErrorKind, Result};

use super::column_path::ColumnPath;
use super::term::Term;
use super::{Evolution, SchemaOperation, SpecOperation};
use crate::spec::schema::Schema;
use crate::spec::table_metadata::TableMetadata;

/// Rejects a change that references a column which was replaced since its user loaded the table.
///
/// # Errors
/// `CommitConflict`, with the column.
pub(super) fn check(change: &Evolution, known: &TableMetadata, newest: &TableMetadata) -> Result<()> {
    let (known, newest) = (known.current_schema()?, newest.current_schema()?);
    if known == newest {
        return Ok(());
    }
    let same_path = |path: &ColumnPath, case_sensitive| {
        let id = |schema: &Schema| path.find(schema, case_sensitive).ok().flatten().map(|found| found.field().id);
        same(id(known), id(newest), || path.text())
    };
    let same_term = |term: &Term, case_sensitive| {
        let id = |schema: &Schema| term.resolve(schema, case_sensitive).ok().map(|found| found.source_id);
        same(id(known), id(newest), || term.column.clone().unwrap_or_else(|| term.transform.clone()))
    };
    match change {
        Evolution::Schema(change) => {
            let mut paths = change.operations.iter().flat_map(paths);
            paths.try_for_each(|path| same_path(path, change.case_sensitive))
        }
        Evolution::Spec(change) => change.operations.iter().try_for_each(|operation| match operation {
            SpecOperation::AddField { term, .. } => same_term(term, change.case_sensitive),
            SpecOperation::RemoveField { .. } | SpecOperation::RenameField { .. } => Ok(()),
        }),
        Evolution::SortOrder(change) => {
            change.terms.iter().try_for_each(|key| same_term(&key.term, change.case_sensitive))
        }
        Evolution::Properties(_) | Evolution::Snapshots(_) | Evolution::Expire(_) | Evolution::Statistics(_) => Ok(()),
    }
}

/// Returns the columns that an operation references.
fn paths(operation: &SchemaOperation) -> Vec<&ColumnPath> {
    use SchemaOperation as O;
    match operation {
        O::DeleteColumn { path }
        | O::RenameColumn { path, .. }
        | O::UpdateColumn { path, .. }
        | O::SetWriteDefault { path, .. }
        | O::MoveFirst { path } => vec![path],
        O::MoveBefore { path, other } | O::MoveAfter { path, other } => vec![path, other],
        O::SetIdentifierFields { paths } => paths.iter().collect(),
        O::AddColumn { .. } | O::UnionByName { .. } => Vec::new(),
    }
}

fn same(known: Option<i32>, newest: Option<i32>, name: impl FnOnce() -> String) -> Result<()> {
    match (known, newest) {
        (Some(known), Some(newest)) if known != newest => {
            let name = name();
            let message = format!("`{name}` is now a different column: another writer replaced it");
            Err(Error::new(ErrorKind::CommitConflict, message)
                .with("column", name)
                .hint("load the table again and check its schema before you retry"))
        }
        _ => Ok(()),
    }
}

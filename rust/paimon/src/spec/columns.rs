//! The names of system columns in files and reads (spec: "Data File", documentation: "System Tables").

/// The number that orders the records of a key.
pub(crate) const SEQUENCE_NUMBER: &str = "_SEQUENCE_NUMBER";

/// The row kind as a number, in files.
pub(crate) const VALUE_KIND: &str = "_VALUE_KIND";

/// The row kind as a string, in rows that are read or written.
pub(crate) const ROW_KIND: &str = "_ROW_KIND";

/// The id of a row in the table (row tracking).
pub(crate) const ROW_ID: &str = "_ROW_ID";

/// The position of a row in its file, in merges and in reads of files that are rewritten.
pub(crate) const POSITION: &str = "_POSITION";

/// The row kind as a string in the audit log.
pub(crate) const AUDIT_ROW_KIND: &str = "rowkind";

/// The prefix of the names of key columns in files.
pub(crate) const KEY_PREFIX: &str = "_KEY_";

/// The names that table columns cannot have, in addition to those that start with [`KEY_PREFIX`].
pub(crate) const RESERVED: [&str; 5] = [SEQUENCE_NUMBER, VALUE_KIND, "_LEVEL", ROW_ID, AUDIT_ROW_KIND];

/// Returns whether files use this name for a system column.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || name.starts_with(KEY_PREFIX)
}

//! Names that files and reads give to columns of their own (spec: "Data File", documentation: "System Tables").

/// The number by which the newer of two records of a key is known.
pub(crate) const SEQUENCE_NUMBER: &str = "_SEQUENCE_NUMBER";

/// The kind of a record as a number, in files.
pub(crate) const VALUE_KIND: &str = "_VALUE_KIND";

/// The kind of a row as text, in rows that are read or are to be written.
pub(crate) const ROW_KIND: &str = "_ROW_KIND";

/// The number of a row in the table (row tracking).
pub(crate) const ROW_ID: &str = "_ROW_ID";

/// The kind of a row as text in the audit log.
pub(crate) const AUDIT_ROW_KIND: &str = "rowkind";

/// The start of the names of key columns in files.
pub(crate) const KEY_PREFIX: &str = "_KEY_";

/// Names that a column of a table cannot have, besides those that start with [`KEY_PREFIX`].
pub(crate) const RESERVED: [&str; 5] = [SEQUENCE_NUMBER, VALUE_KIND, "_LEVEL", ROW_ID, AUDIT_ROW_KIND];

/// Whether files give this name to a column of their own.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || name.starts_with(KEY_PREFIX)
}

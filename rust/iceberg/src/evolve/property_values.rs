//! Checks of new table properties: a bad value would fail every later write.

use frazil_core::error::{Error, Result};
use frazil_core::storage::options::is_option;

use crate::properties;
use crate::spec::name_mapping::NameMapping;
use crate::spec::schema::Schema;

/// What options of other libraries' storage begin with; they hold credentials too.
const STORAGE_OF_OTHERS: [&str; 5] = ["fs.", "hadoop.", "spark.hadoop.", "oss.", "hdfs."];

/// Rejects options of the storage: whoever can read the table would read its credentials.
fn reject_storage_option(key: &str) -> Result<()> {
    let lower = key.to_ascii_lowercase();
    if !is_option(&lower) && !STORAGE_OF_OTHERS.iter().any(|prefix| lower.starts_with(prefix)) {
        return Ok(());
    }
    Err(Error::invalid(format!("`{key}` is an option of the storage, not a property of the table")).hint(
        "pass it as storage={...} to load_table or create_table, or to load_catalog; it is not written to the table",
    ))
}

/// Refuses a value that the property does not take; any value goes for properties that are not known.
///
/// # Errors
/// `InvalidArgument` saying what is expected; for options of the storage.
pub(super) fn check(key: &str, value: &str, schema: &Schema) -> Result<()> {
    reject_storage_option(key)?;
    let Some((property, column)) = properties::find(key) else { return Ok(()) };
    if *property == properties::NAME_MAPPING {
        return NameMapping::from_json(value).map(drop).map_err(|e| Error::invalid(e.message()));
    }
    if let Some(column) = column {
        schema.find(column, true)?.ok_or_else(|| schema.no_such_column(column))?;
    }
    property.check(value)
}

//! Checks new table properties: an invalid value would make every later write fail.

use frazil_core::error::{Error, Result};
use frazil_core::storage::options::is_option;

use crate::properties;
use crate::spec::name_mapping::NameMapping;
use crate::spec::schema::Schema;

/// The prefixes of storage options of other libraries. Their values may be credentials.
const STORAGE_OF_OTHERS: [&str; 5] = ["fs.", "hadoop.", "spark.hadoop.", "oss.", "hdfs."];

/// Rejects storage options: anyone who can read the table could read its credentials.
fn reject_storage_option(key: &str) -> Result<()> {
    let lower = key.to_ascii_lowercase();
    if !is_option(&lower) && !STORAGE_OF_OTHERS.iter().any(|prefix| lower.starts_with(prefix)) {
        return Ok(());
    }
    Err(Error::invalid(format!("`{key}` is a storage option, not a table property"))
        .hint("pass it as storage={...} to load_table, create_table or load_catalog; it is not written to the table"))
}

/// Rejects an invalid value of a known property; unknown properties may have any value.
///
/// # Errors
/// `InvalidArgument` with the expected values; also for storage options.
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

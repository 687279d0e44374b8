//! Evaluates the file index of a data file for the rows that a scan selects (documentation: "File Index").

use bytes::Bytes;
use frazil_core::error::Result;
use frazil_core::sql::predicate::BoundPredicate;

use crate::context::ReadContext;
use crate::context::altered_columns::is_altered;
use crate::file_index::{FileIndex, IndexSelection, IndexedColumn};
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::types::DataField;

/// The maximum length of an index file that is read.
const INDEX_LIMIT_BYTES: u64 = 256 << 20;

/// Returns the rows of a file that may match. `path` is the location of the file. An index that is not in the manifest
/// is next to the file. An index that does not decode selects all rows.
///
/// # Errors
/// The errors of reading the index.
pub(super) fn selection(read: &ReadContext, file: &DataFileMeta, path: &str) -> Result<IndexSelection> {
    if read.filter == BoundPredicate::True || !read.options.boolean("file-index.read.enabled", true)? {
        return Ok(IndexSelection::All);
    }
    let bytes = match (&file.embedded_file_index, file.extra_files.iter().find(|name| is_index(name))) {
        (Some(bytes), _) => Bytes::from(bytes.clone()),
        (None, Some(name)) => {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            read.files.read(&format!("{folder}/{name}"), INDEX_LIMIT_BYTES)?
        }
        (None, None) => return Ok(IndexSelection::All),
    };
    let (Ok(index), Ok(rows)) = (FileIndex::parse(bytes), usize::try_from(file.row_count)) else {
        return Ok(IndexSelection::All);
    };
    let schema = read.file_schema(file.schema_id)?;
    let column = |id| {
        let by_id = |fields: &[DataField]| fields.iter().find(|field| field.id == id).cloned();
        let (written, wanted) = (by_id(&schema.fields)?, by_id(&read.schema.fields)?);
        if is_altered(&file.file_name, file.schema_id, &written.data_type) {
            return None;
        }
        let (file_type, is_replaced) = (written.data_type, file.schema_id > 0);
        Some(IndexedColumn { name: written.name, file_type, read_type: wanted.data_type, is_replaced })
    };
    Ok(index.evaluate(&read.filter, rows, &column))
}

fn is_index(file_name: &str) -> bool {
    matches!(file_name.rsplit_once('.'), Some((_, "index")))
}

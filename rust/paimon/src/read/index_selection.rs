//! What the file index of a data file says of the rows that a scan wants (documentation: "File Index").

use bytes::Bytes;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::predicate::BoundPredicate;

use crate::file_index::{FileIndex, IndexedColumn, Selection};
use crate::scan::context::ReadContext;
use crate::spec::data_file_meta::DataFileMeta;

/// An index file is not read when it is longer than this.
const INDEX_LIMIT_BYTES: u64 = 256 << 20;

/// The rows of a file that may match. `path` is where the file lies: an index that is not in the manifest lies beside it.
///
/// # Errors
/// Those of reading the index; `CorruptDataFile` naming it when it does not decode.
pub(super) fn selection(read: &ReadContext, file: &DataFileMeta, path: &str) -> Result<Selection> {
    if read.filter == BoundPredicate::True || !read.options.boolean("file-index.read.enabled", true)? {
        return Ok(Selection::All);
    }
    let (bytes, location) = match (&file.embedded_file_index, file.extra_files.iter().find(|n| n.ends_with(".index"))) {
        (Some(bytes), _) => (Bytes::from(bytes.clone()), path.to_string()),
        (None, Some(name)) => {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let location = format!("{folder}/{name}");
            (read.files.read(&location, INDEX_LIMIT_BYTES)?, location)
        }
        (None, None) => return Ok(Selection::All),
    };
    let schema = read.file_schema(file.schema_id)?;
    let column = |id| {
        let field = schema.fields.iter().find(|field| field.id == id)?;
        Some(IndexedColumn { name: field.name.clone(), file_type: field.data_type.clone() })
    };
    let named = |e: Error| e.corrupt_as(ErrorKind::CorruptDataFile).with("file", &location);
    FileIndex::parse(bytes).and_then(|index| index.evaluate(&read.filter, &column)).map_err(named)
}

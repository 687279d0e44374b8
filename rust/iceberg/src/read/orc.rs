//! ORC files that pyarrow refuses (spec: appendix A, "ORC").

use std::collections::HashMap;

use bytes::Bytes;
use frazil_core::error::{ErrorKind, Result};
use frazil_core::orc::OrcFile;

/// Opens an ORC data file whose timestamps do not fit 64-bit nanoseconds; its schema and batches suit
/// [`super::project::Projector`] as those of pyarrow do.
///
/// # Errors
/// `CorruptDataFile`; `Unsupported` for unions and LZO.
pub fn open_orc(bytes: Bytes) -> Result<OrcFile> {
    let is_nanos = |attributes: &HashMap<String, String>| {
        attributes.get("iceberg.timestamp-unit").is_some_and(|unit| unit.eq_ignore_ascii_case("NANOS"))
    };
    OrcFile::open(bytes, &is_nanos).map_err(|error| error.corrupt_as(ErrorKind::CorruptDataFile))
}

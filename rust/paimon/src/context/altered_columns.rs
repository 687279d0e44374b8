//! Identifies columns whose statistics and indexes differ from the values that are read.
//!
//! | format | type | written | read |
//! |---|---|---|---|
//! | ORC | CHAR(n) | with trailing spaces; in statistics padded to n | without trailing spaces |
//! | ORC | timestamps before 1582-10-15 | days of one calendar | shifted by the days between the two calendars |
//! | ORC | timestamps before 1900 | by the standard time of the writer's zone | shifted to its local mean time |
//! | ORC | TIMESTAMP_LTZ | in statistics by the writer's zone | in UTC |
//! | ORC | DATE before 1900 | in statistics possibly off by a day, depending on the writer's zone | as stored |
//! | ORC | timestamps in the second before 1970 | | a second later if they have milliseconds (observed in Java 1.4.2) |
//!
//! When Java compacts a column whose type was changed, it stores the cast values. Values outside the range of the new
//! type are read differently, while statistics and indexes describe the stored values:
//!
//! | old type | new type | stored | read |
//! |---|---|---|---|
//! | TIMESTAMP before 1970 | TIME | negative | wrapped into the day |
//! | BYTES | STRING | the bytes | U+FFFD in place of invalid UTF-8, see [`crate::scan::replaced`] |
//!
//! No file may be skipped because of such statistics and indexes.

use super::file_format::FileFormat;
use crate::spec::types::{DataType, TypeRoot};

/// Returns whether the values of a type read from a file of a schema may differ from those in statistics and indexes.
pub(crate) fn is_altered(file_name: &str, schema_id: i64, data_type: &DataType) -> bool {
    if matches!(data_type.root, TypeRoot::Time(_)) {
        return schema_id > 0;
    }
    let altered =
        matches!(data_type.root, TypeRoot::Char(_) | TypeRoot::Timestamp(_) | TypeRoot::LocalZonedTimestamp(_));
    altered && is_orc(file_name)
}

/// Returns whether a data file is ORC.
pub(crate) fn is_orc(file_name: &str) -> bool {
    FileFormat::of_file_name(file_name) == Some(FileFormat::Orc)
}

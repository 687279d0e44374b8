//! Statistics and indexes of values that are read back as others.
//!
//! | format | type | written | read |
//! |---|---|---|---|
//! | ORC | CHAR(n) | with the spaces at its end; in statistics padded to n | without spaces at its end |
//! | ORC | timestamps before 1582-10-15 | days of one calendar | moved by the days between two calendars |
//! | ORC | timestamps before 1900 | by the standard time of the writer's zone | moved to its local mean time |
//! | ORC | TIMESTAMP_LTZ | in statistics by the writer's zone | in UTC |
//! | ORC | DATE before 1900 | in statistics perhaps the day before or after, by the writer's zone | as it is |
//! | ORC | timestamps in the second before 1970 | | a second later, where they have milliseconds (seen of Java 1.4.2) |
//!
//! A compaction by Java stores the values of a column that has another type now as it casts them. Those that the type
//! does not have are others when they are read, and statistics and indexes have the stored ones:
//!
//! | was | is | stored | read |
//! |---|---|---|---|
//! | TIMESTAMP before 1970 | TIME | negative | wrapped into the day |
//! | BYTES | STRING | the bytes | U+FFFD in place of what is not UTF-8, see [`crate::scan::replaced`] |
//!
//! Nothing of this may leave a file out.

use super::file_format::FileFormat;
use crate::spec::types::{DataType, TypeRoot};

/// Whether a file of a schema may give other values of a type back than statistics and indexes have.
pub(crate) fn is_altered(file_name: &str, schema_id: i64, data_type: &DataType) -> bool {
    if matches!(data_type.root, TypeRoot::Time(_)) {
        return schema_id > 0;
    }
    let altered =
        matches!(data_type.root, TypeRoot::Char(_) | TypeRoot::Timestamp(_) | TypeRoot::LocalZonedTimestamp(_));
    altered && is_orc(file_name)
}

/// Whether a data file is ORC.
pub(crate) fn is_orc(file_name: &str) -> bool {
    FileFormat::of_file_name(file_name) == Some(FileFormat::Orc)
}

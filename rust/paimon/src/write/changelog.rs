//! The settings of changelog files, which writers (`changelog-producer` = `input`) or compactions write. Writers write
//! their records before merging, sorted by key.

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::error::Result;

use super::file::{EntrySettings, FileSpec};
use super::path::DataFilePaths;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::table::Table;

/// The default prefix of changelog file names (option `changelog-file.prefix`).
const PREFIX: &str = "changelog-";

/// The options of data files, the changelog options that replace them, and the options to remove if they are replaced.
const OPTIONS: [(&str, &str, &[&str]); 4] = [
    ("data-file.prefix", "changelog-file.prefix", &[]),
    ("file.format", "changelog-file.format", &["file.format.per.level"]),
    ("file.compression", "changelog-file.compression", &["file.compression.per.level"]),
    ("metadata.stats-mode", "changelog-file.stats-mode", &[]),
];

/// The settings of changelog files.
#[derive(Debug)]
pub(crate) struct Changelog {
    pub(crate) spec: FileSpec,
    pub(crate) entries: Arc<EntrySettings>,
    pub(crate) paths: DataFilePaths,
}

impl Changelog {
    /// Creates the settings for files of a level. File names contain `name`, or a new UUID by default.
    ///
    /// # Errors
    /// As for [`FileSpec::from_options`] and [`EntrySettings::try_new`].
    pub(crate) fn try_new(
        table: &Table,
        options: &Options,
        (level, utc_offset_ms): (i32, i64),
        name: Option<&str>,
    ) -> Result<Self> {
        let options = of_changelog(options);
        Ok(Self {
            spec: FileSpec::from_options(&options, Some(level))?,
            entries: Arc::new(EntrySettings::try_new(table.schema(), &options, utc_offset_ms)?),
            paths: DataFilePaths::try_new(table.files(), table.location(), &options)?.named(name),
        })
    }
}

/// Returns whether writers write changelog files: the table has a primary key, and `changelog-producer` is `input`.
pub(super) fn is_of_input(schema: &TableSchema, options: &Options) -> bool {
    let producer = options.text("changelog-producer").unwrap_or_default();
    !schema.primary_keys.is_empty() && producer.trim().eq_ignore_ascii_case("input")
}

/// Returns whether writers or compactions write changelog files.
pub(super) fn has_changelog(schema: &TableSchema, options: &Options) -> bool {
    let producer = options.text("changelog-producer").unwrap_or_default().trim();
    !schema.primary_keys.is_empty() && !producer.is_empty() && !producer.eq_ignore_ascii_case("none")
}

/// Returns table options for writing changelog files: options of changelog files replace the options of data files.
pub(super) fn of_changelog(options: &Options) -> Options {
    let mut all: BTreeMap<String, String> = options.all().clone();
    all.insert("data-file.prefix".to_string(), PREFIX.to_string());
    for (of_data, own, replaced) in OPTIONS {
        let Some(value) = options.text(own) else { continue };
        all.insert(of_data.to_string(), value.to_string());
        for name in replaced {
            all.remove(*name);
        }
    }
    Options::new(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Options {
        Options::new(pairs.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect())
    }

    #[test]
    fn changelog_files_have_options_of_their_own() {
        let given = options(&[
            ("file.format", "orc"),
            ("file.format.per.level", "0:avro"),
            ("data-file.prefix", "part-"),
            ("metadata.stats-mode", "full"),
        ]);
        let found = of_changelog(&given);
        assert_eq!(found.text("data-file.prefix"), Some(PREFIX));
        assert_eq!((found.text("file.format"), found.text("file.format.per.level")), (Some("orc"), Some("0:avro")));
        let own = [
            ("changelog-file.format", "parquet"),
            ("changelog-file.prefix", "c-"),
            ("changelog-file.stats-mode", "none"),
        ];
        let own = own.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let found = of_changelog(&given.with(&own));
        assert_eq!((found.text("file.format"), found.text("file.format.per.level")), (Some("parquet"), None));
        assert_eq!((found.text("data-file.prefix"), found.text("metadata.stats-mode")), (Some("c-"), Some("none")));
    }
}

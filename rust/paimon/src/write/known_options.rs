//! Validates the values of options (Java's `CoreOptions`, `OrcOptions` and the options of its Parquet writer).
//!
//! Java parses an option when it is first needed, sometimes only in the middle of a write: a table with an invalid
//! value can be created but not written. Here all values are validated before a table is created and before it is
//! written. Options without a known type may have any value.

use frazil_core::error::{Error, Result};

use super::option_table::Kind::{
    Boolean, Count, Duration, FileName, Integer, Levels, Long, Number, OneOf, Size, StatsMode, StatsModes, Text,
};
use super::option_table::{KNOWN, Kind, OF_COLUMNS};
use super::stats::Mode;
use crate::spec::json::shown;
use crate::spec::options::Options;

/// Rejects options with values that Java cannot parse.
///
/// # Errors
/// `InvalidArgument` naming the option, its value, and the expected form.
pub(super) fn check_values(options: &Options) -> Result<()> {
    for (name, text) in options.all() {
        let Some(kind) = kind_of(name) else { continue };
        if !kind.accepts(options, name, text)? {
            let message = format!("the option `{name}` is `{}`, expected {}", shown(text), kind.expected());
            return Err(Error::invalid(message));
        }
    }
    Ok(())
}

fn kind_of(name: &str) -> Option<Kind> {
    let find = |table: &[(&str, Kind)], name: &str| {
        table.binary_search_by_key(&name, |(known, _)| known).ok().and_then(|at| table.get(at)).map(|(_, kind)| *kind)
    };
    match name.strip_prefix("fields.").and_then(|rest| rest.rsplit_once('.')) {
        Some((_, name)) => find(OF_COLUMNS, name),
        None => find(KNOWN, name),
    }
}

impl Kind {
    /// Returns whether an option of this type accepts a value.
    ///
    /// # Errors
    /// `InvalidArgument` if a parser reports a problem.
    fn accepts(self, options: &Options, name: &str, text: &str) -> Result<bool> {
        Ok(match self {
            Boolean => is_one_of(text, &["true", "false"]),
            Integer => text.parse::<i32>().is_ok(),
            Count => text.parse::<i32>().is_ok_and(|number| number >= 1),
            Long => text.parse::<i64>().is_ok(),
            Number => options.number(name)?.is_some(),
            Size => options.size_bytes(name)?.is_some(),
            Duration => options.duration(name)?.is_some(),
            OneOf(words) => is_one_of(text, words),
            StatsMode => Mode::parse(name, text).map(|_| true)?,
            StatsModes => levels(text, |value| Mode::parse(name, value).is_ok()),
            Levels => levels(text, |value| !value.is_empty()),
            Text => true,
            FileName => !text.contains(|c: char| matches!(c, '/' | '\\' | ':') || c.is_control()),
        })
    }

    fn expected(self) -> String {
        match self {
            Boolean => "true or false".to_string(),
            Integer => "a 32-bit integer".to_string(),
            Count => "an integer that is at least 1".to_string(),
            Long => "a 64-bit integer".to_string(),
            Number => "a number".to_string(),
            Size => "a size such as 128 mb".to_string(),
            Duration => "a duration such as 10 s".to_string(),
            OneOf(words) => format!("one of {}", words.join(", ")),
            StatsMode => "a statistics mode".to_string(),
            StatsModes => "levels with statistics modes, such as 0:none,1:full".to_string(),
            Levels => "levels with their values, such as 0:avro,5:parquet".to_string(),
            FileName => "the prefix of a file name, without `/`, `\\`, `:` and control characters".to_string(),
            Text => "a string".to_string(),
        }
    }
}

fn is_one_of(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Returns whether a string has a value for each of several distinct levels.
fn levels(text: &str, is_value: impl Fn(&str) -> bool) -> bool {
    let mut seen = Vec::new();
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.into_iter().all(|entry| {
        let parts = entry.split_once(':').map(|(level, value)| (level.trim().parse::<i32>(), value.trim()));
        let Some((Ok(level), value)) = parts else { return false };
        let is_new = !seen.contains(&level);
        seen.push(level);
        is_new && !value.contains(':') && is_value(value)
    })
}

#[cfg(test)]
mod tests {
    use frazil_core::error::ErrorKind;

    use super::*;

    fn checked(name: &str, value: &str) -> Result<()> {
        check_values(&Options::new([(name.to_string(), value.to_string())].into()))
    }

    #[test]
    fn names_are_sorted() {
        for table in [KNOWN, OF_COLUMNS] {
            assert!(table.iter().map(|(name, _)| name).is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn values_are_those_that_java_parses() {
        for (name, accepted, refused) in [
            ("write-only", vec!["true", "FALSE"], vec!["yes", "", " true", "1"]),
            ("num-levels", vec!["3", "+3"], vec!["x", "", " 3", "3.0", "2147483648"]),
            ("snapshot.num-retained.min", vec!["1"], vec!["0", "-1", "many"]),
            ("scan.snapshot-id", vec!["9223372036854775807"], vec!["9223372036854775808", "a"]),
            ("compaction.delete-ratio-threshold", vec!["0.2", "1", "1e-3"], vec!["x", "", "NaN", "0,2"]),
            ("write-buffer-size", vec!["256 mb", "1", " 1GB "], vec!["lots", "", "-1", "1.5 mb", "9000000 tb"]),
            ("snapshot.time-retained", vec!["1 h", "5", "2DAYS"], vec!["soon", "", "-1 s", "1 week"]),
            ("merge-engine", vec!["Deduplicate", "first-row"], vec!["mine", "", "first_row"]),
            ("metadata.stats-mode", vec!["none", "FULL", "truncate(1)"], vec!["truncate(0)", "truncate(-1)", "most"]),
            ("changelog-file.stats-mode", vec!["counts"], vec!["truncate(0)", "truncate()"]),
            ("fields.a.b.stats-mode", vec!["counts"], vec!["truncate(99999999999)"]),
            ("fields.a.ignore-retract", vec!["True"], vec!["perhaps"]),
            ("fields.a,b.sequence-group", vec!["anything"], vec![]),
            (
                "metadata.stats-mode.per.level",
                vec!["0:none, 1:full", ""],
                vec!["none", "x:none", "0:most", "0:full,0:full"],
            ),
            ("file.format.per.level", vec!["0:avro,3 : orc"], vec!["avro", "a:avro", "0:avro:orc", "0:"]),
            ("data-file.prefix", vec!["data-", "", "ü %"], vec!["a/b-", "/", "a:b", "a\\b", "a\nb", "../"]),
            ("changelog-file.prefix", vec!["c-"], vec!["c/d"]),
            ("parquet.page.size", vec!["1024"], vec!["x", "1 kb"]),
            ("no-such-option", vec!["anything", ""], vec![]),
            ("owner", vec!["x/y"], vec![]),
        ] {
            for value in accepted {
                checked(name, value).unwrap_or_else(|error| panic!("{name} = {value}: {error}"));
            }
            for value in refused {
                let error = checked(name, value).expect_err(&format!("{name} = {value}"));
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name} = {value}: {error}");
                assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
            }
        }
    }
}

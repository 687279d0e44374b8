//! Parses table options (spec: "Configuration"), a map of strings, into typed values with the documented defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use frazil_core::error::{Error, Result};

/// The options of a table, possibly overridden by those of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Creates the options.
    pub fn new(options: BTreeMap<String, String>) -> Self {
        Self(options)
    }

    /// Returns these options, overridden by the options in `others`.
    #[must_use]
    pub fn with(mut self, others: &BTreeMap<String, String>) -> Self {
        self.0.extend(others.iter().map(|(name, value)| (name.clone(), value.clone())));
        self
    }

    /// Returns all options as strings.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Returns the string value of an option, or None if it is not set.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a Boolean option, or `default` if it is not set.
    ///
    /// # Errors
    /// `InvalidArgument` for anything but `true` and `false`, which are case-insensitive.
    pub fn boolean(&self, name: &str, default: bool) -> Result<bool> {
        match self.text(name).map(str::trim) {
            None => Ok(default),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(refused(name, text, "true or false")),
        }
    }

    /// Returns an integer option, or None if it is not set.
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn integer(&self, name: &str) -> Result<Option<i64>> {
        let parse = |text: &str| text.trim().parse().map_err(|_| refused(name, text, "an integer"));
        self.text(name).map(parse).transpose()
    }

    /// Returns a finite number, or None if it is not set.
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        let parse = |text: &str| text.trim().parse().ok().filter(|number: &f64| number.is_finite());
        self.text(name).map(|text| parse(text).ok_or_else(|| refused(name, text, "a number"))).transpose()
    }

    /// Returns a size such as `128 mb` in bytes, or None if it is not set. A number without a unit is in bytes.
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn size_bytes(&self, name: &str) -> Result<Option<u64>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let trimmed = text.trim().to_ascii_lowercase();
        let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = trimmed.split_at(digits);
        let factor: u64 = match unit.trim() {
            "" | "b" | "bytes" => 1,
            "k" | "kb" | "kibibytes" => 1 << 10,
            "m" | "mb" | "mebibytes" => 1 << 20,
            "g" | "gb" | "gibibytes" => 1 << 30,
            "t" | "tb" | "tebibytes" => 1 << 40,
            _ => return Err(refused(name, text, "a size such as 128 mb")),
        };
        let size = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        // Sizes have 63 bits in Java.
        let size = size.filter(|size| i64::try_from(*size).is_ok());
        size.map(Some).ok_or_else(|| refused(name, text, "a size such as 128 mb"))
    }

    /// Returns a duration such as `10 s`, or None if it is not set. A number without a unit is in milliseconds.
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn duration(&self, name: &str) -> Result<Option<Duration>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let trimmed = text.trim().to_ascii_lowercase();
        let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = trimmed.split_at(digits);
        let unit_ns: u64 = match unit.trim() {
            "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1,
            "µs" | "micro" | "micros" | "microsecond" | "microseconds" => 1_000,
            "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
            "m" | "min" | "minute" | "minutes" => 60 * 1_000_000_000,
            "h" | "hour" | "hours" => 3_600 * 1_000_000_000,
            "d" | "day" | "days" => 86_400 * 1_000_000_000,
            _ => return Err(refused(name, text, "a duration such as 10 s")),
        };
        let number: Option<u64> = number.parse().ok();
        let duration = number.and_then(|number| {
            let ns = u128::from(number) * u128::from(unit_ns);
            // Java limits both the number and its milliseconds to 63 bits.
            i64::try_from(number).ok().and(i64::try_from(ns / 1_000_000).ok())?;
            let seconds = u64::try_from(ns / 1_000_000_000).ok()?;
            Some(Duration::new(seconds, u32::try_from(ns % 1_000_000_000).ok()?))
        });
        duration.map(Some).ok_or_else(|| refused(name, text, "a duration such as 10 s"))
    }

    /// Returns the number of buckets of a partition: -1 for dynamic buckets, -2 for buckets that compaction assigns
    /// later.
    ///
    /// # Errors
    /// `InvalidArgument` for any other number.
    pub fn bucket(&self) -> Result<i32> {
        let bucket = self.integer("bucket")?.unwrap_or(-1);
        let bucket = i32::try_from(bucket).ok().filter(|&bucket| bucket > 0 || bucket == -1 || bucket == -2);
        bucket.ok_or_else(|| refused("bucket", self.text("bucket").unwrap_or_default(), "-2, -1 or above 0"))
    }

    /// Returns a 32-bit integer option, or None if it is not set.
    ///
    /// # Errors
    /// `InvalidArgument` for any other value.
    pub fn integer_32(&self, name: &str) -> Result<Option<i32>> {
        let Some(number) = self.integer(name)? else { return Ok(None) };
        i32::try_from(number)
            .map(Some)
            .map_err(|_| Error::invalid(format!("the option `{name}` is {number}, which is not a 32-bit integer")))
    }

    /// Returns the number of sorted runs of a bucket from which a merge is due (`num-sorted-run.compaction-trigger`).
    ///
    /// # Errors
    /// `InvalidArgument` for a number below 1.
    pub fn compaction_trigger(&self) -> Result<i32> {
        let name = "num-sorted-run.compaction-trigger";
        let trigger = self.integer_32(name)?.unwrap_or(5);
        if trigger < 1 {
            return Err(Error::invalid(format!("the option `{name}` is {trigger}, but must be at least 1")));
        }
        Ok(trigger)
    }

    /// Returns the number of levels of a bucket (`num-levels`).
    ///
    /// # Errors
    /// As for [`Options::compaction_trigger`].
    pub fn levels(&self) -> Result<i32> {
        Ok(self.integer_32("num-levels")?.unwrap_or(self.compaction_trigger()?.saturating_add(1)))
    }

    /// Returns the folder that contains the folders of partitions and buckets, relative to the table
    /// (`data-file.path-directory`): segments separated by `/`, or empty for the table's root folder.
    ///
    /// # Errors
    /// `Unsupported` for a path that is not relative.
    pub fn data_directory(&self) -> Result<String> {
        let name = "data-file.path-directory";
        let text = self.text(name).unwrap_or_default();
        if text.starts_with('/') || text.contains(':') {
            return Err(Error::unsupported(format!(
                "the option `{name}` is `{text}`, which is outside the table and not supported"
            ))
            .hint("only directories relative to the table are supported"));
        }
        // Empty segments are removed, as in Java's `Path`.
        let segments: Vec<&str> = text.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
        Ok(segments.join("/"))
    }

    /// Returns the branch that is read, or None for the main branch.
    pub fn branch(&self) -> Option<&str> {
        self.text("branch").map(str::trim).filter(|name| !name.is_empty() && *name != "main")
    }

    /// Returns the branch from which a batch read takes the partitions that are missing in the branch that is read.
    pub fn fallback_branch(&self) -> Option<&str> {
        self.text("scan.fallback-branch").map(str::trim).filter(|name| !name.is_empty())
    }

    /// Returns the creation time from which data files are read (`scan.mode` from-file-creation-time), in milliseconds
    /// since the epoch.
    ///
    /// # Errors
    /// `InvalidArgument` if the value is not a number.
    pub fn files_created_since_ms(&self) -> Result<Option<i64>> {
        self.integer("scan.file-creation-time-millis")
    }

    /// Returns a list separated by commas; empty if the option is not set.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let parts = self.text(name).into_iter().flat_map(|text| text.split(','));
        parts.map(str::trim).filter(|part| !part.is_empty()).collect()
    }
}

fn refused(name: &str, text: &str, expected: &str) -> Error {
    Error::invalid(format!("the option `{name}` is `{text}`, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(name: &str, value: &str) -> Options {
        Options::new([(name.to_string(), value.to_string())].into())
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("17", 17), ("128 mb", 128 << 20), ("4MB", 4 << 20), ("1 g", 1 << 30), ("64 kb", 64 << 10)]
        {
            assert_eq!(options("x", text).size_bytes("x").unwrap(), Some(bytes), "{text}");
        }
        for text in ["", "mb", "1 parsec", "-1", "9223372036854775808", "99999999999999999999"] {
            assert!(options("x", text).size_bytes("x").is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_units() {
        for (text, ms) in [
            ("10", 10),
            ("10 ms", 10),
            ("2 s", 2_000),
            ("3min", 180_000),
            ("1 H", 3_600_000),
            ("1 day", 86_400_000),
            ("5000 µs", 5),
            ("2000000 nanos", 2),
        ] {
            assert_eq!(options("x", text).duration("x").unwrap(), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "1 week", "-1 s", "1.5 s", "99999999999999999999 s", "9223372036854775807 s"] {
            assert!(options("x", text).duration("x").is_err(), "{text}");
        }
        assert_eq!(Options::default().duration("x").unwrap(), None);
        assert!(options("x", "9223372036854775807 ms").duration("x").unwrap().is_some());
    }

    #[test]
    fn the_data_directory_is_relative_and_has_no_empty_segments() {
        assert_eq!(Options::default().data_directory().unwrap(), "");
        let written =
            [("", ""), ("data", "data"), ("a/b c/", "a/b c"), ("a//b", "a/b"), ("./a/./b", "a/b"), (" d ", " d ")];
        for (text, directory) in written {
            assert_eq!(options("data-file.path-directory", text).data_directory().unwrap(), directory, "{text}");
        }
        for text in ["/data", "s3://bucket/data", "file:/data"] {
            let error = options("data-file.path-directory", text).data_directory().unwrap_err();
            assert_eq!(error.kind(), frazil_core::error::ErrorKind::Unsupported, "{text}");
        }
    }

    #[test]
    fn buckets_are_counted_or_have_a_meaning() {
        assert_eq!(Options::default().bucket().unwrap(), -1);
        for (text, bucket) in [("1", 1), (" 32767", 32767), ("-1", -1), ("-2", -2)] {
            assert_eq!(options("bucket", text).bucket().unwrap(), bucket, "{text}");
        }
        for text in ["0", "-3", "", "many", "2147483648"] {
            assert!(options("bucket", text).bucket().is_err(), "{text}");
        }
    }

    #[test]
    fn main_is_not_reported_as_a_named_branch() {
        assert_eq!(options("branch", "main").branch(), None);
        assert_eq!(options("branch", "b").branch(), Some("b"));
        assert_eq!(options("scan.fallback-branch", "main").fallback_branch(), Some("main"));
    }

    #[test]
    fn missing_options_use_their_defaults() {
        let none = Options::default();
        assert!(none.boolean("x", true).unwrap());
        assert_eq!(none.integer("x").unwrap(), None);
        assert!(none.list("x").is_empty());
        assert_eq!(options("x", " a, b ,,c").list("x"), ["a", "b", "c"]);
        assert!(options("x", "yes").boolean("x", true).is_err());
    }
}

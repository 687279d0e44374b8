//! Chooses external paths: folders outside of the table where new data files are written (documentation: "Data File
//! External Paths", Java's `ExternalPathProvider`).
//!
//! ```text
//! data-file.external-paths   s3://a/x, s3://b/y
//! round-robin                s3://b/y/p=1/bucket-0/data-<uuid>-0.parquet
//!                            s3://a/x/p=1/bucket-0/data-<uuid>-1.parquet
//! entropy-inject             s3://b/y/p=1/bucket-0/1011/1101/0100/10111010/data-<uuid>-0.parquet
//! ```
//!
//! Folders of partitions and buckets are directly below an external path, without a table folder. Manifests record the
//! complete path of such a file.

use std::fmt::Write;

use frazil_core::error::{Error, Result};
use frazil_core::hash::murmur3;
use frazil_core::ids;
use frazil_core::storage::Files;
use frazil_core::storage::location::redacted;

use crate::spec::json::shown;
use crate::spec::options::Options;

const PATHS: &str = "data-file.external-paths";
const STRATEGY: &str = "data-file.external-paths.strategy";
const SPECIFIC_FS: &str = "data-file.external-paths.specific-fs";
const WEIGHTS: &str = "data-file.external-paths.weights";

/// The values of `data-file.external-paths.strategy`.
const STRATEGIES: [&str; 5] = ["none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"];

/// The number of bits of the file name's hash that are used in folder names, and the number of bits in each folder.
const HASH_BITS: u32 = 20;
const FOLDER_BITS: [u32; 4] = [4, 4, 4, 8];

/// The state that chooses the external path of each new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExternalPaths {
    /// The paths in Java's form; at least one.
    roots: Vec<String>,
    choice: Choice,
    /// The position of the external path that was used last.
    position: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Choice {
    /// Paths are used in turn.
    InTurn,
    /// Paths are used in turn, with folders named by a hash of the file name.
    InTurnHashed,
    /// Paths are chosen at random by cumulative weights.
    ByWeight(Vec<u64>),
}

impl ExternalPaths {
    /// Returns the external paths.
    pub(super) fn roots(&self) -> &[String] {
        &self.roots
    }

    /// Returns the external paths of the options of a table, or None if files are written to the table.
    ///
    /// # Errors
    /// `InvalidArgument` naming the option; `Internal` if the operating system provides no random bytes.
    pub(super) fn try_new(options: &Options) -> Result<Option<Self>> {
        let strategy = strategy(options)?;
        let text = options.text(PATHS).unwrap_or_default();
        if text.is_empty() || strategy == "none" {
            return Ok(None);
        }
        // Empty parts at the end are dropped, as in Java's `split`.
        let parts = text.trim_end_matches(',').split(',');
        let mut roots = parts.map(|part| normalized(part.trim())).collect::<Result<Vec<String>>>()?;
        if strategy == "specific-fs" {
            keep_file_system(&mut roots, options)?;
        }
        let count = roots.len();
        let (choice, position) = match strategy {
            // As in Java, the first position is fixed.
            "entropy-inject" => (Choice::InTurnHashed, 0),
            "weight-robin" if count > 1 && options.text(WEIGHTS).is_some() => {
                (Choice::ByWeight(cumulative_weights(options, count)?), 0)
            }
            _ => (Choice::InTurn, random_below(count)?),
        };
        Ok(Some(Self { roots, choice, position }))
    }

    /// Rejects external paths that the table may not access.
    ///
    /// # Errors
    /// `PathNotAllowed` naming the option.
    pub(super) fn check_allowed(&self, files: &Files) -> Result<()> {
        self.roots
            .iter()
            .try_for_each(|root| files.resolve(root).map(drop).map_err(|error| error.with("option", PATHS)))
    }

    /// Returns the location of the next file. `folder` is that of its bucket, relative to the table.
    ///
    /// # Errors
    /// `Internal` if the operating system provides no random bytes.
    pub(super) fn next_location(&mut self, folder: &str, name: &str) -> Result<String> {
        let at = match &self.choice {
            Choice::InTurn | Choice::InTurnHashed => self.position.saturating_add(1) % self.roots.len().max(1),
            Choice::ByWeight(sums) => {
                let total = sums.last().copied().unwrap_or(1).max(1);
                let drawn = u64::from_le_bytes(ids::random()?) % total;
                sums.partition_point(|sum| *sum <= drawn)
            }
        };
        self.position = at;
        let root = self.roots.get(at).ok_or_else(|| Error::internal("an external path does not exist"))?;
        let root = root.trim_end_matches('/');
        Ok(match self.choice {
            Choice::InTurnHashed => format!("{root}/{folder}/{}/{name}", hash_folders(name)),
            _ => format!("{root}/{folder}/{name}"),
        })
    }
}

fn strategy(options: &Options) -> Result<&'static str> {
    let text = options.text(STRATEGY).unwrap_or("none");
    let known = STRATEGIES.into_iter().find(|known| known.eq_ignore_ascii_case(text.trim()));
    known.ok_or_else(|| {
        invalid(STRATEGY, text, "is not a known strategy").hint(format!("use {}", STRATEGIES.join(", ")))
    })
}

/// Keeps only paths of the scheme that the strategy `specific-fs` requires.
fn keep_file_system(roots: &mut Vec<String>, options: &Options) -> Result<()> {
    let Some(wanted) = options.text(SPECIFIC_FS).map(str::trim).filter(|text| !text.is_empty()) else {
        let message = format!("the option `{STRATEGY}` is `specific-fs`, but the option `{SPECIFIC_FS}` is not set");
        return Err(Error::invalid(message).hint("set it to the scheme of an external path, for example s3"));
    };
    roots.retain(|root| root.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case(wanted)));
    if roots.is_empty() {
        let problem = format!("is not the scheme of a path in the option `{PATHS}`");
        return Err(invalid(SPECIFIC_FS, wanted, &problem));
    }
    Ok(())
}

/// Returns the cumulative weights of the paths.
fn cumulative_weights(options: &Options, count: usize) -> Result<Vec<u64>> {
    let text = options.text(WEIGHTS).unwrap_or_default();
    let mut sum = 0_u64;
    let weights = text.trim_end_matches(',').split(',').map(|part| {
        let weight = part.trim().parse::<i32>().ok().and_then(|weight| u64::try_from(weight).ok());
        let weight = weight.filter(|weight| *weight > 0);
        sum = sum.saturating_add(weight.ok_or_else(|| invalid(WEIGHTS, text, "is not a list of positive integers"))?);
        Ok(sum)
    });
    let sums = weights.collect::<Result<Vec<u64>>>()?;
    if sums.len() != count {
        return Err(invalid(WEIGHTS, text, &format!("has {} weights for {count} external paths", sums.len())));
    }
    Ok(sums)
}

/// Returns a path in the form of Java's `Path`: `file:/x` for `file:///x/`.
fn normalized(text: &str) -> Result<String> {
    let invalid = |problem: &str| {
        Error::invalid(format!("the option `{PATHS}` contains the path `{}`, which {problem}", shown(&redacted(text))))
    };
    let scheme_ends = text.split('/').next().and_then(|part| part.split_once(':'));
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let Some(scheme) = scheme_ends.map(|(scheme, _)| scheme).filter(|scheme| is_scheme(scheme)) else {
        return Err(invalid("does not begin with a scheme").hint("write local paths as file:/folder"));
    };
    let rest = text.get(scheme.len().saturating_add(1)..).unwrap_or_default();
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let is_file = scheme.eq_ignore_ascii_case("file");
    if is_file && !authority.is_empty() || authority.is_empty() && !path.starts_with('/') {
        return Err(invalid("is not an absolute path").hint("write local paths as file:/folder"));
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/').filter(|segment| !matches!(*segment, "" | ".")) {
        if segment != ".." {
            segments.push(segment);
        } else if segments.pop().is_none() {
            return Err(invalid("leads above the root"));
        }
    }
    let authority = if authority.is_empty() { String::new() } else { format!("//{authority}") };
    Ok(format!("{scheme}:{authority}/{}", segments.join("/")))
}

/// Returns folders named by a hash of a file name (Java's `EntropyInjectExternalPathProvider`). Object stores
/// distribute load by path prefixes.
fn hash_folders(name: &str) -> String {
    let hash = murmur3::hash_bytes(name.as_bytes(), 0).cast_unsigned();
    let mut folders = String::new();
    let mut left = HASH_BITS;
    for bits in FOLDER_BITS {
        left = left.saturating_sub(bits);
        let part = hash >> left & ((1 << bits) - 1);
        let separator = if folders.is_empty() { "" } else { "/" };
        // Writing to a String does not fail.
        let _ = write!(folders, "{separator}{part:0width$b}", width = bits as usize);
    }
    folders
}

fn random_below(count: usize) -> Result<usize> {
    Ok(usize::from_le_bytes(ids::random()?) % count.max(1))
}

fn invalid(name: &str, text: &str, problem: &str) -> Error {
    Error::invalid(format!("the option `{name}` has the value `{}`, which {problem}", shown(&redacted(text))))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use frazil_core::error::ErrorKind;
    use frazil_core::storage::MemoryStorage;

    use super::*;

    fn paths(pairs: &[(&str, &str)]) -> Result<Option<ExternalPaths>> {
        let options: BTreeMap<_, _> = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        ExternalPaths::try_new(&Options::new(options))
    }

    fn chosen(strategy: &str, value: &str, others: &[(&str, &str)]) -> ExternalPaths {
        paths(&[&[(STRATEGY, strategy), (PATHS, value)], others].concat()).unwrap().unwrap()
    }

    #[test]
    fn paths_are_written_as_java_writes_them() {
        // Expected paths are converted by `org.apache.paimon.fs.Path` of release 1.4.2.
        for (given, root, location) in [
            ("file:///a//b/../c/", "file:/a/c", "file:/a/c/p=1/bucket-0/n"),
            ("s3://k", "s3://k/", "s3://k/p=1/bucket-0/n"),
            ("s3a://b//x///y/", "s3a://b/x/y", "s3a://b/x/y/p=1/bucket-0/n"),
            ("hdfs://nn:8020/x", "hdfs://nn:8020/x", "hdfs://nn:8020/x/p=1/bucket-0/n"),
            ("hdfs:/x", "hdfs:/x", "hdfs:/x/p=1/bucket-0/n"),
            ("file:/", "file:/", "file:/p=1/bucket-0/n"),
            ("S3://B/x", "S3://B/x", "S3://B/x/p=1/bucket-0/n"),
            (" file:/a/./b ", "file:/a/b", "file:/a/b/p=1/bucket-0/n"),
            ("file:/a b/ü%20,", "file:/a b/ü%20", "file:/a b/ü%20/p=1/bucket-0/n"),
        ] {
            let mut found = chosen("round-robin", given, &[]);
            assert_eq!(found.roots, [root], "{given}");
            assert_eq!(found.next_location("p=1/bucket-0", "n").unwrap(), location);
        }
    }

    #[test]
    fn without_a_strategy_or_paths_files_are_in_the_table() {
        let none: [&[(&str, &str)]; 5] = [
            &[],
            &[(PATHS, "no scheme"), (WEIGHTS, "x")],
            &[(PATHS, "file:/x"), (STRATEGY, "None")],
            &[(STRATEGY, "round-robin")],
            &[(STRATEGY, "specific-fs"), (PATHS, "")],
        ];
        for pairs in none {
            assert_eq!(paths(pairs).unwrap(), None, "{pairs:?}");
        }
    }

    #[test]
    fn options_that_cannot_be_followed_are_named() {
        type Pairs = &'static [(&'static str, &'static str)];
        let refused: [(Pairs, &str, &str); 16] = [
            (&[(STRATEGY, "ROUND_ROBIN"), (PATHS, "file:/x")], STRATEGY, "ROUND_ROBIN"),
            (&[(STRATEGY, "nine")], STRATEGY, "nine"),
            (&[(STRATEGY, "round-robin"), (PATHS, "/x")], PATHS, "scheme"),
            (&[(STRATEGY, "round-robin"), (PATHS, "file:/x,folder/a:b")], PATHS, "scheme"),
            (&[(STRATEGY, "round-robin"), (PATHS, "file:/x,,file:/y")], PATHS, "scheme"),
            (&[(STRATEGY, "round-robin"), (PATHS, " ")], PATHS, "scheme"),
            (&[(STRATEGY, "round-robin"), (PATHS, ",")], PATHS, "scheme"),
            (&[(STRATEGY, "entropy-inject"), (PATHS, "file:x")], PATHS, "absolute"),
            (&[(STRATEGY, "round-robin"), (PATHS, "file://host/x")], PATHS, "absolute"),
            (&[(STRATEGY, "round-robin"), (PATHS, "file:/x/../../y")], PATHS, "root"),
            (&[(STRATEGY, "specific-fs"), (PATHS, "file:/x")], SPECIFIC_FS, "not set"),
            (&[(STRATEGY, "specific-fs"), (PATHS, "file:/x"), (SPECIFIC_FS, "s3")], SPECIFIC_FS, "scheme"),
            (&[(STRATEGY, "weight-robin"), (PATHS, "file:/x,file:/y"), (WEIGHTS, "1")], WEIGHTS, "1 weights for 2"),
            (&[(STRATEGY, "weight-robin"), (PATHS, "file:/x,file:/y"), (WEIGHTS, "1,0")], WEIGHTS, "positive integers"),
            (
                &[(STRATEGY, "weight-robin"), (PATHS, "file:/x,file:/y"), (WEIGHTS, "1,-2")],
                WEIGHTS,
                "positive integers",
            ),
            (&[(STRATEGY, "weight-robin"), (PATHS, "file:/x,file:/y"), (WEIGHTS, "1,b")], WEIGHTS, "positive integers"),
        ];
        for (pairs, option, problem) in refused {
            let error = paths(pairs).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{pairs:?}: {error}");
            assert!(error.to_string().contains(option) && error.to_string().contains(problem), "{pairs:?}: {error}");
        }
        let secret = paths(&[(STRATEGY, "round-robin"), (PATHS, "file://me:secret@host/x")]).unwrap_err().to_string();
        assert!(!secret.contains("secret"), "{secret}");
    }

    #[test]
    fn round_robin_takes_each_path_in_turn_from_any() {
        let three = "file:/a,file:/b,file:/c";
        let mut first = BTreeSet::new();
        for _ in 0..200 {
            let mut found = chosen("Round-Robin", three, &[]);
            let names: Vec<String> = (0..4).map(|_| found.next_location("bucket-0", "n").unwrap()).collect();
            let mut distinct = names[..3].to_vec();
            distinct.sort_unstable();
            assert_eq!(distinct, ["file:/a/bucket-0/n", "file:/b/bucket-0/n", "file:/c/bucket-0/n"]);
            assert_eq!(names[0], names[3]);
            first.insert(names[0].clone());
        }
        assert_eq!(first.len(), 3, "each of them is the first one some time");
    }

    #[test]
    fn one_file_system_is_chosen_by_its_scheme() {
        let given = "file:/a,S3://b/x,s3a://c,s3://d";
        let mut found = chosen("specific-fs", given, &[(SPECIFIC_FS, "s3")]);
        let mut names = [0, 1].map(|_| found.next_location("bucket-0", "n").unwrap());
        names.sort_unstable();
        assert_eq!(names, ["S3://b/x/bucket-0/n", "s3://d/bucket-0/n"]);
    }

    #[test]
    fn hashes_of_names_are_folders_as_java_has_them() {
        let given = "file:/a,s3://k,oss://b/x";
        let uuid = "5f3c9b0e-1111-4222-8333-444455556666";
        for (name, folders) in [
            (format!("data-{uuid}-0.parquet"), "1011/1101/0100/10111010"),
            (format!("data-{uuid}-1.parquet"), "0010/0101/1000/11011001"),
            ("part-x-7.zstd.orc".to_string(), "0010/0011/0100/00001010"),
            ("é-0.avro".to_string(), "0111/0001/1011/11101000"),
        ] {
            let mut found = chosen("entropy-inject", given, &[]);
            let names = [0; 3].map(|_| found.next_location("p=1/bucket-0", &name).unwrap());
            let expected =
                ["s3://k", "oss://b/x", "file:/a"].map(|root| format!("{root}/p=1/bucket-0/{folders}/{name}"));
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn weights_say_how_often_a_path_is_chosen() {
        let mut found = chosen("weight-robin", "file:/a,file:/b", &[(WEIGHTS, " 1, 9")]);
        let names: Vec<String> = (0..2000).map(|_| found.next_location("bucket-0", "n").unwrap()).collect();
        let rare = names.iter().filter(|name| name.starts_with("file:/a/")).count();
        assert!((100..=300).contains(&rare), "{rare} of 2000");
        // Without weights, or with a single path, paths are used in turn.
        assert_eq!(chosen("weight-robin", "file:/a,file:/b", &[]).choice, Choice::InTurn);
        assert_eq!(chosen("weight-robin", "file:/a", &[(WEIGHTS, "1,2")]).choice, Choice::InTurn);
    }

    #[test]
    fn paths_that_the_table_may_not_access_are_refused() {
        let files = Files::below(Arc::new(MemoryStorage::default()), "memory://b/t").unwrap();
        let check = |given: &str| chosen("round-robin", given, &[]).check_allowed(&files);
        check("memory://b/elsewhere").unwrap();
        for given in ["file:/x", "memory://b/t,memory://other/x", "nothing://b/x"] {
            let error = check(given).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PathNotAllowed, "{given}: {error}");
            assert!(error.to_string().contains(PATHS), "{given}: {error}");
        }
    }
}

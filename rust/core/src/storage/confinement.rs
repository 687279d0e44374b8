//! Restricts the locations that a table may read.
//!
//! Metadata is written by other parties. A path in metadata is followed only below a root that the user specified: the
//! table, its warehouse, a mapping, or `frazil.config.allowed_locations`. In an object store, it is also followed in
//! the same bucket as a root. Roots never come from metadata.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, ErrorKind, Result};

use super::local;
use super::location::{Location, Scheme, redacted};

const HINT: &str = "if the table may access it, pass its folder as allowed_locations to load_table or load_catalog, or \
                    add it to frazil.config.allowed_locations";

/// The hosts from which cloud instances obtain credentials.
const METADATA_HOSTS: [&str; 5] =
    ["metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"];

/// The roots below which a table may read.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    roots: Vec<Location>,
    /// The local roots with their symbolic links resolved.
    real_roots: Arc<OnceLock<Vec<PathBuf>>>,
}

impl Confinement {
    /// Allows all files at and below `root`, and all files in the same bucket.
    ///
    /// # Errors
    /// See [`Location::parse_absolute`].
    pub fn allow(&mut self, root: &str) -> Result<()> {
        self.allow_location(Location::parse_absolute(root)?);
        Ok(())
    }

    /// Allows a parsed location, like [`Confinement::allow`].
    pub fn allow_location(&mut self, root: Location) {
        if !self.roots.contains(&root) {
            self.roots.push(root);
            self.real_roots = Arc::default();
        }
    }

    /// Returns the roots, in the text form of [`Confinement::allow`].
    pub fn roots(&self) -> Vec<String> {
        self.roots.iter().map(Location::canonical).collect()
    }

    /// Checks whether the text of `actual` is allowed, without accessing the disk.
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn check(&self, actual: &Location) -> Result<()> {
        match actual.scheme() {
            Scheme::Http | Scheme::Https if is_metadata_host(actual.authority()) => {
                return Err(refusal("reading from a cloud's metadata service is never allowed", actual));
            }
            Scheme::Other(name) => {
                return Err(refusal(&format!("the scheme '{}' is not supported", redacted(name)), actual)
                    .hint("map its prefix to the actual location of the files with relocate={...}"));
            }
            _ => {}
        }
        if self.roots.iter().any(|root| allows(root, actual)) {
            Ok(())
        } else {
            Err(refusal("the path is outside the locations that this table may read", actual).hint(HINT))
        }
    }

    /// Checks that the target of a local location, with all symbolic links resolved, is below a root. Must be called
    /// directly before opening the file. Does nothing for other stores.
    ///
    /// # Errors
    /// `PathNotAllowed`; `MissingFile` if the file does not exist.
    pub fn check_links(&self, actual: &Location) -> Result<()> {
        if !actual.is_local() {
            return Ok(());
        }
        let text = actual.canonical();
        let real = std::fs::canonicalize(local::os_path(&text)).map_err(|e| local::map_error(&e, &text))?;
        self.check_real(&real, actual, "read")
    }

    /// Checks a file that is to be created, like [`Confinement::check_links`]: no link among its parent folders may
    /// lead outside the roots.
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn check_links_to_new(&self, actual: &Location) -> Result<()> {
        if !actual.is_local() {
            return Ok(());
        }
        let path = local::os_path(&actual.canonical());
        let Some(folder) = path.parent() else { return Err(refusal("the location is not a file", actual)) };
        self.check_real(&real_path(folder), actual, "write")
    }

    /// Rejects the path `real`, in which links are resolved, if it is not below a root.
    fn check_real(&self, real: &Path, actual: &Location, what: &str) -> Result<()> {
        let roots = self.real_roots.get_or_init(|| self.resolve_roots());
        if roots.iter().any(|root| real.starts_with(root)) {
            return Ok(());
        }
        let message = format!("a symbolic link leads outside the locations that this table may {what}");
        Err(refusal(&message, actual).hint(HINT))
    }

    fn resolve_roots(&self) -> Vec<PathBuf> {
        let local = self.roots.iter().filter(|root| root.is_local());
        local.map(|root| real_path(&local::os_path(&root.canonical()))).collect()
    }
}

/// Resolves the symbolic links of a path; the part of the path that does not exist is kept.
fn real_path(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|ancestor| Some((ancestor, std::fs::canonicalize(ancestor).ok()?)));
    match existing {
        Some((ancestor, real)) => path.strip_prefix(ancestor).map_or(real.clone(), |rest| real.join(rest)),
        None => path.to_path_buf(),
    }
}

fn allows(root: &Location, actual: &Location) -> bool {
    match root.scheme() {
        Scheme::Local | Scheme::Hdfs => actual.strip_prefix(root).is_some(),
        _ => actual.same_store(root),
    }
}

fn refusal(message: &str, actual: &Location) -> Error {
    Error::new(ErrorKind::PathNotAllowed, message).with("path", redacted(&actual.canonical()))
}

/// Returns whether a host is a link-local address or provides credentials, in any notation that a URL library may
/// accept.
fn is_metadata_host(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or(""),
        None => authority.split(':').next().unwrap_or(""),
    };
    let host = host.trim_end_matches('.');
    if METADATA_HOSTS.contains(&host) {
        return true;
    }
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(v4)) => is_metadata_v4(v4),
        Ok(IpAddr::V6(v6)) => {
            v6.to_ipv4().is_some_and(is_metadata_v4)
                || v6.is_unicast_link_local()
                || v6 == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
        }
        // Hosts such as `2852039166`, `0xa9fea9fe` and `169.254.43518` are also notations of IP addresses.
        Err(_) => host.rsplit('.').next().is_some_and(is_number) || host.contains('%'),
    }
}

fn is_metadata_v4(v4: Ipv4Addr) -> bool {
    v4.is_link_local() || v4.is_unspecified() || v4 == Ipv4Addr::new(100, 100, 100, 200)
}

fn is_number(label: &str) -> bool {
    let digits = label.strip_prefix("0x").unwrap_or(label);
    let hex = digits.len() < label.len();
    !digits.is_empty() && digits.bytes().all(|b| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() })
}

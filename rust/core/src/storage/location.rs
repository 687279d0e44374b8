//! File locations: scheme, authority and path, parsed once and compared by path segments.
//!
//! ```text
//!   s3a://bucket/wh/t/data/f.parquet        /wh/t//data/./f.parquet       hdfs://nn:8020/wh/t
//!   |     |      |                          |                             |      |
//!   |     |      path (canonical)           no scheme: local              |      authority, may be missing
//!   scheme (alias of s3)
//! ```
//!
//! Engines write the same location in many forms: `file:/x`, `file:///x` and `/x`; `s3`, `s3a` and `s3n`; `abfs`,
//! `abfss`, `wasb` and `wasbs`. A [`Location`] has a single text for all of them ([`Location::canonical`]). Locations
//! are not percent-decoded: `%2e%2e` is a file name.

use std::borrow::Cow;
use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// The maximum length of a location. For comparison, Linux allows paths of 4096 bytes, and S3 allows keys of 1024
/// bytes.
const MAX_LOCATION_BYTES: usize = 32 * 1024;

/// The maximum number of characters of a location that an error contains.
const SHOWN_CHARS: usize = 400;

/// A family of schemes that are aliases of each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// Local files: no scheme or `file`.
    Local,
    /// `s3`, `s3a`, `s3n`.
    S3,
    /// `gs`, `gcs`.
    Gcs,
    /// `abfs`, `abfss`, `wasb`, `wasbs`, `az`, `azure`, `adl`.
    Azure,
    /// `hdfs`; readable only if relocated.
    Hdfs,
    /// `http`.
    Http,
    /// `https`.
    Https,
    /// `memory`: the in-process storage of tests.
    Memory,
    /// Any other scheme, in lower case; never readable, but it can be relocated.
    Other(String),
}

impl Scheme {
    fn parse(text: &str) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "file" => Self::Local,
            "s3" | "s3a" | "s3n" => Self::S3,
            "gs" | "gcs" => Self::Gcs,
            "abfs" | "abfss" | "wasb" | "wasbs" | "az" | "azure" | "adl" => Self::Azure,
            "hdfs" => Self::Hdfs,
            "http" => Self::Http,
            "https" => Self::Https,
            "memory" => Self::Memory,
            other => Self::Other(other.to_string()),
        }
    }

    /// Returns the name of the scheme in [`Location::canonical`]; for [`Scheme::Local`], `file`, which canonical texts
    /// omit.
    pub fn name(&self) -> &str {
        match self {
            Self::Local => "file",
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "abfs",
            Self::Hdfs => "hdfs",
            Self::Http => "http",
            Self::Https => "https",
            Self::Memory => "memory",
            Self::Other(name) => name,
        }
    }

    /// Returns whether `a//b` and `a/b` are the same location. In object stores, they are different keys.
    fn collapses_slashes(&self) -> bool {
        matches!(self, Self::Local | Self::Hdfs)
    }
}

/// A parsed location.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    scheme: Scheme,
    /// The bucket, host or `container@account`; empty for local files.
    authority: String,
    /// Whether the path starts at a root; only local paths may be relative.
    rooted: bool,
    /// The canonical segments joined by `/`, without leading and trailing slashes.
    path: String,
}

impl Location {
    /// Parses the text of a location.
    ///
    /// `.` segments are removed and `..` segments are resolved as text, without accessing files.
    ///
    /// # Errors
    /// `PathNotAllowed` for an empty text, control characters, a path that goes above its root, a missing bucket,
    /// credentials in the location, and excessive length. The message never contains credentials.
    pub fn parse(text: &str) -> Result<Self> {
        check_characters(text)?;
        let (scheme, rest) = split_scheme(text);
        let scheme = scheme.map_or(Scheme::Local, Scheme::parse);
        if scheme == Scheme::Local {
            return Self::parse_local(text, rest);
        }
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let (authority, path) = match rest.strip_prefix('/') {
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None => ("", rest),
        };
        let authority = canonical_authority(&scheme, authority).map_err(|e| e.with("file", redacted(text)))?;
        if authority.is_empty() && !matches!(scheme, Scheme::Hdfs | Scheme::Other(_)) {
            return Err(not_allowed("the location has no bucket or host", text));
        }
        let path = canonical_path(path, scheme.collapses_slashes())
            .ok_or_else(|| not_allowed("the path goes above its root", text))?;
        Ok(Self { scheme, authority, rooted: true, path })
    }

    fn parse_local(text: &str, rest: &str) -> Result<Self> {
        let climbs = || not_allowed("the path goes above its root", text);
        // Some writers prepend `file://` to a relative path, as in `file://data/t`, so the authority is part of the
        // path.
        let (rooted, path) = match rest.strip_prefix("//") {
            Some(after) if split_scheme(text).0.is_some() => match after.strip_prefix("localhost/") {
                Some(path) => (true, path),
                None => (after.starts_with('/'), after),
            },
            _ => (rest.starts_with('/'), rest),
        };
        let path = if cfg!(windows) { Cow::Owned(path.replace('\\', "/")) } else { path.into() };
        let rooted = rooted || is_drive(&path);
        let mut path = canonical_path(&path, true).ok_or_else(climbs)?;
        if is_drive(&path) && path.contains('\\') {
            path = canonical_path(&path.replace('\\', "/"), true).ok_or_else(climbs)?;
        }
        Ok(Self { scheme: Scheme::Local, authority: String::new(), rooted, path })
    }

    /// Parses a location like [`Location::parse`]; a relative local path is resolved against the current folder.
    ///
    /// # Errors
    /// See [`Location::parse`]; `Storage` if there is no current folder.
    pub fn parse_absolute(text: &str) -> Result<Self> {
        check_characters(text)?;
        if let (None, relative) = split_scheme(text)
            && !relative.starts_with('/')
            && !is_drive(relative)
        {
            let here = std::env::current_dir()
                .map_err(|e| Error::new(ErrorKind::Storage, "the current folder does not exist").caused_by(e))?;
            return Self::parse(&format!("{}/{relative}", here.display()));
        }
        let location = Self::parse(text)?;
        if location.rooted { Ok(location) } else { Self::parse_absolute(&location.path_text()) }
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Returns the bucket, the host, or `container@account` for Azure; empty for local files.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the path without the leading slash, which is the key in a bucket.
    pub fn key(&self) -> &str {
        &self.path
    }

    /// Returns whether the location is a local file.
    pub fn is_local(&self) -> bool {
        self.scheme == Scheme::Local
    }

    /// Returns whether the location is a local path that does not start at a root.
    pub fn is_relative(&self) -> bool {
        !self.rooted
    }

    /// Returns only the path, for comparing HDFS and local locations. A relative path that would be parsed as another
    /// scheme or as a drive starts with `./`.
    pub(crate) fn path_text(&self) -> String {
        if self.rooted {
            format!("/{}", self.path)
        } else if split_scheme(&self.path).0.is_some() || is_drive(&self.path) {
            format!("./{}", self.path)
        } else {
            self.path.clone()
        }
    }

    /// Returns the canonical text of this location: two locations are the same file if and only if their canonical
    /// texts are equal. A local file is a plain path; `s3a://b/k` is `s3://b/k`.
    pub fn canonical(&self) -> String {
        match self.scheme {
            Scheme::Local => self.path_text(),
            _ => format!("{}://{}/{}", self.scheme.name(), self.authority, self.path),
        }
    }

    /// Returns whether both locations are in the same store, that is, have the same scheme and authority.
    pub fn same_store(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.authority == other.authority && self.rooted == other.rooted
    }

    /// Returns the part of this location after `prefix`, compared by whole segments; `None` if it is not at or below
    /// `prefix`.
    pub fn strip_prefix(&self, prefix: &Self) -> Option<&str> {
        self.same_store(prefix).then(|| strip_segments(&self.path, &prefix.path)).flatten()
    }

    /// Returns this location with `rest` (canonical segments) appended.
    #[must_use]
    pub fn join(&self, rest: &str) -> Self {
        let path = match (self.path.is_empty(), rest.is_empty()) {
            (_, true) => self.path.clone(),
            (true, false) => rest.to_string(),
            (false, false) => format!("{}/{rest}", self.path),
        };
        Self { path, ..self.clone() }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redacted(&self.canonical()))
    }
}

/// Returns a location in a form suitable for errors: truncated, and without credentials, query and control characters.
pub fn redacted(text: &str) -> String {
    let (scheme, rest) = split_scheme(text);
    let mut shown = String::new();
    let mut rest = rest;
    if let Some(scheme) = scheme {
        shown.push_str(scheme);
        shown.push(':');
        let scheme = Scheme::parse(scheme);
        let slashes = rest.len() - rest.trim_start_matches('/').len();
        let (lead, after) = rest.split_at(slashes);
        shown.push_str(lead);
        let authority_end = after.find('/').unwrap_or(after.len());
        let userinfo_end = after.get(..authority_end).and_then(|authority| authority.rfind('@'));
        rest = match userinfo_end {
            Some(at) if scheme != Scheme::Azure => after.get(at + 1..).unwrap_or(""),
            _ => after,
        };
        if !matches!(scheme, Scheme::Local) {
            rest = rest.split(['?', '#']).next().unwrap_or("");
        }
    }
    shown.extend(rest.chars().take(SHOWN_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }));
    if rest.chars().nth(SHOWN_CHARS).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Returns the part of `path` below `prefix`, both canonical, without a leading slash.
pub(crate) fn strip_segments<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    if prefix.is_empty() {
        return Some(path);
    }
    let rest = path.strip_prefix(prefix)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Returns a `PathNotAllowed` error with the location.
pub(crate) fn not_allowed(message: &str, location: &str) -> Error {
    Error::new(ErrorKind::PathNotAllowed, message).with("file", redacted(location))
}

fn check_characters(text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::new(ErrorKind::PathNotAllowed, "the location is empty"));
    }
    if text.len() > MAX_LOCATION_BYTES {
        return Err(not_allowed(&format!("the location is too long ({} bytes)", text.len()), text));
    }
    if text.chars().any(char::is_control) {
        return Err(not_allowed("the location contains control characters", text));
    }
    Ok(())
}

/// Splits a location into the scheme without its colon, and the rest after the colon. A colon that is not followed by a
/// slash is part of a name, and one letter before `:/` or `:\` is a Windows drive.
fn split_scheme(text: &str) -> (Option<&str>, &str) {
    let Some((scheme, rest)) = text.split_once(':') else { return (None, text) };
    let mut letters = scheme.bytes();
    let starts = letters.next().is_some_and(|b| b.is_ascii_alphabetic());
    let goes_on = letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    if scheme.len() > 1 && starts && goes_on && (rest.starts_with('/') || scheme.eq_ignore_ascii_case("file")) {
        (Some(scheme), rest)
    } else {
        (None, text)
    }
}

/// Returns whether a local path starts with a drive: `C:/x`, `C:\x` or `/C:/x`.
fn is_drive(path: &str) -> bool {
    let mut bytes = path.trim_start_matches('/').bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && bytes.next() == Some(b':')
        && matches!(bytes.next(), Some(b'/' | b'\\'))
}

/// Resolves `.` and `..` in a path; `None` if the path goes above its start.
fn canonical_path(path: &str, collapse_slashes: bool) -> Option<String> {
    let mut canonical = String::with_capacity(path.len());
    let mut depth = 0_usize;
    for segment in path.trim_end_matches('/').split('/') {
        match segment {
            "." => {}
            "" if collapse_slashes => {}
            ".." => {
                depth = depth.checked_sub(1)?;
                canonical.truncate(canonical.rfind('/').unwrap_or(0));
            }
            _ => {
                if depth > 0 {
                    canonical.push('/');
                }
                canonical.push_str(segment);
                depth += 1;
            }
        }
    }
    // Remove trailing slashes, which `.` and `..` leave after empty segments.
    canonical.truncate(canonical.trim_end_matches('/').len());
    Some(canonical)
}

/// Converts hosts to lower case, unifies the names of Azure accounts, and rejects credentials.
fn canonical_authority(scheme: &Scheme, authority: &str) -> Result<String> {
    match scheme {
        Scheme::Azure => {
            let Some((container, host)) = authority.split_once('@') else { return Ok(authority.to_string()) };
            if container.contains(':') || host.contains('@') {
                return Err(Error::new(ErrorKind::PathNotAllowed, "the location contains credentials"));
            }
            let host = host.to_ascii_lowercase();
            Ok(format!("{container}@{}", host.replacen(".blob.", ".dfs.", 1)))
        }
        _ if authority.contains('@') => Err(Error::new(ErrorKind::PathNotAllowed, "the location contains credentials")
            .hint("pass credentials as properties")),
        Scheme::Hdfs | Scheme::Http | Scheme::Https => Ok(authority.to_ascii_lowercase()),
        _ => Ok(authority.to_string()),
    }
}

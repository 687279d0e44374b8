//! Transforms and their text form (spec: "Partition Transforms"; appendix C, "Partition Specs"): `identity`,
//! `bucket[16]`, `truncate[10]`, `day`, `void`.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// The function that computes a partition value from a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Transform {
    /// The value itself.
    Identity,
    /// `bucket[N]`: the 32-bit Murmur3 hash of the value without its sign bit, modulo N.
    Bucket(u32),
    /// `truncate[W]`: the value rounded down to a multiple of W, or the first W code points or bytes.
    Truncate(u32),
    /// Years since 1970.
    Year,
    /// Months since 1970-01.
    Month,
    /// Days since 1970-01-01.
    Day,
    /// Hours since 1970-01-01T00.
    Hour,
    /// Always NULL.
    Void,
    /// A transform that this version does not support, as text. Readers ignore it; writers reject it.
    Unknown(String),
}

impl Transform {
    /// Parses the text of a transform. A transform that is unknown or cannot be computed (`bucket[0]`) is
    /// [`Transform::Unknown`] and keeps its text: the spec requires readers to ignore it and writers to reject it.
    pub fn parse(text: &str) -> Self {
        let known = match text.to_ascii_lowercase().as_str() {
            "identity" => Some(Self::Identity),
            "year" => Some(Self::Year),
            "month" => Some(Self::Month),
            "day" => Some(Self::Day),
            "hour" => Some(Self::Hour),
            "void" => Some(Self::Void),
            name => with_width(name),
        };
        known.unwrap_or_else(|| Self::Unknown(text.to_string()))
    }
}

impl FromStr for Transform {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::parse(text))
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Bucket(buckets) => return write!(f, "bucket[{buckets}]"),
            Self::Truncate(width) => return write!(f, "truncate[{width}]"),
            Self::Identity => "identity",
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Void => "void",
            Self::Unknown(text) => text,
        };
        f.write_str(name)
    }
}

fn with_width(name: &str) -> Option<Transform> {
    let (name, width) = name.strip_suffix(']')?.split_once('[')?;
    if !width.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Bucket numbers and truncated integers are 32-bit signed.
    let width: u32 = width.parse().ok().filter(|&width| width > 0 && i32::try_from(width).is_ok())?;
    match name {
        "bucket" => Some(Transform::Bucket(width)),
        "truncate" => Some(Transform::Truncate(width)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_transforms_round_trip() {
        for text in ["identity", "bucket[16]", "truncate[10]", "year", "month", "day", "hour", "void"] {
            let transform = Transform::parse(text);
            assert!(!matches!(transform, Transform::Unknown(_)), "{text}");
            assert_eq!(transform.to_string(), text);
        }
        assert_eq!(Transform::parse("BUCKET[3]"), Transform::Bucket(3));
    }

    #[test]
    fn unknown_transforms_keep_their_text() {
        for text in [
            "frobnicate[7]",
            "Bucketv2[4]",
            "bucket[0]",
            "bucket[-1]",
            "bucket[+1]",
            "bucket[4294967296]",
            "bucket",
            "bucket[]",
            "",
        ] {
            assert_eq!(Transform::parse(text), Transform::Unknown(text.to_string()), "{text}");
            assert_eq!(Transform::parse(text).to_string(), text);
        }
    }
}

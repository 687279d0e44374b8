//! Recognises the names of store options: endpoints, regions, credentials.

/// The prefixes of option names: first the prefixes of the Java libraries and PyIceberg, then those of `object_store`.
const PREFIXES: [&str; 7] = ["s3.", "client.", "gcs.", "adls.", "aws_", "google_", "azure_"];

/// Returns whether a name is the name of a store option, ignoring case.
pub fn is_option(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

//! Options of stores, by their names: endpoints, regions, credentials.

/// What the names of options begin with: those of the Java libraries and of PyIceberg, then those of `object_store`.
const PREFIXES: [&str; 7] = ["s3.", "client.", "gcs.", "adls.", "aws_", "google_", "azure_"];

/// Whether a name is one of an option of a store; case does not matter.
pub fn is_option(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

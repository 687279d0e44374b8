//! Merging the sorted runs of a bucket (documentation: "Primary Key Table").

pub mod aggregate;

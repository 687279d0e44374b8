//! Converts the columns of a data file to the projected columns of a table (spec: "Column Projection", "Schema
//! Evolution").
//!
//! The reader of a data file passes its Arrow schema to [`project::Projector`], which returns the leaf columns to read.
//! The reader then passes each batch to the projector, which converts it to the columns of the table: it matches fields
//! by id at every level, promotes types, fills in partition constants and defaults, and reassembles shredded variants.

pub mod default;
pub mod project;
pub mod statistics;

mod columns;
mod convert;
mod ids;

use frazil_core::error::{Error, Result};

/// The format of a data file or delete file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet: every leaf column can be read separately.
    Parquet,
    /// Apache ORC: top-level columns are read completely.
    Orc,
    /// Apache Avro: top-level columns are read completely.
    Avro,
    /// Puffin: deletion vectors, no columns.
    Puffin,
}

impl FileFormat {
    /// Returns the format with this name in a manifest, ignoring case because writers differ.
    ///
    /// # Errors
    /// `CorruptData` for a name that the spec does not define.
    pub fn parse(name: &str) -> Result<Self> {
        let known = [Self::Parquet, Self::Orc, Self::Avro, Self::Puffin];
        let found = known.into_iter().find(|format| format.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::corrupt(format!("unknown file format {name:?}")))
    }

    /// Returns the name of the format in manifests, in upper case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "PARQUET",
            Self::Orc => "ORC",
            Self::Avro => "AVRO",
            Self::Puffin => "PUFFIN",
        }
    }
}

#[cfg(test)]
mod tests;

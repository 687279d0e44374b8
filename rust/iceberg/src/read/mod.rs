//! From the columns of a data file to the projected columns of a table (spec: "Column Projection", "Schema Evolution").
//!
//! Whoever opens a data file hands its Arrow schema to [`project::Projector`], learns which leaf columns to read, and
//! gives each batch of them back to be turned into the columns of the table: matched by field id at every level,
//! promoted, filled with partition constants and defaults, variants put together from their shredded parts.

pub mod default;
pub mod project;
pub mod statistics;

mod columns;
mod convert;
mod ids;

use frazil_core::error::{Error, Result};

/// The format of a file of rows or of deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet: every leaf can be read alone.
    Parquet,
    /// Apache ORC: top-level columns are read whole.
    Orc,
    /// Apache Avro: top-level columns are read whole.
    Avro,
    /// Puffin: deletion vectors, no columns.
    Puffin,
}

impl FileFormat {
    /// The format of this name in a manifest; writers differ in case.
    ///
    /// # Errors
    /// `CorruptData` for a name that the spec does not know.
    pub fn parse(name: &str) -> Result<Self> {
        let known = [Self::Parquet, Self::Orc, Self::Avro, Self::Puffin];
        let found = known.into_iter().find(|format| format.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::corrupt(format!("unknown file format {name:?}")))
    }

    /// The name in manifests, in upper case.
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

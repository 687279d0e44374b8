//! From the columns of a data file to the projected columns of a table (spec: "Column Projection", "Schema Evolution").
//!
//! Whoever opens a data file hands its Arrow schema to [`project::Projector`], learns which leaf columns to read, and
//! gives each batch of them back to be turned into the columns of the table: matched by field id at every level,
//! promoted, filled with partition constants and defaults, variants put together from their shredded parts.

pub mod arrow;
pub mod default;
pub mod orc;
pub mod project;
pub mod statistics;

mod columns;
mod convert;
mod ids;

/// The format of a data file, as far as reading columns depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet: every leaf can be read alone.
    Parquet,
    /// Apache ORC: top-level columns are read whole.
    Orc,
    /// Apache Avro: top-level columns are read whole.
    Avro,
}

#[cfg(test)]
mod tests;

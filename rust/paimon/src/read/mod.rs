//! From the columns of a data file to the columns of the schema that is read (documentation: "Schema Evolution").
//!
//! Whoever opens a data file hands its Arrow schema to [`projection::Projection`], learns which columns to read, and
//! gives each batch of them back. A column then goes two steps:
//!
//! ```text
//! array of the file --convert--> values of the type that the file was written with --cast--> values of the type read
//!     columns by name                              fields by id
//! ```

pub mod blob;
pub mod difference;
mod evolution;
pub mod expiry;
pub mod file_reader;
pub mod filter;
pub mod images;
mod index_selection;
pub mod int96;
pub mod projection;
pub mod rows;
pub mod scan_read;
pub mod split_reader;
mod unordered;
pub mod zip;

pub(crate) mod convert;
mod leaves;

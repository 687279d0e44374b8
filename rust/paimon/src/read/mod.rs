//! Converts the columns of a data file to the columns of the schema that is read (documentation: "Schema Evolution").
//!
//! A caller that opens a data file passes its Arrow schema to [`projection::Projection`], obtains the columns to read,
//! and passes each batch to the projection. Each column is then converted in two steps:
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
pub(crate) mod unordered;
pub mod zip;

pub(crate) mod convert;
mod leaves;

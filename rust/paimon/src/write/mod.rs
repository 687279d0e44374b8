//! Writes data files.

pub mod align;
mod assign;
pub mod avro_schema;
pub mod change;
pub(crate) mod changelog;
pub mod check;
pub(crate) mod defaults;
mod dynamic_buckets;
mod external;
pub mod file;
pub(crate) mod file_schema;
pub(crate) mod format;
pub(crate) mod index_files;
mod key_numbers;
pub mod kinds;
mod known_options;
mod moving_keys;
pub mod option_table;
pub mod path;
pub mod postponed;
pub mod restore;
pub mod row_placement;
pub mod rows;
mod rules;
pub(crate) mod side_files;
pub mod stats;
pub(crate) mod upsert;

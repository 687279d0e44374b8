//! Variants: JSON-like values in the Parquet binary encoding (Parquet: `VariantEncoding.md`, `VariantShredding.md`).
//!
//! A variant consists of two byte strings: `metadata` is a dictionary of field names, and `value` refers to names by
//! their ids.
//!
//! ```text
//! metadata:  header u8 = version (4 bits, 1) | sorted (1) | unused (1) | offset width - 1 (2)
//!            count, then count + 1 offsets, each of the offset width; then the names, UTF-8
//! value:     header u8 = basic type (2 bits) | type header (6)
//!   basic type 0  primitive     type header = primitive type id; then its bytes, little-endian
//!              1  short string  type header = length; then UTF-8
//!              2  object        type header = offset width - 1 (2) | id width - 1 (2) | large (1)
//!                               count (1 or 4 bytes), count ids by name, count + 1 offsets, values
//!              3  array         type header = offset width - 1 (2) | large (1)
//!                               count (1 or 4 bytes), count + 1 offsets, values
//! ```
//!
//! Files may store parts of the values as ordinary columns (`typed_value`): [`unshred()`] reassembles them.

mod build;
mod decode;
mod encode;
mod json;
mod unshred;

#[cfg(test)]
mod tests;

pub use decode::{Array, Metadata, Object, Value};
pub use encode::{NewVariant, encode};
pub use json::{to_json, to_json_array};
pub use unshred::{is_shredded, unshred};

/// The maximum nesting depth of values. Values with deeper nesting are rejected, because they could overflow the stack.
const MAX_DEPTH: usize = 128;

//! The system table `options`: the options of the latest schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use frazil_core::context::Context;
use frazil_core::error::Result;

use super::{Column, Kind, REQUIRED, State};

pub(super) const COLUMNS: [Column; 2] = [("key", Kind::Text, REQUIRED), ("value", Kind::Text, REQUIRED)];

#[expect(clippy::unnecessary_wraps, reason = "as the rows of other tables")]
pub(super) fn rows(state: &State, _: &Context) -> Result<Vec<ArrayRef>> {
    let options = state.options.all();
    Ok(vec![
        Arc::new(StringArray::from_iter_values(options.keys())),
        Arc::new(StringArray::from_iter_values(options.values())),
    ])
}

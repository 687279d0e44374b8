//! The system table `options`: the options of the latest schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use frazil_core::context::Context;
use frazil_core::error::Result;

use super::{InspectColumn, InspectState, REQUIRED, ViewKind};

pub(super) const COLUMNS: [InspectColumn; 2] = [("key", ViewKind::Text, REQUIRED), ("value", ViewKind::Text, REQUIRED)];

#[expect(clippy::unnecessary_wraps, reason = "as the rows of other tables")]
pub(super) fn rows(state: &InspectState, _: &Context) -> Result<Vec<ArrayRef>> {
    let options = state.options.all();
    Ok(vec![
        Arc::new(StringArray::from_iter_values(options.keys())),
        Arc::new(StringArray::from_iter_values(options.values())),
    ])
}

//! The system table `aggregation_fields`: the columns of the latest schema with the options `fields.<column>.*`.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use frazil_core::context::Context;
use frazil_core::error::Result;

use super::{InspectColumn, InspectState, NULLABLE, REQUIRED, ViewKind, display};

pub(super) const COLUMNS: [InspectColumn; 5] = [
    ("field_name", ViewKind::Text, REQUIRED),
    ("field_type", ViewKind::Text, REQUIRED),
    ("function", ViewKind::Text, NULLABLE),
    ("function_options", ViewKind::Text, NULLABLE),
    ("comment", ViewKind::Text, NULLABLE),
];

#[expect(clippy::unnecessary_wraps, reason = "as the rows of other tables")]
pub(super) fn rows(state: &InspectState, _: &Context) -> Result<Vec<ArrayRef>> {
    let fields = || state.schema.fields.iter();
    let options = display::hash_order(&state.schema.options);
    let (mut functions, mut function_options) = (Vec::new(), Vec::new());
    for field in fields() {
        let of_field = options.iter().filter(|(option, _)| names_column(option, &field.name));
        let (names, values): (Vec<&str>, Vec<&str>) =
            of_field.map(|(option, value)| (option.as_str(), value.as_str())).unzip();
        functions.push(format!("[{}]", values.join(", ")));
        function_options.push(format!("[{}]", names.join(", ")));
    }
    Ok(vec![
        Arc::new(StringArray::from_iter_values(fields().map(|field| &field.name))),
        Arc::new(StringArray::from_iter_values(fields().map(|field| field.data_type.to_string()))),
        Arc::new(StringArray::from(functions)),
        Arc::new(StringArray::from(function_options)),
        Arc::new(fields().map(|field| field.description.as_deref()).collect::<StringArray>()),
    ])
}

/// Returns whether an option is `fields.<column>.<something>`. A column name that contains a dot never matches.
fn names_column(option: &str, column: &str) -> bool {
    let mut parts = option.split('.');
    parts.next() == Some("fields") && parts.next() == Some(column) && parts.next().is_some_and(|rest| !rest.is_empty())
}

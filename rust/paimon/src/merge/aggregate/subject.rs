//! Describes the subject of an aggregator: its function, its field, and the options of the field.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use frazil_core::error::{Error, Result};

use crate::spec::options::Options;
use crate::spec::types::DataField;

/// A function of a field.
#[derive(Debug)]
pub(super) struct Subject {
    function: String,
    field: String,
    /// The Arrow type of values and results.
    pub(super) data_type: ArrowType,
    /// Whether retracts are ignored (`fields.<field>.ignore-retract`).
    pub(super) ignore_retract: bool,
}

impl Subject {
    pub(super) fn new(function: &str, field: &DataField, options: &Options) -> Result<Self> {
        let data_type = field.data_type.arrow();
        if !is_representable(&data_type) {
            let message = format!("field `{}` is a MAP with nullable keys, which Arrow cannot represent", field.name);
            return Err(Error::unsupported(message));
        }
        Ok(Self {
            function: function.to_string(),
            field: field.name.clone(),
            data_type,
            ignore_retract: options.boolean(&option(&field.name, "ignore-retract"), false)?,
        })
    }

    /// Returns the error for a function that does not support the type of the field.
    pub(super) fn wrong_type(&self, expected: &str) -> Error {
        let Self { function, field, data_type, .. } = self;
        Error::invalid(format!(
            "the aggregate function `{function}` of field `{field}` requires {expected}, but the field is {data_type}"
        ))
    }

    /// Returns the error for invalid options of the field.
    pub(super) fn invalid(&self, problem: &str) -> Error {
        Error::invalid(format!("the aggregate function `{}` of field `{}`: {problem}", self.function, self.field))
    }

    /// Returns the error for unsupported options of the field.
    pub(super) fn unsupported(&self, problem: &str) -> Error {
        Error::unsupported(format!("the aggregate function `{}` of field `{}`: {problem}", self.function, self.field))
    }

    /// Returns the error for bytes that the function cannot read.
    pub(super) fn corrupt(&self, problem: &str) -> Error {
        Error::corrupt(format!("a value of field `{}` is not valid for `{}`: {problem}", self.field, self.function))
    }

    /// Returns the error for a retract that the function does not support, or Ok if retracts are ignored.
    pub(super) fn cannot_retract(&self) -> Result<()> {
        if self.ignore_retract {
            return Ok(());
        }
        let Self { function, field, .. } = self;
        let message = format!("the aggregate function `{function}` of field `{field}` cannot retract");
        Err(Error::unsupported(message)
            .hint(format!("to ignore retracts, set `{}` to `true`", option(field, "ignore-retract"))))
    }

    /// Checks that an array of the field has this row.
    #[inline]
    pub(super) fn check(&self, values: &ArrayRef, row: usize) -> Result<()> {
        if row < values.len() && *values.data_type() == self.data_type { Ok(()) } else { Err(self.misfit(values, row)) }
    }

    #[cold]
    pub(super) fn misfit(&self, values: &ArrayRef, row: usize) -> Error {
        let found = format!("row {row} of {} values of type {}", values.len(), values.data_type());
        Error::internal(format!("field `{}` has type {}, but was given {found}", self.field, self.data_type))
    }
}

/// Returns the name of an option of a field.
pub(super) fn option(field: &str, name: &str) -> String {
    format!("fields.{field}.{name}")
}

/// Returns whether Arrow can represent a type: map keys are never NULL.
fn is_representable(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::List(element) => is_representable(element.data_type()),
        ArrowType::Struct(fields) => fields.iter().all(|field| is_representable(field.data_type())),
        ArrowType::Map(entries, _) => match entries.data_type() {
            ArrowType::Struct(fields) => {
                fields.first().is_some_and(|key| !key.is_nullable()) && is_representable(entries.data_type())
            }
            _ => false,
        },
        _ => true,
    }
}

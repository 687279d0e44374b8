//! What an aggregator works on: its function, its field, and the options of the field.

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
    /// Whether retracts are passed over (`fields.<field>.ignore-retract`).
    pub(super) ignore_retract: bool,
}

impl Subject {
    pub(super) fn new(function: &str, field: &DataField, options: &Options) -> Result<Self> {
        let data_type = field.data_type.arrow();
        if !is_representable(&data_type) {
            let message = format!("field `{}` is a MAP whose keys may be NULL, which Arrow cannot hold", field.name);
            return Err(Error::unsupported(message));
        }
        Ok(Self {
            function: function.to_string(),
            field: field.name.clone(),
            data_type,
            ignore_retract: options.boolean(&option(&field.name, "ignore-retract"), false)?,
        })
    }

    /// The function does not take the type of the field.
    pub(super) fn wrong_type(&self, expected: &str) -> Error {
        let Self { function, field, data_type, .. } = self;
        Error::invalid(format!(
            "the aggregate function `{function}` of field `{field}` takes {expected}, the field is {data_type}"
        ))
    }

    /// The options of the field do not fit.
    pub(super) fn invalid(&self, problem: &str) -> Error {
        Error::invalid(format!("the aggregate function `{}` of field `{}`: {problem}", self.function, self.field))
    }

    /// The options of the field ask for what is not supported.
    pub(super) fn unsupported(&self, problem: &str) -> Error {
        Error::unsupported(format!("the aggregate function `{}` of field `{}`: {problem}", self.function, self.field))
    }

    /// Bytes that the function cannot read.
    pub(super) fn corrupt(&self, problem: &str) -> Error {
        Error::corrupt(format!("a value of field `{}` is not what `{}` takes: {problem}", self.field, self.function))
    }

    /// A retract that the function cannot do: nothing when they are to be ignored.
    pub(super) fn cannot_retract(&self) -> Result<()> {
        if self.ignore_retract {
            return Ok(());
        }
        let Self { function, field, .. } = self;
        let message = format!("the aggregate function `{function}` of field `{field}` cannot retract");
        Err(Error::unsupported(message)
            .hint(format!("set `{}` to `true` if retracts may be ignored", option(field, "ignore-retract"))))
    }

    /// Refuses what is no row of an array of the field.
    #[inline]
    pub(super) fn check(&self, values: &ArrayRef, row: usize) -> Result<()> {
        if row < values.len() && *values.data_type() == self.data_type { Ok(()) } else { Err(self.misfit(values, row)) }
    }

    #[cold]
    pub(super) fn misfit(&self, values: &ArrayRef, row: usize) -> Error {
        let found = format!("row {row} of {} values of type {}", values.len(), values.data_type());
        Error::internal(format!("field `{}` is of type {}, it was given {found}", self.field, self.data_type))
    }
}

/// The name of an option of a field.
pub(super) fn option(field: &str, name: &str) -> String {
    format!("fields.{field}.{name}")
}

/// Whether Arrow has arrays of a type: keys of a map are never NULL.
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

//! Parses changes to the schema of a table from JSON, an array of operations:
//!
//! ```text
//! {"operation": "add_column", "path": "a" or ["s", "a"], "type": type, "doc": "..", "default": "..", "required": false}
//! {"operation": "update_column", "path": .., "type": type, "required": true, "doc": ".."}
//! {"operation": "delete_column" | "move_first" | "move_last", "path": ..}
//! {"operation": "rename_column", "path": .., "name": ".."}
//! {"operation": "move_before" | "move_after", "path": .., "other": ..}
//! {"operation": "set_default", "path": .., "default": ".."}
//! {"operation": "set_option", "name": "..", "value": ".."}   {"operation": "remove_option", "name": ".."}
//! {"operation": "set_comment", "comment": ".."}
//! ```
//!
//! Types have the form of schema files.

use frazil_core::error::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::spec::json::{self, Object, shown};
use crate::spec::types::{DataField, DataType};

/// A change to the schema of a table (Java's `SchemaChange`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets an option.
    SetOption {
        /// The name of the option.
        name: String,
        /// The value of the option.
        value: String,
    },
    /// Removes an option, whether or not it is set.
    RemoveOption {
        /// The name of the option.
        name: String,
    },
    /// Sets or removes the comment on the table.
    Comment(Option<String>),
    /// Adds a column after the other columns, or a field after the other fields of its ROW.
    AddColumn {
        /// The new column.
        path: ColumnPath,
        /// The type, whose field ids are ignored.
        data_type: DataType,
        /// The comment on the column.
        comment: Option<String>,
        /// The default of the column.
        default: Option<String>,
    },
    /// Renames a column or a field.
    RenameColumn {
        /// The column.
        path: ColumnPath,
        /// The new name, without the names of enclosing columns.
        name: String,
    },
    /// Drops a column or a field.
    DropColumn {
        /// The column.
        path: ColumnPath,
    },
    /// Changes the type and keeps the nullability.
    ColumnType {
        /// The column, or the `element` of an array or the `value` of a map.
        path: ColumnPath,
        /// The new type.
        data_type: DataType,
    },
    /// Changes whether values may be NULL.
    Nullability {
        /// The column, or the `element` of an array or the `value` of a map.
        path: ColumnPath,
        /// Whether values may be NULL.
        nullable: bool,
    },
    /// Sets or removes the comment on a column.
    ColumnComment {
        /// The column.
        path: ColumnPath,
        /// The comment.
        comment: Option<String>,
    },
    /// Moves a column or a field.
    Position {
        /// The column.
        path: ColumnPath,
        /// The new position.
        position: Position,
    },
    /// Sets or removes the default of a column.
    Default {
        /// The column.
        path: ColumnPath,
        /// The default.
        default: Option<String>,
    },
}

/// A position among the columns of a table, or among the fields of a ROW.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// The first position.
    First,
    /// The last position.
    Last,
    /// Before another column.
    Before(ColumnPath),
    /// After another column.
    After(ColumnPath),
}

/// The name of a column, after the names of its enclosing columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPath {
    /// Names separated by dots, or the name of a column that contains dots.
    Text(String),
    /// One name for each level.
    Names(Vec<String>),
}

impl ColumnPath {
    /// Returns the names of the path. A text is the name of a column if the table has such a column.
    pub(super) fn names(&self, fields: &[DataField]) -> Vec<String> {
        match self {
            Self::Names(names) => names.clone(),
            Self::Text(text) if fields.iter().any(|field| field.name == *text) => vec![text.clone()],
            Self::Text(text) => text.split('.').map(str::to_string).collect(),
        }
    }

    fn parse(object: &Object<'_>, key: &str) -> Result<Self> {
        match object.required(key)? {
            Value::String(text) => Ok(Self::Text(text.clone())),
            _ => match object.texts(key)? {
                names if names.is_empty() => Err(object.wrong(key, "the names of a column")),
                names => Ok(Self::Names(names)),
            },
        }
    }
}

impl Change {
    /// Parses changes.
    ///
    /// # Errors
    /// `InvalidArgument` for anything else; `Unsupported` naming an unknown operation or type.
    pub fn parse_all(bytes: &[u8]) -> Result<Vec<Self>> {
        let parse = || -> Result<Vec<Self>> {
            let value = json::parse(bytes, "changes")?;
            let operations = value.as_array().ok_or_else(|| Error::corrupt("the changes are not an array"))?;
            let mut changes = Vec::with_capacity(operations.len());
            for operation in operations {
                Self::parse(&Object::of(operation, "change")?, &mut changes)?;
            }
            Ok(changes)
        };
        parse().map_err(|error| error.corrupt_as(ErrorKind::InvalidArgument))
    }

    fn parse(object: &Object<'_>, changes: &mut Vec<Self>) -> Result<()> {
        let path = || ColumnPath::parse(object, "path");
        let text = |key: &str| Ok::<_, Error>(object.text(key)?.map(str::to_string));
        let required_text = |key: &str| Ok::<_, Error>(object.required_text(key)?.to_string());
        changes.push(match object.required_text("operation")? {
            "set_option" => Self::SetOption { name: required_text("name")?, value: required_text("value")? },
            "remove_option" => Self::RemoveOption { name: required_text("name")? },
            "set_comment" => Self::Comment(text("comment")?),
            "add_column" => {
                let mut data_type = DataType::parse_json(object.required("type")?)?;
                data_type.nullable &= object.value("required") != Some(&Value::Bool(true));
                Self::AddColumn { path: path()?, data_type, comment: text("doc")?, default: text("default")? }
            }
            "rename_column" => Self::RenameColumn { path: path()?, name: required_text("name")? },
            "delete_column" => Self::DropColumn { path: path()? },
            "update_column" => return Self::parse_update(object, &path()?, changes),
            "set_default" => Self::Default { path: path()?, default: text("default")? },
            "move_first" => Self::Position { path: path()?, position: Position::First },
            "move_last" => Self::Position { path: path()?, position: Position::Last },
            "move_before" => {
                Self::Position { path: path()?, position: Position::Before(ColumnPath::parse(object, "other")?) }
            }
            "move_after" => {
                Self::Position { path: path()?, position: Position::After(ColumnPath::parse(object, "other")?) }
            }
            other => {
                return Err(Error::unsupported(format!(
                    "the operation `{}` is not supported for Paimon tables",
                    shown(other)
                )));
            }
        });
        Ok(())
    }

    fn parse_update(object: &Object<'_>, path: &ColumnPath, changes: &mut Vec<Self>) -> Result<()> {
        if let Some(data_type) = object.value("type") {
            changes.push(Self::ColumnType { path: path.clone(), data_type: DataType::parse_json(data_type)? });
        }
        if let Some(required) = object.value("required") {
            let required = required.as_bool().ok_or_else(|| object.wrong("required", "true or false"))?;
            changes.push(Self::Nullability { path: path.clone(), nullable: !required });
        }
        if let Some(comment) = object.text("doc")? {
            changes.push(Self::ColumnComment { path: path.clone(), comment: Some(comment.to_string()) });
        }
        Ok(())
    }
}

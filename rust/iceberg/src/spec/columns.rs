//! Presents a schema as the columns that a predicate can reference.

use frazil_core::error::Result;
use frazil_core::scalar::ScalarType;
use frazil_core::sql::predicate::bind::Columns;
use frazil_core::sql::predicate::{BoundColumn, ColumnName};

use super::schema::Schema;
use super::types::{PrimitiveType, Type};

impl Columns for Schema {
    fn column(&self, name: &ColumnName, case_sensitive: bool) -> Result<Option<BoundColumn>> {
        self.bound_column(name, case_sensitive)
    }

    fn names(&self) -> Vec<String> {
        self.full_names()
    }

    fn comparable(&self, column: &BoundColumn) -> bool {
        column.data_type != ScalarType::Null
            || self.field(column.id).is_some_and(|field| field.field_type == Type::Primitive(PrimitiveType::Unknown))
    }
}

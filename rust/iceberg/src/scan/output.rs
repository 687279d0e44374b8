//! The output of a scan: table columns by field id, and metadata columns (spec: "Reserved Field IDs") if they are
//! selected.

use std::collections::BTreeMap;

use frazil_core::error::{Error, Result};

use crate::spec::partition::PartitionField;
use crate::spec::schema::Schema;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::transform::Transform;
use crate::spec::types::{NestedField, PrimitiveType, StructType, Type};

/// A metadata column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetadataColumn {
    /// `_file`: the path of the data file, as recorded.
    File,
    /// `_pos`: the position of the row in its data file.
    Pos,
    /// `_deleted`: whether the row is deleted; with this column, deleted rows are returned too.
    Deleted,
    /// `_spec_id`: the partition spec of the data file.
    SpecId,
    /// `_partition`: the partition tuple, as a struct of the fields of all specs.
    Partition,
    /// `_row_id`: the id of a row, which is preserved when files are rewritten (v3).
    RowId,
    /// `_last_updated_sequence_number`: the sequence number that last changed the row (v3).
    LastUpdatedSequenceNumber,
}

impl MetadataColumn {
    /// All metadata columns.
    pub const ALL: [Self; 7] = [
        Self::File,
        Self::Pos,
        Self::Deleted,
        Self::SpecId,
        Self::Partition,
        Self::RowId,
        Self::LastUpdatedSequenceNumber,
    ];

    /// Returns the reserved name.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "_file",
            Self::Pos => "_pos",
            Self::Deleted => "_deleted",
            Self::SpecId => "_spec_id",
            Self::Partition => "_partition",
            Self::RowId => "_row_id",
            Self::LastUpdatedSequenceNumber => "_last_updated_sequence_number",
        }
    }

    /// Returns the reserved field id.
    pub fn field_id(self) -> i32 {
        match self {
            Self::File => 2_147_483_646,
            Self::Pos => 2_147_483_645,
            Self::Deleted => 2_147_483_644,
            Self::SpecId => 2_147_483_643,
            Self::Partition => 2_147_483_642,
            Self::RowId => 2_147_483_540,
            Self::LastUpdatedSequenceNumber => 2_147_483_539,
        }
    }

    /// Returns the name in data files of `schema`: the reserved name, or a name that no table column has. Readers find
    /// the column by its field id.
    pub fn name_in_files(self, schema: &Schema) -> String {
        let mut name = self.name().to_string();
        while schema.fields.fields.iter().any(|field| field.name.eq_ignore_ascii_case(&name)) {
            name.push('_');
        }
        name
    }

    /// Returns the column as a field; `partition` is the type of [`MetadataColumn::Partition`].
    pub fn field(self, partition: &StructType) -> NestedField {
        let (field_type, required) = match self {
            Self::File => (Type::Primitive(PrimitiveType::String), true),
            Self::Pos => (Type::Primitive(PrimitiveType::Long), true),
            Self::Deleted => (Type::Primitive(PrimitiveType::Boolean), true),
            Self::SpecId => (Type::Primitive(PrimitiveType::Int), true),
            Self::Partition => (Type::Struct(partition.clone()), false),
            Self::RowId | Self::LastUpdatedSequenceNumber => (Type::Primitive(PrimitiveType::Long), false),
        };
        NestedField::new(self.field_id(), self.name(), field_type, required)
    }
}

/// The columns of a scan, in output order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// The columns; metadata columns are identified by their field ids.
    pub fields: StructType,
}

impl Output {
    /// Selects the columns in `selected`: `*` for all table columns, column names (`s.x` for a field of a struct), and
    /// metadata columns. Table columns keep the order of the schema; metadata columns follow in the order given.
    ///
    /// # Errors
    /// `InvalidArgument` with the unknown column.
    pub fn select(
        schema: &Schema,
        metadata: &TableMetadata,
        selected: &[String],
        case_sensitive: bool,
    ) -> Result<Self> {
        let mut names = Vec::new();
        let mut extra = Vec::new();
        for name in selected {
            let reserved = MetadataColumn::ALL.into_iter().find(|column| column.name() == name);
            match reserved.filter(|_| !schema.fields.fields.iter().any(|field| field.name == *name)) {
                Some(column) if !extra.contains(&column) => extra.push(column),
                Some(_) => {}
                None => names.push(name.as_str()),
            }
        }
        let mut fields =
            if names.contains(&"*") { schema.fields.clone() } else { schema.project(&names, case_sensitive)? };
        let partition = unified_partition_type(metadata, schema);
        fields.fields.extend(extra.into_iter().map(|column| column.field(&partition)));
        Ok(Self { fields })
    }

    /// Returns the output with these metadata columns appended. Table columns with the same names do not replace them.
    #[must_use]
    pub fn with_metadata(mut self, columns: &[MetadataColumn]) -> Self {
        let partition = StructType::default();
        self.fields.fields.extend(columns.iter().map(|column| column.field(&partition)));
        self
    }

    /// Returns whether a metadata column is selected.
    pub fn has(&self, column: MetadataColumn) -> bool {
        self.fields.fields.iter().any(|field| field.id == column.field_id())
    }
}

/// Returns the partition fields of all specs of a table, by field id. A field that is `void` in some spec keeps the
/// type that another spec gives it. Fields of columns that the schema no longer has are omitted, as in the reference
/// implementation.
fn unified_partition_type(metadata: &TableMetadata, schema: &Schema) -> StructType {
    let mut fields: BTreeMap<i32, NestedField> = BTreeMap::new();
    for spec in &metadata.partition_specs {
        for field in metadata.partition_type(spec).fields {
            let made_by = |f: &&PartitionField| f.field_id == field.id;
            let made_by = spec.fields.iter().find(made_by);
            let sources = made_by.map_or(&[][..], |f| &f.source_ids);
            if sources.iter().any(|&id| schema.field(id).is_none()) {
                continue;
            }
            let void = made_by.is_some_and(|f| f.transform == Transform::Void);
            match fields.get(&field.id) {
                Some(_) if void => {}
                _ => drop(fields.insert(field.id, field)),
            }
        }
    }
    StructType { fields: fields.into_values().collect() }
}

/// Returns the error for a column that a scan needs and the table never had.
pub(crate) fn unknown_field(id: i32) -> Error {
    Error::corrupt("no schema of the table has the field").with("field id", id)
}

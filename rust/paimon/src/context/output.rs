//! The columns that a scan returns.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef};
use frazil_core::error::{Error, Result};
use frazil_core::sql::predicate::ColumnName;
use frazil_core::sql::predicate::bind::{Columns, nearest};

use super::View;
use crate::spec::columns;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot, arrow_fields};

/// The maximum number of columns that an error lists.
const MAX_LISTED: usize = 20;

/// Columns that describe a row, in addition to those of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetadataColumn {
    /// `_ROW_KIND`: `+I`, `-U`, `+U`, `-D`.
    RowKind,
    /// `_SEQUENCE_NUMBER`: the number that orders the records of a key. In append tables with row tracking, the
    /// snapshot that last changed the row.
    SequenceNumber,
    /// `rowkind`: the row kind as a column of the audit log.
    AuditRowKind,
    /// `_SEQUENCE_NUMBER` as a column of the audit log (`table-read.sequence-number.enabled`).
    AuditSequenceNumber,
    /// `_ROW_ID`: the id that a row keeps through rewrites (row tracking).
    RowId,
    /// `_POSITION`: the position of a row in its file. Scans of users cannot select it.
    Position,
}

impl MetadataColumn {
    /// All metadata columns.
    pub const ALL: [Self; 6] = [
        Self::RowKind,
        Self::AuditRowKind,
        Self::AuditSequenceNumber,
        Self::SequenceNumber,
        Self::RowId,
        Self::Position,
    ];

    /// Returns whether scans of users can select the column.
    fn is_selectable(self) -> bool {
        self != Self::Position
    }

    /// Returns the name of the column.
    pub fn name(self) -> &'static str {
        match self {
            Self::RowKind => columns::ROW_KIND,
            Self::SequenceNumber | Self::AuditSequenceNumber => columns::SEQUENCE_NUMBER,
            Self::AuditRowKind => columns::AUDIT_ROW_KIND,
            Self::RowId => columns::ROW_ID,
            Self::Position => columns::POSITION,
        }
    }

    /// Returns the unique name of the column in the wire form of splits.
    pub fn wire_name(self) -> &'static str {
        if self == Self::AuditSequenceNumber { "audit-sequence-number" } else { self.name() }
    }

    /// Returns whether the column precedes the columns of the table.
    pub fn is_leading(self) -> bool {
        matches!(self, Self::AuditRowKind | Self::AuditSequenceNumber)
    }

    fn arrow(self) -> Field {
        match self {
            Self::RowKind | Self::AuditRowKind => Field::new(self.name(), ArrowType::Utf8, false),
            Self::SequenceNumber | Self::AuditSequenceNumber | Self::RowId | Self::Position => {
                Field::new(self.name(), ArrowType::Int64, true)
            }
        }
    }
}

/// The columns of a scan in the order in which they are returned: the columns of the table in schema order, then
/// metadata columns in the order of selection. The column `rowkind` of the audit log is first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// The columns of the table; a ROW may have only some of its fields.
    pub fields: Vec<DataField>,
    /// The metadata columns.
    pub metadata: Vec<MetadataColumn>,
    /// Whether columns of the table are lists of the images of a row (`$binlog`).
    pub images: bool,
}

impl Output {
    /// Returns the selected columns: `*` for all columns of the table, `s.x` for a field of a ROW, or a metadata
    /// column.
    ///
    /// # Errors
    /// `InvalidArgument` naming an unknown or ambiguous column.
    pub fn select(
        schema: &TableSchema,
        (view, options): (View, &Options),
        selected: &[String],
        case_sensitive: bool,
    ) -> Result<Self> {
        let mut ids = HashSet::new();
        let mut metadata = Vec::new();
        let is_audit = view.has_kinds();
        let is_tracked = view == View::RowTracking;
        if is_tracked && !options.boolean("row-tracking.enabled", false)? {
            return Err(Error::invalid("row tracking is not enabled, so the table has no `row_tracking`")
                .hint("set the table option `row-tracking.enabled`"));
        }
        let is_numbered = is_audit
            && !schema.primary_keys.is_empty()
            && options.boolean("table-read.sequence-number.enabled", false)?;
        let has = |column: &MetadataColumn| match column {
            MetadataColumn::AuditRowKind => is_audit,
            MetadataColumn::AuditSequenceNumber => is_numbered,
            _ => true,
        };
        for name in selected {
            if name == "*" {
                ids.extend(schema.fields.iter().map(|field| field.id));
                metadata.extend(is_audit.then_some(MetadataColumn::AuditRowKind));
                metadata.extend(is_numbered.then_some(MetadataColumn::AuditSequenceNumber));
                if is_tracked {
                    metadata.extend([MetadataColumn::RowId, MetadataColumn::SequenceNumber]);
                }
            } else if let Some(id) = find_quoted(&schema.fields, name, case_sensitive)? {
                ids.insert(id);
            } else if let Some(column) =
                MetadataColumn::ALL.into_iter().filter(has).find(|c| c.is_selectable() && c.name() == name)
            {
                metadata.push(column);
            } else {
                return Err(no_such_column(schema, name));
            }
        }
        let mut seen = HashSet::new();
        metadata.retain(|column| seen.insert(*column));
        // Leading columns are sorted first.
        metadata.sort_by_key(|column| !column.is_leading());
        Ok(Self { fields: pruned(&schema.fields, &ids), metadata, images: view == View::Binlog })
    }

    /// Returns the Arrow schema of the rows.
    pub fn schema(&self) -> SchemaRef {
        let metadata = |leading| {
            let columns = self.metadata.iter().filter(move |column| column.is_leading() == leading);
            columns.map(|column| Arc::new(column.arrow()))
        };
        let fields = if self.images { arrow_fields(&lists(&self.fields)) } else { arrow_fields(&self.fields) };
        Arc::new(Schema::new(metadata(true).chain(fields.iter().cloned()).chain(metadata(false)).collect::<Vec<_>>()))
    }

    /// Returns whether a metadata column is returned.
    pub fn has(&self, column: MetadataColumn) -> bool {
        self.metadata.contains(&column)
    }

    /// Returns whether sequence numbers are returned.
    pub fn has_sequence_numbers(&self) -> bool {
        self.has(MetadataColumn::SequenceNumber) || self.has(MetadataColumn::AuditSequenceNumber)
    }
}

/// Converts columns to lists of their type, one element for each image of a row.
fn lists(fields: &[DataField]) -> Vec<DataField> {
    let list = |field: &DataField| {
        let element = DataType::nullable(field.data_type.root.clone());
        DataField { data_type: DataType::nullable(TypeRoot::Array(Box::new(element))), ..field.clone() }
    };
    fields.iter().map(list).collect()
}

fn no_such_column(schema: &TableSchema, name: &str) -> Error {
    let hint = nearest(name, &schema.names()).map_or_else(
        || {
            let names: Vec<_> =
                schema.fields.iter().take(MAX_LISTED).map(|field| format!("`{}`", field.name)).collect();
            format!("the columns are {}", names.join(", "))
        },
        |nearest| format!("did you mean `{nearest}`?"),
    );
    Error::invalid(format!("unknown column `{name}`")).hint(hint)
}

/// Returns the fields with these ids, complete, inside their parent ROWs.
pub fn pruned<S: BuildHasher>(fields: &[DataField], ids: &HashSet<i32, S>) -> Vec<DataField> {
    let prune = |field: &DataField| {
        if ids.contains(&field.id) {
            return Some(field.clone());
        }
        let TypeRoot::Row(inner) = &field.data_type.root else { return None };
        let inner = pruned(inner, ids);
        if inner.is_empty() {
            return None;
        }
        let data_type = DataType { root: TypeRoot::Row(inner), nullable: field.data_type.nullable };
        Some(DataField { data_type, ..field.clone() })
    };
    fields.iter().filter_map(prune).collect()
}

/// Returns the ids of the complete fields, from which [`pruned`] reconstructs the fields.
pub fn leaf_ids(fields: &[DataField]) -> Vec<i32> {
    let leaves = |field: &DataField| match &field.data_type.root {
        TypeRoot::Row(inner) if !inner.is_empty() => leaf_ids(inner),
        _ => vec![field.id],
    };
    fields.iter().flat_map(leaves).collect()
}

/// Converts an array of the field `from` to the field `to`, which is the same field with possibly fewer nested fields.
///
/// # Errors
/// `Internal` if `from` lacks a nested field of `to`.
pub fn narrowed(array: &ArrayRef, from: &DataField, to: &DataField) -> Result<ArrayRef> {
    let (TypeRoot::Row(have), TypeRoot::Row(want)) = (&from.data_type.root, &to.data_type.root) else {
        return Ok(array.clone());
    };
    if have == want {
        return Ok(array.clone());
    }
    let lacking = || Error::internal("a column was not read completely").with("column", &to.name);
    let values = array.as_struct_opt().ok_or_else(lacking)?;
    let child = |field: &DataField| {
        let at = have.iter().position(|other| other.id == field.id).ok_or_else(lacking)?;
        narrowed(values.columns().get(at).ok_or_else(lacking)?, have.get(at).ok_or_else(lacking)?, field)
    };
    let children = want.iter().map(child).collect::<Result<Vec<_>>>()?;
    let nulls = values.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(arrow_fields(want), children, nulls, values.len())?))
}

/// Returns the id as [`find`] does. If there is no such field, SQL quotes in the name are interpreted.
fn find_quoted(fields: &[DataField], name: &str, case_sensitive: bool) -> Result<Option<i32>> {
    match (find(fields, name, case_sensitive)?, ColumnName::unquoted(name)) {
        (None, Some(name)) => find(fields, &name, case_sensitive),
        (found, _) => Ok(found),
    }
}

/// Returns the id of the field of a name: a complete column name, or a path through ROWs.
fn find(fields: &[DataField], name: &str, case_sensitive: bool) -> Result<Option<i32>> {
    if let Some(field) = super::find(fields, name, case_sensitive)? {
        return Ok(Some(field.id));
    }
    for (at, _) in name.match_indices('.') {
        let (Some(first), Some(rest)) = (name.get(..at), name.get(at + 1..)) else { continue };
        let field = super::find(fields, first, case_sensitive)?;
        let Some(TypeRoot::Row(inner)) = field.map(|field| &field.data_type.root) else { continue };
        if let Some(id) = find(inner, rest, case_sensitive)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

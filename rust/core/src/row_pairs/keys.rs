//! Encodes rows as bytes with the same order.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::Schema;

use super::{PairSpec, is_delete};
use crate::error::{Error, Result};

/// The number of change columns, which are the last columns of a batch: change type, ordinal and id of the commit.
pub(super) const CHANGE_COLUMNS: usize = 3;

/// An encoder of the columns by which rows are sorted and compared.
#[derive(Debug)]
pub(super) struct Keys {
    /// The columns of the commit and the identifier.
    group: Vec<usize>,
    /// The columns of the row.
    values: Vec<usize>,
    change_type: usize,
    ordinal: usize,
    identifiers: Vec<usize>,
    null_is_unknown: bool,
    sort: RowConverter,
    groups: RowConverter,
    rows: RowConverter,
}

/// The keys of a batch.
#[derive(Debug)]
pub(super) struct RowKeys {
    groups: Option<Rows>,
    rows: Option<Rows>,
    /// The rows whose identifier is known. None if all rows have a known identifier, or if NULL counts as known.
    identified: Option<NullBuffer>,
}

impl Keys {
    pub(super) fn try_new(schema: &Schema, spec: &PairSpec) -> Result<Self> {
        let change_type = schema
            .fields()
            .len()
            .checked_sub(CHANGE_COLUMNS)
            .filter(|&at| at >= spec.values)
            .ok_or_else(|| Error::internal("a schema of changes has no change columns"))?;
        let ordinal = change_type + 1;
        let group: Vec<usize> =
            (!spec.across_commits).then_some(ordinal).into_iter().chain(spec.identifiers.iter().copied()).collect();
        let values: Vec<usize> = (0..spec.values).collect();
        let field = |at: &usize| {
            let field = schema.fields().get(*at).ok_or_else(|| Error::internal("a key column is missing"))?;
            Ok(SortField::new(field.data_type().clone()))
        };
        let converter = |at: &[usize], more: &[SortField]| -> Result<RowConverter> {
            let mut fields = at.iter().map(field).collect::<Result<Vec<_>>>()?;
            fields.extend(more.iter().cloned());
            if let Some(unknown) =
                fields.iter().position(|field| !RowConverter::supports_fields(std::slice::from_ref(field)))
            {
                let name = at.get(unknown).and_then(|&at| schema.fields().get(at)).map_or("", |field| field.name());
                return Err(Error::unsupported(format!(
                    "changes of the column `{name}` cannot be computed, because its values cannot be compared"
                )));
            }
            Ok(RowConverter::new(fields)?)
        };
        let sorted: Vec<usize> = group.iter().chain(&values).chain([&ordinal]).copied().collect();
        let delete_first = SortField::new(arrow_schema::DataType::Boolean);
        Ok(Self {
            sort: converter(&sorted, &[delete_first])?,
            groups: converter(&group, &[])?,
            rows: converter(&values, &[])?,
            group,
            values,
            change_type,
            ordinal,
            identifiers: spec.identifiers.clone(),
            null_is_unknown: spec.null_is_unknown,
        })
    }

    /// Returns keys that consist of the commit, the identifier, the values, the commit again, and whether the row was
    /// inserted: deletes come first.
    pub(super) fn sort_keys(&self, batch: &RecordBatch) -> Result<BinaryArray> {
        let mut sorted = columns(batch, &self.group)?;
        sorted.extend(columns(batch, &self.values)?);
        sorted.extend(columns(batch, &[self.ordinal])?);
        sorted.push(Arc::new(BooleanArray::new(!self.deletes(batch)?.values(), None)));
        Ok(self.sort.convert_columns(&sorted)?.try_into_binary()?)
    }

    pub(super) fn row_keys(&self, batch: &RecordBatch) -> Result<RowKeys> {
        // Without columns, a converter would return no rows.
        let encoded = |converter: &RowConverter, at: &[usize]| match at {
            [] => Ok(None),
            at => Ok::<_, Error>(Some(converter.convert_columns(&columns(batch, at)?)?)),
        };
        let identified = match columns(batch, &self.identifiers)?.as_slice() {
            [one] if self.null_is_unknown => one.logical_nulls(),
            _ => None,
        };
        let groups = encoded(&self.groups, &self.group)?;
        Ok(RowKeys { groups, rows: encoded(&self.rows, &self.values)?, identified })
    }

    pub(super) fn deletes(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let [column] = columns(batch, &[self.change_type])?.try_into().map_err(|_| missing())?;
        is_delete(&column)
    }
}

fn columns(batch: &RecordBatch, at: &[usize]) -> Result<Vec<ArrayRef>> {
    at.iter().map(|&at| batch.columns().get(at).cloned().ok_or_else(missing)).collect()
}

impl RowKeys {
    pub(super) fn identifier(&self, row: usize) -> &[u8] {
        self.groups.as_ref().map_or(&[], |groups| groups.row(row).data())
    }

    pub(super) fn values(&self, row: usize) -> &[u8] {
        self.rows.as_ref().map_or(&[], |rows| rows.row(row).data())
    }

    pub(super) fn is_identified(&self, row: usize) -> bool {
        self.identified.as_ref().is_none_or(|known| known.is_valid(row))
    }
}

fn missing() -> Error {
    Error::internal("a batch of changes is missing a column")
}

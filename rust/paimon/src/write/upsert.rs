//! Converts rows of primary-key tables to records of level 0: sorted by key, and merged if a key occurs twice.
//!
//! ```text
//! push(rows of a batch)*   one sorter for all buckets, which spills: slot, key, sequence fields, order of arrival
//! next()*                  records of one slot after the other, each slot a run of its own through the merger
//! ```
//!
//! Records that delete are kept, because levels below may have the row (Java's `MergeTreeWriter`).

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int8Array, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_row::SortField;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Schema as ArrowSchema, SchemaRef, SortOptions};
use arrow_select::filter::{filter, filter_record_batch};
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::floats::{canonical, one_nan};
use frazil_core::sort::RowSorter;
use frazil_core::sql::expression::widened;

use crate::merge::{MergeSpec, Merger, Source, Step, with_nullable_values};
use crate::read::projection::SystemColumn;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, arrow_fields};

/// The name of the column with the slot of a sorted row. Files do not have it.
const SLOT: &str = "_SLOT";

/// The row kind -U.
const UPDATE_BEFORE: i8 = 1;

/// The row kinds that retract an earlier record: -U and -D.
const RETRACTS: [i8; 2] = [UPDATE_BEFORE, 3];

/// The number of rows that are sorted or merged at a time.
const STEP_ROWS: usize = 8192;

/// Records of a slot, sorted by key.
#[derive(Debug)]
pub(crate) struct Records {
    pub(crate) slot: usize,
    /// The columns of the table.
    pub(crate) values: RecordBatch,
    pub(crate) sequences: Int64Array,
    pub(crate) kinds: Int8Array,
}

impl Records {
    /// Returns the records for which `kept` is true.
    pub(crate) fn filter(&self, kept: &BooleanArray) -> Result<Self> {
        Ok(Self {
            slot: self.slot,
            values: filter_record_batch(&self.values, kept)?,
            sequences: filter(&self.sequences, kept)?.as_primitive().clone(),
            kinds: filter(&self.kinds, kept)?.as_primitive().clone(),
        })
    }
}

/// The state that sorts and merges the rows of one write.
#[derive(Debug)]
pub(crate) struct Upserts {
    spec: MergeSpec,
    context: Context,
    /// The columns of the table, as in files.
    values: SchemaRef,
    /// The columns of the table, sequence numbers and row kinds, as in reads.
    merged: SchemaRef,
    /// The merged columns and the slot.
    sorted: SchemaRef,
    /// The positions of the key and of the sequence fields.
    keys: Vec<usize>,
    order: Vec<usize>,
    /// Whether the option `ignore-update-before` is set.
    ignores_update_before: bool,
    sorter: RowSorter,
    /// Sorted rows that have not been merged yet.
    waiting: Option<RecordBatch>,
    running: Option<(usize, Merger)>,
    /// Merged records that have not been returned yet.
    ready: Option<Records>,
    /// Sorted records before the merge, if they are requested.
    unmerged: Option<VecDeque<Records>>,
    /// Whether each kind of retract is known to be accepted by the merge engine.
    probed: [bool; 2],
}

impl Upserts {
    /// Creates the state for rows of a table, whose columns are those of `aligned`. About `memory_bytes` of rows are
    /// held.
    ///
    /// # Errors
    /// As for [`MergeSpec::try_new`] and [`Merger::try_new`].
    pub(crate) fn try_new(
        schema: &Arc<TableSchema>,
        aligned: &ArrowSchema,
        memory_bytes: usize,
        context: &Context,
    ) -> Result<Self> {
        let options = Options::new(schema.options.clone());
        let spec = MergeSpec::try_new(schema, &options)?;
        let values = with_nullable_values(schema.clone(), &options);
        let may_be_null = |(field, value): (&FieldRef, &DataField)| -> FieldRef {
            Arc::new(field.as_ref().clone().with_nullable(value.data_type.nullable))
        };
        let of_files: Vec<FieldRef> = aligned.fields().iter().zip(&values.fields).map(may_be_null).collect();
        let mut fields = arrow_fields(&values.fields).to_vec();
        let system = |column: SystemColumn| Arc::new(Field::new(column.name(), column.data_type().arrow(), true));
        fields.extend([SystemColumn::SequenceNumber, SystemColumn::ValueKind].map(system));
        let merged = Arc::new(ArrowSchema::new(fields.clone()));
        fields.push(Arc::new(Field::new(SLOT, ArrowType::UInt32, false)));
        let place = |name: &str| merged.index_of(name).map_err(|_| Error::invalid(format!("unknown column `{name}`")));
        let keys = schema.trimmed_primary_keys().into_iter().map(place).collect::<Result<Vec<_>>>()?;
        let order = options.list("sequence.field").into_iter().map(place).collect::<Result<Vec<_>>>()?;
        let descending = spec.is_descending();
        let of =
            |place: &usize, options| SortField::new_with_options(merged.field(*place).data_type().clone(), options);
        let mut sort = vec![SortField::new(ArrowType::UInt32)];
        sort.extend(keys.iter().map(|place| of(place, SortOptions::default())));
        sort.extend(order.iter().map(|place| of(place, SortOptions { descending, nulls_first: true })));
        // Settings that the merge rejects are rejected before the first row.
        Merger::try_new(&spec, merged.clone(), 1, context)?;
        Ok(Self {
            spec,
            context: context.clone(),
            values: Arc::new(ArrowSchema::new(of_files)),
            merged,
            sorted: Arc::new(ArrowSchema::new(fields)),
            keys,
            order,
            ignores_update_before: options.boolean("ignore-update-before", false)?,
            sorter: RowSorter::new(sort, memory_bytes)?,
            waiting: None,
            running: None,
            ready: None,
            unmerged: None,
            probed: [false; 2],
        })
    }

    /// Requests that sorted records are also kept as they were before the merge, for [`Upserts::next_unmerged`].
    pub(crate) fn keep_unmerged(&mut self) {
        self.unmerged = Some(VecDeque::new());
    }

    /// Returns the next sorted records as they were before the merge, or None. Records are kept until this method
    /// returns them.
    pub(crate) fn next_unmerged(&mut self) -> Option<Records> {
        self.unmerged.as_mut()?.pop_front()
    }

    /// Returns the schema of the table columns in [`Records`].
    pub(crate) fn values(&self) -> SchemaRef {
        self.values.clone()
    }

    /// Returns whether rows of this kind are ignored.
    pub(crate) fn ignores(&self, kind: i8) -> bool {
        (self.spec.ignores_deletes() && RETRACTS.contains(&kind))
            || (self.ignores_update_before && kind == UPDATE_BEFORE)
    }

    /// Returns the columns of the key.
    pub(crate) fn keys(&self, values: &RecordBatch) -> Vec<ArrayRef> {
        self.keys.iter().map(|place| values.column(*place).clone()).collect()
    }

    /// Adds rows in the order in which they take effect.
    ///
    /// # Errors
    /// `InvalidArgument` for a retract that the merge engine does not accept; `Storage` if rows cannot be spilled.
    pub(crate) fn push(&mut self, records: &Records, slots: UInt32Array) -> Result<()> {
        self.probe(records)?;
        let mut keys: Vec<ArrayRef> = vec![Arc::new(slots.clone())];
        keys.extend(self.keys.iter().map(|place| one_nan(records.values.column(*place))));
        for place in &self.order {
            keys.push(canonical(records.values.column(*place))?);
        }
        let mut columns = self.merged_columns(records)?;
        columns.push(Arc::new(slots));
        let rows = RecordBatch::try_new(self.sorted.clone(), columns)?;
        self.sorter.push(rows, &keys)
    }

    /// Returns the columns that a merge reads: the columns of the table, sequence numbers and row kinds.
    fn merged_columns(&self, records: &Records) -> Result<Vec<ArrayRef>> {
        let fields = self.merged.fields().iter();
        let columns = records.values.columns().iter().zip(fields);
        let mut columns =
            columns.map(|(column, field)| widened(column, field.data_type())).collect::<Result<Vec<_>>>()?;
        columns.push(Arc::new(records.sequences.clone()));
        columns.push(Arc::new(records.kinds.clone()));
        Ok(columns)
    }

    /// Rejects retracts that the merge engine cannot apply to a row, which would otherwise fail when the rows are read.
    fn probe(&mut self, records: &Records) -> Result<()> {
        for (at, kind) in RETRACTS.into_iter().enumerate() {
            let is_known = self.probed.get(at).is_some_and(|known| *known);
            let row = records.kinds.values().iter().position(|found| *found == kind).filter(|_| !is_known);
            let Some(row) = row else { continue };
            let mut merger = Merger::try_new(&self.spec, self.merged.clone(), 1, &self.context)?;
            let of = |kind: i8, number: i64| {
                let one = Records {
                    slot: 0,
                    values: records.values.slice(row, 1),
                    sequences: vec![number].into(),
                    kinds: vec![kind].into(),
                };
                Ok::<_, Error>(RecordBatch::try_new(self.merged.clone(), self.merged_columns(&one)?)?)
            };
            let mut batches = vec![None, Some(of(kind, 1)?), Some(of(0, 0)?)];
            loop {
                match merger.step()? {
                    Step::Need(run) => merger.push(run, batches.pop().flatten().map(of_buffer))?,
                    Step::Batch(_) => {}
                    Step::Done => break,
                }
            }
            if let Some(known) = self.probed.get_mut(at) {
                *known = true;
            }
        }
        Ok(())
    }

    /// Returns the next records, at most `most_rows`, or None after the last. All records of a slot are consecutive.
    ///
    /// # Errors
    /// The errors of the merge engine; `Storage` if spilled rows cannot be read.
    pub(crate) fn next(&mut self, most_rows: usize) -> Result<Option<Records>> {
        loop {
            if let Some(records) = self.ready.take() {
                let (first, rest) = records.split_at(most_rows.max(1));
                self.ready = rest;
                return Ok(Some(first));
            }
            if let Some((slot, mut merger)) = self.running.take() {
                let step = merger.step()?;
                match step {
                    Step::Need(run) => merger.push(run, self.rows_of(slot, most_rows)?.map(of_buffer))?,
                    Step::Batch(batch) => {
                        self.ready = Some(self.records(slot, &batch)?);
                    }
                    Step::Done => continue,
                }
                self.running = Some((slot, merger));
                continue;
            }
            let Some(slot) = self.next_slot(most_rows)? else { return Ok(None) };
            let merger = Merger::try_new(&self.spec, self.merged.clone(), 1, &self.context)?;
            self.running = Some((slot, merger));
        }
    }

    /// Returns the slot of the next sorted row, or None after the last row.
    fn next_slot(&mut self, most_rows: usize) -> Result<Option<usize>> {
        if self.waiting.is_none() {
            self.waiting = self.sorter.next_batch(most_rows.max(STEP_ROWS))?;
        }
        let Some(rows) = self.waiting.as_ref() else { return Ok(None) };
        let slot = slots(rows)?.values().first().copied();
        slot.map(|slot| usize::try_from(slot).map_err(|_| Error::internal("a slot number exceeds usize"))).transpose()
    }

    /// Returns the next sorted rows of a slot, or None after its last row.
    fn rows_of(&mut self, slot: usize, most_rows: usize) -> Result<Option<RecordBatch>> {
        if self.next_slot(most_rows)? != Some(slot) {
            return Ok(None);
        }
        let Some(rows) = self.waiting.take() else { return Ok(None) };
        let slots = slots(&rows)?.values();
        let end = slots.partition_point(|found| usize::try_from(*found) == Ok(slot));
        if end < rows.num_rows() {
            self.waiting = Some(rows.slice(end, rows.num_rows() - end));
        }
        let columns = rows.columns().iter().take(self.merged.fields().len()).map(|column| column.slice(0, end));
        let rows = RecordBatch::try_new(self.merged.clone(), columns.collect())?;
        if self.unmerged.is_some() {
            let records = self.records(slot, &rows)?;
            self.unmerged.get_or_insert_default().push_back(records);
        }
        Ok(Some(rows))
    }

    fn records(&self, slot: usize, batch: &RecordBatch) -> Result<Records> {
        let (columns, system) = batch.columns().split_at_checked(self.values.fields().len()).ok_or_else(no_columns)?;
        let [sequences, kinds] = system else { return Err(no_columns()) };
        let columns = columns.iter().zip(self.values.fields());
        let columns = columns.map(|(column, field)| widened(column, field.data_type())).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(Records {
            slot,
            values: RecordBatch::try_new_with_options(self.values.clone(), columns, &options)?,
            sequences: sequences.as_primitive_opt().ok_or_else(no_columns)?.clone(),
            kinds: kinds.as_primitive_opt().ok_or_else(no_columns)?.clone(),
        })
    }
}

impl Records {
    /// Returns the first `count` records, and the remaining ones if there are more.
    fn split_at(self, count: usize) -> (Self, Option<Self>) {
        let rows = self.values.num_rows();
        if rows <= count {
            return (self, None);
        }
        let part = |start: usize, count: usize| Self {
            slot: self.slot,
            values: self.values.slice(start, count),
            sequences: self.sequences.slice(start, count),
            kinds: self.kinds.slice(start, count),
        };
        (part(0, count), Some(part(count, rows - count)))
    }

    /// Returns the number of retractions (UPDATE_BEFORE and DELETE records).
    pub(crate) fn retracts(&self) -> usize {
        self.kinds.values().iter().filter(|kind| RETRACTS.contains(kind)).count()
    }
}

fn slots(rows: &RecordBatch) -> Result<&UInt32Array> {
    rows.column_by_name(SLOT).and_then(|slots| slots.as_primitive_opt::<UInt32Type>()).ok_or_else(no_columns)
}

fn no_columns() -> Error {
    Error::internal("sorted rows do not have all columns")
}
/// Returns rows of a buffer that is merged alone.
fn of_buffer(rows: RecordBatch) -> (Source, RecordBatch) {
    (Source::default(), rows)
}

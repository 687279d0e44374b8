//! Provides the public interface of a merge, which requests rows of a run and returns merged rows.

use std::mem;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int8Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Schema, SchemaRef};
use frazil_core::context::{Context, Lease};
use frazil_core::error::{Error, Result};

use super::aggregation::Aggregation;
use super::deduplicate::Deduplicate;
use super::engine::{Decided, Engine};
use super::first_row::FirstRow;
use super::held::{Batches, Held, INSERT, Order, Orders, Pick, Source, size_bytes};
use super::order::{ByteKeys, IntKeys, KeyColumns, KeyKind, Keys, WideKeys, lawless};
use super::output::{Rows, gather};
use super::partial_update::PartialUpdate;
use super::pending::Pending;
use super::runs::{Pause, Race, Rules, Runs};
use super::spec::{EngineSpec, MergeSpec};
use super::watch::{Watch, Watched};
use crate::dictionary;
use crate::spec::columns::{SEQUENCE_NUMBER, VALUE_KIND};

/// The maximum number of rows of an output batch, unless they are very wide.
const OUTPUT_ROWS: usize = 65_536;
/// The maximum size of an output batch, estimated from the average of its source batches.
const OUTPUT_BYTES: u64 = 64 << 20;
/// The minimum limit of spare batches. Consumed batches are kept for output until their total size exceeds the current
/// batches and this limit.
const SPARE_BYTES: u64 = 1 << 20;

/// The next step of a merge.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The merge needs the next batch of this run, or its end, by [`Merger::push`].
    Need(usize),
    /// Merged rows, sorted by key. They include rows that delete (kinds 1 and 3).
    Batch(RecordBatch),
    /// All rows were returned.
    Done,
}

/// A merge of sorted runs. Every run is sorted by key, and by sequence if a key occurs twice.
#[derive(Debug)]
pub struct Merger {
    schema: SchemaRef,
    context: Context,
    keys: KeyColumns,
    race: Box<dyn Race>,
    engine: Box<dyn Engine>,
    orders: Arc<Orders>,
    batches: Batches,
    pending: Pending,
    /// Whether the values of each column are evaluated. Dictionary-encoded columns are decoded if their values are
    /// evaluated.
    looked_at: Vec<bool>,
    /// The maximum number of rows of an output batch, given the width of the widest held batch.
    limit: usize,
    /// Runs with floating-point keys. Java sorts them with an inconsistent comparison, so each run is sorted again when
    /// it is complete.
    unsorted: Option<Vec<Unsorted>>,
    lookup: bool,
    watched: Option<Watched>,
    /// Whether batches have a column of positions before the sequence numbers.
    has_positions: bool,
    done: bool,
}

/// A run that is collected completely before it is merged.
#[derive(Debug, Default)]
struct Unsorted {
    batches: Vec<RecordBatch>,
    source: Source,
    leases: Vec<Lease>,
    complete: bool,
}

impl Merger {
    /// Creates a merge of `runs` sorted runs, oldest first. Batches have the schema `schema`: columns of the table by
    /// name, including all of [`MergeSpec::required_fields`], then `_SEQUENCE_NUMBER` as Int64 and `_VALUE_KIND` as
    /// Int8. Without sequence numbers, each run is newer than the previous runs, and each row of a run is newer than
    /// the previous rows.
    ///
    /// String and bytes columns may be dictionary-encoded.
    ///
    /// # Errors
    /// `Unsupported` for keys or sequence fields of types without an order and for unknown aggregate functions;
    /// `InvalidArgument` for a schema that lacks a column.
    pub fn try_new(spec: &MergeSpec, schema: SchemaRef, runs: usize, context: &Context) -> Result<Self> {
        check(&schema)?;
        let key = spec.keys.iter().map(|name| position(&schema, name)).collect::<Result<Vec<_>>>()?;
        let keys = KeyColumns::try_new(&schema, key)?;
        let (orders, groups) = orders(spec, &schema)?;
        let orders = Arc::new(orders);
        let narrow = u32::try_from(runs).map_err(|_| Error::invalid(format!("too many runs to merge: {runs}")))?;
        let race: Box<dyn Race> = match keys.kind(&schema) {
            KeyKind::Int => Box::new(Runs::<IntKeys>::new(narrow)),
            KeyKind::Wide => Box::new(Runs::<WideKeys>::new(narrow)),
            KeyKind::Bytes => Box::new(Runs::<ByteKeys>::new(narrow)),
        };
        let unsorted = keys.floating(&schema).then(|| (0..runs).map(|_| Unsorted::default()).collect());
        let engine = engine(spec, &schema, &orders, groups)?;
        let looked_at = (0..schema.fields().len())
            .map(|at| engine.computes() || unsorted.is_some() || keys.contains(at) || orders.columns.contains(&at));
        Ok(Self {
            looked_at: looked_at.collect(),
            schema,
            context: context.clone(),
            keys,
            race,
            engine,
            orders,
            batches: Batches::default(),
            pending: Pending::default(),
            limit: OUTPUT_ROWS,
            unsorted,
            lookup: spec.lookup,
            watched: None,
            has_positions: false,
            done: false,
        })
    }

    /// Returns this merge with the columns of a [`Trace`] after those of its rows.
    ///
    /// # Errors
    /// `Unsupported` if places are wanted of runs that are sorted again.
    pub fn watching(mut self, watch: Watch) -> Result<Self> {
        if watch.places && self.unsorted.is_some() {
            return Err(Error::unsupported("deletion vectors of tables with FLOAT or DOUBLE keys are not supported"));
        }
        self.has_positions = watch.places;
        self.watched = Some(Watched::new(watch));
        Ok(self)
    }

    /// Advances until rows of a run are needed, an output batch is full, or everything is merged.
    ///
    /// # Errors
    /// `InvalidArgument` or `Unsupported` for records that the merge engine rejects; `Cancelled`; `LimitExceeded`.
    pub fn step(&mut self) -> Result<Step> {
        loop {
            self.context.check()?;
            if self.done {
                return Ok(Step::Done);
            }
            let Self { batches, engine, pending, limit, lookup, watched, .. } = self;
            let mut rules = Rules::new(batches, engine.as_mut(), pending, (*limit, *lookup), watched.as_mut());
            match self.race.advance(&mut rules)? {
                Pause::Need(run) => {
                    if !self.pending.is_empty() && self.race.settled() && self.crowded() {
                        return self.give().map(Step::Batch);
                    }
                    if !self.complete(run) {
                        return Ok(Step::Need(run));
                    }
                    self.race.push(run, None, &self.keys)?;
                }
                Pause::Full => return self.give().map(Step::Batch),
                Pause::Done => {
                    self.done = true;
                    if !self.pending.is_empty() {
                        return self.give().map(Step::Batch);
                    }
                }
            }
        }
    }

    /// Adds the requested rows and the file that they are from, or None at the end of the run. If the key has
    /// floating-point columns, a run has one file.
    ///
    /// # Errors
    /// `CorruptData` for keys that are not ascending or are NULL; `InvalidArgument` for a run that was not requested
    /// and for batches of another schema; `LimitExceeded`.
    pub fn push(&mut self, run: usize, batch: Option<(Source, RecordBatch)>) -> Result<()> {
        let mut positions = None;
        let batch = match batch {
            None => None,
            Some((source, mut batch)) => {
                if self.has_positions {
                    positions = Some(take_positions(&mut batch)?);
                }
                Some((source, self.checked(batch)?))
            }
        };
        let Some(unsorted) = &mut self.unsorted else { return self.accept(run, batch, positions) };
        let of = unsorted.get_mut(run).filter(|of| !of.complete);
        let of = of.ok_or_else(|| Error::invalid(format!("run {run} was not requested")))?;
        if let Some((source, batch)) = batch {
            of.source = source;
            of.leases.push(self.context.budget.lease(size_bytes(&batch)?)?);
            of.batches.push(batch);
            return Ok(());
        }
        let Unsorted { batches, source, leases, .. } =
            mem::replace(of, Unsorted { complete: true, ..Unsorted::default() });
        let whole = arrow_select::concat::concat_batches(&self.schema, &batches)?;
        drop((batches, leases));
        let sorted = self.sorted(&whole)?;
        self.accept(run, Some((source, sorted)), None)
    }

    /// Returns whether a run was collected completely.
    fn complete(&self, run: usize) -> bool {
        self.unsorted.as_ref().and_then(|runs| runs.get(run)).is_some_and(|run| run.complete)
    }

    fn accept(
        &mut self,
        run: usize,
        batch: Option<(Source, RecordBatch)>,
        positions: Option<ScalarBuffer<i64>>,
    ) -> Result<()> {
        let Some((source, batch)) = batch else { return self.race.push(run, None, &self.keys) };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.drop_spare();
        self.race.push(run, Some((self.batches.0.len(), &batch)), &self.keys)?;
        let held = Held::try_new(batch, source, &self.orders, &self.context)?.at(positions);
        let fitting = OUTPUT_BYTES / held.row_bytes.max(1);
        self.limit = self.limit.min(usize::try_from(fitting).unwrap_or(OUTPUT_ROWS).max(1));
        self.batches.0.push(held);
        Ok(())
    }

    /// Returns the batch with the schema of the merge.
    fn checked(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if Arc::ptr_eq(batch.schema_ref(), &self.schema) {
            return Ok(batch);
        }
        let rows = batch.num_rows();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let (_, mut columns, _) = batch.into_parts();
        let mut schema = Arc::clone(&self.schema);
        let is_dictionary = |column: &ArrayRef| matches!(column.data_type(), DataType::Dictionary(..));
        if columns.iter().any(is_dictionary) {
            for (column, _) in columns.iter_mut().zip(&self.looked_at).filter(|(_, looked_at)| **looked_at) {
                *column = dictionary::unpacked(column)?;
            }
            schema = dictionary::schema(&schema, &columns);
        }
        RecordBatch::try_new_with_options(schema, columns, &options)
            .map_err(|error| Error::invalid("a batch does not have the schema of the merge").caused_by(error))
    }

    /// Sorts a run with floating-point keys in their total order.
    fn sorted(&self, run: &RecordBatch) -> Result<RecordBatch> {
        fn order<K: Keys>(columns: &KeyColumns, run: &RecordBatch) -> Result<Option<UInt32Array>> {
            let keys = K::try_new(columns, run)?;
            if !keys.ascent(run.num_rows()).is_gt() {
                return Ok(None);
            }
            let rows = u32::try_from(run.num_rows()).map_err(|_| Error::internal("a run has too many rows"))?;
            let mut order: Vec<u32> = (0..rows).collect();
            order.sort_by(|&a, &b| keys.compare(a as usize, &keys, b as usize));
            Ok(Some(UInt32Array::from(order)))
        }
        let order = match self.keys.kind(&self.schema) {
            KeyKind::Int => order::<IntKeys>(&self.keys, run)?,
            KeyKind::Wide => order::<WideKeys>(&self.keys, run)?,
            KeyKind::Bytes => order::<ByteKeys>(&self.keys, run)?,
        };
        Ok(match order {
            Some(order) => arrow_select::take::take_record_batch(run, &order)?,
            None => run.clone(),
        })
    }

    /// Returns whether batches that no run needs take more memory than those that are needed.
    fn crowded(&self) -> bool {
        let (mut spare, mut needed) = (0_u64, 0_u64);
        for (at, held) in self.batches.0.iter().enumerate() {
            let sum = if self.race.needs(at) { &mut needed } else { &mut spare };
            *sum = sum.saturating_add(held.bytes);
        }
        spare > needed.max(SPARE_BYTES)
    }

    /// Drops the batches that are no longer needed.
    fn drop_spare(&mut self) {
        if !self.pending.is_empty() {
            return;
        }
        let needed: Vec<bool> = (0..self.batches.0.len()).map(|at| self.race.needs(at)).collect();
        if needed.iter().all(|needed| *needed) {
            return;
        }
        let mut next = 0_u32;
        let number = |needed: &bool| {
            needed.then(|| {
                next += 1;
                next - 1
            })
        };
        let moved: Vec<Option<u32>> = needed.iter().map(number).collect();
        self.race.renumber(&moved);
        let mut kept = needed.into_iter();
        self.batches.0.retain(|_| kept.next().unwrap_or(true));
    }

    /// Copies the decided rows into an output batch.
    fn give(&mut self) -> Result<RecordBatch> {
        let len = self.pending.len();
        let merges = !self.pending.keys.keys.is_empty();
        if merges {
            self.engine.prepare(&self.batches, &self.pending.keys)?;
        }
        self.pending.end();
        let width = self.schema.fields().len();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(width);
        let inserts = !merges && self.batches.0.iter().all(|held| held.inserts);
        for column in 0..width {
            if inserts && column + 1 == width {
                columns.push(Arc::new(Int8Array::from_value(INSERT, len)));
                continue;
            }
            let decided = if merges { self.decided(column, width)? } else { Decided::default() };
            columns.push(self.column(column, decided, len)?);
        }
        let trace = self.watched.as_mut().map(|watched| watched.take(&self.schema, &self.batches)).transpose()?;
        self.pending.clear();
        self.drop_spare();
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        let rows = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| Error::invalid("merged rows do not match the schema of the merge").caused_by(error))?;
        trace.map_or(Ok(rows.clone()), |trace| trace.appended_to(&rows))
    }

    fn decided(&mut self, column: usize, width: usize) -> Result<Decided> {
        let keys = &self.pending.keys;
        if self.orders.numbers == Some(column) {
            return Ok(Decided::picks(keys.keys.iter().map(|key| key.last).collect()));
        }
        if column + 1 == width {
            let kinds: Int8Array = keys.keys.iter().map(|key| key.kind).collect::<Vec<_>>().into();
            return Ok(Decided::computed(Arc::new(kinds), &self.batches));
        }
        let mut decided = self.engine.column(column, &self.batches, keys)?;
        let data_type = self.schema.field(column).data_type();
        if let Some(computed) = decided.computed.take_if(|computed| computed.data_type() != data_type) {
            decided.computed = Some(arrow_cast::cast(&computed, data_type)?);
        }
        if decided.picks.len() != keys.keys.len() {
            return Err(Error::internal("a merged key has no value").with("column", self.schema.field(column).name()));
        }
        Ok(decided)
    }

    fn column(&mut self, column: usize, decided: Decided, len: usize) -> Result<ArrayRef> {
        let mut arrays: Vec<ArrayRef> =
            self.batches.0.iter().map(|held| ArrayRef::clone(held.batch.column(column))).collect();
        arrays.extend(decided.computed);
        let replaced: Vec<Pick>;
        let mut picks = self.pending.rows();
        if !decided.picks.is_empty() {
            let replace = |pick: &Pick| match pick.as_merged() {
                Some(key) => decided.picks.get(key).copied().unwrap_or(Pick::NULL),
                None => *pick,
            };
            replaced = picks.iter().map(replace).collect();
            picks = &replaced;
        }
        let rows = Rows { picks, parts: self.pending.parts(), len };
        gather(self.schema.field(column).data_type(), &arrays, rows)
    }
}

fn engine(spec: &MergeSpec, schema: &Schema, orders: &Arc<Orders>, groups: Vec<Order>) -> Result<Box<dyn Engine>> {
    let orders = Arc::clone(orders);
    let ignore_delete = spec.ignore_delete;
    Ok(match &spec.engine {
        EngineSpec::Deduplicate => Box::new(Deduplicate { orders, ignore_delete }),
        EngineSpec::FirstRow => Box::new(FirstRow { orders, ignore_delete }),
        EngineSpec::PartialUpdate { groups: specs, remove_on_delete } => {
            Box::new(PartialUpdate::try_new(spec, specs, *remove_on_delete, schema, (orders, groups))?)
        }
        EngineSpec::Aggregation { remove_on_delete } => {
            Box::new(Aggregation::try_new(spec, *remove_on_delete, schema, orders)?)
        }
    })
}

/// Returns the order of records, and that of each sequence group. Groups without read columns have an empty order.
fn orders(spec: &MergeSpec, schema: &Schema) -> Result<(Orders, Vec<Order>)> {
    let mut orders = Orders::default();
    let mut groups = Vec::new();
    orders.numbers = schema.index_of(SEQUENCE_NUMBER).ok();
    orders.records = order(&mut orders.columns, &spec.sequence, spec.descending, schema)?;
    if let EngineSpec::PartialUpdate { groups: specs, .. } = &spec.engine {
        for group in specs {
            let mut members = group.sequence.iter().chain(&group.values);
            let read = group.removes || members.any(|name| schema.index_of(name).is_ok());
            let sequence: &[String] = if read { &group.sequence } else { &[] };
            groups.push(order(&mut orders.columns, sequence, false, schema)?);
        }
    }
    Ok((orders, groups))
}

fn order(columns: &mut Vec<usize>, names: &[String], descending: bool, schema: &Schema) -> Result<Order> {
    let mut order = Order { descending, ..Order::default() };
    for name in names {
        let column = position(schema, name)?;
        let place = columns.iter().position(|known| *known == column).unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        });
        order.columns.push(place);
        order.lawless |= lawless(schema.field(column).data_type());
    }
    Ok(order)
}

/// Removes the column of positions, which precedes the sequence numbers and kinds.
fn take_positions(batch: &mut RecordBatch) -> Result<ScalarBuffer<i64>> {
    let none = || Error::internal("the rows of a merge have no positions");
    let column = batch.num_columns().checked_sub(3).map(|at| batch.remove_column(at)).ok_or_else(none)?;
    Ok(column.as_primitive_opt::<Int64Type>().ok_or_else(none)?.values().clone())
}

fn position(schema: &Schema, name: &str) -> Result<usize> {
    schema.index_of(name).map_err(|_| Error::invalid(format!("the column `{name}` is required for merging")))
}

fn check(schema: &Schema) -> Result<()> {
    let mut tail = schema.fields().iter().rev().map(|field| (field.name().as_str(), field.data_type()));
    let kinds = tail.next() == Some((VALUE_KIND, &DataType::Int8));
    let numbers = tail.next().is_none_or(|(name, data_type)| name != SEQUENCE_NUMBER || *data_type == DataType::Int64);
    if kinds && numbers {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the schema of a merge must end with {SEQUENCE_NUMBER} (Int64) and {VALUE_KIND} (Int8)"
    )))
}

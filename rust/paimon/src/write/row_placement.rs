//! Determines the partition and bucket of each row.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int32Array, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType as ArrowType;
use arrow_select::take::take;
use frazil_core::error::{Error, Result};
use frazil_core::floats::one_nan;
use frazil_core::groups::Groups;

use super::change::Home;
use super::dynamic_buckets::{DynamicBuckets, NewIndex};
use super::moving_keys::MovingKeys;
use super::postponed::{PartitionBuckets, waits};
use super::restore::Restorer;
use crate::binary_row::{self, NO_FIELDS};
use crate::bucket::{BucketFunction, bucket_ids, key_fields, row_hashes};
use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::partition_path::POSTPONED;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType};

/// The bucket of all rows of tables without buckets.
const UNAWARE_BUCKET: i32 = 0;

/// The state that splits rows by partition and bucket.
#[derive(Debug)]
pub struct RowPlacement {
    partition: PlacementColumns,
    buckets: Buckets,
    converter: RowConverter,
}

/// How the bucket of a row is determined.
#[derive(Debug)]
enum Buckets {
    /// All rows of a partition are in one bucket.
    Unaware,
    Fixed(FixedBuckets),
    /// The number of buckets differs between partitions.
    PerPartition(PlacementColumns, PartitionBuckets),
    /// Rows are not assigned to buckets yet.
    Postponed,
    /// Keys are assigned to buckets, which grow in number.
    Dynamic(PlacementColumns, DynamicBuckets),
    /// As above, and a key can move to another partition.
    Moving(Box<MovingKeys>),
}

/// Columns by their positions in the rows.
#[derive(Debug)]
pub(super) struct PlacementColumns {
    pub(super) places: Vec<usize>,
    pub(super) types: Vec<DataType>,
}

#[derive(Debug)]
struct FixedBuckets {
    function: BucketFunction,
    keys: PlacementColumns,
    count: i32,
}

/// The rows of a batch that belong to one bucket.
#[derive(Debug)]
pub struct Part {
    /// The bucket.
    pub home: Home,
    /// The row numbers, ascending.
    pub rows: UInt32Array,
}

/// Rows with their kinds, and the buckets that they belong to.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) rows: RecordBatch,
    pub(super) kinds: Int8Array,
    pub(super) parts: Vec<Part>,
}

impl RowPlacement {
    /// Creates the state for rows with the columns of a table.
    ///
    /// # Errors
    /// `InvalidArgument` for partition and bucket keys that are not columns, and for options that do not parse.
    pub fn try_new(schema: &TableSchema, options: &Options) -> Result<Self> {
        let partition = PlacementColumns::named(schema, &schema.partition_keys)?;
        let buckets = Buckets::try_new(schema, options)?;
        let converter = RowConverter::new(sort_fields(&partition, &buckets))?;
        Ok(Self { partition, buckets, converter })
    }

    /// Returns the number of buckets of a partition that rows were split for: -1 if it is not fixed, -2 if the rows are
    /// not assigned to buckets yet.
    pub fn total_buckets(&self, partition: &[u8]) -> i32 {
        match &self.buckets {
            Buckets::Fixed(fixed) => fixed.count,
            Buckets::PerPartition(_, buckets) => buckets.count(partition),
            Buckets::Postponed => POSTPONED,
            Buckets::Unaware | Buckets::Dynamic(..) | Buckets::Moving(_) => -1,
        }
    }

    /// Returns whether rows are added to the buckets of earlier rows. Otherwise the state of buckets does not matter.
    pub fn continues_buckets(&self) -> bool {
        !matches!(self.buckets, Buckets::Unaware | Buckets::Postponed)
    }

    /// Returns the types of [`RowPlacement::keys`].
    pub fn sort_fields(&self) -> Vec<SortField> {
        sort_fields(&self.partition, &self.buckets)
    }

    /// Returns the partition columns and, if the number of buckets is fixed, the bucket. Rows with equal values are in one
    /// partition and, with a fixed number of buckets, in one bucket.
    ///
    /// # Errors
    /// As for [`bucket_ids`].
    pub fn keys(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let mut keys: Vec<ArrayRef> = self.partition.of(rows)?.iter().map(one_nan).collect();
        if let Buckets::Fixed(FixedBuckets { function, keys: bucket_keys, count }) = &self.buckets {
            let ids = bucket_ids(*function, &bucket_keys.of(rows)?, &bucket_keys.types, *count)?;
            keys.push(Arc::new(ids));
        }
        Ok(keys)
    }

    /// Returns the rows of a batch by bucket, in order of first occurrence. `restorer` reads the state of dynamic buckets;
    /// it is None if the rows replace all rows of their partitions.
    ///
    /// # Errors
    /// As for [`bucket_ids`] and [`DynamicBuckets::split`].
    pub fn split(&mut self, rows: &RecordBatch, mut restorer: Option<&mut Restorer>) -> Result<Vec<Part>> {
        let parts = self.parts(rows)?;
        match &mut self.buckets {
            Buckets::Unaware | Buckets::Fixed(_) | Buckets::Postponed => Ok(parts),
            Buckets::PerPartition(keys, buckets) => buckets.split(parts, &keys.of(rows)?, restorer),
            Buckets::Dynamic(keys, dynamic) => {
                let hashes = row_hashes(&keys.of(rows)?, &keys.types)?;
                let mut found = Vec::new();
                for part in parts {
                    found.extend(dynamic.split(part, &hashes, restorer.as_deref_mut())?);
                }
                Ok(found)
            }
            Buckets::Moving(_) => Err(Error::internal("rows of moving keys have kinds")),
        }
    }

    /// Returns records by bucket, as [`RowPlacement::split`] does. A record whose key is in another partition is moved or
    /// removed, or a deletion of the key is added before it.
    ///
    /// # Errors
    /// As for [`RowPlacement::split`].
    pub(super) fn place(
        &mut self,
        rows: RecordBatch,
        kinds: Int8Array,
        restorer: Option<&mut Restorer>,
    ) -> Result<Placed> {
        let parts = if matches!(self.buckets, Buckets::Moving(_)) { self.parts(&rows)? } else { Vec::new() };
        match &mut self.buckets {
            Buckets::Moving(keys) => keys.place(&rows, &kinds, &parts),
            _ => Ok(Placed { parts: self.split(&rows, restorer)?, rows, kinds }),
        }
    }

    /// Returns the state of keys that can move to another partition, which must know all keys of the table.
    pub(super) fn moving_keys(&mut self) -> Option<&mut MovingKeys> {
        if let Buckets::Moving(keys) = &mut self.buckets { Some(keys) } else { None }
    }

    /// Returns the index of a dynamic bucket that rows with new keys were added to since the last call.
    ///
    /// # Errors
    /// As for [`DynamicBuckets::new_index`].
    pub(crate) fn new_index(&mut self, home: &Home, restorer: Option<&Restorer>) -> Result<Option<NewIndex>> {
        match &mut self.buckets {
            Buckets::Dynamic(_, dynamic) => dynamic.new_index(home, restorer),
            Buckets::Unaware
            | Buckets::Fixed(_)
            | Buckets::PerPartition(..)
            | Buckets::Postponed
            | Buckets::Moving(_) => Ok(None),
        }
    }

    /// Returns the rows of a batch by their values of [`RowPlacement::keys`].
    fn parts(&self, rows: &RecordBatch) -> Result<Vec<Part>> {
        let keys = self.keys(rows)?;
        let groups = match keys.as_slice() {
            _ if rows.num_rows() == 0 => return Ok(Vec::new()),
            [] => Groups::one(rows.num_rows()),
            [key] => match Groups::of_numbers(key) {
                Some(groups) => groups,
                None => Groups::of_keys(&self.converter.convert_columns(&keys)?),
            },
            _ => Groups::of_keys(&self.converter.convert_columns(&keys)?),
        };
        let firsts = groups.firsts();
        let mut firsts = keys.iter().map(|key| take(key, &firsts, None)).collect::<Result<Vec<_>, _>>()?;
        let has_bucket = matches!(self.buckets, Buckets::Fixed(_));
        let without_bucket = if matches!(self.buckets, Buckets::Postponed) { POSTPONED } else { UNAWARE_BUCKET };
        let buckets = if has_bucket { firsts.pop() } else { None };
        let buckets = buckets.as_ref().and_then(|ids| ids.as_any().downcast_ref::<Int32Array>());
        let partitions = match firsts.as_slice() {
            [] => None,
            values => {
                let rows = binary_row::encode(values, &self.partition.types)?;
                Some(binary_row::with_arity(&rows, values.len())?)
            }
        };
        let part = |(group, rows): (usize, UInt32Array)| {
            let partition = partitions.as_ref().map_or(&NO_FIELDS[..], |partitions| partitions.value(group)).into();
            let bucket = buckets.map_or(without_bucket, |buckets| buckets.value(group));
            Part { home: Home { partition, bucket }, rows }
        };
        Ok(groups.members().into_iter().enumerate().map(part).collect())
    }
}

/// Returns the partition columns, followed by the bucket if it is computed from values.
fn sort_fields(partition: &PlacementColumns, buckets: &Buckets) -> Vec<SortField> {
    let types = partition.types.iter().map(DataType::arrow);
    let has_bucket = matches!(buckets, Buckets::Fixed(_));
    types.chain(has_bucket.then_some(ArrowType::Int32)).map(SortField::new).collect()
}

impl Buckets {
    fn try_new(schema: &TableSchema, options: &Options) -> Result<Self> {
        let count = options.bucket()?;
        if waits(options)? {
            return Ok(Self::Postponed);
        }
        if count == -1 {
            if schema.primary_keys.is_empty() {
                return Ok(Self::Unaware);
            }
            if let Some(keys) = MovingKeys::try_new(schema, options)? {
                return Ok(Self::Moving(Box::new(keys)));
            }
            let keys = PlacementColumns::named(schema, &schema.trimmed_primary_keys())?;
            return Ok(Self::Dynamic(keys, DynamicBuckets::try_new(options)?));
        }
        let no_key = || {
            Error::invalid("a table with a fixed number of buckets needs the option `bucket-key`")
                .hint("set `bucket-key` to the columns that determine the bucket of a row, or `bucket` to -1")
        };
        let keys = PlacementColumns::try_new(schema, &key_fields(schema, options).ok_or_else(no_key)?)?;
        let function = BucketFunction::parse(options.text("bucket-function.type").unwrap_or("default"))?;
        if count == POSTPONED {
            let buckets = PartitionBuckets::try_new(function, keys.types.clone(), options)?;
            return Ok(Self::PerPartition(keys, buckets));
        }
        Ok(Self::Fixed(FixedBuckets { function, keys, count }))
    }
}

impl PlacementColumns {
    /// Returns the columns with these names.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not a column.
    pub(super) fn named(schema: &TableSchema, names: &[impl AsRef<str>]) -> Result<Self> {
        let fields = names.iter().map(|name| {
            let name = name.as_ref();
            schema.field(name).ok_or_else(|| Error::invalid(format!("the key `{}` is not a column", shown(name))))
        });
        Self::try_new(schema, &fields.collect::<Result<Vec<_>>>()?)
    }

    fn try_new(schema: &TableSchema, fields: &[&DataField]) -> Result<Self> {
        let place = |field: &&DataField| schema.fields.iter().position(|known| known.id == field.id);
        let places: Option<Vec<usize>> = fields.iter().map(place).collect();
        let types = fields.iter().map(|field| DataType::nullable(field.data_type.root.clone())).collect();
        Ok(Self { places: places.ok_or_else(|| Error::internal("a key is not a column"))?, types })
    }

    pub(super) fn of(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let column = |place: &usize| rows.columns().get(*place).cloned();
        let columns: Option<Vec<_>> = self.places.iter().map(column).collect();
        columns.ok_or_else(|| Error::internal("the rows do not have a key column"))
    }
}

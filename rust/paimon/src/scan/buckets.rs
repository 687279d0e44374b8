//! Prunes buckets that cannot hold matching rows (documentation: "Data Distribution"). If the filter restricts every
//! column of the bucket key to a few values, the bucket numbers follow.

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_cast::cast;
use frazil_core::error::{ErrorKind, Result};
use frazil_core::scalar::Scalar;
use frazil_core::sql::predicate::{BoundPredicate, CompareOp, Test};

use crate::bucket::{self, BucketFunction};
use crate::context::ReadContext;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType};

/// The maximum number of value combinations that are evaluated.
const MAX_KEYS: usize = 1000;

/// The bucket keys of matching rows.
#[derive(Debug)]
pub(super) struct BucketKeys {
    function: BucketFunction,
    ids: Vec<i32>,
    types: Vec<DataType>,
    columns: Vec<ArrayRef>,
    found: BTreeMap<i32, Vec<i32>>,
}

impl BucketKeys {
    /// Returns the keys, or None if the table has no fixed buckets or the filter does not restrict all columns of the
    /// key.
    ///
    /// # Errors
    /// `InvalidArgument` for invalid options.
    pub(super) fn try_new(read: &ReadContext) -> Result<Option<Self>> {
        if read.options.bucket()? < 1 {
            return Ok(None);
        }
        let Some(fields) = bucket::key_fields(&read.schema, &read.options) else { return Ok(None) };
        let mut members = Vec::with_capacity(fields.len());
        for field in &fields {
            let Some(values) = values_of(&read.filter, field)? else { return Ok(None) };
            members.push(values);
        }
        let keys = members.iter().try_fold(1_usize, |product, values| product.checked_mul(values.len()));
        let Some(keys) = keys.filter(|keys| *keys <= MAX_KEYS) else { return Ok(None) };
        Ok(Some(Self {
            function: BucketFunction::parse(read.options.text("bucket-function.type").unwrap_or("default"))?,
            ids: fields.iter().map(|field| field.id).collect(),
            types: fields.iter().map(|field| field.data_type.clone()).collect(),
            columns: combinations(&members, keys)?,
            found: BTreeMap::new(),
        }))
    }

    /// Returns whether a file in one of `total_buckets` buckets may hold one of the keys; `schema` is that of the file.
    /// True if the number of buckets does not determine the bucket.
    ///
    /// # Errors
    /// As for [`bucket::bucket_ids`].
    pub(super) fn may_be_in(&mut self, bucket: i32, total_buckets: i32, schema: &TableSchema) -> Result<bool> {
        if total_buckets < 1 || !self.same_types(schema) {
            return Ok(true);
        }
        if let Some(known) = self.found.get(&total_buckets) {
            return Ok(known.contains(&bucket));
        }
        let ids = match bucket::bucket_ids(self.function, &self.columns, &self.types, total_buckets) {
            Ok(ids) => ids.values().to_vec(),
            // Java cannot hash such keys, so any bucket may contain them.
            Err(e) if e.kind() == ErrorKind::Unsupported => (0..total_buckets).collect(),
            Err(e) => return Err(e),
        };
        let found = ids.contains(&bucket);
        self.found.insert(total_buckets, ids);
        Ok(found)
    }

    /// Returns whether the key columns in the schema of a file have the types of the current schema. The hash depends
    /// on the types.
    fn same_types(&self, schema: &TableSchema) -> bool {
        self.ids.iter().zip(&self.types).all(|(id, data_type)| {
            schema.fields.iter().any(|field| field.id == *id && field.data_type.root == data_type.root)
        })
    }
}

/// Returns the values that a filter allows for a column, as an array of the column's type. Returns None if the filter
/// does not restrict the column to few values.
fn values_of(filter: &BoundPredicate, field: &DataField) -> Result<Option<ArrayRef>> {
    let parts = match filter {
        BoundPredicate::And(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let members = parts.iter().find_map(|part| members(part, field.id));
    let Some(members) = members.filter(|members| members.len() <= MAX_KEYS) else { return Ok(None) };
    let mut values = Vec::with_capacity(members.len());
    for scalar in &members {
        match scalar {
            // NaNs have many representations.
            Scalar::Float32(value) if value.is_nan() => return Ok(None),
            Scalar::Float64(value) if value.is_nan() => return Ok(None),
            // The two zeros are equal but have different hashes.
            Scalar::Float32(0.0) => values.extend([Scalar::Float32(0.0), Scalar::Float32(-0.0)]),
            Scalar::Float64(0.0) => values.extend([Scalar::Float64(0.0), Scalar::Float64(-0.0)]),
            other => values.push(other.clone()),
        }
    }
    let values = values.iter().map(|value| value.to_array(1)).collect::<Result<Vec<ArrayRef>>>()?;
    let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    let values = arrow_select::concat::concat(&values)?;
    Ok(Some(cast(&values, &field.data_type.arrow())?))
}

/// Returns the values that a test allows for a column, or None if it does not restrict the column to single values.
fn members(part: &BoundPredicate, id: i32) -> Option<Vec<Scalar>> {
    match part {
        BoundPredicate::Leaf(column, Test::Compare(CompareOp::Eq, value)) if column.id == id => {
            Some(vec![value.clone()])
        }
        BoundPredicate::Leaf(column, Test::In(values)) if column.id == id => Some(values.to_vec()),
        BoundPredicate::Or(parts) => {
            let members: Option<Vec<Vec<Scalar>>> = parts.iter().map(|part| members(part, id)).collect();
            members.map(|members| members.concat())
        }
        _ => None,
    }
}

/// Returns every combination of one value of each column, as columns of `count` values.
fn combinations(members: &[ArrayRef], count: usize) -> Result<Vec<ArrayRef>> {
    let mut repeat = count;
    let mut columns = Vec::with_capacity(members.len());
    for values in members {
        repeat /= values.len().max(1);
        let number = |row: usize| u32::try_from(row / repeat.max(1) % values.len().max(1)).unwrap_or(u32::MAX);
        let rows: UInt32Array = (0..count).map(|row| Some(number(row))).collect();
        columns.push(arrow_select::take::take(values, &rows, None)?);
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::View;
    use crate::context::tests::{field, schema};
    use crate::spec::options::Options;
    use crate::spec::types::TypeRoot;
    use frazil_core::sql::expression::Expression;
    use frazil_core::sql::predicate::bind::bind;
    use frazil_core::storage::MemoryStorage;
    use frazil_core::storage::files::Files;

    fn keys(filter: &str, options: &[(&str, &str)]) -> Option<BucketKeys> {
        let fields =
            vec![field(0, "a", TypeRoot::Int), field(1, "b", TypeRoot::VarChar(9)), field(2, "f", TypeRoot::Double)];
        let schema = Arc::new(schema(0, fields, &[], &[]));
        let filter = bind(&Expression::filter(filter).unwrap(), schema.as_ref(), true).unwrap();
        let options = options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let read = ReadContext {
            files: Files::below(Arc::new(MemoryStorage::default()), "s3://bucket/t").unwrap(),
            table_location: "s3://bucket/t".into(),
            schemas: [(0, schema.clone())].into(),
            schema,
            options: Options::new(options),
            filter,
            view: View::Rows,
        };
        BucketKeys::try_new(&read).unwrap()
    }

    fn count(filter: &str, key: &str) -> Option<usize> {
        keys(filter, &[("bucket", "4"), ("bucket-key", key)]).map(|keys| keys.columns[0].len())
    }

    #[test]
    fn all_columns_of_the_key_must_be_given() {
        assert_eq!(count("a = 1", "a"), Some(1));
        assert_eq!(count("a = 1 AND f > 2", "a"), Some(1));
        assert_eq!(count("a IN (1, 2) AND b IN ('x', 'y', 'z')", "a,b"), Some(6));
        assert_eq!(count("(a = 1 OR a = 7) AND b = 'x'", "a,b"), Some(2));
        assert_eq!(count("a = 1", "a,b"), None);
        assert_eq!(count("a > 1", "a"), None);
        assert_eq!(count("a = 1 OR b = 'x'", "a"), None);
    }

    #[test]
    fn equal_values_of_different_bytes_are_all_looked_for() {
        assert_eq!(count("f = 0.0", "f"), Some(2));
        assert_eq!(count("f = 1.5", "f"), Some(1));
        assert_eq!(count("f = nan", "f"), None);
    }

    #[test]
    fn tables_without_fixed_buckets_have_no_keys() {
        for buckets in ["-1", "-2"] {
            assert!(keys("a = 1", &[("bucket", buckets), ("bucket-key", "a")]).is_none());
        }
        assert!(keys("a = 1", &[("bucket", "4")]).is_none());
    }

    #[test]
    fn every_key_is_in_one_bucket_of_those_found() {
        let mut found = keys("a IN (1, 2, 3)", &[("bucket", "4"), ("bucket-key", "a")]).unwrap();
        let table = schema(0, vec![field(0, "a", TypeRoot::Int)], &[], &[]);
        let buckets: Vec<i32> = (0..4).filter(|b| found.may_be_in(*b, 4, &table).unwrap()).collect();
        assert!(!buckets.is_empty() && buckets.len() <= 3);
        assert!(found.may_be_in(99, -1, &table).unwrap(), "unknown number of buckets");
        let other = schema(0, vec![field(0, "a", TypeRoot::BigInt)], &[], &[]);
        assert!((0..4).all(|b| found.may_be_in(b, 4, &other).unwrap()), "hashed by another type");
    }
}

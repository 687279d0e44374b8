//! Deleted rows (table spec, "Delete Formats"): position delete files, deletion vectors, equality delete files, and
//! what is left of a data file when they are applied. Which deletes apply to which file is decided in planning.

pub mod equality;
mod key_table;
pub mod position;
pub mod vector;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;
use frazil_core::bitmap::Positions;
use frazil_core::error::Result;

use self::equality::EqualityKeys;

/// The deletes that apply to one data file.
#[derive(Debug, Clone, Default)]
pub struct RowDeletes {
    /// Deleted positions: the deletion vector, or those of each position delete file.
    pub positions: Vec<Arc<Positions>>,
    /// Deleted keys, each with its equality ids in the order of the keys' columns.
    pub equality: Vec<(Vec<i32>, Arc<EqualityKeys>)>,
}

impl RowDeletes {
    /// Whether nothing is deleted.
    pub fn is_empty(&self) -> bool {
        self.positions.iter().all(|positions| positions.is_empty())
            && self.equality.iter().all(|(_, keys)| keys.is_empty())
    }

    /// Which of the rows `first_position .. first_position + rows` of a file of `data_sequence_number` are left; none
    /// when all of them are. Positions count every row of the file, also those that a reader skipped. `columns` gives
    /// the columns of equality ids for these rows.
    ///
    /// # Errors
    /// Those of `columns`, and of [`EqualityKeys::deleted`].
    pub fn kept(
        &self,
        first_position: u64,
        rows: usize,
        data_sequence_number: i64,
        mut columns: impl FnMut(&[i32]) -> Result<Vec<ArrayRef>>,
    ) -> Result<Option<BooleanBuffer>> {
        let range = first_position..first_position.saturating_add(rows as u64);
        let is_here = |positions: &&Positions| positions.count_in(range.clone()) > 0;
        let here: Vec<&Positions> = self.positions.iter().map(AsRef::as_ref).filter(is_here).collect();
        let mut kept = (!here.is_empty()).then(|| Positions::kept_by_all(here, first_position, rows));
        for (equality_ids, keys) in &self.equality {
            let deleted = keys.deleted(&columns(equality_ids)?, data_sequence_number)?;
            if deleted.has_true() {
                kept = Some(kept.map_or_else(|| !&deleted, |kept| &kept & &!&deleted));
            }
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use arrow_schema::DataType;

    use super::equality::EqualityKeysBuilder;
    use super::*;

    #[test]
    fn rows_are_kept_that_no_delete_names() {
        let positions = |values: &[i64]| {
            let mut positions = Positions::new();
            positions.insert_all(values).unwrap();
            Arc::new(positions)
        };
        let mut keys = EqualityKeysBuilder::new(&[DataType::Int64]).unwrap();
        keys.push(&[Arc::new(Int64Array::from(vec![103]))], 5).unwrap();
        let deletes = RowDeletes {
            positions: vec![positions(&[10]), positions(&[12, 99])],
            equality: vec![(vec![7], Arc::new(keys.finish()))],
        };
        let kept = |data_sequence_number| {
            let column: ArrayRef = Arc::new(Int64Array::from(vec![100, 101, 102, 103, 104]));
            let kept = deletes.kept(10, 5, data_sequence_number, |ids| {
                assert_eq!(ids, [7]);
                Ok(vec![column.clone()])
            });
            kept.unwrap().unwrap().iter().collect::<Vec<_>>()
        };
        assert_eq!(kept(4), [false, true, false, false, true]);
        assert_eq!(kept(5), [false, true, false, true, true]);
        assert!(!deletes.is_empty());
        let untouched = deletes.kept(20, 5, 4, |_| Ok(vec![Arc::new(Int64Array::from(vec![0; 5]))])).unwrap();
        assert!(untouched.is_none());
        assert!(RowDeletes::default().is_empty());
    }
}

//! Deleted rows (table spec, "Delete Formats"): reads position delete files, deletion vectors and equality delete
//! files, and applies them to a data file. Planning decides which deletes apply to which file.

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
    /// The deleted positions: those of the deletion vector, or of each position delete file.
    pub positions: Vec<Arc<Positions>>,
    /// The deleted keys, each with its equality ids in the order of the key columns.
    pub equality: Vec<(Vec<i32>, Arc<EqualityKeys>)>,
}

impl RowDeletes {
    /// Returns whether nothing is deleted.
    pub fn is_empty(&self) -> bool {
        self.positions.iter().all(|positions| positions.is_empty())
            && self.equality.iter().all(|(_, keys)| keys.is_empty())
    }

    /// Returns a mask of the rows that are kept among `first_position .. first_position + rows` of a file with
    /// `data_sequence_number`, or None if all are kept. Positions count every row of the file, including rows that a
    /// reader skipped. `columns` returns the columns of equality ids for these rows.
    ///
    /// # Errors
    /// The errors of `columns` and of [`EqualityKeys::deleted`].
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

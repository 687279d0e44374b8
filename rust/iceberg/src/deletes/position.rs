//! Reads position delete files (table spec, "Position Delete Files"): rows of `file_path` and `pos`, each of which
//! deletes the row at `pos` of the data file recorded as `file_path`.
//!
//! Rows should be sorted by path and position; unsorted rows only cost time. Rows in which either value is NULL delete
//! nothing, as in other engines. Paths are kept as recorded; the caller matches them with the paths of data files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::iterator::ArrayIter;
use arrow_array::{Array, ArrayAccessor, Int64Array};
use arrow_schema::DataType;
use frazil_core::bitmap::Positions;
use frazil_core::error::{Error, ErrorKind, Result};

/// The deleted positions of each data file that a position delete file references.
#[derive(Debug, Clone, Default)]
pub struct PositionDeletes {
    by_path: BTreeMap<Box<str>, Arc<Positions>>,
}

impl PositionDeletes {
    /// Returns the referenced paths, as recorded, in ascending order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.by_path.keys().map(AsRef::as_ref)
    }

    /// Returns the deleted positions of the data file recorded exactly as `path`.
    pub fn for_path(&self, path: &str) -> Option<&Arc<Positions>> {
        self.by_path.get(path)
    }

    /// Returns the same deletes under renamed paths, such as relocated ones. The positions of paths that become equal
    /// are merged.
    #[must_use]
    pub fn with_paths(self, mut rename: impl FnMut(&str) -> String) -> Self {
        let mut by_path = BTreeMap::<Box<str>, Arc<Positions>>::new();
        for (path, positions) in self.by_path {
            by_path
                .entry(rename(&path).into())
                .and_modify(|own| Arc::make_mut(own).union_with(&positions))
                .or_insert_with(|| positions.clone());
        }
        Self { by_path }
    }

    /// Returns the approximate memory size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.by_path.iter().map(|(path, positions)| named_bytes(path, positions)).sum()
    }
}

/// A builder that collects the batches of one position delete file, or of several that are to be merged.
#[derive(Debug, Default)]
pub struct PositionDeletesBuilder {
    by_path: BTreeMap<Box<str>, Positions>,
    /// The size of all paths, updated with each run of rows: there may be many paths, and the size is read after each
    /// batch.
    size_bytes: usize,
}

impl PositionDeletesBuilder {
    /// Creates an empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the rows of one batch. `paths` are strings of any layout, or a dictionary of them.
    ///
    /// # Errors
    /// `CorruptDeletes` if `paths` are not strings or a position is negative.
    pub fn push(&mut self, paths: &dyn Array, positions: &Int64Array) -> Result<()> {
        if paths.len() != positions.len() {
            return Err(Error::internal(format!(
                "position deletes have {} paths but {} positions",
                paths.len(),
                positions.len()
            )));
        }
        let pushed = match paths.data_type() {
            DataType::Utf8 => self.push_texts(paths.as_string::<i32>(), positions),
            DataType::LargeUtf8 => self.push_texts(paths.as_string::<i64>(), positions),
            DataType::Utf8View => self.push_texts(paths.as_string_view(), positions),
            DataType::Dictionary(_, values) if is_text(values) => {
                // Views of the same dictionary value point to the same bytes, so comparing them is cheap.
                let views = arrow_cast::cast(paths, &DataType::Utf8View)?;
                self.push_texts(views.as_string_view(), positions)
            }
            other => Err(Error::corrupt(format!(
                "the file_path column of a position delete file has the type {other}, not string"
            ))),
        };
        pushed.map_err(|error| error.corrupt_as(ErrorKind::CorruptDeletes))
    }

    /// Returns the approximate memory size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Returns the collected deletes.
    pub fn finish(self) -> PositionDeletes {
        let shared = self.by_path.into_iter().map(|(path, positions)| (path, Arc::new(positions)));
        PositionDeletes { by_path: shared.collect() }
    }

    fn push_texts<'a>(&mut self, texts: impl ArrayAccessor<Item = &'a str>, positions: &Int64Array) -> Result<()> {
        let mut run: Option<(&str, usize)> = None;
        for (at, path) in ArrayIter::new(texts).enumerate() {
            match (run, path) {
                (Some((current, _)), Some(path)) if std::ptr::eq(current, path) || current == path => {}
                (None, None) => {}
                _ => {
                    self.push_run(run, at, positions)?;
                    run = path.map(|path| (path, at));
                }
            }
        }
        self.push_run(run, positions.len(), positions)
    }

    fn push_run(&mut self, run: Option<(&str, usize)>, end: usize, positions: &Int64Array) -> Result<()> {
        let Some((path, start)) = run else { return Ok(()) };
        let added = valid(positions, start..end);
        if added.is_empty() {
            return Ok(());
        }
        let (own, before) = match self.by_path.get_mut(path) {
            Some(own) => {
                let before = named_bytes(path, own);
                (own, before)
            }
            None => (self.by_path.entry(path.into()).or_default(), 0),
        };
        own.insert_all(&added).map_err(|error| error.with("data file", path))?;
        self.size_bytes = self.size_bytes - before + named_bytes(path, own);
        Ok(())
    }
}

fn named_bytes(path: &str, positions: &Positions) -> usize {
    path.len() + positions.size_bytes() + 64
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Returns the positions in `rows` that are not NULL.
fn valid(positions: &Int64Array, rows: Range<usize>) -> std::borrow::Cow<'_, [i64]> {
    if positions.null_count() == 0 {
        return positions.values().get(rows).unwrap_or_default().into();
    }
    let rows = positions.slice(rows.start, rows.len());
    rows.iter().flatten().collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use arrow_array::types::Int8Type;
    use arrow_array::{ArrayRef, DictionaryArray, Int32Array, LargeStringArray, StringArray, StringViewArray};
    use proptest::prelude::*;

    use super::*;

    fn built(batches: &[(ArrayRef, Int64Array)]) -> Result<PositionDeletes> {
        let mut builder = PositionDeletesBuilder::new();
        batches.iter().try_for_each(|(paths, positions)| builder.push(paths, positions))?;
        let size_bytes = builder.size_bytes();
        let deletes = builder.finish();
        assert_eq!(size_bytes, deletes.size_bytes());
        Ok(deletes)
    }

    fn of(deletes: &PositionDeletes, path: &str) -> Vec<u64> {
        deletes.for_path(path).map(|positions| positions.iter().collect()).unwrap_or_default()
    }

    #[test]
    fn paths_may_have_any_layout_and_order() {
        let paths = [Some("b"), Some("b"), Some("a"), None, Some("b"), Some("a"), Some("a"), Some("c")];
        let positions = Int64Array::from(vec![Some(7), Some(3), Some(1), Some(9), Some(5), None, Some(1), None]);
        let layouts: [ArrayRef; 4] = [
            Arc::new(StringArray::from(paths.to_vec())),
            Arc::new(LargeStringArray::from(paths.to_vec())),
            Arc::new(StringViewArray::from(paths.to_vec())),
            Arc::new(paths.into_iter().collect::<DictionaryArray<Int8Type>>()),
        ];
        for layout in layouts {
            let deletes =
                built(&[(layout.clone(), positions.clone()), (layout.slice(0, 1), vec![70_000].into())]).unwrap();
            assert_eq!(of(&deletes, "a"), [1], "{}", layout.data_type());
            assert_eq!(of(&deletes, "b"), [3, 5, 7, 70_000], "{}", layout.data_type());
            assert_eq!(deletes.paths().collect::<Vec<_>>(), ["a", "b"], "a path with NULL positions only is not there");
            assert!(deletes.for_path("file:/a").is_none());
            assert!(deletes.size_bytes() > 0);
        }
    }

    #[test]
    fn invalid_position_deletes_are_rejected() {
        let paths: ArrayRef = Arc::new(StringArray::from(vec!["a", "a"]));
        let error = built(&[(paths.clone(), vec![1, -1].into())]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptDeletes);
        assert!(error.to_string().contains("data file: a"));
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        assert_eq!(built(&[(numbers, vec![1].into())]).unwrap_err().kind(), ErrorKind::CorruptDeletes);
        assert_eq!(built(&[(paths, vec![1].into())]).unwrap_err().kind(), ErrorKind::Internal);
    }

    #[test]
    fn empty_batches_and_dictionaries() {
        let empty: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::from_iter(Vec::<Option<&str>>::new()));
        let nulls: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::from_iter([None::<&str>; 2]));
        let deletes = built(&[(empty, Vec::<i64>::new().into()), (nulls, vec![1, 2].into())]).unwrap();
        assert_eq!(deletes.paths().count(), 0);
    }

    #[test]
    fn paths_that_become_one_unite() {
        let paths: ArrayRef = Arc::new(StringArray::from(vec!["hdfs://h/x", "/x", "/y"]));
        let deletes = built(&[(paths, vec![1, 2, 3].into())]).unwrap();
        let deletes = deletes.with_paths(|path| path.trim_start_matches("hdfs://h").to_owned());
        assert_eq!((of(&deletes, "/x"), of(&deletes, "/y")), (vec![1, 2], vec![3]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn each_path_has_exactly_its_positions(rows in prop::collection::vec((prop::option::of(0..4_usize), prop::option::of(0..200_000_i64)), 0..200)) {
            let names = ["", "a", "s3://bucket/a long path/file.parquet", "b"];
            let paths: ArrayRef = Arc::new(rows.iter().map(|(path, _)| path.map(|i| names[i])).collect::<StringArray>());
            let positions: Int64Array = rows.iter().map(|(_, position)| *position).collect();
            let deletes = built(&[(paths, positions)]).unwrap();
            for (i, name) in names.iter().enumerate() {
                let expected: BTreeSet<u64> = rows.iter().filter(|(path, _)| *path == Some(i)).filter_map(|(_, position)| position.map(i64::cast_unsigned)).collect();
                prop_assert_eq!(of(&deletes, name), expected.into_iter().collect::<Vec<_>>());
            }
        }
    }
}

//! Plans how the splits of a scan are read: which columns of their files, in which stages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::ArrayRef;
use frazil_core::bitmap::Positions;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::evolution::zip_stages;
use super::expiry::Expiry;
use super::file_reader::{FileReader, Target};
use super::images::UpdateColumns;
use super::index_selection::selection;
use super::projection::SystemColumn;
use super::split_reader::{Finish, SplitReader, Stage};
use crate::binary_row;
use crate::context::ReadContext;
use crate::context::output::{MetadataColumn, Output, leaf_ids, pruned};
use crate::context::split::DataSplit;
use crate::deletion_vector;
use crate::file_index::IndexSelection;
use crate::merge::{MergeSpec, Watch};
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::types::DataField;

/// The state that all splits of a scan share for reading. It is immutable.
#[derive(Debug, Clone)]
pub struct ScanRead {
    /// The schemas, the filter, the options and access to files.
    pub context: Arc<ReadContext>,
    /// The columns that are returned.
    pub output: Output,
    merge: Option<Arc<MergeSpec>>,
    data_evolution: bool,
    /// The expiration of records that are dropped before merging.
    expiry: Option<Arc<Expiry>>,
    /// The observations of merged rows, which follow their columns.
    watch: Option<Watch>,
}

impl ScanRead {
    /// Prepares reading splits.
    ///
    /// # Errors
    /// `Unsupported` and `InvalidArgument` naming options that prevent merging, and metadata columns that the table
    /// does not have.
    pub fn try_new(context: Arc<ReadContext>, output: Output) -> Result<Self> {
        let row_tracking = context.options.boolean("row-tracking.enabled", false)?;
        let data_evolution = context.options.boolean("data-evolution.enabled", false)?;
        let lacks = |column| output.has(column) && !row_tracking;
        let missing = if lacks(MetadataColumn::RowId) {
            Some(MetadataColumn::RowId)
        } else {
            Some(MetadataColumn::SequenceNumber).filter(|column| lacks(*column) && !context.has_primary_key())
        };
        if let Some(column) = missing {
            return Err(Error::invalid(format!("the table has no column `{}`", column.name()))
                .hint("set the table option `row-tracking.enabled`"));
        }
        let merge = context.has_primary_key().then(|| MergeSpec::try_new(&context.schema, &context.options));
        Ok(Self { merge: merge.transpose()?.map(Arc::new), data_evolution, expiry: None, watch: None, context, output })
    }

    /// Returns this read without expired records.
    #[must_use]
    pub fn without_expired(self, expiry: Option<Arc<Expiry>>) -> Self {
        Self { expiry, ..self }
    }

    /// Returns this read with observations of its merged rows. Keys that only have records above the output level are
    /// left out.
    #[must_use]
    pub fn watching(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Creates a reader of a split.
    ///
    /// # Errors
    /// `CorruptDeletes` naming the index file of a deletion vector; `CorruptManifest` if files contradict each other.
    pub fn reader(&self, split: &DataSplit, context: &Context) -> Result<SplitReader> {
        let mut target = self.target(split);
        let mut stages = None;
        if !split.raw_convertible {
            let planned = self.stages(split, &target, &HashSet::new())?;
            if !self.output.has_sequence_numbers() && planned.iter().all(|stage| is_ordered(stage, split)) {
                // The order of runs, and the order of records within a file, replace sequence numbers.
                target.system.retain(|column| *column != SystemColumn::SequenceNumber);
            }
            stages = Some(planned);
        }
        let target = Arc::new(target);
        let constants = Arc::new(self.constants(split)?);
        let mut files = Vec::with_capacity(split.files.len());
        let mut skipped = HashSet::new();
        for (number, file) in split.files.iter().enumerate() {
            let mut reader = self.file(split, file, &target, &constants)?.without(self.deleted(split, number)?);
            if split.raw_convertible {
                match selection(&self.context, file, &reader.path)? {
                    IndexSelection::Skip => drop(skipped.insert(number)),
                    // The index selects single images, but the other image of an update may not match. All rows are
                    // read.
                    IndexSelection::Rows(_) if self.pairs_updates(split) => {}
                    IndexSelection::All => {}
                    IndexSelection::Rows(rows) => reader = reader.only(Some(rows)),
                }
            }
            files.push(reader);
        }
        let stages = stages.map_or_else(|| self.stages(split, &target, &skipped), Ok)?;
        if !self.output.has_sequence_numbers() {
            for stage in &stages {
                number(stage, split, &mut files);
            }
        }
        for &file in stages.iter().flat_map(Stage::runs).flatten() {
            if let Some(file) = files.get_mut(file) {
                file.keep_dictionaries();
            }
        }
        for source in stages.iter().flat_map(Stage::zipped) {
            for &file in &source.files {
                if let Some(file) = files.get_mut(file) {
                    file.take_only(&source.columns);
                }
            }
        }
        let updates = if self.pairs_updates(split) { self.update_columns(&target) } else { None };
        let keeps_retracts = split.streaming || self.context.view.has_kinds();
        let target = if self.watch.is_some() { Arc::new(target.merged()) } else { target };
        self.machine(files, stages, Finish { keeps_retracts, updates, ..self.finish(target) }, context)
    }

    /// Creates a reader that returns the rows of `after` that are not in `before`. Both splits belong to the same
    /// bucket.
    ///
    /// # Errors
    /// As for [`ScanRead::reader`].
    pub fn difference(&self, before: &DataSplit, after: &DataSplit, context: &Context) -> Result<SplitReader> {
        // A row differs if any column differs, even one that is not returned.
        let target = self.target(&DataSplit { raw_convertible: false, ..after.clone() });
        let target = Arc::new(Target { fields: self.context.schema.fields.clone(), ..target });
        let mut readers = Vec::new();
        let mut stages = Vec::new();
        for (is_after, split) in [(false, before), (true, after)] {
            if is_after {
                stages.push(Stage::Difference);
            }
            let constants = Arc::new(self.constants(split)?);
            let offset = readers.len();
            for (number, file) in split.files.iter().enumerate() {
                readers.push(self.file(split, file, &target, &constants)?.without(self.deleted(split, number)?));
            }
            let own = self.stages(split, &target, &HashSet::new())?;
            stages.extend(own.into_iter().map(|stage| stage.shifted(offset)));
        }
        self.machine(readers, stages, self.finish(target), context)
    }

    /// Returns the columns in which the files of a split are read.
    fn target(&self, split: &DataSplit) -> Target {
        let schema = &self.context.schema;
        let mut ids: HashSet<i32> = leaf_ids(&self.output.fields).into_iter().collect();
        ids.extend(self.context.filter.columns().iter().map(|column| column.id));
        if self.pairs_updates(split) {
            let keys = schema.primary_keys.iter().filter_map(|key| schema.field(key));
            ids.extend(keys.map(|field| field.id));
        }
        let wanted = pruned(&schema.fields, &ids);
        let merged = !split.raw_convertible && !split.streaming;
        let fields = match &self.merge {
            Some(merge) if merged => {
                // Columns are read completely, because the merge decides column by column and not field by field.
                let wanted: Vec<DataField> = schema.fields.iter().filter(|f| holds(f, &wanted)).cloned().collect();
                let needed = merge.required_fields(&wanted);
                let is_needed = |field: &&DataField| holds(field, &wanted) || needed.contains(&field.name);
                schema.fields.iter().filter(is_needed).cloned().collect()
            }
            _ => wanted,
        };
        let has_key = self.merge.is_some();
        let may_delete = || split.files.iter().any(|file| file.delete_row_count != Some(0));
        let returned = self.output.has(MetadataColumn::RowKind) || self.output.has(MetadataColumn::AuditRowKind);
        let kinds = returned || has_key && (merged || split.streaming || may_delete());
        let sequence = has_key && merged || self.output.has_sequence_numbers();
        let mut system = Vec::new();
        // In the order that a merge expects.
        let watches_places = self.watch.is_some_and(|watch| watch.places);
        let has_positions = watches_places || self.output.has(MetadataColumn::Position);
        system.extend(has_positions.then_some(SystemColumn::Position));
        system.extend(sequence.then_some(SystemColumn::SequenceNumber));
        system.extend(kinds.then_some(SystemColumn::ValueKind));
        system.extend(self.output.has(MetadataColumn::RowId).then_some(SystemColumn::RowId));
        Target { fields, system }
    }

    fn finish(&self, target: Arc<Target>) -> Finish {
        let (filter, output) = (self.context.filter.clone(), self.output.clone());
        Finish { target, filter, output, keeps_retracts: false, updates: None }
    }

    /// Returns whether the two images of an update are combined into one row.
    fn pairs_updates(&self, split: &DataSplit) -> bool {
        self.output.images && split.streaming && self.merge.is_some()
    }

    fn update_columns(&self, target: &Target) -> Option<UpdateColumns> {
        let position = |name: &String| target.fields.iter().position(|field| field.name == *name);
        let key = self.context.schema.primary_keys.iter().map(position).collect::<Option<_>>()?;
        Some(UpdateColumns { kind: target.position(SystemColumn::ValueKind)?, key })
    }

    fn machine(
        &self,
        files: Vec<FileReader>,
        stages: Vec<Stage>,
        finish: Finish,
        context: &Context,
    ) -> Result<SplitReader> {
        let storage = self.context.files.clone();
        let reader = SplitReader::try_new((files, storage), stages, self.merge.clone(), finish, context.clone())?;
        Ok(reader.without_expired(self.expiry.clone()).watching(self.watch))
    }

    /// Returns the positions of the deleted rows of a file.
    fn deleted(&self, split: &DataSplit, file: usize) -> Result<Option<Positions>> {
        let deletion = split.deletion_files.get(file).and_then(Option::as_ref);
        deletion.map(|deletion| deletion_vector::read(&self.context.files, deletion)).transpose()
    }

    fn stages(&self, split: &DataSplit, target: &Target, skipped: &HashSet<usize>) -> Result<Vec<Stage>> {
        let all = || (0..split.files.len()).filter(|file| !skipped.contains(file)).collect();
        if split.raw_convertible || split.streaming {
            return Ok(vec![Stage::Files(all())]);
        }
        let Some(merge) = &self.merge else {
            return if self.data_evolution {
                zip_stages(&self.context, split, target)
            } else {
                Ok(vec![Stage::Files(all())])
            };
        };
        let sections = split.sections(&self.context.key_types())?;
        // Runs are sorted by age, oldest first. The age of a run is that of its newest file.
        let newest = |run: &Vec<usize>| {
            let files = run.iter().filter_map(|file| split.files.get(*file));
            files.max_by(|a, b| a.compare_age(b))
        };
        let compare = |a: &Vec<usize>, b: &Vec<usize>| match (newest(a), newest(b)) {
            (Some(a), Some(b)) => a.compare_age(b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        let stage = |mut runs: Vec<Vec<usize>>| {
            if let ([only], None) = (runs.as_mut_slice(), self.watch) {
                return Stage::Files(std::mem::take(only));
            }
            if merge.needs_runs_of_files() {
                runs = runs.into_iter().flatten().map(|file| vec![file]).collect();
            }
            runs.sort_by(compare);
            Stage::Merge(runs)
        };
        let is_result = |file: &usize| {
            let level = split.files.get(*file).map_or(0, |file| file.level);
            self.watch.is_none_or(|watch| level <= watch.output_level)
        };
        let sections = sections.into_iter().filter(|section| section.runs.iter().flatten().any(is_result));
        Ok(sections.map(|section| stage(section.runs)).collect())
    }

    fn file(
        &self,
        split: &DataSplit,
        file: &DataFileMeta,
        target: &Arc<Target>,
        constants: &Arc<HashMap<i32, ArrayRef>>,
    ) -> Result<FileReader> {
        let path = split.file_path(&self.context.table_location, file);
        let schema = self.context.file_schema(file.schema_id)?;
        let describes = self.context.options.boolean("blob-as-descriptor", false)?;
        let reader = FileReader::new(path, file.clone(), target.clone(), &schema.fields, constants.clone());
        Ok(reader.describing_blobs(describes))
    }

    /// Returns the partition values by field id.
    fn constants(&self, split: &DataSplit) -> Result<HashMap<i32, ArrayRef>> {
        let fields = self.context.partition_fields();
        if fields.is_empty() {
            return Ok(HashMap::new());
        }
        let types = self.context.partition_types();
        let values =
            binary_row::decode(&split.partition, &types).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))?;
        Ok(fields.iter().map(|field| field.id).zip(values).collect())
    }
}

/// Replaces sequence numbers by row positions if, according to the manifest, each run is newer than the previous run.
/// Runs then get ascending ranges of numbers, and files do not read sequence numbers.
fn number(stage: &Stage, split: &DataSplit, files: &mut [FileReader]) {
    /// A number greater than the number of rows of any file.
    const STRIDE: i64 = 1 << 40;
    if !is_ordered(stage, split) || split.files.iter().any(|file| file.row_count >= STRIDE) {
        return;
    }
    for (first, run) in (0_i64..).map(|run| run.saturating_mul(STRIDE)).zip(stage.runs()) {
        for &file in run {
            if let Some(file) = files.get_mut(file) {
                file.number_from(first);
            }
        }
    }
}

/// Returns whether each run of a merge is newer than the one before, according to the manifest.
fn is_ordered(stage: &Stage, split: &DataSplit) -> bool {
    ascends(stage.runs().iter().map(|run| {
        let metas = run.iter().filter_map(|file| split.files.get(*file));
        let range = metas.map(|file| (file.min_sequence_number, file.max_sequence_number));
        range.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }))
}

/// Returns whether each range begins after the end of the previous one.
fn ascends(ranges: impl Iterator<Item = Option<(i64, i64)>>) -> bool {
    let mut end = None;
    for range in ranges {
        let Some((low, high)) = range.filter(|(low, high)| low <= high) else { return false };
        if end.is_some_and(|end| low <= end) {
            return false;
        }
        end = Some(high);
    }
    true
}

/// Returns whether a column is one of `wanted`, which may have fewer nested fields.
fn holds(field: &DataField, wanted: &[DataField]) -> bool {
    wanted.iter().any(|other| other.id == field.id)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one_after_the_other(&[Some((0, 9)), Some((10, 10)), Some((12, 20))], true)]
    #[case::one_number_is_shared(&[Some((0, 9)), Some((9, 20))], false)]
    #[case::around_each_other(&[Some((0, 30)), Some((10, 20))], false)]
    #[case::the_newer_run_is_older(&[Some((10, 20)), Some((0, 9))], false)]
    #[case::all_alike(&[Some((0, 0)), Some((0, 0))], false)]
    #[case::upside_down(&[Some((0, -1)), Some((5, 9))], false)]
    #[case::unknown(&[Some((0, 9)), None], false)]
    #[case::one_run(&[Some((i64::MIN, i64::MAX))], true)]
    fn numbers_are_not_read_where_every_run_is_newer_than_the_one_before(
        #[case] ranges: &[Option<(i64, i64)>],
        #[case] known: bool,
    ) {
        assert_eq!(ascends(ranges.iter().copied()), known);
    }
}

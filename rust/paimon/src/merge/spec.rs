//! Parses the options of a table for merging (documentation: "Merge Engine", "Sequence and Rowkind").

use std::collections::BTreeSet;
use std::sync::Arc;

use frazil_core::error::{Error, Result};

use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::DataField;

/// The rules by which the records of a key are merged into one row.
#[derive(Debug, Clone)]
pub struct MergeSpec {
    pub(super) fields: Vec<DataField>,
    /// The primary key without the partition keys.
    pub(super) keys: Vec<String>,
    /// The complete primary key.
    pub(super) primary_keys: Vec<String>,
    /// The columns of `sequence.field`, which order the records of a key.
    pub(super) sequence: Vec<String>,
    pub(super) descending: bool,
    pub(super) ignore_delete: bool,
    /// Whether compactions look up the levels above, so that the lowest of them has the merged record of all of them.
    pub(super) lookup: bool,
    pub(super) engine: EngineSpec,
    pub(super) options: Options,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EngineSpec {
    Deduplicate,
    FirstRow,
    PartialUpdate { groups: Vec<GroupSpec>, remove_on_delete: bool },
    Aggregation { remove_on_delete: bool },
}

/// Columns that are updated together, in the order of their own sequence fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupSpec {
    pub(super) sequence: Vec<String>,
    pub(super) values: Vec<String>,
    /// Whether a delete in this group removes the whole row.
    pub(super) removes: bool,
}

const IGNORE_DELETE: [&str; 4] =
    ["ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"];
const REMOVE_ON_DELETE: &str = "partial-update.remove-record-on-delete";
const REMOVE_ON_GROUP: &str = "partial-update.remove-record-on-sequence-group";

impl MergeSpec {
    /// Parses the options of a table with a primary key.
    ///
    /// # Errors
    /// `InvalidArgument` for options that contradict each other or reference unknown columns; `Unsupported` for an
    /// unknown merge engine.
    pub fn try_new(schema: &TableSchema, options: &Options) -> Result<Self> {
        let keys: Vec<String> = schema.trimmed_primary_keys().into_iter().map(str::to_string).collect();
        if keys.is_empty() {
            return Err(Error::invalid(
                "the primary key has no columns besides the partition keys, so the table cannot be merged",
            ));
        }
        let given = IGNORE_DELETE.iter().find(|name| options.text(name).is_some());
        let ignore_delete = given.map_or(Ok(false), |name| options.boolean(name, false))?;
        let engine = match options.text("merge-engine").unwrap_or("deduplicate").trim().to_ascii_lowercase().as_str() {
            "deduplicate" => EngineSpec::Deduplicate,
            "first-row" => EngineSpec::FirstRow,
            "partial-update" => EngineSpec::PartialUpdate {
                groups: groups(schema, options)?,
                remove_on_delete: options.boolean(REMOVE_ON_DELETE, false)?,
            },
            "aggregation" => EngineSpec::Aggregation {
                remove_on_delete: options.boolean("aggregation.remove-record-on-delete", false)?,
            },
            other => return Err(Error::unsupported(format!("the merge engine `{other}` is not supported"))),
        };
        let spec = Self {
            fields: schema.fields.clone(),
            keys,
            primary_keys: schema.primary_keys.clone(),
            sequence: options.list("sequence.field").into_iter().map(str::to_string).collect(),
            descending: descending(options)?,
            ignore_delete,
            lookup: engine != EngineSpec::FirstRow && looks_up(options)?,
            engine,
            options: options.clone(),
        };
        spec.check()?;
        Ok(spec)
    }

    /// Returns the columns that must be read to merge the wanted columns correctly, in table order: the wanted columns,
    /// the primary key, sequence fields, and the sequence fields of every group that a wanted column is in or that can
    /// remove rows.
    pub fn required_fields(&self, wanted: &[DataField]) -> Vec<String> {
        let wanted: BTreeSet<&str> = wanted.iter().map(|field| field.name.as_str()).collect();
        let mut required = wanted.clone();
        required.extend(self.keys.iter().chain(&self.sequence).map(String::as_str));
        if let EngineSpec::PartialUpdate { groups, .. } = &self.engine {
            for group in groups {
                let mut members = group.values.iter().chain(&group.sequence);
                if group.removes || members.any(|member| wanted.contains(member.as_str())) {
                    required.extend(group.sequence.iter().map(String::as_str));
                }
            }
        }
        let names = self.fields.iter().filter(|field| required.contains(field.name.as_str()));
        names.map(|field| field.name.clone()).collect()
    }

    /// Returns whether greater sequence fields are ordered first.
    pub fn is_descending(&self) -> bool {
        self.descending
    }

    /// Returns whether records that delete have no effect.
    pub fn ignores_deletes(&self) -> bool {
        self.ignore_delete
    }

    /// Returns whether each run of a merge may have only one file, because floating-point keys are sorted again run by
    /// run.
    pub fn needs_runs_of_files(&self) -> bool {
        let is_floating = |field: &&DataField| field.data_type.arrow().is_floating();
        self.fields.iter().filter(is_floating).any(|field| self.keys.contains(&field.name))
    }

    /// Returns the aggregate function of a column, if the options define one.
    pub(super) fn function(&self, column: &str) -> Option<&str> {
        let own = self.options.text(&format!("fields.{column}.aggregate-function"));
        own.or_else(|| self.options.text("fields.default-aggregate-function"))
    }

    /// Returns whether a column is a sequence field of all records.
    pub(super) fn is_sequence(&self, column: &str) -> bool {
        self.sequence.iter().any(|name| name == column)
    }

    /// Returns whether a column belongs to the primary key.
    pub(super) fn is_key(&self, column: &str) -> bool {
        self.primary_keys.iter().any(|name| name == column)
    }

    pub(super) fn field(&self, name: &str) -> Option<&DataField> {
        self.fields.iter().find(|field| field.name == name)
    }

    fn check(&self) -> Result<()> {
        if let Some(name) = self.keys.iter().chain(&self.sequence).find(|name| self.field(name).is_none()) {
            return Err(Error::invalid(format!("unknown column `{name}` in the primary key or `sequence.field`")));
        }
        match &self.engine {
            EngineSpec::FirstRow if !self.sequence.is_empty() => {
                Err(Error::invalid("merge engine first-row cannot be combined with `sequence.field`"))
            }
            EngineSpec::PartialUpdate { groups, remove_on_delete } => {
                let conflict = |a: &str, b: &str| Err(Error::invalid(format!("the options `{a}` and `{b}` conflict")));
                if *remove_on_delete && self.ignore_delete {
                    return conflict("ignore-delete", REMOVE_ON_DELETE);
                }
                if *remove_on_delete && !groups.is_empty() {
                    return conflict("sequence-group", REMOVE_ON_DELETE);
                }
                if self.ignore_delete && groups.iter().any(|group| group.removes) {
                    return conflict("ignore-delete", REMOVE_ON_GROUP);
                }
                self.check_functions(groups)
            }
            _ => Ok(()),
        }
    }

    fn check_functions(&self, groups: &[GroupSpec]) -> Result<()> {
        for field in &self.fields {
            let name = &field.name;
            let grouped = groups.iter().any(|group| group.values.contains(name) || group.sequence.contains(name));
            let function = self.function(name).filter(|function| *function != "last_non_null_value");
            if function.is_some() && !grouped && !self.is_key(name) {
                return Err(Error::invalid(format!("the aggregate function of `{name}` requires a sequence group")));
            }
        }
        Ok(())
    }
}

/// Returns the schema of merged rows. The engines `partial-update` and `aggregation` may produce NULL in NOT NULL
/// columns, so all columns except keys are nullable.
pub fn with_nullable_values(schema: Arc<TableSchema>, options: &Options) -> Arc<TableSchema> {
    let is_key = |field: &DataField| schema.primary_keys.contains(&field.name);
    let required = |field: &DataField| !field.data_type.nullable && !is_key(field);
    if schema.primary_keys.is_empty() || !retracts_columns(options) || !schema.fields.iter().any(required) {
        return schema;
    }
    let mut fields = schema.fields.clone();
    for field in fields.iter_mut().filter(|field| required(field)) {
        field.data_type.nullable = true;
    }
    Arc::new(TableSchema { fields, ..TableSchema::clone(&schema) })
}

/// Returns whether the merge engine combines columns of several records.
fn retracts_columns(options: &Options) -> bool {
    let engine = options.text("merge-engine").unwrap_or_default().trim().to_ascii_lowercase();
    matches!(engine.as_str(), "partial-update" | "aggregation")
}

/// Returns whether the merge engine is `first-row`.
pub(crate) fn keeps_first(options: &Options) -> bool {
    options.text("merge-engine").is_some_and(|name| name.trim().eq_ignore_ascii_case("first-row"))
}

/// Returns whether the table needs lookup (`CoreOptions.needLookup`).
pub(crate) fn looks_up(options: &Options) -> Result<bool> {
    let producer = options.text("changelog-producer").is_some_and(|name| name.trim().eq_ignore_ascii_case("lookup"));
    Ok(producer || options.boolean("deletion-vectors.enabled", false)? || options.boolean("force-lookup", false)?)
}

fn descending(options: &Options) -> Result<bool> {
    match options.text("sequence.field.sort-order").map(str::trim) {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("ascending") => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("descending") => Ok(true),
        Some(text) => Err(Error::invalid(format!(
            "the option `sequence.field.sort-order` is `{text}`, expected ascending or descending"
        ))),
    }
}

/// Parses the sequence groups: `fields.<g1>,<g2>.sequence-group` = `<a>,<b>`.
fn groups(schema: &TableSchema, options: &Options) -> Result<Vec<GroupSpec>> {
    let split = |text: &str| -> Vec<String> {
        text.split(',').map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect()
    };
    let removing: Vec<&str> = options.list(REMOVE_ON_GROUP);
    let mut groups: Vec<GroupSpec> = Vec::new();
    let mut taken = BTreeSet::new();
    for (option, value) in options.all() {
        let Some(sequence) = option.strip_prefix("fields.").and_then(|rest| rest.strip_suffix(".sequence-group"))
        else {
            continue;
        };
        let (sequence, values) = (split(sequence), split(value));
        for name in sequence.iter().chain(&values) {
            if schema.field(name).is_none() {
                return Err(Error::invalid(format!("unknown column `{name}` in the option `{option}`")));
            }
            if !taken.insert(name.clone()) {
                return Err(Error::invalid(format!("the column `{name}` is in several sequence groups")));
            }
        }
        let removes = sequence.iter().any(|name| removing.contains(&name.as_str()));
        groups.push(GroupSpec { sequence, values, removes });
    }
    let known = |name: &&&str| !groups.iter().any(|group| group.sequence.iter().any(|member| member == **name));
    if let Some(name) = removing.iter().find(known) {
        return Err(Error::invalid(format!("`{name}` of the option `{REMOVE_ON_GROUP}` is not in a sequence group")));
    }
    Ok(groups)
}

//! Parses the options of file indexes (documentation: "File Index"): `file-index.<kind>.columns`,
//! `file-index.<kind>.<column>.<option>`. A column `m[k]` is the key `k` of the map `m`. Options of `m` apply to its
//! keys, unless a key has its own.

use std::collections::BTreeMap;
use std::str::FromStr;

use frazil_core::error::{Error, Result};

use super::{IndexBuilder, bloom};
use crate::file_index::value::Layout;
use crate::spec::options::Options;
use crate::spec::types::{DataField, DataType, TypeRoot};

const PREFIX: &str = "file-index.";
const KINDS: [&str; 4] = ["bitmap", "bloom-filter", "bsi", "range-bitmap"];

/// The indexes of the data files of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexOptions {
    fields: Vec<IndexedField>,
    in_manifest_bytes: u64,
}

/// A column, or a key of a map column, with its indexes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IndexedField {
    pub(super) column: String,
    /// The key of the map, if the column is a map.
    pub(super) key: Option<String>,
    /// The type of the indexed values.
    pub(super) data_type: DataType,
    pub(super) layout: Layout,
    pub(super) indexes: Vec<Settings>,
}

/// The options of one index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Settings {
    Bloom { bits: i32, functions: i32 },
    Bitmap { version: BitmapVersion, block_bytes: usize },
    Bsi,
    Range { chunk_bytes: usize },
}

/// A version of the bitmap index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BitmapVersion {
    One,
    Two,
}

/// The options of one index, as strings.
type OptionTexts = BTreeMap<String, String>;

impl IndexOptions {
    /// Returns the indexes that the options of a table request, or None for no index. `fields` are the columns of its
    /// files.
    ///
    /// # Errors
    /// `InvalidArgument` for unknown columns, options of columns without that index, values out of range, and types
    /// that an index cannot hold; `Unsupported` for unknown index types.
    pub fn try_new(options: &Options, fields: &[DataField]) -> Result<Option<Self>> {
        let columns = columns(options)?;
        let mut found: Vec<IndexedField> = Vec::new();
        for (kind, names) in &columns {
            for name in names {
                let texts = texts(options, kind, name);
                let field = IndexedField::try_new(name, kind, fields)?;
                let settings = Settings::try_new(kind, &field, &texts)?;
                match found.iter_mut().find(|known| known.column == field.column && known.key == field.key) {
                    Some(known) => known.indexes.push(settings),
                    None => found.push(IndexedField { indexes: vec![settings], ..field }),
                }
            }
        }
        check_options(options, &columns)?;
        let in_manifest_bytes = options.size_bytes("file-index.in-manifest-threshold")?.unwrap_or(500);
        Ok((!found.is_empty()).then_some(Self { fields: found, in_manifest_bytes }))
    }

    /// Returns a builder for the indexes of one data file.
    pub fn builder(&self) -> IndexBuilder {
        IndexBuilder::new(&self.fields)
    }

    /// Returns the length up to which an index is stored in the manifest. A longer index is a separate file.
    pub fn in_manifest_bytes(&self) -> u64 {
        self.in_manifest_bytes
    }
}

/// Returns the distinct column names of each index type.
fn columns(options: &Options) -> Result<BTreeMap<&str, Vec<&str>>> {
    let mut columns: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (option, value) in options.all() {
        let kind = option.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(".columns"));
        let Some(kind) = kind else { continue };
        if !KINDS.contains(&kind) {
            return Err(Error::unsupported(format!("the option `{option}` requests the unknown file index `{kind}`"))
                .hint(format!("supported file indexes are {}", KINDS.join(", "))));
        }
        let names = columns.entry(kind).or_default();
        // Java's `split` drops empty parts at the end.
        for name in value.trim_end_matches(',').split(',').map(str::trim) {
            if name.is_empty() {
                return Err(Error::invalid(format!(
                    "the option `{option}` is `{value}`, which contains an empty column name"
                )));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(columns)
}

/// Splits `m[k]` into the column and the key.
fn split_key(name: &str) -> (&str, Option<&str>) {
    let parts = name.strip_suffix(']').and_then(|name| name.split_once('['));
    parts.map_or((name, None), |(column, key)| (column, Some(key)))
}

/// Returns the index type, the column and the name of a column option.
fn of_column(option: &str) -> Option<(&str, &str, &str)> {
    let rest = option.strip_prefix(PREFIX).filter(|rest| !rest.ends_with(".columns"))?;
    let mut parts = rest.split('.');
    let found = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(found)
}

fn texts(options: &Options, kind: &str, name: &str) -> OptionTexts {
    let (column, key) = split_key(name);
    let of = |wanted: &str| {
        let parts = options.all().iter().filter_map(|(option, value)| Some((of_column(option)?, value)));
        let parts = parts.filter(|((of_kind, of_name, _), _)| *of_kind == kind && *of_name == wanted);
        parts.map(|((_, _, option), value)| (option.to_string(), value.clone())).collect::<OptionTexts>()
    };
    let mut texts = if key.is_some() { of(column) } else { OptionTexts::new() };
    texts.extend(of(name));
    texts
}

/// Rejects options of columns that do not have that index, as Java does.
fn check_options(options: &Options, columns: &BTreeMap<&str, Vec<&str>>) -> Result<()> {
    for option in options.all().keys() {
        let Some((kind, name, _)) = of_column(option) else { continue };
        let is_of = |known: &str| {
            let (column, key) = split_key(known);
            known == name || (key.is_some() && column == name)
        };
        if !columns.get(kind).is_some_and(|names| names.iter().any(|known| is_of(known))) {
            return Err(Error::invalid(format!("option `{option}`: the column `{name}` has no index `{kind}`"))
                .hint(format!("add it to `{PREFIX}{kind}.columns`")));
        }
    }
    Ok(())
}

impl IndexedField {
    fn try_new(name: &str, kind: &str, fields: &[DataField]) -> Result<Self> {
        let (column, key) = split_key(name);
        let field = fields.iter().find(|field| field.name == column).ok_or_else(|| {
            Error::invalid(format!("the option `{PREFIX}{kind}.columns` references the unknown column `{column}`"))
        })?;
        let data_type = match (key, &field.data_type.root) {
            (None, _) => &field.data_type,
            (Some(_), TypeRoot::Map(key_type, value))
                if matches!(key_type.root, TypeRoot::Char(_) | TypeRoot::VarChar(_)) =>
            {
                value
            }
            (Some(_), _) => {
                return Err(Error::invalid(format!(
                    "the option `{PREFIX}{kind}.columns` references `{name}`, but `{column}` is not a map with \
                        string keys"
                )));
            }
        };
        let root = &data_type.root;
        let layout = Layout::of(root).filter(|_| is_held(kind, root)).ok_or_else(|| {
            Error::invalid(format!("the index `{kind}` does not support column `{name}` of type {root:?}"))
                .hint(format!("remove it from `{PREFIX}{kind}.columns`"))
        })?;
        let key = key.map(str::to_string);
        Ok(Self { column: column.to_string(), key, data_type: data_type.clone(), layout, indexes: Vec::new() })
    }

    /// Returns the name in the index file.
    pub(super) fn stored_name(&self) -> String {
        self.key.as_ref().map_or_else(|| self.column.clone(), |key| format!("{}[{key}]", self.column))
    }

    pub(super) fn named(&self, error: Error) -> Error {
        error.with("column", self.stored_name())
    }
}

/// Returns whether an index of the type `kind` supports values of a type.
fn is_held(kind: &str, root: &TypeRoot) -> bool {
    let is_binary = matches!(root, TypeRoot::Binary(_) | TypeRoot::VarBinary(_));
    match kind {
        "bloom-filter" => !matches!(root, TypeRoot::Boolean | TypeRoot::Decimal(..)),
        "bitmap" => !is_binary && !matches!(root, TypeRoot::Decimal(..)),
        "bsi" => {
            let is_text = matches!(root, TypeRoot::Char(_) | TypeRoot::VarChar(_));
            !is_binary && !is_text && !matches!(root, TypeRoot::Boolean | TypeRoot::Float | TypeRoot::Double)
        }
        _ => match root {
            TypeRoot::Decimal(digits, _) => *digits <= 18,
            TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) => *digits <= 6,
            _ => !is_binary,
        },
    }
}

impl Settings {
    fn try_new(kind: &str, field: &IndexedField, texts: &OptionTexts) -> Result<Self> {
        let name = |option: &str| format!("{PREFIX}{kind}.{}.{option}", field.stored_name());
        Ok(match kind {
            "bloom-filter" => {
                let items: i32 = number(texts, "items", &name)?.unwrap_or(1_000_000);
                let false_positives: f64 = number(texts, "fpp", &name)?.unwrap_or(0.1);
                let possible = items > 0 && false_positives > 0.0 && false_positives <= 1.0;
                let dimensions = bloom::dimensions(items, false_positives).filter(|_| possible);
                let (bits, functions) = dimensions.ok_or_else(|| {
                    let (items_name, rate) = (name("items"), name("fpp"));
                    Error::invalid(format!(
                        "invalid Bloom filter options: `{items_name}` is {items} and `{rate}` is {false_positives}"
                    ))
                })?;
                Self::Bloom { bits, functions }
            }
            "bitmap" => {
                let version = match number::<i32>(texts, "version", &name)? {
                    Some(1) => BitmapVersion::One,
                    None | Some(2) => BitmapVersion::Two,
                    Some(other) => {
                        return Err(Error::invalid(format!(
                            "the option `{}` is {other}, expected 1 or 2",
                            name("version")
                        )));
                    }
                };
                Self::Bitmap { version, block_bytes: size(texts, "index-block-size", &name)?.unwrap_or(16 << 10) }
            }
            "bsi" => Self::Bsi,
            _ => {
                // For the smallest types, Java stores one value per chunk.
                let is_small = matches!(field.layout, Layout::Boolean | Layout::Int8 | Layout::Int16);
                let default = if is_small { 0 } else { 16 << 10 };
                Self::Range { chunk_bytes: size(texts, "chunk-size", &name)?.unwrap_or(default) }
            }
        })
    }
}

fn number<T: FromStr>(texts: &OptionTexts, option: &str, name: &dyn Fn(&str) -> String) -> Result<Option<T>> {
    let Some(text) = texts.get(option) else { return Ok(None) };
    let number = text.trim().parse().map(Some);
    number.map_err(|_| Error::invalid(format!("the option `{}` is `{text}`, expected a number", name(option))))
}

fn size(texts: &OptionTexts, option: &str, name: &dyn Fn(&str) -> String) -> Result<Option<usize>> {
    let Some(text) = texts.get(option) else { return Ok(None) };
    let name = name(option);
    let bytes = Options::new([(name.clone(), text.clone())].into()).size_bytes(&name)?;
    let bytes = bytes.and_then(|bytes| i32::try_from(bytes).ok()).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.map(Some).ok_or_else(|| Error::invalid(format!("the option `{name}` is `{text}`, expected less than 2 GiB")))
}

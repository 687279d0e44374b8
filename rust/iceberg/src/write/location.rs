//! Determines the locations of new data files (`write.data.path`, `write.object-storage.*`).
//!
//! ```text
//! data/day=2024-02-29/name.parquet                     as Hive has it; nobody reads values out of it
//! data/0110/1001/0011/10110010/day=2024-02-29/name     object storage: 20 bits of a hash first, so that requests spread
//! ```

use std::fmt::Write;

use arrow_array::{Array, StructArray};
use frazil_core::error::{Error, Result};
use frazil_core::hash::murmur3;
use frazil_core::scalar::{Scalar, ScalarType};

use crate::properties::{self, Property};
use crate::spec::partition::PartitionSpec;
use crate::spec::partition_value::human_text;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::types::{StructType, Type};

/// A provider of locations for new data files of a table.
#[derive(Debug, Clone)]
pub(super) struct LocationProvider {
    folder: String,
    hashed: bool,
    partitioned: bool,
}

impl LocationProvider {
    /// Creates the provider from the table's properties.
    ///
    /// # Errors
    /// `Unsupported` for a provider that is a Java class.
    pub(super) fn of(table: &TableMetadata) -> Result<Self> {
        let property = |property: &Property| table.properties.get(property.key).map(String::as_str);
        if let Some(class) = property(&properties::LOCATION_PROVIDER) {
            return Err(Error::unsupported(format!("the location provider {class} is not supported"))
                .hint("remove the property write.location-provider.impl"));
        }
        let hashed = table.flag(&properties::OBJECT_STORAGE_ENABLED);
        let own =
            property(&properties::DATA_PATH).or(if hashed { property(&properties::OBJECT_STORAGE_PATH) } else { None });
        let own = own.or_else(|| property(&properties::FOLDER_STORAGE_PATH));
        let folder = own.map_or_else(|| format!("{}/data", table.location.trim_end_matches('/')), str::to_string);
        Ok(Self {
            folder: folder.trim_end_matches('/').to_string(),
            hashed,
            partitioned: table.flag(&properties::OBJECT_STORAGE_PARTITIONED),
        })
    }

    /// Returns the folder that contains all files.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns whether a location is inside the folder of this provider, without empty, `.` or `..` steps.
    pub(super) fn holds(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.folder.as_str()).and_then(|path| path.strip_prefix('/'));
        below.is_some_and(|path| path.split('/').all(|step| !matches!(step, "" | "." | "..")))
    }

    pub(super) fn data_file(
        &self,
        spec: &PartitionSpec,
        partition: &StructType,
        tuple: &StructArray,
        name: &str,
    ) -> Result<String> {
        let path = partition_path(spec, partition, tuple)?;
        let below = if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
        if !self.hashed {
            return Ok(format!("{}/{below}", self.folder));
        }
        if self.partitioned {
            return Ok(format!("{}/{}/{below}", self.folder, entropy(&below).replace('-', "/")));
        }
        Ok(format!("{}/{}-{name}", self.folder, entropy(name).replace('-', "/")))
    }
}

/// Returns 20 bits of the Murmur3 hash of `text` as binary digits, in three groups of four and one of eight.
fn entropy(text: &str) -> String {
    let hash = murmur3::hash_bytes(text.as_bytes(), 0).cast_unsigned() & 0xf_ffff;
    format!("{:04b}-{:04b}-{:04b}-{:08b}", hash >> 16, hash >> 12 & 0xf, hash >> 8 & 0xf, hash & 0xff)
}

/// Returns the partition folders `name=value/...` of a tuple, with names and values URL-encoded.
fn partition_path(spec: &PartitionSpec, partition: &StructType, tuple: &StructArray) -> Result<String> {
    let mut path = String::new();
    for ((field, typed), values) in spec.fields.iter().zip(&partition.fields).zip(tuple.columns()) {
        if !path.is_empty() {
            path.push('/');
        }
        let data_type = match &typed.field_type {
            Type::Primitive(primitive) => primitive.scalar().unwrap_or(ScalarType::Null),
            _ => ScalarType::Null,
        };
        let value = if values.is_empty() { None } else { Scalar::from_array(values, 0, data_type)? };
        let text = value.map_or_else(|| "null".to_string(), |value| human_text(&field.transform, &value));
        escape(&field.name, &mut path);
        path.push('=');
        escape(&text, &mut path);
    }
    Ok(path)
}

/// Escapes text like Java's `URLEncoder`: letters, digits and `.-*_` are kept, and a space becomes `+`.
fn escape(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Date32Array, Int32Array, StringArray};

    use super::*;
    use crate::spec::arrow::arrow_fields;
    use crate::spec::schema::Schema;

    fn path(field: &str, value: ArrayRef) -> String {
        let schema = Schema::from_json(
            r#"{"type": "struct", "fields": [{"id": 1, "name": "ts", "required": false, "type": "timestamp"},
                {"id": 2, "name": "s", "required": false, "type": "string"}]}"#,
        )
        .unwrap();
        let spec = PartitionSpec::from_json(&format!(r#"{{"spec-id": 0, "fields": [{field}]}}"#)).unwrap();
        let partition = spec.partition_type(|id| schema.field(id).map(|field| &field.field_type));
        let tuple = StructArray::new(arrow_fields(&partition), vec![value], None);
        partition_path(&spec, &partition, &tuple).unwrap()
    }

    #[test]
    fn partitions_are_shown_as_people_read_them_and_escaped() {
        let of = |transform: &str, source: i32| {
            format!(r#"{{"name": "p x", "transform": "{transform}", "source-id": {source}, "field-id": 1000}}"#)
        };
        let int = |value: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![value])) };
        assert_eq!(path(&of("year", 1), int(-1)), "p+x=1969");
        assert_eq!(path(&of("month", 1), int(-1)), "p+x=1969-12");
        assert_eq!(path(&of("hour", 1), int(-1)), "p+x=1969-12-31-23");
        assert_eq!(path(&of("day", 1), Arc::new(Date32Array::from(vec![19_782]))), "p+x=2024-02-29");
        assert_eq!(path(&of("bucket[4]", 1), int(3)), "p+x=3");
        assert_eq!(
            path(&of("identity", 2), Arc::new(StringArray::from(vec!["a/b=c 'd é"]))),
            "p+x=a%2Fb%3Dc+%27d+%C3%A9"
        );
        assert_eq!(path(&of("identity", 2), Arc::new(StringArray::from(vec![None::<&str>]))), "p+x=null");
    }

    #[test]
    fn properties_say_so_in_any_case() {
        let location = |enabled: &str, partitioned: &str| {
            let json = format!(
                r#"{{"format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "/t",
                "last-sequence-number": 0, "last-updated-ms": 1, "last-column-id": 0, "current-schema-id": 0,
                "schemas": [{{"type": "struct", "schema-id": 0, "fields": []}}],
                "default-spec-id": 0, "partition-specs": [{{"spec-id": 0, "fields": []}}], "last-partition-id": 999,
                "default-sort-order-id": 0, "sort-orders": [{{"order-id": 0, "fields": []}}], "properties": {{
                    "write.object-storage.enabled": "{enabled}",
                    "write.object-storage.partitioned-paths": "{partitioned}"}}}}"#
            );
            let table = TableMetadata::parse(json.as_bytes()).unwrap();
            let tuple = StructArray::new_empty_fields(1, None);
            let provider = LocationProvider::of(&table).unwrap();
            provider.data_file(&PartitionSpec::default(), &StructType::default(), &tuple, "f").unwrap()
        };
        assert_eq!(location("FALSE", "true"), "/t/data/f");
        let hash = entropy("f").replace('-', "/");
        assert_eq!(location("TRUE", "True"), format!("/t/data/{hash}/f"));
        assert_eq!(location("TRUE", "FALSE"), format!("/t/data/{hash}-f"));
    }

    #[test]
    fn entropy_is_twenty_bits() {
        let text = entropy("a");
        assert_eq!(text.split('-').map(str::len).collect::<Vec<_>>(), [4, 4, 4, 8]);
        assert_eq!(text, entropy("a"));
    }
}

//! Partition specs (spec: "Partitioning", "Partition Evolution"; JSON: appendix C, "Partition Specs").
//!
//! ```text
//! {"spec-id": 1, "fields": [{"source-id": 4, "field-id": 1000, "name": "ts_day", "transform": "day"}, ...]}
//! v3, several arguments: "source-ids": [4, 5]; v1: field ids may be absent, then they count from 1000
//! ```

use frazil_core::error::Result;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::json::{self, At, Object};
use super::transform::Transform;
use super::types::{NestedField, PrimitiveType, StructType, Type};

/// The value before the first partition field id of a table: `last-partition-id` of an unpartitioned table.
pub(crate) const PARTITION_ID_BASE: i32 = 999;

/// The rules by which rows are assigned to partitions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionSpec {
    /// The id by which manifests reference it.
    pub spec_id: i32,
    /// The fields of the partition tuple, in order.
    pub fields: Vec<PartitionField>,
}

/// One field of a partition tuple.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionField {
    /// The columns from which it is computed: only one, except for multi-argument transforms (`source-ids`).
    pub source_ids: Vec<i32>,
    /// The field id, starting at 1000, unique across the specs of a table.
    pub field_id: i32,
    /// The name in the partition tuple.
    pub name: String,
    /// The transform that computes the value.
    pub transform: Transform,
}

impl PartitionSpec {
    /// Parses a spec from its JSON object.
    ///
    /// # Errors
    /// `CorruptMetadata` for invalid JSON, and for two fields with the same id.
    pub fn from_json(text: &str) -> Result<Self> {
        let at = At::root("partition spec");
        Self::read(json::parse(text, &at)?, &at)
    }

    /// Returns the JSON form of the spec, on one line.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }

    pub(crate) fn read(raw: &RawValue, at: &At<'_>) -> Result<Self> {
        let object = Object::parse(raw.get(), at)?;
        let fields = Self::read_fields(object.required_raw("fields", at)?, &at.key("fields"))?;
        Ok(Self { spec_id: object.required("spec-id", at)?, fields })
    }

    /// Parses only the array of fields: the `partition-spec` of v1.
    pub(crate) fn read_fields(raw: &RawValue, at: &At<'_>) -> Result<Vec<PartitionField>> {
        let elements = json::elements(raw, at)?;
        let mut fields: Vec<PartitionField> = Vec::with_capacity(elements.len());
        let mut without_id = 0;
        for (i, raw) in elements.into_iter().enumerate() {
            let at = at.index(i);
            let object = Object::parse(raw.get(), &at)?;
            let field_id = object.optional("field-id", &at)?;
            without_id += usize::from(field_id.is_none());
            let position = i32::try_from(i).map_err(|_| at.corrupt("too many fields"))?;
            let field = PartitionField {
                source_ids: source_ids(&object, &at)?,
                field_id: field_id.unwrap_or(PARTITION_ID_BASE + 1 + position),
                name: object.required("name", &at)?,
                transform: Transform::parse(&object.required::<String>("transform", &at)?),
            };
            if fields.iter().any(|other| other.field_id == field.field_id) {
                return Err(at.corrupt(format!("two fields have the same id {}", field.field_id)));
            }
            fields.push(field);
        }
        if without_id != 0 && without_id != fields.len() {
            return Err(at.corrupt("some fields have an id and some do not"));
        }
        Ok(fields)
    }

    /// Returns whether all rows are in a single partition: the spec has no fields, or only void ones (v1 keeps their
    /// positions).
    pub fn is_unpartitioned(&self) -> bool {
        self.fields.iter().all(|field| field.transform == Transform::Void)
    }

    /// Returns the type of the partition tuple; `source_type` returns the type of a column by id. Every field is
    /// optional. A field whose column is unknown, or that is computed from several columns, has the type `unknown`.
    pub fn partition_type<'a>(&self, source_type: impl Fn(i32) -> Option<&'a Type>) -> StructType {
        let field = |field: &PartitionField| {
            let field_type = match field.source_ids.as_slice() {
                [source_id] => value_type(&field.transform, source_type(*source_id)),
                _ => Type::Primitive(PrimitiveType::Unknown),
            };
            NestedField::new(field.field_id, field.name.clone(), field_type, false)
        };
        StructType { fields: self.fields.iter().map(field).collect() }
    }
}

/// Returns the type of the partition values for a column of this type (spec: "Partition Transforms"). Bucket numbers
/// and date parts have fixed types. Identity, truncate and void keep the type of the column; the type is `unknown` if
/// the column is missing or not primitive.
fn value_type(transform: &Transform, source_type: Option<&Type>) -> Type {
    match transform {
        Transform::Bucket(_) | Transform::Year | Transform::Month | Transform::Hour => {
            Type::Primitive(PrimitiveType::Int)
        }
        Transform::Day => Type::Primitive(PrimitiveType::Date),
        Transform::Unknown(_) => Type::Primitive(PrimitiveType::String),
        Transform::Identity | Transform::Truncate(_) | Transform::Void => match source_type {
            Some(primitive @ Type::Primitive(_)) => primitive.clone(),
            _ => Type::Primitive(PrimitiveType::Unknown),
        },
    }
}

impl Serialize for PartitionSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("spec-id", &self.spec_id)?;
        map.serialize_entry("fields", &self.fields)?;
        map.end()
    }
}

impl Serialize for PartitionField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("transform", &self.transform.to_string())?;
        write_source_ids(&self.source_ids, &mut map)?;
        map.serialize_entry("field-id", &self.field_id)?;
        map.end()
    }
}

/// Returns the columns of a partition or sort field. If both keys exist, `source-ids` is authoritative.
pub(crate) fn source_ids(object: &Object<'_>, at: &At<'_>) -> Result<Vec<i32>> {
    let one = object.optional("source-id", at)?;
    let several: Option<Vec<i32>> = object.optional("source-ids", at)?;
    match (one, several) {
        (_, Some(several)) if several.is_empty() => Err(at.corrupt("`source-ids` is empty")),
        (Some(one), Some(several)) if several.first() != Some(&one) => {
            Err(at.corrupt(format!("`source-id` {one} is not the first of `source-ids`")))
        }
        (_, Some(several)) => Ok(several),
        (Some(one), None) => Ok(vec![one]),
        (None, None) => Err(at.corrupt("`source-id` is missing")),
    }
}

pub(crate) fn write_source_ids<M: SerializeMap>(source_ids: &[i32], map: &mut M) -> Result<(), M::Error> {
    match source_ids {
        [one] => map.serialize_entry("source-id", one),
        several => map.serialize_entry("source-ids", several),
    }
}

#[cfg(test)]
mod tests {
    use frazil_core::error::ErrorKind;

    use super::*;

    fn read(fields: &str) -> Result<PartitionSpec> {
        PartitionSpec::from_json(&format!(r#"{{"spec-id": 3, "fields": {fields}}}"#))
    }

    #[test]
    fn fields_without_ids_count_from_1000() {
        let spec = read(
            r#"[{"name": "a", "transform": "identity", "source-id": 1}, {"name": "b", "transform": "void", "source-id": 2}]"#,
        );
        let ids: Vec<_> = spec.unwrap().fields.iter().map(|field| field.field_id).collect();
        assert_eq!(ids, [1000, 1001]);
    }

    #[test]
    fn specs_round_trip_with_one_or_several_sources_and_unknown_transforms() {
        let json = r#"{"spec-id":3,"fields":[{"name":"a","transform":"bucket[4]","source-id":1,"field-id":1005},{"name":"b","transform":"frob[2]","source-ids":[1,2],"field-id":1001}]}"#;
        let spec = PartitionSpec::from_json(json).unwrap();
        assert_eq!(spec.to_json(), json);
        assert_eq!(PartitionSpec::from_json(&spec.to_json()).unwrap(), spec);
        let both = read(r#"[{"name": "a", "transform": "day", "source-id": 7, "source-ids": [7], "field-id": 1000}]"#);
        assert_eq!(both.unwrap().fields[0].source_ids, [7]);
    }

    #[test]
    fn contradictions_are_refused() {
        for fields in [
            r#"[{"name": "a", "transform": "day"}]"#,
            r#"[{"name": "a", "transform": "day", "source-ids": []}]"#,
            r#"[{"name": "a", "transform": "day", "source-id": 1, "source-ids": [2]}]"#,
            r#"[{"name": "a", "source-id": 1}]"#,
            r#"[{"name": "a", "transform": "day", "source-id": 1, "field-id": 1000}, {"name": "b", "transform": "day", "source-id": 1, "field-id": 1000}]"#,
            r#"[{"name": "a", "transform": "day", "source-id": 1, "field-id": 1005}, {"name": "b", "transform": "day", "source-id": 1}]"#,
            "{}",
        ] {
            assert_eq!(read(fields).unwrap_err().kind(), ErrorKind::CorruptMetadata, "{fields}");
        }
    }

    #[test]
    fn partition_types_follow_the_transform() {
        let cases = [
            ("identity", "decimal(9, 2)"),
            ("truncate[5]", "decimal(9, 2)"),
            ("void", "decimal(9, 2)"),
            ("bucket[4]", "int"),
            ("year", "int"),
            ("month", "int"),
            ("hour", "int"),
            ("day", "date"),
            ("frob", "string"),
        ];
        let source: Type = Type::Primitive("decimal(9, 2)".parse().unwrap());
        for (transform, expected) in cases {
            let spec = read(&format!(r#"[{{"name": "p", "transform": "{transform}", "source-id": 1}}]"#)).unwrap();
            let partition = spec.partition_type(|id| (id == 1).then_some(&source));
            assert_eq!(partition.fields[0].field_type.to_string(), expected, "{transform}");
            assert!(!partition.fields[0].required);
            let dropped = spec.partition_type(|_| None).fields[0].field_type.to_string();
            assert_eq!(dropped, if expected.starts_with("dec") { "unknown" } else { expected });
        }
    }

    #[test]
    fn a_spec_of_void_fields_is_unpartitioned() {
        assert!(read("[]").unwrap().is_unpartitioned());
        assert!(read(r#"[{"name": "a", "transform": "void", "source-id": 1}]"#).unwrap().is_unpartitioned());
        assert!(!read(r#"[{"name": "a", "transform": "frob", "source-id": 1}]"#).unwrap().is_unpartitioned());
    }
}

//! Name mappings: field ids for data files without ids (spec: "Column Projection", "Name Mapping Serialization").
//!
//! ```text
//! [{"field-id": 1, "names": ["id", "record_id"]}, {"field-id": 2, "names": ["s"], "fields": [...]}]
//! ```

use frazil_core::error::{ErrorKind, Result};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::json::{self, At, Object};

/// The maximum nesting depth, which is the same as for types.
const MAX_DEPTH: usize = 100;

/// The mapped fields of one level, as in the property `schema.name-mapping.default`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameMapping {
    /// The mapped fields.
    pub fields: Vec<MappedField>,
}

/// One mapped field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedField {
    /// The field id; None for a name that is mapped to no field.
    pub field_id: Option<i32>,
    /// The names that map to this field.
    pub names: Vec<String>,
    /// The children: fields of a struct, `element` of a list, `key` and `value` of a map.
    pub fields: NameMapping,
}

impl NameMapping {
    /// Reads a mapping from its JSON.
    ///
    /// # Errors
    /// `CorruptMetadata` for JSON that is not a name mapping, and for a name that maps to two fields of one level;
    /// `LimitExceeded` for more than a hundred levels.
    pub fn from_json(text: &str) -> Result<Self> {
        let at = At::root("name mapping");
        Self::read(json::parse(text, &at)?, &at, 0)
    }

    /// Returns the JSON form of the spec, on one line.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }

    /// Returns the field to which a name of this level maps.
    pub fn field(&self, name: &str) -> Option<&MappedField> {
        self.fields.iter().find(|field| field.names.iter().any(|known| known == name))
    }

    fn read(raw: &RawValue, at: &At<'_>, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            return Err(frazil_core::error::Error::new(
                ErrorKind::LimitExceeded,
                format!("a name mapping is nested more than {MAX_DEPTH} levels deep"),
            ));
        }
        let elements = json::elements(raw, at)?;
        let mut fields = Vec::with_capacity(elements.len());
        let mut seen = std::collections::HashSet::new();
        for (i, raw) in elements.into_iter().enumerate() {
            let at = at.index(i);
            let object = Object::parse(raw.get(), &at)?;
            let names: Vec<String> = object.optional("names", &at)?.unwrap_or_default();
            for name in &names {
                if !seen.insert(name.clone()) {
                    return Err(at.corrupt(format!("the name `{}` maps to two fields", json::shown(name))));
                }
            }
            let children = match object.raw("fields", &at)? {
                Some(raw) => Self::read(raw, &at.key("fields"), depth + 1)?,
                None => Self::default(),
            };
            fields.push(MappedField { field_id: object.optional("field-id", &at)?, names, fields: children });
        }
        Ok(Self { fields })
    }
}

impl Serialize for NameMapping {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.fields)
    }
}

impl Serialize for MappedField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(field_id) = self.field_id {
            map.serialize_entry("field-id", &field_id)?;
        }
        map.serialize_entry("names", &self.names)?;
        if !self.fields.fields.is_empty() {
            map.serialize_entry("fields", &self.fields)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_round_trip() {
        let json = r#"[{"field-id":1,"names":["id","record_id"]},{"names":["ignored"]},{"field-id":2,"names":["l"],"fields":[{"field-id":3,"names":["element"]}]},{"field-id":4,"names":[]}]"#;
        let mapping = NameMapping::from_json(json).unwrap();
        assert_eq!(mapping.to_json(), json);
        assert_eq!(mapping.field("record_id").unwrap().field_id, Some(1));
        assert_eq!(mapping.field("ignored").unwrap().field_id, None);
        assert!(mapping.field("element").is_none());
    }

    #[test]
    fn invalid_name_mappings_are_rejected() {
        for json in ["{not json", "{}", r#"[{"field-id": "1"}]"#, r#"[{"names": ["a"]}, {"names": ["a"]}]"#, ""] {
            assert_eq!(NameMapping::from_json(json).unwrap_err().kind(), ErrorKind::CorruptMetadata, "{json}");
        }
        let deep = format!("{}[]{}", r#"[{"names": [], "fields": "#.repeat(5_000), "}]".repeat(5_000));
        assert_eq!(NameMapping::from_json(&deep).unwrap_err().kind(), ErrorKind::LimitExceeded);
    }
}

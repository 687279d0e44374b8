//! Sort orders (spec: "Sorting"; JSON: appendix C, "Sort Orders").

use frazil_core::error::Result;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::json::{At, Object, shown};
use super::partition::{source_ids, write_source_ids};
use super::transform::Transform;

/// The order of rows within data files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SortOrder {
    /// The id by which data files reference it; 0 is the unsorted order.
    pub order_id: i32,
    /// The sort fields, in order of precedence.
    pub fields: Vec<SortField>,
}

/// One key of a sort order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortField {
    /// The columns from which it is computed.
    pub source_ids: Vec<i32>,
    /// The transform that computes the value.
    pub transform: Transform,
    /// Whether the order is descending.
    pub descending: bool,
    /// Whether NULL sorts before all values.
    pub nulls_first: bool,
}

impl SortOrder {
    pub(crate) fn read(raw: &RawValue, at: &At<'_>) -> Result<Self> {
        let object = Object::parse(raw.get(), at)?;
        let fields = object.list("fields", at, SortField::read)?;
        let fields = fields.ok_or_else(|| at.corrupt("`fields` is missing"))?;
        Ok(Self { order_id: object.required("order-id", at)?, fields })
    }

    /// Returns whether the order has no fields.
    pub fn is_unsorted(&self) -> bool {
        self.fields.is_empty()
    }
}

impl SortField {
    fn read(raw: &RawValue, at: &At<'_>) -> Result<Self> {
        let object = Object::parse(raw.get(), at)?;
        let one_of = |key: &str, no: &str, yes: &str| {
            let text: String = object.required(key, at)?;
            match text.to_ascii_lowercase() {
                text if text == no => Ok(false),
                text if text == yes => Ok(true),
                _ => Err(at.key(key).corrupt(format!("expected `{no}` or `{yes}`, found `{}`", shown(&text)))),
            }
        };
        Ok(Self {
            source_ids: source_ids(&object, at)?,
            transform: Transform::parse(&object.required::<String>("transform", at)?),
            descending: one_of("direction", "asc", "desc")?,
            nulls_first: one_of("null-order", "nulls-last", "nulls-first")?,
        })
    }
}

impl Serialize for SortOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("order-id", &self.order_id)?;
        map.serialize_entry("fields", &self.fields)?;
        map.end()
    }
}

impl Serialize for SortField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("transform", &self.transform.to_string())?;
        write_source_ids(&self.source_ids, &mut map)?;
        map.serialize_entry("direction", if self.descending { "desc" } else { "asc" })?;
        map.serialize_entry("null-order", if self.nulls_first { "nulls-first" } else { "nulls-last" })?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_round_trip() {
        let json = r#"{"order-id":3,"fields":[{"transform":"identity","source-id":2,"direction":"asc","null-order":"nulls-first"},{"transform":"bucket[4]","source-ids":[3,4],"direction":"desc","null-order":"nulls-last"}]}"#;
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let order = SortOrder::read(raw, &At::root("sort order")).unwrap();
        assert!(order.fields[1].descending && !order.fields[1].nulls_first && !order.is_unsorted());
        assert_eq!(serde_json::to_string(&order).unwrap(), json);
    }

    #[test]
    fn unknown_directions_are_refused() {
        let json = r#"{"order-id":3,"fields":[{"transform":"identity","source-id":2,"direction":"up","null-order":"nulls-first"}]}"#;
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let error = SortOrder::read(raw, &At::root("sort order")).unwrap_err();
        assert_eq!(error.to_string(), "sort order fields[0].direction: expected `asc` or `desc`, found `up`");
    }
}

//! Name mapping: field ids for data files that have none (spec: "Column Projection", "Name Mapping Serialization").

/// The fields of one level, as property `schema.name-mapping.default` holds them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameMapping {
    /// The mapped fields.
    pub fields: Vec<MappedField>,
}

/// One mapped field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedField {
    /// The field id; None for a name that is mapped to nothing.
    pub field_id: Option<i32>,
    /// The names that mean this field.
    pub names: Vec<String>,
    /// Children: fields of a struct, `element` of a list, `key` and `value` of a map.
    pub fields: NameMapping,
}

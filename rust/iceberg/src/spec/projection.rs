//! Selects columns by name (`selected_fields` of a scan).

use std::collections::HashSet;
use std::sync::Arc;

use frazil_core::error::{Error, Result};

use super::json::shown;
use super::schema::Schema;
use super::types::{ListType, MapType, NestedField, StructType, Type};

impl Schema {
    /// Returns the columns with these names, in the order of the schema. A nested name (`s.x`, `list.element.x`,
    /// `map.value`) selects its parent columns with only that field in them; several names in one column are merged;
    /// the key of a map is always kept.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that matches no field or several fields, with a hint of similar names.
    pub fn project(&self, names: &[impl AsRef<str>], case_sensitive: bool) -> Result<StructType> {
        let mut ids = HashSet::new();
        for name in names {
            let name = name.as_ref();
            let path = self.find(name, case_sensitive)?.ok_or_else(|| self.no_such_column(name))?;
            ids.insert(path.field().id);
        }
        Ok(self.project_ids(&ids))
    }

    /// Returns the complete fields with these ids, inside their parent fields; unknown ids select nothing.
    pub fn project_ids(&self, ids: &HashSet<i32>) -> StructType {
        project_struct(&self.fields, ids)
    }

    /// Returns the error for an unknown column.
    pub fn no_such_column(&self, name: &str) -> Error {
        let error = Error::invalid(format!("no column `{}`", shown(name)));
        let names = self.full_names();
        let near = nearest(name, &names);
        if !near.is_empty() {
            return error.hint(format!("did you mean {}?", listed(near)));
        }
        let columns: Vec<&str> = self.fields.fields.iter().take(20).map(|field| field.name.as_str()).collect();
        error.hint(format!("the columns are {}", listed(columns)))
    }
}

fn listed(names: Vec<&str>) -> String {
    names.into_iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ")
}

fn project_struct(fields: &StructType, ids: &HashSet<i32>) -> StructType {
    StructType { fields: fields.fields.iter().filter_map(|field| project_field(field, ids)).collect() }
}

fn project_field(field: &NestedField, ids: &HashSet<i32>) -> Option<NestedField> {
    if ids.contains(&field.id) {
        return Some(field.clone());
    }
    let field_type = match &field.field_type {
        Type::Primitive(_) => return None,
        Type::Struct(fields) => {
            let fields = project_struct(fields, ids);
            if fields.fields.is_empty() {
                return None;
            }
            Type::Struct(fields)
        }
        Type::List(list) => Type::List(Arc::new(ListType { element: project_field(&list.element, ids)? })),
        Type::Map(map) => {
            let value = project_field(&map.value, ids);
            if value.is_none() && project_field(&map.key, ids).is_none() {
                return None;
            }
            let value = value.unwrap_or_else(|| map.value.clone());
            Type::Map(Arc::new(MapType { key: map.key.clone(), value }))
        }
    };
    // The default of the whole struct does not fit the pruned struct. Its fields have their own defaults.
    Some(NestedField { field_type, initial_default: None, write_default: None, ..field.clone() })
}

/// Returns the names that are most similar to `name`, at most three.
fn nearest<'a>(name: &str, names: &'a [String]) -> Vec<&'a str> {
    // For larger inputs the hint is not computed.
    const MAX_NAMES: usize = 2_000;
    const MAX_CHARS: usize = 64;
    let wanted: Vec<char> = name.to_lowercase().chars().take(MAX_CHARS).collect();
    let allowed = (wanted.len() / 3).clamp(1, 4);
    let mut near: Vec<(usize, &str)> = names
        .iter()
        .take(MAX_NAMES)
        .filter_map(|candidate| {
            let chars: Vec<char> = candidate.to_lowercase().chars().take(MAX_CHARS).collect();
            let is_last_part = candidate.rsplit_once('.').is_some_and(|(_, last)| last.eq_ignore_ascii_case(name));
            let distance = if is_last_part { 0 } else { edit_distance(&wanted, &chars) };
            (distance <= allowed).then_some((distance, candidate.as_str()))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Returns the number of insertions, deletions and substitutions between two texts (Levenshtein distance).
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (above, y) in row.iter_mut().skip(1).zip(b) {
            let cost = (diagonal + usize::from(x != y)).min(left + 1).min(*above + 1);
            diagonal = std::mem::replace(above, cost);
            left = cost;
        }
    }
    row.last().copied().unwrap_or(a.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::from_json(
            r#"{"type": "struct", "schema-id": 1, "fields": [
            {"id": 1, "name": "id", "required": true, "type": "long"},
            {"id": 2, "name": "s", "required": false, "type": {"type": "struct", "fields": [
                {"id": 3, "name": "x", "required": false, "type": "int"},
                {"id": 4, "name": "y", "required": false, "type": "int"}]}},
            {"id": 5, "name": "l", "required": false, "type": {"type": "list", "element-id": 6, "element-required": true,
                "element": {"type": "struct", "fields": [
                    {"id": 7, "name": "a", "required": true, "type": "int"},
                    {"id": 8, "name": "b", "required": true, "type": "int"}]}}},
            {"id": 9, "name": "m", "required": false, "type": {"type": "map", "key-id": 10, "key": "string",
                "value-id": 11, "value-required": false, "value": "int"}},
            {"id": 12, "name": "customer_name", "required": false, "type": "string"}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn selected_columns_follow_schema_order_and_are_merged() {
        let cases = [
            (&["customer_name", "id"][..], "1: id: required long, 12: customer_name: optional string"),
            (&["s.x"], "2: s: optional struct<3: x: optional int>"),
            (&["s.y", "s.x", "s.y"], "2: s: optional struct<3: x: optional int, 4: y: optional int>"),
            (&["s", "s.x"], "2: s: optional struct<3: x: optional int, 4: y: optional int>"),
            (&["l.element.b"], "5: l: optional list<struct<8: b: required int>>"),
            (&["m.value"], "9: m: optional map<string, int>"),
            (&["m.key"], "9: m: optional map<string, int>"),
            (&[], ""),
        ];
        for (names, printed) in cases {
            let projected = Type::Struct(schema().project(names, true).unwrap());
            assert_eq!(projected.to_string(), format!("struct<{printed}>"), "{names:?}");
        }
        assert_eq!(schema().project(&["S.X"], false).unwrap(), schema().project(&["s.x"], true).unwrap());
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest_ones() {
        let hint = |name| schema().project(&[name], true).unwrap_err().hint_text().unwrap().to_string();
        assert_eq!(hint("customername"), "did you mean `customer_name`?");
        assert_eq!(hint("ID"), "did you mean `id`?");
        assert_eq!(hint("b"), "did you mean `l.element.b`, `l`, `m`?");
        assert_eq!(hint("nothing_like_it"), "the columns are `id`, `s`, `l`, `m`, `customer_name`");
    }

    #[test]
    fn edit_distances() {
        let distance = |a: &str, b: &str| edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        for (a, b, expected) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("abc", "abc", 0), ("ab", "ba", 2)]
        {
            assert_eq!(distance(a, b), expected);
            assert_eq!(distance(b, a), expected);
        }
    }
}

use std::sync::Arc;

use frazil_core::error::ErrorKind;
use proptest::prelude::*;

use super::super::types::{ListType, MapType, PrimitiveType};

use super::*;

fn fields(fields: &str) -> Result<Schema> {
    Schema::from_json(&format!(r#"{{"type": "struct", "schema-id": 3, "fields": [{fields}]}}"#))
}

fn column(id: i32, name: &str, column_type: &str) -> String {
    format!(r#"{{"id": {id}, "name": {name:?}, "required": false, "type": {column_type}}}"#)
}

const NESTED: &str = r#"{"type":"struct","schema-id":3,"identifier-field-ids":[1],"fields":[{"id":1,"name":"id","required":true,"type":"long","doc":"key"},{"id":2,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":3,"name":"x","required":true,"type":"decimal(9, 2)","initial-default":"14.20","write-default":"-0.05"}]}},{"id":4,"name":"l","required":true,"type":{"type":"list","element-id":5,"element-required":true,"element":{"type":"struct","fields":[{"id":6,"name":"a","required":true,"type":"fixed[4]"}]}}},{"id":7,"name":"m","required":false,"type":{"type":"map","key-id":8,"key":"string","value-id":9,"value-required":false,"value":"timestamptz_ns"}},{"id":10,"name":"v","required":false,"type":"variant"},{"id":11,"name":"g","required":false,"type":"geography(srid:4269, karney)"}]}"#;

#[test]
fn schemas_round_trip() {
    let schema = Schema::from_json(NESTED).unwrap();
    assert_eq!(schema.to_json(), NESTED);
    assert_eq!(Schema::from_json(&schema.to_json()).unwrap(), schema);
}

#[test]
fn fields_are_indexed_by_id_with_their_parents() {
    let schema = Schema::from_json(NESTED).unwrap();
    let index = schema.index();
    let cases = [
        (1, "id", false, false),
        (3, "s.x", false, true),
        (5, "l.element", true, false),
        (6, "l.element.a", true, false),
        (8, "m.key", true, true),
        (9, "m.value", true, true),
    ];
    for (id, name, in_collection, nullable) in cases {
        let path = schema.path(id).unwrap();
        assert_eq!(index.path(id), Some(path.clone()));
        assert_eq!(schema.field(id), Some(path.field()));
        assert_eq!(index.field(id), Some(path.field()));
        assert_eq!(schema.full_name(id).as_deref(), Some(name));
        assert_eq!((path.in_collection(), path.is_nullable()), (in_collection, nullable), "{name}");
        assert_eq!(schema.find(name, true).unwrap(), Some(path));
    }
    assert_eq!(index.parent(6).map(|field| field.id), Some(5));
    assert_eq!((schema.field(99), index.path(99), schema.max_field_id()), (None, None, 11));
    assert_eq!(schema.full_names()[..4], ["id", "s", "s.x", "l"]);
}

#[test]
fn names_are_ambiguous_only_when_two_fields_have_them() {
    let inner = r#"{"type": "struct", "fields": [{"id": 9, "name": "b", "required": false, "type": "int"}]}"#;
    let schema = fields(
        &[column(1, "a", inner), column(2, "x.y", "\"int\""), column(3, "c", "\"int\""), column(4, "C", "\"int\"")]
            .join(","),
    )
    .unwrap();
    let id = |name, case_sensitive| schema.find(name, case_sensitive).map(|path| path.map(|path| path.field().id));
    assert_eq!(id("a.b", true).unwrap(), Some(9));
    assert_eq!(id("x.y", true).unwrap(), Some(2));
    assert_eq!(id("X.Y", false).unwrap(), Some(2));
    assert_eq!(id("A.b", true).unwrap(), None);
    assert_eq!(id("a.b.c", true).unwrap(), None);
    assert_eq!(id("c", true).unwrap(), Some(3));
    assert_eq!(id("c", false).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let both = fields(&[column(1, "a", inner), column(2, "a.b", "\"int\"")].join(",")).unwrap();
    let error = both.find("a.b", true).unwrap_err();
    assert!(error.to_string().starts_with(r#"`a.b` is ambiguous: it matches "a"."b" (field 9) and "a.b" (field 2)"#));
    let id = |name| both.find(name, true).unwrap().map(|path| path.field().id);
    assert_eq!((id(r#""a.b""#), id(r#"a."b""#)), (Some(2), Some(9)));
}

#[test]
fn columns_are_bound_with_type_and_nullability() {
    let schema = Schema::from_json(NESTED).unwrap();
    let bound = |name: &str| {
        let parts = name.split('.').map(str::to_string).collect();
        schema.bound_column(&ColumnName(parts), true)
    };
    let id = bound("id").unwrap().unwrap();
    assert_eq!((id.id, id.name.as_ref(), id.data_type, id.nullable), (1, "id", ScalarType::Int64, false));
    let x = bound("s.x").unwrap().unwrap();
    assert_eq!((x.data_type, x.nullable), (ScalarType::Decimal { precision: 9, scale: 2 }, true));
    for name in ["s", "l", "m", "v", "g"] {
        assert_eq!(bound(name).unwrap().unwrap().data_type, ScalarType::Null, "{name}");
    }
    assert_eq!(bound("l.element.a").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(bound("none").unwrap(), None);
}

#[test]
fn schemas_that_contradict_themselves_or_the_spec_are_refused() {
    let int = "\"int\"";
    let cases = [
        ([column(1, "a", int), column(1, "b", int)].join(","), "schema: fields `a` and `b` have the same id 1"),
        ([column(1, "a", int), column(2, "a", int)].join(","), "schema: two fields have the same name `a`"),
        (column(2_147_483_540, "a", int), "schema: field `a` has the reserved id 2147483540"),
        (column(1, "a", "\"int128\""), "schema fields[0].type: unknown type `int128`"),
        (column(1, "a", "{\"type\": \"set\"}"), "schema fields[0].type: unknown type `set`"),
        (column(1, "a", "5"), "schema fields[0].type: expected an object, found integer"),
        (
            column(1, "a", "\"decimal(99, -5)\""),
            "schema fields[0].type: `decimal(99, -5)`: precision must be between 1 and 38, and scale between 0 and the precision",
        ),
        (
            r#"{"id": 1, "name": "a", "required": false, "type": "int", "initial-default": {"a": "b"}}"#.to_string(),
            "schema fields[0].initial-default: invalid value for the type int",
        ),
        (r#"{"id": 1, "name": "a", "type": "int"}"#.to_string(), "schema fields[0]: `required` is missing"),
        (
            column(1, "l", r#"{"type": "list", "element-id": 1, "element-required": true, "element": "int"}"#),
            "schema: fields `l` and `element` have the same id 1",
        ),
    ];
    for (json, message) in cases {
        let error = fields(&json).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptMetadata);
        assert_eq!(error.to_string(), message);
    }
    assert!(Schema::from_json(r#"{"fields": []}"#).is_err());
    assert!(Schema::from_json(r#"{"type": "struct"}"#).is_err());
}

#[test]
fn siblings_only_must_differ_in_name() {
    let inner = |id| format!(r#"{{"type": "struct", "fields": [{}]}}"#, column(id, "a", "\"int\""));
    assert!(fields(&[column(1, "a", &inner(2)), column(3, "b", &inner(4))].join(",")).is_ok());
}

fn nested(levels: usize) -> String {
    let mut column_type = "\"int\"".to_string();
    for level in 0..levels {
        column_type = format!(
            r#"{{"type": "struct", "fields": [{}]}}"#,
            column(i32::try_from(level + 2).unwrap(), "n", &column_type)
        );
    }
    column(1, "deep", &column_type)
}

#[test]
fn types_may_be_nested_a_hundred_levels_and_no_more() {
    let schema = fields(&nested(99)).unwrap();
    assert_eq!(Schema::from_json(&schema.to_json()).unwrap(), schema);
    assert_eq!(schema.full_names().len(), 100);
    for levels in [100, 5_000] {
        assert_eq!(fields(&nested(levels)).unwrap_err().kind(), ErrorKind::LimitExceeded, "{levels}");
    }
}

fn part(name: &str, required: bool, field_type: Type) -> NestedField {
    let name = name.to_string();
    NestedField { id: 0, name, required, field_type, doc: None, initial_default: None, write_default: None }
}

fn any_type() -> impl Strategy<Value = Type> {
    let primitive = prop_oneof![
        Just(PrimitiveType::Long),
        Just(PrimitiveType::Variant),
        (1_u8..=38).prop_map(|precision| PrimitiveType::Decimal { precision, scale: precision / 2 }),
        (0_u32..1_000).prop_map(PrimitiveType::Fixed),
        "[a-z]{1,4}:[0-9]{1,4}".prop_map(|crs| PrimitiveType::Geography(Some(crs), Some("karney".to_string()))),
    ];
    primitive.prop_map(Type::Primitive).prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            (inner.clone(), any::<bool>()).prop_map(|(element, required)| Type::List(Arc::new(ListType {
                element: part("element", required, element)
            }))),
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(key, value, required)| Type::Map(Arc::new(
                MapType { key: part("key", true, key), value: part("value", required, value) }
            ))),
            prop::collection::btree_map("\\PC{0,6}", (inner, any::<bool>()), 0..4).prop_map(|fields| {
                let fields = fields.into_iter().map(|(name, (t, required))| part(&name, required, t)).collect();
                Type::Struct(StructType { fields })
            }),
        ]
    })
}

/// Assigns a separate id to every field.
fn number(field_type: &mut Type, next: &mut i32) {
    let mut part = |field: &mut NestedField| {
        *next += 1;
        field.id = *next;
        number(&mut field.field_type, next);
    };
    match field_type {
        Type::Primitive(_) => {}
        Type::Struct(fields) => fields.fields.iter_mut().for_each(part),
        Type::List(list) => part(&mut Arc::get_mut(list).unwrap().element),
        Type::Map(map) => {
            let map = Arc::get_mut(map).unwrap();
            part(&mut map.key);
            part(&mut map.value);
        }
    }
}

proptest! {
    #[test]
    fn every_schema_round_trips_and_finds_its_fields(column_type in any_type()) {
        let mut all = Type::Struct(StructType { fields: vec![part("c", false, column_type)] });
        let mut last = 0;
        // A type that was built from clones may share parts.
        if let Ok(mut own) = serde_json::from_str::<&RawValue>(&serde_json::to_string(&all).unwrap())
            .map(|raw| super::super::type_json::read_type(raw, &At::root("type"), 0).unwrap())
        {
            number(&mut own, &mut last);
            all = own;
        }
        let Type::Struct(fields) = all else { unreachable!() };
        let schema = Schema { schema_id: 1, fields, identifier_field_ids: vec![1] };
        prop_assert_eq!(&Schema::from_json(&schema.to_json()).unwrap(), &schema);
        let index = schema.index();
        for id in 1..=last {
            let path = schema.path(id).unwrap();
            prop_assert_eq!(index.path(id), Some(path.clone()));
            prop_assert_eq!(schema.field(id), Some(path.field()));
        }
        prop_assert_eq!(schema.max_field_id(), last);
    }
}

use serde_json::{Value, json};

use super::*;

fn schema() -> Value {
    json!({
        "version": 3, "id": 2,
        "fields": [
            {"id": 0, "name": "k", "type": "INT NOT NULL"},
            {"id": 3, "name": "p", "type": "STRING NOT NULL", "description": "where"},
            {"id": 1, "name": "v", "type": {"type": "ROW", "fields": [{"id": 0, "name": "k", "type": "INT"}]}},
        ],
        "highestFieldId": 5, "partitionKeys": ["p"], "primaryKeys": ["p", "k"],
        "options": {"bucket": "4"}, "comment": "about", "timeMillis": 1_795_238_959_567_i64,
    })
}

/// Returns the schema with replaced members; `null` removes a member.
fn with(changes: Value) -> Result<TableSchema> {
    let mut schema = schema();
    let Value::Object(changes) = changes else { panic!("no object") };
    for (key, value) in changes {
        if value.is_null() {
            schema.as_object_mut().unwrap().remove(&key);
        } else {
            schema[&key] = value;
        }
    }
    TableSchema::parse(schema.to_string().as_bytes())
}

#[test]
fn a_schema_is_read() {
    let schema = with(json!({})).unwrap();
    assert_eq!((schema.version, schema.id, schema.highest_field_id), (3, 2, 5));
    assert_eq!(schema.field("p").unwrap().description.as_deref(), Some("where"));
    assert_eq!(schema.trimmed_primary_keys(), ["k"]);
    assert_eq!((schema.comment.as_deref(), schema.time_ms), (Some("about"), 1_795_238_959_567));
    assert!(schema.field("V").is_none());
}

#[test]
fn a_schema_round_trips_with_the_defaults_of_its_version() {
    for version in [json!(null), json!(1), json!(2), json!(3)] {
        let schema = with(json!({"version": version})).unwrap();
        assert_eq!(TableSchema::parse(schema.to_json().as_bytes()).unwrap(), schema);
    }
}

#[test]
fn old_versions_have_their_own_defaults_where_an_option_is_absent() {
    let options = |version: Value, options: Value| {
        let schema = with(json!({"version": version, "options": options})).unwrap();
        let option = |name: &str| schema.options.get(name).cloned().unwrap_or_default();
        (option("bucket"), option("file.format"))
    };
    let texts = |bucket: &str, format: &str| (bucket.to_string(), format.to_string());
    for (version, expected) in
        [(json!(null), ("1", "orc")), (json!(1), ("1", "orc")), (json!(2), ("", "orc")), (json!(3), ("", ""))]
    {
        assert_eq!(options(version.clone(), json!({})), texts(expected.0, expected.1), "{version}");
        let given = json!({"bucket": "7", "file.format": "avro"});
        assert_eq!(options(version, given), texts("7", "avro"));
    }
}

#[test]
fn optional_members_may_be_absent() {
    let schema = with(json!({"comment": null, "timeMillis": null, "options": null})).unwrap();
    assert_eq!((schema.comment, schema.time_ms, schema.options.len()), (None, 0, 0));
    let mut text = self::schema();
    text["comment"] = Value::Null;
    text["future"] = json!({"member": [1, 2]});
    assert_eq!(TableSchema::parse(text.to_string().as_bytes()).unwrap().comment, None);
    let numbers = with(json!({"options": {"bucket": 4, "write-only": true}})).unwrap();
    assert_eq!(numbers.options["bucket"], "4");
    assert_eq!(numbers.options["write-only"], "true");
}

#[test]
fn newer_versions_and_types_are_named() {
    let error = with(json!({"version": 4})).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Unsupported, "schema version 4 is not supported"));
    let vector = json!([{"id": 0, "name": "e", "type": "VECTOR(3)"}]);
    let error = with(json!({"fields": vector, "partitionKeys": [], "primaryKeys": []})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("VECTOR") && error.to_string().contains("column: e"), "{error}");
}

#[test]
fn contradictory_schemas_are_corrupt() {
    let field = |id: i64, name: &str| json!({"id": id, "name": name, "type": "INT"});
    let fields = |fields: Vec<Value>| json!({"fields": fields, "partitionKeys": [], "primaryKeys": []});
    for changes in [
        fields(vec![field(0, "a"), field(0, "b")]),
        fields(vec![field(0, "a"), field(1, "a")]),
        fields(vec![field(-1, "a")]),
        fields(vec![field(6, "a")]),
        fields(vec![field(1 << 31, "a")]),
        fields(vec![field(0, "")]),
        json!({"partitionKeys": ["q"]}),
        json!({"primaryKeys": ["q"]}),
        json!({"primaryKeys": ["k", "k"]}),
        json!({"primaryKeys": ["p"]}),
        json!({"primaryKeys": [5]}),
        json!({"primaryKeys": "k"}),
        json!({"version": 0}),
        json!({"version": -1}),
        json!({"version": "3"}),
        json!({"id": -1}),
        json!({"id": null}),
        json!({"fields": null}),
        json!({"fields": {}}),
        json!({"highestFieldId": null}),
        json!({"highestFieldId": -2}),
        json!({"options": {"a": []}}),
        json!({"options": []}),
        json!({"comment": 5}),
    ] {
        let error = with(changes.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptMetadata, "{changes}: {error}");
    }
    for bytes in [&b""[..], b"{", b"[]", b"\xff", b"{\"version\": 3}"] {
        assert_eq!(TableSchema::parse(bytes).unwrap_err().kind(), ErrorKind::CorruptMetadata);
    }
}

#[test]
fn every_torn_schema_is_corrupt() {
    let text = schema().to_string();
    for end in 0..text.len() {
        let error = TableSchema::parse(&text.as_bytes()[..end]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptMetadata, "{end}");
    }
}

#[test]
fn golden_schemas_are_written_with_the_members_that_java_writes() {
    let keys = |json: &[u8]| -> Vec<String> {
        let value: Value = serde_json::from_slice(json).unwrap();
        value.as_object().unwrap().keys().cloned().collect()
    };
    let mut count = 0;
    for (path, bytes) in super::super::testing::golden_files(|name| name.starts_with("schema-")) {
        let schema = TableSchema::parse(&bytes).unwrap();
        let written = schema.to_pretty_json();
        assert_eq!(TableSchema::parse(written.as_bytes()).unwrap(), schema, "{}", path.display());
        assert_eq!(keys(written.as_bytes()), keys(&bytes), "{}", path.display());
        if schema.version == 3 {
            let (written, java): (Value, Value) =
                (serde_json::from_str(&written).unwrap(), serde_json::from_slice(&bytes).unwrap());
            assert_eq!(written, java, "{}", path.display());
        }
        count += 1;
    }
    assert!(count > 50, "{count} schemas");
}

use serde_json::json;

use super::*;

fn parse(text: &str) -> DataType {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn paimon_type_strings_round_trip() {
    for text in [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT NOT NULL",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL(10, 2)",
        "DECIMAL(38, 38) NOT NULL",
        "CHAR(3)",
        "VARCHAR(5)",
        "STRING",
        "STRING NOT NULL",
        "BINARY(2)",
        "VARBINARY(100)",
        "BYTES",
        "DATE NOT NULL",
        "TIME(3)",
        "TIMESTAMP(6)",
        "TIMESTAMP(0) NOT NULL",
        "TIMESTAMP(9) WITH LOCAL TIME ZONE",
        "TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL",
        "VARIANT",
        "BLOB NOT NULL",
        "ARRAY<INT>",
        "ARRAY<ARRAY<BIGINT NOT NULL> NOT NULL> NOT NULL",
        "MULTISET<STRING>",
        "MAP<STRING NOT NULL, ROW<`v` INT, `ts` STRING>>",
        "ROW<>",
        "ROW<`a` INT, `b` ROW<`c` STRING, `d` DECIMAL(20, 3)>, `e` ARRAY<STRING>>",
        "ROW<`a``b` INT COMMENT 'it''s', `x, y> ` BOOLEAN NOT NULL> NOT NULL",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn other_spellings_are_read() {
    for (text, printed) in [
        (" int  not   null ", "INT NOT NULL"),
        ("INTEGER NULL", "INT"),
        ("double precision", "DOUBLE"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("NUMERIC(5)", "DECIMAL(5, 0)"),
        ("DEC( 5 , 5 )", "DECIMAL(5, 5)"),
        ("DECIMAL(10,2)NOT NULL", "DECIMAL(10, 2) NOT NULL"),
        ("CHAR", "CHAR(1)"),
        ("VARCHAR", "VARCHAR(1)"),
        ("VARCHAR(2147483647)", "STRING"),
        ("VARBINARY(2147483647)", "BYTES"),
        ("TIME", "TIME(0)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE NOT NULL", "TIMESTAMP(3) NOT NULL"),
        ("TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("timestamp_ltz", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("ROW<a INT, b STRING>", "ROW<`a` INT, `b` STRING>"),
        ("row(a int, b string not null) not null", "ROW<`a` INT, `b` STRING NOT NULL> NOT NULL"),
        ("MAP<INT,STRING>", "MAP<INT, STRING>"),
    ] {
        assert_eq!(parse(text).to_string(), printed, "{text}");
    }
}

#[test]
fn fields_in_text_are_numbered_in_their_order() {
    let TypeRoot::Row(fields) = parse("ROW<a INT, b ROW<c INT>, d INT>").root else { panic!("no ROW") };
    let ids: Vec<i32> = fields.iter().map(|field| field.id).collect();
    assert_eq!(ids, [0, 1, 3]);
}

#[test]
fn types_that_are_not_known_are_named() {
    for (text, name) in [("VECTOR(3, FLOAT)", "VECTOR"), ("GEOMETRY NOT NULL", "GEOMETRY"), ("ARRAY<RAW>", "RAW")] {
        let error = text.parse::<DataType>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}");
        assert!(error.message().contains(&format!("`{name}`")), "{error}");
    }
    let field = json!({"id": 1, "name": "v", "type": {"type": "VECTOR NOT NULL", "element": "FLOAT", "length": 3}});
    let error = DataField::parse_json(&field).unwrap_err();
    assert_eq!(error.to_string(), "unknown type `VECTOR` (column: v)");
}

#[test]
fn invalid_type_strings_are_corrupt() {
    for text in [
        "",
        " ",
        "INT INT",
        "INT NOT",
        "DECIMAL(39, 0)",
        "DECIMAL(0, 0)",
        "DECIMAL(5, 6)",
        "DECIMAL(5, 2",
        "DECIMAL()",
        "DECIMAL(-1, 0)",
        "CHAR(0)",
        "VARCHAR(2147483648)",
        "CHAR(99999999999999999999)",
        "TIME(10)",
        "TIMESTAMP(10)",
        "TIMESTAMP(3) WITH TIME ZONE",
        "ARRAY",
        "ARRAY<",
        "ARRAY<INT",
        "ARRAY<>",
        "MAP<INT>",
        "ROW<a>",
        "ROW<a INT a INT>",
        "ROW<a INT, a INT>",
        "ROW<`a INT>",
        "ROW<a INT COMMENT x>",
        "INT)",
        "ROW<a INT,>",
        "(INT)",
    ] {
        let error = text.parse::<DataType>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptData, "{text}: {error}");
    }
}

#[test]
fn depth_has_a_limit() {
    let nested = |depth: usize| format!("{}INT{}", "ARRAY<".repeat(depth), ">".repeat(depth));
    assert!(nested(MAX_DEPTH).parse::<DataType>().is_ok());
    assert_eq!(nested(100_000).parse::<DataType>().unwrap_err().kind(), ErrorKind::LimitExceeded);
    let json = (0..=MAX_DEPTH).fold(json!("INT"), |inner, _| json!({"type": "ARRAY", "element": inner}));
    assert_eq!(DataType::parse_json(&json).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn json_forms_round_trip() {
    for text in [
        r#""TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL""#,
        r#"{"type":"ARRAY NOT NULL","element":"INT NOT NULL"}"#,
        r#"{"type":"MULTISET","element":"STRING"}"#,
        r#"{"type":"MAP","key":"STRING NOT NULL","value":{"type":"ARRAY","element":"DOUBLE"}}"#,
        r#"{"type":"ROW NOT NULL","fields":[{"id":7,"name":"a","type":"INT","description":"d","defaultValue":"5"},{"id":3,"name":"b","type":{"type":"ROW","fields":[]}}]}"#,
    ] {
        let value = serde_json::from_str(text).unwrap();
        assert_eq!(DataType::parse_json(&value).unwrap().to_json(), text);
    }
}

#[test]
fn broken_json_forms_are_corrupt() {
    for value in [
        json!(null),
        json!(5),
        json!([]),
        json!({}),
        json!({"type": 5}),
        json!({"type": "ARRAY"}),
        json!({"type": "ARRAY", "element": null}),
        json!({"type": "MAP", "key": "INT"}),
        json!({"type": "ROW"}),
        json!({"type": "ROW", "fields": {}}),
        json!({"type": "ROW", "fields": [{"name": "a", "type": "INT"}]}),
        json!({"type": "ROW", "fields": [{"id": -1, "name": "a", "type": "INT"}]}),
        json!({"type": "ROW", "fields": [{"id": 2_147_483_648_u32, "name": "a", "type": "INT"}]}),
        json!({"type": "ROW", "fields": [{"id": 1, "name": "a", "type": "INT"}, {"id": 1, "name": "b", "type": "INT"}]}),
        json!({"type": "ROW", "fields": [{"id": 1, "name": "a", "type": "INT"}, {"id": 2, "name": "a", "type": "INT"}]}),
    ] {
        assert_eq!(DataType::parse_json(&value).unwrap_err().kind(), ErrorKind::CorruptData, "{value}");
    }
}

#[test]
fn errors_inside_name_column_and_field() {
    let inner = json!({"type": "ROW", "fields": [{"id": 2, "name": "f", "type": "INTERVAL"}]});
    let error = DataField::parse_json(&json!({"id": 1, "name": "c", "type": inner})).unwrap_err();
    assert_eq!(error.context(), [("field", "f".to_string()), ("column", "c".to_string())]);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "[A-Z<>(),` 0-9']{0,60}") {
        let _ = text.parse::<DataType>();
    }

    #[test]
    fn any_type_is_read_back(data_type in any_type()) {
        proptest::prop_assert_eq!(&data_type.to_string().parse::<DataType>().unwrap().to_string(), &data_type.to_string());
        let json = serde_json::from_str(&data_type.to_json()).unwrap();
        proptest::prop_assert_eq!(DataType::parse_json(&json).unwrap(), data_type);
    }
}

fn any_type() -> impl proptest::strategy::Strategy<Value = DataType> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(TypeRoot::Int),
        Just(TypeRoot::Variant),
        (1_u8..=38).prop_flat_map(|p| (Just(p), 0..=p)).prop_map(|(p, s)| TypeRoot::Decimal(p, s)),
        (1..=MAX_LENGTH).prop_map(TypeRoot::VarChar),
        (1..=MAX_LENGTH).prop_map(TypeRoot::Binary),
        (0_u8..=9).prop_map(TypeRoot::Time),
        (0_u8..=9).prop_map(TypeRoot::LocalZonedTimestamp),
    ];
    let typed = |root: BoxedStrategy<TypeRoot>| {
        (root, any::<bool>()).prop_map(|(root, nullable)| DataType { root, nullable }).boxed()
    };
    typed(leaf.boxed()).prop_recursive(3, 16, 3, move |inner| {
        let one = inner.clone().prop_map(Box::new).boxed();
        let fields = prop::collection::vec((".{1,5}", inner), 0..4).prop_map(|fields| {
            let field = |(i, (name, data_type)): (usize, (String, DataType))| DataField {
                id: i32::try_from(i).unwrap(),
                name: format!("{i}{name}"),
                data_type,
                description: None,
                default_value: None,
            };
            TypeRoot::Row(fields.into_iter().enumerate().map(field).collect())
        });
        let roots = prop_oneof![
            one.clone().prop_map(TypeRoot::Array),
            one.clone().prop_map(TypeRoot::Multiset),
            (one.clone(), one).prop_map(|(key, value)| TypeRoot::Map(key, value)),
            fields,
        ];
        typed(roots.boxed())
    })
}

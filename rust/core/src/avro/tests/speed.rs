//! Measures the decoding speed of wide records with statistics. Prints the times without asserting anything about them.

use std::time::Instant;

use arrow_schema::DataType;

use super::*;

const ROWS: i64 = 4000;
const KEYS: i64 = 20;
const NUMBERS: [&str; 4] = ["sizes", "counts", "nulls", "nans"];
const BOUNDS: [&str; 2] = ["lower", "upper"];

/// Returns records of a path, two numbers and six maps.
fn schema() -> String {
    let map = |name: &str, value: &str| {
        let fields = format!(r#"{{"name":"key","type":"int"}},{{"name":"value","type":"{value}"}}"#);
        let entry = format!(r#"{{"type":"record","name":"e_{name}","fields":[{fields}]}}"#);
        format!(r#",{{"name":"{name}","type":["null",{{"type":"array","logicalType":"map","items":{entry}}}]}}"#)
    };
    let maps = NUMBERS.map(|name| map(name, "long")).into_iter().chain(BOUNDS.map(|name| map(name, "bytes")));
    let scalars = r#"{"name":"path","type":"string"},{"name":"rows","type":"long"},
        {"name":"bytes","type":["null","long"]}"#;
    record(&format!("{scalars}{}", maps.collect::<String>()))
}

fn row(i: i64) -> Vec<u8> {
    let path = format!("s3://bucket/warehouse/db/table/data/part={}/{i:032}.parquet", i % 100);
    let mut row = [sized(path), long(i), long(1), long(i * 1000)].concat();
    for map in 0..6 {
        row.extend([long(1), long(KEYS)].concat());
        for key in 1..=KEYS {
            row.extend(long(key));
            row.extend(match map {
                0..3 => long(i * key * 37 % 1_000_000),
                3 => long(0),
                _ if key % 4 == 0 => sized("a text of sixteen"),
                _ => sized((i * key).to_le_bytes()),
            });
        }
        row.extend(long(0));
    }
    row
}

fn lookup(name: &str, keys: &[i32]) -> Column {
    let value = if BOUNDS.contains(&name) { DataType::Binary } else { DataType::Int64 };
    by_name(name, Kind::Lookup { keys: keys.to_vec(), value })
}

#[test]
#[ignore = "prints times; run it optimised"]
fn a_few_statistics_out_of_many() {
    let rows: Vec<i64> = (0..ROWS).collect();
    let blocks = rows.chunks(100).flat_map(|rows| block(100, &rows.iter().copied().flat_map(row).collect::<Vec<_>>()));
    let file = AvroFile::open([header(&schema(), "null"), blocks.collect()].concat()).unwrap();
    let few = [
        by_name("path", Kind::Leaf(DataType::Utf8)),
        by_name("rows", Kind::Leaf(DataType::Int64)),
        lookup("nulls", &[3, 17]),
        lookup("lower", &[3, 17]),
        lookup("upper", &[3, 17]),
    ];
    let every: Vec<i32> = (1..=i32::try_from(KEYS).unwrap()).collect();
    let all_keys = NUMBERS.iter().chain(&BOUNDS).map(|name| lookup(name, &every));
    for (name, projection) in [
        ("nothing", Projection::default()),
        ("two keys of three maps", Projection::new(few)),
        ("every key", Projection::new(all_keys)),
        ("natural", Projection::natural(file.schema()).unwrap()),
    ] {
        let best = (0..60).map(|_| {
            let start = Instant::now();
            let batch = file.read(&projection, &Context::default()).unwrap();
            assert_eq!(batch.num_rows(), rows.len());
            start.elapsed()
        });
        let ns = best.min().unwrap().as_nanos() / rows.len() as u128;
        println!("{name}: {ns} ns per row of {} bytes", file.bytes.len() / rows.len());
    }
}

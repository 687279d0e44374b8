//! How fast wide records with statistics are decoded. Prints; asserts nothing about time.

use std::time::Instant;

use super::*;
use arrow_schema::DataType;

/// A record with a path, two numbers and six maps of twenty keys each: four of numbers and two of bytes.
#[test]
#[ignore = "prints times; run it optimised"]
fn a_few_statistics_out_of_many() {
    let map = |name: &str, value: &str| {
        let entry = format!(
            r#"{{"type":"record","name":"e_{name}","fields":[{{"name":"key","type":"int"}},{{"name":"value","type":"{value}"}}]}}"#
        );
        format!(r#"{{"name":"{name}","type":["null",{{"type":"array","logicalType":"map","items":{entry}}}]}}"#)
    };
    let maps = [
        ("sizes", "long"),
        ("counts", "long"),
        ("nulls", "long"),
        ("nans", "long"),
        ("lower", "bytes"),
        ("upper", "bytes"),
    ];
    let maps: Vec<String> = maps.iter().map(|(name, value)| map(name, value)).collect();
    let fields =
        r#"{"name":"path","type":"string"},{"name":"rows","type":"long"},{"name":"bytes","type":["null","long"]}"#;
    let schema = record(&format!("{fields},{}", maps.join(",")));

    let row = |i: i64| {
        let mut row = [
            sized(format!("s3://bucket/warehouse/db/table/data/part={}/{i:032}.parquet", i % 100)),
            long(i),
            long(1),
            long(i * 1000),
        ]
        .concat();
        for map in 0..6 {
            row.extend([long(1), long(20)].concat());
            for key in 1..=20 {
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
    };
    let rows = 4000;
    let blocks =
        (0..rows).step_by(100).flat_map(|first| block(100, &(first..first + 100).flat_map(row).collect::<Vec<u8>>()));
    let bytes = [header(&schema, "null"), blocks.collect()].concat();
    let file = AvroFile::open(bytes).unwrap();

    let lookup = |name: &str, value: DataType| by_name(name, Kind::Lookup { keys: vec![3, 17], value });
    let few = Projection::new([
        by_name("path", Kind::Leaf(DataType::Utf8)),
        by_name("rows", Kind::Leaf(DataType::Int64)),
        lookup("nulls", DataType::Int64),
        lookup("lower", DataType::Binary),
        lookup("upper", DataType::Binary),
    ]);
    let every: Vec<i32> = (1..=20).collect();
    let all_keys = Projection::new(
        ["sizes", "counts", "nulls", "nans"]
            .map(|name| by_name(name, Kind::Lookup { keys: every.clone(), value: DataType::Int64 }))
            .into_iter()
            .chain(
                ["lower", "upper"]
                    .map(|name| by_name(name, Kind::Lookup { keys: every.clone(), value: DataType::Binary })),
            ),
    );
    let natural = Projection::natural(file.schema()).unwrap();
    for (name, projection) in [
        ("nothing", Projection::default()),
        ("two keys of three maps", few),
        ("every key", all_keys),
        ("natural", natural),
    ] {
        let best = (0..60).map(|_| {
            let start = Instant::now();
            assert_eq!(file.read(&projection, &Context::default()).unwrap().num_rows(), 4000);
            start.elapsed()
        });
        let ns = best.min().unwrap().as_nanos();
        println!("{name}: {} ns per row of {} bytes", ns / 4000, file.bytes.len() / 4000);
    }
}

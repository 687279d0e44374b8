//! Defines targets for values of Apache Paimon: rows in manifests, casts of strings, aggregates, and merged rows.

use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef};
use frazil_paimon::binary_row;
use frazil_paimon::cast::Caster;
use frazil_paimon::merge::aggregate::aggregator;
use frazil_paimon::merge::{MergeSpec, Merger, Source, Step};
use frazil_paimon::spec::options::Options;
use frazil_paimon::spec::partition_path::{Naming, folder};
use frazil_paimon::spec::types::{DataField, DataType, TypeRoot};

use super::paimon::{field, read_context, schema};
use super::{Outcome, Refusal, Target, choice, context, law, target, text};

pub(super) const TARGETS: &[Target] = &[
    target("paimon_binary_row", row, ROWS),
    target("paimon_partition", partition, ROWS),
    target("paimon_cast", cast, CASTS),
    target("paimon_aggregate", aggregate, &[]),
    target("paimon_merge", merge, MERGES),
];

/// Returns all types that a row can have, by number.
fn types() -> &'static [DataType] {
    static TYPES: OnceLock<Vec<DataType>> = OnceLock::new();
    TYPES.get_or_init(|| {
        let inner = vec![field(100, "a", TypeRoot::Int), field(101, "b", TypeRoot::Timestamp(9))];
        let text = || DataType::nullable(TypeRoot::VarChar(i32::MAX.cast_unsigned()));
        let roots = [
            TypeRoot::Boolean,
            TypeRoot::TinyInt,
            TypeRoot::SmallInt,
            TypeRoot::Int,
            TypeRoot::BigInt,
            TypeRoot::Float,
            TypeRoot::Double,
            TypeRoot::Decimal(18, 2),
            TypeRoot::Decimal(38, 10),
            TypeRoot::Char(3),
            TypeRoot::VarChar(20),
            TypeRoot::Binary(3),
            TypeRoot::VarBinary(20),
            TypeRoot::Date,
            TypeRoot::Time(3),
            TypeRoot::Timestamp(3),
            TypeRoot::Timestamp(6),
            TypeRoot::Timestamp(9),
            TypeRoot::LocalZonedTimestamp(6),
            TypeRoot::Variant,
            TypeRoot::Array(Box::new(DataType::nullable(TypeRoot::SmallInt))),
            TypeRoot::Array(Box::new(text())),
            TypeRoot::Map(Box::new(text()), Box::new(DataType::nullable(TypeRoot::Row(inner.clone())))),
            TypeRoot::Multiset(Box::new(text())),
            TypeRoot::Row(inner),
        ];
        roots.into_iter().map(DataType::nullable).collect()
    })
}

/// Parses the number of fields, a type for each, and a row.
fn typed_row(input: &[u8]) -> Result<(Vec<DataType>, &[u8]), Refusal> {
    let (fields, rest) = choice(input)?;
    let (chosen, row) = rest.split_at_checked(fields % 16).ok_or(Refusal::Error)?;
    let of = |choice: &u8| types().get(usize::from(*choice) % types().len()).cloned();
    Ok((chosen.iter().filter_map(of).collect(), row))
}

fn row(input: &[u8]) -> Outcome {
    let (types, row) = typed_row(input)?;
    let rows = BinaryArray::from_vec(vec![row]);
    let wanted: Vec<usize> = (0..types.len()).collect();
    let _ = binary_row::decode_bounds(&rows, &types, &wanted);
    let values = binary_row::decode(row, &types)?;
    law(values.iter().all(|array| array.len() == 1), "a row has one value for each field")?;
    let Ok(written) = binary_row::encode(&values, &types) else { return Ok(()) };
    let again = binary_row::decode_columns(&binary_row::with_arity(&written, types.len())?, &types, &wanted)?;
    law(again == values, "a written row reads back")
}

fn partition(input: &[u8]) -> Outcome {
    let (types, row) = typed_row(input)?;
    let column = |(data_type, id): (&DataType, i32)| field(id, &format!("p{id}"), data_type.root.clone());
    let fields: Vec<DataField> = types.iter().zip(0..).map(column).collect();
    let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    let read = read_context(schema(fields, &names, &[], &[]), "TRUE")?;
    let texts = read.partition_texts(row)?;
    law(texts.len() == names.len(), "every partition column has a string")?;
    let values = binary_row::decode(row, &types)?;
    for legacy in [true, false] {
        let path = folder(&read.partition_fields(), &values, 0, &Naming { legacy, ..Naming::default() })?;
        law(path.split('/').filter(|part| !part.is_empty()).count() == names.len(), "a folder for each column")?;
        law(path.split('/').all(|part| part != "." && part != ".."), "folders do not lead upwards")?;
    }
    Ok(())
}

/// Casts a string to every type, and back.
fn cast(input: &[u8]) -> Outcome {
    let string = DataType::nullable(TypeRoot::VarChar(i32::MAX.cast_unsigned()));
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some(text(input)?), None]));
    for to in types() {
        let Ok(Some(caster)) = Caster::try_new(&string, to) else { continue };
        let Ok(cast) = caster.cast(&values) else { continue };
        law(cast.data_type() == &to.arrow() && cast.len() == 2, "a cast returns as many values of its type")?;
        let Ok(Some(back)) = Caster::try_new(to, &string) else { continue };
        let Ok(printed) = back.cast(&cast) else { continue };
        law(printed.null_count() == cast.null_count(), "every value has a string")?;
    }
    Ok(())
}

/// Aggregates two sets. The input is the function, the length of the first set, and the sets.
fn aggregate(input: &[u8]) -> Outcome {
    const FUNCTIONS: [&str; 4] = ["rbm32", "rbm64", "hll_sketch", "theta_sketch"];
    let (function, rest) = choice(input)?;
    let (length, rest) = choice(rest)?;
    let (first, second) = rest.split_at_checked(length).ok_or(Refusal::Error)?;
    let function = FUNCTIONS.get(function % FUNCTIONS.len()).copied().unwrap_or_default();
    let field = field(1, "s", TypeRoot::VarBinary(i32::MAX.cast_unsigned()));
    let union = |sets: Vec<&[u8]>| -> frazil_core::error::Result<ArrayRef> {
        let mut aggregator = aggregator(function, &field, &Options::default())?;
        let values: ArrayRef = Arc::new(BinaryArray::from_vec(sets));
        aggregator.begin();
        for row in 0..values.len() {
            aggregator.add(&values, row)?;
        }
        aggregator.append()?;
        aggregator.finish()
    };
    let both = union(vec![first, second])?;
    let both = both.as_binary::<i32>().value(0);
    law(union(vec![both, both]).is_ok(), "a union is a set")
}

/// Merges rows. The input is the merge engine, then four bytes per row: run, key, sequence, and kind with value.
fn merge(input: &[u8]) -> Outcome {
    const ENGINES: [&str; 4] = ["deduplicate", "first-row", "partial-update", "aggregation"];
    const FUNCTIONS: [&str; 6] = ["sum", "last_value", "max", "first_non_null_value", "count", "product"];
    const RUNS: u8 = 4;
    let (how, rest) = choice(input)?;
    let engine = ENGINES.get(how % 4).copied().unwrap_or_default();
    let function = FUNCTIONS.get(how / 4 % 8).copied().unwrap_or("listagg");
    let (sorted, ignores) = (how & 32 == 0, if how & 64 == 0 { "true" } else { "false" });
    let mut options = vec![("merge-engine", engine), ("ignore-delete", ignores)];
    options.extend((engine == "aggregation").then_some(("fields.v.aggregate-function", function)));
    options.extend((how & 128 != 0).then_some(("sequence.field", "v")));
    // Then only the record of the lowest level above 0 is merged with those of level 0.
    options.extend((how / 4 % 8 == 7).then_some(("force-lookup", "true")));
    let key = DataField { data_type: DataType::required(TypeRoot::Int), ..field(0, "k", TypeRoot::Int) };
    let schema = schema(vec![key, field(1, "v", TypeRoot::Int)], &[], &["k"], &options);
    let spec = MergeSpec::try_new(&schema, &Options::new(schema.options.clone()))?;

    let mut records: Vec<[u8; 4]> = rest.as_chunks().0.to_vec();
    if sorted {
        records.sort_by_key(|[_, key, sequence, _]| (*key, *sequence));
    }
    let runs: Vec<RecordBatch> =
        (0..RUNS).filter_map(|run| batch(&schema.fields, records.iter().filter(|r| r[0] % RUNS == run)).ok()).collect();
    let Some(first) = runs.first() else { return Err(Refusal::Error) };
    let keys = merged(Merger::try_new(&spec, first.schema(), runs.len(), &context())?, &runs)?;
    law(keys.len() <= records.len(), "merging adds no rows")?;
    law(!sorted || keys.is_sorted_by(|a, b| a < b), "merged keys are sorted and unique")
}

/// Returns the file of a run; two runs are on the same level.
fn source(run: usize) -> Source {
    let age = u32::try_from(run).unwrap_or(u32::MAX);
    Source { level: i32::try_from(age / 2).unwrap_or(0), age, file: age }
}

fn merged(mut merger: Merger, runs: &[RecordBatch]) -> frazil_core::error::Result<Vec<i32>> {
    let mut given = vec![0; runs.len()];
    let mut keys = Vec::new();
    loop {
        match merger.step()? {
            Step::Need(run) => {
                // In batches of three rows.
                let next = runs.get(run).zip(given.get_mut(run)).and_then(|(batch, at)| {
                    let piece = (*at < batch.num_rows()).then(|| batch.slice(*at, 3.min(batch.num_rows() - *at)));
                    *at += 3;
                    piece
                });
                merger.push(run, next.map(|batch| (source(run), batch)))?;
            }
            Step::Batch(batch) => keys.extend(batch.column(0).as_primitive::<Int32Type>().values()),
            Step::Done => return Ok(keys),
        }
    }
}

fn batch<'a>(
    fields: &[DataField],
    records: impl Iterator<Item = &'a [u8; 4]>,
) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let records: Vec<&[u8; 4]> = records.collect();
    let mut columns: Vec<Field> = fields.iter().map(DataField::arrow).collect();
    columns.push(Field::new("_SEQUENCE_NUMBER", ArrowType::Int64, false));
    columns.push(Field::new("_VALUE_KIND", ArrowType::Int8, false));
    let schema: SchemaRef = Arc::new(Schema::new(columns));
    let value = |value: u8| (value >= 8).then_some(i32::from(value >> 2) << (value & 16));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(records.iter().map(|r| Some(i32::from(r[1]))).collect::<Int32Array>()),
        Arc::new(records.iter().map(|r| value(r[3])).collect::<Int32Array>()),
        Arc::new(records.iter().map(|r| Some(i64::from(r[2]))).collect::<Int64Array>()),
        Arc::new(records.iter().map(|r| Some((r[3] & 3).cast_signed())).collect::<Int8Array>()),
    ];
    RecordBatch::try_new(schema, columns)
}

const ROWS: &[&[u8]] = &[
    // INT 7, VARCHAR "ab"
    b"\x02\x03\x0a\0\0\0\x02\0\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0ab\0\0\0\0\0\x82",
    // BIGINT 1, NULL, DATE 3
    b"\x03\x04\x06\x0d\0\0\0\x03\0\x02\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0",
    // DECIMAL(38, 10) and TIMESTAMP(9) in the variable part
    b"\x02\x08\x11\0\0\0\x02\0\0\0\0\0\0\0\0\x02\0\0\0\x18\0\0\0\x05\0\0\0\x28\0\0\0\x01\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0",
    // ARRAY of SMALLINT: 1, NULL
    b"\x01\x14\0\0\0\x01\0\0\0\0\0\0\0\0\x10\0\0\0\x10\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0",
    // TIME, TIMESTAMP(3), BOOLEAN
    b"\x03\x0e\x0f\0\0\0\0\x03\0\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0\x01\0\0\0\0\0\0\0",
];

const CASTS: &[&[u8]] = &[
    b"2024-02-29 23:59:59.123456789",
    b"-12345.6789e3",
    b"true",
    b"10:11:12.5",
    b"[1, null, 3]",
    b"{a -> {1, 2024-01-01 00:00:00}, null -> null}",
    b"{1, 2024-01-01T00:00:00Z}",
    b"NaN",
    b"\xc3\xa9\xf0\x9f\x98\x80 ",
];

const MERGES: &[&[u8]] = &[
    b"\0\0\x01\x01\x10\x01\x01\x02\x14\x02\x02\x03\x0f\x03\x01\x04\x08\0\x03\x05\x20",
    b"\x41\0\x01\x01\x10\x01\x01\x02\x14\x02\x02\x03\x0f\x03\x01\x04\x08\0\x03\x05\x20",
    b"\xc2\0\x01\x01\x10\x01\x01\x02\x14\x02\x02\x03\x0c\x03\x01\x04\x08\0\x03\x05\x20",
    b"\x03\0\x01\x01\x10\x01\x01\x02\x14\x02\x02\x03\x0f\x03\x01\x04\x08\0\x03\x05\x20",
];

//! Virtual tables: read-only tables with computed rows, such as the metadata tables of a format.
//!
//! A table has parts. Each part can be read separately, in any process that opened the same state of the table.
//! Filters, projections and limits are implemented here for all tables.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::scalar::ScalarType;
use crate::sql::expression::Expression;
use crate::sql::predicate::bind::{Columns, bind, nearest};
use crate::sql::predicate::eval::{RowColumns, evaluate, masked};
use crate::sql::predicate::{BoundColumn, BoundPredicate, ColumnName};
use crate::storage::files::Files;

/// A stream of batches.
pub type PartBatches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// A part of a table, in an encoding that is private to the table.
pub type Part = Vec<u8>;

/// A virtual table of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableInfo {
    /// The name.
    pub name: &'static str,
    /// A description of the rows, in one sentence.
    pub doc: &'static str,
    /// Whether the table shows a single snapshot, which the user can select.
    pub time_travel: bool,
}

/// A table with computed rows.
pub trait VirtualTable: Debug + Send + Sync {
    /// Returns the schema of all columns.
    fn schema(&self) -> &SchemaRef;

    /// Returns the parts, which together contain all rows.
    ///
    /// # Errors
    /// Errors of reading the files that list the parts.
    fn parts(&self, context: &Context) -> Result<Vec<Part>>;

    /// Reads a part: returns batches of the columns at these positions of the schema, in this order.
    ///
    /// # Errors
    /// Errors of reading files; later errors are items of the stream.
    fn read(&self, part: &[u8], columns: &[usize], context: &Context) -> Result<PartBatches>;

    /// Returns the data file that the caller opens to read a part; None for a part that [`VirtualTable::read`] reads.
    ///
    /// # Errors
    /// `InvalidArgument` for a part of another table.
    fn file(&self, part: &[u8]) -> Result<Option<PartFile>> {
        let _ = part;
        Ok(None)
    }

    /// Begins to read the columns at these positions from the data file of a part; `schema` is that of the file.
    ///
    /// # Errors
    /// `CorruptData` for a file with missing columns.
    fn open(&self, part: &[u8], schema: &Schema, columns: &[usize]) -> Result<Box<dyn FileRows>> {
        let _ = (part, schema, columns);
        Err(Error::internal("a part has no data file to open"))
    }
}

/// A data file with the rows of a part.
#[derive(Debug, Clone)]
pub struct PartFile {
    /// The file access through which the data file is opened.
    pub files: Files,
    /// The path.
    pub path: String,
    /// The name of the format.
    pub format: &'static str,
}

/// A converter from batches of a data file to rows of a table.
pub trait FileRows: Debug + Send {
    /// Returns the leaf columns of the file to read, in depth-first order, and the top-level columns that contain them.
    fn wanted(&self) -> (Vec<usize>, Vec<usize>);

    /// Converts a batch of the columns from [`wanted`], with `count` rows, to rows of the table.
    ///
    /// # Errors
    /// `CorruptData` for invalid values.
    fn rows(&self, batch: &RecordBatch, count: usize) -> Result<RecordBatch>;
}

/// Returns the table with this name.
///
/// # Errors
/// `InvalidArgument` for an unknown name, with the valid names.
pub fn find(tables: &'static [TableInfo], name: &str) -> Result<&'static TableInfo> {
    tables.iter().find(|table| table.name == name).ok_or_else(|| {
        let names: Vec<String> = tables.iter().map(|table| table.name.to_string()).collect();
        let error = Error::invalid(format!("unknown metadata table `{name}`"));
        match nearest(name, &names) {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`? the tables are {}", names.join(", "))),
            None => error.hint(format!("the tables are {}", names.join(", "))),
        }
    })
}

/// Returns a table of these rows, as one part.
pub fn of_rows(rows: RecordBatch) -> Arc<dyn VirtualTable> {
    Arc::new(Held { schema: rows.schema(), rows })
}

/// A virtual table whose rows are held in memory.
#[derive(Debug)]
struct Held {
    schema: SchemaRef,
    rows: RecordBatch,
}

impl VirtualTable for Held {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn parts(&self, _: &Context) -> Result<Vec<Part>> {
        Ok(vec![Part::new()])
    }

    fn read(&self, _: &[u8], columns: &[usize], _: &Context) -> Result<PartBatches> {
        let rows = self.rows.project(columns)?;
        Ok(Box::new(std::iter::once(Ok(rows))))
    }
}

/// A read of a virtual table.
#[derive(Debug, Clone)]
pub struct VirtualScan {
    table: Arc<dyn VirtualTable>,
    leaves: Arc<Vec<VirtualLeaf>>,
    filter: BoundPredicate,
    /// The positions of the returned columns.
    selected: Vec<usize>,
    /// The positions of the columns to read: `selected` and those of the filter, in ascending order.
    read: Vec<usize>,
    schema: SchemaRef,
}

impl VirtualScan {
    /// Binds a filter and a selection to the columns of a table. `*` selects all columns.
    ///
    /// # Errors
    /// `InvalidArgument` for unknown columns and for literals that cannot be compared with their column.
    pub fn try_new(
        table: Arc<dyn VirtualTable>,
        filter: &Expression,
        selected_fields: &[String],
        case_sensitive: bool,
    ) -> Result<Self> {
        let leaves = Arc::new(leaves_of(table.schema()));
        let filter = bind(filter, &Leaves(&leaves), case_sensitive)?;
        let selected = select(table.schema(), selected_fields, case_sensitive)?;
        let of_filter = filter.columns().into_iter().filter_map(|column| top_level(&leaves, column.id));
        let mut read: Vec<usize> = selected.iter().copied().chain(of_filter).collect();
        read.sort_unstable();
        read.dedup();
        let schema = Arc::new(table.schema().project(&selected)?);
        Ok(Self { table, leaves, filter, selected, read, schema })
    }

    /// Returns the schema of the returned columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the bound filter.
    pub fn filter(&self) -> &BoundPredicate {
        &self.filter
    }

    /// Returns the parts to read.
    ///
    /// # Errors
    /// See [`VirtualTable::parts`].
    pub fn parts(&self, context: &Context) -> Result<Vec<Part>> {
        if self.filter == BoundPredicate::False { Ok(Vec::new()) } else { self.table.parts(context) }
    }

    /// Reads a part: returns the matching rows with the selected columns.
    ///
    /// # Errors
    /// See [`VirtualTable::read`].
    pub fn read(&self, part: &[u8], context: &Context) -> Result<PartBatches> {
        let scan = self.clone();
        let batches = self.table.read(part, &self.read, context)?;
        let rows = move |batch: Result<RecordBatch>| batch.and_then(|batch| scan.rows(&batch)).transpose();
        Ok(Box::new(batches.filter_map(rows)))
    }

    /// Returns the data file of a part; None if the part is read by [`VirtualScan::read`].
    ///
    /// # Errors
    /// See [`VirtualTable::file`].
    pub fn file(&self, part: &[u8]) -> Result<Option<PartFile>> {
        self.table.file(part)
    }

    /// Begins to read the data file of a part.
    ///
    /// # Errors
    /// See [`VirtualTable::open`].
    pub fn open(&self, part: &[u8], schema: &Schema) -> Result<ScanFile> {
        Ok(ScanFile { scan: self.clone(), rows: self.table.open(part, schema, &self.read)? })
    }

    /// Returns the matching rows of a batch of the read columns; None if there are none.
    fn rows(&self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let kept = evaluate(&self.filter, &Read { scan: self, batch }, batch.num_rows())?;
        let kept = BooleanArray::new(kept, None);
        if kept.true_count() == 0 {
            return Ok(None);
        }
        let places = self.selected.iter().map(|column| self.place(*column)).collect::<Option<Vec<_>>>();
        let places = places.ok_or_else(|| Error::internal("a selected column was not read"))?;
        let columns = places.iter().filter_map(|&place| batch.columns().get(place).cloned()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        Ok(Some(if kept.false_count() == 0 { rows } else { filter_record_batch(&rows, &kept)? }))
    }

    fn place(&self, column: usize) -> Option<usize> {
        self.read.binary_search(&column).ok()
    }
}

/// A reader of the data file of a part.
#[derive(Debug)]
pub struct ScanFile {
    scan: VirtualScan,
    rows: Box<dyn FileRows>,
}

impl ScanFile {
    /// Returns the columns of the file to read, like [`FileRows::wanted`].
    pub fn wanted(&self) -> (Vec<usize>, Vec<usize>) {
        self.rows.wanted()
    }

    /// Returns the matching rows of a batch of the file, with the selected columns; None if there are none.
    ///
    /// # Errors
    /// See [`FileRows::rows`].
    pub fn rows(&self, batch: &RecordBatch, count: usize) -> Result<Option<RecordBatch>> {
        self.scan.rows(&self.rows.rows(batch, count)?)
    }
}

/// Returns the positions of columns by name.
fn select(schema: &Schema, names: &[String], case_sensitive: bool) -> Result<Vec<usize>> {
    let mut selected = Vec::new();
    for name in names {
        if name == "*" {
            selected.extend(0..schema.fields().len());
            continue;
        }
        let same = |field: &Field| {
            if case_sensitive { field.name() == name } else { field.name().eq_ignore_ascii_case(name) }
        };
        let position = schema.fields().iter().position(|field| same(field)).ok_or_else(|| {
            let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
            let error = Error::invalid(format!("no column `{name}`"));
            match nearest(name, &names) {
                Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
                None => error.hint(format!("the columns are {}", names.join(", "))),
            }
        })?;
        selected.push(position);
    }
    let mut seen = std::collections::HashSet::new();
    selected.retain(|column| seen.insert(*column));
    Ok(selected)
}

/// A column, or a field of a struct column, that a filter can reference.
#[derive(Debug)]
struct VirtualLeaf {
    /// The position of the column, then those of nested fields.
    path: Vec<usize>,
    names: Vec<String>,
    /// The type; None for types without an order.
    data_type: Option<ScalarType>,
    nullable: bool,
}

fn leaves_of(schema: &Schema) -> Vec<VirtualLeaf> {
    fn add(field: &Field, path: &[usize], names: &[String], nullable: bool, leaves: &mut Vec<VirtualLeaf>) {
        let names: Vec<String> = names.iter().chain([field.name()]).cloned().collect();
        let nullable = nullable || field.is_nullable();
        let data_type = ScalarType::from_arrow(field);
        leaves.push(VirtualLeaf { path: path.to_vec(), names: names.clone(), data_type, nullable });
        if let DataType::Struct(fields) = field.data_type() {
            for (position, field) in fields.iter().enumerate() {
                add(field, &[path, &[position]].concat(), &names, nullable, leaves);
            }
        }
    }
    let mut leaves = Vec::new();
    for (position, field) in schema.fields().iter().enumerate() {
        add(field, &[position], &[], false, &mut leaves);
    }
    leaves
}

fn leaf_of(leaves: &[VirtualLeaf], id: i32) -> Option<&VirtualLeaf> {
    leaves.get(usize::try_from(id).ok()?)
}

fn top_level(leaves: &[VirtualLeaf], id: i32) -> Option<usize> {
    leaf_of(leaves, id)?.path.first().copied()
}

struct Leaves<'a>(&'a [VirtualLeaf]);

impl Columns for Leaves<'_> {
    fn column(&self, name: &ColumnName, case_sensitive: bool) -> Result<Option<BoundColumn>> {
        let same = |a: &str, b: &str| if case_sensitive { a == b } else { a.to_lowercase() == b.to_lowercase() };
        let joined = name.0.join(".");
        let found: Vec<_> =
            self.0.iter().enumerate().filter(|(_, leaf)| same(&leaf.names.join("."), &joined)).collect();
        let exact = |leaf: &VirtualLeaf| {
            leaf.names.len() == name.0.len() && leaf.names.iter().zip(&name.0).all(|(a, b)| same(a, b))
        };
        let chosen = match found.as_slice() {
            [] => return Ok(None),
            [only] => only,
            several => {
                let mut exact = several.iter().filter(|(_, leaf)| exact(leaf));
                match (exact.next(), exact.next()) {
                    (Some(only), None) => only,
                    _ => return Err(Error::invalid(format!("the column name `{joined}` is ambiguous"))),
                }
            }
        };
        let (position, leaf) = *chosen;
        Ok(Some(BoundColumn {
            id: i32::try_from(position).map_err(|_| Error::internal("there are more columns than ids"))?,
            name: leaf.names.join(".").into(),
            data_type: leaf.data_type.unwrap_or(ScalarType::Null),
            nullable: leaf.nullable,
        }))
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|leaf| leaf.names.join(".")).collect()
    }

    fn comparable(&self, column: &BoundColumn) -> bool {
        leaf_of(self.0, column.id).is_some_and(|leaf| leaf.data_type.is_some())
    }
}

/// The columns of a batch that a filter references, by leaf id.
struct Read<'a> {
    scan: &'a VirtualScan,
    batch: &'a RecordBatch,
}

impl RowColumns for Read<'_> {
    fn column(&self, id: i32) -> Option<ArrayRef> {
        let leaf = leaf_of(&self.scan.leaves, id)?;
        let (top, inner) = leaf.path.split_first()?;
        let mut column = self.batch.columns().get(self.scan.place(*top)?)?.clone();
        for position in inner {
            let fields = column.as_struct_opt()?;
            column = masked(fields.columns().get(*position)?, fields.nulls()).ok()?;
        }
        Some(column)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringArray, StructArray};
    use arrow_schema::Fields;

    use super::*;

    static TABLES: [TableInfo; 1] = [TableInfo { name: "files", doc: "", time_travel: true }];

    #[derive(Debug)]
    struct Numbers(SchemaRef);

    impl Numbers {
        fn table() -> Arc<dyn VirtualTable> {
            let inner = Fields::from(vec![Field::new("x", DataType::Int64, true)]);
            Arc::new(Self(Arc::new(Schema::new(vec![
                Field::new("part", DataType::Utf8, false),
                Field::new("n", DataType::Int64, false),
                Field::new("s", DataType::Struct(inner), true),
            ]))))
        }
    }

    impl VirtualTable for Numbers {
        fn schema(&self) -> &SchemaRef {
            &self.0
        }

        fn parts(&self, _: &Context) -> Result<Vec<Part>> {
            Ok(vec![b"a".to_vec(), b"b".to_vec()])
        }

        fn read(&self, part: &[u8], columns: &[usize], _: &Context) -> Result<PartBatches> {
            let part = String::from_utf8(part.to_vec()).unwrap();
            let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
            let DataType::Struct(inner) = self.0.field(2).data_type() else { unreachable!() };
            let all: Vec<ArrayRef> = vec![
                Arc::new(StringArray::from(vec![part; 3])),
                numbers.clone(),
                Arc::new(StructArray::new(inner.clone(), vec![numbers], Some(vec![true, false, true].into()))),
            ];
            let columns_of = columns.iter().map(|&i| all[i].clone()).collect();
            let schema = Arc::new(self.0.project(columns)?);
            Ok(Box::new(std::iter::once(Ok(RecordBatch::try_new(schema, columns_of)?))))
        }
    }

    fn rows(filter: &str, selected: &[&str]) -> Result<Vec<RecordBatch>> {
        let filter = Expression::filter(filter)?;
        let selected: Vec<String> = selected.iter().map(ToString::to_string).collect();
        let scan = VirtualScan::try_new(Numbers::table(), &filter, &selected, true)?;
        let context = Context::default();
        let mut found = Vec::new();
        for part in scan.parts(&context)? {
            found.extend(scan.read(&part, &context)?.collect::<Result<Vec<_>>>()?);
        }
        assert!(found.iter().all(|batch| batch.schema_ref() == scan.schema()));
        Ok(found)
    }

    #[test]
    fn rows_in_memory_are_a_table() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let table = of_rows(RecordBatch::try_from_iter([("n", numbers)]).unwrap());
        let context = Context::default();
        for (filter, selected, columns) in [("n > 1", "*", 1), ("n <> 2", "n", 1)] {
            let filter = Expression::filter(filter).unwrap();
            let scan = VirtualScan::try_new(table.clone(), &filter, &[selected.to_string()], true).unwrap();
            let [part] = scan.parts(&context).unwrap().try_into().unwrap();
            let found = scan.read(&part, &context).unwrap().next().unwrap().unwrap();
            assert_eq!((found.num_rows(), found.num_columns()), (2, columns));
        }
        let none = VirtualScan::try_new(table, &Expression::TRUE, &[], true).unwrap();
        assert_eq!(none.read(&[], &context).unwrap().next().unwrap().unwrap().num_rows(), 3);
    }

    #[test]
    fn columns_that_only_the_filter_names_are_read_and_not_returned() {
        let found = rows("part = 'b' and n >= 2", &["n"]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].num_columns(), 1);
        assert_eq!(found[0].column(0).as_primitive::<arrow_array::types::Int64Type>().values(), &[2, 3]);
    }

    #[test]
    fn a_field_inside_a_null_struct_is_null() {
        let count = |filter: &str| rows(filter, &["*"]).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>();
        assert_eq!(count("s.x is null"), 2);
        assert_eq!(count("s.x >= 1"), 4);
        assert_eq!(count("s is null"), 2);
        assert_eq!(count("true"), 6);
    }

    #[test]
    fn the_order_of_the_selection_is_kept_and_no_column_is_enough_to_count() {
        let found = rows("n = 1", &["n", "part"]).unwrap();
        assert_eq!(found[0].schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["n", "part"]);
        assert_eq!(rows("n < 3", &[]).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        for (filter, selected) in [("m = 1", "*"), ("true", "parts"), ("s.y = 1", "*"), ("s = 1", "*")] {
            assert!(rows(filter, &[selected]).is_err(), "{filter} {selected}");
        }
        let error = find(&TABLES, "file").unwrap_err();
        assert!(error.to_string().contains("unknown metadata table `file`"), "{error}");
    }
}

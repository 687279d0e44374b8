//! The native module of frazil, without logic: it converts values, releases the GIL once, and maps errors.

mod arrow;
mod avro_writer;
mod cache;
mod catalog;
mod changes;
mod data_file;
mod delete_file;
mod deletion_vector;
mod errors;
mod features;
mod files;
mod interrupt;
mod maintenance;
mod merge;
mod message;
mod paimon;
mod properties;
mod reader;
mod row_delta;
mod scan;
mod schema;
mod table;
mod task;
mod tasks;
mod transaction;
mod transforms;
mod variants;
mod virtual_table;
mod write;

use pyo3::prelude::*;

/// The allocator. Results are large and short-lived: freed memory is reused before the system reclaims its pages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A private module: use the `frazil` package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    interrupt::keep_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DEBUG", cfg!(debug_assertions))?;
    module.add_class::<files::Files>()?;
    module.add_class::<files::Upload>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<scan::Scan>()?;
    module.add_class::<scan::Plan>()?;
    module.add_class::<task::FileScanTask>()?;
    module.add_class::<delete_file::DeleteFile>()?;
    module.add_class::<reader::TaskReader>()?;
    module.add_class::<reader::DeleteReader>()?;
    module.add_class::<write::RowWriter>()?;
    module.add_class::<tasks::Tasks>()?;
    module.add_class::<message::CommitMessages>()?;
    module.add_class::<row_delta::PositionDeletes>()?;
    module.add_class::<row_delta::RowDelta>()?;
    module.add_class::<avro_writer::AvroWriter>()?;
    module.add_class::<transaction::Attempts>()?;
    module.add_class::<transaction::SnapshotOutcome>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<merge::Merger>()?;
    module.add_class::<merge::Updater>()?;
    changes::register(module)?;
    paimon::register(module)?;
    module.add_class::<data_file::BatchReader>()?;
    virtual_table::register(module)?;
    module.add_class::<features::SpecFeature>()?;
    module.add_class::<properties::TableProperty>()?;
    module.add_function(wrap_pyfunction!(cache::cache_stats, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_clear, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_limit, module)?)?;
    module.add_function(wrap_pyfunction!(data_file::int96_timestamps, module)?)?;
    module.add_function(wrap_pyfunction!(merge::evaluate_expression, module)?)?;
    module.add_function(wrap_pyfunction!(files::is_storage_option, module)?)?;
    module.add_function(wrap_pyfunction!(write::create_table, module)?)?;
    module.add_function(wrap_pyfunction!(schema::schema_json, module)?)?;
    module.add_function(wrap_pyfunction!(schema::typed_schema_json, module)?)?;
    module.add_function(wrap_pyfunction!(schema::selected_schema_json, module)?)?;
    module.add_function(wrap_pyfunction!(schema::schema_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(merge::source_batches, module)?)?;
    maintenance::register(module)?;
    module.add_function(wrap_pyfunction!(deletion_vector::kept_rows, module)?)?;
    module.add_function(wrap_pyfunction!(deletion_vector::deleted_positions, module)?)?;
    module.add_function(wrap_pyfunction!(deletion_vector::encode_positions, module)?)?;
    module.add_function(wrap_pyfunction!(transforms::apply_transform, module)?)?;
    module.add_function(wrap_pyfunction!(variants::variant_to_json, module)?)?;
    module.add_function(wrap_pyfunction!(variants::encode_variant, module)?)?;
    module.add_function(wrap_pyfunction!(scan::normalize_predicate, module)?)?;
    module.add_function(wrap_pyfunction!(features::iceberg_features, module)?)?;
    module.add_function(wrap_pyfunction!(features::paimon_features, module)?)?;
    module.add_function(wrap_pyfunction!(properties::table_properties, module)?)?;
    module.add_function(wrap_pyfunction!(properties::paimon_option_names, module)?)?;
    module.add_function(wrap_pyfunction!(properties::paimon_duration_ms, module)?)?;
    module.add_function(wrap_pyfunction!(properties::table_property, module)?)?;
    module.add_function(wrap_pyfunction!(virtual_table::iceberg_metadata_tables, module)?)?;
    module.add_function(wrap_pyfunction!(virtual_table::paimon_system_tables, module)?)?;
    Ok(())
}

//! Lists the features of the Iceberg specification that this crate supports, section by section.

use frazil_core::feature::Feature;
use frazil_core::feature::Support::{No, Yes};

macro_rules! features {
    ($($name:ident = $section:literal, $modules:expr, $proof:expr, $read:expr, $write:expr;)*) => {
        $(pub(crate) const $name: Feature =
            Feature { section: $section, modules: $modules, proof: $proof, read: $read, write: $write };)*

        /// All sections, in the order of the specification.
        pub const FEATURES: &[Feature] = &[$($name),*];
    };
}

features! {
    TABLE_METADATA = "Table metadata, appendix C", &["iceberg/src/spec/table_metadata.rs", "iceberg/src/spec/metadata_json.rs"], &["edit_v1_inline_manifests", "meta_upgrade_v1_v2_v3", "empty_table"], Yes("v1, v2, v3; gzip; v4 refused"), Yes("v1, v2, v3; upgrades; gzip");
    FILE_SYSTEM_TABLES = "File system tables", &["iceberg/src/locate.rs"], &["hadoop_gz_no_hint", "hadoop_hint_garbage"], Yes(""), Yes("with hint");
    SCHEMAS_AND_DATA_TYPES = "Schemas and data types", &["iceberg/src/spec/types.rs", "iceberg/src/spec/schema.rs", "iceberg/src/spec/type_text.rs", "iceberg/src/spec/type_json.rs"], &["type_all_v3", "nested_*"], Yes("all of v1 to v3; geometry and geography as WKB"), Yes("");
    DEFAULT_VALUES = "Default values", &["iceberg/src/read/default.rs"], &["evo_defaults_*"], Yes("`initial-default`"), Yes("`write-default`; set with `update_schema`");
    SCHEMA_EVOLUTION_COLUMN_PROJECTION = "Schema evolution, column projection", &["iceberg/src/read", "iceberg/src/evolve"], &["evo_*"], Yes(""), Yes("");
    NAME_MAPPING = "Name mapping", &["iceberg/src/spec/name_mapping.rs"], &["mapping_*"], Yes("without mapping, by position"), Yes("renaming keeps it");
    PARTITIONING_PARTITION_TRANSFORMS = "Partitioning, partition transforms", &["iceberg/src/spec/partition.rs", "iceberg/src/transform"], &["p_v*", "pevo_v2_three_specs", "edit_unknown_transform"], Yes("all; unknown transforms are not used \
        for pruning"), Yes("all; unknown transforms refused");
    SORTING = "Sorting", &["iceberg/src/spec/sort.rs"], &["write_sort_order_evolved", "tests/interop/test_java_reads.py"], Yes("the order of files is not used"), Yes("rows of each file; `sort_order_id`");
    MANIFESTS_MANIFEST_LISTS = "Manifests, manifest lists", &["iceberg/src/spec/manifest.rs", "iceberg/src/spec/manifest_list.rs", "core/src/avro"], &["scn_*", "maint_rewrite_manifests_sorted"], Yes("by field id; inheritance"), Yes("appended, filtered, merged");
    SCAN_PLANNING = "Scan planning", &["iceberg/src/scan"], &["scn_*"], Yes(""), Yes("used by row-level operations");
    SNAPSHOTS_REFERENCES = "Snapshots, references", &["iceberg/src/spec/snapshot.rs"], &["ref_*"], Yes(""), Yes("");
    ROW_LINEAGE = "Row lineage", &["iceberg/src/scan/output.rs"], &["lineage_*"], Yes(""), Yes("`first_row_id`; ids kept by updates and merges");
    POSITION_DELETE_FILES = "Position delete files", &["iceberg/src/deletes/position.rs"], &["del_pos_*"], Yes("Parquet, ORC, Avro"), Yes("v2, Parquet; by file or partition");
    DELETION_VECTORS_PUFFIN = "Deletion vectors, Puffin", &["iceberg/src/deletes/vector.rs", "iceberg/src/puffin.rs", "core/src/bitmap"], &["dv_*", "scn_two_dvs_one_commit"], Yes("also the bare form"), Yes("v3; merged with older deletes of the file");
    EQUALITY_DELETE_FILES = "Equality delete files", &["iceberg/src/deletes/equality.rs"], &["del_eq_*"], Yes(""), No("equality deletes are not written; \
        existing ones are kept");
    SINGLE_VALUE_SERIALIZATION = "Single-value serialization, appendix D", &["iceberg/src/spec/single_value.rs", "iceberg/src/spec/value_json.rs"], &["p_v*"], Yes(""), Yes("");
    VARIANTS_PARQUET_SPECIFICATION = "Variants (Parquet specification)", &["core/src/variant"], &["variant_*"], Yes("plain and shredded"), Yes("plain, into Parquet");
    STATISTICS_FILES = "Statistics files", &["iceberg/src/puffin.rs"], &["stats_*"], Yes("listed, not used"), Yes("kept");
    ENCRYPTION = "Encryption", &[], &["tests/behavior/test_data_files.py"], No("encrypted tables are not read"), No("encrypted tables are not written");
    VIEWS = "Views", &[], &["tests/catalog/test_conformance.py"], No("this is the metadata of a view, not of a table"), No("views are not written");
}

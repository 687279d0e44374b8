"""The demonstration of `make demo`: reads tables that Java engines wrote, without these engines.

The Iceberg tables have position deletes, deletion vectors, equality deletes and an evolved partition spec. Paimon is
represented by a primary-key table whose files are merged, its snapshots, a tag and its changes. All are read in Python,
then in PySpark, along with a table that Spark SQL creates and fills. The demonstration ends with a separate lake. A
table is created, filled, merged into, deleted from, read at earlier snapshots and rolled back; and a Paimon table is
upserted into and compacted.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import frazil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from frazil.iceberg import Table, WriteResult

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
ICEBERG_TABLES = [
    ("position deletes", "del_pos_file_parquet_part", "id > 4", ("id", "c", "v")),
    ("deletion vectors", "dv_spark_parquet_part", "id in (1, 5)", ("id", "c", "v")),
    ("equality deletes, including NULL keys", "del_eq_null_keys", "id <= 2", ("id", "c", "v")),
    ("an evolved partition spec: by day, hour, bucket", "pevo_v2_three_specs", "ts < '1969-12-31T23:00:00'",
     ("id", "cat", "amount", "ts")),
]  # fmt: skip
CHANGED_TABLE = "paimon/g.db/cl_lookup_avro"
"""A Paimon table with a key, updates, deletes and a changelog."""
TAGGED_TABLE = "paimon/g.db/branches_pk"
"""A Paimon table with a tag and branches."""
SHOWN_ROWS = 5
EARLY_SNAPSHOT = 2
STATEMENTS = """
CREATE TABLE local.db.table (id bigint, data string) USING iceberg;
INSERT INTO local.db.table VALUES (1, 'a');
INSERT INTO local.db.table VALUES (2, 'b');
"""
MERGE = """
MERGE INTO local.db.table AS t
USING (SELECT id, concat('new ', id) AS data FROM range(1, 5)) AS s ON t.id = s.id
WHEN MATCHED AND s.id = 1 THEN DELETE
WHEN MATCHED THEN UPDATE SET data = concat(t.data, ', ', s.data)
WHEN NOT MATCHED THEN INSERT *
"""


def main() -> None:
    """Show every table, then the same tables through Spark."""
    print(f"frazil {frazil.__version__}, Python {sys.version.split()[0]}\n")
    counts = {
        f"iceberg/{name}": show_iceberg(title, name, row_filter, columns)
        for title, name, row_filter, columns in ICEBERG_TABLES
    }
    counts[CHANGED_TABLE] = show_changes()
    counts[TAGGED_TABLE] = show_tags()
    show_spark(counts)
    show_lake()
    show_upserts()
    show_changelog()
    show_administration()


def show_iceberg(title: str, name: str, row_filter: str, columns: tuple[str, ...]) -> int:
    """Print a table, some rows and the effect of pruning; return the number of rows."""
    table = frazil.load_table(GOLDEN / "iceberg" / name)
    print(f"--- Iceberg: {title}\n{table!r}")
    start = time.perf_counter()
    rows = table.scan(selected_fields=columns).to_arrow()
    print(f"{rows.num_rows} rows in {(time.perf_counter() - start) * 1000:.0f} ms, the first {SHOWN_ROWS}:")
    print_rows(rows.slice(0, SHOWN_ROWS))
    filtered = table.scan(row_filter)
    print(f"where {row_filter}: {filtered.count()} rows")
    print(f"plan: {filtered.explain()}\n")
    return int(rows.num_rows)


def show_changes() -> int:
    """Print the files that a Paimon table merges, an earlier state, and the changes since; return the row count."""
    table = frazil.load_table(GOLDEN / CHANGED_TABLE, format="paimon")
    print(f"--- Paimon: a primary key, updates, deletes and a changelog\n{table!r}")
    print("snapshots:", ", ".join(f"{snapshot.snapshot_id} {snapshot.operation}" for snapshot in table.snapshots()))
    scan = table.scan()
    print(f"snapshot {scan.snapshot_id} is read from:")
    for split in scan.plan_files():
        print(f"    {split!r}")
        for file in split.files:
            print(f"        level {file.level}: {file.row_count} records, {file.file_format}")
    start = time.perf_counter()
    rows = scan.to_arrow()
    print(f"{rows.num_rows} rows in {(time.perf_counter() - start) * 1000:.0f} ms:")
    print_rows(rows)
    print(f"snapshot_id={EARLY_SNAPSHOT}:")
    print_rows(table.scan(snapshot_id=EARLY_SNAPSHOT).to_arrow())
    between = f"{EARLY_SNAPSHOT},{scan.snapshot_id}"
    changes = table.scan(selected_fields=("*", "_ROW_KIND"), options={"incremental-between": between}).to_arrow()
    print(f"incremental-between {between}: {changes.num_rows} changes, the first {SHOWN_ROWS}:")
    print_rows(changes.slice(0, SHOWN_ROWS))
    print()
    return int(rows.num_rows)


def show_tags() -> int:
    """Print the row counts of a Paimon table in its tags and branches; return the current row count."""
    table = frazil.load_table(GOLDEN / TAGGED_TABLE, format="paimon")
    print(f"--- Paimon: tags and branches\n{table!r}")
    for kind, name in [("tag", name) for name in table.tags()] + [("branch", name) for name in table.branches()]:
        print(f"ref={name!r}, a {kind}: {table.scan(ref=name).count()} rows")
    rows = table.scan().count()
    print(f"now: {rows} rows\n")
    return rows


def show_lake() -> None:
    """Create a table in a lake, change it, read earlier snapshots, and roll it back."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("city", pa.string()), ("at", pa.timestamp("us"))])
    day = dt.datetime(2024, 2, 29, 12)  # noqa: DTZ001 - a timestamp without a zone
    with tempfile.TemporaryDirectory() as folder:
        catalog = frazil.load_catalog("local", path=f"{folder}/lake")
        catalog.create_namespace("demo")
        modes = {f"write.{operation}.mode": "merge-on-read" for operation in ("delete", "merge")}
        table = catalog.create_table("demo.trips", schema, partition_by=["day(at)"], properties=modes, format_version=3)
        print(f"--- a lake in a folder: {table!r}")
        rows = [{"id": i, "city": "Oslo", "at": day + dt.timedelta(hours=6 * i)} for i in range(8)]
        print("append:", told(table.append(rows)))
        news = pa.table({"id": [1, 3, 99], "city": ["Bergen", "Tromsø", "Bodø"], "at": [day] * 3})
        merged = (
            table.merge(news, on="target.id = source.id")
            .when_matched_update({"city": "source.city"})
            .when_not_matched_insert_all()
            .execute()
        )
        print("merge: ", told(merged))
        print("delete:", told(table.delete("city = 'Oslo' and id >= 6")))
        print_rows(table.scan(selected_fields=("id", "city", "at", "_row_id")).to_arrow().sort_by("id"))
        first, second, third = table.snapshots()
        counts = [table.scan(snapshot_id=s.snapshot_id).count() for s in (first, second, third)]
        print(f"rows in each of its {len(counts)} snapshots: {counts}")
        show_history(table, first.snapshot_id)
        table.manage_snapshots().rollback_to_snapshot(second.snapshot_id).commit()
        reopened = catalog.load_table("demo.trips")
        print(f"rolled back to before the delete: {reopened.scan().count()} rows")


def show_history(table: Table, first: int) -> None:
    """Show the changes since a snapshot, and the snapshots and files of the table."""
    print("changes since the first snapshot:")
    changes = table.changes(first, compute_updates=True, selected_fields=("id", "city")).to_arrow()
    order = [("_change_ordinal", "ascending"), ("id", "ascending")]
    print_rows(changes.drop_columns("_commit_snapshot_id").sort_by(order))
    print("its snapshots and files, from table.inspect:")
    print_rows(table.inspect.snapshots(selected_fields=["snapshot_id", "operation"]))
    print_rows(table.inspect.files(selected_fields=["content", "partition", "record_count", "file_size_in_bytes"]))


def show_upserts() -> None:
    """Upsert into a Paimon table, delete from it, and compact it; show the levels of its files."""
    with tempfile.TemporaryDirectory() as folder:
        columns = {"id": "BIGINT", "city": "STRING", "price": "DECIMAL(9, 2)"}
        table = frazil.create_table(
            f"{folder}/orders", columns, format="paimon", primary_keys=["id"], options={"bucket": "1"}
        )
        print(f"--- a Paimon table with a primary key: {table!r}")
        for rows in (
            [{"id": number, "city": city, "price": number} for number, city in enumerate(["Oslo", "Bergen", "Tromsø"])],
            [{"id": 1, "city": "Bergen", "price": 9}, {"id": 2, "_ROW_KIND": "-D"}],
        ):
            result = table.append(rows)
            print(f"append: snapshot {result.snapshot_id}, {result.added_records} records, {result.added_bytes} bytes")
        print_rows(table.scan().to_arrow().sort_by("id"))
        levels = ["level", "record_count", "deleteRowCount", "min_sequence_number"]
        print_rows(table.inspect.files(selected_fields=levels))
        compacted = table.compact()
        print(f"compact: {compacted.removed_files} files replaced by {compacted.added_files}")
        print_rows(table.inspect.files(selected_fields=levels))
        counts = [table.scan(snapshot_id=snapshot.snapshot_id).count() for snapshot in table.snapshots()]
        print(f"rows in each of its {len(counts)} snapshots: {counts}")


def show_changelog() -> None:
    """Upsert into a Paimon table whose compactions look up what changes, and print the changes."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"bucket": "1", "changelog-producer": "lookup", "deletion-vectors.enabled": "true"}
        columns = {"id": "BIGINT", "city": "STRING", "price": "DECIMAL(9, 2)"}
        table = frazil.create_table(f"{folder}/t", columns, format="paimon", primary_keys=["id"], options=options)
        print("--- a Paimon table with a changelog and deletion vectors")
        table.append([{"id": number, "city": ["Oslo", "Bergen", "Tromsø"][number % 3]} for number in range(1000)])
        read = table.snapshots()[-1].snapshot_id
        table.append([{"id": 1, "city": "Bergen", "price": 9}, {"id": 2, "_ROW_KIND": "-D"}])
        print_rows(table.changes(read, selected_fields=("id", "city", "price")).to_arrow())
        print_rows(table.inspect.files(selected_fields=["level", "record_count"]))
        print_rows(table.inspect.table_indexes(selected_fields=["index_type", "row_count"]))


def show_administration() -> None:
    """Change and tag a Paimon table, roll it back, and expire its partitions and snapshots."""
    with tempfile.TemporaryDirectory() as folder:
        columns = {"id": "BIGINT", "day": "STRING"}
        table = frazil.create_table(f"{folder}/t", columns, format="paimon", partition_keys=["day"])
        print("--- a Paimon table is changed, tagged, rolled back and expired")
        table.append([{"id": number, "day": day} for number, day in enumerate(["2020-01-31", "2999-01-31"] * 3)])
        table.manage_snapshots().create_tag(None, "loaded").commit()
        print(f"delete: {told(table.delete('id > 3'))}")
        print(f"update: {told(table.update({'id': 'id + 100'}, 'id = 1'))}")
        rolled_back = table.rollback_to(tag="loaded").apply()
        print(f"rollback_to: snapshots {rolled_back.deleted_snapshot_ids} deleted, {table.scan().count()} rows again")
        print(f"expire_partitions: {table.expire_partitions('30 d').apply().partitions}")
        expired = table.expire_snapshots("2100-01-01T00:00:00Z", retain_min=1).apply()
        print(f"expire_snapshots: {expired.snapshot_ids}; the tag still has {table.scan(ref='loaded').count()} rows")


def told(result: WriteResult) -> str:
    """Describe the result of a write."""
    rows = f"{result.inserted_rows} inserted, {result.updated_rows} updated, {result.deleted_rows} deleted"
    return f"{rows}; {result.added_files} data files and {result.added_delete_files} delete files added"


def print_rows(rows: pa.Table) -> None:
    """Print rows in aligned columns."""
    texts = [rows.column_names, *([str(value) for value in row.values()] for row in rows.to_pylist())]
    widths = [max(len(row[at]) for row in texts) for at in range(rows.num_columns)]
    for row in texts:
        print("   ", "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def show_spark(counts: dict[str, int]) -> None:
    """Read the same tables with the Spark data source, and compare."""
    from pyspark.sql import SparkSession

    print("--- the same tables through PySpark: spark.read.format('frazil')")
    # Spark finds no Python data source if PYSPARK_PYTHON contains a space, so it is set to a name on the PATH.
    folder, os.environ["PYSPARK_PYTHON"] = os.path.split(sys.executable)
    os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])
    with tempfile.TemporaryDirectory() as warehouse:
        builder = SparkSession.builder.master("local[2]").appName("frazil demo").config("spark.ui.enabled", "false")
        builder = (
            builder.config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", warehouse)
            .config("spark.log.level", "ERROR")
        )
        spark = builder.getOrCreate()
        try:
            for name, expected in counts.items():
                frame = spark.read.format("frazil").option("path", str(GOLDEN / name)).load()
                found = frame.count()
                print(f"{name}: {found} rows")
                if found != expected:
                    sys.exit(f"error: Spark reads {found} rows from {name}, but Python reads {expected}")
            frame = spark.read.format("frazil").option("path", str(GOLDEN / CHANGED_TABLE)).load()
            frame.orderBy(*frame.columns[:1]).show()
            show_statements(spark, warehouse)
        finally:
            spark.stop()


def show_statements(spark: SparkSession, folder: str) -> None:
    """Create, fill and read an Iceberg table with Spark SQL; print its files."""
    import frazil.spark

    print("--- Spark SQL without jars: frazil.spark.connect(spark, catalogs)")
    lake = frazil.spark.connect(spark, {"local": {"type": "hadoop", "warehouse": f"{folder}/lake"}})
    lake.script(STATEMENTS)
    lake.sql("SELECT * FROM local.db.table ORDER BY id").show()
    lake.sql("CREATE TABLE local.db.doubled PARTITIONED BY (data) AS SELECT id * 2 AS id, data FROM local.db.table")
    lake.sql("INSERT OVERWRITE local.db.doubled PARTITION (data = 'a') SELECT id FROM range(10, 12)")
    lake.sql("SELECT * FROM local.db.doubled ORDER BY id").show()
    print("MERGE INTO local.db.table: update, delete and insert rows in one snapshot")
    lake.sql(MERGE)
    lake.sql("SELECT * FROM local.db.table ORDER BY id").show()
    print(lake.last)
    for path in sorted(Path(folder, "lake", "db", "table").rglob("*.*")):
        print("   ", path.relative_to(folder))


if __name__ == "__main__":
    main()

"""Write the rows that DuckDB reads from Iceberg tables to Arrow files.

This script requires an interpreter with DuckDB and its extensions `avro` and `iceberg` from the Python registry, in
matching releases: `duckdb_reader.py OUT TABLE...` writes `OUT/<name>.arrow`, or `OUT/<name>.error`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
import pyarrow as pa


def main(out: Path, tables: list[Path]) -> None:
    """Read each table."""
    duck = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    duck.execute("set timezone = 'UTC'")
    for package in (duckdb_extension_avro, duckdb_extension_iceberg):
        binary = next(Path(package.__path__[0]).rglob("*.duckdb_extension"))
        duck.execute(f"load '{binary}'")
    for table in tables:
        try:
            rows = duck.execute(f"select * from iceberg_scan('{table}')").to_arrow_table()  # noqa: S608
        except duckdb.Error as error:
            (out / f"{table.name}.error").write_text(str(error))
            continue
        with pa.OSFile(str(out / f"{table.name}.arrow"), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as file:
            file.write_table(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(table) for table in sys.argv[2:]])

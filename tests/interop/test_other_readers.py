"""Tests that PyIceberg and DuckDB read frazil's tables, as far as they support them."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.exceptions import ResolveError
from pyiceberg.table import StaticTable

from support.cases import REPOSITORY
from support.written import CHOSEN, Written, compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.iceberg import Table

READER = REPOSITORY / "tests" / "support" / "duckdb_reader.py"
DUCKDB = os.environ.get("FRAZIL_DUCKDB")
"""A Python interpreter with DuckDB and its Iceberg extensions, which `make interop` installs."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("written", CHOSEN, ids=lambda written: written.identifier)
def test_pyiceberg_reads_written_tables(made: Callable[[Written], Table], written: Written) -> None:
    table = made(written)
    scan = StaticTable.from_metadata(table.metadata_location).scan()
    message = written.refused("pyiceberg")
    if message:
        with pytest.raises((ValueError, ResolveError), match=message):
            scan.to_arrow()
        return
    compare(scan.to_arrow(), table.scan().to_arrow(), wrong=written.known("pyiceberg"))


@pytest.mark.skipif(not DUCKDB, reason="FRAZIL_DUCKDB names no interpreter that has DuckDB's extension for Iceberg")
def test_duckdb_reads_written_tables(made: Callable[[Written], Table], warehouse: Path, tmp_path: Path) -> None:
    tables = {written: made(written) for written in CHOSEN}
    folders = [str(warehouse / "db" / written.identifier) for written in tables]
    subprocess.run([str(DUCKDB), "-I", str(READER), str(tmp_path), *folders], check=True)  # noqa: S603
    for written, table in tables.items():
        message = written.refused("duckdb")
        if message:
            assert message in (tmp_path / f"{written.identifier}.error").read_text()
            continue
        with pa.OSFile(str(tmp_path / f"{written.identifier}.arrow")) as file:
            compare(pa.ipc.open_file(file).read_all(), table.scan().to_arrow())

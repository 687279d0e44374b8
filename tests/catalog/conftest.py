"""Fixtures for warehouses of the golden tables in this repository."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.servers import Servers

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parents[1] / "golden" / "iceberg"


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Isolate the tests from the configuration of this machine."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for variable in os.environ:
        if variable.upper().startswith(("FRAZIL_CATALOG", "PYICEBERG_", "FRAZIL_HOME")):
            monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Create a warehouse with the tables `sales.orders`, `sales.eu.orders`, `top`, and an empty namespace."""
    root = tmp_path / "warehouse"
    for name, golden in (
        ("sales/orders", "del_pos_file_parquet_part"),
        ("sales/eu/orders", "inc_mor"),
        ("sales/eu/odd name", "hadoop_gz_no_hint"),
        ("top", "empty_table"),
    ):
        shutil.copytree(GOLDEN / golden, root / name)
    (root / "empty").mkdir()
    (root / "notes.txt").write_text("no namespace")
    (root / ".hidden").mkdir()
    return root


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Start database servers for this process, which stop after the last test."""
    made = Servers()
    yield made
    made.stop()

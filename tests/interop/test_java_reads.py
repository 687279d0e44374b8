"""Tests that Iceberg (Java) reads what frazil writes: every row, value and id, and consistent metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.java_checks import check_metadata, check_rows
from support.written import CHOSEN, Written

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.iceberg import Table
    from support.java import Java


@pytest.mark.parametrize("written", CHOSEN, ids=lambda written: written.identifier)
def test_java_reads_written_tables(java: Java, made: Callable[[Written], Table], written: Written) -> None:
    table = made(written)
    name = f"java.db.{written.identifier}"
    check_rows(java, table, name, signs=not written.known("java"))
    check_metadata(java, table, name)

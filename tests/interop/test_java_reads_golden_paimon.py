"""Tests in which frazil writes and compacts golden Paimon tables, and Java reads the same rows."""

from __future__ import annotations

import contextlib
import shutil
import warnings
from typing import TYPE_CHECKING

import pytest

import frazil
from frazil.errors import CorruptDataFileError, InvalidArgumentError, UnsupportedError
from frazil.paimon import Table
from histories.paimon.reads import MOST_ROWS, Read, Rows
from support.canonical import canonical_rows
from support.cases import golden_paimon_cases

if TYPE_CHECKING:
    from histories.paimon.oracle import Oracle
    from support.cases import PaimonCase

NOT_COMPARED = ("append_variant", "cast_bigint_to_timestamp_3")
"""Java shows variants as strings, and has years that Python does not support."""

CASES = [case for case in golden_paimon_cases() if (case.root / "schema").is_dir() and case.id not in NOT_COMPARED]


def check(oracle: Oracle, table: Table) -> None:
    [found] = oracle.read([Read()])
    ours = sorted(canonical_rows(table.refresh().scan().to_arrow()), key=repr)
    assert isinstance(found, Rows), found
    assert sorted(found.rows, key=repr) == ours


def written(table: Table) -> bool:
    """Append rows of the table to it again, and compact it; return whether either was possible.

    Tables that frazil cannot write raise an error with the reason, and so do values that no longer fit their
    column.
    """
    snapshots = []
    for write in (lambda: table.append(table.scan(limit=5).to_arrow()), table.compact):
        with contextlib.suppress(UnsupportedError, InvalidArgumentError, CorruptDataFileError):
            snapshots.append(write().snapshot_id)
    return any(snapshots)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_golden_table_can_be_written(oracle: Oracle, case: PaimonCase) -> None:
    folder = oracle.table.parent / case.id.replace("-", "_")
    shutil.copytree(case.root, folder)
    table = frazil.load_table(folder, format="paimon", relocate=case.relocate)
    assert isinstance(table, Table)
    before = sorted(path for path in folder.rglob("*") if path.is_file())
    if table.scan().count() > MOST_ROWS:
        pytest.skip("the table has more rows than Java is asked for")
    with warnings.catch_warnings():
        # The table may have options by which only Java deletes files.
        warnings.filterwarnings("ignore", "the table option", UserWarning)
        was_written = written(table)
    if not was_written:
        assert sorted(path for path in folder.rglob("*") if path.is_file()) == before
        pytest.skip("frazil does not write this table")
    assert oracle.adopt([], folder.name).rejected == ()
    check(oracle, table)

"""Tests that a session whose Python lacks frazil is rejected before Spark runs, with the setting to change."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import frazil
import frazil.spark
from frazil import errors
from support.cases import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("pyspark")

TABLE = str(GOLDEN / "iceberg" / "dv_spark_parquet_part")


class Session:
    """The attributes of a session that are checked before it runs."""

    def __init__(self, python: str) -> None:
        self.sparkContext = SimpleNamespace(pythonExec=python)

    def createDataFrame(self) -> None:  # noqa: N802 - as in Spark
        """Spark's method name, which identifies sessions."""


class Frame:
    """A DataFrame of a session."""

    def __init__(self, python: str) -> None:
        self._python = python

    @property
    def sparkSession(self) -> Session:  # noqa: N802 - as in Spark
        return Session(self._python)


USES: dict[str, Callable[[str], object]] = {
    "register": lambda python: frazil.spark.register(Session(python)),  # type: ignore[arg-type]
    "read": lambda python: frazil.spark.read(Session(python), TABLE),  # type: ignore[arg-type]
    "delete": lambda python: frazil.spark.delete(Session(python), TABLE, "id = 1"),  # type: ignore[arg-type]
    "update": lambda python: frazil.spark.update(Session(python), TABLE, {"id": 1}, "true"),  # type: ignore[arg-type]
    "merge": lambda python: frazil.spark.merge(Frame(python), TABLE, ["id"]),  # type: ignore[arg-type]
    "write": lambda python: frazil.spark.write(Frame(python), TABLE),  # type: ignore[arg-type]
}


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """Create a Python environment without installed packages."""
    script = tmp_path / "python3"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize("use", USES)
def test_error_names_a_python_without_frazil_and_the_setting_to_change(bare: str, use: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="frazil cannot be imported in Spark's Python,") as caught:
        USES[use](bare)
    text = str(caught.value)
    assert bare in text
    assert sys.executable in text
    assert 'os.environ["PYSPARK_PYTHON"] = sys.executable' in text


@pytest.mark.parametrize("python", [sys.executable, "./environment/bin/python"])
def test_this_python_and_one_that_only_workers_have_are_left_to_spark(python: str) -> None:
    from frazil.spark._worker_python import check_session

    check_session(Session(python))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: frazil.spark.read(TABLE, TABLE), "spark must be a SparkSession, not str"),  # type: ignore[arg-type]
        (lambda: frazil.spark.write(TABLE, TABLE), "frame must be a Spark DataFrame, not str"),  # type: ignore[arg-type]
        (lambda: frazil.spark.merge([{"id": 1}], TABLE, ["id"]), "source must be a Spark DataFrame"),  # type: ignore[arg-type]
    ],
)
def test_invalid_spark_arguments_are_rejected(call: Callable[[], Any], expected: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=expected):
        call()

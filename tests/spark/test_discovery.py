"""Spark imports `pyspark_frazil` when a data source is first looked up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import frazil

PACKAGES = str(Path(frazil.__file__).parents[1])


def run(code: str) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], env={"PYTHONPATH": PACKAGES}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_looking_for_a_data_source_imports_no_more_than_spark_does() -> None:
    code = (
        "import sys, pyspark.sql.datasource; before = set(sys.modules);"
        "import pyspark_frazil; print(pyspark_frazil.DefaultSource.name());"
        "print(sorted({m.partition('.')[0] for m in set(sys.modules) - before} & {'pyarrow', 'pandas', 'numpy'}))"
    )
    assert run(code) == "frazil\n[]"


def test_a_broken_installation_breaks_no_other_data_source() -> None:
    code = (
        "import sys; sys.modules['frazil._native'] = None;"
        "import pyspark_frazil; print(hasattr(pyspark_frazil, 'DefaultSource'))"
    )
    assert run(code) == "False"

"""Tests of the facts about the library: each feature is proven by a table or a test, and pages are current."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from frazil import _native
from support.cases import SHARED

ROOT = Path(__file__).parents[2]
FEATURES = {
    f"{name}: {feature.section}": feature
    for name, found in (("iceberg", _native.iceberg_features()), ("paimon", _native.paimon_features()))
    for feature in found
}
TABLES = {
    path.name
    for folder in (ROOT / "tests" / "golden", SHARED / "golden")
    for depth in ("*/*", "*/*/*")
    for path in folder.glob(depth)
    if path.is_dir()
}


@pytest.mark.parametrize("name", FEATURES)
def test_each_feature_is_proven_by_tables_or_tests(name: str) -> None:
    proof = FEATURES[name].proof
    assert proof
    missing = [
        one
        for one in proof
        if not ((ROOT / one).is_file() if one.startswith("tests/") else any(fnmatch(table, one) for table in TABLES))
    ]
    if missing and not SHARED.is_dir():
        pytest.skip(f"{missing} are in ../shared")
    assert not missing


@pytest.mark.parametrize("name", FEATURES)
def test_each_feature_is_implemented_by_modules_that_exist(name: str) -> None:
    for module in FEATURES[name].modules:
        assert any((ROOT / place).exists() or list(ROOT.glob(place)) for place in (module, f"rust/{module}")), module


def test_the_pages_are_up_to_date() -> None:
    script = ROOT / "tools" / "document_facts.py"
    run = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stdout + run.stderr

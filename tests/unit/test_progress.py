"""Tests of progress reports of writes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import frazil
from frazil import _progress as progress
from frazil.config import Config

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.table({"id": range(10)})


@pytest.fixture(autouse=True)
def _as_before() -> object:
    yield
    frazil.config.progress = None


def append(folder: Path) -> None:
    frazil.create_table(folder / "t", ROWS.schema).append(ROWS)


def test_a_function_is_told_rows_bytes_and_files(tmp_path: Path) -> None:
    told: list[tuple[int, int, int]] = []
    frazil.config.progress = lambda *done: told.append(done)
    append(tmp_path)
    rows, size, files = told[-1]
    assert (rows, files) == (10, 1)
    assert size == sum(file.stat().st_size for file in (tmp_path / "t" / "data").iterdir())


@pytest.mark.parametrize(("wish", "patience", "shown"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)])
def test_progress_line_is_shown_only_when_useful(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    wish: bool,
    patience: float,
    shown: bool,
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", patience)
    monkeypatch.setenv("FORCE_COLOR", "1")
    frazil.config.progress = wish
    append(tmp_path)
    assert ("10 rows" in capsys.readouterr().err) == shown


def test_no_progress_without_a_terminal_or_rich(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    append(tmp_path)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    frazil.config.progress = True
    append(tmp_path / "other")
    assert capsys.readouterr().err == ""


def test_non_function_setting_is_rejected() -> None:
    with pytest.raises(frazil.errors.InvalidArgumentError, match="progress must be a function"):
        Config().progress = "yes"  # type: ignore[assignment]

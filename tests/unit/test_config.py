"""Tests of settings: their sources, and invalid values."""

from __future__ import annotations

import pytest

from frazil.config import Config
from frazil.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1), ("17", 17), ("8 GiB", 8 << 30), ("8g", 8 << 30), ("1.5mb", 3 << 19), ("2 KB", 2048), ("1TiB", 1 << 40)],
)
def test_memory_is_a_number_of_bytes_or_text_with_a_unit(value: int | str, expected: int) -> None:
    settings = Config()
    settings.memory_limit = value
    assert settings.memory_limit == expected


@pytest.mark.parametrize("value", [0, -1, "", "many", "1 apple", True, 1.5, None, "-1", "1e3"])
def test_memory_limit_rejects_invalid_sizes(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match="memory_limit"):
        Config().memory_limit = value  # type: ignore[assignment]


def test_settings_start_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_MEMORY_LIMIT", "1 MiB")
    monkeypatch.setenv("FRAZIL_CACHE_BYTES", "1 KiB")
    monkeypatch.setenv("FRAZIL_ALLOWED_LOCATIONS", "s3://b/, /data")
    monkeypatch.setenv("FRAZIL_MAX_WORKERS", "3")
    settings = Config()
    assert repr(settings) == (
        "Config(memory_limit=1048576, cache_bytes=1024, allowed_locations=['s3://b/', '/data'], max_workers=3,"
        " progress=None)"
    )
    settings.max_workers = 5
    assert settings.max_workers == 5


def test_a_cache_may_be_of_no_bytes() -> None:
    settings = Config()
    assert settings.cache_bytes > 0
    settings.cache_bytes = 0
    assert settings.cache_bytes == 0
    with pytest.raises(InvalidArgumentError, match="cache_bytes"):
        settings.cache_bytes = -1


@pytest.mark.parametrize("name", ["FRAZIL_MEMORY_LIMIT", "FRAZIL_CACHE_BYTES", "FRAZIL_MAX_WORKERS"])
def test_a_wrong_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "plenty")
    with pytest.raises(InvalidArgumentError, match=name):
        getattr(Config(), name.removeprefix("FRAZIL_").lower())


def test_places_are_texts() -> None:
    settings = Config()
    settings.allowed_locations = ("s3://b/",)
    settings.allowed_locations.append("/data")
    assert settings.allowed_locations == ["s3://b/", "/data"]
    with pytest.raises(InvalidArgumentError, match="allowed_locations"):
        settings.allowed_locations = [3]  # type: ignore[list-item]


def test_defaults_fit_the_machine() -> None:
    assert Config().memory_limit >= 1
    assert Config().max_workers >= 1

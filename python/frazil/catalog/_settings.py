"""Catalog properties from configuration files and the environment.

The sources for a catalog named `prod`, in descending order of precedence:

    FRAZIL_CATALOG__PROD__S3__ACCESS_KEY_ID=...         s3.access-key-id
    .frazil.yaml         catalog: {prod: {s3.access-key-id: ...}}
    PYICEBERG_CATALOG__PROD__S3__ACCESS_KEY_ID=...
    .pyiceberg.yaml      catalog: {prod: {s3.access-key-id: ...}}

The first file found in `$FRAZIL_HOME` (or `$PYICEBERG_HOME`), the home folder and the current folder is used. In
variable names `__` represents a dot and `_` a hyphen. Neither variable names nor catalog names are case-sensitive.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frazil._extras import imported
from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PRODUCTS = (("FRAZIL", ".frazil.yaml"), ("PYICEBERG", ".pyiceberg.yaml"))


def configured_properties(name: str) -> dict[str, str]:
    """Return the properties configured for a catalog; empty if it is not configured.

    Raises:
        InvalidArgumentError: A file is not a valid configuration.
        UnsupportedError: PyYAML is not installed, and a file appears to configure the catalog.
    """
    found: dict[str, str] = {}
    for product, file_name in _PRODUCTS:
        for layer in (_from_environment(product, name), _from_file(product, file_name, name)):
            found = {**layer, **found}
    return found


def configured_names() -> list[str]:
    """Return the names of all configured catalogs, ignoring files that cannot be read."""
    names = set()
    for product, file_name in _PRODUCTS:
        prefix = f"{product}_CATALOG__"
        variables = (name.upper() for name in os.environ)
        parts = (name[len(prefix) :].lower().partition("__") for name in variables if name.startswith(prefix))
        names |= {catalog.replace("_", "-") for catalog, _, key in parts if key}
        with contextlib.suppress(InvalidArgumentError, UnsupportedError):
            names |= {str(name) for name in _catalogs(product, file_name, "")[1]}
    return sorted(names)


def _from_environment(product: str, name: str) -> dict[str, str]:
    prefix = f"{product}_CATALOG__"
    found = {}
    for variable, value in os.environ.items():
        if not variable.upper().startswith(prefix):
            continue
        catalog, _, key = variable[len(prefix) :].lower().partition("__")
        if key and catalog.replace("_", "-") == _plain(name):
            found[key.replace("__", ".").replace("_", "-")] = value
    return found


def _from_file(product: str, file_name: str, name: str) -> dict[str, str]:
    path, catalogs = _catalogs(product, file_name, name)
    for catalog, properties in catalogs.items():
        if path is not None and _plain(str(catalog)) == _plain(name):
            return dict(_flattened("", _mapping(properties, path, f"catalog.{catalog}")))
    return {}


def _catalogs(product: str, file_name: str, name: str) -> tuple[Path | None, Mapping[Any, Any]]:
    """Return the configuration file and its catalogs; `name` is the catalog being looked up."""
    path = _first_file(product, file_name)
    if path is None:
        return None, {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"the configuration file {path.absolute()} cannot be read: {type(error).__name__}"
        raise InvalidArgumentError(message, context={"file": str(path)}) from error
    return path, _mapping(_parse(text, path, name).get("catalog"), path, "catalog")


def _first_file(product: str, file_name: str) -> Path | None:
    places = [os.environ.get(f"{product}_HOME"), str(Path("~").expanduser()), "."]
    files = (Path(place) / file_name for place in places if place)
    return next((file for file in files if file.is_file()), None)


def _parse(text: str, path: Path, name: str) -> Mapping[Any, Any]:
    try:
        yaml = imported("yaml", f"{path}, which may configure catalog {name!r},")
    except UnsupportedError:
        if _plain(name) not in _plain(text):
            return {}
        raise
    try:
        parsed = yaml.safe_load(text)
    except yaml.YAMLError as error:
        # The full error would quote the file, including secrets.
        mark = getattr(error, "problem_mark", None)
        context = {"file": str(path)} | ({"line": str(mark.line + 1)} if mark else {})
        line = f" (line {mark.line + 1})" if mark else ""
        message = f"the configuration file {path.absolute()} is not valid YAML{line}"
        raise InvalidArgumentError(message, context=context) from None
    return _mapping(parsed, path, "the file")


def _mapping(value: object, path: Path, what: str) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        message = f"{what} must be a mapping in the configuration file {path.absolute()}"
        raise InvalidArgumentError(message, context={"file": str(path)})
    return value


def _flattened(prefix: str, properties: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """Yield nested mappings as dotted keys; `relocate`, whose keys are locations, stays one value."""
    for key, value in properties.items():
        name = f"{prefix}{key}"
        if (name == "relocate" and isinstance(value, dict)) or isinstance(value, list):
            yield name, json.dumps(value)
        elif isinstance(value, dict):
            yield from _flattened(f"{name}.", value)
        elif value is not None:
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")

"""Optional libraries, which frazil uses if they are installed."""

from __future__ import annotations

import importlib
from typing import Any

from frazil.errors import UnsupportedError

_EXTRA_OF = {"pyspark": "spark", "requests": "rest", "sqlalchemy": "sql", "sqlglot": "spark", "yaml": "yaml"}
_SHOWN = {
    "sqlalchemy": "SQLAlchemy",
    "pyspark": "PySpark",
    "yaml": "PyYAML",
    "polars": "Polars",
    "duckdb": "DuckDB",
    "daft": "Daft",
}


def imported(module: str, purpose: str) -> Any:
    """Return a module that is installed by a frazil extra; `purpose` describes the feature that needs it.

    Raises:
        UnsupportedError: The module is not installed; the hint contains the command to install it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        message = f"{purpose} requires {_SHOWN.get(module, module)}, which is not installed"
        hint = f"pip install 'frazil[{_EXTRA_OF.get(module, module)}]'"
        raise UnsupportedError(message, context={"module": module}, hint=hint) from None


def has_pyarrow(major: int) -> bool:
    """Return whether pyarrow has this major version or a later one."""
    import pyarrow as pa

    return int(pa.__version__.partition(".")[0]) >= major

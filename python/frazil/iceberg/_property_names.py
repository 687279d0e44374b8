"""Detection of misspelt table property names."""

from __future__ import annotations

import difflib
import warnings
from functools import cache
from typing import TYPE_CHECKING

from frazil import _native
from frazil._caller import caller_depth

if TYPE_CHECKING:
    from collections.abc import Iterable

_ICEBERG_PREFIXES = ("write.", "read.", "commit.", "history.", "format-", "schema.")
"""Keys with these prefixes are properties of Iceberg, not of users."""

_MISSPELT = 0.88
"""The `difflib` ratio from which a key with any prefix counts as misspelt: one letter in eight."""

_SIMILAR = 0.7
"""The `difflib` ratio from which a property is suggested for an unknown key with an Iceberg prefix."""


def warn_of_unknown(names: Iterable[str]) -> None:
    """Emit a `UserWarning` for each name that is probably a misspelt table property."""
    for name in names:
        if _native.table_property(name) is not None:
            continue
        is_of_iceberg = name.startswith(_ICEBERG_PREFIXES)
        known = closest(name, _SIMILAR if is_of_iceberg else _MISSPELT)
        if known is None and not is_of_iceberg:
            continue
        remedy = "it has no effect in frazil" if known is None else f"did you mean `{known}`?"
        warnings.warn(f"unknown table property `{name}`; {remedy}", UserWarning, stacklevel=caller_depth())


def closest(name: str, cutoff: float) -> str | None:
    """Return the known table property that is most similar to a name, or None.

    >>> closest("write.delet.mode", 0.7), closest("write.metadata.metrics.colum.a.b", 0.7), closest("owner", 0.88)
    ('write.delete.mode', 'write.metadata.metrics.column.a.b', None)
    """
    levels = name.lower().split(".")
    candidates = {}
    for key, depth in _known():
        # For a per-column property, the name is compared without the column.
        column = ".".join(name.split(".")[depth:]) if depth else ""
        if depth and not column:
            continue
        head = ".".join(levels[:depth]) + "." if depth else name.lower()
        matcher = difflib.SequenceMatcher(None, head, key)
        if matcher.real_quick_ratio() >= cutoff and matcher.quick_ratio() >= cutoff and matcher.ratio() >= cutoff:
            candidates[key + column] = matcher.ratio()
    return max(candidates, key=candidates.__getitem__, default=None)


@cache
def _known() -> list[tuple[str, int]]:
    """Return the known keys, each with the number of levels before the column name; 0 if not per-column."""
    return [(known.key, known.key.count(".") if known.is_of_column else 0) for known in _native.table_properties()]

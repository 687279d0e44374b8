"""Defects that are known until they are fixed, so that histories find others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from histories.types import List, Map, Simple, Struct, Type, walk

if TYPE_CHECKING:
    from collections.abc import Collection

    from histories.inputs import Source

KNOWN: Collection[str] = frozenset(
    {
        "a column with the name of a metadata column",
        "handles that are behind decide on the old state",
    }
)


def is_excluded(kind: Type, *, orc: bool) -> bool:
    """Return whether a known defect concerns a type."""
    match kind:
        case Struct(fields):
            if "structs in structs in slices" in KNOWN and any(_holds(f.type, Struct) for f in fields):
                return True
            if orc and "ORC booleans in structs" in KNOWN and any(_holds(f.type, bool) for f in fields):
                return True
            return any(is_excluded(f.type, orc=orc) for f in fields)
        case List(element):
            return is_excluded(element, orc=orc)
        case Map(key, value):
            return is_excluded(key, orc=orc) or is_excluded(value, orc=orc)
    return False


def _holds(kind: Type, what: type) -> bool:
    return any(isinstance(part, what) or (what is bool and part == Simple("boolean")) for part in walk(kind))


def without_known(source: Source, columns: Struct) -> Source:
    """Return a kind of input that no known defect concerns."""
    nested = (part for f in columns.fields if not isinstance(f.type, Simple) for part in walk(f.type))
    if (
        "dictionaries with UUIDs in nested columns" in KNOWN
        and source.kind in ("dicts", "pages")
        and Simple("uuid") in nested
    ):
        return replace(source, kind="table")
    return source

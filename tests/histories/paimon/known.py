"""What histories leave out, and which differences from Java are expected: each with its reason.

`docs/paimon.md` ("Where Java differs") says the same to users. An entry is as narrow as it can be made: what it covers
is not tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from histories.paimon.history import History
    from histories.paimon.reads import Read

# Values and tables that are not made


def comparable_key(value: Any, root: str) -> bool:
    """Return whether Java compares this value of a key, of a type with this root, as others do.

    NaN equals every key, and -0.0 equals 0.0. ORC's calendar does not have the days before 1582-10-15: Java reads
    timestamps of these days as later ones, so that keys do not ascend in the file. Nor do they where a CHAR ends with
    blanks, which ORC drops.
    """
    if root == "CHAR" and isinstance(value, str):
        return not value.endswith(" ")
    if isinstance(value, str) and "T" in value:
        return not "1582-10-05" <= value < "1582-10-15"
    return not (isinstance(value, float) and (math.isnan(value) or (value == 0 and math.copysign(1, value) < 0)))


AVRO_DIGITS = 6
"""Java's Avro writer rejects timestamps of more digits. It fails on MULTISET with a ClassCastException."""


def writable_in_avro(name: str) -> bool:
    """Return whether Avro allows the name, which Java writes as it is."""
    return name.isascii() and name.isidentifier()


def readable_in_orc(name: str) -> bool:
    """Return whether Java finds the column in an ORC file: one with a back quote in its name it reads as NULL."""
    return "`" not in name


HASHED_FUNCTIONS = frozenset(
    {"collect", "merge_map", "merge_map_with_keytime", "nested_update", "nested_partial_update"}
)
"""The elements of the results are in the order of a hash table of Java: they are compared without order."""

UNDEFINED_BETWEEN_WRITERS = (
    "two writers that started from the same state give the same sequence numbers to records of one key; Java's order "
    "of these depends on `sort-engine` and on the other keys"
)
"""Why `Concurrently` writes no key twice into a table with keys, and why a writer that stays open is its only one."""


DIFF_OF_FILES = (
    "of tables with keys Java compares only the files that differ between two states: rows may be missed or returned "
    "without a change. The difference is taken of what Java reads of both states, where they have one schema"
)
"""Why `diff` of tables with keys is not compared with Java's own. The kinds of its rows are not compared at all: those
of a state depend on whether its files were merged."""

# Differences


@dataclass(frozen=True)
class Known:
    """A difference from Java that is not a defect of frazil."""

    reason: str
    covers: Callable[[History, Read, str], bool]
    """Whether it explains a difference, of which the text is given."""


def _says(*parts: str) -> Callable[[History, Read, str], bool]:
    return lambda _history, _read, text: all(part in text for part in parts)


DIFFERENCES = (
    Known(
        "a timestamp that nanoseconds in 64 bits cannot hold is an error, because Arrow cannot hold it",
        _says("UnsupportedError", "does not fit 64 bits"),
    ),
)


def expected(history: History, read: Read, text: str) -> Known | None:
    """Return the entry that explains a difference."""
    return next((known for known in DIFFERENCES if known.covers(history, read, text)), None)

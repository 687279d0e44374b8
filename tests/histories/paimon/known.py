"""Features that histories omit, and expected differences from Java, each with its reason.

`docs/paimon.md` ("Where Java differs") documents the same for users. Each entry is as narrow as possible, because
everything that it covers is not tested.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from histories.paimon.history import History
    from histories.paimon.reads import Read

# Values and tables that are not generated


def comparable_key(value: Any, root: str) -> bool:
    """Return whether Java compares this key value, of a type with this root, as other implementations do.

    NaN equals every key, and -0.0 equals 0.0. ORC's calendar lacks the days before 1582-10-15: Java reads timestamps of
    these days as later ones, so keys in the file are not ascending. The same happens if a CHAR ends with spaces, which
    ORC drops.
    """
    if root == "CHAR" and isinstance(value, str):
        return not value.endswith(" ")
    if isinstance(value, str) and "T" in value:
        return not "1582-10-04" <= value < "1582-10-15"
    return not (isinstance(value, float) and (math.isnan(value) or (value == 0 and math.copysign(1, value) < 0)))


def comparable_sequence(value: Any) -> bool:
    """Return whether sequences with this value in one of their fields can be ordered.

    NaN ties with every number, so the next field or the order of arrival decides. Three sequences may form a cycle, and
    then the greatest one depends on which are compared first.
    """
    return not (isinstance(value, float) and math.isnan(value))


AVRO_DIGITS = 6
"""The maximum number of digits of timestamps in Java's Avro writer, which fails on MULTISET with a ClassCastException.
"""


def writable_in_avro(name: str) -> bool:
    """Return whether Avro allows the name, which Java writes unchanged."""
    return name.isascii() and name.isidentifier()


def readable_in_orc(name: str) -> bool:
    """Return whether Java finds the column columns; it reads columns with a backquote in the name as NULL."""
    return "`" not in name


HASHED_FUNCTIONS = frozenset(
    {"collect", "merge_map", "merge_map_with_keytime", "nested_update", "nested_partial_update"}
)
"""Functions whose results are in the order of a Java hash table, and are compared without order."""

UNDEFINED_BETWEEN_WRITERS = (
    "two writers that started from the same state give the same sequence numbers to records of one key; Java's order "
    "of these depends on `sort-engine` and on the other keys"
)
"""The reason why `Concurrently` writes each key of a table only once, and why an open writer is the only one."""


DIFF_OF_FILES = (
    "of tables with keys Java compares only the files that differ between two states: rows may be missed or returned "
    "without a change. The difference is taken of what Java reads of both states, where they have one schema"
)
"""The reason why `diff` of tables with keys is not compared with Java's.

The kinds of the rows are not compared at all: those of a state depend on whether its files were merged.
"""

JAVA_FAILS = (
    # Two commits of one writer compact the same files of a bucket in an append table.
    "File deletion conflicts detected",
    # A double that overflows the decimal type of its changed column is NULL, but is written as if it were not.
    "Decimal.toUnscaledLong()",
    # `collect` with `distinct` for rows of which one is NULL.
    "InternalRow.getRowKind()",
    # The bundle does not include the classes of every codec.
    "NoClassDefFoundError",
    # A compaction of an empty table.
    "EndOfScanException",
    # Retracts leave NULL, which Java cannot write to files; its readers return it if it is in files.
    "the aggregate function produced null value when retracting",
    # Keys of type BYTES cannot be looked up.
    "class [B cannot be cast to class java.lang.Comparable",
    # The function receives a retract although another column removes the whole row; the order of columns decides.
    "does not support retraction",
)
"""Errors of Java for which frazil performs the step."""

# Differences


@dataclass(frozen=True)
class Known:
    """A difference from Java that is not a bug in frazil."""

    reason: str
    covers: Callable[[History, Read, str], bool]
    """Whether the entry explains a difference with this text."""


def _says(*parts: str) -> Callable[[History, Read, str], bool]:
    return lambda _history, _read, text: all(part in text for part in parts)


def _is_diff_of_hashed(history: History, read: Read) -> bool:
    return any("incremental-between" in name for name, _ in read.options) and any(
        name.endswith(".aggregate-function") and value in HASHED_FUNCTIONS for name, value in history.options.items()
    )


def _writes_orc(history: History) -> bool:
    return any("format" in name and "orc" in value for name, value in history.create.options)


def _same_but_for_signs_of_zeros(text: str) -> bool:
    lines = [line.replace('"-0.0"', '"0.0"') for line in text.splitlines()]
    ours, theirs = (
        Counter(line.partition("{")[2] for line in lines if line.startswith(side) and "{" in line)
        for side in ("frazil", "java")
    )
    return ours == theirs != Counter()


DIFFERENCES = (
    Known(
        "a timestamp that nanoseconds in 64 bits cannot hold is an error, because Arrow cannot hold it",
        _says("UnsupportedError", "does not fit 64 bits"),
    ),
    Known(
        "what a hash table made has another order in a state that was compacted, which only some call a difference",
        lambda history, read, _text: _is_diff_of_hashed(history, read),
    ),
    Known(
        "Java's ORC reader returns a batch of zeros with the sign of the first one",
        lambda history, _read, text: _writes_orc(history) and _same_but_for_signs_of_zeros(text),
    ),
)


def expected(history: History, read: Read, text: str) -> Known | None:
    """Return the entry that explains a difference."""
    return next((known for known in DIFFERENCES if known.covers(history, read, text)), None)

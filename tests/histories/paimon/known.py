"""What histories leave out, and which differences from Java are expected: each with its reason.

`docs/paimon.md` ("Where Java differs") says the same to users. An entry is as narrow as it can be made: what it covers
is not tested.
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
        return not "1582-10-04" <= value < "1582-10-15"
    return not (isinstance(value, float) and (math.isnan(value) or (value == 0 and math.copysign(1, value) < 0)))


def comparable_sequence(value: Any) -> bool:
    """Return whether sequences with this value in one of their fields have an order.

    NaN ties with every number, so that the next field or the order of arrival decides: three sequences may be greater
    than each other in a circle, and the greatest one depends on which are compared first.
    """
    return not (isinstance(value, float) and math.isnan(value))


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

JAVA_FAILS = (
    # Two commits of one writer compact the same files of a bucket of an append table.
    "File deletion conflicts detected",
    # A double that does not fit the decimal that its column became is NULL, and is written as if it were not.
    "Decimal.toUnscaledLong()",
    # `collect` with `distinct` of rows, of which one is NULL.
    "InternalRow.getRowKind()",
    # The bundle does not have the classes of every codec.
    "NoClassDefFoundError",
    # A compaction of a table without rows.
    "EndOfScanException",
    # Retracts leave NULL, which Java's files do not hold; its readers return it where files do.
    "the aggregate function produced null value when retracting",
    # The function is asked for a retract although another column removes the whole row; the order of columns decides.
    "does not support retraction",
)
"""Errors of Java where frazil carries out the step."""

# Differences


@dataclass(frozen=True)
class Known:
    """A difference from Java that is not a defect of frazil."""

    reason: str
    covers: Callable[[History, Read, str], bool]
    """Whether it explains a difference, of which the text is given."""


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

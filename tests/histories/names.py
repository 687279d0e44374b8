"""Column names, both plain and hostile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from random import Random

PLAIN = tuple("abcdefgh")

HOSTILE = (
    "A",
    "B",
    "a.b",
    "a b",
    " ",
    "it's",
    'q"q',
    "b`b",
    "q?",
    "ä",
    "日本",
    "🎉",
    "select",
    "null",
    "true",
    "date",
    "nan",
    "order",
    "target",
    "source",
    "element",
    "key",
    "value",
    "x/y",
    "x=y",
    "%41",
    "1",
    "-1",
    "a-b",
    "$c",
    "count(*)",
    "*",
    "\\",
    "_",
    "__index_level_0__",
    "file_path",
    "pos",
    "n\u0301",
    "a" * 80,
)

RESERVED = ("_pos", "_file", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number")


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def path_sql(path: tuple[str, ...]) -> str:
    """Return a path of names as SQL identifiers."""
    return ".".join(quoted(name) for name in path)


def _is_ambiguous(name: str, taken: Collection[str]) -> bool:
    """Return whether a filter could confuse the name with a path into another column."""
    return any(one.startswith(f"{other}.") for known in taken for one, other in ((name, known), (known, name)))


def new_name(random: Random, taken: Collection[str], hostile: float, reserved: tuple[str, ...] = ()) -> str:
    """Return an unused name, which is hostile with this probability."""
    choices = (*HOSTILE, *reserved) if random.random() < hostile else PLAIN
    free = [name for name in choices if name not in taken and not _is_ambiguous(name, taken)]
    return random.choice(free) if free else next(f"c{i}" for i in range(10**6) if f"c{i}" not in taken)


def is_plain(name: str) -> bool:
    """Return whether a name needs no quotes."""
    return (
        name.isascii()
        and name.isidentifier()
        and name.lower() not in ("select", "null", "true", "date", "nan", "order")
    )

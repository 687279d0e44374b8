"""Metadata columns in queries: columns of each table that `*` does not include, as in the connectors of Java."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from frazil.sql._lexer import unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil.sql._sources import Source

__all__ = ["PLACES", "Place", "metadata_columns", "used_names", "without_stars"]

Place = Literal["file", "position", "bucket", "partition"]
"""The path of the data file of a row, the position of the row in the file, its bucket, or its partition."""

PLACES: dict[str, Place] = {
    "__paimon_file_path": "file",
    "__paimon_row_index": "position",
    "__paimon_partition": "partition",
    "__paimon_bucket": "bucket",
}
"""The columns of Paimon's connector with the place of a row, and what each contains."""

_NAMES = {
    "iceberg": ("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"),
    "paimon": ("_ROW_KIND", "_SEQUENCE_NUMBER", "_ROW_ID", *PLACES),
}
_KNOWN = frozenset(name.lower() for names in _NAMES.values() for name in names)


def used_names(table: Any, own: Any) -> tuple[frozenset[str], tuple[int | None, ...]]:
    """Return the metadata columns that a SELECT reads of a table, in lower case, and the ends of its stars.

    Args:
        table: The node of the table in the tree of sqlglot.
        own: The node of its SELECT; None if there is none.
    """
    if own is None:
        return frozenset(), ()
    alias, is_alone = table.alias_or_name.lower(), not own.args.get("joins")
    found = set()
    for node in own.walk():
        if type(node).__name__ != "Column":
            continue
        first, *others = (part.name.lower() for part in node.parts)
        is_inner = node.find_ancestor(type(own)) is not own
        if first == alias and others and others[0] in _KNOWN:
            found.add(others[0])
        elif first in _KNOWN and is_alone and not is_inner:
            found.add(first)
    return frozenset(found), tuple(_stars(own, alias)) if found else ()


def _stars(own: Any, alias: str) -> Iterator[int | None]:
    for node in own.expressions:
        star = node.this if type(node).__name__ == "Column" else node
        if type(star).__name__ == "Star" and node.text("table").lower() in ("", alias):
            end = star.meta.get("end")
            yield None if end is None or star.args.get("except_") or star.args.get("except") else end + 1


def metadata_columns(source: Source, used: frozenset[str]) -> tuple[str, ...]:
    """Return the metadata columns to read: those that the query uses and the table does not have as own columns."""
    table_format = getattr(source.table, "format", None)
    if not used or source.metadata_table is not None or table_format not in _NAMES:
        return ()
    if not hasattr(source.table, "append"):
        return ()
    taken = {name.lower() for name in source.table.scan().schema().names}
    if not _partition_keys(source.table):
        taken.add("__paimon_partition")
    return tuple(name for name in _NAMES[table_format] if name.lower() in used - taken)


def _partition_keys(table: Any) -> list[str]:
    return list(table.partition_keys) if table.format == "paimon" else []


def without_stars(source: Source, stars: Sequence[int | None], text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield the edits by which stars do not include the metadata columns of a table.

    Args:
        source: The table.
        stars: The ends of the stars, as returned by `used_names`.
        text: The statement.
        start: The position of the name of the table.

    Raises:
        UnsupportedError: The position of a star is not known, or it has a list of columns already.
    """
    if not source.metadata:
        return
    names = ", ".join(f"`{name}`" for name in source.metadata)
    for end in stars:
        if end is None:
            problem = f"`*` is not supported together with the metadata column {names}"
            raise unsupported(text, start, problem, "name the columns")
        yield end, end, f" EXCEPT ({names})"

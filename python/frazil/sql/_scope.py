"""The columns in clauses of MERGE for rows of one side only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._extras import imported
from frazil.sql._lexer import invalid
from frazil.sql._row_targets import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil.sql._reader import Text
    from frazil.sql._run import Run
    from frazil.sql._statements import When

__all__ = ["qualified"]

_SIDES: dict[When, tuple[str, str]] = {
    "not_matched": ("WHEN NOT MATCHED", "source"),
    "not_matched_by_source": ("WHEN NOT MATCHED BY SOURCE", "table"),
}


def qualified(
    part: Text,
    own: Sequence[str],
    other: Sequence[str],
    columns: tuple[Sequence[str], Sequence[str]],
    when: When,
    run: Run[Any],
) -> Iterator[tuple[int, int, str]]:
    """Return the qualifiers to insert before columns that both sides have, as edits.

    Args:
        part: An expression of the clause.
        own: The name of the side whose columns can be used.
        other: The name of the other side.
        columns: The columns of both sides, in the same order.
        when: The kind of the clause.
        run: The statement.

    Raises:
        InvalidArgumentError: The expression uses a column of the other side.
    """
    sqlglot = imported("sqlglot", "an expression in Spark SQL")
    try:
        [parsed] = sqlglot.parse(f"SELECT {part.text}", read="spark")
    except (sqlglot.errors.SqlglotError, ValueError, RecursionError):
        return  # Spark reports what is wrong, or that a name is ambiguous.
    clause, side = _SIDES[when]
    for column in parsed.find_all(sqlglot.exp.Column):
        parts = column.parts
        start = parts[0].meta.get("start")
        if start is None or _is_inner(column, parsed):
            continue
        start += part.start - len("SELECT ")
        names = [one.name for one in parts]
        if _has_qualifier(names, own):
            continue
        # The parts after the name of a column are fields of structs.
        in_own, in_other = (bool(named(of_side, names[0], run)) for of_side in columns)
        if _has_qualifier(names, other) or (in_other and not in_own):
            problem = f"{clause} can only use columns of the {side}, not `{'.'.join(names)}`"
            raise invalid(run.text, start, problem)
        if in_own and in_other:
            quoted = own[-1].replace("`", "``").replace("{", "{{").replace("}", "}}")
            yield start, start, f"`{quoted}`."


def _has_qualifier(names: Sequence[str], table: Sequence[str]) -> bool:
    """Return whether the first parts of a column are the last parts of the name of a table."""
    column, name = ([part.lower() for part in parts] for parts in (names, table))
    return any(column[:count] == name[-count:] for count in range(1, len(column)))


def _is_inner(column: Any, whole: Any) -> bool:
    """Return whether a name may be a column of a subquery or the parameter of a lambda function."""
    node = column.parent
    while node is not whole:
        kind = type(node).__name__
        if kind in ("Select", "Subquery", "SetOperation", "Union", "Except", "Intersect"):
            return True
        if kind == "Lambda" and column.parts[0].name.lower() in {one.name.lower() for one in node.expressions}:
            return True
        node = node.parent
    return False

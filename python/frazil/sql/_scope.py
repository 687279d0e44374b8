"""The columns in conditions and clauses of MERGE that concern one side only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._extras import imported
from frazil.sql._lexer import Lexed, invalid
from frazil.sql._narrow import conjuncts, equalities
from frazil.sql._reader import Reader
from frazil.sql._row_targets import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil.sql._narrow import Condition
    from frazil.sql._reader import Text
    from frazil.sql._run import Run
    from frazil.sql._statements import When

__all__ = ["Sides", "has_subquery", "qualified"]

_TARGET, _SOURCE = 0, 1

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
        names = [one.name for one in parts]
        if start is None or _is_inner(column, parsed):
            if _has_qualifier(names, other) and named(columns[0], names[0], run.engine):
                # Without the other side, this would be a field of a column.
                problem = f"{clause}: the name `{'.'.join(names)}` in a subquery is ambiguous"
                raise invalid(run.text, part.start, problem, f"qualify it with the name of the {side}")
            continue
        start += part.start - len("SELECT ")
        if _has_qualifier(names, own):
            continue
        # The parts after the name of a column are fields of structs.
        in_own, in_other = (bool(named(of_side, names[0], run.engine)) for of_side in columns)
        if _has_qualifier(names, other) or (in_other and not in_own):
            problem = f"{clause} can only use columns of the {side}, not `{'.'.join(names)}`"
            raise invalid(run.text, start, problem)
        if in_own and in_other:
            quoted = own[-1].replace("`", "``").replace("{", "{{").replace("}", "}}")
            yield start, start, f"`{quoted}`."


def has_subquery(part: Text) -> bool:
    """Return whether an expression may contain a subquery, whose names only Spark can resolve."""
    return any(token.is_word("SELECT", "FROM", "TABLE", "VALUES") for token in Lexed(part.text).significant)


class Sides:
    """The target and the source of a MERGE, whose columns ON compares."""

    def __init__(
        self, target: Sequence[str], source: Sequence[str], columns: tuple[Sequence[str], Sequence[str]], run: Run[Any]
    ) -> None:
        """Keep the names of both sides, and their columns in the same order."""
        self._names, self._columns, self._run = (target, source), columns, run

    def conditions_of_target(self, on: Text) -> tuple[Condition, ...]:
        """Return the simple conditions of ON that concern only columns of the target."""
        return conjuncts(on.text, lambda parts: self._column(parts, _TARGET) is not None)

    def equal_columns(self, on: Text) -> dict[str, str]:
        """Return the columns of the target that must equal a column of the source, with the first such column."""
        found: dict[str, str] = {}
        for target, source in self._equal_pairs(on):
            found.setdefault(target, source)
        return found

    def is_equal(self, column: str, text: str, on: Text) -> bool:
        """Return whether an expression is a column of the source that a column of the target must equal."""
        reader = Reader(text)
        first = reader.peek()
        if first is None or not first.is_name:
            return False
        source = self._column(reader.name("a column").parts, _SOURCE)
        return source is not None and reader.at_end and (column, source) in self._equal_pairs(on)

    def _equal_pairs(self, on: Text) -> Iterator[tuple[str, str]]:
        for pair in equalities(on.text):
            for one, other in (pair, pair[::-1]):
                target, source = self._column(one, _TARGET), self._column(other, _SOURCE)
                if target is not None and source is not None:
                    yield target, source

    def _column(self, parts: Sequence[str], side: int) -> str | None:
        """Return the column of a side that a name in ON refers to; None if it may be of the other side."""
        own, other = self._names[side], self._names[1 - side]
        qualifier = [part.lower() for part in parts[:-1]]
        if qualifier:
            is_own = qualifier == [part.lower() for part in own[-len(qualifier) :]]
            is_own = is_own and not _has_qualifier(parts, other)
        else:
            is_own = not named(self._columns[1 - side], parts[-1], self._run.engine)
        found = named(self._columns[side], parts[-1], self._run.engine) if is_own else []
        return found[0] if len(found) == 1 else None


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

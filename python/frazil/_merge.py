"""The definition of an UPDATE or a MERGE, clause by clause."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, NamedTuple, NoReturn, TypeVar

from frazil import _native
from frazil._arguments import field_names, optional_text, text
from frazil._literal import SqlText, lit
from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from frazil._literal import Value

Result = TypeVar("Result")


class When(StrEnum):
    """The rows that a clause applies to."""

    MATCHED = "matched"
    NOT_MATCHED = "not_matched"
    NOT_MATCHED_BY_SOURCE = "not_matched_by_source"


class Action(StrEnum):
    """The action of a clause on its rows."""

    UPDATE = "update"
    UPDATE_ALL = "update_all"
    DELETE = "delete"
    INSERT = "insert"
    INSERT_ALL = "insert_all"


class Assignment(NamedTuple):
    """A column and the SQL expression for its new value."""

    column: str
    expression: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClause:
    """A WHEN clause of a MERGE."""

    when: When
    condition: str | None
    action: Action
    assignments: Sequence[Assignment] = ()
    except_columns: Sequence[str] = ()


def set_clause(values: Mapping[str, Value]) -> list[Assignment]:
    """Return SQL assignments by column; values that are not strings become literals."""
    if not isinstance(values, Mapping):
        message = f"values must be a mapping by column, as in {{'price': 'price * 2'}}, not {type(values).__name__}"  # type: ignore[unreachable]
        raise InvalidArgumentError(message)
    if not values:
        message = "the set clause is empty"
        raise InvalidArgumentError(message)
    return [
        Assignment(text("the name of a column", name), value if isinstance(value, str) else str(lit(value)))
        for name, value in values.items()
    ]


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The definition of a MERGE: how rows are matched, and its clauses."""

    on: str | list[str]
    source_alias: str
    target_alias: str
    clauses: tuple[MergeClause, ...]

    def assigns_all(self) -> bool:
        """Return whether a clause assigns each column of the source to the column of the same name."""
        all_columns = (Action.UPDATE_ALL, Action.INSERT_ALL)
        return any(clause.action in all_columns and not clause.except_columns for clause in self.clauses)

    def merger(self, target_schema: pa.Schema, source_schema: pa.Schema, *, now_us: int) -> _native.Merger:
        """Check the plan against both schemas and compile it; `now_us` is the time of the statement.

        Raises:
            InvalidArgumentError: A clause, a column or an expression is invalid.
        """
        return _native.Merger(self, target_schema, source_schema, now_us=now_us)


class MergeBuilder(Generic[Result]):
    """Collects the clauses of a MERGE; `execute` runs it.

    If several clauses of one type have a true condition for a row, the first one applies. Conditions and column values
    are SQL strings that refer to both sides by their aliases. Other Python values, and the results of `frazil.lit`, are
    literals.
    """

    _is_used = True
    """Whether another builder or the table has taken over the clauses; true if the creation of the builder failed."""

    def __reduce__(self) -> NoReturn:
        """Raise `UnsupportedError`."""
        message = "a merge cannot be pickled before it is executed; execute it in the process that created it"
        raise UnsupportedError(message)

    def __init__(
        self,
        execute: Callable[[MergePlan], Result],
        on: str | SqlText | Sequence[str],
        *,
        source_alias: str = "source",
        target_alias: str = "target",
    ) -> None:
        self._execute = execute
        self._plan = MergePlan(
            str(on) if isinstance(on, str | SqlText) else field_names(on, "on"),
            text("source_alias", source_alias),
            text("target_alias", target_alias),
            (),
        )
        self._is_used = False

    @property
    def plan(self) -> MergePlan:
        """The definition collected so far."""
        return self._plan

    def when_matched_update(
        self,
        set: Mapping[str, Value],  # noqa: A002
        condition: str | SqlText | None = None,
    ) -> MergeBuilder[Result]:
        """Set columns of matched rows."""
        return self._with(When.MATCHED, condition, Action.UPDATE, set_clause(set))

    def when_matched_update_all(
        self, condition: str | SqlText | None = None, except_columns: Iterable[str] = ()
    ) -> MergeBuilder[Result]:
        """Set every column of the source, except `except_columns`, in matched rows."""
        return self._with(When.MATCHED, condition, Action.UPDATE_ALL, except_columns=except_columns)

    def when_matched_delete(self, condition: str | SqlText | None = None) -> MergeBuilder[Result]:
        """Delete matched rows."""
        return self._with(When.MATCHED, condition, Action.DELETE)

    def when_not_matched_insert(
        self, values: Mapping[str, Value], condition: str | SqlText | None = None
    ) -> MergeBuilder[Result]:
        """Insert a row for each unmatched source row; columns without a value get their defaults."""
        return self._with(When.NOT_MATCHED, condition, Action.INSERT, set_clause(values))

    def when_not_matched_insert_all(
        self, condition: str | SqlText | None = None, except_columns: Iterable[str] = ()
    ) -> MergeBuilder[Result]:
        """Insert unmatched source rows with all their columns except `except_columns`."""
        return self._with(When.NOT_MATCHED, condition, Action.INSERT_ALL, except_columns=except_columns)

    def when_not_matched_by_source_update(
        self,
        set: Mapping[str, Value],  # noqa: A002
        condition: str | SqlText | None = None,
    ) -> MergeBuilder[Result]:
        """Set columns of table rows that match no source row."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, condition, Action.UPDATE, set_clause(set))

    def when_not_matched_by_source_delete(self, condition: str | SqlText | None = None) -> MergeBuilder[Result]:
        """Delete table rows that match no source row."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, condition, Action.DELETE)

    def execute(self) -> Result:
        """Run the merge.

        Raises:
            InvalidArgumentError: The merge has no clauses, or a clause does not fit the columns.
        """
        if not self._plan.clauses:
            message = "the merge has no clauses"
            raise InvalidArgumentError(message, hint="add a clause, such as when_matched_update_all()")
        self._is_used = True
        return self._execute(self._plan)

    def __repr__(self) -> str:
        """Return the condition and the clauses."""
        clauses = "".join(f", {clause.when} {clause.action}" for clause in self._plan.clauses)
        return f"<merge on {self._plan.on!r}{clauses}; not executed yet, call execute()>"

    def __del__(self) -> None:
        """Warn of clauses that were collected but never executed."""
        if not self._is_used and self._plan.clauses:
            warnings.warn(f"a merge was not executed: {self!r}", ResourceWarning, source=self, stacklevel=2)

    def _with(
        self,
        when: When,
        condition: str | SqlText | None,
        action: Action,
        assignments: Sequence[Assignment] = (),
        except_columns: Iterable[str] = (),
    ) -> MergeBuilder[Result]:
        excepted = field_names(except_columns, "except_columns")
        clause = MergeClause(
            when=when,
            condition=optional_text("condition", str(condition) if isinstance(condition, SqlText) else condition),
            action=action,
            assignments=assignments,
            except_columns=excepted,
        )
        plan = self._plan
        plan = MergePlan(plan.on, plan.source_alias, plan.target_alias, (*plan.clauses, clause))
        built = MergeBuilder(self._execute, plan.on, source_alias=plan.source_alias, target_alias=plan.target_alias)
        built._plan = plan
        self._is_used = True
        return built


def statement_time_us() -> int:
    """Return the time of a statement that starts now, in microseconds since the epoch.

    `current_timestamp` has this value in all rows, independent of the process that computes them.
    """
    return time.time_ns() // 1000

"""Changes of rows in the model: appends, overwrites, deletes and updates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from histories.filters import truth, typed_paths
from histories.iceberg.history import (
    MAIN,
    Append,
    Assignments,
    BadRows,
    Batch,
    Coalesce,
    Column,
    Constant,
    Delete,
    DynamicOverwrite,
    Elsewhere,
    Expression,
    Merge,
    Overwrite,
    Rewrite,
    RowStep,
    Update,
    Upsert,
)
from histories.iceberg.incoming import new_rows, stored_row
from histories.iceberg.partitions import partition_of
from histories.iceberg.state import NotApplicable, Refused, Row, Snapshot, State
from histories.types import Simple, Struct, at, value_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from histories.filters import Filter


@dataclass(frozen=True)
class Outcome:
    """The state after a step and the counts of its result; `may_fail` means that a rejection is valid too."""

    state: State
    deleted: int = 0
    updated: int = 0
    inserted: int = 0
    may_fail: bool = False


def change_rows(state: State, step: RowStep) -> Outcome:  # noqa: PLR0911 - one line for each kind
    """Return the outcome of a step that changes rows."""
    match step:
        case Append():
            return _append(state, step)
        case Overwrite():
            return _overwrite(state, step)
        case DynamicOverwrite():
            return _dynamic(state, step)
        case Delete():
            return _overwrite(state, Overwrite(step.handle, Batch(Struct(()), ()), step.where, step.branch))
        case Update():
            return _update(state, step)
        case Upsert() | Merge():
            from histories.iceberg.merging import merge, upsert

            return upsert(state, step) if isinstance(step, Upsert) else merge(state, step)
        case Elsewhere():
            return _elsewhere(state, step)
        case Rewrite():
            return _rewrite(state, step)
        case BadRows():
            raise Refused(f"{step.value!r} does not fit {step.column!r}")
    raise TypeError(step)


def _append(state: State, step: Append) -> Outcome:
    rows = new_rows(state, step.batch)
    return Outcome(_committed(state, step.branch, state.stored(step.branch), rows), inserted=len(rows))


def _committed(state: State, branch: str, kept: tuple[Row, ...], added: tuple[Row, ...]) -> State:
    lost = len(state.stored(branch)) - len(kept)
    operation = "append" if not lost else "overwrite" if added else "delete"
    snapshot = Snapshot((*kept, *added), state.columns, state.place_of(branch), operation, added)
    return state.with_snapshot(branch, snapshot)


# Deleted rows


def holding(state: State, rows: Iterable[dict[str, Any]], where: Filter | None) -> list[bool]:
    """Return the rows for which a filter holds, as booleans."""
    if where is None:
        return [True for _ in rows]
    check_filter(where, state.columns)
    return [truth(where, row) is True for row in rows]


def check_filter(where: Filter, columns: Struct) -> None:
    """Raise if a filter does not match the columns."""
    for path, kind in typed_paths(where):
        field = at(columns, path)
        if field is None or not isinstance(field.type, Simple) or (kind is not None and field.type != kind):
            raise NotApplicable(str(path))


def _overwrite(state: State, step: Overwrite) -> Outcome:
    chosen = holding(state, state.rows(step.branch), step.where)
    added = new_rows(state, step.batch)
    kept = tuple(row for row, gone in zip(state.stored(step.branch), chosen, strict=True) if not gone)
    return Outcome(_committed(state, step.branch, kept, added), deleted=sum(chosen), inserted=len(added))


def _dynamic(state: State, step: DynamicOverwrite) -> Outcome:
    added = new_rows(state, step.batch)
    stored = state.stored(step.branch)
    now = len(state.specs) - 1
    if any(row.spec != now for row in stored):
        raise NotApplicable("rows of several specs")

    def partition(row: Row) -> tuple[str, ...]:
        return partition_of(row.read(state.columns), state.columns, state.spec)

    replaced = {partition(row) for row in added}
    kept = tuple(row for row in stored if partition(row) not in replaced)
    found = _committed(state, step.branch, kept, added)
    # If it is cherry-picked later, it replaces partitions again.
    last = replace(found.snapshots[-1], operation="overwrite", replaced=tuple(replaced))
    found = replace(found, snapshots=(*found.snapshots[:-1], last))
    return Outcome(found, deleted=len(stored) - len(kept), inserted=len(added))


# Updated rows


def check_assignments(values: Assignments, columns: Struct, sides: Struct) -> None:
    """Raise if values do not match their target columns; `sides` are the columns visible to expressions."""
    for path, expression in values:
        field = at(columns, path)
        given = at(sides, expression.path) if not isinstance(expression, Constant) else None
        kind = expression.type if isinstance(expression, Constant) else None if given is None else given.type
        if field is None or kind != field.type:
            raise NotApplicable(f"{expression} for {path}")


def assigned(row: dict[str, Any], values: Assignments, sides: dict[str, Any], columns: Struct) -> dict[str, Any]:
    """Return a row with assigned columns."""
    for path, expression in values:
        row = _set(row, path, evaluate(expression, sides), columns)
    return row


def _set(row: dict[str, Any] | None, path: tuple[str, ...], value: Any, columns: Struct) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(columns.names) if row is None else dict(row)
    if len(path) == 1:
        found[path[0]] = value
    else:
        field = columns.find(path[0])
        assert field is not None
        assert isinstance(field.type, Struct)
        found[path[0]] = _set(found[path[0]], path[1:], value, field.type)
    return found


def evaluate(expression: Expression, row: dict[str, Any]) -> Any:
    """Return the value of an expression."""
    match expression:
        case Constant(_, value):
            return value
        case Column(path):
            return value_at(row, path)
        case Coalesce(path, _, value):
            found = value_at(row, path)
            return value if found is None else found
    raise TypeError(expression)


def _update(state: State, step: Update) -> Outcome:
    check_assignments(step.values, state.columns, state.columns)
    rows = state.rows(step.branch)
    chosen = holding(state, rows, step.where)
    kept, changed = [], []
    for stored, row, is_chosen in zip(state.stored(step.branch), rows, chosen, strict=True):
        if is_chosen:
            changed.append(stored_row(state, assigned(row, step.values, row, state.columns), stored))
        else:
            kept.append(stored)
    return Outcome(with_changed(state, step.branch, tuple(kept), tuple(changed), ()), updated=len(changed))


def _elsewhere(state: State, step: Elsewhere) -> Outcome:
    stored = state.stored()
    if "id" not in state.columns.names or not stored:
        raise NotApplicable("no rows")
    rows = state.rows()
    chosen = [row["id"] is not None and step.low <= row["id"] <= step.high for row in rows]
    kept = tuple(row for row, is_chosen in zip(stored, chosen, strict=True) if not is_chosen)
    state = replace(state, dangling=True)
    match step.action:
        case "insert":
            again = tuple(stored_row(state, row) for row, is_chosen in zip(rows, chosen, strict=True) if is_chosen)
            return Outcome(with_changed(state, MAIN, stored, (), again))
        case "delete":
            return Outcome(with_changed(state, MAIN, kept, (), ()))
        case "update":
            changed = tuple(
                stored_row(state, row | {"id": row["id"] + 1}, old)
                for old, row, is_chosen in zip(stored, rows, chosen, strict=True)
                if is_chosen
            )
            return Outcome(with_changed(state, MAIN, kept, changed, ()))
        case _:
            snapshot = Snapshot(stored, state.columns, state.place_of(MAIN), "replace")
            return Outcome(state.with_snapshot(MAIN, snapshot))


def _rewrite(state: State, step: Rewrite) -> Outcome:
    if step.where is not None:
        check_filter(step.where, state.columns)
    stored, now = state.stored(step.branch), len(state.specs) - 1
    # The files worth rewriting are unknown, and so are the rows whose spec changes.
    spec = now if step.rewrite_all and step.where is None and not step.meanwhile else None
    rows = tuple(row if row.spec == now else replace(row, spec=spec) for row in stored)
    snapshot = Snapshot(rows, state.columns, state.place_of(step.branch), "replace")
    return Outcome(state.with_snapshot(step.branch, snapshot))


def with_changed(
    state: State, branch: str, kept: tuple[Row, ...], changed: tuple[Row, ...], inserted: tuple[Row, ...]
) -> State:
    """Return the state after a commit that updated rows."""
    operation = "append" if len(state.stored(branch)) == len(kept) else "overwrite"
    snapshot = Snapshot((*kept, *changed, *inserted), state.columns, state.place_of(branch), operation, inserted)
    return state.with_snapshot(branch, snapshot)

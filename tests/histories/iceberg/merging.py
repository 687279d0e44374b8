"""Upserts and merges in the model, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from histories.filters import key, truth
from histories.iceberg.incoming import fitted, new_row, stored_row
from histories.iceberg.row_changes import Outcome, assigned, check_assignments, check_filter, with_changed
from histories.iceberg.state import NotApplicable, Refused, Row, State
from histories.types import Field, Simple, Struct
from histories.values import same

if TYPE_CHECKING:
    from histories.iceberg.history import Batch, Clause, Merge, Upsert

Values = dict[str, Any]


def upsert(state: State, step: Upsert) -> Outcome:
    """Update the rows that match keys of the batch and differ, and insert the remaining rows of the batch."""
    source = _source(state, step.batch, step.keys, whole=True)
    keys = [_key(row, step.keys) for row in source]
    known = [k for k in keys if k is not None]
    if len(set(known)) < len(known):
        raise Refused("a key twice")
    by_key = {k: row for k, row in zip(keys, source, strict=True) if k is not None}
    kept: list[Row] = []
    changed: list[Row] = []
    found = set()
    for stored, row in zip(state.stored(step.branch), state.rows(step.branch), strict=True):
        k = _key(row, step.keys)
        found.add(k)
        news = by_key.get(k) if k is not None else None
        if news is None or not step.update or all(same(row[name], value) for name, value in news.items()):
            kept.append(stored)
        else:
            changed.append(stored_row(state, {**row, **news}, stored))
    added = [new_row(state, row) for k, row in zip(keys, source, strict=True) if k is None or k not in found]
    inserted = tuple(added) if step.insert else ()
    state = with_changed(state, step.branch, tuple(kept), tuple(changed), inserted)
    nothing = not step.insert and (not step.update or set(step.batch.columns.names) <= set(step.keys))
    return Outcome(state, updated=len(changed), inserted=len(inserted), may_fail=nothing)


def _source(state: State, batch: Batch, keys: tuple[str, ...], *, whole: bool) -> list[Values]:
    """Return the rows of a source. It may have columns that the table lacks, unless `whole` rows are inserted."""
    for field in batch.columns.fields:
        if state.columns.find(field.name) is None and whole:
            raise Refused(f"no column {field.name!r}")
    if any(batch.columns.find(name) is None or not isinstance(_type(state, name), Simple) for name in keys):
        raise NotApplicable("no such key")
    known = Struct(tuple(field for field in batch.columns.fields if state.columns.find(field.name) is not None))
    return [{**row, **fitted(row, known, state.columns)} for row in batch.rows]


def _type(state: State, name: str) -> Any:
    field = state.columns.find(name)
    return None if field is None else field.type


def _key(row: Values, names: tuple[str, ...], *, null_safe: bool = False) -> tuple[Any, ...] | None:
    """Return the values that a row is matched by, or None if it cannot match."""
    values = [row[name] for name in names]
    if not null_safe and None in values:
        return None
    return tuple(key(value + 0.0) if isinstance(value, float) else value for value in values)


def merge(state: State, step: Merge) -> Outcome:
    """Apply a MERGE with SQL semantics."""
    whole = any(clause.action.endswith("_all") for clause in step.clauses)
    source = _source(state, step.batch, step.keys, whole=whole)
    sides = Struct((Field(0, "target", state.columns), Field(0, "source", step.batch.columns)))
    for clause in step.clauses:
        _check_clause(clause, state, sides)
    partners: dict[Any, list[int]] = {}
    for place, row in enumerate(source):
        k = _key(row, step.keys, null_safe=step.null_safe)
        if k is not None:
            partners.setdefault(k, []).append(place)
    used: set[int] = set()
    matched = [clause for clause in step.clauses if clause.when == "matched"]
    only_deletes = len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None
    kept: list[Row] = []
    changed: list[Row] = []
    deleted = 0
    for stored, row in zip(state.stored(step.branch), state.rows(step.branch), strict=True):
        mine = partners.get(_key(row, step.keys, null_safe=step.null_safe) or (), [])
        used.update(mine)
        actions = _actions(step, row, [source[place] for place in mine])
        if len(actions) > 1 and not only_deletes:
            raise Refused("several rows of the source change one row")
        if not actions:
            kept.append(stored)
        elif actions[0][0].action == "delete":
            deleted += 1
        else:
            changed.append(stored_row(state, _updated(state, row, *actions[0]), stored))
    inserted = tuple(_inserts(state, step, [row for place, row in enumerate(source) if place not in used]))
    state = with_changed(state, step.branch, tuple(kept), tuple(changed), inserted)
    return Outcome(state, deleted, len(changed), len(inserted))


def _check_clause(clause: Clause, state: State, sides: Struct) -> None:
    if clause.condition is not None:
        check_filter(clause.condition, sides)
    check_assignments(clause.values, state.columns, sides)


def _first(step: Merge, when: str, sides: Values) -> Clause | None:
    clauses = (clause for clause in step.clauses if clause.when == when)
    return next((c for c in clauses if c.condition is None or truth(c.condition, sides) is True), None)


def _actions(step: Merge, row: Values, partners: list[Values]) -> list[tuple[Clause, Values | None]]:
    if not partners:
        clause = _first(step, "not_matched_by_source", {"target": row, "source": None})
        return [] if clause is None else [(clause, None)]
    found = ((_first(step, "matched", {"target": row, "source": partner}), partner) for partner in partners)
    return [(clause, partner) for clause, partner in found if clause is not None]


def _updated(state: State, row: Values, clause: Clause, partner: Values | None) -> Values:
    if clause.action == "update_all":
        return {**row, **(partner or {})}
    return assigned(row, clause.values, {"target": row, "source": partner}, state.columns)


def _inserts(state: State, step: Merge, rows: list[Values]) -> list[Row]:
    found = []
    for row in rows:
        clause = _first(step, "not_matched", {"target": None, "source": row})
        if clause is not None:
            sides = {"target": None, "source": row}
            values = row if clause.action == "insert_all" else assigned({}, clause.values, sides, Struct(()))
            found.append(new_row(state, values))
    return found

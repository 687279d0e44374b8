"""Simplifies a history by one change at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from histories.filters import Both, Either, Not
from histories.inputs import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from histories.filters import Filter
    from histories.iceberg.history import Batch, History
    from histories.types import Struct


def simpler(history: History) -> Iterator[History]:
    """Yield simpler forms, the most promising ones first."""
    table = history.table
    for name in range(len(table.properties)):
        yield replace(history, table=replace(table, properties=_without(table.properties, name)))
    for place in range(len(table.partition_by)):
        yield replace(history, table=replace(table, partition_by=_without(table.partition_by, place)))
    for field in table.columns.fields:
        if len(table.columns.fields) > 1:
            yield _without_column(history, field.name)
    for place, step in enumerate(history.steps):
        for other in _simpler_step(step):
            yield replace(history, steps=(*history.steps[:place], other, *history.steps[place + 1 :]))


def _without(items: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return items[:place] + items[place + 1 :]


def _simpler_step(step: Any) -> Iterator[Any]:
    batch = getattr(step, "batch", None)
    if batch is not None:
        for other in _simpler_batch(batch):
            yield replace(step, batch=other)
    where = getattr(step, "where", None)
    if where is not None:
        yield replace(step, where=None)
        for part in _simpler_filter(where):
            yield replace(step, where=part)
    for name in ("steps", "clauses", "values", "changes", "meanwhile", "added", "removed", "keys"):
        items = getattr(step, name, ())
        for place in range(len(items)):
            if len(items) > 1 or name == "meanwhile":
                yield replace(step, **{name: _without(items, place)})
    for place, inner in enumerate(getattr(step, "steps", ())):
        for other in _simpler_step(inner):
            yield replace(step, steps=(*step.steps[:place], other, *step.steps[place + 1 :]))


def _simpler_batch(batch: Batch) -> Iterator[Batch]:
    count = len(batch.rows)
    if count > 2:
        yield replace(batch, rows=batch.rows[: count // 2])
        yield replace(batch, rows=batch.rows[count // 2 :])
    for place in range(count):
        yield replace(batch, rows=_without(batch.rows, place))
    if batch.source.kind != "table" or batch.source.odd_types:
        yield replace(batch, source=Source())
        if batch.source.odd_types:
            yield replace(batch, source=replace(batch.source, odd_types=False))


def _simpler_filter(where: Filter) -> Iterator[Filter]:
    match where:
        case Not(part):
            yield part
        case Both(parts) | Either(parts):
            yield from parts
            if len(parts) > 2:
                for place in range(len(parts)):
                    yield type(where)(_without(parts, place))


def _without_column(history: History, name: str) -> History:
    """Remove a column from the table and all rows; steps that reference it are then skipped automatically."""

    def cut(columns: Struct) -> Struct:
        return replace(columns, fields=tuple(field for field in columns.fields if field.name != name))

    def cut_step(step: Any) -> Any:
        batch = getattr(step, "batch", None)
        if batch is not None:
            rows = tuple({k: v for k, v in row.items() if k != name} for row in batch.rows)
            step = replace(step, batch=replace(batch, columns=cut(batch.columns), rows=rows))
        if getattr(step, "steps", None):
            step = replace(step, steps=tuple(map(cut_step, step.steps)))
        return step

    table = replace(
        history.table,
        columns=cut(history.table.columns),
        partition_by=tuple(term for term in history.table.partition_by if term.path[0] != name),
    )
    return replace(history, table=table, steps=tuple(map(cut_step, history.steps)))

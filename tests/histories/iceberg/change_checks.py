"""Checks that the changes between snapshots turn the rows of one snapshot into the rows of the other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil.iceberg._changes import read_stage
from histories.arrow import rows_of
from histories.filters import sql, truth
from histories.iceberg.checks import compare, demand
from histories.values import text_of

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.iceberg import Table
    from frazil.iceberg._changes import Changes
    from histories.iceberg.history import ReadAppends
    from histories.iceberg.state import State

REMOVED = ("DELETE", "UPDATE_BEFORE")


def texts_at(state: State, place: int | None, where: Any = None) -> Counter[str]:
    """Return the rows of a snapshot as they are read with the current columns of the table."""
    rows = [] if place is None else state.snapshots[place].read(state.columns)
    return Counter(text_of(row) for row in rows if where is None or truth(where, row) is True)


def removed_and_added(data: pa.Table, state: State) -> tuple[Counter[str], Counter[str]]:
    """Return the rows that changes remove and the rows that they add."""
    count = len(state.columns.fields)
    kinds = data.column(count).to_pylist()
    rows = rows_of(data.select(range(count)), state.columns)
    sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for kind, row in zip(kinds, rows, strict=True):
        sides[kind not in REMOVED][text_of(row)] += 1
    return sides


def check_commit(table: Table, state: State, place: int, snapshot_ids: list[int]) -> None:
    """Compare the changes of one snapshot, in every way in which they can be read."""
    if any(name.startswith("_change") for name in state.columns.names):
        return
    parent = state.snapshots[place].parent
    before, after = texts_at(state, parent), texts_at(state, place)
    span = (None if parent is None else snapshot_ids[parent], snapshot_ids[place])
    if state.snapshots[place].operation == "replace":
        demand(table.changes(*span).count() == 0, "a snapshot that replaces files has changes")
        return
    what = f"changes of snapshot {place}"
    removed, added = removed_and_added(table.changes(*span).to_arrow(), state)
    compare(f"{what}: deleted", removed.elements(), (before - after).elements())
    compare(f"{what}: inserted", added.elements(), (after - before).elements())
    _check_replay(f"{what} with carryovers", table, state, (before, after), span, {"carryovers": True})
    if state.version > 2 and not state.upgraded:
        _check_replay(f"{what} with updates", table, state, (before, after), span, {"compute_updates": True})


def _check_replay(
    what: str,
    table: Table,
    state: State,
    states: tuple[Counter[str], Counter[str]],
    span: tuple[int | None, int],
    options: dict[str, Any],
) -> None:
    removed, added = removed_and_added(table.changes(*span, **options).to_arrow(), state)
    before, after = states
    demand(not removed - before, f"{what}: rows are deleted that were not there: {list(removed - before)[:3]}")
    compare(f"{what}, replayed", (before - removed + added).elements(), after.elements())


def _check_all(changes: Changes, state: State, states: tuple[Counter[str], Counter[str]]) -> None:
    """Replay the changes of all snapshots on the rows of the first one, which must produce those of the last one."""
    removed, added = removed_and_added(changes.to_arrow(), state)
    replayed = Counter(states[0])
    replayed.update(added)
    replayed.subtract(removed)
    demand(min(replayed.values(), default=0) >= 0, "changes, replayed: rows are deleted that were not there")
    compare("changes, replayed", replayed.elements(), states[1].elements())


def check_range(table: Table, state: State, step: ReadAppends, snapshot_ids: list[int]) -> None:
    """Compare the net changes between two snapshots of one lineage, read completely and in parts."""
    line = state.ancestors(state.place_of("main"))[::-1]
    backwards = step.first is not None and step.first >= step.last
    if not 0 <= step.last < len(line) or backwards or any(name.startswith("_change") for name in state.columns.names):
        return
    first, last = None if step.first is None else line[step.first], line[step.last]
    before, after = texts_at(state, first, step.where), texts_at(state, last, step.where)
    span = (None if first is None else snapshot_ids[first], snapshot_ids[last])
    row_filter = True if step.where is None else sql(step.where)
    _check_all(table.changes(*span, row_filter=row_filter), state, (before, after))
    changes = table.changes(*span, row_filter=row_filter, net_changes=True)
    data = changes.to_arrow()
    removed, added = removed_and_added(data, state)
    compare("net changes: deleted", removed.elements(), (before - after).elements())
    compare("net changes: inserted", added.elements(), (after - before).elements())
    files = _native.Files("/", [], [], {})
    sent = [_native.ChangeStage.from_bytes(group, files) for group in changes.plan().groups(200, 1)]
    rows = sum(batch.num_rows for stage in sent for batch in read_stage(stage))
    demand(rows == data.num_rows, f"net changes: {rows} rows in parts, {data.num_rows} as a whole")

"""Checks that the rows that frazil reads from a table match the model."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from frazil.iceberg._task import FileScanTask
from histories.arrow import rows_of
from histories.filters import sql, truth, with_paths
from histories.names import RESERVED
from histories.types import Field, Struct, arrow_schema
from histories.values import text_of, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from frazil.iceberg import Table
    from frazil.iceberg._scan import Scan
    from histories.iceberg.history import Path, Read, ReadAppends
    from histories.iceberg.state import Row, Snapshot, State

LINEAGE = ("_row_id", "_last_updated_sequence_number")
LINEAGE_VERSION = 3


class Mismatch(AssertionError):
    """The result of frazil does not match the model."""


def demand(holds: object, message: str) -> None:
    if not holds:
        raise Mismatch(message)


def compare(what: str, actual: Iterable[str], expected: Iterable[str]) -> None:
    """Check that rows, as strings, are equal in any order."""
    found, wanted = Counter(actual), Counter(expected)
    if found != wanted:
        lost, more = list((wanted - found).elements()), list((found - wanted).elements())
        raise Mismatch(f"{what}: {len(lost)} rows are missing {lost[:3]}, {len(more)} are too many {more[:3]}")


def check_scan(what: str, scan: Scan, columns: Struct, expected: list[dict[str, Any]]) -> None:
    """Check that a scan returns these rows, both as a whole and as tasks."""
    data = scan.to_arrow()
    wanted = texts_of(expected)
    compare(what, map(text_of, rows_of(checked(what, data, columns), columns)), wanted)
    demand(scan.count() == len(wanted), f"{what}: count is {scan.count()}, there are {len(wanted)} rows")


def check_tasks(what: str, scan: Scan, columns: Struct, expected: list[dict[str, Any]]) -> None:
    """Check that serialized tasks and parts of files return these rows."""
    wanted = texts_of(expected)
    tasks = list(scan.plan_files())
    alone: list[dict[str, Any]] = []
    for task in tasks:
        (sent,) = FileScanTask.from_bytes(task.to_bytes())
        alone += rows_of(sent.to_arrow(), columns)
    compare(f"{what}, task by task", map(text_of, alone), wanted)
    parts = [part for group in scan.plan().groups(200, 1) for part in FileScanTask.from_bytes(group)]
    split = [row for part in parts for row in rows_of(part.to_arrow(), columns)]
    compare(f"{what}, in groups of split tasks", map(text_of, split), wanted)


def checked(what: str, data: pa.Table, columns: Struct) -> pa.Table:
    """Return the data after checking that its schema matches the columns."""
    wanted = arrow_schema(columns)
    demand(data.schema.equals(wanted), f"{what}: the schema is {data.schema}, expected {wanted}")
    return data


def check_read(table: Table, state: State, step: Read, snapshot_ids: list[int]) -> None:
    """Perform a read with a handle and compare the result."""
    chosen = _chosen(table, state, step, snapshot_ids)
    if chosen is None:
        return
    arguments, snapshot, columns = chosen
    rows = [] if snapshot is None else snapshot.read(columns)
    if step.where is not None:
        rows = [row for row in rows if truth(step.where, row) is True]
    selected = columns if step.fields is None else selected_columns(columns, step.fields)
    text = True if step.where is None else sql(step.where)
    fields = ["*"] if step.fields is None else [".".join(path) for path in step.fields]
    if not step.case_sensitive:
        swapped = None if step.where is None else with_paths(step.where, _swapped)
        text = True if swapped is None else sql(swapped)
        fields = [field.swapcase() for field in fields]
    scan = table.scan(text, fields, limit=step.limit, case_sensitive=step.case_sensitive, **arguments)
    expected = [cut(row, selected) for row in rows]
    if step.limit is None:
        check_scan(str(step), scan, selected, expected)
        check_tasks(str(step), scan, selected, expected)
        return
    found = Counter(map(text_of, rows_of(checked(str(step), scan.to_arrow(), selected), selected)))
    demand(not found - Counter(map(text_of, expected)), f"{step}: rows that do not match")
    count = min(step.limit, len(expected))
    demand(found.total() == count, f"{step}: {found.total()} rows instead of {count}")
    demand(scan.count() == count, f"{step}: count is {scan.count()} instead of {count}")


def _chosen(
    table: Table, state: State, step: Read, snapshot_ids: list[int]
) -> tuple[dict[str, Any], Snapshot | None, Struct] | None:
    """Return the arguments of a scan, the snapshot that it reads, and the columns; None if it does not exist."""
    if step.choice is None:
        return {}, state.head(), state.columns
    kind, value = step.choice
    if kind == "ref":
        ref = state.refs.get(value)
        if ref is None:
            return None
        snapshot = state.snapshots[ref.snapshot]
        return {"ref": value}, snapshot, snapshot.columns if ref.is_tag else state.columns
    places = range(len(state.snapshots)) if kind == "snapshot" else state.log
    if value >= len(places):
        return None
    if kind == "snapshot":
        return {"snapshot_id": snapshot_ids[value]}, state.snapshots[value], state.snapshots[value].columns
    times = [entry.timestamp_ms for entry in table.history()]
    demand(len(times) == len(state.log), f"the history has {len(times)} entries instead of {len(state.log)}")
    place = state.log[max(i for i, time in enumerate(times) if time <= times[value])]
    return {"as_of": times[value]}, state.snapshots[place], state.snapshots[place].columns


def _swapped(path: Path) -> Path:
    return tuple(name.swapcase() for name in path)


def selected_columns(columns: Struct, fields: tuple[Path, ...]) -> Struct:
    """Return the columns selected by these paths, nested ones within their structs, in table order."""
    whole = {path[0] for path in fields if len(path) == 1}
    found: list[Field] = []
    for field in columns.fields:
        inner = tuple(path[1:] for path in fields if path[0] == field.name and len(path) > 1)
        if field.name in whole:
            found.append(field)
        elif inner:
            assert isinstance(field.type, Struct)
            found.append(replace(field, type=selected_columns(field.type, inner)))
    return Struct(tuple(found))


def cut(row: dict[str, Any], columns: Struct) -> dict[str, Any]:
    """Return the selected columns of a row."""
    found = {}
    for field in columns.fields:
        value = row[field.name]
        found[field.name] = cut(value, field.type) if isinstance(field.type, Struct) and value is not None else value
    return found


def check_appends(table: Table, state: State, step: ReadAppends, snapshot_ids: list[int]) -> None:
    """Perform an incremental scan and compare the result."""
    line = state.ancestors(state.place_of("main"))[::-1]
    if step.last >= len(line) or (step.first is not None and step.first >= step.last):
        return
    between = line[0 if step.first is None else step.first + 1 : step.last + 1]
    rows = [
        row.read(state.columns)
        for place in between
        if state.snapshots[place].operation == "append"
        for row in state.snapshots[place].added
    ]
    if step.where is not None:
        rows = [row for row in rows if truth(step.where, row) is True]
    scan = table.incremental_append_scan(
        True if step.where is None else sql(step.where),
        from_snapshot_id_exclusive=None if step.first is None else snapshot_ids[line[step.first]],
        to_snapshot_id_inclusive=snapshot_ids[line[step.last]],
    )
    schemas = json.loads(table._native.metadata_json("schemas"))
    current = json.loads(table._native.metadata_json("current-schema-id"))
    fields = next(schema["fields"] for schema in schemas if schema["schema-id"] == current)
    check_scan(str(step), scan, _optional_as_in(state.columns, fields, _optional_ids(schemas)), rows)


def _optional_ids(part: Any) -> set[int]:
    """Return the ids of the fields that are optional in any schema of a table."""
    if isinstance(part, list):
        return {one for item in part for one in _optional_ids(item)}
    if not isinstance(part, dict):
        return set()
    own = {part["id"]} if part.get("required") is False else set()
    return own | {one for item in part.values() for one in _optional_ids(item)}


def _optional_as_in(columns: Struct, fields: list[dict[str, Any]], optional: set[int]) -> Struct:
    """Return the columns of appended rows, which may have NULL from before a column became required.

    `fields` are those of the table, which has different field ids.
    """
    found = {field["name"]: field for field in fields}

    def relaxed(field: Field) -> Field:
        own = found[field.name]
        inner = field.type
        if isinstance(inner, Struct):
            inner = _optional_as_in(inner, own["type"]["fields"], optional)
        return replace(field, required=field.required and own["id"] not in optional, type=inner)

    return Struct(tuple(relaxed(field) for field in columns.fields))


# After a commit


def check_head(table: Table, state: State, branch: str, used: set[int], first: int) -> Snapshot | None:
    """Compare the rows of a branch, and return its snapshot with the row ids found.

    `first` is the sequence number of the first snapshot of the commit; 0 if it created none.
    """
    head = state.head(branch)
    if head is None:
        check_scan(branch, table.scan(), state.columns, [])
        return None
    rows = head.read(state.columns)
    ref = {} if branch == "main" else {"ref": branch}
    lineage = state.version >= LINEAGE_VERSION and not set(state.columns.names) & set(RESERVED)
    scan = table.scan(selected_fields=("*", *LINEAGE) if lineage else ("*",), **ref)
    # A delete file for a whole partition is kept until all data files that it applies to are removed.
    dangling = state.dangling or state.properties.get("write.delete.granularity") == "partition"
    check_summary(table, branch, len(rows), dangling=dangling)
    if not lineage:
        check_scan(branch, scan, state.columns, rows)
        return None
    data = scan.to_arrow()
    demand(table.scan(**ref).count() == len(rows), f"{branch}: count is not {len(rows)}")
    ids, sequences = data[LINEAGE[0]].to_pylist(), data[LINEAGE[1]].to_pylist()
    plain = checked(branch, data.drop_columns(list(LINEAGE)), state.columns)
    texts = [text_of(row) for row in rows_of(plain, state.columns)]
    compare(branch, texts, map(text_of, rows))
    snapshot = next(s for s in table.snapshots() if s.snapshot_id == table.refs()[branch].snapshot_id)
    found = list(zip(texts, ids, sequences, strict=True))
    adopted = adopt(head.rows, list(map(text_of, rows)), found, range(first, snapshot.sequence_number + 1))
    # A reference to an older snapshot, for example in a transaction, restores rows that later snapshots have too.
    is_old = not first or snapshot.sequence_number < first
    _check_ids(branch, head.rows, adopted, used, may_repeat=state.upgraded or is_old, upgraded=state.upgraded)
    return replace(head, rows=tuple(adopted))


def adopt(
    rows: tuple[Row, ...], texts: list[str], found: list[tuple[str, int | None, int | None]], sequences: range
) -> list[Row]:
    """Return the rows of the model with the ids found; known ids must be those of equal rows."""
    by_id = {number: (text, last) for text, number, last in found if number is not None}
    result: list[Row] = []
    rest = Counter(found)
    unknown = []
    for row, text in zip(rows, texts, strict=True):
        if row.id is None:
            unknown.append((row, text))
            continue
        demand(row.id in by_id, f"row {row.id} {text} has another id now")
        actual, last = by_id[row.id]
        demand(actual == text, f"row {row.id} is {actual}, expected {text}")
        wanted = sequences if row.sequence is None else (row.sequence,)
        demand(last in wanted, f"row {row.id} {text} was last updated by {last}, expected {wanted}")
        rest[(text, row.id, last)] -= 1
        result.append(replace(row, sequence=last))
    left: dict[str, list[tuple[int | None, int | None]]] = {}
    for text, number, last in rest.elements():
        left.setdefault(text, []).append((number, last))
    for row, text in unknown:
        demand(left.get(text), f"a row {text} has the id of another one")
        number, last = left[text].pop()
        result.append(replace(row, id=number, sequence=last))
    return result


def _check_ids(
    branch: str, before: tuple[Row, ...], after: list[Row], used: set[int], *, may_repeat: bool, upgraded: bool
) -> None:
    ids = [row.id for row in after if row.id is not None]
    demand(len(ids) == len(set(ids)), f"{branch}: rows share ids: {sorted(ids)}")
    demand(upgraded or len(ids) == len(after), f"{branch}: rows without ids")
    fresh = set(ids) - {row.id for row in before}
    demand(may_repeat or not fresh & used, f"{branch}: new rows have old ids: {sorted(fresh & used)}")
    used.update(ids)


def check_summary(table: Table, branch: str, count: int, *, dangling: bool) -> None:
    """Check that the totals of a summary match the rows."""
    snapshot_id = table.refs()[branch].snapshot_id
    summary = next(s for s in table.snapshots() if s.snapshot_id == snapshot_id).summary
    total = int(summary["total-records"]) - int(summary.get("total-position-deletes", "0"))
    fits = total <= count if dangling else total == count
    demand(fits, f"{branch}: the summary counts {total} rows, there are {count}: {summary}")
    files = list(table.scan(ref=branch).plan_files())
    demand(
        int(summary["total-data-files"]) >= len(files) and sum(f.file.record_count for f in files) >= count,
        f"{branch}: the plan has {len(files)} files, the summary {summary}",
    )

"""Twins: a table that Java writes, and one with the same history of which frazil performs some steps.

After each step, both must have the same rows, snapshots and files, as read by Java.
`python -m histories.paimon --twins 17` replays one, `python -m histories.paimon --twins 0 2000` runs many.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import warnings
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import frazil
from frazil.errors import FrazilError, NoSuchSnapshotError
from histories.paimon.compare import KIND, Comparison, Failure, Normal, compare_reads
from histories.paimon.generate import history_of
from histories.paimon.history import (
    MAIN,
    Branch,
    Compact,
    Concurrently,
    DropBranch,
    DropTag,
    Expire,
    FastForward,
    History,
    Ours,
    Rollback,
    Tag,
    Truncate,
    Write,
)
from histories.paimon.java_process import TABLE
from histories.paimon.known import JAVA_FAILS
from histories.paimon.reads import Outcome, Read, Rows
from histories.paimon.shrink import shrunk
from histories.paimon.tables import Plan, random_table
from support.paimon_garbage import METADATA, missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from frazil.paimon import Table
    from histories.paimon.history import Step
    from histories.paimon.oracle import Oracle

TWIN = "u"
WRITE_ONLY = 0.5
"""The fraction of tables that are not compacted by their writers."""
OURS = 0.65
"""The fraction of the supported steps that frazil performs."""
FINDS = 12
"""The number of rows that Java must find by the value of a column."""

SUPPORTED = (Write, Compact, Truncate, Tag, DropTag, Branch, DropBranch, FastForward, Rollback, Expire)
"""The steps that frazil can perform."""

NOT_WRITTEN = (*("full-compaction.delta-commits", "manifest.format", "row-tracking.enabled"),)
"""Options that frazil cannot write with, or that have no meaning without these."""


# Selection of tables and steps


def random_twin(seed: int) -> History:
    """Return the history of a seed, which is deterministic."""
    rng = Random(f"twin {seed}")  # noqa: S311 - not a secret
    plan = random_table(rng)
    while not _is_written(plan):
        plan = random_table(rng)
    _make_writable(rng, plan)
    history = history_of(rng, plan, seed)
    return replace(history, steps=tuple(_by_somebody(rng, step) for step in history.steps))


def _is_written(plan: Plan) -> bool:
    """Return whether both can write such tables.

    A column `_ROW_KIND` would leave frazil no name for the row kinds. Java cannot look up keys of bytes in files above
    level 0 (`ClassCastException`).
    """
    has_bytes = any(
        column.name in plan.keys and column.type.root in ("BINARY", "BYTES", "VARBINARY") for column in plan.columns
    )
    looks_up = {"changelog-producer", "deletion-vectors.enabled", "force-lookup"} & {*plan.options}
    if has_bytes and (looks_up or plan.options.get("merge-engine") == "first-row"):
        return False
    if plan.keys and not set(plan.partitions) <= set(plan.keys):
        return False
    is_ambiguous = plan.keys and any(column.name == KIND for column in plan.columns)
    return not is_ambiguous


def _make_writable(rng: Random, plan: Plan) -> None:
    """Remove features that frazil cannot write."""
    for name in NOT_WRITTEN:
        plan.options.pop(name, None)
    if rng.random() < WRITE_ONLY:
        plan.options["write-only"] = "true"
    # frazil makes rows visible at once (docs/paimon.md, "Lookups").
    plan.options.pop("lookup-compact", None)
    # Java's write buffer always sorts sequence fields in ascending order (docs/paimon.md, "Where Java differs").
    plan.options.pop("sequence.field.sort-order", None)
    if plan.keys and plan.options.get("bucket") == "-2":
        plan.options["bucket"] = rng.choice(("1", "2", "3"))
    plan.columns = [column for column in plan.columns if column.type.root != "VARIANT"]


def _by_somebody(rng: Random, step: Step) -> Step:
    if isinstance(step, Write):
        step = replace(step, writer="", options=())
    return Ours(step) if isinstance(step, SUPPORTED) and rng.random() < OURS else step


# Execution


class NotMeant(Exception):
    """A row does not match the table, because an earlier step was skipped."""


class Twins:
    """A table of Java and its twin, which receive the same steps."""

    def __init__(self, history: History, oracle: Oracle) -> None:
        """Initialize without creating the tables."""
        self._history = history
        self._oracle = oracle
        self._folder: Path = oracle.table.parent / TWIN
        self.outcome = Outcome((), {}, {})
        """The outcome of the twin; empty if frazil cannot write the table."""
        self.steps = 0
        """The number of steps that frazil performed."""

    def failures(self) -> Iterator[Failure]:
        """Run the history and yield the differences; nothing is done after the first difference between the two."""
        created = self._oracle.run(replace(self._history, steps=()))
        refused = self._created()
        if refused and refused.startswith("UnsupportedError"):
            # Java rejects columns that a format does not support only when they are written.
            return
        if not created.created or refused:
            yield from self._differ("create", refused, created.rejected[0])
            return
        if found := self._schemas():
            yield found
            return
        for number, step in enumerate(self._history.steps):
            try:
                found = self._step(number, step)
            except NotMeant:
                break
            if found:
                yield found
                return
            if self._is_stuck:
                break
        self.outcome = self._oracle.adopt([], TWIN)
        yield from compare_reads(self._history, self._oracle, self.outcome, self._folder).failures
        yield from self._lost()

    def _created(self) -> str | None:
        """Create the twin, or return why it was rejected."""
        create = self._history.create
        # The folder of the last history is removed only if Java has created a table since.
        shutil.rmtree(self._folder, ignore_errors=True)
        catalog = frazil.load_catalog("lake", type="paimon", warehouse=str(self._folder.parent.parent))
        columns = [(column.name, _sql(column.type)) for column in create.columns]
        keys = {"primary_keys": create.primary_keys, "partition_keys": create.partition_keys}
        try:
            catalog.create_table(f"db.{TWIN}", columns, **keys, options=dict(create.options))
        except FrazilError as error:
            return f"{type(error).__name__}: {error}"
        return None

    def _schemas(self) -> Failure | None:
        ours, theirs = (
            json.loads((folder / "schema" / "schema-0").read_bytes()) for folder in (self._folder, self._oracle.table)
        )
        for schema in (ours, theirs):
            schema.pop("timeMillis")
        return None if ours == theirs else Failure(Read(), "schema", f"frazil {ours}\njava   {theirs}")

    def _step(self, number: int, step: Step) -> Failure | None:
        ours = isinstance(step, Ours)
        plain = step.step if isinstance(step, Ours) else step
        outcome = self._oracle.adopt([plain], TABLE)
        expected = outcome.rejected[0]
        branch = getattr(plain, "branch", MAIN)
        theirs = self._oracle.read([Read(branch=branch)])[0]
        refused = self._own(plain) if ours else None
        if not ours or (refused and refused.startswith("UnsupportedError")):
            refused = self._oracle.adopt([plain], TWIN).rejected[0]
        self._is_stuck = expected is not None
        if refused is None and expected is not None and any(text in expected for text in JAVA_FAILS):
            return None
        if (refused is None) != (expected is None):
            return next(self._differ(f"step {number}", refused, expected))
        what = f"step {number}{', of frazil' if ours else ''}: {str(plain)[:300]}"
        return self._states_differ(what, plain, outcome, theirs)

    def _states_differ(self, what: str, step: Any, java: Outcome, theirs: Rows | str) -> Failure | None:
        """Compare the state of the twin with that of the table of Java, and its rows `theirs`."""
        twin, branch = self._oracle.adopt([], TWIN), getattr(step, "branch", MAIN)
        rows_differ = self._rows_differ(what, branch, self._oracle.read([Read(branch=branch)])[0], theirs)
        if self._compacts_by_length(step):
            self._is_stuck |= twin.snapshots != java.snapshots or self._files_differ(what) is not None
            if rows_differ or self._is_stuck:
                return rows_differ
        # Java's commits expire snapshots.
        kept = {name: found[-len(java.snapshots.get(name, ())) :] for name, found in twin.snapshots.items()}
        if any(found != java.snapshots.get(name) for name, found in kept.items()):
            return Failure(Read(), "snapshots", f"{what}\ntwin {twin.snapshots}\njava {java.snapshots}")
        if twin.tags != java.tags:
            return Failure(Read(), "tags", f"{what}\ntwin {twin.tags}\njava {java.tags}")
        files_differ = self._files_differ(what) or self._folders_differ(what)
        return rows_differ or files_differ or self._changelog_differs(what, step, twin.snapshots)

    def _compacts_by_length(self, step: Any) -> bool:
        """Return whether the lengths of files, which differ, decide what is merged.

        In append tables with fixed buckets, Java never compacts fewer than three files; frazil does if requested.
        """
        options = dict(self._history.create.options)
        is_append = not self._history.create.primary_keys
        if isinstance(step, Compact):
            return not step.full or (is_append and "bucket" in options)
        return isinstance(step, Write | Concurrently) and "write-only" not in options

    def _changelog_differs(self, what: str, step: Any, snapshots: Any) -> Failure | None:
        """Compare the changelog of the latest snapshot."""
        of_branch = snapshots.get(getattr(step, "branch", MAIN), ())
        if dict(self._history.create.options).get("changelog-producer", "none") == "none" or not of_branch:
            return None
        newest = of_branch[-1][0]
        options = (("incremental-between", f"{newest - 1},{newest}"), ("incremental-between-scan-mode", "changelog"))
        read = Read(branch=getattr(step, "branch", MAIN), options=options, kinds=True)
        ours = self._oracle.read([read])[0]
        self._oracle.adopt([], TABLE)
        theirs = self._oracle.read([read])[0]
        self._oracle.adopt([], TWIN)
        return self._rows_differ(f"changelog after {what}", read.branch, ours, theirs)

    def _differ(self, what: str, refused: str | None, expected: str | None) -> Iterator[Failure]:
        if (refused is None) != (expected is None):
            yield Failure(Read(), "refusal", f"{what}\ntwin {refused}\njava {expected}")

    def _own(self, step: Any) -> str | None:
        """Perform a step of the twin with frazil, or return why it was rejected."""
        table: Any = frazil.load_table(self._folder, format="paimon")
        try:
            with warnings.catch_warnings():
                # The table may have options by which only Java expires snapshots.
                warnings.filterwarnings("ignore", "the table option", UserWarning)
                carry_out(table.with_branch(getattr(step, "branch", MAIN)), step)
        except FrazilError as error:
            return f"{type(error).__name__}: {error}"
        self.steps += 1
        return None

    def _rows_differ(self, what: str, branch: str, twin: Rows | str, java: Rows | str) -> Failure | None:
        if isinstance(twin, str) or isinstance(java, str):
            same = isinstance(twin, str) and isinstance(java, str)
            return None if same else Failure(Read(), "unreadable", f"{what}\ntwin {twin}\njava {java}")
        table: Any = frazil.load_table(self._folder, format="paimon")
        form = Normal(self._history, table.with_branch(branch).scan().schema())
        ours, theirs = (form.lines(_with_kinds(side)) for side in (twin, java))
        if ours == theirs:
            return None
        text = "\n".join([*(f"twin {row}" for row in ours if row not in theirs), *(f"java {row}" for row in theirs)])
        return Failure(Read(), "rows of twins", f"{what}\n{text}")

    def _files_differ(self, what: str) -> Failure | None:
        """Compare the manifest entries of files except names, sizes and times."""
        ours, theirs = (_files(folder, self._history) for folder in (self._folder, self._oracle.table))
        if ours == theirs:
            return None
        text = "\n".join(
            [*(f"twin {file}" for file in ours if file not in theirs), *(f"java {f}" for f in theirs if f not in ours)]
        )
        return Failure(Read(), "files", f"{what}\n{text}")

    def _folders_differ(self, what: str) -> Failure | None:
        """Compare the files that exist, except manifests, whose number depends on their lengths.

        There may be fewer: Java's rollback leaves files that nothing needs.
        """
        if absent := missing(self._folder):
            return Failure(Read(), "missing files", f"{what}\n{sorted(absent)}")
        ours, theirs = (_existing(folder) for folder in (self._folder, self._oracle.table))
        if ours <= theirs:
            return None
        return Failure(Read(), "existing files", f"{what}\ntwin {ours - theirs}\njava {theirs - ours}")

    def _lost(self) -> Iterator[Failure]:
        """Yield rows that Java does not find by the value of a column, but finds in its own table.

        Incorrect statistics or indexes hide them.
        """
        everything = self._oracle.read([Read()])[0]
        if isinstance(everything, str):
            return
        rng = Random(self._history.seed)  # noqa: S311 - not a secret
        wanted = [(name, row) for name, _ in everything.columns for row in everything.rows]
        wanted = rng.sample(wanted, min(FINDS, len(wanted)))
        lost = self._not_found(wanted)
        self._oracle.adopt([], TABLE)
        hidden = self._not_found(lost)
        yield from (Failure(Read(), "lost", f"{name!r}: {row}") for name, row in lost if (name, row) not in hidden)

    def _not_found(self, wanted: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Return the columns and rows that Java does not find in the open table."""
        everything = self._oracle.read([Read()])[0]
        rows = [] if isinstance(everything, str) else everything.rows
        there = [(name, row) for name, row in wanted if row in rows]
        found = self._oracle.read([Read(equal_to_row=(name, rows.index(row))) for name, row in there])
        found_in = [row in _rows(answer) for (_, row), answer in zip(there, found, strict=True)]
        return [one for one in wanted if one not in there or not found_in[there.index(one)]]


def _with_kinds(answer: Rows) -> list[dict[str, Any]]:
    if len(answer.kinds) != len(answer.rows):
        return answer.rows
    return [{**row, KIND: kind} for row, kind in zip(answer.rows, answer.kinds, strict=True)]


def _rows(answer: Rows | str) -> list[Any]:
    return [] if isinstance(answer, str) else answer.rows


_SAME = (
    *("partition", "bucket", "file_format", "schema_id", "level", "record_count", "min_key", "max_key"),
    *("min_sequence_number", "max_sequence_number", "deleteRowCount", "file_source", "write_cols"),
)
"""The compared entries. Statistics of values are excluded: frazil has more of them, but no bounds for NaN."""


_INDEX = ("partition", "bucket", "index_type", "row_count")
"""The compared columns of index files, which have hashes of keys or deletion vectors."""


def _files(folder: Path, history: History) -> list[str]:
    table: Any = frazil.load_table(folder, format="paimon")
    # Java skips numbers when it writes to many buckets at once; without keys, only their order matters.
    fields = [name for name in _SAME if history.create.primary_keys or not name.endswith("_sequence_number")]
    found = []
    for branch in (MAIN, *table.branches()):
        files = table.with_branch(branch).inspect.files(selected_fields=fields)
        found += [f"{branch} {row}" for row in files.to_pylist()]
        indexes = table.with_branch(branch).inspect.table_indexes(selected_fields=_INDEX)
        found += [f"{branch} index {row}" for row in indexes.to_pylist()]
    return sorted(found)


_UNIQUE = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-[0-9]+)?")
"""The part of the name of a file that differs between files of one kind."""


def _existing(folder: Path) -> Counter[str]:
    """Return the number of files by folder and kind, except metadata and manifests."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    data = (path for path in files if path.parts[0] not in {*METADATA, "manifest"})
    return Counter(_UNIQUE.sub("*", str(path)) for path in data)


def carry_out(table: Table, step: Any) -> None:
    """Perform a step with frazil."""
    match step:
        case Compact() | Truncate() | Write():
            _change_rows(table, step)
        case _:
            _change_references(table, step)


def _change_references(table: Table, step: Any) -> None:
    references = table.manage_snapshots()
    match step:
        case Tag(name=name, back=back):
            references.create_tag(_latest(table) - back, name).commit()
        case DropTag(name=name):
            references.remove_tag(name).commit()
        case Branch(name=name, tag=tag):
            references.create_branch(tag, name).commit()
        case DropBranch(name=name):
            references.remove_branch(name).commit()
        case FastForward(branch=name):
            references.fast_forward(name).commit()
        case Rollback(to=str(name)):
            table.rollback_to(tag=name).apply()
        case Rollback(to=int(back)):
            table.rollback_to(_latest(table) - back).apply()
        case Expire(retain=retain):
            table.expire_snapshots(retain_max=retain, retain_min=1).apply()


def _change_rows(table: Table, step: Any) -> None:
    match step:
        case Compact(full=full):
            # Java's API has no full compaction of tables without buckets.
            has_buckets = bool(table.primary_keys) or int(table.options.get("bucket", "-1")) > 0
            table.compact(full=full and has_buckets)
        case Truncate(partitions=()):
            table.truncate()
        case Truncate(partitions=partitions):
            table.drop_partitions([dict(partition) for partition in partitions])
        case Write(overwrite=None):
            table.append(rows_of(table, step))
        case Write(overwrite=partition):
            is_dynamic = table.partition_keys and table.options.get("dynamic-partition-overwrite") != "false"
            if is_dynamic:
                table.dynamic_partition_overwrite(rows_of(table, step))
            else:
                table.overwrite(rows_of(table, step), partitions=[dict(partition)] if partition else None)


def _latest(table: Table) -> int:
    """Return the id of the latest snapshot."""
    snapshot = table.current_snapshot()
    if snapshot is None:
        message = "the table has no snapshot"
        raise NoSuchSnapshotError(message)
    return snapshot.snapshot_id


# Types and values


def _sql(kind: Any) -> str:
    """Return a type as SQL, with names in backquotes."""
    inner = [_sql(part) for part in kind.parts]
    if kind.root != "ROW":
        return str(kind) if not inner else f"{kind.root}<{', '.join(inner)}>{'' if kind.nullable else ' NOT NULL'}"
    fields = ", ".join(f"`{name}` {part}" for name, part in zip(kind.names, inner, strict=True))
    return f"ROW<{fields}>{'' if kind.nullable else ' NOT NULL'}"


def rows_of(table: Table, step: Write) -> pa.Table:
    """Return the rows of a write as Arrow; columns that the table does not have are omitted."""
    schema = table.scan().schema()
    if KIND in schema.names:
        raise NotMeant
    try:
        arrays = {
            name: pa.array([_plain(row[at], schema.field(name).type) for row in step.rows], schema.field(name).type)
            for at, name in enumerate(step.columns, start=1)
            if name in schema.names
        }
    except (ValueError, TypeError, ArithmeticError) as error:
        raise NotMeant from error
    if table.primary_keys and "rowkind.field" not in table.options:
        arrays[KIND] = pa.array([row[0] for row in step.rows], pa.string())
    return pa.table(arrays)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Return a value of a history as a Python value for Arrow."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [(_plain(key, kind.key_type), _plain(item, kind.item_type)) for key, item in value]
    if pa.types.is_list(kind):
        return [_plain(part, kind.value_type) for part in value]
    if pa.types.is_struct(kind):
        return {field.name: _plain(part, field.type) for field, part in zip(kind.fields, value, strict=True)}
    convert = next((make for is_it, make in _ATOMS if is_it(kind)), None)
    return convert(value, kind) if convert else value


def _ticks(value: str, kind: pa.DataType) -> int:
    whole, _, fraction = value.partition(".")
    seconds = (dt.datetime.fromisoformat(whole) - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)  # noqa: DTZ001
    nanoseconds = seconds * 10**9 + int(fraction.ljust(9, "0") or 0)
    return nanoseconds // {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]


_ATOMS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, Any], Any]], ...] = (
    (pa.types.is_decimal, lambda value, _: Decimal(value)),
    (pa.types.is_date, lambda value, _: dt.date.fromisoformat(value)),
    (pa.types.is_time, lambda value, _: dt.time.fromisoformat(value)),
    (pa.types.is_timestamp, _ticks),
)


# Failing histories


def compare_twins(history: History, oracle: Oracle) -> Comparison:
    """Run a history and return the differences."""
    twins = Twins(history, oracle)
    failures = list(twins.failures())
    return Comparison(twins.outcome, failures, twins.steps, 0)


def smaller(history: History, failure: Failure, oracle: Oracle) -> tuple[History, Failure]:
    """Return a smaller history that fails in the same way, and the failure."""

    def again(candidate: History, last: Failure) -> list[Failure]:
        return [found for found in compare_twins(candidate, oracle).failures if _kind(found) == _kind(last)]

    return shrunk(history, failure, again)


def _kind(failure: Failure) -> str:
    """Return the message of a failure without values, which identifies the type of failure."""
    errors = re.findall(r"\b[A-Z]\w+(?:Error|Exception)\b", failure.text)
    return f"{failure.what} {errors}"

"""Runs a history in Java, and compares the reads of its table by Java and frazil: every difference is a failure."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import frazil
from histories.filters import Choices, paths_of, random_filter, sql, truth
from histories.paimon.history import MAIN
from histories.paimon.known import DIFF_OF_FILES, HASHED_FUNCTIONS, expected
from histories.paimon.oracle import Oracle
from histories.paimon.reads import Read, Rows
from histories.types import Field, Simple, Struct
from histories.values import Limits
from support.canonical import Form, canonical_rows, holds_variants, parse_expected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from frazil.paimon import Table
    from frazil.paimon._scan import Scan
    from histories.paimon.history import History
    from histories.paimon.reads import Outcome

MODES = ("auto", "delta", "changelog", "diff")
READS = 14
FILTERS = 2
KIND = "_ROW_KIND"
FORM = Form(plain_variants=True)


@dataclass(frozen=True)
class Failure:
    """A difference from Java."""

    read: Read
    what: str
    """The type of difference: `rows`, `columns`, `count`, `filter`, or the class of an error."""
    text: str

    def __str__(self) -> str:
        """Return a readable description of the difference."""
        return f"{self.read}: {self.what}\n{self.text}"


@dataclass(frozen=True)
class Comparison:
    """The result of a history: its outcome, the failures, and the number of compared reads."""

    outcome: Outcome
    failures: list[Failure]
    reads: int
    unread: int
    """The number of reads that Java does not support."""


def compare(history: History, oracle: Oracle, reads: Sequence[Read] | None = None) -> Comparison:
    """Run a history and compare reads of its table: random reads, or the requested ones."""
    outcome = oracle.run(history)
    if not outcome.created:
        return Comparison(outcome, [], 0, 0)
    return compare_reads(history, oracle, outcome, oracle.table, reads)


def compare_reads(
    history: History, oracle: Oracle, outcome: Outcome, folder: Path, reads: Sequence[Read] | None = None
) -> Comparison:
    """Compare reads of a table that is open in Java: random reads, or the requested ones."""
    rng = Random(history.seed)  # noqa: S311 - not a secret
    reads = random_reads(rng, outcome) if reads is None else reads
    failures = []
    unread = 0
    answers = java_answers if history.create.primary_keys else Oracle.read
    for read, answer in zip(reads, answers(oracle, reads), strict=True):
        if isinstance(answer, str):
            unread += 1
            continue
        found = Comparer(history, read, answer, folder).failures(Random(history.seed))  # noqa: S311
        failures += [failure for failure in found if not expected(history, read, f"{failure.what} {failure.text}")]
    return Comparison(outcome, failures, len(reads) - unread, unread)


def java_answers(oracle: Oracle, reads: Sequence[Read]) -> list[Rows | str]:
    """Return Java's results; differences are computed from reads of both states (see `DIFF_OF_FILES`)."""
    asked = [*reads, *(state for read in reads if _is_diff(read) for state in _states(read))]
    found = oracle.read(asked)
    states = iter(found[len(reads) :])
    return [
        _rows_added(answer, next(states), next(states)) if _is_diff(read) else answer
        for read, answer in zip(reads, found, strict=False)
    ]


def _is_diff(read: Read) -> bool:
    options = dict(read.options)
    between = options.get("incremental-between", "")
    mode = options.get("incremental-between-scan-mode")
    return bool(between) and (mode == "diff" or not between.replace(",", "").isdecimal())


def _states(read: Read) -> Iterator[Read]:
    for name in dict(read.options)["incremental-between"].split(","):
        option = "scan.snapshot-id" if name.isdecimal() else "scan.tag-name"
        yield Read(branch=read.branch, options=((option, name),))


def _rows_added(diff: Rows | str, earlier: Rows | str, later: Rows | str) -> Rows | str:
    """Return the rows of the later state that are missing in the earlier one."""
    if isinstance(diff, str) or isinstance(earlier, str) or isinstance(later, str):
        return f"{DIFF_OF_FILES}: a state cannot be read"
    if not diff.columns == earlier.columns == later.columns:
        return f"{DIFF_OF_FILES}: the schema has changed"
    before = Counter(json.dumps(row) for row in earlier.rows)
    added = [at for at, row in enumerate(later.rows) if not before[json.dumps(row)]]
    return Rows(later.columns, [later.rows[at] for at in added], [later.kinds[at] for at in added])


# Selection of reads


def random_reads(rng: Random, outcome: Outcome) -> list[Read]:
    """Return the reads of a table: always of the latest states, and of random others."""
    newest = [Read(branch=branch) for branch in outcome.snapshots]
    others = [
        Read(branch=branch, options=(("scan.snapshot-id", str(number)),))
        for branch, snapshots in outcome.snapshots.items()
        for number, _ in snapshots[:-1]
    ]
    others += [
        Read(branch=branch, options=(("scan.tag-name", name),))
        for branch, tags in outcome.tags.items()
        for name in tags
    ]
    for branch, snapshots in outcome.snapshots.items():
        numbers = [number for number, _ in snapshots]
        others += _changes(rng, branch, numbers)
        others += _tagged(rng, branch, outcome.tags[branch])
        if numbers:
            chosen = (("scan.snapshot-id", str(rng.choice(numbers))),)
            others += [Read("ro", branch), Read("audit_log", branch), Read("audit_log", branch, chosen)]
    rng.shuffle(others)
    return newest + others[: max(READS - len(newest), 0)]


def _changes(rng: Random, branch: str, numbers: list[int]) -> Iterator[Read]:
    if not numbers:
        return
    for mode in MODES:
        first, last = sorted((rng.choice([min(numbers) - 1, *numbers]), rng.choice(numbers)))
        options = (("incremental-between", f"{first},{last}"), ("incremental-between-scan-mode", mode))
        yield Read("rows", branch, options, kinds=mode != "diff")
        if mode != "diff":
            yield Read("audit_log", branch, options)


def _tagged(rng: Random, branch: str, tags: dict[str, int]) -> Iterator[Read]:
    """Yield the difference of two tags, which is read as a difference in every mode."""
    if len(tags) > 1:
        first, last = sorted(rng.sample(sorted(tags), 2), key=tags.__getitem__)
        mode = rng.choice(MODES)
        options = (("incremental-between", f"{first},{last}"), ("incremental-between-scan-mode", mode))
        yield Read("rows", branch, options)


# A single read


class Comparer:
    """The rows that Java returns for a read, and the table in frazil."""

    def __init__(self, history: History, read: Read, java: Rows, folder: Path) -> None:
        """Initialize without opening the table."""
        self._history = history
        self._read = read
        self._java = java
        self._folder = folder
        # A table column hides the metadata column of the same name.
        self._kinds = read.kinds and KIND not in dict(java.columns)

    def failures(self, rng: Random) -> list[Failure]:
        """Return all differences, or only one if the rows already differ."""
        try:
            rows = self._scan(self._all()).to_arrow()
        except Exception as error:  # noqa: BLE001 - Java reads it
            return [self._error("reading", error)]
        names = [name for name, _ in self._java.columns]
        if rows.schema.names[: len(names)] != names:
            return [self._failure("columns", f"frazil {rows.schema.names}\njava   {names}")]
        java: list[dict[str, Any]] = parse_expected(self._java.rows)
        if self._kinds:
            java = [{**row, KIND: kind} for row, kind in zip(java, self._java.kinds, strict=True)]
        form = Normal(self._history, rows.schema)
        difference = _difference(form.lines(canonical_rows(rows, FORM)), form.lines(java))
        if difference:
            return [self._failure("rows", difference)]
        return [*self._counted(len(java)), *self._filtered(rng, rows.schema, java, form)]

    def _all(self) -> tuple[str, ...]:
        return ("*", KIND) if self._kinds else ("*",)

    @cached_property
    def _table(self) -> Table:
        table: Any = frazil.load_table(self._folder, format="paimon")
        if self._read.branch != MAIN:
            table = table.with_branch(self._read.branch)
        if self._read.view != "rows":
            table = table.audit_log() if self._read.view == "audit_log" else table.read_optimized()
        return table

    def _scan(self, fields: Sequence[str], row_filter: str = "true") -> Scan:
        return self._table.scan(row_filter, fields, options=dict(self._read.options))

    def _counted(self, wanted: int) -> Iterator[Failure]:
        try:
            found = self._scan(("*",)).count()
        except Exception as error:  # noqa: BLE001 - the rows were read
            yield self._error("counting", error)
            return
        if found != wanted:
            yield self._failure("count", f"frazil {found}\njava   {wanted}")

    def _filtered(self, rng: Random, schema: pa.Schema, java: list[dict[str, Any]], form: Normal) -> Iterator[Failure]:
        columns = model_columns(schema)
        rows = [model_row(row, schema) for row in java]
        for _ in range(FILTERS):
            chosen = random_filter(rng, Choices(columns, rows, Limits()))
            if chosen is None:
                return
            names = [name for name in schema.names if name not in (KIND, "*") and "." not in name]
            names = rng.sample(names, rng.randint(min(1, len(names)), len(names)))
            wanted = [row for row, model in zip(java, rows, strict=True) if truth(chosen, model) is True]
            fields = (*names, KIND) if self._kinds else tuple(names)
            wanted = [{name: row[name] for name in fields} for row in wanted]
            asked = f"{fields} where {sql(chosen)}"
            try:
                found = canonical_rows(self._scan(fields, sql(chosen)).to_arrow(), FORM)
            except Exception as error:  # noqa: BLE001 - the rows were read
                yield self._error(asked, error)
                continue
            difference = _difference(form.lines(found), form.lines(wanted))
            if difference:
                uses = ", ".join(sorted(".".join(path) for path in paths_of(chosen)))
                yield self._failure("filter", f"{asked}\n(of {uses})\n{difference}")

    def _failure(self, what: str, text: str) -> Failure:
        return Failure(self._read, what, text)

    def _error(self, doing: str, error: Exception) -> Failure:
        return Failure(self._read, type(error).__name__, f"{doing}: {error}")


def _difference(frazil_lines: list[str], java_lines: list[str]) -> str | None:
    if frazil_lines == java_lines:
        return None
    ours, theirs = list(frazil_lines), list(java_lines)
    for line in frazil_lines:
        if line in theirs:
            theirs.remove(line)
            ours.remove(line)
    shown = [f"frazil {line}" for line in ours[:5]] + [f"java   {line}" for line in theirs[:5]]
    return "\n".join([f"frazil has {len(ours)} other rows, java {len(theirs)}", *shown])


class Normal:
    """Rows as sorted strings, in which the order of maps and of results of hash tables is ignored."""

    def __init__(self, history: History, schema: pa.Schema) -> None:
        """Initialize with the types of a schema."""
        options = history.options
        self._types = {field.name: field.type for field in schema}
        self._hashed = {
            key.removeprefix("fields.").removesuffix(".aggregate-function")
            for key, value in options.items()
            if key.endswith(".aggregate-function") and value in HASHED_FUNCTIONS
        }

    def lines(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return the rows as strings."""
        return sorted(self._line(row) for row in rows)

    def _line(self, row: dict[str, Any]) -> str:
        # The order of columns was already compared; a projection has its own order.
        return json.dumps({name: self._value(name, value) for name, value in row.items()}, sort_keys=True)

    def _value(self, name: str, value: Any) -> Any:
        kind = self._types.get(name)
        if kind is None:
            return value
        value = _sorted_maps(value, kind)
        return sorted(value, key=json.dumps) if name in self._hashed and isinstance(value, list) else value


def _sorted_maps(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        pairs = [[_sorted_maps(key, kind.key_type), _sorted_maps(item, kind.item_type)] for key, item in value]
        return sorted(pairs, key=json.dumps)
    if pa.types.is_list(kind):
        return [_sorted_maps(part, kind.value_type) for part in value]
    if pa.types.is_struct(kind) and value.keys() == {part.name for part in kind.fields}:
        return {part.name: _sorted_maps(value[part.name], part.type) for part in kind.fields}
    return value


# Rows in the form of `histories.filters`


def _integer(kind: pa.DataType) -> Simple:
    return Simple("long" if kind.bit_width == 64 else "int")


def _timestamp(kind: pa.DataType) -> Simple:
    zone = "" if kind.tz is None else "tz"
    return Simple(f"timestamp{zone}_ns" if kind.unit == "ns" else f"timestamp{zone}")


_SIMPLE: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], Simple], Callable[[Any], Any]]] = [
    (pa.types.is_boolean, lambda _: Simple("boolean"), bool),
    (lambda kind: pa.types.is_int32(kind) or pa.types.is_int64(kind), _integer, int),
    (pa.types.is_float32, lambda _: Simple("float"), float),
    (pa.types.is_float64, lambda _: Simple("double"), float),
    (pa.types.is_decimal, lambda kind: Simple("decimal", kind.precision, kind.scale), lambda value: Decimal(value[2:])),
    (pa.types.is_string, lambda _: Simple("string"), str),
    (pa.types.is_binary, lambda _: Simple("binary"), lambda value: bytes.fromhex(value[2:])),
    (pa.types.is_date, lambda _: Simple("date"), lambda value: dt.date.fromisoformat(value).toordinal() - 719163),
    (pa.types.is_timestamp, _timestamp, str),
]


def _simple(kind: pa.DataType) -> tuple[Simple, Callable[[Any], Any]] | None:
    found = next(((of, value) for is_it, of, value in _SIMPLE if is_it(kind)), None)
    return None if found is None else (found[0](kind), found[1])


def model_columns(fields: Iterable[pa.Field]) -> Struct:
    """Return the columns that filters can reference: columns of simple types, and structs of them."""
    found = []
    for at, field in enumerate(fields):
        simple = _simple(field.type)
        if field.name in (KIND, "rowkind") or holds_variants([field]):
            continue
        if simple:
            found.append(Field(at, field.name, simple[0]))
        elif pa.types.is_struct(field.type):
            found.append(Field(at, field.name, model_columns(field.type.fields)))
    return Struct(tuple(found))


def model_row(row: dict[str, Any], fields: Iterable[pa.Field]) -> dict[str, Any]:
    """Return a row of canonical values in the form that filters compare."""
    plain = (field for field in fields if not holds_variants([field]))
    return {field.name: _model_value(row.get(field.name), field.type) for field in plain}


def _model_value(value: Any, kind: pa.DataType) -> Any:
    simple = _simple(kind)
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return model_row(value, kind.fields)
    if pa.types.is_timestamp(kind):
        return _ticks(value, kind)
    return simple[1](value) if simple else value


def _ticks(value: str, kind: pa.DataType) -> int:
    whole, _, fraction = value.removesuffix("+00:00").partition(".")
    seconds = int((dt.datetime.fromisoformat(whole) - dt.datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001
    nanoseconds = seconds * 10**9 + int(fraction.ljust(9, "0") or 0)
    return nanoseconds if kind.unit == "ns" else nanoseconds // 1000

"""Generates random histories: `random_history(seed)` is deterministic."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

from histories.paimon.history import (
    MAIN,
    Alter,
    Branch,
    Column,
    Compact,
    Concurrently,
    DeletePositions,
    DropBranch,
    DropTag,
    Expire,
    FastForward,
    History,
    Move,
    Rollback,
    Step,
    Tag,
    Truncate,
    Type,
    Write,
)
from histories.paimon.known import comparable_key, comparable_sequence
from histories.paimon.tables import Plan, new_column, random_table
from histories.paimon.values import ATOMS, NUMBERS, TEXTS, atom, random_type, random_value

if TYPE_CHECKING:
    from collections.abc import Callable

POOL = 4
"""The number of distinct keys and partitions, which is small so that records collide."""


def random_history(seed: int) -> History:
    """Return the history of a seed."""
    rng = Random(seed)  # noqa: S311 - not a secret
    return history_of(rng, random_table(rng), seed)


def history_of(rng: Random, plan: Plan, seed: int) -> History:
    """Return a random history of a table."""
    create = plan.create()
    state = State(rng, plan)
    steps: list[Step] = [state.write()]
    steps += [state.step() for _ in range(rng.choice((1, 3, 5, 7, 10)))]
    return History(seed, create, tuple(steps))


@dataclass
class State:
    """The expected state of a table; Java may have rejected some changes."""

    rng: Random
    plan: Plan
    columns: list[Column] = field(init=False)
    pools: dict[str, list[Any]] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    branches: dict[str, list[Column]] = field(default_factory=dict)
    keys: list[dict[str, Any]] = field(default_factory=list)
    """The keys of most records."""
    writer: str = ""
    """The only writer of the main branch of a table with keys, if it stays open (`UNDEFINED_BETWEEN_WRITERS`)."""

    def __post_init__(self) -> None:
        """Start with the columns of the table."""
        self.columns = list(self.plan.columns)
        if self.plan.keys and self.rng.random() < 0.3:
            self.writer = "w1"
        if self.plan.keys and self.rng.random() < 0.8:
            of_key = [column for column in self.columns if column.name in self.plan.keys]
            made = ({column.name: self.rng.choice(self._pool(column)) for column in of_key} for _ in range(POOL))
            self.keys = list(made)

    def step(self) -> Step:
        """Return a random step."""
        choices: list[tuple[int, Callable[[], Step]]] = [
            (52, self.write),
            (14, self.compact),
            (12, self.alter),
            (0 if self.writer else 5, self.concurrently),
            (5, self.tag),
            (4, self.branch),
            (2, self.truncate),
            (2, self.rollback),
            (2, self.expire),
        ]
        if "deletion-vectors.enabled" in self.plan.options and not self.plan.keys:
            choices.append((15, self.delete_positions))
        if self.branches:
            choices += [(12, self.write_to_branch), (2, self.end_branch)]
        weights = [weight for weight, _ in choices]
        return self.rng.choices([make for _, make in choices], weights)[0]()

    # Rows

    def write(self) -> Write:
        """Return a write to the main branch."""
        rng = self.rng
        write = self._rows(self.columns)
        if self.writer:
            write = replace(write, writer=self.writer)
        elif not self.plan.keys and rng.random() < 0.25:
            write = replace(write, writer=rng.choice(("w1", "w2")))
        elif rng.random() < 0.15:
            write = replace(write, options=(("write-only", "true"),))
        elif rng.random() < 0.06:
            write = replace(write, overwrite=self._partition() if rng.random() < 0.5 else ())
        return write

    def write_to_branch(self) -> Write:
        """Return a write to a branch."""
        name = self.rng.choice(sorted(self.branches))
        return replace(self._rows(self.branches[name]), branch=name)

    def concurrently(self) -> Concurrently:
        """Return two writes that start from the same state; in tables with keys, their keys do not overlap."""
        writes = [self._rows(self.columns), self._rows(self.columns)]
        if self.plan.keys:
            first = self._key_set(writes[0])
            kept = tuple(row for row in writes[1].rows if self._key(writes[1].columns, row) not in first)
            writes[1] = replace(writes[1], rows=kept)
        write_only = (("write-only", "true"),) if self.rng.random() < 0.5 else ()
        return Concurrently(tuple(replace(write, options=write_only) for write in writes))

    def _key(self, columns: tuple[str, ...], row: tuple[Any, ...]) -> str:
        return repr([value for name, value in zip(columns, row[1:], strict=True) if name in self.plan.keys])

    def _key_set(self, write: Write) -> set[str]:
        return {self._key(write.columns, row) for row in write.rows}

    def _rows(self, columns: list[Column]) -> Write:
        rng = self.rng
        count = rng.choice((0, 1, 2, 3, 5, 8, 12)) if rng.random() < 0.96 else 150
        kinds = ("+I",) if rng.random() < 0.3 else self.plan.kinds
        nulls = rng.choice((0.0, 0.2, 0.5))
        rows = [(rng.choice(kinds), *self._record(columns, nulls)) for _ in range(count)]
        return Write(tuple(column.name for column in columns), tuple(rows))

    def _record(self, columns: list[Column], nulls: float) -> list[Any]:
        key = self.rng.choice(self.keys) if self.keys else {}
        return [key[column.name] if column.name in key else self._value(column, nulls) for column in columns]

    def _is_defined(self, column: Column, value: Any) -> bool:
        """Return whether implementations agree on the bucket of a row with the value, and on which of two rows wins."""
        options = self.plan.options
        if column.name in options.get("bucket-key", "").split(",") and column.type.root == "CHAR":
            return comparable_key(value, "CHAR")
        fields = options.get("sequence.field", "").split(",")
        return column.name not in fields or comparable_sequence(value)

    def _value(self, column: Column, nulls: float) -> Any:
        rng = self.rng
        if column.name == self.plan.options.get("rowkind.field"):
            return rng.choice(("+I", "+I", "+U", "-U", "-D"))
        if column.name in (*self.plan.keys, *self.plan.partitions):
            return rng.choice(self._pool(column))
        if column.type.root in ("INT", "BIGINT", "SMALLINT") and rng.random() < 0.5:
            return rng.randint(0, 5)
        value = random_value(rng, column.type, nulls)
        while not self._is_defined(column, value):
            value = random_value(rng, column.type, nulls)
        return value

    def _pool(self, column: Column) -> list[Any]:
        found = self.pools.get(column.name)
        if found is None:
            found = self.pools[column.name] = []
            while not found:
                values = [random_value(self.rng, column.type) for _ in range(POOL)]
                found += [value for value in values if comparable_key(value, column.type.root)]
        return found

    def _partition(self) -> tuple[tuple[str, str], ...]:
        """Return a partition as strings, if their form is known."""
        found = []
        for name in self.plan.partitions:
            value = self.rng.choice(self._pool(Column(name, self.plan.type_of(name))))
            if isinstance(value, str | int) and not isinstance(value, bool):
                found.append((name, str(value)))
        return tuple(found)

    # Files and references

    def compact(self) -> Compact:
        """Return a compaction."""
        branch = self.rng.choice(sorted(self.branches)) if self.branches and self.rng.random() < 0.2 else MAIN
        return Compact(full=self.rng.random() < 0.6, branch=branch)

    def delete_positions(self) -> DeletePositions:
        """Return a delete by position."""
        return DeletePositions(self.rng.choice((1, 2, 2, 3, 5)))

    def truncate(self) -> Truncate:
        """Return the removal of all rows or of a partition."""
        partition = self._partition()
        return Truncate((partition,) if partition and self.rng.random() < 0.7 else ())

    def tag(self) -> Step:
        """Return a step that creates or deletes a tag."""
        if self.tags and self.rng.random() < 0.2:
            return DropTag(self.rng.choice(self.tags))
        name = self.rng.choice(("t1", "t2", "2024-01-01", "a b", "é", "T1"))
        self.tags.append(name)
        return Tag(name, self.rng.choice((0, 0, 1)))

    def branch(self) -> Branch:
        """Return a new branch."""
        name = self.rng.choice(("b1", "b2", "é b", "x-y"))
        tag = self.rng.choice(self.tags) if self.tags and self.rng.random() < 0.7 else None
        self.branches.setdefault(name, list(self.columns))
        return Branch(name, tag)

    def end_branch(self) -> Step:
        """Return a step that deletes a branch, or makes it the main branch."""
        name = self.rng.choice(sorted(self.branches))
        columns = self.branches[name]
        if self.rng.random() < 0.5:
            self.columns = list(columns)
            return FastForward(name)
        del self.branches[name]
        return DropBranch(name)

    def rollback(self) -> Rollback:
        """Return a rollback."""
        if self.tags and self.rng.random() < 0.5:
            return Rollback(self.rng.choice(self.tags))
        return Rollback(self.rng.choice((1, 1, 2)))

    def expire(self) -> Expire:
        """Return an expiry."""
        return Expire(self.rng.choice((1, 2, 3)))

    # Schemas

    def alter(self) -> Alter:
        """Return a change of the schema."""
        branch = MAIN
        columns = self.columns
        if self.branches and self.rng.random() < 0.25:
            branch = self.rng.choice(sorted(self.branches))
            columns = self.branches[branch]
        change, arguments = Evolution(self.rng, self.plan, columns).change()
        return Alter(change, arguments, branch)


@dataclass
class Evolution:
    """Changes to a list of columns, which is updated too."""

    rng: Random
    plan: Plan
    columns: list[Column]

    def change(self) -> tuple[str, tuple[Any, ...]]:
        """Return the method of Java's SchemaChange and its arguments."""
        rng = self.rng
        choices: list[tuple[int, Callable[[], tuple[str, tuple[Any, ...]]]]] = [
            (25, self._add),
            (15, self._drop),
            (15, self._rename),
            (30, self._retype),
            (8, self._nullability),
            (10, self._move),
            (12, self._nested),
            (6, self._option),
        ]
        return rng.choices([make for _, make in choices], [weight for weight, _ in choices])[0]()

    @property
    def _avro(self) -> bool:
        return "avro" in str(self.plan.options)

    def _name(self) -> str:
        taken = {column.name for column in self.columns}
        return new_column(self.rng, taken | {name.lower() for name in taken}, avro=self._avro)

    def _free(self) -> list[int]:
        """Return the columns that are not referenced by keys or options."""
        bound = {*self.plan.keys, *self.plan.partitions, *self.plan.tied}
        return [at for at, column in enumerate(self.columns) if column.name not in bound]

    def _add(self) -> tuple[str, tuple[Any, ...]]:
        rng = self.rng
        kind = replace(random_type(rng, avro=self._avro), nullable=True)
        column = Column(self._name(), kind)
        if rng.random() < 0.6:
            self.columns.append(column)
            return "addColumn", (column.name, kind)
        self.columns.insert(0, column)
        return "addColumn", (column.name, kind, None, Move("first", (column.name,)))

    def _drop(self) -> tuple[str, tuple[Any, ...]]:
        free = self._free()
        if not free:
            return self._add()
        return "dropColumn", (self.columns.pop(self.rng.choice(free)).name,)

    def _rename(self) -> tuple[str, tuple[Any, ...]]:
        free = self._free()
        if not free:
            return self._add()
        at = self.rng.choice(free)
        old = self.columns[at]
        name = self._name()
        self.columns[at] = Column(name, old.type)
        return "renameColumn", (old.name, name)

    def _retype(self) -> tuple[str, tuple[Any, ...]]:
        bound = {*self.plan.keys, *self.plan.partitions}
        free = [at for at, column in enumerate(self.columns) if column.name not in bound and column.type.root in ATOMS]
        if self.rng.random() < 0.8:
            free = [at for at in free if at in self._free()]
        if not free:
            return self._add()
        at = self.rng.choice(free)
        old = self.columns[at]
        kind = replace(self._wider(old.type), nullable=old.type.nullable)
        self.columns[at] = Column(old.name, kind)
        return "updateColumnType", (old.name, kind)

    def _wider(self, kind: Type) -> Type:
        rng = self.rng
        order = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")
        if kind.root in order and rng.random() < 0.4:
            return Type(rng.choice(order[order.index(kind.root) :]))
        if kind.root in NUMBERS and rng.random() < 0.5:
            return atom(rng, (*NUMBERS, "STRING"))
        if kind.root in TEXTS and rng.random() < 0.6:
            return atom(rng, (*TEXTS, "BYTES"))
        if kind.root.startswith("TIMESTAMP") and rng.random() < 0.6:
            return Type(kind.root, (rng.choice((0, 3, 6, 9)),))
        return atom(rng, (*ATOMS, "STRING", "STRING"))

    def _nullability(self) -> tuple[str, tuple[Any, ...]]:
        free = self._free()
        if not free:
            return self._add()
        at = self.rng.choice(free)
        old = self.columns[at]
        nullable = not old.type.nullable if self.rng.random() < 0.7 else True
        self.columns[at] = Column(old.name, replace(old.type, nullable=nullable))
        return "updateColumnNullability", (old.name, nullable)

    def _move(self) -> tuple[str, tuple[Any, ...]]:
        at = self.rng.randrange(len(self.columns))
        column = self.columns.pop(at)
        if not self.columns or self.rng.random() < 0.4:
            self.columns.insert(0, column)
            return "updateColumnPosition", (Move("first", (column.name,)),)
        to = self.rng.randrange(len(self.columns))
        other = self.columns[to].name
        self.columns.insert(to + 1, column)
        return "updateColumnPosition", (Move("after", (column.name, other)),)

    def _nested(self) -> tuple[str, tuple[Any, ...]]:
        """Change a field of a row, which may be an array element or a map value."""
        rows = [at for at in self._free() if _row_in(self.columns[at].type)]
        if not rows:
            return self._add()
        at = self.rng.choice(rows)
        column = self.columns[at]
        change, arguments, kind = _nested_change(self.rng, (column.name,), column.type, self._avro)
        self.columns[at] = Column(column.name, kind)
        return change, arguments

    def _option(self) -> tuple[str, tuple[Any, ...]]:
        key, value = self.rng.choice(
            (
                ("num-sorted-run.compaction-trigger", "3"),
                ("file.format", "orc"),
                ("file.format", "avro"),
                ("file.format", "parquet"),
                ("write-only", "true"),
                ("metadata.stats-mode", "full"),
                ("ignore-delete", "true"),
                ("file-index.read.enabled", "false"),
            )
        )
        return "setOption", (key, value)


def _row_in(kind: Type) -> bool:
    if kind.root in ("ARRAY", "MAP"):
        return _row_in(kind.parts[-1])
    return kind.root == "ROW"


_STEPS = {"ARRAY": "element", "MAP": "value"}


def _nested_change(
    rng: Random,
    path: tuple[str, ...],
    kind: Type,
    avro: bool,  # noqa: FBT001
) -> tuple[str, tuple[Any, ...], Type]:
    """Return a change below a path, and the resulting type."""
    if kind.root in _STEPS:
        change, arguments, inner = _nested_change(rng, (*path, _STEPS[kind.root]), kind.parts[-1], avro)
        return change, arguments, replace(kind, parts=(*kind.parts[:-1], inner))
    at = rng.randrange(len(kind.names))
    if _row_in(kind.parts[at]) and rng.random() < 0.5:
        change, arguments, inner = _nested_change(rng, (*path, kind.names[at]), kind.parts[at], avro)
        return change, arguments, replace(kind, parts=(*kind.parts[:at], inner, *kind.parts[at + 1 :]))
    chosen = rng.random()
    name = new_column(rng, {*kind.names, *map(str.lower, kind.names)}, avro=avro)
    if chosen < 0.45 or len(kind.names) == 1:
        added = replace(random_type(rng, 1, avro=True), nullable=True)
        grown = replace(kind, parts=(*kind.parts, added), names=(*kind.names, name))
        return "addColumn", ((*path, name), added, None, None), grown
    if chosen < 0.7:
        names = (*kind.names[:at], name, *kind.names[at + 1 :])
        return "renameColumn", ((*path, kind.names[at]), name), replace(kind, names=names)
    if chosen < 0.85 or kind.parts[at].parts:
        names = kind.names[:at] + kind.names[at + 1 :]
        fewer = replace(kind, parts=kind.parts[:at] + kind.parts[at + 1 :], names=names)
        return "dropColumn", ((*path, kind.names[at]),), fewer
    order = ("TINYINT", "SMALLINT", "INT", "BIGINT")
    old = kind.parts[at]
    wide = Type(rng.choice(order[order.index(old.root) :])) if old.root in order else Type("STRING")
    wide = replace(wide, nullable=old.nullable)
    changed = replace(kind, parts=(*kind.parts[:at], wide, *kind.parts[at + 1 :]))
    return "updateColumnType", ((*path, kind.names[at]), wide, True), changed

"""Generates random histories, in which each step is based on the state that a handle sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from histories.filters import Choices, Filter, random_filter
from histories.iceberg import evolving
from histories.iceberg.history import (
    Append,
    BadRows,
    Batch,
    Clause,
    Coalesce,
    Column,
    Constant,
    Delete,
    DynamicOverwrite,
    Evolution,
    Expression,
    Load,
    Merge,
    Overwrite,
    Read,
    ReadAppends,
    Rewrite,
    Step,
    Transaction,
    Update,
    Upsert,
)
from histories.inputs import KINDS, Source
from histories.types import Field, Simple, Struct, leaves
from histories.values import random_field, random_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from histories.iceberg.run import World
    from histories.iceberg.state import State
    from histories.iceberg.tables import Profile


@dataclass(frozen=True)
class Draw:
    """The input for a random step: random numbers, the profile of the history, the visible state, and the handle."""

    random: Random
    profile: Profile
    state: State
    handle: int

    @property
    def branch(self) -> str:
        """Return a branch, mostly `main`."""
        branches = [name for name, ref in self.state.refs.items() if not ref.is_tag and name != "main"]
        return self.random.choice(branches) if branches and self.random.random() < 0.3 else "main"

    def where(self, branch: str = "main") -> Filter | None:
        return random_filter(self.random, Choices(self.state.columns, self.state.rows(branch), self.profile.limits))

    @property
    def source(self) -> Source:
        """Return the form in which rows are passed."""
        return Source(self.random.choice(KINDS), self.random.random() < 0.4, self.random.randrange(10**6))

    def row(self, columns: Struct) -> dict[str, Any]:
        """Return a new row; ids repeat often."""
        found = {f.name: random_field(self.random, f, self.profile.limits) for f in columns.fields}
        if "id" in found and self.random.random() < 0.8:
            found["id"] = self.random.randrange(40)
        return found

    def batch(self, most: int = 12) -> Batch:
        """Return rows for all columns, or for the required ones and some others."""
        columns = self.state.columns
        if self.random.random() < 0.15:
            kept = tuple(f for f in columns.fields if f.required or f.name == "id" or self.random.random() < 0.7)
            columns = Struct(kept)
        if self.random.random() < 0.2:
            columns = Struct(tuple(self.random.sample(columns.fields, len(columns.fields))))
        count = self.random.choice((0, 1, 2, 5, most))
        rows = [self.row(columns) for _ in range(count)]
        return Batch(columns, tuple(rows), self.source)


def random_step(random: Random, profile: Profile, world: World) -> Step:
    """Return a step for one of the handles."""
    handle = random.choice((0, 0, 0, 1, 2))
    draw = Draw(random, profile, world.seen(handle), handle)
    if draw.state.shape != world.state.shape:
        # Rows written with an old schema are matched by field id, which the model does not track.
        return random.choice((Load(handle), _read(draw)))
    if not draw.state.snapshots and draw.state is world.state:
        return random.choice((_append, _append, _append, evolving.random_evolution))(draw)
    kind = random.choices([step for step, _ in STEPS], [weight for _, weight in STEPS])[0]
    step = kind(draw)
    # Evolution on a stale handle may be based on the old state, and transactions can evolve too.
    return Load(handle) if isinstance(step, Evolution | Transaction) and draw.state is not world.state else step


def _append(draw: Draw) -> Step:
    return Append(draw.handle, draw.batch(), draw.branch)


def _overwrite(draw: Draw) -> Step:
    branch = draw.branch
    where = draw.where(branch) if draw.random.random() < 0.8 else None
    return Overwrite(draw.handle, draw.batch(6), where, branch)


def _dynamic(draw: Draw) -> Step:
    return DynamicOverwrite(draw.handle, draw.batch(4), draw.branch)


def _delete(draw: Draw) -> Step:
    branch = draw.branch
    return Delete(draw.handle, draw.where(branch) if draw.random.random() < 0.9 else None, branch)


def _update(draw: Draw) -> Step:
    branch = draw.branch
    where = draw.where(branch) if draw.random.random() < 0.85 else None
    values = _assignments(draw, list(leaves(draw.state.columns)), {(): draw.state.columns})
    return Update(draw.handle, values, where, branch) if values else Delete(draw.handle, where, branch)


def _assignments(
    draw: Draw, targets: list[tuple[tuple[str, ...], Simple]], sides: dict[tuple[str, ...], Struct]
) -> tuple[tuple[tuple[str, ...], Expression], ...]:
    """Return values for one or two of the columns. Expressions qualify columns by the keys of `sides`."""
    chosen = draw.random.sample(targets, min(len(targets), draw.random.choice((1, 1, 2))))
    given = [((*prefix, *path), kind) for prefix, columns in sides.items() for path, kind in leaves(columns)]
    return tuple((path, _expression(draw, kind, [p for p, k in given if k == kind])) for path, kind in chosen)


def _expression(draw: Draw, kind: Simple, same: list[tuple[str, ...]]) -> Expression:
    value = random_value(draw.random, kind, draw.profile.limits)
    match draw.random.choice(("constant", "null", "column", "coalesce")):
        case "column" if same:
            return Column(draw.random.choice(same))
        case "coalesce" if same and kind.name != "fixed":
            return Coalesce(draw.random.choice(same), kind, value)
        case "null" if draw.random.random() < 0.5:
            return Constant(kind, None)
    return Constant(kind, value)


def _keys(draw: Draw, columns: Struct) -> tuple[str, ...]:
    simple = [f.name for f in columns.fields if isinstance(f.type, Simple)]
    if "id" in simple and draw.random.random() < 0.75:
        return ("id",)
    return tuple(draw.random.sample(simple, min(len(simple), draw.random.choice((1, 2)))))


def _held_batch(draw: Draw, branch: str) -> Batch:
    """Return rows of which some are rows of the table, or similar to them."""
    batch = draw.batch(8)
    known = draw.state.rows(branch)
    rows = []
    for row in batch.rows:
        if known and draw.random.random() < 0.6:
            old = draw.random.choice(known)
            keep = draw.random.choice((1.0, 0.5))
            rows.append({name: old[name] if draw.random.random() < keep else value for name, value in row.items()})
        else:
            rows.append(row)
    return Batch(batch.columns, tuple(rows), batch.source)


def _upsert(draw: Draw) -> Step:
    branch = draw.branch
    batch = _held_batch(draw, branch)
    keys = _keys(draw, batch.columns)
    if not keys:
        return Append(draw.handle, batch, branch)
    if draw.random.random() < 0.85:
        unique = {repr([row[name] for name in keys]): row for row in batch.rows}
        batch = Batch(batch.columns, tuple(unique.values()), batch.source)
    flags = draw.random.choice(((True, True), (True, True), (True, False), (False, True)))
    return Upsert(draw.handle, batch, keys, *flags, branch)


def _merge(draw: Draw) -> Step:
    branch = draw.branch
    batch = _held_batch(draw, branch)
    keys = _keys(draw, batch.columns)
    if not keys:
        return Append(draw.handle, batch, branch)
    if draw.random.random() < 0.7:
        unique = {repr([row[name] for name in keys]): row for row in batch.rows}
        batch = Batch(batch.columns, tuple(unique.values()), batch.source)
    clauses = [clause for when in MERGED for clause in _clauses(draw, when, batch.columns)]
    if not clauses:
        clauses = [Clause("matched", "delete")]
    return Merge(draw.handle, batch, keys, tuple(clauses), draw.random.random() < 0.3, branch)


MERGED = {
    "matched": ("update", "update_all", "delete"),
    "not_matched": ("insert", "insert_all"),
    "not_matched_by_source": ("update", "delete"),
}


def _clauses(draw: Draw, when: str, source: Struct) -> list[Clause]:
    sides = {("target",): draw.state.columns, ("source",): source}
    if when == "not_matched":
        del sides["target",]
    if when == "not_matched_by_source":
        del sides["source",]
    env = Struct(tuple(Field(0, prefix[0], columns) for prefix, columns in sides.items()))
    found = []
    for last in (False, True):
        if draw.random.random() < 0.45:
            condition = None if last else random_filter(draw.random, Choices(env, (), draw.profile.limits), 1)
            if condition is not None or last:
                action = draw.random.choice(MERGED[when])
                values = _clause_values(draw, action, sides) if action in ("update", "insert") else ()
                if values or action not in ("update", "insert"):
                    found.append(Clause(when, action, condition, values))
    return found


def _clause_values(draw: Draw, action: str, sides: dict[tuple[str, ...], Struct]) -> Any:
    columns = draw.state.columns
    targets = list(leaves(columns))
    if action == "insert":
        targets = [(path, kind) for path, kind in targets if len(path) == 1]
    return _assignments(draw, targets, sides)


BAD = {
    "int": (1.5, "x", 2**31, b"1"),
    "long": (1.5, "x", 2**63),
    "float": (1e300, "x"),
    "string": (b"abc", 1),
    "date": ("x",),
    "boolean": ("x", 2),
    "binary": (1,),
}


def _bad_rows(draw: Draw) -> Step:
    columns = draw.state.columns
    fitting = [f for f in columns.fields if isinstance(f.type, Simple) and f.type.name in BAD]
    rows = tuple(draw.row(columns) for _ in range(3))
    if not fitting:
        return Append(draw.handle, Batch(columns, rows))
    bad = draw.random.choice(fitting)
    assert isinstance(bad.type, Simple)
    operation = draw.random.choice(("append", "overwrite", "upsert", "merge"))
    value = draw.random.choice(BAD[bad.type.name])
    return BadRows(draw.handle, Batch(columns, rows), bad.name, value, operation)


def _load(draw: Draw) -> Step:
    return Load(draw.handle)


def _transaction(draw: Draw) -> Step:
    kinds = (_append, _append, _overwrite, _delete, _update, _upsert, _merge, evolving.random_evolution)
    steps = tuple(draw.random.choice(kinds)(draw) for _ in range(draw.random.randint(1, 3)))
    meanwhile: tuple[Step, ...] = ()
    if draw.random.random() < 0.3:
        # As in Java, rows that an upsert or overwrite matches without changing may be deleted concurrently.
        leaves = any(isinstance(step, (Overwrite, Upsert, Merge)) for step in steps)
        meanwhile = (draw.random.choice((_append,) if leaves else (_append, _delete, _update))(draw),)
    return Transaction(draw.handle, steps, meanwhile)


def _rewrite(draw: Draw) -> Step:
    branch, random = draw.branch, draw.random
    where = draw.where(branch) if random.random() < 0.3 else None
    kinds = random.sample((_append, _delete, _update, _dynamic), random.choice((0, 0, 1, 2)))
    meanwhile = tuple(kind(draw) for kind in kinds)
    return Rewrite(draw.handle, where, random.random() < 0.5, random.choice((None, None, 1000)), branch, meanwhile)


def _read(draw: Draw) -> Step:
    random, state = draw.random, draw.state
    where = draw.where() if random.random() < 0.8 else None
    choice: tuple[str, Any] | None = None
    if state.snapshots and random.random() < 0.4:
        choice = random.choice(
            [
                ("snapshot", random.randrange(len(state.snapshots))),
                *([("ref", random.choice(sorted(state.refs)))] if state.refs else []),
                *([("as_of", random.randrange(len(state.log)))] if state.log else []),
            ]
        )
        where = _where_of(draw, choice)
    fields = None
    if choice is None and random.random() < 0.4:
        fields = _fields(draw)
    limit = random.choice((None, None, None, 0, 1, 3))
    insensitive = choice is None and random.random() < 0.2 and _can_swap(state.columns)
    return Read(draw.handle, where, fields, choice, limit, not insensitive)


def _where_of(draw: Draw, choice: tuple[str, Any]) -> Filter | None:
    state = draw.state
    kind, value = choice
    if kind == "as_of" or draw.random.random() < 0.3:
        return None
    ref = state.refs.get(value) if kind == "ref" else None
    snapshot = state.snapshots[value if ref is None else ref.snapshot]
    columns = state.columns if ref is not None and not ref.is_tag else snapshot.columns
    return random_filter(draw.random, Choices(columns, snapshot.read(columns), draw.profile.limits))


def _fields(draw: Draw) -> tuple[tuple[str, ...], ...] | None:
    columns = draw.state.columns
    paths = [(f.name,) for f in columns.fields] + [path for path, _ in leaves(columns) if len(path) > 1]
    plain = [path for path in paths if all(name.isidentifier() for name in path)]
    chosen = draw.random.sample(plain, min(len(plain), draw.random.randint(1, 3)))
    return tuple(sorted(chosen)) or None


def _can_swap(columns: Struct) -> bool:
    names = columns.names
    inner = [f.type for f in columns.fields if isinstance(f.type, Struct)]
    return (
        all(name.isascii() for name in names)
        and len({name.lower() for name in names}) == len(names)
        and all(map(_can_swap, inner))
    )


def _read_appends(draw: Draw) -> Step:
    count = len(draw.state.ancestors(draw.state.place_of("main")))
    if not count:
        return _read(draw)
    last = draw.random.randrange(count)
    first = draw.random.choice((None, draw.random.randrange(last))) if last else None
    return ReadAppends(draw.handle, first, last, draw.where() if draw.random.random() < 0.5 else None)


STEPS: list[tuple[Callable[[Draw], Step], int]] = [
    (_append, 10),
    (_overwrite, 5),
    (_dynamic, 4),
    (_delete, 9),
    (_update, 9),
    (_upsert, 8),
    (_merge, 10),
    (_bad_rows, 2),
    (evolving.random_evolution, 14),
    (evolving.random_reference, 6),
    (_transaction, 6),
    (_rewrite, 8),
    (_read, 14),
    (_read_appends, 3),
    (_load, 2),
]

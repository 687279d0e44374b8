"""A history as plain data: a schema, and steps that change the table.

A history says what is asked of Java, not what comes of it: Java may reject a step, which then changes nothing. Values
are Python's, except dates, times and timestamps, which are ISO text, so that a history can be printed and evaluated
again. `str(history)` is Python code that imports nothing but this module.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias

NESTED = ("ARRAY", "MAP", "MULTISET", "ROW")
MAIN = "main"
WIDTH = 120

Options: TypeAlias = tuple[tuple[str, str], ...]
Record: TypeAlias = tuple[Any, ...]
"""The kind of a row (`+I`, `-U`, `+U`, `-D`) and its values."""


@dataclass(frozen=True)
class Type:
    """A type of Paimon: `Type("DECIMAL", (5, 2))`, `Type("ROW", parts=(Type("INT"),), names=("a",))`."""

    root: str
    numbers: tuple[int, ...] = ()
    nullable: bool = True
    parts: tuple[Type, ...] = ()
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the type as in Paimon's SQL, names without quotes."""
        inner = [str(part) for part in self.parts]
        if self.root == "ROW":
            inner = [f"{name} {part}" for name, part in zip(self.names, inner, strict=True)]
        text = f"{self.root}<{', '.join(inner)}>" if inner else self.root
        zone = " WITH LOCAL TIME ZONE"
        if text.endswith(zone):
            text = f"TIMESTAMP({self.numbers[0]}){zone}"
        elif self.numbers:
            text = f"{text}({', '.join(map(str, self.numbers))})"
        return text if self.nullable else f"{text} NOT NULL"


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    type: Type


@dataclass(frozen=True)
class Create:
    """The table."""

    columns: tuple[Column, ...]
    primary_keys: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Options = ()


@dataclass(frozen=True)
class Write:
    """A commit of rows.

    Columns that are not named are NULL, and so are values of another type; columns that the table does not have are
    left out: Java may have rejected a change of the schema.
    """

    columns: tuple[str, ...]
    rows: tuple[Record, ...]
    writer: str = ""
    """The writer that is used; it stays open between commits. Without a name it is used once."""
    branch: str = MAIN
    options: Options = ()
    """Options of the table for this commit, such as `write-only`."""
    overwrite: tuple[tuple[str, str], ...] | None = None
    """The partition that is replaced; () replaces by `dynamic-partition-overwrite`."""


@dataclass(frozen=True)
class Concurrently:
    """Writes of which each is prepared on the same state; then they are committed in turn."""

    writes: tuple[Write, ...]


@dataclass(frozen=True)
class Compact:
    """A compaction of all buckets."""

    full: bool = True
    branch: str = MAIN


@dataclass(frozen=True)
class DeletePositions:
    """Deletion vectors for some rows of an append table: those whose position is a multiple of `every`."""

    every: int


@dataclass(frozen=True)
class Move:
    """Where a column is put: `first`, `last`, or `after` or `before` another one."""

    place: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Alter:
    """A change of the schema: the method of Java's SchemaChange, and its arguments. A tuple is a nested column."""

    change: str
    arguments: tuple[Any, ...]
    branch: str = MAIN


@dataclass(frozen=True)
class Tag:
    """A tag on the snapshot that is `back` before the newest one."""

    name: str
    back: int = 0


@dataclass(frozen=True)
class DropTag:
    """The end of a tag."""

    name: str


@dataclass(frozen=True)
class Branch:
    """A branch, empty or from a tag."""

    name: str
    tag: str | None = None


@dataclass(frozen=True)
class DropBranch:
    """The end of a branch."""

    name: str


@dataclass(frozen=True)
class FastForward:
    """The main branch takes the state of a branch."""

    branch: str


@dataclass(frozen=True)
class Rollback:
    """The table goes back by some snapshots, or to a tag."""

    to: int | str


@dataclass(frozen=True)
class Expire:
    """Only the newest snapshots are kept."""

    retain: int


@dataclass(frozen=True)
class Truncate:
    """The rows of some partitions are removed, or all rows."""

    partitions: tuple[tuple[tuple[str, str], ...], ...] = ()


@dataclass(frozen=True)
class Ours:
    """A step that frazil carries out, not Java."""

    step: Write | Compact | Truncate


Step: TypeAlias = (
    Write
    | Ours
    | Concurrently
    | Compact
    | DeletePositions
    | Alter
    | Tag
    | DropTag
    | Branch
    | DropBranch
    | FastForward
    | Rollback
    | Expire
    | Truncate
)


@dataclass(frozen=True)
class History:
    """A table and what happened to it; `seed` says which random choices made it and choose how it is read."""

    seed: int
    create: Create
    steps: tuple[Step, ...] = field(default=())

    def __str__(self) -> str:
        """Return Python code that makes the history."""
        return code(self)

    @property
    def options(self) -> dict[str, str]:
        """The options of the table when it was created."""
        return dict(self.create.options)


def code(value: Any, indent: str = "") -> str:
    """Return Python code that makes a value, without arguments that are the defaults; long code on several lines."""
    if is_dataclass(value):
        given = [(part.name, getattr(value, part.name)) for part in fields(value) if not _is_default(value, part)]
        opened, closed = f"{type(value).__name__}(", ")"
        parts = [(f"{name}=", part) for name, part in given]
    elif isinstance(value, tuple):
        opened, closed = "(", ",)" if len(value) == 1 else ")"
        parts = [("", part) for part in value]
    else:
        return repr(value)
    line = opened + ", ".join(name + code(part) for name, part in parts) + closed
    if len(indent) + len(line) <= WIDTH or not parts:
        return line
    deeper = f"{indent}    "
    return "\n".join([opened, *(f"{deeper}{name}{code(part, deeper)}," for name, part in parts), f"{indent})"])


def _is_default(value: Any, part: Any) -> bool:
    return part.default is not MISSING and getattr(value, part.name) == part.default

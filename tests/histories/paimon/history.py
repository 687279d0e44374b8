"""A history as plain data: a schema, and steps that change the table.

A history records the requests to Java, not their results: Java may reject a step, which then has no effect. Values are
Python values, except dates, times and timestamps, which are ISO strings, so that a history can be printed and evaluated
again. `str(history)` is Python code that imports only this module.
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
    """A Paimon type: `Type("DECIMAL", (5, 2))`, `Type("ROW", parts=(Type("INT"),), names=("a",))`."""

    root: str
    numbers: tuple[int, ...] = ()
    nullable: bool = True
    parts: tuple[Type, ...] = ()
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the type in Paimon's SQL, with unquoted names."""
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
    """The creation of the table."""

    columns: tuple[Column, ...]
    primary_keys: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Options = ()


@dataclass(frozen=True)
class Write:
    """A commit of rows.

    Columns without a value are NULL, and so are values of another type; columns that the table does not have are
    ignored, because Java may have rejected a schema change.
    """

    columns: tuple[str, ...]
    rows: tuple[Record, ...]
    writer: str = ""
    """The writer to use, which stays open between commits; without a name it is used once."""
    branch: str = MAIN
    options: Options = ()
    """Table options for this commit, such as `write-only`."""
    overwrite: tuple[tuple[str, str], ...] | None = None
    """The partition that is replaced; () replaces by `dynamic-partition-overwrite`."""


@dataclass(frozen=True)
class Concurrently:
    """Writes that are all prepared on the same state, and then committed in turn."""

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
    """The target position of a column: `first`, `last`, or `after` or `before` another one."""

    place: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Alter:
    """A schema change: the method of Java's SchemaChange and its arguments. A tuple is a nested column."""

    change: str
    arguments: tuple[Any, ...]
    branch: str = MAIN


@dataclass(frozen=True)
class Tag:
    """A tag of the snapshot that is `back` snapshots before the latest one."""

    name: str
    back: int = 0


@dataclass(frozen=True)
class DropTag:
    """The deletion of a tag."""

    name: str


@dataclass(frozen=True)
class Branch:
    """A branch, empty or from a tag."""

    name: str
    tag: str | None = None


@dataclass(frozen=True)
class DropBranch:
    """The deletion of a branch."""

    name: str


@dataclass(frozen=True)
class FastForward:
    """The main branch is fast-forwarded to a branch."""

    branch: str


@dataclass(frozen=True)
class Rollback:
    """The table is rolled back by some snapshots, or to a tag."""

    to: int | str


@dataclass(frozen=True)
class Expire:
    """The expiry of all but the latest snapshots."""

    retain: int


@dataclass(frozen=True)
class Truncate:
    """The removal of the rows of some partitions, or of all rows."""

    partitions: tuple[tuple[tuple[str, str], ...], ...] = ()


@dataclass(frozen=True)
class Ours:
    """A step that frazil performs instead of Java."""

    step: Write | Compact | Truncate | Tag | DropTag | Branch | DropBranch | FastForward | Rollback | Expire


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
    """A table and its steps; `seed` identifies the random choices that generated them and determine the reads."""

    seed: int
    create: Create
    steps: tuple[Step, ...] = field(default=())

    def __str__(self) -> str:
        """Return Python code that creates the history."""
        return code(self)

    @property
    def options(self) -> dict[str, str]:
        """Return the options of the table at its creation."""
        return dict(self.create.options)


def code(value: Any, indent: str = "") -> str:
    """Return Python code that creates a value, without default arguments; long code is split into lines."""
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

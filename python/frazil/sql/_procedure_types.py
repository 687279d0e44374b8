"""The definition of a CALL procedure: its parameters, result columns and action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.sql._reader import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from frazil.sql._names import LakeCatalog, Names
    from frazil.sql._sources import Source

__all__ = ["Context", "Kind", "Parameter", "Procedure", "Rows", "by_name", "on_table"]

Rows = list[tuple[Any, ...]]

Kind = Literal[
    "string", "int", "bigint", "boolean", "timestamp", "map<string,string>", "array<bigint>", "array<string>"
]

Support = Literal["yes", "no", "tuning"]
"""How a parameter is handled.

`yes`: the effect is that of the Java library. `no`: only the default is accepted. `tuning`: the parameter tunes Java's
execution, does not change the result, and is ignored.
"""


class _Engine(Protocol):
    def query(self, text: str, sources: Sequence[Source]) -> Any: ...

    def values(self, texts: Sequence[str]) -> list[Any]: ...

    def is_case_sensitive(self) -> bool: ...

    def timestamp_has_zone(self) -> bool: ...

    def create_view(
        self, frame: Any, name: str, columns: Sequence[str] | None, *, replaces: bool, is_global: bool
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Context:
    """The catalog in which a procedure is called, and the engine of the lake."""

    names: Names
    catalog: LakeCatalog
    engine: _Engine

    def levels(self, name: str) -> tuple[str, ...]:
        """Return the levels of a table name in the catalog; the catalog's own name may precede it."""
        reader = Reader(name)
        parts = reader.name("the name of a table").parts
        reader.end()
        if len(parts) > 1 and parts[0] == self.catalog.name:
            return parts[1:]
        is_current = len(parts) == 1 and self.names.current is self.catalog
        return (*self.names.namespace, *parts) if is_current else parts

    def table(self, name: str) -> Any:
        """Load a table of the catalog.

        Raises:
            NoSuchTableError: The table does not exist.
        """
        return self.catalog.catalog.load_table(self.levels(name))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a procedure."""

    name: str
    kind: Kind
    required: bool = False
    default: Any = None
    """The value that Java uses if the argument is missing or NULL; None if Java has no default."""
    support: Support = "yes"

    def check(self, procedure: str, value: Any) -> None:
        """Check an argument that is not NULL.

        Raises:
            UnsupportedError: The parameter is not supported, and the value is not its default.
            InvalidArgumentError: A number that tunes the execution is not positive.
        """
        if self.support == "no" and _folded(value) != _folded(self.default):
            message = f"{procedure}: the argument {self.name} is not supported"
            raise UnsupportedError(message, hint=f"omit {self.name}")
        if self.support == "tuning" and self.kind == "int" and value <= 0:
            message = f"{procedure}: the argument {self.name} must be positive, not {value}"
            raise InvalidArgumentError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """A procedure, with the parameters and result columns of the Java class."""

    name: str
    parameters: tuple[Parameter, ...]
    columns: tuple[str, ...]
    """The columns of the result, each as name and SQL type, with NOT NULL if it is required."""
    act: Callable[[Context, Mapping[str, Any]], Rows] | None = None
    """The action; None if the procedure is not supported.

    It receives the arguments that are not NULL, by name, and returns the rows of the result.
    """
    instead: str | None = None
    """The hint of the error for an unsupported procedure."""
    blank_is_null: bool = False
    """Whether a blank string is treated as NULL."""

    def run(self, context: Context, given: Mapping[str, Any]) -> Rows:
        """Run the procedure with evaluated arguments.

        Raises:
            InvalidArgumentError: A required argument is NULL, or an argument is invalid.
            UnsupportedError: An argument is not supported.
        """
        assert self.act is not None  # noqa: S101 - the lookup rejects procedures without an action
        found = {name: value for name, value in given.items() if not self._is_null(value)}
        for parameter in self.parameters:
            if parameter.name in found:
                parameter.check(self.name, found[parameter.name])
            elif parameter.required:
                message = f"the argument {parameter.name} must not be NULL"
                raise InvalidArgumentError(message)
            elif parameter.default is not None:
                found[parameter.name] = parameter.default
        return self.act(context, found)

    def _is_null(self, value: Any) -> bool:
        return value is None or (self.blank_is_null and isinstance(value, str) and not value.strip())


def by_name(*procedures: Procedure) -> dict[str, Procedure]:
    """Return procedures by name."""
    return {one.name: one for one in procedures}


def on_table(act: Callable[[Any, Mapping[str, Any]], Rows]) -> Callable[[Context, Mapping[str, Any]], Rows]:
    """Return an action that loads the table in the argument `table` and passes it to `act`."""
    return lambda context, given: act(context.table(given["table"]), given)


def _folded(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value

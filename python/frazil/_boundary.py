"""The boundary to native code: converts panics to `InternalError` and adds the operation and the table."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from frazil.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

__all__ = ["guarded", "operation", "operation_of"]

_PANIC = ("pyo3_runtime", "PanicException")
"""The exception for a panic in native code that was not converted to a frazil error; it is not even an `Exception`."""


class _OfTable(Protocol):
    def _place(self) -> str: ...


Of = TypeVar("Of", bound=_OfTable)
Item = TypeVar("Item")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


@contextlib.contextmanager
def operation(name: str, place: Callable[[], str]) -> Iterator[None]:
    """Add the operation and the table location to an `InternalError`, and convert a panic to one."""
    try:
        yield
    except InternalError as error:
        if "operation" in error.context:
            raise
        raise _located(error, name, place) from error
    except BaseException as error:
        if (type(error).__module__, type(error).__name__) != _PANIC:
            raise
        bug = InternalError(f"panic: {error}", hint="this is a bug in frazil; please report it")
        raise _located(bug, name, place) from error


def operation_of(
    method: Callable[Concatenate[Of, Parameters], Result],
) -> Callable[Concatenate[Of, Parameters], Result]:
    """Decorate a method so that its errors are handled by `operation`, with the name of the method."""

    @functools.wraps(method)
    def guarded_method(self: Of, /, *arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        with operation(method.__name__, self._place):
            return method(self, *arguments, **options)

    return guarded_method


def guarded(name: str, place: Callable[[], str], items: Iterable[Item]) -> Generator[Item, None, None]:
    """Yield the items; errors of each step of the iteration are handled as by `operation`."""
    with operation(name, place):
        yield from items


def _located(error: InternalError, name: str, place: Callable[[], str]) -> InternalError:
    table = place()
    context = {**error.context, "operation": name, "table": table}
    return InternalError(f"{name} of table {table} failed: {error.message}", context=context, hint=error.hint)

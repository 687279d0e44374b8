"""Errors of the data source, which Spark shows with the traceback of the process that raised them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from frazil.errors import FrazilError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["short_errors"]

P = ParamSpec("P")
R = TypeVar("R")


def short_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Let a method raise errors without the traceback of this package, which would hide their sentence."""

    @functools.wraps(function)
    def wrapped(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return function(*arguments, **options)
        except FrazilError as error:
            raise error.with_traceback(None) from None

    return wrapped

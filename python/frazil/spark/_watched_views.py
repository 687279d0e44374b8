"""Notices of the temporary views that a user creates of a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

__all__ = ["watch_views"]

_METHODS = ("createOrReplaceTempView", "createTempView", "registerTempTable")


def watch_views(frame: DataFrame, created: Callable[[str], None]) -> None:
    """Call a function with the name of each temporary view of a DataFrame, after the view is created.

    The methods of this object are replaced. DataFrames that are derived from it keep those of their class.
    """
    for method in _METHODS:
        own = getattr(frame, method, None)
        if own is not None:
            vars(frame)[method] = _watched(own, created)


def _watched(own: Callable[[str], None], created: Callable[[str], None]) -> Callable[[str], None]:
    def create(name: str) -> None:
        own(name)
        created(name)

    create.__doc__ = own.__doc__
    return create

"""Temporary views of queries of a lake, which read the latest states of tables, like views in Spark.

A view in Spark is a text, but the engine only knows the tables of a lake at fixed states. Before a statement reads a
view, the query of the view is therefore run again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic

from frazil.sql._engine import Frame
from frazil.sql._lexer import Lexed
from frazil.sql._references import names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from frazil.sql._engine import Args, Engine
    from frazil.sql._names import Names

__all__ = ["View", "Views"]

_DEFINITIONS = ("CACHE", "CREATE", "DROP", "REFRESH", "UNCACHE")
"""The first words of statements that may name a view without reading it."""


@dataclass(frozen=True, slots=True)
class View(Generic[Frame]):
    """The query of a temporary view, with all that it was run with."""

    text: str
    args: Args
    engine: Engine[Frame]
    names: Names
    """The current catalog and namespace when the view was created."""
    frame: Frame
    """The rows that the engine knows under the name of the view."""
    columns: Sequence[str] | None = None
    """Other names for its columns."""


@dataclass(slots=True)
class Views(Generic[Frame]):
    """The views that were created in a lake."""

    _views: dict[str, View[Frame]] = field(default_factory=dict)
    _running: set[str] = field(default_factory=set)

    def add(self, name: str, view: View[Frame]) -> None:
        """Keep the query of a view, unless it reads a view of the same name, which it replaces."""
        if (name.lower(),) in _lower(view.text):
            self._views.pop(name.lower(), None)
        else:
            self._views[name.lower()] = view

    def are_named_in(self, text: str) -> bool:
        """Return whether a text contains the name of a view."""
        return any(len(parts) == 1 and parts[0] in self._views for parts in _lower(text)) if self._views else False

    def refresh(self, text: str, query: Callable[[View[Frame]], Frame]) -> None:
        """Run the queries of the views that a statement names, and create the views again.

        If the query of a view fails, for example because a table was dropped, the view can be dropped or replaced.
        """
        sql = Lexed(text)
        is_definition = bool(sql.significant) and sql.significant[0].is_word(*_DEFINITIONS)
        for (name,) in (parts for parts in _lower(text) if len(parts) == 1) if self._views else ():
            view = self._views.get(name)
            if view is None or name in self._running:
                continue
            if not view.engine.is_view_of(name, view.frame):
                del self._views[name]  # The view was dropped, or replaced in another way.
                continue
            self._running.add(name)
            try:
                frame = query(view)
            except Exception:
                if is_definition:
                    continue
                raise
            finally:
                self._running.discard(name)
            view.engine.create_view(frame, name, view.columns, replaces=True, is_global=False)
            self._views[name] = replace(view, frame=frame)


def _lower(text: str) -> set[tuple[str, ...]]:
    return {tuple(part.lower() for part in parts) for parts in names_in(text)}

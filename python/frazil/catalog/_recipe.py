"""What makes a catalog again in another process."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Recipe"]


class Recipe:
    """A function and its arguments, pickled apart, so that what it needs is imported only when it is used."""

    def __init__(self, recipe: tuple[Any, ...]) -> None:
        """Pickle the function and its arguments."""
        self.pickled = pickle.dumps(recipe)

    def __iter__(self) -> Iterator[Any]:
        """Return the function and its arguments."""
        return iter(pickle.loads(self.pickled))  # noqa: S301 - part of a pickle itself

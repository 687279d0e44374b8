"""The recipe that recreates a catalog in another process."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Recipe"]


class Recipe:
    """A function and its arguments, pickled separately so that their modules are imported only on use."""

    def __init__(self, recipe: tuple[Any, ...]) -> None:
        """Pickle the function and its arguments."""
        self.pickled = pickle.dumps(recipe)

    def __iter__(self) -> Iterator[Any]:
        """Yield the function and its arguments."""
        return iter(pickle.loads(self.pickled))  # noqa: S301 - part of a pickle itself

"""Shrinks failing histories by delta debugging."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Item = TypeVar("Item")
Whole = TypeVar("Whole")


def fewer(items: Sequence[Item], fails: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    """Return a small subset of the items, in order, that still fails (ddmin)."""
    kept = tuple(items)
    size = max(1, len(kept) // 2)
    while True:
        start, removed = 0, False
        while start < len(kept):
            candidate = kept[:start] + kept[start + size :]
            if fails(candidate):
                kept, removed = candidate, True
            else:
                start += size
        if size == 1 and not removed:
            return kept
        size = size if removed else max(1, size // 2)


def simplest(whole: Whole, simpler: Callable[[Whole], Iterable[Whole]], fails: Callable[[Whole], bool]) -> Whole:
    """Return a value that still fails, although no value that `simpler` yields for it does."""
    while True:
        found = next((candidate for candidate in simpler(whole) if fails(candidate)), None)
        if found is None:
            return whole
        whole = found

"""Making a failing history smaller: delta debugging."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Item = TypeVar("Item")
Whole = TypeVar("Whole")


def fewer(items: Sequence[Item], fails: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    """Return few of the items, in their order, that still fail (ddmin)."""
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
    """Return a value that still fails and of which nothing that `simpler` yields does."""
    while True:
        found = next((candidate for candidate in simpler(whole) if fails(candidate)), None)
        if found is None:
            return whole
        whole = found

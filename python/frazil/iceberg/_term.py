"""Terms of partition fields and sort orders."""

from __future__ import annotations

from typing import Any

from frazil._arguments import text

__all__ = ["term"]


def term(source_column_name: str, transform: Any) -> dict[str, str]:
    """Return the wire form of a column with a transform, or of a single term string."""
    column = text("source_column_name", source_column_name)
    return {"transform": column} if transform is None else {"column": column, "transform": str(transform)}

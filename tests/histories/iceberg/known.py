"""Defects that are known until they are fixed, so that histories find others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

METADATA_NAMES = "a column with the name of a metadata column"
OLD_HANDLES = "handles that are behind decide on the old state"

KNOWN: Collection[str] = (METADATA_NAMES, OLD_HANDLES)

"""CRoaring by pyroaring, and numpy for the mask. It checks no CRC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from targets import deletion_vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Target

PACKAGES = ("pyroaring", "numpy")
# Before the bitmap: length, magic number, count of bitmaps, key of the first; after it a CRC.
START, END = 20, -4


def deletion_mask(target: Target) -> Callable[[], pa.Array]:
    bitmap = deletion_vector(target.rows)[START:END]

    def run() -> pa.Array:
        kept = np.ones(target.rows, bool)
        kept[np.asarray(BitMap.deserialize(bitmap).to_array(), np.uint32)] = False
        return pa.array(kept)

    return run

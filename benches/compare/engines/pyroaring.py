"""CRoaring by pyroaring, and numpy for the mask. The CRC is not checked."""

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
# The bitmap is preceded by length, magic number, number of bitmaps and key of the first one, and followed by a CRC.
START, END = 20, -4


def deletion_mask(target: Target) -> Callable[[], pa.Array]:
    bitmap = deletion_vector(target.rows)[START:END]

    def run() -> pa.Array:
        kept = np.ones(target.rows, bool)
        kept[np.asarray(BitMap.deserialize(bitmap).to_array(), np.uint32)] = False
        return pa.array(kept)

    return run

"""Identification of the code outside this package that called it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["caller_depth"]

_PACKAGE = f"{Path(__file__).parent}{os.sep}"


def caller_depth() -> int:
    """Return the `stacklevel` of the first frame outside this package, for a warning from the calling function."""
    depth, frame = 1, sys._getframe(1)  # noqa: SLF001 - `skip_file_prefixes` needs Python 3.12
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth

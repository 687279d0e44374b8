"""Newly written files, identified by their paths."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from frazil.errors import FrazilError

if TYPE_CHECKING:
    from frazil import _native


class Paths:
    """The files written by a change; paths may be added later."""

    def __init__(self, files: _native.Files, paths: list[str]) -> None:
        """Keep the paths."""
        self._files, self._paths = files, paths

    def abort(self) -> None:
        """Delete the files. A file that cannot be deleted is left as an orphan file, without an error."""
        for path in self._paths:
            with contextlib.suppress(FrazilError):
                self._files.delete(path)

"""The table and branch that a statement changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql._lexer import unsupported
from frazil.sql._sources import OBJECT_TABLE, kind_of

if TYPE_CHECKING:
    from frazil.sql._reader import Name
    from frazil.sql._sources import Source


def branch_of(name: Name, target: Source, text: str) -> str:
    """Return the branch that a name refers to.

    Raises:
        UnsupportedError: The name refers to a metadata table, an object table or an immutable state.
    """
    kind, branch = target.state or ("branch", "main")
    if target.metadata_table is not None or not hasattr(target.table, "append"):
        of_table = kind_of(target.table)
        hint = "add files to its folder" if of_table == OBJECT_TABLE else "use the table itself"
        raise unsupported(text, name.start, f"{of_table} {name} cannot be changed", hint)
    if kind != "branch":
        raise unsupported(text, name.start, f"{name} is an immutable state", "use the table or a branch")
    return str(branch)

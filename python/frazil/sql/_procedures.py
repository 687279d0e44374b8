"""CALL procedures: lookup by name, and binding of arguments."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from frazil.sql import _iceberg_procedures, _paimon_procedures
from frazil.sql._lexer import invalid, unsupported

if TYPE_CHECKING:
    from frazil.sql._names import Resolved
    from frazil.sql._procedure_types import Kind, Procedure
    from frazil.sql._reader import Text
    from frazil.sql._statements import Call

__all__ = ["TABLES", "arguments", "procedure", "typed"]

TABLES: dict[str, tuple[str, dict[str, Procedure]]] = {
    "iceberg": ("system", _iceberg_procedures.PROCEDURES),
    "paimon": ("sys", _paimon_procedures.PROCEDURES),
}
"""The namespace of the procedures, and the procedures by name, for each format."""


def procedure(where: Resolved, text: str, start: int) -> Procedure:
    """Return a procedure by its name in a catalog, such as `system.expire_snapshots`.

    Raises:
        InvalidArgumentError: The procedure does not exist; the error lists similar ones.
        UnsupportedError: The procedure exists in Java, but frazil does not support it.
    """
    namespace, known = TABLES[where.catalog.format]
    name = where.levels[-1].lower()
    if [level.lower() for level in where.levels[:-1]] == [namespace] and name in known:
        found = known[name]
        if found.act is None:
            raise unsupported(text, start, f"the procedure {name} is not supported", found.instead)
        return found
    names = [one.name for one in known.values() if one.act is not None]
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"use {where.catalog.name}.{namespace}.<name>; the names are {', '.join(near or names)}"
    raise invalid(text, start, f"unknown procedure {'.'.join(where.levels)}", hint)


def arguments(found: Procedure, statement: Call, text: str) -> dict[str, tuple[Kind, Text]]:
    """Return the arguments of a CALL by parameter name.

    Raises:
        InvalidArgumentError: A name is unknown or specified twice, there are too many arguments, or one is missing.
    """
    given: dict[str, tuple[Kind, Text]] = {}
    names = ", ".join(parameter.name for parameter in found.parameters)
    is_named = False
    for place, argument in enumerate(statement.arguments):
        is_named = is_named or argument.name is not None
        if argument.name is None and (is_named or place >= len(found.parameters)):
            problem = "a positional argument follows a named one" if is_named else "too many arguments"
            raise invalid(text, argument.value.start, problem, f"the parameters are {names}")
        wanted = (found.parameters[place].name if argument.name is None else argument.name).lower()
        parameter = next((one for one in found.parameters if one.name.lower() == wanted), None)
        if parameter is None:
            raise invalid(text, argument.value.start, f"unknown parameter {wanted}", f"the parameters are {names}")
        if parameter.name in given:
            raise invalid(text, argument.value.start, f"the argument {wanted} is specified twice")
        given[parameter.name] = (parameter.kind, argument.value)
    missing = next((one.name for one in found.parameters if one.required and one.name not in given), None)
    if missing is not None:
        problem = f"the argument {missing} is missing"
        raise invalid(text, statement.procedure.start, problem, f"the parameters are {names}")
    return given


def typed(kind: Kind, expression: str) -> str:
    """Return an expression cast to the type of its parameter; timestamps become milliseconds since the epoch.

    >>> typed("bigint", "5"), typed("timestamp", "'2024-02-29'")
    ('CAST((5) AS bigint)', "unix_millis(CAST(('2024-02-29') AS timestamp))")
    """
    cast = f"CAST(({expression}) AS {kind})"
    return f"unix_millis({cast})" if kind == "timestamp" else cast

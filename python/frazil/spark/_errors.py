"""Errors of Spark in statements of a lake, in the words of the statement that the user wrote.

Spark receives another text: tables are replaced by temporary views, and DELETE, UPDATE and MERGE by queries. Its errors
therefore have other positions, suggest columns that the user does not know, and show the plan of that query.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from frazil._secrets import without_secrets
from frazil.sql._lexer import place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from frazil.errors import InvalidArgumentError
    from frazil.sql._lexer import Lexed

__all__ = ["clarify", "syntax_error_of"]

_INTERNAL = re.compile(r"(?:`[^`]*`\.)?`?(?:__frazil\w*|_pyspark_[0-9a-f]{32})`?(?:, )?")
_POSITION = re.compile(r"; line \d+ pos \d+")
_SUGGESTED = re.compile(r"Did you mean one of the following\? \[(.*?)\]")
_PLACE = re.compile(r"\(line (\d+), pos (\d+)\)")
_PART = re.compile(r"`((?:[^`]|``)*)`")
_SUGGESTIONS = 5
_UNKNOWN_NAMESPACE = ("REQUIRES_SINGLE_PART_NAMESPACE", "SCHEMA_NOT_FOUND")


def clarify(error: Exception, sql: Lexed, columns: Sequence[str], catalogs: Sequence[str]) -> None:
    """Rewrite the text of an error of Spark.

    Args:
        error: The error.
        sql: The statement of the user.
        columns: The columns of the tables of the lake that the statement names.
        catalogs: The names of all catalogs.
    """
    from pyspark.errors import PySparkException

    # The text of an error of Spark Classic, and of Spark Connect.
    name = next((name for name in ("_desc", "_message") if isinstance(getattr(error, name, None), str)), None)
    if name is None or not isinstance(error, PySparkException):
        return
    condition, parameters = error.getCondition() or "", error.getMessageParameters() or {}
    text = getattr(error, name).partition(";\n")[0]
    if condition in _UNKNOWN_NAMESPACE:
        text = _with_catalogs(text, parameters, catalogs)
    elif columns:
        parts = _parts(parameters.get("objectName") or parameters.get("routineName") or "")
        text = _SUGGESTED.sub(lambda found: _suggestions(found[1], parts, columns), text)
        place = _place(sql, parts)
        shown = "" if place is None else "; line {} pos {}".format(*place)
        text = _INTERNAL.sub("", _POSITION.sub(shown, text))
    setattr(error, name, text)


def syntax_error_of(explain: Callable[[str], Any], text: str) -> InvalidArgumentError | None:
    """Return the error for a statement that Spark cannot parse; None if it can.

    Args:
        explain: A function that parses a statement, and does not run it.
        text: The statement.
    """
    from pyspark.errors import ParseException

    from frazil.sql._lexer import syntax_error

    try:
        # On a separate line, the keyword does not change positions in the others.
        explain(f"EXPLAIN\n{text}")
    except ParseException as error:
        found = _PLACE.search(str(error))
        if found is None:
            return None
        line, column = int(found[1]) - 2, int(found[2])
        lines = text.split("\n")
        position = sum(len(one) + 1 for one in lines[:line]) + column
        problem = str(error).strip().partition("] ")[2].partition(". SQLSTATE")[0].partition("\n")[0]
        problem = problem.removeprefix("Syntax error ")
        hint = f"the line is {without_secrets(lines[line].strip())!r}" if 0 <= line < len(lines) else None
        return syntax_error(text, position, problem, hint)
    except Exception:  # noqa: BLE001 - the statement can be parsed, and other errors are reported elsewhere
        return None
    return None


def _parts(name: str) -> list[str]:
    return [part.replace("``", "`") for part in _PART.findall(name)]


def _suggestions(suggested: str, parts: Sequence[str], columns: Sequence[str]) -> str:
    """Return the names that are near to a name: columns of tables, and what Spark suggests."""
    others = [
        found[-1] for one in suggested.split(", ") if (found := _parts(one)) and not _INTERNAL.fullmatch(found[-1])
    ]
    known = list(dict.fromkeys([*columns, *others]))
    wanted = parts[-1].lower() if parts else ""
    by_case = {name.lower(): name for name in reversed(known)}
    near = [by_case[name] for name in difflib.get_close_matches(wanted, by_case, n=_SUGGESTIONS, cutoff=0)]
    names = ", ".join("`" + name.replace("`", "``") + "`" for name in near)
    return f"Did you mean one of the following? [{names}]"


def _place(sql: Lexed, parts: Sequence[str]) -> tuple[int, int] | None:
    """Return the line and the position in it of the first place of a name, as Spark counts them."""
    found = sql.significant
    for at, token in enumerate(found):
        names = [one.value for one in found[at : at + 2 * len(parts) - 1 : 2]]
        is_part = at > 0 and found[at - 1].text == "."
        if parts and token.is_name and not is_part and names == list(parts):
            line, column = place_of(sql.text, token.start)
            return line, column - 1
    return None


def _with_catalogs(text: str, parameters: dict[str, str], catalogs: Sequence[str]) -> str:
    """Return the error for a name whose first part may be a misspelt catalog."""
    given = _parts(parameters.get("namespace") or parameters.get("schemaName") or "")
    first = next((part for part in given if part not in catalogs), None)
    if first is None:
        return text
    near = difflib.get_close_matches(first, catalogs, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"the catalogs are {', '.join(catalogs)}"
    return f"there is no catalog or namespace `{first}`; {hint}"

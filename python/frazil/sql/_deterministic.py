"""Conditions of DELETE, UPDATE and MERGE, which may be evaluated several times and must return the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.sql._lexer import Lexed, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from frazil.sql._reader import Text
    from frazil.sql._run import Run

__all__ = ["check_deterministic"]

_RANDOM = (
    *("INPUT_FILE_BLOCK_LENGTH", "INPUT_FILE_BLOCK_START", "INPUT_FILE_NAME", "MONOTONICALLY_INCREASING_ID"),
    *("RAND", "RANDN", "RANDOM", "RANDSTR", "SHUFFLE", "SPARK_PARTITION_ID", "UNIFORM", "UUID"),
)
"""The functions of Spark whose results may differ from call to call."""


def check_deterministic(what: str, conditions: Iterable[Text | None], run: Run[Any]) -> None:
    """Check that conditions call no function whose result may differ from call to call, as Spark does.

    Raises:
        InvalidArgumentError: A condition calls such a function.
    """
    for condition in conditions:
        found = [] if condition is None else Lexed(condition.text).significant
        for before, token, after in zip([None, *found], found, found[1:], strict=False):
            is_qualified = before is not None and before.text == "."
            if after.text == "(" and token.is_word(*_RANDOM) and not is_qualified:
                assert condition is not None  # noqa: S101 - it has tokens
                problem = (
                    f"a condition of {what} must not call {token.text.lower()}, which selects other rows each time"
                )
                hint = "write the result of the function into a table or a temporary view first"
                raise invalid(run.text, condition.start + token.start, problem, hint)

"""Text output for people: characters from tables and user input are escaped so they cannot control the terminal."""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING

import click

from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["confirmed", "lines", "printable", "say"]

_ESCAPED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""The escaped Unicode categories: control, format (such as direction overrides), surrogate, and line separators."""

_JOINERS = "\u200c\u200d"
"""The format characters that some languages and emoji need."""


def printable(text: str) -> str:
    r"""Return a string on one line, with escapes for characters that control a terminal.

    >>> print(printable("a\tb\x1b[31m\u202e"))
    a\tb\x1b[31m\u202e
    """
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _ESCAPED or character in _JOINERS:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def say(text: str, *, err: bool = False) -> None:
    """Write one line for people to standard output or standard error."""
    click.echo(printable(text), err=err)


def lines(pairs: Iterable[tuple[str, object]]) -> None:
    """Write names and values, one pair per line."""
    kept = [(printable(name), str(value)) for name, value in pairs if value is not None]
    width = max((len(name) for name, _ in kept), default=0)
    for name, value in kept:
        say(f"{name.ljust(width)}  {value}")


def confirmed(what: str, *, yes: bool) -> None:
    """Ask for confirmation unless `yes` is set.

    Raises:
        click.Abort: The answer is no.
        UnsupportedError: The input is not a terminal, so the question cannot be answered.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        message = f"cannot ask for confirmation to {what}: standard input is not a terminal"
        raise UnsupportedError(message, hint="pass --yes")
    click.confirm(printable(f"{what[0].upper()}{what[1:]}?"), abort=True)

"""Text for people: what is read from a table or typed by a user never reaches the terminal as a control sequence."""

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
"""Categories of Unicode: controls, formats (such as overrides of the direction), surrogates, separators of lines."""

_JOINERS = "\u200c\u200d"
"""Formats that languages and emoji need."""


def printable(text: str) -> str:
    r"""Return a text on one line, with escapes for the characters that control a terminal.

    >>> print(printable("a\tb\x1b[31m\u202e"))
    a\tb\x1b[31m\u202e
    """
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _ESCAPED or character in _JOINERS:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def say(text: str, *, err: bool = False) -> None:
    """Write one line for people to the standard output, or to that for errors."""
    click.echo(printable(text), err=err)


def lines(pairs: Iterable[tuple[str, object]]) -> None:
    """Write names and values, one pair a line."""
    kept = [(printable(name), str(value)) for name, value in pairs if value is not None]
    width = max((len(name) for name, _ in kept), default=0)
    for name, value in kept:
        say(f"{name.ljust(width)}  {value}")


def confirmed(what: str, *, yes: bool) -> None:
    """Ask whether to go on, unless the user has said so.

    Raises:
        click.Abort: The answer is no.
        UnsupportedError: Nobody is there to answer.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        message = f"cannot ask for confirmation to {what}: no terminal"
        raise UnsupportedError(message, hint="pass --yes")
    click.confirm(printable(f"{what[0].upper()}{what[1:]}?"), abort=True)

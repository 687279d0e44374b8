"""The tokens of Spark SQL, with their positions in the text.

The tokens follow Spark's `SqlBaseLexer.g4`, with one addition: a name may contain `$`, as in `orders$snapshots`.
Whitespace and comments are tokens too, so that the tokens of a text always cover it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Kind = Literal["blank", "comment", "name", "quoted", "string", "number", "symbol"]

_TOKENS = re.compile(
    r"""
    (?P<blank>\s+)
  | (?P<comment>--(?:\\\n|[^\r\n])*|/\*)
  | (?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:BD|[LSYFD])?(?![\w$]))
  | (?P<name>[\w$]+)
  | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_OPENS = {"'": "string", '"': "string", "`": "quoted name"}


@dataclass(frozen=True, slots=True)
class Token:
    """A section of the text from `start` to `end`."""

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        """Return the offset after the last character."""
        return self.start + len(self.text)

    @property
    def is_name(self) -> bool:
        """Return whether the token can be part of a name."""
        return self.kind in ("name", "quoted")

    @property
    def is_hint(self) -> bool:
        """Return whether the token is a hint, `/*+ … */`."""
        return self.kind == "comment" and self.text.startswith("/*+")

    @property
    def value(self) -> str:
        """Return the name without quotes, or the unescaped characters of a string literal."""
        if self.kind == "quoted":
            return self.text[1:-1].replace("``", "`")
        if self.kind == "string":
            return string_value(self.text)
        return self.text

    def is_word(self, *words: str) -> bool:
        """Return whether the token is one of these keywords, in any case."""
        return self.kind == "name" and self.text.upper() in words


def tokens(text: str) -> Iterator[Token]:
    """Split a text into tokens that cover it.

    Raises:
        InvalidArgumentError: A string, a quoted name or a comment is not terminated.

    >>> [token.text for token in tokens("SELECT `a b` FROM t$files -- all")]
    ['SELECT', ' ', '`a b`', ' ', 'FROM', ' ', 't$files', ' ', '-- all']
    """
    position = 0
    while position < len(text):
        found = _TOKENS.match(text, position)
        assert found is not None  # noqa: S101 - `symbol` matches any character
        kind, piece = found.lastgroup, found[0]
        if piece == "/*":
            piece = text[position : _end_of_comment(text, position)]
        elif kind == "symbol" and piece in _OPENS:
            raise syntax_error(text, position, f"the {_OPENS[piece]} that begins here is not terminated")
        yield Token(kind, piece, position)  # type: ignore[arg-type]
        position += len(piece)


class Lexed:
    """A text and its tokens, so that a statement is split into tokens only once.

    >>> [token.text for token in Lexed("USE /* the lake */ local").significant]
    ['USE', 'local']
    """

    def __init__(self, text: str, found: Iterable[Token] | None = None) -> None:
        """Split the text into tokens, or use the given tokens, which must cover it.

        Raises:
            InvalidArgumentError: A string, a quoted name or a comment is not terminated.
        """
        self.text = text
        self.tokens = list(tokens(text) if found is None else found)
        self.significant = [token for token in self.tokens if token.kind not in ("blank", "comment")]
        """The tokens without whitespace and comments."""

    def only(self, part: str, start: int) -> Lexed:
        """Return a part of the text, preceded by blanks, so that positions do not change.

        In the part, blanks may replace some of the tokens.

        >>> Lexed("EXPLAIN SELECT 1").only("SELECT 1", 8).text
        '        SELECT 1'
        """
        text = blank(self.text[:start]) + part
        found = (
            token if text.startswith(token.text, token.start) else Token("blank", blank(token.text), token.start)
            for token in self.tokens
            if token.start < len(text)
        )
        return Lexed(text, found)


def lexed(text: str | Lexed) -> Lexed:
    """Return a text with its tokens, which are not computed again if the argument has them."""
    return text if isinstance(text, Lexed) else Lexed(text)


def blank(text: str) -> str:
    r"""Return whitespace with the length and the line feeds of a text.

    >>> blank("ab\ncd")
    '  \n  '
    """
    return "".join("\n" if letter == "\n" else " " for letter in text)


def statements(text: str) -> list[str]:
    r"""Split a script at its semicolons; empty statements are omitted.

    Each statement keeps its line and column in the script, because it is padded with line feeds and blanks.

    >>> statements("USE local; SHOW TABLES;;\n DROP TABLE t")
    ['USE local', '           SHOW TABLES', '\n DROP TABLE t']
    """
    found, is_empty, start = [], True, 0
    for token in tokens(text):
        if token.text == ";" and token.kind == "symbol":
            if not is_empty:
                found.append(in_place(text, start, text[start : token.start]))
            is_empty = True
        elif token.kind not in ("blank", "comment") and is_empty:
            is_empty, start = False, token.start
    return found if is_empty else [*found, in_place(text, start, text[start:])]


def string_value(literal: str) -> str:
    r"""Return the characters of a string literal.

    >>> string_value("'it''s'"), string_value(r"'a\tb'"), string_value(r"r'a\tb'")
    ("it's", 'a\tb', 'a\\tb')
    """
    if literal[0] in "rR":
        return literal[2:-1]
    quote = literal[0]
    # Escape sequences are split off first, so that an escaped quote is not mistaken for half of a doubled quote.
    pieces = re.split(r"(\\.)", literal[1:-1], flags=re.DOTALL)
    joined = "".join(piece if index % 2 else piece.replace(quote * 2, quote) for index, piece in enumerate(pieces))
    return _ESCAPE.sub(_unescaped, joined)


def place_of(text: str, position: int) -> tuple[int, int]:
    r"""Return the line and the column of a position, both starting at 1.

    >>> place_of("USE\n local", 5)
    (2, 2)
    """
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def unsupported(text: str, position: int, problem: str, hint: str | None = None) -> UnsupportedError:
    r"""Return the error for an unsupported statement or clause, with its line and column.

    >>> print(unsupported("MERGE INTO t", 0, "MERGE is not supported"))
    MERGE is not supported (line 1, column 1)
    """
    line, column = place_of(text, position)
    message = f"{problem} (line {line}, column {column})"
    return UnsupportedError(message, context={"line": str(line), "column": str(column)}, hint=hint)


def invalid(text: str, position: int, problem: str, hint: str | None = None) -> InvalidArgumentError:
    r"""Return the error for an invalid part of a statement, with its line and column.

    >>> print(invalid("USE x", 4, "no catalog x"))
    no catalog x (line 1, column 5)
    """
    line, column = place_of(text, position)
    message = f"{problem} (line {line}, column {column})"
    return InvalidArgumentError(message, context={"line": str(line), "column": str(column)}, hint=hint)


def syntax_error(text: str, position: int, problem: str, hint: str | None = None) -> InvalidArgumentError:
    r"""Return the error for a statement that cannot be parsed, with its line and column.

    >>> print(syntax_error("USE\n local.", 10, "expected a name"))
    syntax error at line 2, column 7: expected a name
    """
    line, column = place_of(text, position)
    message = f"syntax error at line {line}, column {column}: {problem}"
    return InvalidArgumentError(message, context={"line": str(line), "column": str(column)}, hint=hint)


def in_place(text: str, start: int, part: str) -> str:
    r"""Return a section of a text, preceded by padding so that line and column numbers are unchanged.

    >>> in_place("USE a;\n  USE b", 9, "USE b")
    '\n  USE b'
    """
    line, column = place_of(text, start)
    return "\n" * (line - 1) + " " * (column - 1) + part.rstrip()


def _end_of_comment(text: str, start: int) -> int:
    """Return the offset after a comment; comments can be nested."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise syntax_error(text, start, "the comment that begins here is not terminated")


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) > 1:
        number = int(code[1:], 16) if code[0] in "uU" else int(code, 8)
        if number > sys.maxunicode or 0xD800 <= number <= 0xDFFF:  # noqa: PLR2004 - surrogates
            message = f"the escape {escape[0]} in a string is not a character"
            raise InvalidArgumentError(message)
        return chr(number)
    return _ESCAPES.get(code, code)

"""A cursor over the tokens of one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from frazil.sql._lexer import significant, syntax_error, unsupported

if TYPE_CHECKING:
    from frazil.sql._lexer import Token


@dataclass(frozen=True, slots=True)
class Name:
    """A name of one part or more, and its place in the statement."""

    parts: tuple[str, ...]
    start: int
    end: int

    def __str__(self) -> str:
        """Return the name with dots.

        >>> str(Name(("local", "db", "a b"), 0, 14))
        'local.db.`a b`'
        """
        return ".".join(quoted(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Text:
    """A part of a statement that is passed on as it is written."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Return the offset after the text."""
        return self.start + len(self.text)


class Reader:
    """A position in the tokens of a statement."""

    def __init__(self, text: str) -> None:
        """Split the statement; a semicolon at its end is allowed."""
        self.text = text
        self._tokens = significant(text)
        while self._tokens and self._tokens[-1].text == ";":
            self._tokens.pop()
        self._next = 0

    def check_one_statement(self) -> None:
        """Check that no semicolon separates statements; those of a block of SQL scripting do not.

        Raises:
            InvalidArgumentError: There are several statements.
        """
        if self.at("BEGIN"):
            return
        found = next((token for token in self._tokens if token.text == ";"), None)
        if found is not None:
            hint = "run several statements with the method script"
            raise syntax_error(self.text, found.start, "expected one statement, found ';'", hint)

    def peek(self, ahead: int = 0) -> Token | None:
        """Return a token that is still to be read; None after the last."""
        index = self._next + ahead
        return self._tokens[index] if index < len(self._tokens) else None

    @property
    def at_end(self) -> bool:
        """Return whether all tokens are read."""
        return self.peek() is None

    def at(self, *words: str) -> bool:
        """Return whether these keywords or symbols come next."""
        following = (self.peek(ahead) for ahead in range(len(words)))
        return all(
            token is not None and (token.text == word if token.kind == "symbol" else token.is_word(word))
            for token, word in zip(following, words, strict=True)
        )

    def accept(self, *words: str) -> bool:
        """Read these keywords or symbols if they come next; return whether they did."""
        found = self.at(*words)
        self._next += len(words) if found else 0
        return found

    def accept_any(self, *words: str) -> str | None:
        """Read one of these keywords or symbols if it comes next, and return it."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str) -> None:
        """Read these keywords or symbols.

        Raises:
            InvalidArgumentError: Something else comes next.
        """
        if not self.accept(*words):
            self.fail(f"expected {' '.join(words)}")

    def take(self, expected: str) -> Token:
        """Read a token; `expected` says in the error what is missing at the end of the statement."""
        token = self.peek()
        if token is None:
            self.fail(f"expected {expected}")
        self._next += 1
        return token

    def identifier(self, what: str) -> str:
        """Read one part of a name."""
        token = self.peek()
        if token is None or not token.is_name or token.text == "``":
            self.fail(f"expected {what}")
        self._next += 1
        return token.value

    def name(self, what: str) -> Name:
        """Read a name with dots."""
        first = self.peek()
        parts = [self.identifier(what)]
        while self.accept("."):
            parts.append(self.identifier(f"the rest of {what}"))
        return Name(tuple(parts), first.start if first else 0, self._tokens[self._next - 1].end)

    def string(self, what: str) -> str:
        """Read a string literal."""
        token = self.peek()
        if token is None or token.kind != "string":
            self.fail(f"expected {what} as a string")
        self._next += 1
        return token.value

    def whole_number(self, what: str) -> int:
        """Read digits."""
        token = self.peek()
        if token is None or not token.text.isdecimal():
            self.fail(f"expected {what} as a whole number")
        self._next += 1
        return int(token.text)

    def rest(self) -> Text:
        """Read what is left of the statement, as it is written."""
        first = self.peek()
        if first is None:
            self.fail("expected a query")
        start, end = first.start, self._tokens[-1].end
        self._next = len(self._tokens)
        return Text(self.text[start:end], start)

    def since(self, first: Token) -> Text:
        """Return what was read from a token on, as it is written."""
        end = self._tokens[self._next - 1].end
        return Text(self.text[first.start : max(end, first.start)], first.start)

    def blank(self, start: int, end: int) -> str:
        """Return blanks for a part of the statement, so that lines and columns after it stay."""
        return "".join("\n" if letter == "\n" else " " for letter in self.text[start:end])

    def mark(self) -> int:
        """Return the place before the next token, for `back_to`."""
        return self._next

    def back_to(self, mark: int) -> None:
        """Return to a place, so that what follows is read again."""
        self._next = mark

    def skip_parentheses(self) -> None:
        """Read an opening parenthesis and all up to the one that closes it.

        Raises:
            InvalidArgumentError: It is not closed.
        """
        self.expect("(")
        depth = 1
        while depth:
            token = self.take("')'")
            depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "symbol" else 0

    def reject(self, problem: str, hint: str | None = None) -> NoReturn:
        """Raise the error for a clause that comes next and is not supported.

        Raises:
            UnsupportedError: Always.
        """
        token = self.peek()
        raise unsupported(self.text, len(self.text) if token is None else token.start, problem, hint)

    def end(self) -> None:
        """Check that nothing is left.

        Raises:
            InvalidArgumentError: Something is.
        """
        if not self.at_end:
            self.fail("expected the end of the statement")

    def fail(self, problem: str) -> NoReturn:
        """Raise the error for what comes next.

        Raises:
            InvalidArgumentError: Always.
        """
        token = self.peek()
        position = len(self.text.rstrip()) if token is None else token.start
        found = "the statement ends" if token is None else f"found {token.text!r}"
        raise syntax_error(self.text, position, f"{problem}, {found}")


def quoted(part: str) -> str:
    """Return a part of a name as SQL has it: in back quotes, unless it is a plain word.

    >>> quoted("orders"), quoted("a b")
    ('orders', '`a b`')
    """
    if part.replace("_", "a").isalnum() and part.isascii() and not part[0].isdigit():
        return part
    return "`" + part.replace("`", "``") + "`"

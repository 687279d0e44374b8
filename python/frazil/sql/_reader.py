"""A cursor over the tokens of one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from frazil._secrets import without_secrets
from frazil.sql._lexer import lexed, syntax_error, unsupported

if TYPE_CHECKING:
    from frazil.sql._lexer import Lexed, Token


REDACTED = "*********(redacted)"
"""The value that Spark shows in place of a secret."""

MOST_DIGITS = 19
"""The number of digits of the largest 64-bit integer."""

_SHOWN_KINDS = {"quoted": "quoted name"}
"""The descriptions of the kinds of tokens in messages, if they differ from the names of the kinds."""

_ENDS = (",", ")", "]")
"""The symbols that end an expression."""

_BEFORE_OPERAND = ("(", "+", "-", "~", "!", ":", "?")
"""The symbols that an expression can begin with."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name of one or more parts, and its position in the statement."""

    parts: tuple[str, ...]
    start: int
    end: int

    def __str__(self) -> str:
        """Return the name with its parts separated by dots.

        >>> str(Name(("local", "db", "a b"), 0, 14))
        'local.db.`a b`'
        """
        return ".".join(quoted(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Text:
    """A part of a statement that is passed on verbatim."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Return the offset after the text."""
        return self.start + len(self.text)


class Reader:
    """A position in the tokens of a statement."""

    def __init__(self, text: str | Lexed) -> None:
        """Begin at the first token; a semicolon at the end is allowed."""
        self.sql = lexed(text)
        self.text = self.sql.text
        self._tokens = list(self.sql.significant)
        end = len(self.text)
        while self._tokens and self._tokens[-1].text == ";":
            end = self._tokens.pop().start
        # A hint at the end belongs to the last table of a query.
        self._ends_of_hints = [token.end for token in self.sql.tokens if token.is_hint and token.start < end]
        self._next = 0
        self.at_secret = False
        """Whether the next tokens may be parts of a secret, which must not be in messages."""

    def check_one_statement(self) -> None:
        """Check that no semicolon separates statements, except in a block of SQL scripting.

        Raises:
            InvalidArgumentError: The text contains several statements.
        """
        if self.at("BEGIN"):
            return
        found = next((token for token in self._tokens if token.text == ";"), None)
        if found is not None:
            hint = "use the method script to run several statements"
            raise syntax_error(self.text, found.start, "expected one statement, found ';'", hint)

    def peek(self, ahead: int = 0) -> Token | None:
        """Return an upcoming token without consuming it; None after the last token."""
        index = self._next + ahead
        return self._tokens[index] if index < len(self._tokens) else None

    @property
    def at_end(self) -> bool:
        """Return whether all tokens are consumed."""
        return self.peek() is None

    def at(self, *words: str) -> bool:
        """Return whether these keywords or symbols come next."""
        following = (self.peek(ahead) for ahead in range(len(words)))
        return all(
            token is not None and (token.text == word if token.kind == "symbol" else token.is_word(word))
            for token, word in zip(following, words, strict=True)
        )

    def accept(self, *words: str) -> bool:
        """Consume these keywords or symbols if they come next; return whether they did."""
        found = self.at(*words)
        self._next += len(words) if found else 0
        return found

    def accept_any(self, *words: str) -> str | None:
        """Consume one of these keywords or symbols if it comes next, and return it."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str) -> None:
        """Consume these keywords or symbols.

        Raises:
            InvalidArgumentError: The next token is different.
        """
        if not self.accept(*words):
            self.fail(f"expected {' '.join(words)}")

    def take(self, expected: str) -> Token:
        """Consume a token; `expected` describes it in the error at the end of the statement."""
        token = self.peek()
        if token is None:
            self.fail(f"expected {expected}")
        self._next += 1
        return token

    def identifier(self, what: str) -> str:
        """Parse one part of a name."""
        token = self.peek()
        if token is None or not token.is_name or token.text == "``":
            self.fail(f"expected {what}")
        self._next += 1
        return token.value

    def name(self, what: str) -> Name:
        """Parse a dotted name."""
        first = self.peek()
        parts = [self.identifier(what)]
        while self.accept("."):
            parts.append(self.identifier(f"the rest of {what}"))
        return Name(tuple(parts), first.start if first else 0, self._tokens[self._next - 1].end)

    def string(self, what: str) -> str:
        """Parse a string literal."""
        token = self.peek()
        if token is None or token.kind != "string":
            self.fail(f"expected {what} as a string")
        self._next += 1
        return token.value

    def whole_number(self, what: str) -> int:
        """Parse digits."""
        token = self.peek()
        if token is None or not token.text.isdecimal():
            self.fail(f"expected {what} as an integer")
        if len(token.text) > MOST_DIGITS:
            self.fail(f"expected {what} with at most {MOST_DIGITS} digits")
        self._next += 1
        return int(token.text)

    def until(self, *words: str, what: str) -> Text:
        """Consume and return the text up to one of these keywords, a comma, or a closing parenthesis or bracket.

        Keywords and commas within parentheses, brackets and `CASE … END` do not end the text.

        Raises:
            InvalidArgumentError: There is nothing to consume, or a parenthesis is not closed.

        >>> Reader("CASE WHEN f(a, 1) THEN 2 END WHEN x").until("WHEN", what="a value").text
        'CASE WHEN f(a, 1) THEN 2 END'
        """
        first, begin, brackets, cases = self.peek(), self._next, 0, 0
        while (token := self.peek()) is not None:
            is_inside = brackets > 0 or cases > 0
            if not is_inside and self._next > begin and token.is_word(*words) and not self._is_part_of_name():
                break
            if not is_inside and token.kind == "symbol" and token.text in _ENDS:
                break
            if self.at("("):
                self.skip_parentheses()
                continue
            brackets += (token.text == "[") - (token.text == "]")
            if not self._is_part_of_name():
                cases += (token.is_word("CASE") and self._is_case()) - (token.is_word("END") and cases > 0)
            self._next += 1
        if first is None or self._next == begin:
            self.fail(f"expected {what}")
        return self.since(first)

    def _is_part_of_name(self) -> bool:
        """Return whether a dot precedes or follows the next token."""
        following = self.peek(1)
        has_dot = self._next > 0 and self._tokens[self._next - 1].text == "."
        return has_dot or (following is not None and following.text == ".")

    def _is_case(self) -> bool:
        """Return whether the next token, the word `CASE`, begins an expression and is not the name of a column."""
        following = self.peek(1)
        return following is not None and (following.kind != "symbol" or following.text in _BEFORE_OPERAND)

    def rest(self) -> Text:
        """Consume the rest of the statement, verbatim."""
        first = self.peek()
        if first is None:
            self.fail("expected a query")
        start, end = first.start, max([self._tokens[-1].end, *self._ends_of_hints])
        self._next = len(self._tokens)
        return Text(self.text[start:end], start)

    def since(self, first: Token) -> Text:
        """Return the consumed text from a token on, verbatim."""
        end = self._tokens[self._next - 1].end
        return Text(self.text[first.start : max(end, first.start)], first.start)

    def mark(self) -> int:
        """Return the current position, for `back_to`."""
        return self._next

    def back_to(self, mark: int) -> None:
        """Return to an earlier position, to parse from there again."""
        self._next = mark

    def skip_parentheses(self) -> None:
        """Skip an opening parenthesis and everything up to the matching closing one.

        Raises:
            InvalidArgumentError: The parenthesis is not closed.
        """
        self.expect("(")
        depth = 1
        while depth:
            token = self.take("')'")
            depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "symbol" else 0

    def reject(self, problem: str, hint: str | None = None) -> NoReturn:
        """Raise the error for an unsupported clause at the current position.

        Raises:
            UnsupportedError: Always.
        """
        token = self.peek()
        raise unsupported(self.text, len(self.text) if token is None else token.start, problem, hint)

    def end(self) -> None:
        """Check that no tokens remain.

        Raises:
            InvalidArgumentError: Tokens remain.
        """
        if not self.at_end:
            self.fail("expected the end of the statement")

    def fail(self, problem: str) -> NoReturn:
        """Raise the error for an unexpected token at the current position.

        Raises:
            InvalidArgumentError: Always.
        """
        token = self.peek()
        position = len(self.text.rstrip()) if token is None else token.start
        shown = "" if token is None else repr(without_secrets(token.text))
        if token is not None and token.kind != "symbol" and self.at_secret:
            shown = f"a {_SHOWN_KINDS.get(token.kind, token.kind)}"
        found = f"found {shown}" if shown else "the statement ends"
        raise syntax_error(self.text, position, f"{problem}, {found}")


def quoted(part: str) -> str:
    """Return a part of a name in SQL notation: in backquotes, unless it is a plain word.

    >>> quoted("orders"), quoted("a b")
    ('orders', '`a b`')
    """
    if part.replace("_", "a").isalnum() and part.isascii() and not part[0].isdigit():
        return part
    return "`" + part.replace("`", "``") + "`"


def literal(text: str) -> str:
    r"""Return a string literal.

    >>> literal("it's")
    "'it\\'s'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

"""Filters and values as objects: `col("price") * 2 > 10`."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable
from typing import Any, NoReturn

from frazil._literal import SqlText, lit
from frazil.errors import InvalidArgumentError

__all__ = ["Expression", "col"]


class Expression(SqlText):
    """An SQL expression, which operators and methods combine to others.

    It is accepted as a filter, as a value of `update` and `merge`, and as a condition of `merge`. `str()` returns its
    SQL.
    """

    __slots__ = ()

    __hash__ = SqlText.__hash__

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        """Return `self = other`; use `is_null()` to find NULL."""
        return self._compared("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        """Return `self <> other`."""
        return self._compared("<>", other)

    def __lt__(self, other: object) -> Expression:
        """Return `self < other`."""
        return self._compared("<", other)

    def __le__(self, other: object) -> Expression:
        """Return `self <= other`."""
        return self._compared("<=", other)

    def __gt__(self, other: object) -> Expression:
        """Return `self > other`."""
        return self._compared(">", other)

    def __ge__(self, other: object) -> Expression:
        """Return `self >= other`."""
        return self._compared(">=", other)

    def __and__(self, other: object) -> Expression:
        """Return `self AND other`."""
        return _joined("AND", self, other)

    def __rand__(self, other: object) -> Expression:
        """Return `other AND self`."""
        return _joined("AND", other, self)

    def __or__(self, other: object) -> Expression:
        """Return `self OR other`."""
        return _joined("OR", self, other)

    def __ror__(self, other: object) -> Expression:
        """Return `other OR self`."""
        return _joined("OR", other, self)

    def __invert__(self) -> Expression:
        """Return `NOT self`."""
        return Expression(f"(NOT {self})")

    def __add__(self, other: object) -> Expression:
        """Return `self + other`."""
        return _joined("+", self, other)

    def __radd__(self, other: object) -> Expression:
        """Return `other + self`."""
        return _joined("+", other, self)

    def __sub__(self, other: object) -> Expression:
        """Return `self - other`."""
        return _joined("-", self, other)

    def __rsub__(self, other: object) -> Expression:
        """Return `other - self`."""
        return _joined("-", other, self)

    def __mul__(self, other: object) -> Expression:
        """Return `self * other`."""
        return _joined("*", self, other)

    def __rmul__(self, other: object) -> Expression:
        """Return `other * self`."""
        return _joined("*", other, self)

    def __truediv__(self, other: object) -> Expression:
        """Return `self / other`."""
        return _joined("/", self, other)

    def __rtruediv__(self, other: object) -> Expression:
        """Return `other / self`."""
        return _joined("/", other, self)

    def __mod__(self, other: object) -> Expression:
        """Return `self % other`."""
        return _joined("%", self, other)

    def __rmod__(self, other: object) -> Expression:
        """Return `other % self`."""
        return _joined("%", other, self)

    def __neg__(self) -> Expression:
        """Return `-self`."""
        return Expression(f"(-{self})")

    def __bool__(self) -> NoReturn:
        """Raise, because the value depends on the row."""
        message = "an expression has no truth value in Python"
        raise InvalidArgumentError(message, hint="combine conditions with &, | and ~ instead of and, or and not")

    def is_null(self) -> Expression:
        """Return whether the value is NULL."""
        return Expression(f"({self} IS NULL)")

    def is_not_null(self) -> Expression:
        """Return whether the value is not NULL."""
        return Expression(f"({self} IS NOT NULL)")

    def is_nan(self) -> Expression:
        """Return whether the value is NaN; false for NULL."""
        return Expression(f"({self} IS NAN)")

    def is_not_nan(self) -> Expression:
        """Return whether the value is not NaN; true for NULL."""
        return Expression(f"({self} IS NOT NAN)")

    def is_in(self, values: Iterable[Any]) -> Expression:
        """Return whether the value is one of `values`.

        >>> print(col("city").is_in(["Bern", "Rome"]))
        ("city" IN ('Bern', 'Rome'))
        """
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            message = f"is_in takes several values, not {values!r}"
            raise InvalidArgumentError(message, hint="pass a list")
        given = list(values)
        return Expression(f"({self} IN ({', '.join(self._operands(given))}))")

    def between(self, low: Any, high: Any) -> Expression:
        """Return whether the value is at least `low` and at most `high`."""
        least, greatest = self._operands([low, high])
        return Expression(f"({self} BETWEEN {least} AND {greatest})")

    def like(self, pattern: str) -> Expression:
        r"""Return whether the string matches a pattern: `%` is any text, `_` a character; `\` escapes the next one."""
        if not isinstance(pattern, str):
            message = f"a pattern must be a string, not {pattern!r}"  # type: ignore[unreachable]
            raise InvalidArgumentError(message)
        return Expression(f"({self} LIKE {lit(pattern)})")

    def starts_with(self, prefix: str) -> Expression:
        r"""Return whether the string begins with a prefix.

        >>> print(col("name").starts_with("a_"))
        ("name" LIKE 'a\_%')
        """
        if not isinstance(prefix, str):
            message = f"a prefix must be a string, not {prefix!r}"  # type: ignore[unreachable]
            raise InvalidArgumentError(message)
        return self.like(f"{_escaped(prefix)}%")

    def ends_with(self, suffix: str) -> Expression:
        r"""Return whether the string ends with a suffix.

        >>> print(col("name").ends_with("_a"))
        ("name" LIKE '%\_a')
        """
        if not isinstance(suffix, str):
            message = f"a suffix must be a string, not {suffix!r}"  # type: ignore[unreachable]
            raise InvalidArgumentError(message)
        return self.like(f"%{_escaped(suffix)}")

    def contains(self, part: str) -> Expression:
        """Return whether the string contains another one.

        >>> print(col("name").contains("a"))
        ("name" LIKE '%a%')
        """
        if not isinstance(part, str):
            message = f"a part of a string must be a string, not {part!r}"  # type: ignore[unreachable]
            raise InvalidArgumentError(message)
        return self.like(f"%{_escaped(part)}%")

    def cast(self, data_type: str) -> Expression:
        """Return the value as another type, by its name in SQL; rows whose value does not fit raise an error."""
        return Expression(f"CAST({self} AS {data_type})")

    def try_cast(self, data_type: str) -> Expression:
        """Return the value as another type; NULL if it does not fit."""
        return Expression(f"TRY_CAST({self} AS {data_type})")

    def upper(self) -> Expression:
        """Return the string in upper case."""
        return self._called("upper")

    def lower(self) -> Expression:
        """Return the string in lower case."""
        return self._called("lower")

    def trim(self) -> Expression:
        """Return the string without leading and trailing spaces."""
        return self._called("trim")

    def length(self) -> Expression:
        """Return the number of characters of a string, or of bytes of a binary value."""
        return self._called("length")

    def substring(self, start: int, length: int | None = None) -> Expression:
        """Return the characters from a position on, where 1 is the first; at most `length`."""
        return self._called("substring", start, *([] if length is None else [length]))

    def concat(self, *others: Any) -> Expression:
        """Return the concatenation of strings; NULL if one is NULL."""
        return self._called("concat", *others)

    def coalesce(self, *others: Any) -> Expression:
        """Return the first value that is not NULL."""
        return self._called("coalesce", *others)

    def abs(self) -> Expression:
        """Return the absolute value."""
        return self._called("abs")

    def round(self, digits: int = 0) -> Expression:
        """Return the value rounded to a number of fractional digits, halves away from zero."""
        return self._called("round", digits)

    def __repr__(self) -> str:
        """Return the SQL."""
        return self.sql

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the SQL."""
        return type(self), (self.sql,)

    def _compared(self, operator: str, other: object) -> Expression:
        [operand] = self._operands([other])
        return Expression(f"({self} {operator} {operand})")

    def _operands(self, values: list[Any]) -> list[str]:
        """Return the operands of a comparison."""
        return [str(lit(value)) for value in values]

    def _called(self, function: str, *arguments: object) -> Expression:
        return Expression(f"{function}({', '.join(str(lit(part)) for part in (self, *arguments))})")


class _Column(Expression):
    """A column. A literal that is compared with it has the type of the column, so that the comparison skips files."""

    __slots__ = ()

    def _operands(self, values: list[Any]) -> list[str]:
        if any(isinstance(value, SqlText) for value in values):
            return super()._operands(values)
        return [_of_column(value) for value in values]


def col(name: str) -> Expression:
    """Return a column as an expression; dots separate the fields of structs.

    >>> from frazil import col
    >>> (col("price") * 2 > 10) & ~col("city").is_in(["Rome"])
    ((("price" * 2) > 10) AND (NOT ("city" IN ('Rome'))))
    """
    if not isinstance(name, str) or not name:
        message = f"the name of a column must be a string, not {name!r}"
        raise InvalidArgumentError(message)
    return column(*name.split("."))


def column(*path: str) -> Expression:
    """Return a column as an expression; several names lead to the field of a struct."""
    return _Column(".".join('"' + name.replace('"', '""') + '"' for name in path))


def _joined(operator: str, left: object, right: object) -> Expression:
    if operator in ("AND", "OR"):
        for side in (left, right):
            if isinstance(side, str):
                message = f"{side!r} is a string, which is not a condition"
                raise InvalidArgumentError(
                    message, hint="combine conditions made by frazil.col, or write one SQL string"
                )
    return Expression(f"({lit(left)} {operator} {lit(right)})")


def _escaped(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


def _of_column(value: object) -> str:
    """Return a literal whose type follows from the column."""
    if isinstance(value, uuid.UUID):
        return str(lit(str(value)))
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(lit(value))

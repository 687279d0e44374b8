"""Filters that are PyIceberg expressions, as SQL. PyIceberg itself is not imported.

They select the rows that PyIceberg selects. No comparison with NaN is true except `<>`. `NotIn` is true for NULL in
scans, but not in deletes. A number is rounded to the precision of a FLOAT column.
"""

from __future__ import annotations

import math
import struct
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil._expression import Expression
from frazil._literal import lit
from frazil._operand import (
    Operand,
    compared_as_floats,
    condition,
    contained,
    contained_or_null,
    is_nan,
    literal,
    reference,
    refused,
)
from frazil._temporal import date_text, time_text, timestamp_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

_FLOAT_MAX = 3.4028234663852886e38
"""The greatest finite number of 32 bits."""
_LIBRARY = "PyIceberg"
_COMPARISONS = {
    "EqualTo": "=",
    "NotEqualTo": "<>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_TESTS: dict[str, Callable[[Operand], Expression]] = {
    "IsNull": lambda column: column.sql.is_null(),
    "NotNull": lambda column: column.sql.is_not_null(),
    "IsNaN": lambda column: is_nan(column).sql,
    "NotNaN": lambda column: ~is_nan(column).sql,
}
_CONSTANTS = {"AlwaysTrue": True, "AlwaysFalse": False}


class _Context(NamedTuple):
    """The table that an expression selects rows of, and what for."""

    schema: Callable[[], pa.Schema] | None
    of_changes: bool

    def is_float(self, path: tuple[str, ...]) -> bool:
        """Return whether a column has 32 bits."""
        if self.schema is None:
            what = f"a comparison of `{'.'.join(path)}` with a number that a FLOAT column rounds"
            raise refused(_LIBRARY, what, "pass it as an SQL string")
        import pyarrow as pa

        fields: Any = self.schema()
        for name in path:
            names = [field.name for field in fields]
            # Whether case matters is not known here, and does not change the type of a column in practice.
            found = [place for place, own in enumerate(names) if own == name or own.lower() == name.lower()]
            if not found:
                return False
            data_type = fields[found[0]].type
            fields = list(data_type) if pa.types.is_struct(data_type) else ()
        return bool(pa.types.is_float32(data_type))


def is_expression(value: object) -> bool:
    """Return whether a value is an expression of PyIceberg."""
    return type(value).__module__.startswith("pyiceberg.expressions")


def expression_sql(expression: Any, schema: Callable[[], pa.Schema] | None = None, *, of_changes: bool = False) -> str:
    r"""Return an expression as SQL, for a scan or for the rows that an operation changes.

    Raises:
        InvalidArgumentError: The expression is not an unbound predicate on columns, or a number would have to be
            rounded and there is no schema.

    >>> from pyiceberg.expressions import And, LessThan, StartsWith
    >>> print(expression_sql(And(LessThan("id", 10), StartsWith("address.city", "a_"))))
    (("id" < 10) AND ("address"."city" LIKE 'a\_%'))
    """
    return str(_condition(expression, _Context(schema, of_changes)))


def _condition(expression: Any, context: _Context) -> Expression:
    kind = type(expression).__name__
    if kind in _CONSTANTS:
        return Expression(str(lit(_CONSTANTS[kind])))
    if kind == "And":
        return _condition(expression.left, context) & _condition(expression.right, context)
    if kind == "Or":
        return _condition(expression.left, context) | _condition(expression.right, context)
    if kind == "Not":
        return ~_condition(expression.child, context)
    return _predicate(expression, kind, context)


def _predicate(expression: Any, kind: str, context: _Context) -> Expression:
    column = _column(expression)
    if kind in _TESTS:
        return _TESTS[kind](column)
    if kind in _COMPARISONS:
        found = compared_as_floats(_COMPARISONS[kind], column, literal(_value(expression.literal, column, context)))
        return (found or condition(column.sql)).sql
    if kind in ("In", "NotIn"):
        distinct = {_value(one, column, context) for one in expression.literals}
        values = sorted(distinct, key=lambda value: str(lit(value)))
        found = contained(column, values) if context.of_changes else contained_or_null(column, values, null=False)
        return found.sql if kind == "In" else ~found.sql
    if kind == "StartsWith":
        return column.sql.starts_with(str(expression.literal.value))
    if kind == "NotStartsWith":
        return ~column.sql.starts_with(str(expression.literal.value))
    raise refused(_LIBRARY, repr(expression), "pass it as an SQL string")


def _column(expression: Any) -> Operand:
    name = getattr(getattr(expression, "term", None), "name", None)
    if not isinstance(name, str):
        raise refused(_LIBRARY, repr(expression), "pass it as an SQL string")
    return reference(*name.split("."))


def _value(literal: Any, column: Operand, context: _Context) -> Any:
    """Return the value of a literal; a string has the type of the column that it is compared with."""
    value = literal.value
    if isinstance(value, float) and math.isfinite(value) and abs(value) <= _FLOAT_MAX:
        [rounded] = struct.unpack("<f", struct.pack("<f", value))
        return rounded if rounded != value and context.is_float(column.path) else value
    match type(literal).__name__:
        case "TimestampLiteral":
            return timestamp_text(value, "us")
        case "DateLiteral":
            return date_text(value)
        case "TimeLiteral":
            return time_text(value, "us")
        case "UUIDLiteral":
            return uuid.UUID(bytes=value)
    return value

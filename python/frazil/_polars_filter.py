"""Filters that are Polars expressions, as SQL. Polars itself is not imported.

Polars serializes an expression to JSON, whose form changes between releases. Every node is checked, and an unknown one
is refused.
"""

from __future__ import annotations

import decimal
import io
import json
import struct
import sys
from typing import TYPE_CHECKING, Any

from frazil._expression import Expression
from frazil._operand import (
    Operand,
    compared,
    condition,
    contained,
    contained_or_null,
    is_nan,
    literal,
    reference,
    refused,
    same_or_null,
)
from frazil._temporal import date_literal, time_literal, timestamp_literal
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil._literal import Lit

_LIBRARY = "Polars"
_COMPARISONS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_VALIDITY = {"EqValidity": "=", "NotEqValidity": "<>"}
_CONJUNCTIONS = ("And", "LogicalAnd")
_DISJUNCTIONS = ("Or", "LogicalOr")
_ARITHMETIC: dict[str, Callable[[Any, Any], Expression]] = {
    "Plus": lambda left, right: left + right,
    "Minus": lambda left, right: left - right,
    "Multiply": lambda left, right: left * right,
    "TrueDivide": lambda left, right: left / right,
}
_BOUNDS = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
_TESTS: dict[str, Callable[[Operand], Expression]] = {
    "Not": lambda operand: ~operand.sql,
    "IsNull": lambda operand: operand.sql.is_null(),
    "IsNotNull": lambda operand: operand.sql.is_not_null(),
    "IsNan": lambda operand: is_nan(operand).sql,
    "IsNotNan": lambda operand: ~is_nan(operand).sql,
}
_PATTERNS: dict[str, Callable[[Expression, str], Expression]] = {
    "StartsWith": Expression.starts_with,
    "EndsWith": Expression.ends_with,
    "Contains": Expression.contains,
}
_CAST_TYPES = {"Int32": ("int", "int"), "Int64": ("long", "int"), "Float64": ("double", "double")}
_PER_MICROSECOND = {"Nanoseconds": 1000, "Microseconds": 1}
_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64")
_OLDEST = (1, 36)
"""Earlier releases serialize literals in other forms, and some compute decimals in another way."""

_EXACT_INTEGERS = 2**53
"""Polars converts integers to DOUBLE to compare them with floats, which is exact below this number."""


def is_expression(value: object) -> bool:
    """Return whether a value is an expression of Polars."""
    return any(kind.__module__ == "polars.expr.expr" and kind.__name__ == "Expr" for kind in type(value).__mro__)


def expression_sql(expression: Any) -> str:
    """Return an expression as SQL.

    Raises:
        InvalidArgumentError: The expression contains something that SQL does not evaluate in the same way.

    >>> import polars as pl
    >>> print(expression_sql((pl.col("id") < 10) & pl.col("city").is_in(["Bern"])))
    (("id" < 10) AND ("city" IN ('Bern')))
    """
    _check_version(sys.modules["polars"].__version__)
    try:
        node = json.loads(expression.meta.serialize(format="json"))
    except sys.modules["polars"].exceptions.PolarsError as error:
        raise refused(_LIBRARY, f"a part that cannot be serialized ({error})") from error
    return str(_operand(node).sql)


def _check_version(version: str) -> None:
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
        message = f"expressions of Polars {version} cannot be used as filters, which need Polars 1.36 or later"
        raise InvalidArgumentError(message, hint="upgrade Polars, or write an SQL string")


def _operand(node: Any) -> Operand:
    kind, content = _single(node)
    if kind == "Column" and isinstance(content, str):
        if content == "*" or (content.startswith("^") and content.endswith("$")):
            raise refused(_LIBRARY, f"the pattern {content} for columns", "name each column")
        return reference(content)
    if kind == "Literal":
        return _literal(content)
    if kind == "Alias" and isinstance(content, list) and len(content) == 2:  # noqa: PLR2004 - expression and name
        return _operand(content[0])
    if kind == "BinaryExpr":
        left, operation, right = _fields(content, "left", "op", "right")
        return _joined(operation, _operand(left), _operand(right))
    if kind == "Cast":
        return _cast(*_fields(content, "expr", "dtype", "options"))
    if kind == "Function":
        inputs, function = _fields(content, "input", "function")
        return _called(function, [_listed_or_operand(one) for one in inputs])
    raise _unknown(kind)


def _joined(operation: str, left: Operand, right: Operand) -> Operand:
    if operation in _COMPARISONS:
        return compared(_COMPARISONS[operation], _compared_exactly(left), _compared_exactly(right))
    if operation in _VALIDITY:
        return same_or_null(_VALIDITY[operation], _compared_exactly(left), _compared_exactly(right))
    if operation in _CONJUNCTIONS:
        return condition(left.sql & right.sql)
    if operation in _DISJUNCTIONS:
        return condition(left.sql | right.sql)
    if operation in _ARITHMETIC:
        return _computed(operation, left, right)
    hints = {"FloorDivide": "round", "Modulus": "round", "Xor": ""}
    if operation in hints:
        hint = "SQL rounds and truncates in another way; write an SQL string" if hints[operation] else "use &, | and ~"
        raise refused(_LIBRARY, f"the operator {operation}", hint)
    raise _unknown(operation)


def _compared_exactly(operand: Operand) -> Operand:
    """Return an operand of a comparison; refuse floats for which Polars first rounds the values of the column."""
    value = operand.value
    if operand.kind == "double" and operand.is_literal and not operand.is_nan:
        if abs(value) >= _EXACT_INTEGERS:
            raise refused(_LIBRARY, f"the number {value!r}, to which integers are rounded", "write an SQL string")
        if isinstance(value, _Dynamic) and not _is_float32(value):
            hint = f"write pl.lit({float(value)!r}, dtype=pl.Float64)"
            raise refused(_LIBRARY, f"the number {float(value)!r}, which is rounded for a column of Float32", hint)
    return operand


class _Dynamic(float):
    """A float literal without a type, to which Polars gives the type of the column."""

    __slots__ = ()


def _is_float32(value: float) -> bool:
    return bool(struct.unpack("f", struct.pack("f", value))[0] == value)


def _computed(operation: str, left: Operand, right: Operand) -> Operand:
    """Return arithmetic. The types of the operands must be known where Polars and SQL have different result types."""
    double = any(one.kind == "double" and not isinstance(one.value, _Dynamic) for one in (left, right))
    if any(isinstance(one.value, _Dynamic) for one in (left, right)) and not (left.kind == right.kind and double):
        raise refused(
            _LIBRARY, "arithmetic with a number of no type", "write pl.lit(number, dtype=pl.Float64) for the number"
        )
    if any(one.is_literal and one.kind not in ("int", "double") for one in (left, right)):
        raise refused(_LIBRARY, "arithmetic with this literal", "write an SQL string")
    known = double or "int" in (left.kind, right.kind)
    if (operation == "TrueDivide" and not double) or (operation == "Multiply" and not known):
        hint = "cast a side to pl.Float64, or write an SQL string"
        raise refused(_LIBRARY, f"the operator {operation} on columns of unknown types", hint)
    return Operand(_ARITHMETIC[operation](left.sql, right.sql), kind="double" if double else "")


def _called(function: Any, inputs: list[Any]) -> Operand:
    if function == "Negate":
        (operand,) = inputs
        return Operand(-operand.sql)
    if not isinstance(function, dict):
        raise _unknown(function)
    family, name = _single(function)
    name, options = (name, None) if isinstance(name, str) else _single(name)
    if family == "Boolean":
        return _tested(name, options, inputs)
    if family == "StringExpr":
        return _matched(name, options, inputs)
    if family == "StructExpr" and name == "FieldByName" and isinstance(options, str) and inputs[0].path:
        return reference(*inputs[0].path, options)
    raise _unknown(name)


def _tested(name: str, options: Any, inputs: list[Any]) -> Operand:
    if options is None and name in _TESTS and len(inputs) == 1:
        return condition(_TESTS[name](inputs[0]))
    if options is None and name in ("AllHorizontal", "AnyHorizontal") and inputs:
        found = inputs[0].sql
        for one in inputs[1:]:
            found = found & one.sql if name == "AllHorizontal" else found | one.sql
        return condition(found)
    if name == "IsBetween" and len(inputs) == 3:  # noqa: PLR2004 - the value and two bounds
        (closed,) = _fields(options, "closed")
        if closed not in _BOUNDS:
            raise _unknown(closed, "IsBetween with the bounds")
        value, low, high = (_compared_exactly(one) for one in inputs)
        if not all(bound.is_literal and bound.value is not None for bound in (low, high)):
            # Polars returns NULL if one is NULL, even if the other comparison is false.
            raise refused(_LIBRARY, "IsBetween with a bound that is not a value", "combine >= and <= by &")
        above, below = _BOUNDS[closed]
        return condition(compared(above, value, low).sql & compared(below, value, high).sql)
    if name == "IsIn" and len(inputs) == 2:  # noqa: PLR2004 - the value and a list
        (nulls_equal,) = _fields(options, "nulls_equal")
        return _contained(*inputs, nulls_equal=nulls_equal is True)
    raise _unknown(name)


def _contained(value: Operand, values: Any, *, nulls_equal: bool) -> Operand:
    if not isinstance(values, list):
        raise refused(_LIBRARY, "is_in with a column or an expression", "pass a list of values")
    given = [one.value for one in map(_compared_exactly, values) if one.value is not None]
    if not given:
        # The result for NULL depends on the release of Polars.
        raise refused(_LIBRARY, "is_in with a list without values", "use pl.lit(False), or is_null()")
    if nulls_equal:
        return contained_or_null(value, given, null=len(given) < len(values))
    return contained(value, given)


def _matched(name: str, options: Any, inputs: list[Any]) -> Operand:
    if name == "Contains":
        is_literal, _ = _fields(options, "literal", "strict")
        if is_literal is not True:
            raise refused(_LIBRARY, "a regular expression", "use contains(…, literal=True), starts_with or ends_with")
    elif options is not None or name not in _PATTERNS:
        raise _unknown(name)
    text, pattern = inputs
    if not isinstance(pattern.value, str):
        raise refused(_LIBRARY, f"{name} with a pattern that is not a string literal")
    return condition(_PATTERNS[name](text.sql, pattern.value))


def _cast(node: Any, dtype: Any, options: str) -> Operand:
    if isinstance(dtype, dict):
        (dtype,) = _fields(dtype, "Literal")
    if options != "Strict":
        raise refused(_LIBRARY, f"a cast with the option {options}", "omit strict=False, or use frazil.col(…).try_cast")
    if not isinstance(dtype, str) or dtype not in _CAST_TYPES:
        raise refused(_LIBRARY, f"a cast to {dtype}", "write CAST(… AS type) in an SQL string")
    name, kind = _CAST_TYPES[dtype]
    return Operand(_operand(node).sql.cast(name), kind=kind)


def _literal(node: Any) -> Operand:
    form, content = _single(node)
    if form == "Dyn":
        kind, value = _single(content)
        if kind == "Int" and type(value) is int:
            return literal(value)
        if kind == "Float":
            return literal(_Dynamic(_finite(value)))
        raise _unknown(kind)
    if form == "Scalar":
        return literal(_scalar(*_single(content)))
    raise _unknown(form, "a literal of type")


def _scalar(kind: str, value: Any) -> Any:
    """Return a typed literal as a Python value or as SQL."""
    match kind, value:
        case "Null", "Null":
            return None
        case ("Boolean", bool()) | ("String", str()):
            return value
        case "Float64", _:
            return _finite(value)
        case "Binary", list():
            return bytes(value)
        case "Decimal", [int(unscaled), int(), int(scale)]:
            return decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=76))
    return value if kind in _INTEGERS and type(value) is int else _temporal(kind, value)


def _temporal(kind: str, value: Any) -> Lit:
    match kind, value:
        case "Date", int():
            return date_literal(value)
        case "Time", int():
            return time_literal(value, "ns")
        case "Datetime", [_, "Milliseconds", _]:
            raise refused(_LIBRARY, "a timestamp of milliseconds", 'write it with dtype=pl.Datetime("us")')
        case "Datetime", [int(count), str(unit), zone] if unit in _PER_MICROSECOND:
            return _timestamp(count, unit, zoned=zone is not None)
    raise _unknown(kind, "a literal of type")


def _timestamp(count: int, unit: str, *, zoned: bool) -> Lit:
    """Return a timestamp of whole microseconds. Polars compares timestamps in the less precise of the units."""
    if count % _PER_MICROSECOND[unit]:
        raise refused(_LIBRARY, "a timestamp of nanoseconds", 'write it with dtype=pl.Datetime("us")')
    return timestamp_literal(count // _PER_MICROSECOND[unit], "us", zoned=zoned)


def _finite(value: Any) -> float:
    if value is None:
        hint = "use is_nan(), or write an SQL string for infinity"
        raise refused(_LIBRARY, "a NaN or an infinity, which Polars serializes as the same value", hint)
    if not isinstance(value, float | int):
        raise _unknown(value, "the number")
    return float(value)


def _listed_or_operand(node: Any) -> Any:
    """Return an operand, or the values of a list literal: Polars serializes a list as an Arrow stream."""
    match node:
        case {"Literal": {"Scalar": {"List": list(stream)}}}:
            return _values(bytes(stream))
    return _operand(node)


def _values(stream: bytes) -> list[Operand]:
    import pyarrow as pa

    from frazil._arrow_filter import scalar_literal

    column = pa.ipc.open_stream(io.BytesIO(stream)).read_all().column(0)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        column = column.combine_chunks().flatten()
    return [scalar_literal(value) for value in column]


def _single(node: Any) -> tuple[str, Any]:
    """Return the key and the value of a node."""
    if not isinstance(node, dict) or len(node) != 1:
        raise _unknown(node)
    ((kind, content),) = node.items()
    return kind, content


def _fields(node: Any, *names: str) -> list[Any]:
    """Return the values of exactly these fields of a node."""
    if not isinstance(node, dict) or set(node) != set(names):
        raise _unknown(node)
    return [node[name] for name in names]


def _unknown(what: Any, label: str = "") -> InvalidArgumentError:
    version = sys.modules["polars"].__version__
    text = what if isinstance(what, str) else json.dumps(what)
    return refused(_LIBRARY, f"{label} {text[:80]} (Polars {version})".lstrip())

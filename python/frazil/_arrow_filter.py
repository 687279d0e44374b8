"""Filters that are expressions of `pyarrow.compute`, as SQL.

An expression pickles to Arrow's own serialization, which this module reads: an IPC file whose schema metadata is the
list of calls, columns and literals. The literals and the options of functions are the columns of its only batch.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil._expression import Expression
from frazil._operand import (
    Operand,
    compared_as_floats,
    condition,
    contained_or_null,
    is_nan,
    literal,
    reference,
    refused,
)
from frazil._temporal import date_literal, time_literal, timestamp_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from frazil.errors import InvalidArgumentError

_LIBRARY = "pyarrow"
_COMPARISONS = {
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Expression]] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
    "divide": lambda left, right: left / right,
}
_CAST_TYPES = {"int32": ("int", "int"), "int64": ("long", "int"), "double": ("double", "double")}
_CAST_TYPES |= {"date32[day]": ("date", "other")}
_PATTERNS: dict[str, Callable[[Expression, str], Expression]] = {
    "starts_with": Expression.starts_with,
    "ends_with": Expression.ends_with,
    "match_substring": Expression.contains,
    "match_like": Expression.like,
}
_NULLS_MATCH, _NULLS_SKIPPED = 0, 1
_HINTS = {
    "and_": "use the operator &",
    "or_": "use the operator |",
    "xor": "write it with &, | and ~",
    "ignore_case": "omit ignore_case, or compare frazil.col(…).lower()",
    "is_finite": "use ~is_nan() and comparisons with infinity",
}


def is_expression(value: object) -> bool:
    """Return whether a value is an expression of pyarrow."""
    return type(value).__module__ == "pyarrow._compute" and type(value).__name__ == "Expression"


def expression_sql(expression: Any) -> str:
    """Return an expression as SQL.

    Raises:
        InvalidArgumentError: The expression contains something that SQL does not evaluate in the same way.

    >>> import pyarrow.compute as pc
    >>> print(expression_sql((pc.field("id") < 10) & pc.starts_with(pc.field("address", "city"), "B")))
    (("id" < 10) AND ("address"."city" LIKE 'B%'))
    """
    import pyarrow as pa

    try:
        _, (buffer, *_) = expression.__reduce__()
        reader = pa.ipc.open_file(buffer)
        tokens = list(_metadata(reader.schema))
        batch = reader.get_batch(0)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise refused(_LIBRARY, f"a part that cannot be serialized ({error})") from error
    parser = _Parser(iter(tokens), batch)
    operand = parser.operand()
    if next(parser.tokens, None) is not None:
        raise parser.unknown()
    return str(operand.sql)


class _CSchema(ctypes.Structure):
    """The first fields of the struct `ArrowSchema` of the C data interface."""

    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p))


_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _metadata(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield the pairs of the metadata in order. `schema.metadata` is a dictionary, which drops repeated keys."""
    capsule = schema.__arrow_c_schema__()
    at = _CSchema.from_address(_pointer(capsule, b"arrow_schema")).metadata

    def number() -> int:
        nonlocal at
        (found,) = struct.unpack("=i", ctypes.string_at(at, 4))
        at += 4
        return int(found)

    def text() -> str:
        nonlocal at
        length = number()
        found = ctypes.string_at(at, length)
        at += length
        return found.decode()

    if at is not None:
        for _ in range(number()):
            yield text(), text()


@dataclass
class _Call:
    """A call of a function."""

    name: str
    arguments: list[Operand] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    cast_type: str = ""

    def refused(self, hint: str = "") -> InvalidArgumentError:
        """Return the error for a call that has no exact counterpart."""
        return refused(_LIBRARY, f"the function {self.name}", hint or _HINTS.get(self.name, ""))


@dataclass
class _Parser:
    """The conversion of the serialized form to operands."""

    tokens: Iterator[tuple[str, str]]
    batch: Any

    def operand(self) -> Operand:
        """Return the next operand."""
        return self._operand(*next(self.tokens, ("", "")))

    def unknown(self) -> InvalidArgumentError:
        """Return the error for an unknown serialization."""
        return refused(_LIBRARY, f"a form that is not known (pyarrow {sys.modules['pyarrow'].__version__})")

    def _operand(self, key: str, value: str) -> Operand:
        if key == "field_ref":
            return reference(value)
        if key == "nested_field_ref":
            path = [next(self.tokens, ("", "")) for _ in range(int(value))]
            if not path or any(kind != "field_ref" for kind, _ in path):
                raise self.unknown()
            return reference(*(name for _, name in path))
        if key == "literal":
            return scalar_literal(self.batch.column(int(value))[0])
        if key == "call":
            return _called(self._call(value))
        raise self.unknown()

    def _call(self, name: str) -> _Call:
        call = _Call(name)
        for key, value in self.tokens:
            if key == "end":
                return call
            if key == "options":
                options = self.batch.column(int(value))
                call.options = {one.name: options[0][one.name] for one in options.type}
                call.cast_type = str(options.type.field("to_type").type) if name == "cast" else ""
            else:
                call.arguments.append(self._operand(key, value))
        raise self.unknown()


def _called(call: _Call) -> Operand:
    """Return the call of a function as an operand."""
    name, arguments = call.name, call.arguments
    if name in _COMPARISONS:
        found = compared_as_floats(_COMPARISONS[name], *arguments)
        if found is None:
            raise refused(_LIBRARY, "a comparison of two columns", _two_columns(name, *arguments))
        return found
    if name == "and_kleene":
        return condition(arguments[0].sql & arguments[1].sql)
    if name == "or_kleene":
        return condition(arguments[0].sql | arguments[1].sql)
    if name == "invert":
        return condition(~arguments[0].sql)
    if name.removesuffix("_checked") in _ARITHMETIC:
        return _computed(call)
    return _tested(call)


def _two_columns(name: str, left: Operand, right: Operand) -> str:
    names = [f'frazil.col("{".".join(one.path)}")' if one.path else "…" for one in (left, right)]
    symbol = {"=": "==", "<>": "!="}.get(_COMPARISONS[name], _COMPARISONS[name])
    return f"write {names[0]} {symbol} {names[1]}, where NaN equals NaN, or an SQL string"


def _tested(call: _Call) -> Operand:
    """Return a call of a function of one argument as an operand."""
    name, [operand, *others] = call.name, call.arguments
    options = {key: value for key, value in call.options.items() if key != "_type_name"}
    if others:
        raise call.refused()
    if name == "is_valid":
        return condition(operand.sql.is_not_null())
    if name == "is_null" and options.keys() == {"nan_is_null"}:
        null = operand.sql.is_null()
        return condition(null | is_nan(operand).sql if options["nan_is_null"].as_py() else null)
    if name == "is_nan":
        return is_nan(operand)
    if name == "is_in" and options.keys() == {"value_set", "null_matching_behavior"}:
        return _listed(call, operand)
    if name in _PATTERNS and options.keys() == {"pattern", "ignore_case"}:
        if options["ignore_case"].as_py():
            raise call.refused(_HINTS["ignore_case"])
        return condition(_PATTERNS[name](operand.sql, options["pattern"].as_py()))
    if name == "cast":
        return _cast(call, operand)
    raise call.refused()


def _listed(call: _Call, operand: Operand) -> Operand:
    """Return a test for membership. Arrow converts the values to the type of the column, and distinguishes -0.0."""
    listed = [scalar_literal(value) for value in call.options["value_set"].values]
    behavior = call.options["null_matching_behavior"].as_py()
    if behavior not in (_NULLS_MATCH, _NULLS_SKIPPED):
        raise call.refused()
    values = [one.value for one in listed if one.value is not None]
    for value in values:
        if isinstance(value, float) and (value == 0 or not _is_float32(value)):
            raise refused(_LIBRARY, f"isin with the number {value!r}", "combine comparisons with == by |")
    null = behavior == _NULLS_MATCH and len(values) < len(listed)
    return contained_or_null(operand, values, null=null)


def _is_float32(value: float) -> bool:
    try:
        return bool(struct.unpack("f", struct.pack("f", value))[0] == value) or value != value  # noqa: PLR0124 - NaN
    except OverflowError:
        return False


def _computed(call: _Call) -> Operand:
    """Return arithmetic. A type must be known, as Arrow computes FLOAT with other numbers in other types than SQL."""
    left, right = call.arguments
    name = call.name.removesuffix("_checked")
    kinds = {left.kind, right.kind}
    integers = "int" in kinds and name != "divide"
    doubles = any(one.kind == "double" and not one.is_literal for one in (left, right))
    if not (integers or doubles) or not kinds <= {"", "int", "double", "number"}:
        raise refused(_LIBRARY, f"the function {call.name}", 'cast a column to "float64", or write an SQL string')
    if kinds == {"int", "double"} and not doubles:
        raise refused(_LIBRARY, f"the function {call.name} of literals", "compute the value in Python")
    kind = "double" if doubles else "int" if kinds == {"int"} else "number"
    return Operand(_ARITHMETIC[name](left.sql, right.sql), kind=kind)


def _cast(call: _Call, operand: Operand) -> Operand:
    """Return a cast that raises an error if a value does not fit."""
    if any(value.as_py() is not False for name, value in call.options.items() if name.startswith("allow_")):
        raise refused(_LIBRARY, "a cast that is not safe", "use safe=True, or frazil.col(…).try_cast")
    if call.cast_type not in _CAST_TYPES:
        raise refused(_LIBRARY, f"a cast to {call.cast_type}", "write CAST(… AS type) in an SQL string")
    name, kind = _CAST_TYPES[call.cast_type]
    return Operand(operand.sql.cast(name), kind=kind)


def scalar_literal(scalar: Any) -> Operand:
    """Return a scalar as an operand."""
    import pyarrow.types as is_type

    kind = scalar.type
    if not scalar.is_valid:
        return literal(None)
    if is_type.is_timestamp(kind):
        return literal(timestamp_literal(scalar.value, kind.unit, zoned=kind.tz is not None))
    if is_type.is_time(kind):
        return literal(time_literal(scalar.value, kind.unit))
    if is_type.is_date32(kind):
        return literal(date_literal(scalar.value))
    texts = (is_type.is_string, is_type.is_large_string, is_type.is_string_view)
    binaries = (is_type.is_binary, is_type.is_large_binary, is_type.is_binary_view, is_type.is_fixed_size_binary)
    numbers = (is_type.is_boolean, is_type.is_integer, is_type.is_floating, is_type.is_decimal)
    if any(known(kind) for known in (*numbers, *texts, *binaries)) or str(kind) == "extension<arrow.uuid>":
        return literal(scalar.as_py())
    raise refused(_LIBRARY, f"a literal of type {kind}", "compare with a value of the column's type")

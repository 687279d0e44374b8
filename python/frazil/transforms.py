"""Iceberg's partition transforms, applied to Arrow data.

>>> import pyarrow as pa
>>> from frazil.transforms import bucket, days, truncate
>>> bucket(16)(pa.array(["iceberg", None])).to_pylist()
[9, None]
>>> truncate(3)(pa.array(["iceberg", "ab"])).to_pylist()
['ice', 'ab']
>>> days(pa.array([0, -1], pa.timestamp("us"))).to_pylist()
[datetime.date(1970, 1, 1), datetime.date(1969, 12, 31)]

A transform accepts a `pyarrow.Array`, a `pyarrow.ChunkedArray`, a pandas or Polars Series, or any other object that
exports Arrow data. NULL values stay NULL.
"""

from __future__ import annotations

import operator
from typing import Final, overload

import pyarrow as pa
import pyarrow.types as is_type

from frazil import _native
from frazil.errors import InvalidArgumentError

__all__ = ["Transform", "bucket", "days", "hours", "identity", "months", "truncate", "void", "years"]

_MAX_PARAMETER: Final = (1 << 31) - 1
_INT_BITS: Final = 32
_LONG_BITS: Final = 64
_MAX_PRECISION: Final = 38


class Transform:
    """A partition transform, called with Arrow data. Its string form is that of the Iceberg specification.

    >>> str(bucket(16)), repr(bucket(16)), bucket(16) == bucket(16), bucket(16) == bucket(8)
    ('bucket[16]', 'bucket(16)', True, False)
    """

    __slots__ = ("_call", "_text")

    def __init__(self, text: str, call: str) -> None:
        """Not for direct use; use the functions of this module."""
        self._text = text
        self._call = call

    def __call__(self, values: object) -> pa.Array | pa.ChunkedArray:
        """Transform all values.

        Returns:
            A `pyarrow.Array` for a single chunk of data, or a `pyarrow.ChunkedArray` with the same chunks for a stream.

        Raises:
            InvalidArgumentError: The transform does not apply to the type of the values, or they are not Arrow data.

        >>> import pyarrow as pa
        >>> bucket(16)(pa.chunked_array([[34], [35]])).num_chunks
        2
        >>> hours(pa.array([1.5]))
        Traceback (most recent call last):
          ...
        frazil.errors.InvalidArgumentError: the transform hour does not apply to the type double
        """
        data = _arrow(values)
        if isinstance(data, pa.Array):
            return self._apply(data)
        if data.num_chunks == 0:
            return pa.chunked_array([self._apply(pa.array([], data.type))])
        return pa.chunked_array([self._apply(chunk) for chunk in data.chunks])

    def _apply(self, array: pa.Array) -> pa.Array:
        result = pa.array(_native.apply_transform(self._text, _of_iceberg_type(array)))
        if isinstance(array, pa.ExtensionArray) and result.type == array.type.storage_type:
            return pa.ExtensionArray.from_storage(array.type, result)
        return result

    def __str__(self) -> str:
        """Return the string form of the specification, such as `bucket[16]`."""
        return self._text

    def __repr__(self) -> str:
        """Return the call that creates this transform."""
        return self._call

    def __eq__(self, other: object) -> bool:
        """Compare by string form."""
        return self._text == other._text if isinstance(other, Transform) else NotImplemented

    def __hash__(self) -> int:
        """Hash by string form."""
        return hash(self._text)

    def __reduce__(self) -> tuple[type[Transform], tuple[str, str]]:
        """Pickle the string form."""
        return type(self), (self._text, self._call)


class _Plain(Transform):
    """A transform without a parameter: `days(array)` transforms values, `days()` is the same as `days`."""

    __slots__ = ()

    @overload
    def __call__(self) -> _Plain: ...
    @overload
    def __call__(self, values: object) -> pa.Array | pa.ChunkedArray: ...

    def __call__(self, *values: object, **named: object) -> _Plain | pa.Array | pa.ChunkedArray:
        """Transform all values of the argument; without an argument, return the transform itself."""
        return super().__call__(*values, **named) if values or named else self


def bucket(n: int) -> Transform:
    """Return the transform that hashes values into `n` buckets: integers from 0 to n - 1.

    Accepts integers, decimals, dates, times, timestamps, strings, UUIDs and binary values.

    Raises:
        InvalidArgumentError: `n` is not a positive 31-bit integer.

    >>> import pyarrow as pa
    >>> bucket(100)(pa.array([34])).to_pylist()
    [79]
    """
    n = _parameter("bucket", n)
    return Transform(f"bucket[{n}]", f"bucket({n})")


def truncate(width: int) -> Transform:
    """Return the transform that truncates strings and binary values to a length, and numbers to a multiple of `width`.

    The width of a decimal is in units of its last digit.

    Raises:
        InvalidArgumentError: `width` is not a positive 31-bit integer.

    >>> import pyarrow as pa
    >>> truncate(10)(pa.array([1, -1, -11])).to_pylist()
    [0, -10, -20]
    """
    width = _parameter("truncate", width)
    return Transform(f"truncate[{width}]", f"truncate({width})")


years: Final = _Plain("year", "years()")
"""The years since 1970 of dates and timestamps."""

months: Final = _Plain("month", "months()")
"""The months since January 1970 of dates and timestamps."""

days: Final = _Plain("day", "days()")
"""The dates of dates and timestamps."""

hours: Final = _Plain("hour", "hours()")
"""The hours since the epoch of timestamps."""

identity: Final = _Plain("identity", "identity()")
"""The unchanged values."""

void: Final = _Plain("void", "void()")
"""NULL for every value, with the same type."""


def _parameter(name: str, value: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if isinstance(value, bool) or not 0 < number <= _MAX_PARAMETER:
        message = f"{name} must be an integer from 1 to {_MAX_PARAMETER}, not {value!r}"
        raise InvalidArgumentError(message)
    return number


def _arrow(values: object) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        if type(values).__module__.partition(".")[0] == "pandas":
            return pa.array(values, from_pandas=True)
        if hasattr(values, "__arrow_c_array__"):
            return pa.array(values)
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
    except (pa.ArrowException, TypeError, ValueError) as error:
        message = f"the values cannot be converted to Arrow data: {error}"
        raise InvalidArgumentError(message) from error
    message = f"a transform requires Arrow data, not {type(values).__name__}"
    raise InvalidArgumentError(message, hint="convert the values to a pyarrow.array")


def _of_iceberg_type(array: pa.Array) -> pa.Array:
    """Cast types that Iceberg lacks to the next wider type; return arrays of other types unchanged."""
    target = _next_type(array.type)
    if target is None or target == array.type:
        return array
    try:
        return array.cast(target)
    except pa.ArrowException as error:
        message = f"values of Arrow's {array.type} do not fit {target}: {error}"
        raise InvalidArgumentError(message) from error


def _next_type(data_type: pa.DataType) -> pa.DataType | None:
    if is_type.is_integer(data_type) and data_type.bit_width < _LONG_BITS:
        narrow = data_type.bit_width < _INT_BITS or is_type.is_signed_integer(data_type)
        return pa.int32() if narrow else pa.int64()
    if is_type.is_date64(data_type):
        return pa.date32()
    if is_type.is_time(data_type):
        return pa.time64("us")
    if is_type.is_timestamp(data_type) and data_type.unit in {"s", "ms"}:
        return pa.timestamp("us", data_type.tz)
    if is_type.is_decimal(data_type) and not is_type.is_decimal128(data_type):
        return pa.decimal128(min(data_type.precision, _MAX_PRECISION), data_type.scale)
    return None

"""Variants (Iceberg v3): JSON-like values in the Parquet binary encoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["to_json"]


def to_json(variants: Any) -> pa.StringArray | pa.ChunkedArray:
    """Return variants as JSON strings; NULL stays NULL.

    Types that JSON lacks become strings: dates, times and timestamps in ISO form, UUIDs, and binary as base64. Decimals
    and integers become numbers.

    Args:
        variants: A column of a scan: a struct array of `metadata` and `value`, chunked or contiguous.

    Raises:
        InvalidArgumentError: The array does not hold variants.
        CorruptDataError: A variant cannot be decoded.

    >>> import frazil, frazil.variant
    >>> table = frazil.load_table("tests/golden/iceberg/variant_parquet")
    >>> column = next(field.name for field in table.schema().fields if field.type == "variant")
    >>> frazil.variant.to_json(table.scan().to_arrow()[column]).type
    DataType(string)
    """
    import pyarrow as pa

    if isinstance(variants, pa.ChunkedArray):
        return pa.chunked_array([to_json(chunk) for chunk in variants.chunks], pa.string())
    if not hasattr(variants, "__arrow_c_array__"):
        message = f"variants must be an Arrow array, not {type(variants).__name__}"
        raise InvalidArgumentError(message)
    return _native.variant_to_json(variants)

"""DataFrames and values in the placeholders of a statement, such as `{name}`."""

from __future__ import annotations

import string
import uuid
from typing import TYPE_CHECKING, Any

from frazil.sql._references import braced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession


class Placeholders(string.Formatter):
    """Inserts values as Spark does, and names for DataFrames."""

    def __init__(self, spark: SparkSession) -> None:
        """Use the formatter of this session for the values that depend on Spark."""
        self._spark = spark
        self.frames: dict[str, DataFrame] = {}
        """The inserted DataFrames by name. The names do not occur in any other text."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the SQL of a placeholder's value, or the value itself if Spark formats it as Python does."""
        from pyspark.sql import Column, DataFrame

        value, first = super().get_field(field_name, args, kwargs)
        if isinstance(value, DataFrame):
            return self._name(value), first
        if isinstance(value, Column | str):
            return self._formatter().vformat(f"{{{field_name}}}", args, kwargs), first
        return value, first

    def _name(self, frame: DataFrame) -> str:
        name = next((name for name, one in self.frames.items() if one is frame), None)
        if name is None:
            name = f"frazil_frame_{uuid.uuid4().hex}"
            self.frames[name] = frame
        return name

    def _formatter(self) -> string.Formatter:
        # Not by `is_remote`: a process may have sessions of both kinds.
        if type(self._spark).__module__.startswith("pyspark.sql.connect"):
            from pyspark.sql.connect.sql_formatter import SQLStringFormatter as OfConnect

            return OfConnect(self._spark)  # type: ignore[arg-type]
        from pyspark.sql.sql_formatter import SQLStringFormatter

        return SQLStringFormatter(self._spark)


def with_placeholders(text: str, names: Mapping[str, DataFrame], *, is_template: bool) -> str:
    """Return a text in which names of DataFrames are placeholders again; a template has its braces doubled already.

    >>> with_placeholders("SELECT '{' FROM frame_1", {"frame_1": None}, is_template=False)
    "SELECT '{{' FROM {frame_1}"
    """
    text = text if is_template else braced(text)
    for name in names:
        text = text.replace(name, f"{{{name}}}")
    return text

"""Writes with `df.write.format("frazil")` and SQL, with the options of Spark's Iceberg connector.

Spark creates the writer in one process on the driver's host, runs `write` in the executors, and `commit` or `abort` in
another process on the driver's host; the writer is passed between them as a pickle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.iceberg._table import state_of
from frazil.iceberg._verbs import carry_out, snapshot_options
from frazil.iceberg.operations.rows import WrittenRows
from frazil.spark._attempts import linger_seconds
from frazil.spark._iceberg_write import check_branch, check_columns, open_table, write_operation
from frazil.spark._options import check_names, number, parse
from frazil.spark._session import WriteSession
from frazil.spark._write_audit import WriteAudit, task_audit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from frazil.spark._options import ReadOptions

OPTIONS = ("overwrite-mode", "write-format", "target-file-size-bytes", "fanout-enabled", "distribution-mode")
"""The options that apply only to writes, in addition to `snapshot-property.*`."""

_PROPERTY = "snapshot-property."
_COMMON = ("path", "format", "branch", "relocate")


def of_reads(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that do not apply only to writes, because a view may serve both reads and writes."""
    return {name: value for name, value in options.items() if not _of_writes(name.lower())}


def _of_writes(name: str) -> bool:
    return name in OPTIONS or name.startswith(_PROPERTY)


@dataclass
class Message(WriterCommitMessage):
    """The result of a task: the bytes of a commit message, and the seconds for which other attempts may run."""

    content: bytes
    linger: float
    audit: WriteAudit
    """The settings of the session, which only tasks can read."""


class FrazilWriter(DataSourceArrowWriter):
    """Writes the files of a table in the executors and commits them once."""

    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        """Check options, columns and types before any task runs.

        Raises:
            InvalidArgumentError: An option is unknown or does not apply, or a column does not fit.
            UnsupportedError: The table is a Paimon table.
        """
        asked = parse({name: value for name, value in options.items() if not name.lower().startswith(_PROPERTY)})
        self._mode = _mode(asked, overwrite=overwrite)
        _check(asked)
        prefix = len(_PROPERTY)
        properties = {name[prefix:]: value for name, value in options.items() if name.lower().startswith(_PROPERTY)}
        self._branch, self._properties = asked.branch, properties
        self._place = (asked.path, asked.relocate, asked.storage, asked.allowed_locations)
        table = open_table(*self._place)
        check_columns(table, schema)
        if self._branch is not None:
            check_branch(table, snapshot_options(self._branch, properties))
        target = number(asked.given, "target-file-size-bytes", least=1)
        self._session = WriteSession(state_of(table), asked.given.get("write-format"), target)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Message:
        """Write the rows of a task."""
        return Message(*self._session.write(iterator), task_audit())

    def commit(self, messages: list[Any]) -> None:
        """Commit the results of the tasks.

        Raises:
            InvalidArgumentError: The result of a task is missing, or settings of the session contradict each other;
                nothing is committed.
        """
        if any(message is None for message in messages):
            missing = "the result of a task is missing"
            raise InvalidArgumentError(missing)
        linger = max((message.linger for message in messages), default=0)
        try:
            # The table is opened again, because the table of the session is fixed at one metadata file, and concurrent
            # writers may have committed.
            table = open_table(*self._place)
            audit = messages[0].audit if messages else WriteAudit()
            options = audit.options(table, self._branch, self._properties)
            check_branch(table, options)
        except BaseException:
            self._session.abort(linger)
            raise
        session = self._session
        written = session.messages([message.content for message in messages], others=linger > 0, linger=linger)
        carry_out(table, write_operation(self._mode, options), WrittenRows(written, session, session.state))

    def abort(self, messages: list[Any]) -> None:
        """Delete the written files after a task has failed.

        Spark also aborts after a failed commit. A failed commit has already deleted its files, unless its outcome is
        unknown: the files may then be part of the table and are kept.
        """
        if any(message is None for message in messages):
            known = [message.linger for message in messages if message is not None]
            self._session.abort(max([linger_seconds(None), *known]))


def _mode(asked: ReadOptions, *, overwrite: bool) -> str:
    how = asked.given.get("overwrite-mode", "static").lower()
    if how not in ("static", "dynamic"):
        message = f"option `overwrite-mode` is {how!r}, expected static or dynamic"
        raise InvalidArgumentError(message)
    if not overwrite:
        return "append"
    return "dynamic" if how == "dynamic" else "overwrite"


def _check(asked: ReadOptions) -> None:
    """Check that all options apply to writes."""
    check_names(asked.given, OPTIONS, {})
    other = next((name for name in asked.given if name not in _COMMON and not _of_writes(name)), None)
    if other is not None:
        message = f"option `{other}` applies only to reads"
        raise InvalidArgumentError(message)
    distribution = asked.given.get("distribution-mode", "none").lower()
    if distribution != "none":
        message = "option `distribution-mode`: Spark does not let Python data sources distribute rows to tasks"
        raise UnsupportedError(message, hint="use `frazil.spark.write`, or repartition the DataFrame before the write")

"""The process that runs Java: it performs histories and reads tables for the process that started it."""

from __future__ import annotations

import gc
import itertools
import shutil
import sys
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

    from histories.paimon.history import History, Step
    from histories.paimon.java_steps import Steps
    from histories.paimon.reads import Outcome, Read, Rows

TABLE = "t"
FLAGS = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC")


def serve(pipe: Connection, folder: str) -> None:
    """Respond to requests until the pipe is closed.

    Requests are `("run", history, place, properties)`, `("adopt", steps, place, properties, name)`, `("read", reads)`,
    `("plain", steps, place)` and `("alter", location, operations)`.
    """
    try:
        start(Path(folder))
        pipe.send(None)
    except BaseException:  # noqa: BLE001 - told to who waits
        pipe.send(traceback.format_exc())
        return
    opened: Steps | None = None
    answer: Any
    # The pipe is closed when the other process stops waiting.
    with suppress(EOFError, OSError):
        while True:
            request, *arguments = pipe.recv()
            try:
                if request == "run":
                    _close(opened)
                    opened, answer = run(*arguments)
                elif request == "adopt":
                    _close(opened)
                    opened, answer = adopt(*arguments)
                elif request == "plain":
                    answer = plain(*arguments)
                elif request == "alter":
                    answer = alter(*arguments)
                else:
                    answer = [_answer(opened, read) for read in arguments[0]]
            except Exception:  # noqa: BLE001 - told to who waits
                answer = traceback.format_exc()
            pipe.send(answer)
    _close(opened)


def start(folder: Path) -> None:
    """Start the virtual machine with the jars of a folder, which may also contain JPype."""
    sys.path.append(str(folder / "python"))
    import jpype

    jpype.startJVM(*FLAGS, classpath=[str(folder / "jars" / "*")], convertStrings=False)


def alter(location: str, operations: Sequence[dict[str, Any]]) -> tuple[str | None, str | None]:
    """Apply changes to the schema of a table."""
    from histories.paimon.java_alters import alter

    return alter(location, operations)


def run(history: History, place: str, properties: dict[str, str]) -> tuple[Steps | None, Outcome]:
    """Perform a history in an empty folder."""
    from histories.paimon.java_steps import Steps, states, tags
    from histories.paimon.reads import Outcome

    shutil.rmtree(place, ignore_errors=True)
    Path(place).mkdir(parents=True)
    steps = Steps(place, str(Path(place) / "scratch"), properties)
    rejected = [_tried(lambda: steps.create(TABLE, history.create))]
    if rejected[0]:
        return steps, Outcome(tuple(rejected), {}, {})
    rejected += [_tried(partial(steps.run, step)) for step in history.steps]
    found = states(steps)
    return steps, Outcome(tuple(rejected), found, {branch: tags(steps, branch) for branch in found})


def adopt(done: Sequence[Step], place: str, properties: dict[str, str], name: str) -> tuple[Steps, Outcome]:
    """Perform steps on a table in a warehouse."""
    from histories.paimon.java_steps import Steps, states, tags
    from histories.paimon.reads import Outcome

    steps = Steps(place, str(Path(place) / "scratch"), properties)
    steps.adopt(name)
    rejected = tuple(_tried(partial(steps.run, step)) for step in done)
    found = states(steps)
    return steps, Outcome(rejected, found, {branch: tags(steps, branch) for branch in found})


def plain(steps: Sequence[Sequence[Any]], place: str) -> list[Any]:
    """Perform steps on format tables and object tables; return their results, or Java's errors as strings."""
    import jpype

    from histories.paimon.java_plain import Plain

    def tried(step: Sequence[Any]) -> Any:
        try:
            return tables.run(*step)
        except jpype.JException as error:
            return _reason(error)

    tables = Plain(place)
    try:
        return [tried(step) for step in steps]
    finally:
        tables.close()


def _tried(run_one: Any) -> str | None:
    import jpype

    try:
        run_one()
    except jpype.JException as error:
        return _reason(error)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        return f"driver: {error!r}"
    return None


def _reason(error: Any) -> str:
    texts, cause = [], error
    while cause is not None:
        texts.append(str(cause).split("\n")[0])
        cause = cause.getCause()
    return " <- ".join(texts[-2:])


def _close(steps: Steps | None) -> None:
    if steps is not None:
        _tried(steps.close)
        gc.collect()


def _answer(steps: Steps | None, read: Read) -> Rows | str:
    """Return the rows of a read in canonical form, or Java's error."""
    import jpype

    if steps is None:
        return "no table"
    try:
        return _rows(steps, read)
    except jpype.JException as error:
        return _reason(error)


def _each(steps: Steps, builder: Any) -> Iterator[Any]:
    """Return the rows of a read; each one is invalid after the next one is requested."""
    from histories.paimon.java_values import java

    source = builder.newRead().withIOManager(steps.spill).createReader(builder.newScan().plan())
    rows = java("paimon.reader.RecordReaderIterator")(source)
    try:
        while rows.hasNext():
            yield rows.next()
    finally:
        rows.close()


def _equal(steps: Steps, table: Any, kind: Any, column: str, number: int) -> Any:
    """Return the predicate that a column has the same value as in a row."""
    from histories.paimon.java_values import java

    position = kind.getFieldIndex(column)
    getter = java("paimon.data.InternalRow").createFieldGetter(kind.getTypeAt(position), position)
    row = next(itertools.islice(_each(steps, table.newReadBuilder()), number, None))
    value = getter.getFieldOrNull(row)
    predicates = java("paimon.predicate.PredicateBuilder")(kind)
    return predicates.isNull(position) if value is None else predicates.equal(position, value)


def _rows(steps: Steps, read: Read) -> Rows:
    from histories.paimon.java_steps import java_map
    from histories.paimon.java_values import java, row_reader
    from histories.paimon.reads import MOST_ROWS, Rows

    table = steps.table(read.branch).copy(java_map(read.options))
    if read.view == "audit_log":
        table = java("paimon.table.system.AuditLogTable")(table)
    elif read.view == "ro":
        table = java("paimon.table.system.ReadOptimizedTable")(table)
    elif read.view == "statistics":
        table = java("paimon.table.system.StatisticTable")(table)
    builder = table.newReadBuilder()
    kind = builder.readType()
    if read.equal_to_row is not None:
        builder = builder.withFilter(_equal(steps, table, kind, *read.equal_to_row))
    plain = row_reader(kind)
    found: list[dict[str, Any]] = []
    kinds: list[str] = []
    for row in _each(steps, builder):
        found.append(plain(row))
        kinds.append(str(row.getRowKind().shortString()))
        if len(found) > MOST_ROWS:
            raise ValueError(f"more than {MOST_ROWS} rows")
    return Rows(tuple((str(field.name()), str(field.type())) for field in kind.getFields()), found, kinds)

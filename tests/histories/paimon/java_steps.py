"""Performs the steps of a history with Paimon (Java), in the process with the virtual machine."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import singledispatchmethod
from itertools import count
from typing import TYPE_CHECKING, Any

import jpype

from histories.paimon.history import (
    MAIN,
    Alter,
    Branch,
    Compact,
    Concurrently,
    Create,
    DeletePositions,
    DropBranch,
    DropTag,
    Expire,
    FastForward,
    Move,
    Rollback,
    Step,
    Tag,
    Truncate,
    Type,
    Write,
)
from histories.paimon.java_values import java, java_type, to_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

DYNAMIC_BUCKETS = 2
DATABASE = "db"
KINDS = {"+I": "INSERT", "-U": "UPDATE_BEFORE", "+U": "UPDATE_AFTER", "-D": "DELETE"}


@dataclass
class Writer:
    """A writer and its commit, which stay open between commits."""

    table: Any
    write: Any
    commit: Any
    identifiers: count[int]


class Steps:
    """A table in a separate warehouse, and its writers."""

    def __init__(self, warehouse: str, scratch: str, properties: Mapping[str, str]) -> None:
        """Create the warehouse with additional catalog properties; Java spills to `scratch`."""
        options = java_options(properties)
        options.set("warehouse", warehouse)
        # A cached table would have the schema from before a fast-forward.
        options.set("cache-enabled", "false")
        self._catalog = java("paimon.catalog.CatalogFactory").createCatalog(
            java("paimon.catalog.CatalogContext").create(options)
        )
        self._catalog.createDatabase(DATABASE, True)
        self.spill = java("paimon.disk.IOManager").create(scratch)
        self._writers: dict[tuple[str, str], Writer] = {}
        self._users = count()
        self._homes: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def create(self, name: str, asked: Create) -> None:
        """Create the table."""
        self._name = name
        self._fields = count()
        schema = java("paimon.schema.Schema").newBuilder()
        for column in asked.columns:
            schema.column(column.name, self._type(column.type))
        schema.primaryKey(_strings(asked.primary_keys))
        schema.partitionKeys(_strings(asked.partition_keys))
        for key, value in asked.options:
            schema.option(key, value)
        self._catalog.createTable(self._identifier(MAIN), schema.build(), False)

    def adopt(self, name: str) -> None:
        """Open a table in the warehouse."""
        self._name = name
        self._fields = count(int(self.table().schema().highestFieldId()) + 1)

    def table(self, branch: str = MAIN) -> Any:
        """Return the table in its current state."""
        return self._catalog.getTable(self._identifier(branch))

    def close(self) -> None:
        """Close the writers and the catalog, and delete spilled data."""
        for key in list(self._writers):
            self._end(key)
        self.spill.close()
        self._catalog.close()

    def _identifier(self, branch: str) -> Any:
        identifier = java("paimon.catalog.Identifier")
        return identifier(DATABASE, self._name) if branch == MAIN else identifier(DATABASE, self._name, branch)

    def _type(self, kind: Type) -> Any:
        return java_type(kind, lambda: next(self._fields))

    # Writes

    @singledispatchmethod
    def run(self, step: Step) -> None:
        """Perform a step."""
        raise TypeError(f"{step} is not a step")

    @run.register
    def _(self, step: Write) -> None:
        key = (step.writer, step.branch)
        try:
            writer = self._writer(step)
            self._fill(writer, step)
            identifier = next(writer.identifiers)
            writer.commit.commit(identifier, writer.write.prepareCommit(True, identifier))
        except BaseException:
            self._end(key)
            raise
        if not step.writer:
            self._end(key)

    @run.register
    def _(self, step: Concurrently) -> None:
        writers: list[Writer] = []
        try:
            prepared = []
            for write in step.writes:
                writers.append(self._opened(write))
                self._fill(writers[-1], write)
                prepared.append(writers[-1].write.prepareCommit(True, 0))
            for writer, messages in zip(writers, prepared, strict=True):
                writer.commit.commit(0, messages)
        finally:
            for writer in writers:
                _close(writer)

    def _writer(self, step: Write) -> Writer:
        key = (step.writer, step.branch)
        if step.overwrite is not None or step.options:
            self._end(key)
        if key not in self._writers:
            self._writers[key] = self._opened(step)
        return self._writers[key]

    def _opened(self, step: Write, table: Any = None) -> Writer:
        table = self.table(step.branch).copy(java_map(step.options)) if table is None else table
        if str(table.bucketMode().name()) == "POSTPONE_MODE":
            table = java("paimon.table.PostponeUtils").tableForFixBucketWrite(table)
        user = f"user-{next(self._users)}"
        write = table.newWrite(user).withIOManager(self.spill)
        commit = table.newCommit(user)
        if step.overwrite is not None:
            write = write.withIgnorePreviousFiles(True)
            commit = commit.withOverwrite(java_map(step.overwrite))
        return Writer(table, write, commit, count())

    def _end(self, key: tuple[str, str]) -> None:
        writer = self._writers.pop(key, None)
        if writer:
            _close(writer)

    def _fill(self, writer: Writer, step: Write) -> None:
        kind = writer.table.rowType()
        types = {str(field.name()): field.type() for field in kind.getFields()}
        mode = str(writer.table.bucketMode().name())
        assigned = _assigner(writer.table, is_new=step.overwrite is not None) if mode == "HASH_DYNAMIC" else None
        for record in step.rows:
            values = dict(zip(step.columns, record[1:], strict=True))
            row = _row(types, record[0], values)
            if assigned:
                writer.write.write(row, assigned(row))
            elif mode == "KEY_DYNAMIC":
                self._write_dynamic(writer, types, record[0], values)
            else:
                writer.write.write(row)

    def _write_dynamic(self, writer: Writer, types: Mapping[str, Any], kind: str, values: dict[str, Any]) -> None:
        """Write a row to the bucket of its key, and move the key if it was in another partition."""
        keys = [str(key) for key in writer.table.primaryKeys()]
        partition = [str(key) for key in writer.table.partitionKeys()]
        if not set(partition) <= set(keys):
            key, home = tuple(values.get(name) for name in keys), tuple(values.get(name) for name in partition)
            before = self._homes.setdefault(key, home)
            if before != home:
                self._homes[key] = home
                gone = {**values, **dict(zip(partition, before, strict=True))}
                writer.write.write(_row(types, "-D", gone), _bucket(gone, keys))
        writer.write.write(_row(types, kind, values), _bucket(values, keys))

    # Files

    @run.register
    def _(self, step: Compact) -> None:
        table = self.table(step.branch).copy(java_map((("write-only", "false"),)))
        user = f"user-{next(self._users)}"
        if not table.primaryKeys() and str(table.bucketMode().name()) == "BUCKET_UNAWARE":
            rewriter = table.store().newWrite(user)
            tasks = java("paimon.append.AppendCompactCoordinator")(table, False).run()
            messages = [task.doCompact(table, rewriter) for task in tasks]
            commit = table.newCommit(user)
            commit.commit(0, _list(messages))
            commit.close()
            return
        writer = self._opened(Write((), ()), table)
        try:
            for entry in table.newSnapshotReader().bucketEntries():
                writer.write.compact(entry.partition(), entry.bucket(), step.full)
            writer.commit.commit(0, writer.write.prepareCommit(True, 0))
        finally:
            _close(writer)

    @run.register
    def _(self, step: DeletePositions) -> None:
        table = self.table()
        snapshot = table.latestSnapshot().get()
        splits = list(table.newSnapshotReader().read().dataSplits())
        unaware = str(table.bucketMode().name()) == "BUCKET_UNAWARE"
        maintainers = java("paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer")
        wide = str(table.options().get("deletion-vectors.bitmap64")) == "true"
        empty = java(f"paimon.deletionvectors.Bitmap{'64' if wide else ''}DeletionVector")
        handler = table.store().newIndexFileHandler()
        messages = []
        for place, files in _by_bucket(splits).items():
            partition, bucket, total = place[1:]
            choice = (
                maintainers.forUnawareAppend(handler, snapshot, partition)
                if unaware
                else maintainers.forBucketedAppend(handler, snapshot, partition, bucket)
            )
            for file in files:
                vector = empty()
                for position in range(0, file.rowCount(), step.every):
                    vector.delete(position)
                choice.notifyNewDeletionVector(file.fileName(), vector)
            messages.append(_index_message(partition, bucket, total, choice.persist()))
        commit = table.newCommit(f"user-{next(self._users)}")
        commit.commit(0, _list(messages))
        commit.close()

    @run.register
    def _(self, step: Truncate) -> None:
        commit = self.table().newCommit(f"user-{next(self._users)}")
        if step.partitions:
            commit.truncatePartitions(_list([java_map(partition) for partition in step.partitions]))
        else:
            commit.truncateTable()
        commit.close()

    @run.register
    def _(self, step: Expire) -> None:
        config = java("paimon.options.ExpireConfig").builder()
        config = config.snapshotRetainMax(step.retain).snapshotRetainMin(1)
        self.table().newExpireSnapshots().config(config.build()).expire()

    # Schemas and references

    @run.register
    def _(self, step: Alter) -> None:
        changes = java("paimon.schema.SchemaChange")
        arguments = [self._argument(argument) for argument in step.arguments]
        change = getattr(changes, step.change)(*arguments)
        self._catalog.alterTable(self._identifier(step.branch), _list([change]), False)

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, Type):
            return self._type(argument)
        if isinstance(argument, Move):
            return getattr(java("paimon.schema.SchemaChange$Move"), argument.place)(*argument.columns)
        if isinstance(argument, tuple):
            return jpype.JArray(jpype.JString)(list(argument))
        return argument

    @run.register
    def _(self, step: Tag) -> None:
        table = self.table()
        table.createTag(step.name, table.snapshotManager().latestSnapshotId().longValue() - step.back)

    @run.register
    def _(self, step: DropTag) -> None:
        self.table().deleteTag(step.name)

    @run.register
    def _(self, step: Branch) -> None:
        if step.tag is None:
            self.table().createBranch(step.name)
            return
        try:
            self.table().createBranch(step.name, step.tag)
        except jpype.JException:
            # Java copies the snapshot after the tag. If the snapshot has expired, a branch without a schema is left.
            table = self.table()
            if not table.schemaManager().copyWithBranch(step.name).latest().isPresent():
                table.branchManager().dropBranch(step.name)
            raise

    @run.register
    def _(self, step: DropBranch) -> None:
        self._forget_branch(step.name)
        self.table().deleteBranch(step.name)

    @run.register
    def _(self, step: FastForward) -> None:
        self._forget_branch(MAIN)
        self.table().fastForward(step.branch)

    @run.register
    def _(self, step: Rollback) -> None:
        self._forget_branch(MAIN)
        table = self.table()
        if isinstance(step.to, int):
            table.rollbackTo(table.snapshotManager().latestSnapshotId().longValue() - step.to)
        else:
            table.rollbackTo(step.to)

    def _forget_branch(self, branch: str) -> None:
        for key in [key for key in self._writers if key[1] == branch]:
            self._end(key)


def _close(writer: Writer) -> None:
    try:
        writer.write.close()
    finally:
        writer.commit.close()


def _row(types: Mapping[str, Any], kind: str, values: Mapping[str, Any]) -> Any:
    row = java("paimon.data.GenericRow")(getattr(java("paimon.types.RowKind"), KINDS[kind]), len(types))
    for position, (name, of_type) in enumerate(types.items()):
        row.setField(position, _value(values.get(name), of_type))
    return row


def _value(value: Any, kind: Any) -> Any:
    """Return a value for Java, or NULL for a value of another type after a rejected schema change."""
    try:
        return to_java(value, kind)
    except (TypeError, ValueError, AttributeError, OverflowError, jpype.JException):
        return None


def _assigner(table: Any, *, is_new: bool) -> Callable[[Any], int]:
    """Return Java's function that assigns the keys of rows to dynamic buckets; an overwrite assigns all keys again."""
    extractor = java("paimon.table.sink.RowPartitionKeyExtractor")(table.schema())
    options = table.coreOptions()
    target, most = options.dynamicBucketTargetRowNum(), options.dynamicBucketMaxBuckets()
    if is_new:
        assigner = java("paimon.index.SimpleHashBucketAssigner")(1, 0, target, most)
    else:
        handler = table.store().newIndexFileHandler()
        of_hash = java("paimon.index.HashBucketAssigner")
        assigner = of_hash(table.snapshotManager(), "assigner", handler, 1, 1, 0, target, most)
    return lambda row: int(assigner.assign(extractor.partition(row), extractor.trimmedPrimaryKey(row).hashCode()))


def _bucket(values: Mapping[str, Any], keys: Iterable[str]) -> int:
    """Return the bucket of a key, which is the same in all commits."""
    return zlib.crc32(repr([values.get(key) for key in keys]).encode()) % DYNAMIC_BUCKETS


def _by_bucket(splits: Iterable[Any]) -> dict[tuple[Any, ...], list[Any]]:
    found: dict[tuple[Any, ...], list[Any]] = {}
    for split in splits:
        text = str(split.partition().hashCode()), str(split.partition())
        key = next(
            (key for key in found if key[0] == (text, split.bucket()) and key[1].equals(split.partition())), None
        )
        key = key or ((text, split.bucket()), split.partition(), split.bucket(), split.totalBuckets())
        found.setdefault(key, []).extend(split.dataFiles())
    return found


def _index_message(partition: Any, bucket: int, total: Any, entries: Iterable[Any]) -> Any:
    added, removed = [], []
    for entry in entries:
        (added if str(entry.kind().name()) == "ADD" else removed).append(entry.indexFile())
    empty = java("java.util.Collections").emptyList()
    increment = java("paimon.io.DataIncrement")(empty, empty, empty, _list(added), _list(removed))
    nothing = java("paimon.io.CompactIncrement").emptyIncrement()
    return java("paimon.table.sink.CommitMessageImpl")(partition, bucket, total, increment, nothing)


def _list(parts: Iterable[Any]) -> Any:
    return java("java.util.ArrayList")(list(parts))


def _strings(parts: Iterable[str]) -> Any:
    return java("java.util.ArrayList")([java("java.lang.String")(part) for part in parts])


def java_options(properties: Mapping[str, str]) -> Any:
    """Return the options of a catalog."""
    options = java("paimon.options.Options")()
    for key, value in properties.items():
        options.set(key, value)
    return options


def java_map(pairs: Iterable[tuple[str, str]]) -> Any:
    found = java("java.util.HashMap")()
    for key, value in pairs:
        found.put(key, value)
    return found


def states(steps: Steps) -> dict[str, list[tuple[int, str]]]:
    """Return the snapshots of each branch: their ids and kinds."""
    table = steps.table()
    names = [MAIN, *sorted(str(name) for name in table.branchManager().branches())]
    found = {}
    for name in names:
        manager = steps.table(name).snapshotManager()
        snapshots = sorted((int(one.id()), str(one.commitKind().name())) for one in manager.safelyGetAllSnapshots())
        found[name] = snapshots
    return found


def tags(steps: Steps, branch: str) -> dict[str, int]:
    """Return the tags of a branch with the ids of their snapshots."""
    manager = steps.table(branch).tagManager()
    return {str(pair.getRight()): int(pair.getLeft().id()) for pair in manager.tagObjects()}

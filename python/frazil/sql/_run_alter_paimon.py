"""ALTER TABLE of Paimon tables; a statement publishes one schema, as in Paimon's Spark connector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._expression import col
from frazil.sql import _alterations as alter
from frazil.sql._keys import partition_column
from frazil.sql._lexer import invalid, unsupported
from frazil.sql._row_targets import named
from frazil.sql._table_schemas import paimon_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from frazil.paimon import Table
    from frazil.paimon._data_types import DataType
    from frazil.paimon._update_schema import UpdateSchema
    from frazil.sql._column_types import ColumnType
    from frazil.sql._parts import PartitionValue
    from frazil.sql._reader import Name
    from frazil.sql._run import Run
    from frazil.sql._statements import AlterTable

__all__ = ["alter_paimon_table", "partitions_of"]

_COMMENT = "comment"


def alter_paimon_table(statement: AlterTable, table: Table, run: Run[Any]) -> None:
    """Change a table, or the tags of a table, or drop partitions.

    Raises:
        InvalidArgumentError: The table does not allow a change; nothing is changed.
        UnsupportedError: Paimon tables do not have what the statement changes.
    """
    [first, *_] = statement.changes
    if isinstance(first, alter.DropPartitions):
        _drop_partitions(first, table, run)
        return
    if isinstance(first, alter.RenameTag):
        table.manage_snapshots().rename_tag(first.name, first.new_name).commit()
        return
    if isinstance(first, alter.SetReference | alter.DropReference):
        _change_reference(first, table, run)
        return
    with table.update_schema() as update:
        for change in statement.changes:
            if type(change) not in _CHANGES:
                raise unsupported(run.text, run.start, "this form of ALTER TABLE is not supported for Paimon tables")
            _CHANGES[type(change)](update, change, _Columns(table, run))


def _drop_partitions(change: alter.DropPartitions, table: Table, run: Run[Any]) -> None:
    found = partitions_of(change.partitions, table, run)
    exists = [_has_rows(one, table) for one in found]
    if not all(exists) and not change.if_exists:
        place = exists.index(False)
        shown = ", ".join(f"{name} = {value}" for name, value in found[place].items())
        problem = f"PARTITION: the table has no partition with {shown}"
        raise invalid(run.text, change.partitions[place][0].start, problem, "write IF EXISTS to ignore it")
    if any(exists):
        table.drop_partitions([one for one, is_there in zip(found, exists, strict=True) if is_there])


def partitions_of(
    partitions: Sequence[Sequence[PartitionValue]], table: Table, run: Run[Any]
) -> list[dict[str, str | None]]:
    """Return partitions as values by column, which are texts.

    Raises:
        InvalidArgumentError: A column is not a partition column, or has no value.
    """
    constants = [one for partition in partitions for one in partition]
    columns = {one: partition_column(one, table.partition_keys, run.text) for one in constants}
    for one in constants:
        if one.constant is None:
            raise invalid(run.text, one.start, f"PARTITION: `{one.column}` has no value")
    values = iter(run.engine.constants([one.constant.text for one in constants if one.constant is not None]))
    return [{columns[one]: next(values) for one in partition} for partition in partitions]


def _has_rows(partition: Mapping[str, str | None], table: Table) -> bool:
    """Return whether a partition, or one of several with these values, has data files."""
    import pyarrow as pa

    schema, row_filter = table.scan().schema(), None
    for name, value in partition.items():
        typed = None if value is None else pa.scalar(value).cast(schema.field(name).type).as_py()
        one = col(name).is_null() if typed is None else col(name) == typed
        row_filter = one if row_filter is None else row_filter & one
    plan = table.scan(True if row_filter is None else row_filter).plan().to_arrow()
    count: int = plan.num_rows
    return count > 0


class _Columns:
    """The columns of a table, and the session that compares their names."""

    def __init__(self, table: Table, run: Run[Any]) -> None:
        self._table, self.run = table, run

    def path(self, name: Name) -> tuple[str, ...]:
        """Return the path of a column, with the names that the table has; a part that it does not have is kept."""
        return self._found(name.parts)[0]

    def sibling(self, name: Name, other: str) -> tuple[str, ...]:
        """Return the path of another column of the same ROW."""
        return self._found((*name.parts[:-1], other))[0]

    def has(self, name: Name) -> bool:
        """Return whether the table has a column."""
        return self._found(name.parts)[1]

    def type(self, found: ColumnType) -> str:
        """Return a type in Paimon's notation."""
        return paimon_type(found, timestamp_has_zone=self.run.engine.timestamp_has_zone())

    def _found(self, parts: Sequence[str]) -> tuple[tuple[str, ...], bool]:
        """Return a path with the names that the table has, and whether it has all of them."""
        fields = {field.name: field.data_type for field in self._table.schema().fields}
        path, is_known = [], True
        for part in parts:
            found = named(fields, part, self.run.engine)
            path.append(found[0] if len(found) == 1 else part)
            is_known = is_known and len(found) == 1
            fields = _fields(fields[found[0]]) if len(found) == 1 else {}
        return tuple(path), is_known


def _fields(data_type: DataType) -> dict[str, DataType]:
    """Return the types inside a type by the part of a path, in which `element` and `value` can be omitted."""
    if data_type.name in ("ARRAY", "MAP"):
        [*_, last] = data_type.children
        return {**_fields(last), "element" if data_type.name == "ARRAY" else "value": last}
    return {field.name: field.type for field in data_type.fields}


# Columns


def _add_column(update: UpdateSchema, change: alter.AddColumn, columns: _Columns) -> None:
    path = columns.path(change.path)
    default = None if change.default is None else _text(change.default.text, columns.run)
    update.add_column(path, columns.type(change.type), change.comment, change.required, default)
    _move(update, path, change, columns)


def _alter_column(update: UpdateSchema, change: alter.AlterColumn, columns: _Columns) -> None:
    path = columns.path(change.path)
    if change.type is not None or change.comment is not None or change.required is not None:
        changed = None if change.type is None else columns.type(change.type)
        update.update_column(path, changed, change.required, change.comment)
    if change.default == "unset":
        update.set_default_value(path, None)
    elif change.default is not None:
        update.set_default_value(path, _text(change.default.text, columns.run))
    _move(update, path, change, columns)


def _move(
    update: UpdateSchema, path: tuple[str, ...], change: alter.AddColumn | alter.AlterColumn, columns: _Columns
) -> None:
    if change.position is None:
        return
    if change.position.after is None:
        update.move_first(path)
    else:
        update.move_after(path, columns.sibling(change.path, change.position.after))


def _rename_column(update: UpdateSchema, change: alter.RenameColumn, columns: _Columns) -> None:
    update.rename_column(columns.path(change.path), change.new_name)


def _drop_column(update: UpdateSchema, change: alter.DropColumn, columns: _Columns) -> None:
    if not (change.if_exists and not columns.has(change.path)):
        update.delete_column(columns.path(change.path))


# Options and the comment


def _set_properties(update: UpdateSchema, change: alter.SetProperties, columns: _Columns) -> None:
    del columns
    for name, value in change.properties.items():
        if name == _COMMENT:
            update.set_comment(value)
        else:
            update.set_option(name, value)


def _unset_properties(update: UpdateSchema, change: alter.UnsetProperties, columns: _Columns) -> None:
    del columns
    for name in change.names:
        if name == _COMMENT:
            update.set_comment(None)
        else:
            update.remove_option(name)


def _text(expression: str, run: Run[Any]) -> str | None:
    """Return the value of a default as text, which Paimon casts to the type of the column."""
    [value] = run.engine.constants([expression])
    return value


# Tags


def _change_reference(change: alter.SetReference | alter.DropReference, table: Table, run: Run[Any]) -> None:
    """Create, replace or drop a tag."""
    if change.kind != "tag":
        hint = "use CALL sys.create_branch and CALL sys.delete_branch"
        raise unsupported(run.text, run.start, "branches of Paimon tables are not changed by ALTER TABLE", hint)
    exists, references = change.name in table.tags(), table.manage_snapshots()
    if isinstance(change, alter.DropReference):
        if exists or not change.if_exists:
            references.remove_tag(change.name).commit()
        return
    if exists and change.if_not_exists:
        return
    if change.replaces and (exists or not change.creates):
        references.replace_tag(change.name, change.snapshot_id, change.max_ref_age_ms).commit()
    else:
        references.create_tag(change.snapshot_id, change.name, change.max_ref_age_ms).commit()


_CHANGES: dict[type[Any], Callable[[UpdateSchema, Any, _Columns], None]] = {
    alter.AddColumn: _add_column,
    alter.AlterColumn: _alter_column,
    alter.DropColumn: _drop_column,
    alter.RenameColumn: _rename_column,
    alter.SetProperties: _set_properties,
    alter.UnsetProperties: _unset_properties,
}

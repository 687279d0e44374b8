"""ALTER TABLE and ALTER NAMESPACE; a statement on an Iceberg table is one commit, as in Iceberg's Spark connector."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from frazil._virtual_table import VirtualTable
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.sql import _alterations as alter
from frazil.sql._column_types import Primitive
from frazil.sql._lexer import invalid, unsupported
from frazil.sql._reader import MOST_DIGITS
from frazil.sql._run_alter_paimon import alter_paimon_table
from frazil.sql._sources import kind_of
from frazil.sql._table_schemas import find_field, iceberg_type, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.iceberg import NestedField, Table, Transaction
    from frazil.sql._column_types import ColumnType
    from frazil.sql._engine import Frame
    from frazil.sql._names import Resolved
    from frazil.sql._parts import PartitionField
    from frazil.sql._reader import Name, Text
    from frazil.sql._run import Run
    from frazil.sql._statements import AlterNamespace, AlterTable

__all__ = ["alter_namespace", "alter_table"]

_RESERVED = {
    "sort-order": "use ALTER TABLE … WRITE ORDERED BY",
    "identifier-fields": "use ALTER TABLE … SET IDENTIFIER FIELDS",
}
"""Properties that show a part of the definition, with hints to the statements that change it."""


def alter_table(statement: AlterTable, run: Run[Frame]) -> Frame:
    """Change a table.

    Raises:
        InvalidArgumentError: The table does not allow a change; nothing is changed.
        UnsupportedError: The name refers to a metadata table, or tables of this format do not support the change.
    """
    where = run.where(statement.name)
    if where is None:
        return run.unchanged()
    [first, *_] = statement.changes
    if isinstance(first, alter.RenameTable):
        where.catalog.catalog.rename_table(where.levels, _new_levels(first.new_name, where, run))
        return run.done()
    table = run.tables.load(where.catalog, where.levels)
    if isinstance(table, VirtualTable) or not hasattr(table, "append"):
        problem = f"{kind_of(table)} {statement.name} cannot be changed"
        raise unsupported(run.text, statement.name.start, problem)
    if where.catalog.format == "paimon":
        alter_paimon_table(statement, table, run)
        return run.done()
    with table.transaction() as changes:
        for change in statement.changes:
            _CHANGES[type(change)](changes, change, run)
    return run.done()


def alter_namespace(statement: AlterNamespace, run: Run[Frame]) -> Frame:
    """Set and remove properties of a namespace."""
    where = run.names.new_namespace(statement.name.parts)
    if where is None:
        return run.unchanged()
    where.catalog.catalog.update_namespace_properties(where.levels, statement.removals, statement.properties)
    return run.done()


def _new_levels(name: Name, where: Resolved, run: Run[Any]) -> tuple[str, ...]:
    """Return the new name of a table; a name of one part keeps the namespace, as in Spark."""
    parts = name.parts
    if len(parts) == 1:
        return (*where.levels[:-1], parts[0])
    found = run.names.table(parts)
    if parts[0] in run.names.catalogs and found is not None:
        if found.catalog is not where.catalog:
            problem = f"a table of catalog {where.catalog.name} cannot be renamed into catalog {found.catalog.name}"
            raise unsupported(run.text, name.start, problem, "use CREATE TABLE … AS SELECT")
        return found.levels
    return parts


# Columns


def _add_column(changes: Transaction, change: alter.AddColumn, run: Run[Any]) -> None:
    found, default = _type(change.type, run), None
    if change.default is not None:
        default = _default(change.default, found, change.type_text, run)
    with changes.update_schema(case_sensitive=False) as update:
        update.add_column(change.path.parts, found, change.comment, required=change.required, default_value=default)
        _move(update, change.path, change.position)


def _alter_column(changes: Transaction, change: alter.AlterColumn, run: Run[Any]) -> None:
    path = change.path.parts
    if change.type is not None and not isinstance(change.type, Primitive):
        problem = f"the type of column {change.path} can only be changed to a primitive type"
        raise invalid(run.text, change.path.start, problem, "add, drop or alter its fields")
    with changes.update_schema(case_sensitive=False) as update:
        if change.type is not None or change.comment is not None or change.required is not None:
            widened = None if change.type is None else _type(change.type, run)
            update.update_column(path, widened, required=change.required, doc=change.comment)
        if change.default == "unset":
            update.set_default_value(path, None)
        elif change.default is not None:
            found = _column(changes.table(), change.path, run).type
            update.set_default_value(path, _default(change.default, found, spark_type(found), run))
        _move(update, change.path, change.position)


def _move(update: Any, path: Name, position: alter.Position | None) -> None:
    if position is None:
        return
    if position.after is None:
        update.move_first(path.parts)
    else:
        update.move_after(path.parts, (*path.parts[:-1], position.after))


def _rename_column(changes: Transaction, change: alter.RenameColumn, run: Run[Any]) -> None:
    del run
    changes.update_schema(case_sensitive=False).rename_column(change.path.parts, change.new_name).commit()


def _drop_column(changes: Transaction, change: alter.DropColumn, run: Run[Any]) -> None:
    del run
    if change.if_exists and find_field(changes.table().schema(), change.path.parts) is None:
        return
    changes.update_schema(case_sensitive=False).delete_column(change.path.parts).commit()


def _type(found: ColumnType, run: Run[Any]) -> str:
    return iceberg_type(found, timestamp_has_zone=run.engine.timestamp_has_zone())


def _default(text: Text, found: str, type_text: str, run: Run[Any]) -> Any:
    """Return the value of a default, evaluated by the engine as a value of the column's type."""
    cast = f"CAST(({text.text}) AS {type_text})"
    is_moment = found == "timestamptz"
    [value] = run.engine.values([f"unix_micros({cast})" if is_moment else cast])
    if is_moment and value is not None:
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=value)
    return value


# Partitioning and order


def _add_partition_field(changes: Transaction, change: alter.AddPartitionField, run: Run[Any]) -> None:
    del run
    changes.update_spec(case_sensitive=False).add_field(*_term(change.field), change.name).commit()


def _drop_partition_field(changes: Transaction, change: alter.DropPartitionField, run: Run[Any]) -> None:
    name = _field_name(changes.table(), change.field, run)
    changes.update_spec(case_sensitive=False).remove_field(name).commit()


def _replace_partition_field(changes: Transaction, change: alter.ReplacePartitionField, run: Run[Any]) -> None:
    name = _field_name(changes.table(), change.old, run)
    with changes.update_spec(case_sensitive=False) as update:
        update.remove_field(name).add_field(*_term(change.new), change.name)


def _field_name(table: Table, wanted: PartitionField, run: Run[Any]) -> str:
    """Return the name of a partition field, given as a transform or, if it is not a column, as the name itself."""
    column = find_field(table.schema(), wanted.column.parts)
    fields = table.spec().fields
    if column is None:
        names = [field.name for field in fields]
        if str(wanted.column) in names or wanted.column.parts[-1] in names:
            return wanted.column.parts[-1]
        hint = f"the fields are {', '.join(names)}" if names else "the table is not partitioned"
        problem = f"`{wanted.column}` is neither a column nor a partition field"
        raise invalid(run.text, wanted.column.start, problem, hint)
    transform = _transform(wanted)
    found = next(
        (one.name for one in fields if one.source_ids == (column.field_id,) and str(one.transform) == transform), None
    )
    if found is None:
        described = ", ".join(f"{one.name} ({one.transform})" for one in fields)
        problem = f"the table is not partitioned by {transform} of `{wanted.column}`"
        raise invalid(run.text, wanted.column.start, problem, f"its partition fields are {described}")
    return found


def _write_order(changes: Transaction, change: alter.WriteOrder, run: Run[Any]) -> None:
    del run
    update = changes.update_sort_order(case_sensitive=False)
    for key in change.keys:
        (update.desc if key.descending else update.asc)(*_term(key.field), nulls_first=key.nulls_first)
    update.commit()
    if change.distribution is not None:
        changes.set_properties({"write.distribution-mode": change.distribution})


def _set_identifier_fields(changes: Transaction, change: alter.SetIdentifierFields, run: Run[Any]) -> None:
    del run
    changes.update_schema(case_sensitive=False).set_identifier_fields(*(one.parts for one in change.paths)).commit()


def _drop_identifier_fields(changes: Transaction, change: alter.DropIdentifierFields, run: Run[Any]) -> None:
    table = changes.table()
    schema = table.schema()
    kept = list(schema.identifier_field_names())
    for path in change.paths:
        column = _column(table, path, run)
        name = schema.find_column_name(column.field_id)
        if name not in kept:
            hint = f"the identifier fields are {', '.join(kept)}" if kept else "the table has no identifier fields"
            raise invalid(run.text, path.start, f"{path} is not an identifier field", hint)
        kept.remove(name)
    changes.update_schema().set_identifier_fields(*kept).commit()


def _term(field: PartitionField) -> tuple[str, str]:
    return ".".join(field.column.parts), _transform(field)


def _transform(field: PartitionField) -> str:
    return field.transform if field.number is None else f"{field.transform}[{field.number}]"


# Branches and tags


def _set_reference(changes: Transaction, change: alter.SetReference, run: Run[Any]) -> None:
    del run
    table = changes.table()
    exists = change.name in table.refs()
    if exists and change.if_not_exists:
        return
    snapshot_id = change.snapshot_id
    if snapshot_id is None and (current := table.current_snapshot()) is not None:
        snapshot_id = current.snapshot_id
    replaces = change.replaces and (exists or not change.creates)
    if snapshot_id is None and (replaces or change.kind == "tag"):
        message = f"the {change.kind} {change.name!r} needs a snapshot, but the table has no current snapshot"
        raise InvalidArgumentError(message, hint="write rows first, or select a snapshot with AS OF VERSION")
    refs = changes.manage_snapshots()
    ages = {"max_ref_age_ms": change.max_ref_age_ms}
    if change.kind == "branch":
        ages |= {
            "max_snapshot_age_ms": change.max_snapshot_age_ms,
            "min_snapshots_to_keep": change.min_snapshots_to_keep,
        }
    if replaces and snapshot_id is not None:
        (refs.replace_branch if change.kind == "branch" else refs.replace_tag)(change.name, snapshot_id, **ages)
    else:
        (refs.create_branch if change.kind == "branch" else refs.create_tag)(snapshot_id, change.name, **ages)
    refs.commit()


def _rename_tag(changes: Transaction, change: alter.RenameTag, run: Run[Any]) -> None:
    del changes, change
    hint = "create a tag of the same snapshot, and drop the other one"
    raise unsupported(run.text, run.start, "RENAME TAG is not supported for Iceberg tables", hint)


def _drop_reference(changes: Transaction, change: alter.DropReference, run: Run[Any]) -> None:
    del run
    if change.if_exists and change.name not in changes.table().refs():
        return
    refs = changes.manage_snapshots()
    (refs.remove_branch if change.kind == "branch" else refs.remove_tag)(change.name).commit()


# Properties


def _set_properties(changes: Transaction, change: alter.SetProperties, run: Run[Any]) -> None:
    del run
    kept = {}
    for name, value in change.properties.items():
        if name in _RESERVED:
            message = f"the property {name!r} cannot be set"
            raise UnsupportedError(message, hint=_RESERVED[name])
        if name in _OPERATIONS:
            _OPERATIONS[name](changes, value)
        else:
            kept[name] = value
    if kept:
        changes.set_properties(kept)


def _unset_properties(changes: Transaction, change: alter.UnsetProperties, run: Run[Any]) -> None:
    del run
    changes.remove_properties(*change.names)


def _set_location(changes: Transaction, change: alter.SetLocation, run: Run[Any]) -> None:
    del run
    changes.update_location(change.location)


def _drop_partitions(changes: Transaction, change: alter.DropPartitions, run: Run[Any]) -> None:
    del changes, change
    hint = "use DELETE with a condition on the partition columns"
    raise unsupported(run.text, run.start, "DROP PARTITION is not supported for Iceberg tables", hint)


def _number(name: str, value: str) -> int:
    if not value.strip().isdecimal() or len(value.strip()) > MOST_DIGITS:
        message = f"the property {name!r} is {value!r}, expected a number"
        raise InvalidArgumentError(message)
    return int(value)


_OPERATIONS: dict[str, Callable[[Transaction, str], Any]] = {
    "location": lambda changes, value: changes.update_location(value),
    "format-version": lambda changes, value: changes.upgrade(_number("format-version", value)),
    "current-snapshot-id": lambda changes, value: (
        changes.manage_snapshots().set_current_snapshot(_number("current-snapshot-id", value)).commit()
    ),
    "cherry-pick-snapshot-id": lambda changes, value: (
        changes.manage_snapshots().cherry_pick(_number("cherry-pick-snapshot-id", value)).commit()
    ),
}
"""Properties that are operations when they are set, as in Java's connector."""


def _column(table: Table, path: Name, run: Run[Any]) -> NestedField:
    """Return a column by its path.

    Raises:
        InvalidArgumentError: The table does not have the column.
    """
    found = find_field(table.schema(), path.parts)
    if found is None:
        columns = ", ".join(table.schema().column_names)
        raise invalid(run.text, path.start, f"the table has no column `{path}`", f"the columns are {columns}")
    return found


_CHANGES: dict[type[Any], Callable[[Transaction, Any, Run[Any]], None]] = {
    alter.AddColumn: _add_column,
    alter.AddPartitionField: _add_partition_field,
    alter.AlterColumn: _alter_column,
    alter.DropColumn: _drop_column,
    alter.DropIdentifierFields: _drop_identifier_fields,
    alter.DropPartitionField: _drop_partition_field,
    alter.DropPartitions: _drop_partitions,
    alter.DropReference: _drop_reference,
    alter.RenameColumn: _rename_column,
    alter.RenameTag: _rename_tag,
    alter.ReplacePartitionField: _replace_partition_field,
    alter.SetIdentifierFields: _set_identifier_fields,
    alter.SetLocation: _set_location,
    alter.SetProperties: _set_properties,
    alter.SetReference: _set_reference,
    alter.UnsetProperties: _unset_properties,
    alter.WriteOrder: _write_order,
}

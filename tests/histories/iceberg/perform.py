"""Performs the steps of a history with frazil."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import frazil
from frazil.iceberg import WriteResult
from histories.filters import constant, moment_text, sql
from histories.iceberg.history import (
    AddColumn,
    Append,
    BadRows,
    Batch,
    CherryPick,
    Clause,
    Coalesce,
    Column,
    Constant,
    CreateRef,
    Delete,
    DropColumn,
    DynamicOverwrite,
    EvolveOrder,
    EvolveSchema,
    EvolveSpec,
    Expression,
    FastForward,
    Merge,
    MoveColumn,
    NewTable,
    Overwrite,
    RemoveRef,
    RenameColumn,
    Rewrite,
    Rollback,
    SetCurrent,
    SetDefault,
    SetProperties,
    SetRequired,
    Term,
    Update,
    Upgrade,
    Upsert,
    WidenColumn,
)
from histories.inputs import as_input, plain_row, plain_value
from histories.names import is_plain, path_sql
from histories.types import Simple, arrow_schema, arrow_type

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.iceberg import RewriteDataFiles, Table
    from frazil.iceberg._table import Transaction
    from histories.filters import Filter
    from histories.types import Type


def create(folder: Path, new: NewTable) -> Table:
    """Create the table of a history."""
    plain = all(is_plain(name) for term in new.partition_by for name in term.path)
    table = frazil.create_table(
        folder,
        arrow_schema(new.columns),
        partition_by=[_term_text(term) for term in new.partition_by] if plain else (),
        format_version=new.version,
        properties=dict(new.properties),
    )
    if not plain:
        _add_terms(table.update_spec(), new.partition_by).commit()
    return table


def perform(table: Table | Transaction, step: Any, snapshot_ids: list[int]) -> WriteResult | None:
    """Perform a step."""
    if isinstance(step, (Append, Overwrite, DynamicOverwrite, Upsert, Merge, BadRows)):
        return _with_rows(table, step)
    match step:
        case Delete():
            return table.delete(_filter(step.where), branch=step.branch)
        case Update():
            return table.update(_assignments(step.values), _filter(step.where), branch=step.branch)
        case EvolveSchema() | EvolveSpec() | EvolveOrder() | SetProperties() | Upgrade():
            return _evolve(table, step)
        case _:
            return _references(table, step, snapshot_ids)


def plan_rewrite(table: Table, step: Rewrite) -> RewriteDataFiles:
    """Plan a rewrite of data files on the latest state."""
    plan = table.rewrite_data_files(
        _filter(step.where),
        rewrite_all=step.rewrite_all,
        target_file_size_bytes=step.target_bytes,
        min_input_files=2,
        branch=step.branch,
    )
    assert plan.input_files >= len(plan.groups)
    return plan


def apply_rewrite(plan: RewriteDataFiles) -> WriteResult:
    """Rewrite data files; no rows change."""
    snapshot_ids = plan.apply().snapshot_ids
    return WriteResult(snapshot_ids[0] if snapshot_ids else None, deleted_rows=0)


def _filter(where: Filter | None) -> str | bool:
    return True if where is None else sql(where)


def _input(batch: Batch) -> Any:
    return as_input(batch.rows, batch.columns, batch.source)


def _with_rows(table: Table | Transaction, step: Any) -> WriteResult:
    match step:
        case Append():
            return table.append(_input(step.batch), branch=step.branch)
        case Overwrite():
            return table.overwrite(_input(step.batch), _filter(step.where), branch=step.branch)
        case DynamicOverwrite():
            return table.dynamic_partition_overwrite(_input(step.batch), branch=step.branch)
        case Upsert():
            return table.upsert(
                _input(step.batch),
                list(step.keys),
                when_matched_update_all=step.update,
                when_not_matched_insert_all=step.insert,
                branch=step.branch,
            )
        case Merge():
            return _merge(table, step)
        case BadRows():
            return _bad_rows(table, step)
    raise TypeError(step)


def _merge(table: Table | Transaction, step: Merge) -> WriteResult:
    condition = " AND ".join(f"target.{path_sql((k,))} <=> source.{path_sql((k,))}" for k in step.keys)
    built = table.merge(_input(step.batch), condition if step.null_safe else list(step.keys), branch=step.branch)
    for clause in step.clauses:
        built = _clause(built, clause)
    return built.execute()


def _clause(built: Any, clause: Clause) -> Any:
    condition = None if clause.condition is None else sql(clause.condition, constant)
    add = getattr(built, f"when_{clause.when}_{clause.action}")
    return add(_assignments(clause.values), condition) if clause.values else add(condition)


def _bad_rows(table: Table | Transaction, step: BadRows) -> WriteResult:
    rows = [plain_row(row, step.batch.columns) for row in step.batch.rows]
    rows[-1][step.column] = step.value
    match step.operation:
        case "append":
            return table.append(rows)
        case "overwrite":
            return table.overwrite(rows)
        case "upsert":
            return table.upsert(rows, ["id"])
        case _:
            return table.merge(rows, ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()


def _assignments(values: Any) -> dict[str, str]:
    return {path_sql(path): expression_sql(expression) for path, expression in values}


def expression_sql(expression: Expression) -> str:
    """Return an expression as SQL."""
    match expression:
        case Constant(kind, value):
            return constant(kind, value)
        case Column(path):
            return path_sql(path)
        case Coalesce(path, kind, value):
            return f"coalesce({path_sql(path)}, {constant(kind, value)})"
    raise TypeError(expression)


def _term_text(term: Term) -> str:
    name, _, argument = term.transform.rstrip("]").partition("[")
    column = ".".join(term.path)
    if name == "identity":
        return column
    return f"{name}({argument}, {column})" if argument else f"{name}({column})"


def _add_terms(update: Any, terms: tuple[Term, ...]) -> Any:
    for term in terms:
        update.add_field(".".join(term.path), term.transform)
    return update


def _evolve(table: Table | Transaction, step: Any) -> None:
    match step:
        case EvolveSchema(_, changes):
            with table.update_schema(allow_incompatible_changes=True) as update:
                for change in changes:
                    _change_schema(update, change)
        case EvolveSpec(_, added, removed):
            update = table.update_spec()
            # Fields are identified by their definition; `remove_field` accepts a name or a string.
            for term in removed:
                update.remove_field(_term_text(term))
            _add_terms(update, added).commit()
        case EvolveOrder(_, keys):
            order = table.update_sort_order()
            for key in keys:
                add = order.desc if key.descending else order.asc
                add(".".join(key.term.path), key.term.transform, nulls_first=key.nulls_first)
            order.commit()
        case SetProperties(_, properties):
            table.set_properties(dict(properties))
        case Upgrade(_, version):
            table.upgrade(version)


def _default(value: Any, kind: Type) -> Any:
    if value is not None and isinstance(kind, Simple) and kind.name.endswith("_ns"):
        return moment_text(kind, value)
    return plain_value(value, kind)


def _change_schema(update: Any, change: Any) -> None:
    match change:
        case AddColumn(parent, field):
            default = _default(field.default, field.type)
            path = (*parent, field.name)
            update.add_column(path, arrow_type(field.type), required=field.required, default_value=default)
        case DropColumn(path):
            update.delete_column(path)
        case RenameColumn(path, name):
            update.rename_column(path, name)
        case WidenColumn(path, kind):
            update.update_column(path, arrow_type(kind))
        case SetRequired(path, required):
            update.update_column(path, required=required)
        case SetDefault(path, kind, value):
            update.set_default_value(path, _default(value, kind))
        case MoveColumn(path, "first"):
            update.move_first(path)
        case MoveColumn(path, place, other):
            move = update.move_before if place == "before" else update.move_after
            move(path, (*path[:-1], other))


def _references(table: Table | Transaction, step: Any, snapshot_ids: list[int]) -> None:
    with table.manage_snapshots() as refs:
        match step:
            case CreateRef(_, name, snapshot, is_tag):
                create_ref = refs.create_tag if is_tag else refs.create_branch
                create_ref(snapshot_ids[snapshot], name)
            case RemoveRef(_, name):
                is_tag = table_of(table).refs()[name].type == "tag"
                (refs.remove_tag if is_tag else refs.remove_branch)(name)
            case FastForward(_, branch, to):
                refs.fast_forward(branch, to)
            case Rollback(_, snapshot):
                refs.rollback_to_snapshot(snapshot_ids[snapshot])
            case SetCurrent(_, snapshot):
                refs.set_current_snapshot(snapshot_ids[snapshot])
            case CherryPick(_, snapshot):
                refs.cherry_pick(snapshot_ids[snapshot])


def table_of(table: Table | Transaction) -> Table:
    """Return the table of a transaction, or the table itself."""
    from frazil.iceberg._table import Transaction

    return table.table() if isinstance(table, Transaction) else table

"""New rows of a table in the model: validated, with defaults for missing columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from histories.iceberg.state import NotApplicable, Refused, Row, State
from histories.types import List, Map, Simple, Struct, Type

if TYPE_CHECKING:
    from histories.iceberg.history import Batch


def new_rows(state: State, batch: Batch) -> tuple[Row, ...]:
    """Return the rows of a batch."""
    for field in batch.columns.fields:
        if state.columns.find(field.name) is None and batch.rows:
            raise Refused(f"no column {field.name!r}")
    return tuple(new_row(state, fitted(row, batch.columns, state.columns)) for row in batch.rows)


def fitted(row: dict[str, Any], given: Struct, wanted: Struct) -> dict[str, Any]:
    """Return the columns of an input row as values of the table."""
    found = {}
    for field in given.fields:
        target = wanted.find(field.name)
        assert target is not None
        check_type(field.type, target.type)
        found[field.name] = row[field.name]
    return found


def check_type(given: Type, wanted: Type) -> None:
    match given, wanted:
        case Struct(), Struct():
            if given.names != wanted.names:
                raise NotApplicable("other fields")
            for ours, theirs in zip(given.fields, wanted.fields, strict=True):
                check_type(ours.type, theirs.type)
        case List(), List():
            check_type(given.element, wanted.element)
        case Map(), Map():
            check_type(given.key, wanted.key)
            check_type(given.value, wanted.value)
        case Simple("int"), Simple("long"):
            pass
        case Simple("float"), Simple("double"):
            pass
        case Simple("decimal"), Simple("decimal") if given.scale == wanted.scale and given.size <= wanted.size:
            pass
        case _:
            if given != wanted:
                raise NotApplicable(f"{given} for {wanted}")


def new_row(state: State, values: dict[str, Any]) -> Row:
    """Return a new row, in which columns without a value have their defaults."""
    return stored_row(state, {f.name: values.get(f.name, f.default) for f in state.columns.fields})


def stored_row(state: State, values: dict[str, Any], old: Row | None = None) -> Row:
    """Return a row as it would be written now; an updated row keeps its id."""
    check_required(values, state.columns)
    return Row(values, state.columns, state.spec_of_new_rows, None if old is None else old.id)


def check_required(value: Any, kind: Type) -> None:  # noqa: C901 - one arm for each kind of type
    """Raise if a required field is NULL."""
    if value is None:
        return
    match kind:
        case Struct(fields):
            for field in fields:
                if field.required and value[field.name] is None:
                    raise Refused(f"{field.name!r} is required")
                check_required(value[field.name], field.type)
        case List(element, required):
            for part in value:
                if part is None and required:
                    raise Refused("an element is required")
                check_required(part, element)
        case Map(inner, item, required):
            for k, v in value:
                if v is None and required:
                    raise Refused("a value is required")
                check_required(k, inner)
                check_required(v, item)

"""Evolution of schema, partition spec, sort order and properties in the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from histories.iceberg.history import (
    AddColumn,
    DropColumn,
    Evolution,
    EvolveOrder,
    EvolveSchema,
    EvolveSpec,
    MoveColumn,
    Path,
    RenameColumn,
    SchemaChange,
    SetDefault,
    SetProperties,
    SetRequired,
    Term,
    Upgrade,
    WidenColumn,
)
from histories.iceberg.incoming import check_required
from histories.iceberg.row_changes import Outcome
from histories.iceberg.state import NotApplicable, Refused, State
from histories.schemas import Ids
from histories.types import DAY_US, Field, List, Map, Simple, Struct, Type, project

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULTS_VERSION = 3
NS_DAYS = 106_750


def evolve(state: State, step: Evolution) -> Outcome:
    """Return the outcome of a step that changes no rows."""
    match step:
        case EvolveSchema():
            return _schema(state, step)
        case EvolveSpec():
            return _spec(state, step)
        case EvolveOrder():
            return Outcome(replace(state, order=step.keys), may_fail=True)
        case SetProperties():
            return Outcome(replace(state, properties=state.properties | dict(step.properties)))
        case Upgrade():
            if step.version < state.version:
                raise Refused("there is no way back")
            upgraded = state.upgraded or step.version > state.version
            return Outcome(replace(state, version=step.version, upgraded=upgraded))
    raise TypeError(step)


def _spec(state: State, step: EvolveSpec) -> Outcome:
    if any(term not in state.spec for term in step.removed):
        raise NotApplicable("no such field")
    kept = tuple(term for term in state.spec if term not in step.removed)
    if any(term in kept for term in step.added):
        raise NotApplicable("is there")
    spec = (*kept, *step.added)
    if spec == state.spec:
        return Outcome(state, may_fail=True)
    return Outcome(replace(state, specs=(*state.specs, spec)), may_fail=True)


def _schema(state: State, step: EvolveSchema) -> Outcome:
    may_fail = False
    for change in step.changes:
        state, uncertain = _changed(state, change)
        may_fail = may_fail or uncertain
    check_heads(state)
    return Outcome(state, may_fail=may_fail)


def check_heads(state: State) -> None:
    """Reject changes that would make rows of a branch unreadable."""
    for name, ref in state.refs.items():
        if not ref.is_tag:
            try:
                for row in state.rows(name):
                    check_required(row, state.columns)
            except Refused as error:
                raise NotApplicable(str(error)) from error


def _changed(state: State, change: SchemaChange) -> tuple[State, bool]:  # noqa: PLR0911
    match change:
        case AddColumn():
            return _added(state, change)
        case DropColumn(path):
            _check_unused(state, path)
            columns = edited(state.columns, path, _dropped)
            old = any(term.path[: len(path)] == path for spec in state.specs for term in spec)
            return replace(state, columns=columns), old
        case RenameColumn(path, name):
            columns = edited(state.columns, path, lambda fields, i: _renamed(fields, i, name))
            specs = tuple(tuple(_renamed_term(term, path, name) for term in spec) for spec in state.specs)
            order = tuple(replace(key, term=_renamed_term(key.term, path, name)) for key in state.order)
            return replace(state, columns=columns, specs=specs, order=order), False
        case WidenColumn(path, kind):
            return _widened(state, path, kind)
        case SetRequired(path, required):
            return replace(
                state, columns=edited(state.columns, path, lambda f, i: _one(f, i, required=required))
            ), False
        case SetDefault(path, kind, value):
            if state.version < DEFAULTS_VERSION:
                raise Refused("defaults take version 3")
            return replace(
                state, columns=edited(state.columns, path, lambda f, i: _defaulted(f, i, kind, value))
            ), False
        case MoveColumn():
            return replace(state, columns=edited(state.columns, change.path, lambda f, i: _moved(f, i, change))), False
    raise TypeError(change)


def edited(kind: Type, path: Path, change: Callable[[list[Field], int], list[Field]]) -> Any:
    """Return a type with changed fields around a path, which passes through list elements and map values."""
    match kind:
        case List():
            return replace(kind, element=edited(kind.element, path, change))
        case Map():
            return replace(kind, value=edited(kind.value, path, change))
        case Struct(fields):
            place = next((i for i, field in enumerate(fields) if field.name == path[0]), None)
            if place is None:
                raise NotApplicable(str(path))
            if len(path) == 1:
                return Struct(tuple(change(list(fields), place)))
            inner = replace(fields[place], type=edited(fields[place].type, path[1:], change))
            return Struct((*fields[:place], inner, *fields[place + 1 :]))
    raise NotApplicable(str(path))


def _one(fields: list[Field], place: int, **changes: Any) -> list[Field]:
    fields[place] = replace(fields[place], **changes)
    return fields


def _defaulted(fields: list[Field], place: int, kind: Simple, value: Any) -> list[Field]:
    if fields[place].type != kind:
        raise NotApplicable("another type")
    return _one(fields, place, default=value)


def _dropped(fields: list[Field], place: int) -> list[Field]:
    if len(fields) == 1:
        raise NotApplicable("the last one")
    return fields[:place] + fields[place + 1 :]


def _renamed(fields: list[Field], place: int, name: str) -> list[Field]:
    if any(field.name == name for field in fields):
        raise NotApplicable("is there")
    return _one(fields, place, name=name)


def _renamed_term(term: Term, path: Path, name: str) -> Term:
    if term.path[: len(path)] != path:
        return term
    return replace(term, path=(*path[:-1], name, *term.path[len(path) :]))


def _moved(fields: list[Field], place: int, change: MoveColumn) -> list[Field]:
    moved = fields.pop(place)
    if change.place == "first":
        return [moved, *fields]
    target = next((i for i, field in enumerate(fields) if field.name == change.other), None)
    if target is None:
        raise NotApplicable(change.other)
    fields.insert(target + (change.place == "after"), moved)
    return fields


def _check_unused(state: State, path: Path) -> None:
    used = [*state.spec, *(key.term for key in state.order)]
    if any(term.path[: len(path)] == path for term in used):
        raise Refused("is used")


def _added(state: State, change: AddColumn) -> tuple[State, bool]:
    field = change.field
    if field.default is not None and state.version < DEFAULTS_VERSION:
        raise Refused("defaults take version 3")
    if field.required and field.default is None:
        raise NotApplicable("a required column takes a default")
    ids = Ids(state.last_id)
    new = replace(field, id=ids.next(), type=renumbered(field.type, ids), initial=field.default)

    def add(fields: tuple[Field, ...]) -> Struct:
        if any(old.name == new.name for old in fields):
            raise NotApplicable("is there")
        return Struct((*fields, new))

    def into(kind: Type) -> Type:
        match kind:
            case Struct(fields):
                return add(fields)
            case List():
                return replace(kind, element=into(kind.element))
            case Map():
                return replace(kind, value=into(kind.value))
        raise NotApplicable("no struct")

    if not change.parent:
        columns = add(state.columns.fields)
    else:
        columns = edited(state.columns, change.parent, lambda f, i: _one(f, i, type=into(f[i].type)))
    return replace(state, columns=columns, last_id=ids.last), False


def renumbered(kind: Type, ids: Ids) -> Type:
    """Return a type whose fields have new ids."""
    match kind:
        case Struct(fields):
            return Struct(tuple(replace(f, id=ids.next(), type=renumbered(f.type, ids)) for f in fields))
        case List():
            return replace(kind, element=renumbered(kind.element, ids))
        case Map():
            return replace(kind, key=renumbered(kind.key, ids), value=renumbered(kind.value, ids))
    return kind


def widens(old: Type, new: Type, version: int) -> bool:
    """Return whether a type can be widened to another one."""
    match old, new:
        case Simple("int"), Simple("long"):
            return True
        case Simple("float"), Simple("double"):
            return True
        case Simple("decimal"), Simple("decimal"):
            return old.scale == new.scale and new.size > old.size
        case Simple("date"), Simple("timestamp" | "timestamp_ns"):
            return version >= DEFAULTS_VERSION
    return False


def _widened(state: State, path: Path, kind: Type) -> tuple[State, bool]:
    is_date = False

    def widen(fields: list[Field], place: int) -> list[Field]:
        nonlocal is_date
        field = fields[place]
        if not widens(field.type, kind, state.version):
            raise NotApplicable(f"{field.type} to {kind}")
        is_date = field.type == Simple("date")
        initial, default = (project(value, field.type, kind) for value in (field.initial, field.default))
        return _one(fields, place, type=kind, initial=initial, default=default)

    columns = edited(state.columns, path, widen)
    if is_date and kind == Simple("timestamp_ns"):
        _check_days(state, columns)
    terms = [*(term for spec in state.specs for term in spec), *(key.term for key in state.order)]
    return replace(state, columns=columns), is_date and any(term.path[: len(path)] == path for term in terms)


def _check_days(state: State, columns: Struct) -> None:  # noqa: C901
    """Reject days that nanoseconds cannot represent."""
    limit = NS_DAYS * DAY_US * 1000

    def check(value: Any, kind: Type) -> None:
        match kind:
            case Simple("timestamp_ns") if value is not None and abs(value) > limit:
                raise NotApplicable("out of range")
            case Struct(fields) if value is not None:
                for field in fields:
                    check(value[field.name], field.type)
            case List(element) if value is not None:
                for part in value:
                    check(part, element)
            case Map(_, item) if value is not None:
                for _, part in value:
                    check(part, item)

    for snapshot in state.snapshots:
        for row in snapshot.read(columns):
            check(row, columns)

"""Random steps that change schema, spec, order, properties and references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from histories.iceberg.evolution import widens
from histories.iceberg.history import (
    AddColumn,
    CherryPick,
    CreateRef,
    DropColumn,
    EvolveOrder,
    EvolveSchema,
    EvolveSpec,
    FastForward,
    Load,
    MoveColumn,
    Path,
    RemoveRef,
    RenameColumn,
    Rollback,
    SchemaChange,
    SetCurrent,
    SetDefault,
    SetProperties,
    SetRequired,
    SortKey,
    Step,
    Upgrade,
    WidenColumn,
)
from histories.iceberg.tables import random_properties, random_term
from histories.names import new_name
from histories.schemas import Ids, random_type
from histories.types import Field, List, Map, Simple, Struct, Type
from histories.values import random_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from histories.iceberg.generate import Draw

LATEST = 3


def random_evolution(draw: Draw) -> Step:
    """Return a step that changes no rows."""
    random = draw.random
    chosen = random.random()
    if chosen < 0.6:
        count = random.choice((1, 1, 1, 2))
        changes = tuple(filter(None, (_schema_change(draw) for _ in range(count))))
        if changes:
            return EvolveSchema(draw.handle, changes)
    if chosen < 0.78:
        terms = list(draw.state.spec)
        removed = tuple(term for term in terms if random.random() < 0.5)
        added = random_term(random, draw.state.columns) if random.random() < 0.6 else None
        if removed or added is not None:
            return EvolveSpec(draw.handle, () if added is None or added in terms else (added,), removed)
    if chosen < 0.88:
        terms = [random_term(random, draw.state.columns) for _ in range(random.randint(0, 2))]
        keys = (SortKey(term, random.random() < 0.5, random.random() < 0.5) for term in terms if term is not None)
        return EvolveOrder(draw.handle, tuple(keys))
    if chosen < 0.97 or draw.state.version == LATEST:
        return SetProperties(draw.handle, random_properties(random, draw.profile))
    return Upgrade(draw.handle, draw.state.version + 1)


def fields_of(kind: Type, prefix: Path = ()) -> Iterator[tuple[Path, Field, Struct]]:
    """Yield every field with its path and the struct that contains it.

    As in Java, paths leave out list elements and map values that are structs. Fields that such a path cannot reach are
    left out: in a list, the path `l.element` is the element itself, even if the struct has a field of that name.
    """
    match kind:
        case Struct(fields):
            for field in fields:
                yield (*prefix, field.name), field, kind
                yield from fields_of(field.type, (*prefix, field.name))
        case List(Struct() as inner) | Map(_, Struct() as inner):
            taken = {"element"} if isinstance(kind, List) else {"key", "value"}
            for path, field, around in fields_of(inner, prefix):
                if path[len(prefix)] not in taken:
                    yield path, field, around


def _schema_change(draw: Draw) -> SchemaChange | None:  # noqa: PLR0911
    random, columns = draw.random, draw.state.columns
    path, field, around = random.choice(list(fields_of(columns)))
    match random.choice(("add", "add", "drop", "rename", "widen", "widen", "require", "default", "move")):
        case "add":
            return _add(draw)
        case "drop" if path != ("id",):
            return DropColumn(path)
        case "rename" if path != ("id",):
            return RenameColumn(path, new_name(random, around.names, draw.profile.shape.hostile))
        case "widen":
            wide = [(p, kind) for p, f, _ in fields_of(columns) if (kind := _wider(draw, f.type)) is not None]
            return WidenColumn(*random.choice(wide)) if wide else None
        case "require":
            return SetRequired(path, random.random() < 0.3)
        case "default" if draw.state.version >= LATEST and isinstance(field.type, Simple):
            return SetDefault(path, field.type, random_value(random, field.type, draw.profile.limits))
        case "move" if len(around.fields) > 1:
            other = random.choice([name for name in around.names if name != field.name])
            return MoveColumn(path, random.choice(("first", "before", "after")), other)
    return None


def _add(draw: Draw) -> SchemaChange | None:
    random, columns = draw.random, draw.state.columns
    structs: list[tuple[Path, Struct]] = [((), columns)]
    structs += [(path, field.type) for path, field, _ in fields_of(columns) if isinstance(field.type, Struct)]
    parent, struct = random.choice(structs)
    name = new_name(random, struct.names, draw.profile.shape.hostile, draw.profile.shape.reserved)
    kind = random_type(random, draw.profile.shape, Ids(), 1)
    default = None
    if draw.state.version >= LATEST and isinstance(kind, Simple) and random.random() < 0.5:
        default = random_value(random, kind, draw.profile.limits)
    return AddColumn(parent, Field(0, name, kind, default is not None and random.random() < 0.5, default, default))


def _wider(draw: Draw, kind: Type) -> Type | None:
    if not isinstance(kind, Simple):
        return None
    choices = [Simple("long"), Simple("double"), Simple("decimal", 38, kind.scale), Simple("timestamp")]
    choices.append(Simple("timestamp_ns"))
    fitting = [new for new in choices if widens(kind, new, draw.state.version)]
    return draw.random.choice(fitting) if fitting else None


def random_reference(draw: Draw) -> Step:  # noqa: PLR0911
    """Return a step that creates, moves or removes references."""
    random, state = draw.random, draw.state
    if not state.snapshots:
        return Load(draw.handle)
    place = random.randrange(len(state.snapshots))
    names = sorted(state.refs)
    match random.choice(("branch", "branch", "tag", "remove", "forward", "rollback", "current", "pick", "pick")):
        case "branch":
            return CreateRef(draw.handle, random.choice(("b1", "b2", "b ä")), place)
        case "tag":
            return CreateRef(draw.handle, random.choice(("t1", "t2")), place, is_tag=True)
        case "remove":
            return RemoveRef(draw.handle, random.choice(names) if names else "b1")
        case "forward" if names:
            return FastForward(draw.handle, random.choice(names), random.choice(names))
        case "rollback":
            return Rollback(draw.handle, place)
        case "current":
            return SetCurrent(draw.handle, place)
    return CherryPick(draw.handle, place)

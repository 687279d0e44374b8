"""Changes to the schema of tables with Java's `SchemaManager`, in the process with the virtual machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jpype

from histories.paimon.java_values import java

if TYPE_CHECKING:
    from collections.abc import Sequence

MOVES = {"move_first": "first", "move_last": "last", "move_before": "before", "move_after": "after"}


def alter(location: str, operations: Sequence[dict[str, Any]]) -> tuple[str | None, str | None]:
    """Apply operations, in the wire form of frazil; return the new schema, or why Java refused them."""
    changes = java("paimon.schema.SchemaChange")
    found = jpype.JClass("java.util.ArrayList")()
    for one in operations:
        found.add(_change(changes, one))
    manager = java("paimon.schema.SchemaManager")(
        java("paimon.fs.local.LocalFileIO").create(), java("paimon.fs.Path")(location)
    )
    try:
        return str(manager.commitChanges(found).toString()), None
    except jpype.JException as error:
        return None, str(error)


def _change(changes: Any, one: dict[str, Any]) -> Any:  # noqa: C901, PLR0911 - one line for each operation
    path = one.get("path")
    names = None if path is None else jpype.JArray(jpype.JString)([path] if isinstance(path, str) else list(path))
    match one["operation"]:
        case "set_option":
            return changes.setOption(one["name"], one["value"])
        case "remove_option":
            return changes.removeOption(one["name"])
        case "set_comment":
            return changes.updateComment(one["comment"])
        case "add_column":
            return changes.addColumn(names, _type(one["type"]), one.get("doc"), None)
        case "rename_column":
            return changes.renameColumn(names, one["name"])
        case "delete_column":
            return changes.dropColumn(names)
        case "set_default":
            return changes.updateColumnDefaultValue(names, one["default"])
        case "update_column" if "type" in one:
            keeps_nullability = True
            return changes.updateColumnType(names, _type(one["type"]), keeps_nullability)
        case "update_column" if "required" in one:
            return changes.updateColumnNullability(names, not one["required"])
        case "update_column":
            return changes.updateColumnComment(names, one["doc"])
        case kind:
            move = getattr(java("paimon.schema.SchemaChange$Move"), MOVES[kind])
            return changes.updateColumnPosition(move(path, one["other"]) if "other" in one else move(path))


def _type(wire: Any) -> Any:
    field = json.dumps({"id": 0, "name": "x", "type": wire})
    return java("paimon.utils.JsonSerdeUtil").fromJson(field, java("paimon.types.DataField").class_).type()

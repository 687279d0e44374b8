"""Tests that frazil and Java change the schema of equal Paimon tables in the same way, or both refuse.

`FRAZIL_PAIMON_ALTERATIONS` is the number of random changes.
"""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from frazil import _native, errors
from frazil.paimon import Table
from support.sizes import size

if TYPE_CHECKING:
    from pathlib import Path

    from histories.paimon.oracle import Oracle

CHANGES = size("FRAZIL_PAIMON_ALTERATIONS")
STEPS = 12
"""The number of changes to one table."""

LEAVES = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(20, 0)", "CHAR(4)",
    "VARCHAR(7)", "STRING", "BINARY(3)", "VARBINARY(8)", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE",
]  # fmt: skip
DEFAULTS = ["1", "x", "true", "2024-01-02", "1.5"]
OPTIONS = {
    "bucket": ["-1", "1", "3"],
    "bucket-key": ["k", "v", "no"],
    "merge-engine": ["deduplicate", "first-row", "partial-update"],
    "sequence.field": ["v", "no"],
    "deletion-vectors.enabled": ["true", "false"],
    "ignore-delete": ["true", "false"],
    "changelog-producer": ["none", "input", "lookup"],
    "alter-column-null-to-not-null.disabled": ["true", "false"],
    "disable-explicit-type-casting": ["true", "false"],
    "fields.v.ignore-retract": ["true"],
    "snapshot.num-retained.min": ["2", "0"],
    "owner": ["me"],
    "partition.expiration-time": ["1 d"],
}


def nested(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.choice(["leaf"] * 6 + ["ROW", "ARRAY", "MAP"] if depth < 2 else ["leaf"])
    if kind == "ROW":
        fields = [{"id": i, "name": f"f{i}", "type": nested(rng, depth + 1)} for i in range(rng.randint(1, 3))]
        return {"type": "ROW", "fields": fields}
    if kind == "ARRAY":
        return {"type": "ARRAY", "element": nested(rng, depth + 1)}
    if kind == "MAP":
        return {"type": "MAP", "key": "STRING NOT NULL", "value": nested(rng, depth + 1)}
    return rng.choice(LEAVES)


def paths(fields: list[dict[str, Any]]) -> list[tuple[tuple[str, ...], Any]]:
    """Return the paths of fields with their types; those of elements and values end with `element` and `value`."""
    found = []
    for field in fields:
        found += _below((field["name"],), field["type"])
    return found


def _below(path: tuple[str, ...], wire: Any) -> list[tuple[tuple[str, ...], Any]]:
    found = [(path, wire)]
    if isinstance(wire, dict):
        for name, part in (("element", wire.get("element")), ("value", wire.get("value"))):
            if part is not None:
                found += _below((*path, name), part)
        for field in wire.get("fields", []):
            found += _below((*path, field["name"]), field["type"])
    return found


def changed(  # noqa: C901, PLR0911 - one case for each operation
    rng: random.Random, schema: dict[str, Any], number: int
) -> dict[str, Any]:
    """Return a random operation on the columns or the options of a table."""
    every = paths(schema["fields"])
    fields = [(path, wire) for path, wire in every if path[-1] not in ("element", "value")]
    top = [field["name"] for field in schema["fields"]]
    path, wire = rng.choice(fields)
    kind = rng.choice(
        ["add", "add", "add", "drop", "rename", "type", "type", "type", "null", "doc", "move", "default", "set", "set",
         "remove", "comment"]
    )  # fmt: skip
    match kind:
        case "add":
            parent = path[:-1]
            row = isinstance(wire, dict) and wire["type"].startswith("ROW")
            into = path if row and rng.random() < 0.6 else parent
            data_type = nested(rng) if rng.random() < 0.95 else "INT NOT NULL"
            name = rng.choice([f"n{number}", path[-1]])
            return {"operation": "add_column", "path": (*into, name), "type": data_type, "doc": rng.choice([None, "d"])}
        case "drop":
            return {"operation": "delete_column", "path": rng.choice([path, ("no",)])}
        case "rename":
            return {"operation": "rename_column", "path": path, "name": rng.choice([f"r{number}", path[-1]])}
        case "type":
            path, wire = rng.choice(every)
            return {"operation": "update_column", "path": path, "type": rng.choice([w for w in LEAVES if w != wire])}
        case "null":
            return {"operation": "update_column", "path": rng.choice(every)[0], "required": rng.random() < 0.5}
        case "doc":
            return {"operation": "update_column", "path": path, "doc": "text"}
        case "default":
            return {"operation": "set_default", "path": path, "default": rng.choice([*DEFAULTS, None])}
        case "set":
            name = rng.choice(list(OPTIONS))
            return {"operation": "set_option", "name": name, "value": rng.choice(OPTIONS[name])}
        case "remove":
            return {"operation": "remove_option", "name": rng.choice(list(OPTIONS))}
        case "comment":
            return {"operation": "set_comment", "comment": rng.choice(["text", None])}
    move = rng.choice(["move_first", "move_last", "move_before", "move_after"])
    other = {"other": rng.choice(top)} if move in ("move_before", "move_after") else {}
    return {"operation": move, "path": rng.choice(top), **other}


def is_known(schema: dict[str, Any], operation: dict[str, Any], *, has_rows: bool) -> bool:
    """Return whether frazil is deliberately stricter or more lenient than Java."""
    kind, name = operation["operation"], operation.get("name")
    if kind == "remove_option" and has_rows:
        # Java checks only changes of these options, although their removal also sets them to false.
        return name in ("deletion-vectors.enabled", "ignore-delete")
    if kind == "set_option" and not schema["primaryKeys"] and name == "sequence.field":
        # frazil does not write such tables. Java ignores `sequence.field` without a primary key.
        return True
    if kind == "update_column" and "type" in operation:
        # Java does not check whether the new type has a value for the default, and its writers fail later.
        field = next((field for field in schema["fields"] if (field["name"],) == tuple(operation["path"])), {})
        if field.get("defaultValue") is not None:
            return True
    types = {".".join(path): wire for path, wire in paths(schema["fields"])}
    if kind == "update_column" and "type" in operation:
        # Java refuses to change these types to themselves.
        found = types.get(".".join(operation["path"]))
        return isinstance(found, str) and found.removesuffix(" NOT NULL") == operation["type"]
    return False


def created(place: Path, rng: random.Random) -> Table:
    """Create a table, in half of the cases with a row."""
    keyed = rng.random() < 0.6
    parted = rng.random() < 0.4
    fields = [("k", "INT"), ("p", "STRING"), ("v", "INT"), ("w", "STRING"), ("s", "ROW<x INT, y STRING>")]
    options = {"bucket": rng.choice(["1", "-1"])} if keyed else rng.choice([{}, {"bucket": "2", "bucket-key": "k"}])
    if keyed and rng.random() < 0.3:
        options |= {"sequence.field": "v", "fields.w.ignore-retract": "true"}
    if keyed and rng.random() < 0.2:
        options |= {"merge-engine": "partial-update", "fields.v.sequence-group": "w"}
        options.pop("sequence.field", None)
    table = Table.create(
        place,
        fields,
        primary_keys=(["p", "k"] if parted else ["k"]) if keyed else [],
        partition_keys=["p"] if parted else [],
        options=options,
    )
    if rng.random() < 0.5:
        table.append([{"k": 1, "p": "a", "v": 1, "w": "x", "s": {"x": 1, "y": "z"}}])
    return table


def altered(table: Table, operation: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    try:
        native: _native.PaimonTable = table._native.alter(json.dumps([operation]), None)
    except errors.FrazilError as error:
        return None, str(error)
    table._native = native
    return json.loads(native.schema_json(None)), None


@pytest.mark.parametrize("seed", range(-(-CHANGES // STEPS)))
def test_random_changes_of_the_schema(tmp_path: Path, oracle: Oracle, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - the same changes in each run
    table = created(tmp_path / "ours", rng)
    shutil.copytree(tmp_path / "ours", tmp_path / "javas")
    has_rows = table.current_snapshot() is not None
    made = 0
    for number in range(STEPS):
        schema = json.loads(table._native.schema_json(None))
        operation = changed(rng, schema, number)
        if is_known(schema, operation, has_rows=has_rows):
            continue
        ours, refusal = altered(table, operation)
        text, javas_refusal = oracle.alter(tmp_path / "javas", [operation])
        javas = None if text is None else json.loads(text)
        for found in (ours, javas):
            if found is not None:
                del found["timeMillis"]
        assert ours == javas, f"{operation}\n{schema}\nfrazil: {refusal}\nJava: {javas_refusal}"
        made += ours is not None
    assert made

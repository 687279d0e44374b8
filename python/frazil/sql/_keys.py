"""The partition keys and the primary key of CREATE TABLE."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from frazil.sql._lexer import invalid, unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.sql._parts import PartitionValue
    from frazil.sql._reader import Name
    from frazil.sql._statements import CreateTable

_PARTITION = "partition"
_PRIMARY = "primary-key"


def partition_keys_of(statement: CreateTable, options: dict[str, str], text: str) -> list[str]:
    """Return the partition keys of a Paimon table, and remove the option that defines them.

    Raises:
        InvalidArgumentError: The statement defines them twice, or a column does not exist.
    """
    names = [one.column for one in statement.partitioned_by]
    keys = [column_of(name, statement, text, "PARTITIONED BY") for name in names]
    return _only(keys, names, _taken(options, _PARTITION), text, ("PARTITIONED BY", _PARTITION))


def primary_keys_of(statement: CreateTable, options: dict[str, str], text: str) -> list[str]:
    """Return the primary key of a Paimon table, and remove the option that defines it.

    Raises:
        InvalidArgumentError: The statement defines it twice, a column does not exist, is named twice or is nullable.
    """
    names = list(statement.primary_key)
    keys = [column_of(name, statement, text, "PRIMARY KEY") for name in names]
    twice = next((name for name, key in zip(names, keys, strict=True) if keys.count(key) > 1), None)
    if twice is not None:
        raise invalid(text, twice.start, f"PRIMARY KEY contains column `{twice.parts[0]}` twice")
    keys = _only(keys, names, _taken(options, _PRIMARY), text, ("PRIMARY KEY", _PRIMARY))
    nullable = next((column for column in statement.columns if column.is_nullable and column.name in keys), None)
    if nullable is not None:
        problem = f"column `{nullable.name}` of the primary key is declared NULL"
        raise invalid(text, nullable.start, problem, "omit NULL: primary key columns are NOT NULL")
    return keys


def partition_column(one: PartitionValue, keys: Sequence[str], text: str) -> str:
    """Return the column of a PARTITION clause, with the case used in the table.

    Raises:
        InvalidArgumentError: The column is not one of the partition columns `keys`.
    """
    found = next((key for key in keys if key.lower() == one.column.lower()), None)
    if found is None:
        hint = f"the partition columns are {', '.join(keys)}" if keys else "the table has no partition columns"
        raise invalid(text, one.start, f"PARTITION: `{one.column}` is not a partition column", hint)
    return found


def column_of(name: Name, statement: CreateTable, text: str, clause: str) -> str:
    """Return the name of a column in a clause, with the case used in the column list.

    Raises:
        InvalidArgumentError: The column does not exist.
        UnsupportedError: The name is a field of a struct.
    """
    if len(name.parts) > 1:
        raise unsupported(text, name.start, f"a struct field in {clause} is not supported: {name}")
    wanted = name.parts[0].lower()
    names = {column.name.lower(): column.name for column in statement.columns}
    if wanted in names:
        return names[wanted]
    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f"did you mean `{names[near[0]]}`?" if near else f"the columns are {', '.join(names.values())}"
    raise invalid(text, name.start, f"{clause}: the table has no column `{name.parts[0]}`", hint)


def _taken(options: dict[str, str], name: str) -> list[str]:
    return [key.strip() for key in options.pop(name, "").split(",") if key.strip()]


def _only(keys: list[str], names: list[Name], given: list[str], text: str, where: tuple[str, str]) -> list[str]:
    if keys and given:
        clause, option = where
        raise invalid(text, names[0].start, f"{clause} and the option `{option}` are both set", "set only one of them")
    return keys or given

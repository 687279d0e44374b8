"""Columns that random histories of a Paimon table add, rename, retype and drop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from frazil.paimon._update_schema import UpdateSchema

Row = dict[str, Any]

DEFAULTS: dict[str, Any] = {"INT": 3, "BIGINT": 3, "STRING": "3"}


class AddedColumns:
    """The added columns, and their values in new rows and in old ones."""

    def __init__(self, chooser: random.Random, *, nulls: bool = True) -> None:
        self._random = chooser
        self._new_values = [None, *range(5)] if nulls else range(5)
        self._types: dict[str, str] = {}
        self._with_default: set[str] = set()

    def evolve(self, update: UpdateSchema, rows: list[Row]) -> list[Row]:
        """Change one column, and return the old rows with the new columns."""
        names = sorted(self._types)
        absent = [name for name in ("c0", "c1", "c2") if name not in names]
        change = self._random.choice(["add", "default", "drop", "rename", "retype"])
        name = self._random.choice(names) if names else ""
        if not names or (change in ("add", "default") and absent):
            # A dropped column may be added again: its old values are not visible.
            name = self._random.choice(absent)
            self._types[name] = self._random.choice(["INT", "STRING"])
            default = DEFAULTS[self._types[name]] if change == "default" else None
            update.add_column(name, self._types[name], default_value=default)
            if default is not None:
                self._with_default.add(name)
            return [row | {name: None} for row in rows]
        if change == "rename" and absent:
            new = self._random.choice(absent)
            update.rename_column(name, new)
            self._types[new] = self._types.pop(name)
            if name in self._with_default:
                self._with_default ^= {name, new}
            return [{(new if key == name else key): value for key, value in row.items()} for row in rows]
        if change == "retype":
            self._types[name] = {"INT": "BIGINT"}.get(self._types[name], "STRING")
            update.update_column(name, self._types[name])
            return [row | {name: self._value(name, row[name])} for row in rows]
        update.delete_column(name)
        del self._types[name]
        self._with_default.discard(name)
        return [{key: value for key, value in row.items() if key != name} for row in rows]

    def values(self) -> Row:
        """Return the values of a new row."""
        return {name: self._value(name, self._random.choice(self._new_values)) for name in sorted(self._types)}

    def written(self, rows: list[Row]) -> list[Row]:
        """Return the rows with the defaults that replace NULL in new rows."""
        defaults = {name: DEFAULTS[self._types[name]] for name in self._with_default}
        return [row | {name: value for name, value in defaults.items() if row[name] is None} for row in rows]

    def lack_defaults(self, rows: Iterable[Row]) -> bool:
        """Return whether updated rows have NULL in a column with a default."""
        return any(row[name] is None for row in rows for name in self._with_default)

    def conditions(self) -> list[tuple[str, Callable[[Row], bool]]]:
        """Return filters on a column."""
        if not self._types:
            return []
        name = self._random.choice(sorted(self._types))
        three = DEFAULTS[self._types[name]]
        return [
            (f"{name} is null", lambda row: row[name] is None),
            (f"{name} >= {three!r}", lambda row: row[name] is not None and row[name] >= three),
        ]

    def assignments(self) -> list[tuple[dict[str, Any], Callable[[Row], Row]]]:
        """Return assignments to a column."""
        if not self._types:
            return []
        name = self._random.choice(sorted(self._types))
        three = DEFAULTS[self._types[name]]
        return [({name: repr(three)}, lambda _: {name: three}), ({name: None}, lambda _: {name: None})]

    def _value(self, name: str, value: Any) -> Any:
        return value if value is None or self._types[name] != "STRING" else str(value)

"""Tables of many shapes, and random DELETE, UPDATE and MERGE statements that Iceberg (Java) and frazil run on them.

Statements contain `{t}` for the table and `{s}` for a source with the same columns.
"""

# ruff: noqa: S608 - of a test
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

STRUCT = "struct<a: int, b: struct<x: bigint, `y z`: string>>"
TYPES = {
    "id": "bigint",
    "k": "int",
    "name": "string",
    "v": "double",
    "n": "decimal(9,2)",
    "ts": "timestamp",
    "st": STRUCT,
}
VALUES = {
    "id": ["1", "2", "3", "4", "5", "6", "7", "8", "9", None],
    "k": ["0", "1", "1", "2", "3", None],
    "name": ["'a'", "'ab'", "'abc'", "'b'", "'it\\'s {'", "''", "'日本'", None],
    "v": ["'NaN'", "'NaN'", "'-Infinity'", "-0.0D", "0.0D", "1.5D", "2.5D", None],
    "n": ["0", "1.50", "-7.25", "99.99", "7", None],
    "ts": ["'2024-03-10 06:30:00'", "'2024-03-10 23:59:59.999999'", "'2024-03-11'", "'1969-12-31 23:00:00'", None],
}
TEXTS = ["'x'", "'y'", "NULL"]


def random_value(chooser: Random, column: str) -> str:
    """Return a random value of a column in SQL."""
    if column != "st":
        return f"CAST({chooser.choice(VALUES[column]) or 'NULL'} AS {TYPES[column]})"
    if chooser.random() < 0.2:
        return f"CAST(NULL AS {STRUCT})"
    numbers = ["1", "2", "NULL"]
    inner = f"named_struct('x', {chooser.choice(numbers)}, 'y z', {chooser.choice(TEXTS)})"
    inner = "NULL" if chooser.random() < 0.2 else inner
    return f"CAST(named_struct('a', {chooser.choice(numbers)}, 'b', {inner}) AS {STRUCT})"


@dataclass(frozen=True)
class Shape:
    """The definition and the history of a table."""

    name: str
    partition: str = ""
    names: dict[str, str] = field(default_factory=dict)
    """The quoted names of columns that have other names than in `TYPES`."""
    first: tuple[str, ...] = tuple(TYPES)
    """The columns of the table when its first rows are written, possibly with names that are changed later."""
    evolution: tuple[str, ...] = ()
    """The rest of the ALTER TABLE statements between the first and the second rows."""
    last: tuple[str, ...] = ()
    """Statements after all rows have been written."""
    files: int = 2

    def column(self, column: str) -> str:
        """Return the name of a column in SQL."""
        return self.names.get(column, column)

    def history(self, chooser: Random, table: str, version: int, mode: str) -> list[str]:
        """Return the statements that create and fill a table."""
        kinds = {**TYPES, "old": "string", "gone": "int"}
        columns = ", ".join(f"{self.column(name)} {kinds[name]}" for name in self.first)
        properties = {"format-version": str(version), **{f"write.{verb}.mode": mode for verb in VERBS}}
        texts = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        partition = f" PARTITIONED BY ({self.partition})" if self.partition else ""
        found = [f"CREATE TABLE {table} ({columns}) USING iceberg{partition} TBLPROPERTIES ({texts})"]
        for number in range(self.files):
            names = self.first if number == 0 else tuple(TYPES)
            sources = ["name" if name == "old" else "k" if name == "gone" else name for name in names]
            lines = [", ".join(random_value(chooser, name) for name in sources) for _ in range(chooser.randint(5, 8))]
            # Equal rows.
            found.append(f"INSERT INTO {table} VALUES " + ", ".join(f"({line})" for line in [*lines, lines[0]]))
            if number == 0:
                found += [f"ALTER TABLE {table} {change}" for change in self.evolution]
        return [*found, *(statement.replace("{t}", table) for statement in self.last)]


VERBS = ("delete", "update", "merge")
SHAPES = [
    Shape("unpartitioned", files=3),
    Shape("identity", "name, k"),
    Shape("bucket", "bucket(3, id)"),
    Shape("truncate", "truncate(1, name), truncate(2, k)"),
    Shape("days", "days(ts)"),
    Shape("decimals", "n, bucket(2, n)"),
    Shape(
        "evolved spec",
        "bucket(2, id)",
        evolution=("DROP PARTITION FIELD bucket(2, id)", "ADD PARTITION FIELD truncate(1, name)"),
    ),
    Shape(
        "evolved schema",
        first=("gone", "id", "k", "old", "v"),
        evolution=(
            "RENAME COLUMN old TO name",
            "DROP COLUMN gone",
            "ADD COLUMNS (n decimal(9,2), ts timestamp)",
            "ADD COLUMN st struct<a: int, b: struct<x: bigint, `y z`: string>>",
        ),
    ),
    Shape(
        "quoted names",
        "`a.b`",
        names={"k": "`a.b`", "name": '`it\'s; "x"`', "v": "`where`", "n": "`b``q`", "st": "`S t`"},
    ),
    Shape("empty", "days(ts)", files=0),
    Shape("deletes", last=("DELETE FROM {t} WHERE k = 1 OR v = 1.5D", "DELETE FROM {t} WHERE id = 3"), files=3),
    Shape("partitioned deletes", "k", last=("UPDATE {t} SET name = 'u', k = k + 1 WHERE v > 0 OR n IS NULL",)),
]


CONDITIONS = [
    "{.id} = 3",
    "{.id} > 4",
    "{.id} IS NULL OR {.k} = 1",
    "{.id} <=> NULL",
    "{.k} IN (0, 2)",
    "NOT ({.k} = 1)",
    "{.k} <> 2 AND {.name} LIKE 'a%'",
    "{.name} = ''",
    "{.name} = 'it\\'s {' OR {.name} = '日本'",
    "{.name} BETWEEN 'a' AND 'ab'",
    "{.v} > 1.0",
    "{.v} <> 1.5D",
    "{.v} = CAST('NaN' AS DOUBLE)",
    "NOT ({.v} = CAST('NaN' AS DOUBLE))",
    "{.v} <= 0.0D",
    "{.n} < 1.0",
    "{.n} IN (1.50, 7)",
    "{.ts} >= TIMESTAMP '2024-03-11 00:00:00'",
    "CAST({.ts} AS DATE) = DATE '2024-03-10'",
    "{.st}.a > 1",
    "{.st}.b.`y z` = 'y'",
    "{.st}.b IS NULL",
    "{.st} IS NOT NULL AND {.k} < 3",
    "abs({.id} - 5) < 3",
    "coalesce({.k}, 2) % 2 = 0",
]
QUERIES = [
    "{.id} IN (SELECT {id} FROM {s} WHERE {k} > 0)",
    "{.id} NOT IN (SELECT {id} FROM {s} WHERE {id} IS NOT NULL AND {k} < 2)",
    "EXISTS (SELECT 1 FROM {s} AS x WHERE x.{name} = {.name} AND x.{k} >= {.k})",
    "{.n} > (SELECT avg({n}) FROM {s})",
    "{.id} = (SELECT max({id}) FROM {t})",
]
SOURCE_CONDITIONS = ["{!k} > 0", "{!v} <> 1.5D", "{!name} IS NOT NULL", "{!st}.a = 1", "{!ts} > TIMESTAMP '2000-01-01'"]
NEW_VALUES = {
    "id": ["{.id} + 10", "7L", "NULL", "CAST({.k} AS BIGINT)"],
    "k": ["{.k} + 1", "DEFAULT", "CAST({.id} AS INT)", "CASE WHEN {.k} > 1 THEN 0 ELSE {.k} END", "12 div {.k}"],
    "name": ["upper({.name})", "concat({.name}, '{!')", "'n'", "NULL", "{.st}.b.`y z`"],
    "v": ["{.v} * 2", "-{.v}", "CAST('NaN' AS DOUBLE)", "DEFAULT", "{.n}", "-0.0D"],
    "n": ["{.n} + 1", "3", "1.005", "{.n} * 1000", "DEFAULT"],
    "ts": ["{.ts} + INTERVAL 1 DAY", "NULL", "TIMESTAMP '2024-02-29 12:00:00'"],
    "st": [f"CAST(NULL AS {STRUCT})", "named_struct('a', {.k}, 'b', named_struct('x', {.id}, 'y z', {.name}))"],
    "st.a": ["{.st}.a + 1", "NULL", "{.k}"],
    "st.b.x": ["5L", "{.id}"],
    "st.b": ["named_struct('x', {.id}, 'y z', 'new')", "NULL"],
}
QUERIED_VALUES = {"name": "(SELECT max({name}) FROM {s})", "k": "(SELECT CAST(count(*) AS INT) FROM {s})"}
JOINS = [
    "t.{id} = src.{id}",
    "t.{id} = src.{id}",
    "t.{id} <=> src.{id}",
    "t.{id} = src.{id} AND t.{k} = src.{k}",
    "t.{id} = src.{id} AND t.{name} >= 'a'",
    "t.{id} = src.{id} - 2 AND src.{k} > 0",
    "t.{name} = src.{name} AND t.{id} = src.{id}",
    "t.{v} = src.{v} AND t.{id} = src.{id}",
]
SOURCES = [
    "(SELECT * FROM {s} WHERE {k} <> 99 OR {k} IS NULL) AS src",
    "(SELECT * FROM {s} WHERE {k} <> 99 OR {k} IS NULL) AS src",
    "(SELECT DISTINCT * FROM {s} WHERE {k} <= 2) AS src",
    "{s} AS src",
    "(SELECT * FROM {t} WHERE {id} < 0) AS src",
]


def source(chooser: Random, shape: Shape, table: str) -> list[str]:
    """Return the statements that create and fill a source; two rows have an equal id, one of them with `k` = 99."""
    columns = ", ".join(f"{shape.column(name)} {kind}" for name, kind in TYPES.items())
    lines = []
    for id in [*chooser.sample(range(1, 13), 6), 3, 3, "NULL"]:  # noqa: A001 - of a row
        values = {name: random_value(chooser, name) for name in TYPES} | {"id": f"CAST({id} AS BIGINT)"}
        values["k"] = values["k"] if id != 3 else "99"
        lines.append("(" + ", ".join(values.values()) + ")")
    return [f"CREATE TABLE {table} ({columns}) USING iceberg", f"INSERT INTO {table} VALUES {', '.join(lines)}"]


@dataclass
class Statements:
    """Random statements on tables of a shape."""

    chooser: Random
    shape: Shape

    def draw(self) -> str:
        """Return a statement."""
        kind = self.chooser.choice(["DELETE", "UPDATE", "MERGE", "MERGE"])
        return self._merge() if kind == "MERGE" else self._changed(kind)

    def _changed(self, verb: str) -> str:
        alias = self.chooser.choice(["", "t"])
        if verb == "DELETE":
            if self.chooser.random() < 0.03:
                return "DELETE FROM {t}"
            return f"DELETE FROM {{t}} {alias} WHERE {self._condition(alias)}"
        values = self._values(alias)
        if self.chooser.random() < 0.2:
            column = self.chooser.choice(list(QUERIED_VALUES))
            values[column] = self._named(QUERIED_VALUES[column])
        texts = ", ".join(f"{self._target(column)} = {value}" for column, value in values.items())
        where = "" if self.chooser.random() < 0.1 else f" WHERE {self._condition(alias)}"
        return f"UPDATE {{t}} {alias} SET {texts}{where}"

    def _merge(self) -> str:
        texts: list[str] = []
        while not texts:
            # Java's grammar requires this order of the clauses.
            texts = [text for when in MATCHES if self.chooser.random() < 0.6 for text in self._clauses(when)]
        found, on = self.chooser.choice(SOURCES), self.chooser.choice(JOINS)
        if not texts[0].startswith("WHEN MATCHED"):
            # Java would duplicate rows that match several rows of the source.
            found = SOURCES[0]
        return " ".join([self._named(f"MERGE INTO {{t}} AS t USING {found} ON {on}"), *texts])

    def _clauses(self, when: str) -> list[str]:
        count = self.chooser.choice([1, 1, 2])
        return [self._clause(when, is_last=number == count - 1) for number in range(count)]

    def _clause(self, when: str, *, is_last: bool) -> str:
        text = f"WHEN {when}"
        alias = "src" if when == "NOT MATCHED" else "t"
        if not is_last or self.chooser.random() < 0.5:
            # Java does not support subqueries in MERGE.
            conditions = [self._condition(alias, has_queries=False)]
            if when == "MATCHED" and self.chooser.random() < 0.5:
                conditions.append(self._named(self.chooser.choice(SOURCE_CONDITIONS), other="src"))
            text += f" AND {self.chooser.choice([' AND ', ' OR ']).join(f'({one})' for one in conditions)}"
        text += " THEN "
        if when != "NOT MATCHED" and self.chooser.random() < 0.3:
            return text + "DELETE"
        if when != "NOT MATCHED BY SOURCE" and self.chooser.random() < 0.3:
            return text + ("INSERT *" if when == "NOT MATCHED" else "UPDATE SET *")
        if when == "NOT MATCHED":
            values = {column: self._value(column, "src") for column in self.chooser.sample(list(TYPES), 4)}
            values["id"] = self._named("{.id}", "src")
            columns = ", ".join(self._target(column) for column in values)
            return text + f"INSERT ({columns}) VALUES ({', '.join(values.values())})"
        values = self._values("t")
        if when == "MATCHED" and self.chooser.random() < 0.6:
            column = self.chooser.choice(list(TYPES))
            values = {key: value for key, value in values.items() if key.split(".")[0] != column}
            values[column] = self._named(f"{{!{column}}}", other="src")
        return text + "UPDATE SET " + ", ".join(f"{self._target(column)} = {text}" for column, text in values.items())

    def _condition(self, alias: str, *, has_queries: bool = True) -> str:
        simple = self.chooser.sample(CONDITIONS, 2)
        match self.chooser.random():
            case chance if chance < 0.15 and has_queries:
                return self._named(self.chooser.choice(QUERIES), alias or "{t}")
            case chance if chance < 0.35:
                return self._named(f"{simple[0]} OR {simple[1]}", alias)
            case chance if chance < 0.5:
                return self._named(f"({simple[0]}) AND ({simple[1]})", alias)
        return self._named(simple[0], alias)

    def _values(self, alias: str) -> dict[str, str]:
        columns = self.chooser.sample(list(NEW_VALUES), self.chooser.randint(1, 3))
        if "st" in columns or "st.b" in columns:
            longer = "st." if "st" in columns else "st.b."
            columns = [column for column in columns if not column.startswith(longer)]
        return {column: self._value(column, alias) for column in columns}

    def _value(self, column: str, alias: str) -> str:
        return self._named(self.chooser.choice(NEW_VALUES[column]), alias)

    def _target(self, column: str) -> str:
        first, *rest = column.split(".")
        return ".".join([self.shape.column(first), *rest])

    def _named(self, text: str, alias: str = "", other: str = "") -> str:
        """Return a text with the names of columns: `{.id}` with the alias, `{!id}` with the other one."""
        for column in TYPES:
            name = self.shape.column(column)
            text = text.replace(f"{{.{column}}}", f"{alias}.{name}" if alias else name)
            text = text.replace(f"{{!{column}}}", f"{other}.{name}").replace(f"{{{column}}}", name)
        return text


MATCHES = ("MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE")

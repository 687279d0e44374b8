"""Random queries on the tables `lake.db.t` and `lake.db.u`, and nearly invalid statements."""

from __future__ import annotations

import random

COLUMNS = {"t": ("id", "name", "d", "v", "n", "s", "Big"), "u": ("id", "t_id", "note", "d")}
"""The columns of both tables; `s` is a struct of x and y."""

_CONDITIONS = {
    "id": ("{} > 2", "{} = 3", "2 <= {}", "{} IN (1, 2, 9)", "{} BETWEEN 2 AND 4", "{} <> 2", "{} < 1.5", "-1 < {}"),
    "t_id": ("{} IS NULL", "{} IS NOT NULL", "{} >= 2", "NOT {} = 1", "{} NOT IN (1, 5)"),
    "name": ("{} = 'b'", "{} LIKE 'a%'", "{} NOT LIKE '%c'", "{} IN ('a', 'x')", "lower({}) = 'b'", "{} > 'a'"),
    "note": ("{} LIKE '_'", "{} IS NOT NULL", "{} = 'it''s'", "{} IN ('a', 'b')"),
    "d": ("{} >= DATE '2024-02-01'", "{} = '2024-01-01'", "{} < date'2024-03-01'", "year({}) = 2024"),
    "v": ("{} > 1", "{} <= 1.5", "{} = 2.5", "isnan({})", "{} < 1e1"),
    "n": ("{} = 1.50", "{} > 1", "{} < 2.555"),
    "Big": ("{} > 10", "{} <=> 20"),
}
JOINS = ("JOIN", "LEFT JOIN", "RIGHT OUTER JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN", ",")
_STARS = ("*", "{a}.*", "* EXCEPT ({c})", "count(*) AS c")
_STARS_OF_SPARK = ("struct({a}.*)", "count(DISTINCT *)")
_SOUP = (
    *("SELECT", "*", "FROM", "lake.db.t", "lake.db.u", "lake . db . t", "`lake`.db.`t`", "WHERE", "id", "=", "1"),
    *("(", ")", ",", "JOIN", "ON", "WITH", "x", "AS", "UNION ALL", "'lake.db.v'", "-- lake.db.v\n"),
    *("/* lake.db.v */", "lake.db.t.id", "LATERAL VIEW", "explode", "TABLE", "VALUES", "EXISTS", "GROUP BY"),
    *("VERSION AS OF", "TIMESTAMP", "$", ".", ";", "`", "'"),
)


class Queries:
    """A generator of queries from a seed."""

    def __init__(self, seed: int, *, of_spark: bool = True) -> None:
        """Start the sequence of this seed; without `of_spark`, DuckDB runs the queries, too."""
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self._stars = _STARS + (_STARS_OF_SPARK if of_spark else ())
        self._number = 0

    def query(self, depth: int = 2) -> str:
        """Return a query, which Spark may reject."""
        kind = self._random.choice(
            ("plain",) * 6 + ("union", "with", "from", "exists", "scalar") if depth else ("plain",)
        )
        if kind == "union":
            operator = self._random.choice(("UNION", "UNION ALL", "EXCEPT", "INTERSECT"))
            return f"SELECT id FROM ({self.plain(0, 'id')}) {operator} {self.plain(0, 'id')}"
        if kind == "with":
            return f"WITH c AS ({self.query(depth - 1)}), t AS (SELECT id FROM lake.db.u) SELECT c.*, t.id FROM c, t"
        if kind == "from":
            return f"SELECT q.* FROM ({self.query(depth - 1)}) AS q"
        if kind == "exists":
            inner = f"SELECT {self._pick(('1', '*', 'i.id'))} FROM lake.db.u i WHERE i.t_id = o.id"
            return f"SELECT id, name FROM lake.db.t o WHERE {self._pick(('', 'NOT '))}EXISTS ({inner})"
        if kind == "scalar":
            return f"SELECT {self._conditioned('lake.db.u', 'u')}, (SELECT max(id) FROM lake.db.t) AS m"
        return self.plain(depth)

    def plain(self, depth: int, column: str | None = None) -> str:
        """Return a SELECT, possibly with a join."""
        table = self._pick(tuple(COLUMNS))
        alias = self._pick((table, table, "x", "Y"))
        relation = f"lake.db.{table}" if alias == table else f"lake.db.{table} {self._pick(('', 'AS '))}{alias}"
        qualifiers = [(alias, table)]
        if column is None and depth and self._random.random() < 0.5:
            other = self._pick(tuple(COLUMNS))
            join = self._pick(JOINS)
            relation += f" {join} lake.db.{other} AS o"
            if join not in (",", "CROSS JOIN"):
                relation += self._pick((f" ON {alias}.id = o.id", " USING (id)", f" ON o.d <= {alias}.d"))
            qualifiers.append(("o", other))
        selected = column or self._selected(qualifiers)
        where = self._where(qualifiers)
        order = self._pick(("", "", f" ORDER BY {alias}.id", " ORDER BY 1")) if column is None else ""
        return f"SELECT {selected} FROM {relation}{where}{order}"

    def soup(self) -> str:
        """Return random words, or a query with words inserted and removed."""
        if self._random.random() < 0.3:
            return "SELECT " + " ".join(self._random.choices(_SOUP, k=self._random.randint(1, 20)))
        words = self.query().split(" ")
        for _ in range(self._random.randint(1, 3)):
            place = self._random.randrange(len(words))
            words[place : place + self._random.randint(0, 1)] = [self._pick(_SOUP)]
        return " ".join(words)

    def _selected(self, qualifiers: list[tuple[str, str]]) -> str:
        alias, table = self._pick(qualifiers)
        column = self._pick(COLUMNS[table])
        if self._random.random() < 0.25:
            return self._pick(self._stars).format(a=alias, c=column)
        if self._random.random() < 0.2:
            return f"count(*) AS c, max({alias}.id) AS m"
        names = [self._named(*self._pick(qualifiers)) for _ in range(self._random.randint(1, 3))]
        return ", ".join(f"{name} AS c{place}" for place, name in enumerate(names))

    def _named(self, alias: str, table: str) -> str:
        column = self._pick(COLUMNS[table])
        column = self._pick((column, column, column.upper(), f"`{column}`"))
        if column == "s":
            column = self._pick(("s.x", "s.Y", "s"))
        full = f"lake.db.{table}." if alias == table else f"{alias}."
        return self._pick((f"{alias}.", f"{alias}.", full, "")) + column

    def _where(self, qualifiers: list[tuple[str, str]]) -> str:
        found = []
        for _ in range(self._random.randint(0, 3)):
            alias, table = self._pick(qualifiers)
            column = self._pick([name for name in COLUMNS[table] if name in _CONDITIONS])
            qualifier = self._pick((f"{alias}.", f"{alias}.", ""))
            found.append(self._pick((*_CONDITIONS[column], "{} IS NULL")).format(qualifier + column))
        return f" WHERE {self._pick((' AND ', ' AND ', ' OR ')).join(found)}" if found else ""

    def _conditioned(self, table: str, alias: str) -> str:
        return f"(SELECT count(*) FROM {table}{self._where([(alias, 'u')])}) AS n"

    def _pick(self, choices: tuple | list) -> str:  # type: ignore[type-arg] - of any kind
        return self._random.choice(choices)

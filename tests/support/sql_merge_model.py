"""Random statements that change rows, and what they do by Spark's rules, in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    Row = dict[str, Any]
    Function = Callable[[Row, Row], Any]

COLUMNS = ("id", "k", "name", "v")


def plus(a: Any, b: Any) -> Any:
    """Return a sum as SQL does."""
    return None if None in (a, b) else a + b


def equal(a: Any, b: Any) -> bool | None:
    """Compare as SQL does."""
    return None if None in (a, b) else a == b


def less(a: Any, b: Any) -> bool | None:
    """Compare as SQL does."""
    return None if None in (a, b) else a < b


def both(a: bool | None, b: bool | None) -> bool | None:  # noqa: FBT001 - of three values
    """Return AND as SQL does."""
    return False if False in (a, b) else None if None in (a, b) else True


def either(a: bool | None, b: bool | None) -> bool | None:  # noqa: FBT001 - of three values
    """Return OR as SQL does."""
    return True if True in (a, b) else None if None in (a, b) else False


def opposite(a: bool | None) -> bool | None:  # noqa: FBT001 - of three values
    """Return NOT as SQL does."""
    return None if a is None else not a


JOINS: list[tuple[str, Function]] = [
    ("t.id = s.id", lambda t, s: equal(t["id"], s["id"])),
    ("s.id = t.id AND t.k < 3", lambda t, s: both(equal(t["id"], s["id"]), less(t["k"], 3))),
    ("t.id <=> s.id", lambda t, s: t["id"] == s["id"]),
    ("t.id = s.id + 1", lambda t, s: equal(t["id"], plus(s["id"], 1))),
    ("(t.id = s.id OR t.name = s.name)", lambda t, s: either(equal(t["id"], s["id"]), equal(t["name"], s["name"]))),
    ("t.k = s.k AND t.id < s.id", lambda t, s: both(equal(t["k"], s["k"]), less(t["id"], s["id"]))),
]
CONDITIONS: dict[str, list[tuple[str, Function]]] = {
    "MATCHED": [
        ("s.v <> 0", lambda _, s: None if s["v"] is None else s["v"] != 0),
        ("t.v < s.v", lambda t, s: less(t["v"], s["v"])),
        ("t.name IS NULL OR s.k = 1", lambda t, s: either(t["name"] is None, equal(s["k"], 1))),
        ("CAST(NULL AS BOOLEAN)", lambda *_: None),
        ("CASE WHEN t.k > 1 THEN true END", lambda t, _: less(1, t["k"])),
    ],
    "NOT MATCHED": [
        ("s.v <> 0", lambda _, s: None if s["v"] is None else s["v"] != 0),
        ("id > 4", lambda _, s: less(4, s["id"])),
        ("s.name IS NOT NULL", lambda _, s: s["name"] is not None),
    ],
    "NOT MATCHED BY SOURCE": [
        ("t.k < 2", lambda t, _: less(t["k"], 2)),
        ("name = 'b'", lambda t, _: equal(t["name"], "b")),
        ("abs(t.id) > 5", lambda t, _: less(5, t["id"])),
        ("t.k < 2 OR t.name IS NULL", lambda t, _: either(less(t["k"], 2), t["name"] is None)),
        ("NOT (t.id > 3 AND t.v = 2)", lambda t, _: opposite(both(less(3, t["id"]), equal(t["v"], 2)))),
    ],
}
VALUES: dict[str, dict[str, list[tuple[str, Function]]]] = {
    "MATCHED": {
        "id": [("t.id + 10", lambda t, _: plus(t["id"], 10)), ("s.id", lambda _, s: s["id"])],
        "k": [("s.k", lambda _, s: s["k"]), ("NULL", lambda *_: None)],
        "name": [
            ("s.name", lambda _, s: s["name"]),
            ("concat(t.name, '{', s.name)", lambda t, s: plus(plus(t["name"], "{"), s["name"])),
            ("upper(t.name)", lambda t, _: t["name"] and t["name"].upper()),
        ],
        "v": [("s.v + t.v", lambda t, s: plus(t["v"], s["v"])), ("DEFAULT", lambda *_: None), ("7L", lambda *_: 7)],
    },
    "NOT MATCHED": {
        "id": [("id", lambda _, s: s["id"]), ("s.id + 20", lambda _, s: plus(s["id"], 20))],
        "k": [("k + s.v", lambda _, s: plus(s["k"], s["v"])), ("DEFAULT", lambda *_: None)],
        "name": [("coalesce(name, 'new')", lambda _, s: s["name"] or "new"), ("s.name", lambda _, s: s["name"])],
        "v": [("1", lambda *_: 1), ("s.k", lambda _, s: s["k"])],
    },
    "NOT MATCHED BY SOURCE": {
        "id": [("id + 30", lambda t, _: plus(t["id"], 30))],
        "k": [("t.v", lambda t, _: t["v"]), ("0", lambda *_: 0)],
        "name": [("'gone'", lambda *_: "gone"), ("concat(name, '!')", lambda t, _: plus(t["name"], "!"))],
        "v": [("v + t.k", lambda t, _: plus(t["v"], t["k"])), ("DEFAULT", lambda *_: None)],
    },
}
DIVIDED = ("12 div s.v", lambda _, s: 12 // s["v"])
"""A value that fails for rows to which its clause does not apply."""


class SeveralMatchesError(Exception):
    """Several rows of the source match a row of the target; the argument is their number."""


@dataclass
class Clause:
    """A clause of a MERGE."""

    when: str
    action: str
    condition: tuple[str, Function] | None
    values: dict[str, tuple[str, Function]] | None
    """The new values by column; None for `*`."""

    def text(self) -> str:
        """Return the clause in SQL."""
        head = f"WHEN {self.when}" + (f" AND {self.condition[0]}" if self.condition else "") + " THEN "
        if self.action == "DELETE":
            return head + "DELETE"
        if self.values is None:
            return head + ("UPDATE SET *" if self.action == "UPDATE" else "INSERT *")
        if self.action == "UPDATE":
            return f"{head}UPDATE SET {_assignments(self.values)}"
        texts = {column: value[0] for column, value in self.values.items()}
        return head + f"INSERT ({', '.join(texts)}) VALUES ({', '.join(texts.values())})"  # noqa: S608 - of a test

    def new_values(self, target: Row, source: Row) -> Row:
        """Return the values that the clause sets."""
        if self.values is None:
            return dict(source)
        return {column: value[1](target, source) for column, value in self.values.items()}


@dataclass
class Statement:
    """A MERGE: ON condition, and clauses."""

    on: tuple[str, Function]
    clauses: list[Clause]

    def run(self, target: Sequence[Row], source: Sequence[Row]) -> tuple[Counter[tuple[Any, ...]], tuple[int, ...]]:
        """Return the rows after the statement, and the numbers of inserted, updated and deleted rows.

        Raises:
            SeveralMatchesError: Several rows of the source match a row of the target.
        """
        counts: Counter[str] = Counter()
        pairs = [[one for one in source if self.on[1](row, one) is True] for row in target]
        own = [clause for clause in self.clauses if clause.when == "MATCHED"]
        is_plain_delete = len(own) == 1 and own[0].action == "DELETE" and own[0].condition is None
        most = max(map(len, pairs), default=0)
        if own and not is_plain_delete and most > 1:
            raise SeveralMatchesError(most)
        rows = []
        for row, matching in zip(target, pairs, strict=True):
            other = matching[0] if matching else {}
            clause = self._first("MATCHED" if matching else "NOT MATCHED BY SOURCE", row, other)
            counts[clause.action if clause else ""] += 1
            if clause is None or clause.action == "UPDATE":
                rows.append({**row, **(clause.new_values(row, other) if clause else {})})
        for one in source:
            if not any(other is one for matching in pairs for other in matching):
                clause = self._first("NOT MATCHED", {}, one)
                if clause is not None:
                    counts["INSERT"] += 1
                    rows.append({**dict.fromkeys(COLUMNS), **clause.new_values({}, one)})
        numbers = tuple(counts[action] for action in ("INSERT", "UPDATE", "DELETE"))
        return Counter(tuple(row[column] for column in COLUMNS) for row in rows), numbers

    def _first(self, when: str, target: Row, source: Row) -> Clause | None:
        for clause in self.clauses:
            if clause.when == when and (clause.condition is None or clause.condition[1](target, source) is True):
                return clause
        return None


def random_rows(chooser: Random, count: int) -> list[Row]:
    """Return rows with NULLs and duplicates."""
    return [
        {
            "id": chooser.choice([None, *range(1, 9)]),
            "k": chooser.choice([None, 0, 1, 2, 3]),
            "name": chooser.choice([None, "a", "b", "c"]),
            "v": chooser.choice([None, 0, 1, 2, 5]),
        }
        for _ in range(count)
    ]


def query_of(rows: Sequence[Row]) -> str:
    """Return rows as a query."""
    texts = [", ".join("NULL" if value is None else repr(value) for value in row.values()) for row in rows]
    values = ", ".join(f"({text})" for text in texts) or "(0, 0, '', 0)"
    columns = "CAST(id AS BIGINT) AS id, CAST(k AS INT) AS k, CAST(name AS STRING) AS name, CAST(v AS INT) AS v"
    return f"SELECT {columns} FROM VALUES {values} AS c({', '.join(COLUMNS)})" + ("" if rows else " WHERE false")  # noqa: S608 - of a test


def random_change(chooser: Random, table: str) -> tuple[str, Statement]:
    """Return a DELETE or UPDATE with the alias `t`, and the same as a MERGE without source rows."""
    when = "NOT MATCHED BY SOURCE"
    clause = _clause(chooser, when, is_last=True)
    where = "" if clause.condition is None else f" WHERE {clause.condition[0]}"
    if clause.values is None:
        text = f"DELETE FROM {table} AS t{where}"  # noqa: S608 - of a test
    else:
        text = f"UPDATE {table} AS t SET {_assignments(clause.values)}{where}"  # noqa: S608 - of a test
    return text, Statement(JOINS[0], [clause])


def random_statement(chooser: Random) -> Statement:
    """Return a MERGE with at least one clause."""
    clauses: list[Clause] = []
    while not clauses:
        kinds = [_clauses(chooser, when) for when in VALUES if chooser.random() < 0.65]
        # Clauses of one kind keep their order, because only the last of them may lack a condition.
        while any(kinds):
            clauses.append(chooser.choice([kind for kind in kinds if kind]).pop(0))
    return Statement(chooser.choice(JOINS), clauses)


def _assignments(values: dict[str, tuple[str, Function]]) -> str:
    return ", ".join(f"{column} = {value[0]}" for column, value in values.items())


def _clauses(chooser: Random, when: str) -> list[Clause]:
    count = chooser.choice([1, 1, 2])
    return [_clause(chooser, when, is_last=number == count - 1) for number in range(count)]


def _clause(chooser: Random, when: str, *, is_last: bool) -> Clause:
    condition = None if is_last and chooser.random() < 0.5 else chooser.choice(CONDITIONS[when])
    action = "INSERT" if when == "NOT MATCHED" else chooser.choice(["DELETE", "UPDATE", "UPDATE"])
    if action == "DELETE" or (when != "NOT MATCHED BY SOURCE" and chooser.random() < 0.25):
        return Clause(when, action, condition, None)
    columns = chooser.sample(COLUMNS, chooser.randint(1, len(COLUMNS)))
    values = {column: chooser.choice(VALUES[when][column]) for column in columns}
    if condition is not None and condition[0] == "s.v <> 0" and "v" in values:
        values["v"] = DIVIDED
    return Clause(when, action, condition, values)

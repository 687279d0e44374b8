"""Statements that change rows, valid and invalid, for tests of the grammar."""

# ruff: noqa: S608
from __future__ import annotations

TARGETS = [
    ("t", "t", None),
    ("lake.db.t", "lake.db.t", None),
    ("t x", "t", "x"),
    ("t AS x", "t", "x"),
    ("db.t AS `x y`", "db.t", "x y"),
    ("`a b`.`c``d` `e.f`", "`a b`.`c``d`", "e.f"),
    ("`delete from t`", "`delete from t`", None),
    ("t /* where */ AS -- set\n `where`", "t", "where"),
    ("table", "table", None),
    ("db.t.branch_b", "db.t.branch_b", None),
]
"""The text of targets, with the name and the alias."""

CONDITIONS = [
    "id = 1",
    "id = 1 AND NOT (name IN ('a', 'b', \"c\") OR x IS NULL)",
    "CASE WHEN a THEN b WHEN c THEN d ELSE e END",
    "name = 'it''s' OR name = 'WHERE ; -- \\' THEN'",
    "EXISTS (SELECT 1 FROM s WHERE s.id = t.id)",
    "`where` > `set`.`when`",
    "f(a, (b, c)[0], array(1, 2)[1], map('a', 1)['a']) /* ; ) */ > 1",
    "a BETWEEN 1 AND 2 -- AND 3\n AND b",
    "s.when = s.then AND s.case = s.end",
]

ASSIGNMENTS = [
    ("a = 1", [("a", "1")]),
    ("a == 1", [("a", "1")]),
    ("a = 1, b = 2 + 3", [("a", "1"), ("b", "2 + 3")]),
    ("t.a = DEFAULT, s.x.y = default", [("t.a", None), ("s.x.y", None)]),
    ("`a b` = `c, d`, `e``f` = 'g, h = i'", [("a b", "`c, d`"), ("e`f", "'g, h = i'")]),
    ("a = CASE WHEN b THEN 1, END, c = 2", None),
    ("a = CASE WHEN b = 1 THEN f(1, 2) ELSE array(3, 4)[0] END, c = 2", "case"),
    ("a = (SELECT max(x), 1 FROM s WHERE s.id = 1), b = named_struct('x', 1)", "query"),
    ("a = x.where, b = x.end, c = x.case, d = 1", "words"),
    ("set = 1, where = 2", [("set", "1"), ("where", "2")]),
    ("a = NOT b OR c IS NOT NULL", [("a", "NOT b OR c IS NOT NULL")]),
    ("a = b = c", [("a", "b = c")]),
]
"""The text of SET clauses, with the columns and values; a word if a separate test has the values, None if invalid."""

SOURCES = [
    ("s", "s", None),
    ("db.s AS s", "db.s", "s"),
    ("`a b`.s `on`", "`a b`.s", "on"),
    ("(SELECT * FROM s WHERE a = ')') AS s", "(SELECT * FROM s WHERE a = ')')", "s"),
    ("(WITH c AS (SELECT 1) SELECT * FROM c) s", "(WITH c AS (SELECT 1) SELECT * FROM c)", "s"),
    ("(VALUES (1, 'on'), (2, 'when')) s", "(VALUES (1, 'on'), (2, 'when'))", "s"),
]
TIME_TRAVEL = [
    ("db.s VERSION AS OF 5 AS s", "db.s VERSION AS OF 5", "s"),
    ("db.s FOR VERSION AS OF 'v1' s", "db.s FOR VERSION AS OF 'v1'", "s"),
    ("s TIMESTAMP AS OF now() - INTERVAL 1 DAY", "s TIMESTAMP AS OF now() - INTERVAL 1 DAY", None),
    ("s FOR SYSTEM_TIME AS OF (current_date()) x", "s FOR SYSTEM_TIME AS OF (current_date())", "x"),
]
"""The text of sources, with the source and the alias; Spark does not parse those with time travel."""

CLAUSES = [
    ("WHEN MATCHED THEN DELETE", [("matched", "delete", None, 0)]),
    ("WHEN MATCHED AND s.x > 1 THEN DELETE", [("matched", "delete", "s.x > 1", 0)]),
    ("WHEN MATCHED THEN UPDATE SET *", [("matched", "update_all", None, 0)]),
    ("when matched then update set t.a = s.a, b = DEFAULT", [("matched", "update", None, 2)]),
    ("WHEN NOT MATCHED THEN INSERT *", [("not_matched", "insert_all", None, 0)]),
    ("WHEN NOT MATCHED BY TARGET AND s.x THEN INSERT *", [("not_matched", "insert_all", "s.x", 0)]),
    (
        "WHEN NOT MATCHED THEN INSERT (a, `b c`, s.x) VALUES (s.a, DEFAULT, f(1, 2))",
        [("not_matched", "insert", None, 3)],
    ),
    ("WHEN NOT MATCHED BY SOURCE THEN DELETE", [("not_matched_by_source", "delete", None, 0)]),
    (
        "WHEN NOT MATCHED BY SOURCE AND t.a = 'THEN' THEN UPDATE SET a = 1",
        [("not_matched_by_source", "update", "t.a = 'THEN'", 1)],
    ),
    (
        (
            "WHEN MATCHED AND CASE WHEN a THEN b ELSE c END THEN UPDATE SET a = CASE WHEN b THEN 1 END "
            "WHEN MATCHED THEN DELETE"
        ),
        [("matched", "update", "CASE WHEN a THEN b ELSE c END", 1), ("matched", "delete", None, 0)],
    ),
    (
        (
            "WHEN MATCHED AND s.when THEN UPDATE SET when = s.when, case = s.then WHEN NOT MATCHED AND 1 THEN INSERT * "
            "WHEN NOT MATCHED THEN INSERT (end) VALUES (s.end) WHEN NOT MATCHED BY SOURCE AND 2 THEN DELETE "
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s.x.y = 5, z = (1, 2)"
        ),
        [
            ("matched", "update", "s.when", 2),
            ("not_matched", "insert_all", "1", 0),
            ("not_matched", "insert", None, 1),
            ("not_matched_by_source", "delete", "2", 0),
            ("not_matched_by_source", "update", None, 2),
        ],
    ),
]
"""The clauses of MERGE, with kind, action, condition and the number of assignments."""

COMMON = ["WITH c AS (SELECT 1)", "WITH c (a, b) AS (SELECT ')'), delete AS (VALUES (1)) -- x\n"]

VALID = [
    *(f"DELETE FROM {text}" for text, _, _ in TARGETS),
    *(f"delete from t where {condition}" for condition in CONDITIONS),
    *(f"DELETE FROM {text} WHERE {CONDITIONS[0]}" for text, _, _ in TARGETS),
    *(f"UPDATE {text} SET a = 1" for text, _, _ in TARGETS),
    *(f"UPDATE t SET {text}" for text, found in ASSIGNMENTS if found),
    *(f"UPDATE t SET {text} WHERE {CONDITIONS[2]};" for text, found in ASSIGNMENTS if found),
    *(f"MERGE INTO {text} USING s ON true WHEN MATCHED THEN DELETE" for text, _, _ in TARGETS),
    *(f"MERGE INTO t USING {text} ON true WHEN MATCHED THEN DELETE" for text, _, _ in SOURCES),
    *(f"MERGE INTO t USING s ON {condition} WHEN MATCHED THEN DELETE" for condition in CONDITIONS),
    *(f"MERGE INTO t USING s ON t.id = s.id {text}" for text, _ in CLAUSES),
    *(f"{common} DELETE FROM t WHERE a IN (SELECT a FROM c)" for common in COMMON),
    *(f"{common} UPDATE t SET a = (SELECT max(a) FROM c)" for common in COMMON),
    *(f"{common} MERGE INTO t USING c ON true WHEN MATCHED THEN DELETE" for common in COMMON),
    "TRUNCATE TABLE t",
    "truncate table `a b`.`table` ;",
    "TRUNCATE TABLE t PARTITION (a = 1, b = '2')",
]
"""Statements that Spark parses, too."""

INVALID = {
    "DELETE": "line 1, column 1: expected DELETE FROM, found 'DELETE'",
    "DELETE t": "line 1, column 1: expected DELETE FROM",
    "DELETE FROM": "line 1, column 12: expected the name of a table, the statement ends",
    "DELETE FROM 't'": "line 1, column 13: expected the name of a table",
    "DELETE FROM t.": "line 1, column 15: expected the rest of the name of a table",
    "DELETE FROM t AS 'x'": "line 1, column 18: expected an alias",
    "DELETE FROM t x y": "line 1, column 17: expected the end of the statement, found 'y'",
    "DELETE FROM t AS x (a)": "line 1, column 20: an alias of a table cannot have a list of columns here",
    "DELETE FROM t WHERE a = 1, b = 2": "line 1, column 26: expected the end of the statement",
    "DELETE FROM t WHERE (a": "line 1, column 23: expected ')'",
    "DELETE FROM t WHERE a)": "line 1, column 22: expected the end of the statement",
    "DELETE FROM t WHERE 'a": "line 1, column 21: the string that begins here is not terminated",
    "DELETE FROM t; DELETE FROM t": "line 1, column 14: expected one statement",
    "UPDATE": "line 1, column 7: expected the name of a table",
    "UPDATE t": "line 1, column 9: expected SET",
    "UPDATE t SET": "line 1, column 13: expected the name of a column",
    "UPDATE t SET a": "line 1, column 15: expected =",
    "UPDATE t SET a =": "line 1, column 17: expected a value",
    "UPDATE t SET a = , b = 1": "line 1, column 18: expected a value",
    "UPDATE t SET a = 1,": "line 1, column 20: expected the name of a column",
    "UPDATE t SET (a) = 1": "line 1, column 14: expected the name of a column",
    "UPDATE t SET *": "line 1, column 14: expected the name of a column",
    "UPDATE t SET a = 1 WHERE": "line 1, column 25: expected a condition",
    "UPDATE t WHERE a SET a = 1": "line 1, column 16: expected SET",
    "UPDATE t AS x(a) SET a = 1": "line 1, column 14: an alias of a table",
    "MERGE t USING s ON true WHEN MATCHED THEN DELETE": "line 1, column 7: expected INTO",
    "MERGE INTO t ON true WHEN MATCHED THEN DELETE": "line 1, column 17: expected USING",
    "MERGE INTO t USING ON true WHEN MATCHED THEN DELETE": "expected",
    "MERGE INTO t USING s": "line 1, column 21: expected ON",
    "MERGE INTO t USING s ON": "line 1, column 24: expected a condition",
    "MERGE INTO t USING s AS s(a) ON true WHEN MATCHED THEN DELETE": "line 1, column 26: an alias of a table",
    "MERGE INTO t USING (SELECT 1 ON true WHEN MATCHED THEN DELETE": "expected ')'",
    "MERGE INTO t USING s ON true WHEN": "line 1, column 34: expected NOT MATCHED",
    "MERGE INTO t USING s ON true WHEN MATCHED": "line 1, column 42: expected THEN",
    "MERGE INTO t USING s ON true WHEN MATCHED THEN": "line 1, column 47: expected UPDATE SET or DELETE",
    "MERGE INTO t USING s ON true WHEN MATCHED THEN INSERT *": "line 1, column 48: expected UPDATE SET or DELETE",
    "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN DELETE": "line 1, column 52: expected INSERT",
    "MERGE INTO t USING s ON true WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *": "line 1, column 73: expected the name",
    "MERGE INTO t USING s ON true WHEN NOT MATCHED BY SOURCE THEN INSERT *": "expected UPDATE SET or DELETE",
    "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT (a) (1)": "line 1, column 63: expected VALUES",
    "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT VALUES (1)": "line 1, column 59: expected (",
    "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT (a) VALUES (1": "expected )",
    "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT () VALUES ()": "line 1, column 60: expected the name",
    "TRUNCATE t": "line 1, column 1: expected TRUNCATE TABLE",
    "TRUNCATE TABLE": "line 1, column 15: expected the name of a table",
    "TRUNCATE TABLE t x": "line 1, column 18: expected the end of the statement",
    "TRUNCATE TABLE t PARTITION": "line 1, column 27: expected (",
    "TRUNCATE TABLE t PARTITION (a = )": "line 1, column 33: expected a constant",
}
"""Statements that Spark does not parse either, with the errors."""

REJECTED = {
    "DELETE FROM ``": "line 1, column 13: expected the name of a table",
    "DELETE FROM t AS": "line 1, column 17: expected an alias",
    "DELETE FROM t\nWHERE": "line 2, column 6: expected a condition",
    "UPDATE t SET a = 1, A = 2": "column `A` is set twice (line 1, column 21)",
    "UPDATE t SET s.x = 1, b = 1, `S`.`x` = 2": "column `S.x` is set twice (line 1, column 30)",
    "MERGE INTO t USING s ON true WHEN MATCHED THEN UPDATE SET a = 1, a = 2": "column `a` is set twice",
    "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT (a, `A`) VALUES (1, 2)": "column `A` is set twice",
    "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)": (
        "INSERT has 2 columns and 1 values (line 1, column 73)"
    ),
    "MERGE INTO t USING s ON true": "expected WHEN",
    "MERGE INTO t USING s ON true\nWHEN MATCHED THEN DELETE\nWHEN MATCHED AND a THEN DELETE": (
        "this clause never applies, because an earlier WHEN MATCHED clause has no condition (line 3, column 1)"
    ),
    "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY TARGET THEN INSERT *": (
        "an earlier WHEN NOT MATCHED clause has no condition (line 1, column 61)"
    ),
    "MERGE INTO t USING s ON true WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE": (
        "an earlier WHEN NOT MATCHED BY SOURCE clause has no condition"
    ),
    "MERGE WITH SCHEMA EVOLUTION INTO t USING s ON true WHEN MATCHED THEN DELETE": (
        "MERGE WITH SCHEMA EVOLUTION is not supported (line 1, column 7)"
    ),
}
"""Statements that are refused while they are parsed although Spark parses most of them, with the errors."""

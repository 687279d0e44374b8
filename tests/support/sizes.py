"""The environment variables that set how much is tested, with their values in `make test`.

Variables that are `all` or nothing have the value 0 by default, and `ALL` for `all`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

ALL = 1 << 62


@dataclass(frozen=True)
class Size:
    """An environment variable: its default, and what it sets."""

    default: int
    sets: str


SIZES = {
    "FRAZIL_EXAMPLES": Size(8, "random filters of each golden table; if set, they differ from run to run"),
    "FRAZIL_FAULTS": Size(0, "`all`: fail every request and statement, not a sample of them"),
    "FRAZIL_HISTORIES": Size(500, "random histories of each merge engine, in Rust"),
    "FRAZIL_HISTORY_SEED": Size(0, "the first seed of the histories of Iceberg tables"),
    "FRAZIL_ICEBERG_HISTORIES": Size(60, "random histories of Iceberg tables against the model"),
    "FRAZIL_KILLS": Size(6, "writers that are killed at a random moment"),
    "FRAZIL_PAIMON_ALTERATIONS": Size(60, "random changes of the schema of a Paimon table that Java makes, too"),
    "FRAZIL_PAIMON_EXPIRIES": Size(1, "random histories of Paimon tables whose snapshots expire"),
    "FRAZIL_PAIMON_HISTORIES": Size(10, "random histories of Paimon tables by Java, or in turns with Java"),
    "FRAZIL_PAIMON_MODELS": Size(100, "random histories of Paimon tables against the model"),
    "FRAZIL_RACES": Size(0, "`all`: every pair of an operation and a concurrent change, not a sample of them"),
    "FRAZIL_SAMPLES": Size(0, "`all`: every case of tests marked `sampled`"),
    "FRAZIL_SEED": Size(0, "chooses samples and the input of fuzz targets; the number of the day by default"),
    "FRAZIL_SQL_COMMITS": Size(10, "concurrent statements of Spark SQL that change one table"),
    "FRAZIL_SQL_INSERTS": Size(0, "`all`: inserts in both lanes of Spark"),
    "FRAZIL_SQL_MERGES": Size(30, "random MERGE statements of Spark SQL against the model"),
    "FRAZIL_SQL_QUERIES": Size(40, "random queries of Spark SQL compared with queries without pruning"),
    "FRAZIL_SQL_SEED": Size(11, "the seed of these queries"),
    "FRAZIL_SQL_STATEMENTS": Size(2000, "random statements for the parser of Spark SQL"),
    "FRAZIL_WRITERS": Size(4, "concurrent writers of a table"),
}


def size(name: str) -> int:
    """Return the value of a variable of `SIZES`."""
    text = os.environ.get(name)
    if text is None:
        return SIZES[name].default
    return ALL if text == "all" else int(text)

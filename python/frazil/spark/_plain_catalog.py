# ruff: noqa: N802, N803 - the names of Spark
"""`spark.catalog` for the catalogs of a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.errors import FrazilError
from frazil.sql._reader import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.catalog import Column, Database, Table

    from frazil.sql import Lake

__all__ = ["with_lake"]


def with_lake(catalog: Any, lake: Lake[DataFrame]) -> Any:
    """Replace methods of a catalog object of Spark by those that also know a lake, and return it."""
    found = _Catalog(catalog, lake)
    for name in (name for name in vars(_Catalog) if not name.startswith("_")):
        vars(catalog)[name] = getattr(found, name)
    return catalog


class _Catalog:
    """The methods that are replaced."""

    def __init__(self, catalog: Any, lake: Lake[DataFrame]) -> None:
        """Keep the methods of Spark."""
        self._lake = lake
        self._own = {name: getattr(catalog, name) for name in vars(_Catalog) if not name.startswith("_")}

    def currentCatalog(self) -> str:
        return str(self._lake.sql("SELECT current_catalog()").collect()[0][0])

    def currentDatabase(self) -> str:
        return str(self._lake.sql("SELECT current_database()").collect()[0][0])

    def setCurrentCatalog(self, catalogName: str) -> None:
        self._lake.sql(f"SET CATALOG `{catalogName.replace('`', '``')}`")

    def setCurrentDatabase(self, dbName: str) -> None:
        self._lake.sql(f"USE {dbName}")

    def tableExists(self, tableName: str, dbName: str | None = None) -> bool:
        name = _name(tableName, dbName)
        return self._lake.has_table(name) if self._lake.has_name(name) else self._own["tableExists"](tableName, dbName)

    def databaseExists(self, dbName: str) -> bool:
        if not self._lake.has_namespace_name(dbName):
            return bool(self._own["databaseExists"](dbName))
        try:
            self._lake.sql(f"DESCRIBE NAMESPACE {dbName}")
        except FrazilError:
            return False
        return True

    def listTables(self, dbName: str | None = None, pattern: str | None = None) -> list[Table]:
        from pyspark.sql.catalog import Table

        if not self._lake.has_namespace_name(dbName):
            return list(self._own["listTables"](dbName, pattern))
        rows = self._lake.sql(_listing("SHOW TABLES" + (f" IN {dbName}" if dbName else ""), pattern)).collect()
        of_lake = dbName is not None and self._lake.has_catalog(dbName)
        catalog = dbName.partition(".")[0] if dbName and of_lake else self.currentCatalog()
        return [
            Table(name, catalog, namespace.split("."), None, "MANAGED", isTemporary=False)
            for namespace, name, _ in rows
        ]

    def listDatabases(self, pattern: str | None = None) -> list[Database]:
        from pyspark.sql.catalog import Database

        if not self._lake.has_namespace_name(None):
            return list(self._own["listDatabases"](pattern))
        rows = self._lake.sql(_listing("SHOW NAMESPACES", pattern)).collect()
        return [Database(row[0], self.currentCatalog(), None, "") for row in rows]

    def listColumns(self, tableName: str, dbName: str | None = None) -> list[Column]:
        from pyspark.sql.catalog import Column

        name = _name(tableName, dbName)
        if not self._lake.has_name(name):
            return list(self._own["listColumns"](tableName, dbName))
        no = {"isPartition": False, "isBucket": False, "isCluster": False}
        schema = self._lake.sql(f"SELECT * FROM {name}").schema  # noqa: S608 - a name
        return [Column(one.name, None, one.dataType.simpleString(), one.nullable, **no) for one in schema]

    def refreshTable(self, tableName: str) -> None:
        self._lake.sql(f"REFRESH TABLE {tableName}")


def _name(table: str, database: str | None) -> str:
    return table if database is None else f"{database}.{table}"


def _listing(statement: str, pattern: str | None) -> str:
    return statement if pattern is None else f"{statement} LIKE {literal(pattern)}"

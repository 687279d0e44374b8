"""Format tables and object tables in Paimon (Java), in the process that runs the Java virtual machine.

Java's catalogs that store schemas in files open such tables, but do not create them. The tests therefore write the
schema file without a catalog.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

from histories.paimon.java_steps import DATABASE, java_map, java_options
from histories.paimon.java_values import java, row_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Plain:
    """The format tables and object tables of a warehouse."""

    def __init__(self, warehouse: str) -> None:
        """Open the warehouse."""
        options = java_options({})
        options.set("warehouse", warehouse)
        options.set("cache-enabled", "false")
        self._catalog = java("paimon.catalog.CatalogFactory").createCatalog(
            java("paimon.catalog.CatalogContext").create(options)
        )
        self._catalog.createDatabase(DATABASE, True)
        self._warehouse = warehouse
        self._spill = java("paimon.disk.IOManager").create(tempfile.gettempdir())

    def run(self, step: str, *arguments: Any) -> Any:
        """Perform one of the steps `create`, `create_in_catalog`, `copy`, `read` and `columns`."""
        steps: dict[str, Callable[..., Any]] = {
            "create": self._create,
            "create_in_catalog": self._create_in_catalog,
            "copy": self._copy,
            "read": self._read,
            "columns": self._columns,
        }
        return steps[step](*arguments)

    def close(self) -> None:
        """Close the catalog."""
        self._catalog.close()

    def _create(self, name: str, definition: str) -> None:
        """Write the schema file of a table with the columns, keys, options and comment of another schema file."""
        place = java("paimon.fs.Path")(f"{self._warehouse}/{DATABASE}.db/{name}")
        manager = java("paimon.schema.SchemaManager")(java("paimon.fs.local.LocalFileIO").create(), place)
        manager.createTable(_schema(definition))

    def _create_in_catalog(self, name: str, definition: str) -> None:
        self._catalog.createTable(_identifier(name), _schema(definition), False)

    def _copy(self, source: str, target: str, overwritten: Mapping[str, str] | None) -> None:
        """Write the rows of a table into another one; replace a partition, or those written if it is empty."""
        table = self._table(target)
        builder = table.newBatchWriteBuilder()
        if overwritten is not None:
            builder = builder.withOverwrite(java_map(overwritten.items()))
        write = builder.newWrite().withIOManager(self._spill)
        for row in self._rows(self._table(source)):
            write.write(row)
        builder.newCommit().commit(write.prepareCommit())
        write.close()

    def _read(self, name: str) -> list[dict[str, Any]]:
        table = self._table(name)
        plain = row_reader(table.rowType())
        return [plain(row) for row in self._rows(table)]

    def _columns(self, name: str) -> list[tuple[str, str]]:
        return [(str(field.name()), str(field.type())) for field in self._table(name).rowType().getFields()]

    def _rows(self, table: Any) -> Iterator[Any]:
        builder = table.newReadBuilder()
        source = builder.newRead().createReader(builder.newScan().plan())
        rows = java("paimon.reader.RecordReaderIterator")(source)
        try:
            while rows.hasNext():
                yield rows.next()
        finally:
            rows.close()

    def _table(self, name: str) -> Any:
        return self._catalog.getTable(_identifier(name))


def _identifier(name: str) -> Any:
    return java("paimon.catalog.Identifier")(DATABASE, name)


def _schema(definition: str) -> Any:
    """Return the definition of a new table, for which Java numbers the columns."""
    given = java("paimon.schema.TableSchema").fromJson(definition)
    made = java("paimon.schema.Schema").newBuilder()
    for field in given.fields():
        made.column(field.name(), field.type(), field.description())
    made.partitionKeys(given.partitionKeys()).options(given.options())
    return (made.comment(given.comment()) if given.comment() is not None else made).build()

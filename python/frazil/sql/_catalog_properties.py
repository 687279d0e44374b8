"""Conversion of CREATE CATALOG properties from Flink's names to the names that frazil's catalogs accept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CURRENT_CATALOG = "current catalog name"
"""The name of the result column of SHOW CURRENT CATALOG, as in Flink."""

_ICEBERG_CLASSES = {
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.jdbc.JdbcCatalog": "sql",
    "org.apache.iceberg.nessie.NessieCatalog": "nessie",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
}
_OWN_NAMES = {"default-database": "default-namespace"}
_WITHOUT_EFFECT = ("cache-enabled", "cache.", "property-version", "lock-")
"""Options that tune the Java connectors and do not affect rows."""


def catalog_properties(given: Mapping[str, str]) -> dict[str, str]:
    """Return properties with frazil's names; `type` = `iceberg` is replaced by the type of the Iceberg catalog.

    >>> catalog_properties({"type": "iceberg", "catalog-type": "hadoop", "warehouse": "/w", "default-database": "d"})
    {'type': 'hadoop', 'warehouse': '/w', 'default-namespace': 'd'}
    >>> catalog_properties({"type": "paimon", "warehouse": "/w"})
    {'type': 'paimon', 'warehouse': '/w', 'metastore': 'filesystem'}
    """
    found = {_OWN_NAMES.get(name, name): value for name, value in given.items() if not name.startswith(_WITHOUT_EFFECT)}
    kind = found.get("type", "").lower()
    if kind == "paimon":
        return {**found, "metastore": found.get("metastore", "filesystem")}
    if kind != "iceberg":
        return found
    # Hive is the default of the Java connector.
    catalog_type = found.pop("catalog-type", "hive")
    implementation = found.pop("catalog-impl", None)
    if implementation is not None:
        catalog_type = _ICEBERG_CLASSES.get(implementation, implementation)
    return found | {"type": catalog_type}

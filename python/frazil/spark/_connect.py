"""Spark SQL over frazil catalogs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError
from frazil.spark._connected import remember
from frazil.spark._engine import SparkEngine
from frazil.spark._worker_python import check_session
from frazil.sql import Lake

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from frazil.catalog import Catalog

_PREFIX = "spark.sql.catalog."
_SESSION_CATALOG = "spark_catalog"
_ICEBERG = "org.apache.iceberg.spark.SparkCatalog"
_PAIMON = "org.apache.paimon.spark.SparkCatalog"
_OF_SESSION = ("org.apache.iceberg.spark.SparkSessionCatalog", "org.apache.paimon.spark.SparkGenericCatalog")
_TYPES_OF_CLASSES = {
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
    "org.apache.iceberg.jdbc.JdbcCatalog": "sql",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.nessie.NessieCatalog": "nessie",
}
# Options that tune the Java connectors and do not affect rows.
_WITHOUT_EFFECT = ("cache-enabled", "cache.", "io-impl", "metrics-reporter-impl", "file-index.", "lock.", "lock-")

_LOGGER = logging.getLogger(__name__)


def connect(
    spark: SparkSession,
    catalogs: Mapping[str, Catalog[Any] | Mapping[str, Any]] | None = None,
    *,
    plain: bool = False,
) -> Lake[DataFrame]:
    """Return a lake: Spark SQL in this session, with tables from frazil catalogs.

    Args:
        spark: The session, Classic or Connect.
        catalogs: Catalogs by SQL name: results of `frazil.load_catalog`, or the properties that it accepts. The
            properties may include `table-default.*` and `table-override.*` for new tables, and `default-namespace` for
            USE. Catalogs configured as `spark.sql.catalog.<name>.*` with the `SparkCatalog` classes of the Java
            connectors are added. Those given here take precedence.
        plain: Whether `spark.sql` of this session object runs its statements in the lake, until `lake.disconnect()`.
            `lake.sql` is called, so that statements that reference no table of the lake run in Spark unchanged.
            `spark.table`, `spark.read.table`, `spark.catalog` and `DataFrame.writeTo` find the tables, too. Other
            sessions, such as those of `spark.newSession()`, do not know the catalogs. Of several such lakes, the last
            one runs the statements.

    If `spark.sql.catalog.spark_catalog` is set to a class of the Java connectors, the setting is removed from the
    session and a warning is logged. Without the jars of the connectors, every query would fail.

    Raises:
        InvalidArgumentError: `spark` is not a session, the Python of its workers lacks frazil, or a catalog is neither
            a catalog object nor a mapping of properties.

    >>> lake = connect(spark, {"local": {"type": "hadoop", "warehouse": "/lake"}})  # doctest: +SKIP
    >>> lake.sql("SELECT count(*) FROM local.db.events").show()  # doctest: +SKIP
    """
    check_session(spark)
    found, foreign = configured(spark)
    if catalogs is not None and not hasattr(catalogs, "items"):
        message = f"catalogs must be a mapping of names to catalogs, not {type(catalogs).__name__}"
        raise InvalidArgumentError(message)
    found |= dict(catalogs or {})
    reserved = next((name for name in found if name == _SESSION_CATALOG or not isinstance(name, str) or not name), None)
    if reserved is not None:
        message = f"the catalog name {reserved!r} is reserved"
        raise InvalidArgumentError(message, hint="use another catalog name")
    engine = SparkEngine(spark)
    lake = Lake(found, engine, foreign - found.keys())
    remember(spark, lake)
    if plain:
        engine.replace_sql(lake)
    return lake


def configured(spark: SparkSession) -> tuple[dict[str, Any], set[str]]:
    """Return the catalogs configured in a session, and the names of its other catalogs."""
    settings = {
        name.removeprefix(_PREFIX): value for name, value in spark.conf.getAll.items() if name.startswith(_PREFIX)
    }
    found: dict[str, Any] = {}
    foreign: set[str] = set()
    for name, class_name in settings.items():
        if "." in name:
            continue
        if name == _SESSION_CATALOG:
            if class_name in _OF_SESSION:
                spark.conf.unset(_PREFIX + name)
                _LOGGER.warning(
                    ("unset %s%s: %s needs jars; tables of other catalogs still work"), _PREFIX, name, class_name
                )
            continue
        own = {key.removeprefix(f"{name}."): value for key, value in settings.items() if key.startswith(f"{name}.")}
        if class_name == _ICEBERG:
            found[name] = _iceberg_properties(own)
        elif class_name == _PAIMON:
            found[name] = {"metastore": "filesystem", **_effective(own), "type": "paimon"}
        else:
            foreign.add(name)
    return found, foreign


def _iceberg_properties(own: dict[str, str]) -> dict[str, str]:
    properties = _effective(own)
    implementation = properties.pop("catalog-impl", None)
    if implementation is not None:
        return {**properties, "type": _TYPES_OF_CLASSES.get(implementation, implementation)}
    return {"type": "hive", **properties}  # the default of the Java connector


def _effective(own: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in own.items() if not name.startswith(_WITHOUT_EFFECT)}

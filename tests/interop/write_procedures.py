"""Write the declarations of Java's procedures to `tests/golden/procedures.json`: `write_procedures.py PAIMON`.

Iceberg's declarations are read from its jar by reflection, in the Java of PySpark. `PAIMON` is a checkout of Paimon's
sources, because `make interop` installs no jar with its procedures for Spark.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.java import PACKAGE
from support.spark_settings import SETTINGS

TARGET = Path(__file__).resolve().parents[1] / "golden" / "procedures.json"
PAIMON_SPARK = "paimon-spark/paimon-spark-common/src/main/java/org/apache/paimon/spark"
PAIMON_TYPES = {
    "BooleanType": "boolean",
    "IntegerType": "int",
    "LongType": "bigint",
    "StringType": "string",
    "createMapType(StringType, StringType)": "map<string,string>",
}


def main(paimon: Path) -> None:
    """Write the declarations of both formats."""
    found = {"iceberg": iceberg(), "paimon": from_source(paimon / PAIMON_SPARK)}
    lines = [
        f'"{format_name}": {{\n'
        + ",\n".join(f'"{name}": {json.dumps(procedures[name])}' for name in sorted(procedures))
        + "\n}"
        for format_name, procedures in found.items()
    ]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def iceberg() -> dict[str, Any]:
    """Return the parameters and columns of each procedure in Iceberg's jar."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]").config(map={**SETTINGS, "spark.jars.packages": PACKAGE}).getOrCreate()
    )
    java = spark.sparkContext._jvm.java.lang
    loader = java.Thread.currentThread().getContextClassLoader()

    def constant(owner: str, name: str) -> Any:
        field = java.Class.forName(owner, True, loader).getDeclaredField(name)  # noqa: FBT003 - whether it is initialized
        field.setAccessible(True)
        return field.get(None)

    found = {}
    for entry in constant("org.apache.iceberg.spark.procedures.SparkProcedures", "BUILDERS").entrySet().toArray():
        owner = entry.getValue().get().getClass().getName().partition("$")[0]
        parameters = [
            # Optional parameters have a default, which is NULL.
            [one.name(), one.dataType().simpleString(), one.defaultValue() is None]
            for one in constant(owner, "PARAMETERS")
        ]
        fields = constant(owner, "OUTPUT_TYPE").fields()
        columns = [[one.name(), one.dataType().simpleString(), one.nullable()] for one in fields]
        found[entry.getKey()] = {"parameters": parameters, "columns": columns}
    spark.stop()
    return found


def from_source(folder: Path) -> dict[str, Any]:
    """Return the parameters and columns of each procedure in the sources of Paimon."""
    names = (folder / "SparkProcedures.java").read_text(encoding="utf-8")
    found = {}
    for name, owner in re.findall(r'put\(\s*"(\w+)",\s*(\w+)::builder\)', names):
        source = (folder / "procedure" / f"{owner}.java").read_text(encoding="utf-8")
        base = re.search(rf"class {owner} extends (\w+)", source)
        assert base
        if "PARAMETERS =" not in source:
            source += (folder / "procedure" / f"{base[1]}.java").read_text(encoding="utf-8")
        parameter = r'ProcedureParameter\s*\.(required|optional)\(\s*"(\w+)",\s*((?:DataTypes\.)?[\w()., ]+?)\)\s*[,}]'
        parameters = [[one, paimon_type(kind), need == "required"] for need, one, kind in re.findall(parameter, source)]
        fields = re.findall(r'new StructField\(\s*"(\w+)",\s*([\w.]+),\s*(true|false)', source)
        columns = [[one, paimon_type(kind), nullable == "true"] for one, kind, nullable in fields]
        assert len(parameters) == len(re.findall(r"ProcedureParameter\s*\.(?:required|optional)\(", source))
        assert len(columns) == source.count("new StructField(")
        found[name] = {"parameters": parameters, "columns": columns}
    return found


def paimon_type(declared: str) -> str:
    """Return the SQL name of a type in a Java source."""
    return PAIMON_TYPES[declared.replace("DataTypes.", "")]


if __name__ == "__main__":
    main(Path(sys.argv[1]))

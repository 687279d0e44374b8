"""Tests in which Java and frazil read each other's format tables and object tables.

Java copies the rows that it writes from a table of frazil, so that both write the same values.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from support.canonical import canonical_rows
from support.paimon_values import NANOS, NESTED, TYPES, values_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from histories.paimon.oracle import Oracle

    Columns = list[tuple[str, str]]

FORMATS = ["csv", "json", "text", "parquet", "orc"]
"""Java does not open format tables of format Avro."""
TEXT = {"csv", "json", "text"}
UUID = re.compile(r"data-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-")


class Lake:
    """A warehouse that Java and frazil share."""

    def __init__(self, oracle: Oracle, warehouse: Path) -> None:
        self.oracle, self.folder = oracle, warehouse / "db.db"
        self.catalog: Any = frazil.load_catalog("lake", type="paimon", warehouse=str(warehouse))
        self.catalog.create_namespace_if_not_exists("db")
        for _, name in self.catalog.list_tables("db"):
            self.catalog.purge_table(f"db.{name}")

    def create(self, name: str, columns: Columns, keys: Sequence[str] = ("p",), **options: str) -> Any:
        return self.catalog.create_table(f"db.{name}", columns, partition_keys=keys, options=options)

    def format_table(self, name: str, columns: Columns, keys: Sequence[str] = ("p",), **options: str) -> Any:
        return self.create(name, columns, keys, type="format-table", **options)

    def schema(self, name: str) -> str:
        return (self.folder / name / "schema" / "schema-0").read_text()

    def java(self, *steps: Sequence[Any]) -> Any:
        """Perform steps in Java, and return the result of the last one."""
        results = self.oracle.plain(*steps)
        assert not [result for result in results if isinstance(result, str)], results
        return results[-1]

    def copy(self, like: str, name: str = "java") -> None:
        """Let Java create a table with the definition of another one, and fill it with the rows of `source`."""
        self.java(("create", name, self.schema(like)), ("copy", "source", name, None))

    def read(self, name: str) -> list[dict[str, Any]]:
        """Return the rows that Java and frazil read, which must be equal."""
        theirs: list[dict[str, Any]] = sorted(self.java(("read", name)), key=repr)
        assert rows_of(self.catalog.load_table(f"db.{name}")) == theirs
        return theirs

    def files(self, name: str) -> dict[str, bytes]:
        """Return the data files with `data-*-` instead of the UUID, and the sorted lines of text files."""
        root = self.folder / name
        return {
            UUID.sub("data-*-", str(path.relative_to(root))): b"".join(
                sorted(path.read_bytes().splitlines(keepends=True))
            )
            for path in root.rglob("data-*")
        }

    def folders(self, name: str) -> set[str]:
        """Return the folders with data files."""
        return {file.rpartition("/")[0] for file in self.files(name)}


@pytest.fixture
def lake(oracle: Oracle) -> Lake:
    return Lake(oracle, oracle.table.parent.parent)


def rows_of(table: Any) -> list[dict[str, Any]]:
    return sorted(canonical_rows(table.scan().to_arrow()), key=repr)


def types_of(file_format: str) -> dict[str, tuple[str, list[Any]]]:
    if file_format == "text":
        return {"text": ("STRING", ["a,b", "ü\\\"'"])}
    if file_format not in TEXT:
        return values_for(file_format)
    nested = {**NESTED, **NANOS} if file_format == "json" else {"nano": NANOS["nano"], "tenth": NANOS["tenth"]}
    return TYPES | {name: one for name, one in nested.items() if name != "counts"}


@pytest.mark.parametrize("file_format", FORMATS)
def test_every_type_is_read_and_written_as_in_java(lake: Lake, file_format: str) -> None:
    found = types_of(file_format)
    columns = [*((name, text) for name, (text, _) in found.items()), ("p", "STRING")]
    rows = [{name: values[i] for name, (_, values) in found.items()} | {"p": str(i)} for i in range(2)]
    if file_format != "text":
        filled = {name: values[0] for name, (text, values) in found.items() if text.endswith("INT NOT NULL")}
        rows.append(filled | {"p": "nulls"})
    if file_format == "csv":
        # Java reads empty strings as NULL.
        rows[0] |= {"label": "x", "bytes": b"x"}
    source = lake.create("source", columns, **{"file.format": "orc" if file_format == "orc" else "parquet"})
    source.append(rows)
    lake.format_table("mine", columns, **{"file.format": file_format}).append(rows)
    lake.copy("mine")
    assert lake.read("mine") == lake.read("java") == rows_of(source)
    mine, java = lake.files("mine"), lake.files("java")
    assert mine.keys() == java.keys()
    if file_format in TEXT:
        assert mine == java


STRINGS = [
    "plain",
    'q "q"',
    "a,b",
    "a\\b",
    "\\",
    '"',
    ",",
    "ü😀",
    " x ",
    " ",
    "NULL",
    "#",
    "'",
    '\\"',
    "\t",
    "x\\",
    "|",
]


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("mark", ["\\", "^"])
def test_hostile_strings(lake: Lake, file_format: str, mark: str) -> None:
    columns = [("s", "STRING"), *([] if file_format == "text" else [("t", "STRING")]), ("p", "STRING")]
    strings = STRINGS if file_format in {"csv", "text"} else [*STRINGS, "line\nbreak", "\r", "\x00\x1f\x7f\u2028", ""]
    rows = [{name: text for name, _ in columns} | {"p": "1"} for text in strings]
    lake.create("source", columns).append(rows)
    options = {"file.format": file_format, "csv.escape-character": mark}
    lake.format_table("mine", columns, **options).append(rows)
    assert lake.read("mine") == sorted(rows, key=repr)
    lake.copy("mine")
    found = lake.read("java")
    if file_format == "csv" and mark == "\\":
        # Java does not escape the escape character, and then drops it.
        assert "ab" in {row["s"] for row in found}
    else:
        assert found == sorted(rows, key=repr)


@pytest.mark.parametrize(
    "options",
    [
        {"csv.field-delimiter": "|", "csv.quote-character": "'", "csv.include-header": "true"},
        {"field-delimiter": ";", "nullvalue": "NULL", "csv.line-delimiter": "\r\n"},
        {"csv.line-delimiter": "%%"},
    ],
)
def test_options_of_csv(lake: Lake, options: dict[str, str]) -> None:
    columns = [("s", "STRING"), ("i", "INT"), ("p", "STRING")]
    texts = ["x", "a|b", "it's", "a;b", 'a "b"', "", None]
    rows = [{"s": text, "i": number if number % 2 else None, "p": "1"} for number, text in enumerate(texts)]
    lake.create("source", columns).append(rows)
    lake.format_table("mine", columns, **{"file.format": "csv"} | options).append(rows)
    lake.copy("mine")
    assert lake.read("mine") == lake.read("java")
    assert lake.files("mine") == lake.files("java")


VALUES = ["a/b", None, "%", "=", "x=y/z", "ü😀", "..", "a b", "%2F", "_x", ".x", "", " ", "{}[]^#?*:'\"\\"]
OF_PARTITIONS = [
    "INT",
    "DATE",
    "BOOLEAN",
    "BIGINT",
    "SMALLINT",
    "TINYINT",
    "TIME(3)",
    "DECIMAL(9, 2)",
    "FLOAT",
    "DOUBLE",
]


@pytest.mark.parametrize("file_format", FORMATS)
def test_hostile_partition_values(lake: Lake, file_format: str) -> None:
    columns = [("p", "STRING"), ("s", "STRING"), ("q", "INT")]
    rows = [{"p": value, "q": None if n % 3 else n, "s": str(n)} for n, value in enumerate(VALUES)]
    lake.create("source", columns, ["p", "q"]).append(rows)
    lake.format_table("mine", columns, ["p", "q"], **{"file.format": file_format}).append(rows)
    lake.copy("mine")
    assert len(lake.read("mine")) == len(rows)
    assert lake.read("mine") == lake.read("java")
    assert lake.folders("mine") == lake.folders("java")


@pytest.mark.parametrize("file_format", ["csv", "json", "text"])
def test_folders_with_values_only(lake: Lake, file_format: str) -> None:
    """Java reads the schema folder as a partition, ignores the NULL partition and does not unescape values."""
    columns = [("s", "STRING"), ("p", "STRING")]
    options = {"file.format": file_format, "format-table.partition-path-only-value": "true"}
    options["json.ignore-parse-errors"] = "true"
    rows = [{"s": str(n), "p": value} for n, value in enumerate(["a/b", None, "%", "=", "x y"])]
    lake.create("source", columns).append(rows)
    lake.format_table("mine", columns, **options).append(rows)
    lake.copy("mine")
    assert lake.files("mine").keys() == lake.files("java").keys()
    escaped = {"a/b": "a%2Fb", "%": "%25", "=": "%3D", "x y": "x y"}
    for name in ("mine", "java"):
        found = {row["p"] for row in lake.java(("read", name)) if row is not None} - {"schema"}
        assert found == set(escaped.values())
        assert rows_of(lake.catalog.load_table(f"db.{name}")) == sorted(rows, key=repr)


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_types_of_partition_columns(lake: Lake, legacy: str) -> None:
    """Java does not read its own folders of timestamps if `partition.legacy-name` is true, which is the default."""
    values = dict(TYPES.values()) | {"INT": [-1, 0]}
    stamps = ["TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6) WITH LOCAL TIME ZONE"] if legacy == "false" else []
    keys = {f"k{n}": text for n, text in enumerate([*OF_PARTITIONS, *stamps])}
    rows = [{name: values[text][i] for name, text in keys.items()} | {"id": i} for i in range(2)]
    rows.append(dict.fromkeys(keys) | {"id": 2})
    options = {"partition.legacy-name": legacy}
    columns = [("id", "INT"), *keys.items()]
    lake.create("source", columns, list(keys), **options).append(rows)
    lake.format_table("mine", columns, list(keys), **options).append(rows)
    lake.copy("mine")
    assert lake.files("mine").keys() == lake.files("java").keys()
    assert lake.read("mine") == lake.read("java") == rows_of(lake.catalog.load_table("db.source"))


@pytest.mark.parametrize("file_format", FORMATS)
def test_both_overwrite_partitions(lake: Lake, file_format: str) -> None:
    columns = [("s", "STRING"), ("p", "STRING")]
    table = lake.format_table("t", columns, **{"file.format": file_format})
    table.append([{"s": "old", "p": "1"}, {"s": "old", "p": "2"}, {"s": "old", "p": None}])
    lake.create("source", columns).append([{"s": "java", "p": "1"}])
    lake.java(("copy", "source", "t", {}))
    assert [(row["s"], row["p"]) for row in lake.read("t")] == [("java", "1"), ("old", "2"), ("old", None)]
    table.overwrite([{"s": "new", "p": "1"}], partitions=[{"p": "1"}])
    table.drop_partitions([{"p": None}])
    lake.java(("copy", "source", "t", None))
    assert [(row["s"], row["p"]) for row in lake.read("t")] == [("java", "1"), ("new", "1"), ("old", "2")]
    lake.java(("copy", "source", "t", {"p": "1"}))
    table.append([{"s": "more", "p": "3"}])
    assert [(row["s"], row["p"]) for row in lake.read("t")] == [("java", "1"), ("more", "3"), ("old", "2")]


@pytest.mark.parametrize(
    ("file_format", "codec", "extension"),
    [
        ("csv", "gzip", "csv.gz"),
        ("json", "bzip2", "json.bz2"),
        ("parquet", "zstd", "parquet"),
        ("parquet", "gzip", "parquet"),
        ("orc", "snappy", "orc"),
    ],
)
def test_compression(lake: Lake, file_format: str, codec: str, extension: str) -> None:
    columns = [("s", "STRING"), ("p", "STRING")]
    rows = [{"s": "x" * 100, "p": "1"}]
    lake.create("source", columns).append(rows)
    options = {"file.format": file_format, "format-table.file.compression": codec}
    lake.format_table("mine", columns, **options).append(rows)
    lake.copy("mine")
    assert lake.read("mine") == lake.read("java") == rows
    assert lake.files("mine").keys() == lake.files("java").keys() == {f"p=1/data-*-0.{extension}"}


def test_compressed_text_files_have_a_suffix_that_java_reads(lake: Lake) -> None:
    """Java writes TEXT files without the suffix, and then reads them as uncompressed."""
    columns = [("s", "STRING"), ("p", "STRING")]
    options = {"file.format": "text", "file.compression": "gzip"}
    lake.format_table("mine", columns, **options).append([{"s": "x", "p": "1"}])
    assert lake.read("mine") == [{"s": "x", "p": "1"}]
    lake.create("source", columns).append([{"s": "x", "p": "1"}])
    lake.copy("mine")
    assert lake.files("java").keys() == {"p=1/data-*-0.text"}
    assert lake.java(("read", "java")) != [{"s": "x", "p": "1"}]


def without_time(schema: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(schema)
    del found["timeMillis"]
    return found


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_schema_file_is_that_of_java(lake: Lake, file_format: str) -> None:
    found = {name: text for name, (text, _) in types_of(file_format).items()}
    options = {"type": "format-table", "file.format": file_format, "field-delimiter": ";"}
    columns = [*found.items(), ("p", "DATE"), ("q", "STRING NOT NULL")]
    lake.catalog.create_table("db.mine", columns, partition_keys=["p", "q"], options=options, comment="of ü")
    lake.java(("create", "java", lake.schema("mine")))
    assert without_time(lake.schema("mine")) == without_time(lake.schema("java"))
    assert lake.java(("columns", "mine")) == [
        (field.name, field.type) for field in lake.catalog.load_table("db.mine").schema().fields
    ]


@pytest.mark.parametrize("kind", ["format-table", "object-table"])
def test_catalogs_of_java_that_store_schemas_in_files_do_not_create_plain_tables(lake: Lake, kind: str) -> None:
    lake.create("source", [("s", "STRING"), ("p", "STRING")])
    definition = json.loads(lake.schema("source"))
    definition["options"] = {"type": kind}
    (reason,) = lake.oracle.plain(("create_in_catalog", "t", json.dumps(definition)))
    assert "support" in reason


def test_java_does_not_open_format_tables_of_avro(lake: Lake) -> None:
    columns = [("s", "STRING"), ("p", "STRING")]
    with pytest.raises(errors.UnsupportedError, match="Java cannot open them"):
        lake.format_table("t", columns, **{"file.format": "avro"})
    lake.format_table("t", columns, **{"file.format": "orc"})
    path = lake.folder / "t" / "schema" / "schema-0"
    path.write_text(path.read_text().replace('"orc"', '"avro"'))
    (reason,) = lake.oracle.plain(("read", "t"))
    assert "unsupported file format: avro" in reason


def test_java_reads_the_schema_file_as_data_without_partitions(lake: Lake) -> None:
    """In these catalogs, Java reads the schema file of such a table as data, and deletes it in an overwrite."""
    table = lake.format_table("t", [("s", "STRING")], [], **{"file.format": "text"})
    table.append([{"s": "x"}])
    assert table.scan().count() == 1
    assert len(lake.java(("read", "t"))) > 1
    lake.create("source", [("s", "STRING")], []).append([{"s": "java"}])
    lake.java(("copy", "source", "t", {}))
    assert not (lake.folder / "t" / "schema" / "schema-0").exists()


def test_java_lists_the_files_of_object_tables(lake: Lake) -> None:
    """Java lists the folder of the table and ignores the options, because its catalog sets `path` to this folder."""
    table = lake.catalog.create_table(
        "db.o", [], options={"type": "object-table", "path": str(lake.folder / "o")}, comment="files"
    )
    assert without_time(lake.schema("o"))["fields"] == frazil.paimon.object_table("x").schema().to_json()["fields"]
    (lake.folder / "o" / "a b").mkdir()
    for name in ("a b/ü%20.bin", ".hidden", "_hidden"):
        (lake.folder / "o" / name).write_bytes(b"12345")
    assert lake.java(("columns", "o")) == [(field.name, field.type) for field in table.schema().fields]
    found = lake.read("o")
    assert {row["path"] for row in found} == {"schema/schema-0", "a b/ü%20.bin", ".hidden", "_hidden"}


def test_the_object_tables_of_java_are_opened(lake: Lake) -> None:
    lake.catalog.create_table("db.mine", [], options={"type": "object-table", "object-location": str(lake.folder)})
    definition = json.loads(lake.schema("mine")) | {
        "fields": [],
        "highestFieldId": -1,
        "options": {"type": "object-table"},
    }
    lake.java(("create", "java", json.dumps(definition)))
    assert {row["path"] for row in lake.read("java")} == {"schema/schema-0"}

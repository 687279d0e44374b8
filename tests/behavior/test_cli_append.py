"""Tests of `frazil append`: the values of files without types, and that it reads what `frazil scan` writes."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import frazil
from frazil.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., tuple[int, str, str]]

TEXTS = [
    "",
    "NULL",
    "null",
    "NA",
    "nan",
    "01234",
    "a,b;c\td",
    'quote " and ""',
    "a\nb\r\nc\n",
    " padded ",
    "é漢😀\u2028",
]
TEXTS += ["\ufeffmark", "\x00\x01\x1b", "{}", "[1, 2]", "'", "\\N", "\\", "true", "-", "x" * 10_000]
INTEGERS = [0, -1, 2**31 - 1, -(2**31)]
LONGS = [2**63 - 1, -(2**63), 2**53 + 1]
FLOATS = [0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 0.1, 1e300, 5e-324, 1.7976931348623157e308]
TINY = 1.401298464324817e-45
DAYS = [0, -1, 19782, -719529, -719163, 2932896, 2932897, 2**31 - 1, -(2**31)]
TICKS = [0, -1, 1_709_208_000_123_456, -62_135_596_800_000_001, 253_402_300_800_000_000, 2**63 - 1, -(2**63)]
BYTES = [b"", b"\x00\xff", b"a,b\n"]
MIDDAY_US = 43_200_000_000


def _typed(values: list[Any], kind: pa.DataType, ticks: pa.DataType | None = None) -> pa.Array:
    made = pa.array([*values, None], ticks or kind)
    return made if ticks is None else made.cast(kind)


DECIMALS = [Decimal(f"{sign}{'9' * 28}.{'9' * 10}") for sign in ("", "-")]
DECIMALS += [Decimal("0E-10"), Decimal("1.1"), Decimal("-0.0000000001")]
SCALARS = {
    "boolean": _typed([True, False], pa.bool_()),
    "int": _typed(INTEGERS, pa.int32()),
    "long": _typed([*INTEGERS, *LONGS], pa.int64()),
    "float": _typed([*FLOATS[:7], TINY], pa.float32()),
    "double": _typed(FLOATS, pa.float64()),
    "decimal": _typed(DECIMALS, pa.decimal128(38, 10)),
    "string": _typed(TEXTS, pa.string()),
    "binary": _typed(BYTES, pa.binary()),
    "fixed": _typed([b"\x00\xff,", b"abc"], pa.binary(3)),
    "uuid": _typed([UUID(int=0), UUID(int=2**128 - 1)], pa.uuid()),
    "date": _typed(DAYS, pa.date32(), pa.int32()),
    "time": _typed([0, 1, MIDDAY_US, 86_399_999_999], pa.time64("us"), pa.int64()),
    "timestamp": _typed(TICKS, pa.timestamp("us"), pa.int64()),
    "timestamptz": _typed(TICKS, pa.timestamp("us", "UTC"), pa.int64()),
    "timestamp_ns": _typed(TICKS, pa.timestamp("ns"), pa.int64()),
    "timestamptz_ns": _typed(TICKS, pa.timestamp("ns", "UTC"), pa.int64()),
}
OF_PAIMON = {
    **{name: values for name, values in SCALARS.items() if name != "uuid"},
    "tinyint": _typed([127, -128], pa.int8()),
    "smallint": _typed([32767, -32768], pa.int16()),
    "time": _typed([0, 1, 86_399_999], pa.time32("ms"), pa.int32()),
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process; return its exit code and both outputs."""

    def command(*arguments: object) -> tuple[int, str, str]:
        code = main([str(one) for one in arguments])
        return code, *capsys.readouterr()

    return command


def _nested(scalars: dict[str, pa.Array]) -> pa.Table:
    """Return a column of each type, and of lists, maps and structs of it."""
    found: dict[str, pa.Array] = {}
    for name, values in scalars.items():
        count, known = len(values), values.drop_null()
        ends = pa.array([0, 0, None, count], pa.int32())
        keys = pa.array(range(len(known)), pa.int32())
        second = pa.array([position == 1 for position in range(count)])
        found[name] = values
        found[f"list_{name}"] = pa.ListArray.from_arrays(ends, values)
        found[f"map_{name}"] = pa.MapArray.from_arrays(pa.array([0, 0, None, len(known)], pa.int32()), keys, known)
        found[f"struct_{name}"] = pa.StructArray.from_arrays(
            [values, pa.nulls(count, pa.int32())], ["v", "n"], mask=second
        )
    rows = max(map(len, found.values()))
    return pa.table(
        {name: column.take(pa.array([i % len(column) for i in range(rows)])) for name, column in found.items()}
    )


ROWS = {"iceberg": _nested(SCALARS), "paimon": _nested(OF_PAIMON)}


def _create(folder: Path, kind: str) -> Any:
    options = {"properties": {"format-version": "3"}} if kind == "iceberg" else {"format": "paimon"}
    return frazil.create_table(folder, ROWS[kind].schema, **options)


@pytest.fixture(scope="module", params=["iceberg", "paimon"])
def every(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a table with boundary values of every type."""
    table = _create(tmp_path_factory.mktemp("every") / "t", request.param)
    table.append(ROWS[request.param])
    return table


@pytest.mark.parametrize("form", ["csv", "json", "arrow", "csv.gz", "jsonl", "ndjson"])
def test_what_scan_writes_is_read_back(run: Run, tmp_path: Path, every: Any, form: str) -> None:
    table = every
    output = {"jsonl": "json", "ndjson": "json", "csv.gz": "csv"}.get(form, form)
    command = [sys.executable, "-m", "frazil", "scan", table.location, "-o", output]
    content = subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603
    path = tmp_path / f"rows.{form}"
    path.write_bytes(gzip.compress(content) if form.endswith(".gz") else content)
    target = _create(tmp_path / "t", table.format)
    code, _, err = run("append", target.location, path)
    assert (code, err) == (0, "")
    expected, found = table.scan().to_arrow(), frazil.load_table(target.location).scan().to_arrow()
    for name in expected.schema.names:
        assert _exact(found[name]) == _exact(expected[name]), name


def _exact(column: pa.ChunkedArray) -> str:
    """Return the values of a column as text, in which NaN is equal to itself and zeros have signs."""
    return str(column.combine_chunks().to_string(window=10**6, container_window=10**6))


COLUMNS = {
    "i": "int",
    "l": "long",
    "f": "float",
    "x": "double",
    "dec": "decimal(9, 2)",
    "s": "string",
    "z": "string",
    "d": "date",
    "t": "time",
    "ts": "timestamp",
    "tz": "timestamptz",
    "b": "boolean",
    "bin": "binary",
    "u": "uuid",
    "a": "list<int>",
    "st": "struct<x: int, y: string>",
    "m": "map<string, double>",
}


@pytest.fixture
def table(tmp_path: Path) -> Any:
    return frazil.create_table(tmp_path / "t", COLUMNS)


def _file(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize(
    "case",
    [
        ("i", "007", 7),
        ("l", "-9223372036854775808", -(2**63)),
        ("f", "0.1", 0.10000000149011612),
        ("x", "-Infinity", float("-inf")),
        ("x", "1e3", 1000.0),
        ("dec", "1.1", Decimal("1.10")),
        ("dec", "1.100", Decimal("1.10")),
        ("s", "NA", "NA"),
        ("z", "01234", "01234"),
        ("s", "2024-02-29", "2024-02-29"),
        ("s", " x ", " x "),
        ("d", "2024-02-29", "2024-02-29"),
        ("t", "12:00", "12:00:00"),
        ("t", "12:00:00.000001", "12:00:00.000001"),
        ("ts", "2024-02-29 12:00:00", "2024-02-29 12:00:00"),
        ("ts", "2024-02-29T12:00:00.5", "2024-02-29 12:00:00.500000"),
        ("tz", "2024-02-29T12:00:00+01:00", "2024-02-29 11:00:00+00:00"),
        ("tz", "2024-02-29 12:00:00Z", "2024-02-29 12:00:00+00:00"),
        ("b", "TRUE", True),
        ("b", "false", False),
        ("bin", "AP8=", b"\x00\xff"),
        ("u", "00000000-0000-0000-0000-000000000001", str(UUID(int=1))),
        ("a", "[1, null]", [1, None]),
        ("st", '{"y": "q"}', {"x": None, "y": "q"}),
        ("m", '{"k": 1, "n": "nan"}', [("k", 1.0), ("n", float("nan"))]),
        ("m", '[["k", 1.5]]', [("k", 1.5)]),
    ],
)
@pytest.mark.parametrize("form", ["csv", "tsv", "json"])
def test_values_are_read_in_the_types_of_the_table(
    run: Run, tmp_path: Path, table: Any, case: tuple[str, str, Any], form: str
) -> None:
    column, text, value = case
    quoted = text.replace('"', '""')
    if form == "json":
        raw = text if text[0] in "[{" or column == "b" else json.dumps(text)
        content = f'{{"{column}": {raw.lower() if column == "b" else raw}}}\n'
    else:
        content = f'{column}\n"{quoted}"\n'
    code, _, err = run("append", table.location, _file(tmp_path, f"x.{form}", content))
    assert (code, err) == (0, "")
    found = table.refresh().scan().to_arrow()[column][0].as_py()
    assert repr(found if isinstance(value, type(found)) else str(found)) == repr(value)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('s,z\n,""\n', [(None, "")]),
        ('s,z\n"",\n', [("", None)]),
        ("s,z\n\n,\n\n\nx,y\n\n", [(None, None), ("x", "y")]),
        ("s\nx\n\ny\n", [("x",), (None,), ("y",)]),
        ('s\n""\n', [("",)]),
        ("s,z\r\nx,\r\n\r\n", [("x", None)]),
        ('"s","z"\n"a\n\nb",c\n', [("a\n\nb", "c")]),
        ("\ufeffz,s\n1,2\n", [("2", "1")]),
        ("s,z\nx,y", [("x", "y")]),
        ("s,z\n", []),
        ('s,z\n5" disk,y\n', [('5" disk', "y")]),
    ],
)
def test_null_and_empty_text_of_csv(run: Run, tmp_path: Path, table: Any, content: str, rows: list[Any]) -> None:
    names = ["s", "z"][: len(rows[0])] if rows else ["s", "z"]
    assert run("append", table.location, _file(tmp_path, "x.csv", content))[::2] == (0, "")
    found = table.refresh().scan(selected_fields=tuple(names)).to_arrow().to_pylist()
    assert [tuple(row[name] for name in names) for row in found] == rows


def test_scan_tells_null_from_empty_text(run: Run, table: Any) -> None:
    table.append([{"s": None, "z": ""}, {"s": "", "z": None}])
    assert run("scan", table.location, "-c", "s,z", "-o", "csv")[1] == 's,z\r\n,""\r\n"",\r\n'
    assert run("scan", table.location, "-c", "s", "-o", "csv")[1] == 's\r\n\r\n""\r\n'


WRONG = {
    "i": ["x", "1.0", "2147483648", "", " 1", "1e3"],
    "l": ["9223372036854775808", "1_0"],
    "f": ["1e39", "x"],
    "x": ["1e400", "1,5"],
    "dec": ["1.105", "12345678.9", "nan"],
    "d": ["2023-02-29", "2024-2-29", "29.02.2024", "99999999-01-01"],
    "t": ["24:00:00", "12:00:00.0000001", "noon", ""],
    "ts": ["2024-02-29T12:00:00Z", "2024-02-29T25:00:00", "2024-02-29T12:00:00.0000001", "+999999-01-01T00:00:00"],
    "tz": ["2024-02-29T12:00:00", "2024-02-29"],
    "b": ["yes", "t", "2"],
    "bin": ["A", "é", "AA=A"],
    "u": ["1", "00000000-0000-0000-0000-00000000000g"],
    "a": ['["x"]', "{}", "1,2", "[1", "[1, true]"],
    "st": ['{"x": "q"}', "[]", '{"x": 1, "x": 2}', '{"x": {}}'],
    "m": ['[["k"]]', "[1]", "[[null, 1]]", '{"k": "x"}'],
}


@pytest.mark.parametrize(("column", "text"), [(column, text) for column, texts in WRONG.items() for text in texts])
@pytest.mark.parametrize("form", ["csv", "json"])
def test_wrong_values_are_refused_with_their_place(
    run: Run, tmp_path: Path, table: Any, column: str, text: str, form: str
) -> None:
    quoted = text.replace('"', '""')
    content = f's,{column},z\n"a\nb",,\n\nx,"{quoted}",y\n'
    line = 5
    if form == "json":
        raw = text if text[0:1] in ("[", "{") and text != "[1" else json.dumps(text)
        content, line = f'{{"s": "a"}}\n\n{{"{column}": {raw}}}\n', 3
    path = _file(tmp_path, f"x.{form}", content)
    code, out, err = run("append", table.location, path)
    assert (code, out) == (2, "")
    assert f"{path}, line {line}: " in err
    assert f"`{column}" in err or "occurs twice" in err
    assert table.refresh().current_snapshot() is None
    assert not list(Path(table.location).rglob("*.parquet"))


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        ("csv", "i,s\n1,x\n2\n", "line 3: the row has 1 cells, expected 2"),
        ("csv", 'i,s\n1,"a\nb"\n2,x,y\n', "line 4: the row has 3 cells, expected 2"),
        ("csv", 'i,s\n1,x\n2,"y\n3,z\n', "line 3: a quote is not closed"),
        ("csv", 'i,s\n1,x\n2,"y\n3,z', "line 3: a quote is not closed"),
        ("csv", "i,i\n1,2\n", "the column `i` occurs twice"),
        ("csv", "", "has no header"),
        ("csv", "i,S\n1,x\n", "the table has no column `S`; did you mean `s`?"),
        ("csv", "i,dce\n1,2\n", "no column `dce`; did you mean `dec`?"),
        ("json", '{"i": 1}\n{"i": 2, "dce": 1}\n', "line 2: the table has no column `dce`; did you mean `dec`?"),
        ("json", '{"st": {"X": 1}}\n', "line 1: the struct `st` has no column `X`; did you mean `x`?"),
        ("json", '{"i": 1}\n{"i": 2', "line 2: a JSON object is expected on each line"),
        ("json", '[{"i": 1}]\n', "line 1: a JSON object is expected on each line, not list"),
        ("json", '{"i": 1, "i": 2}\n', "the name 'i' occurs twice"),
        ("json", '{"s": 5}\n', "line 1: the value of `s` does not fit string: '5'"),
        ("json", '{"s": "\\ud800"}\n', "not valid Unicode"),
        ("json", '{"i": true}\n', "line 1: the value of `i` does not fit int32: True"),
        ("json", '{"b": 1}\n', "does not fit bool"),
    ],
)
def test_malformed_files_are_refused(
    run: Run, tmp_path: Path, table: Any, form: str, content: str, message: str
) -> None:
    path = _file(tmp_path, f"x.{form}", content)
    code, _, err = run("append", table.location, path)
    assert code == 2
    assert str(path) in err
    assert message in err
    assert table.refresh().current_snapshot() is None


def test_text_that_is_not_utf8_is_refused(run: Run, tmp_path: Path, table: Any) -> None:
    for form, content in (("csv", b"i,s\n1,x\n2,\xff\n"), ("json", b'{"s": "x"}\n\n{"s": "\xff"}\n')):
        path = tmp_path / f"x.{form}"
        path.write_bytes(content)
        code, _, err = run("append", table.location, path)
        assert (code, f"{path}, line 3: " in err) == (2, True)


def test_required_columns_are_checked(run: Run, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int32(), nullable=False), ("s", pa.string())])
    made = frazil.create_table(tmp_path / "t", schema)
    for form, content in (("csv", "id,s\n1,x\n,y\n"), ("json", '{"id": 1}\n{"s": "y"}\n')):
        code, _, err = run("append", made.location, _file(tmp_path, f"x.{form}", content))
        line = 3 if form == "csv" else 2
        assert (code, f"line {line}: the value of `id` does not fit int32: NULL" in err) == (2, True)


def _bytes_of(form: str) -> bytes:
    rows, sink = pa.table({"i": pa.array([1], pa.int32()), "s": ["x"]}), io.BytesIO()
    if form in ("csv", "tsv"):
        return b"i,s\n1,x\n".replace(b",", b"\t" if form == "tsv" else b",")
    if form in ("json", "jsonl", "ndjson"):
        return b'{"i": 1, "s": "x"}\n'
    if form == "parquet":
        pq.write_table(rows, sink)
    elif form == "orc":
        pyarrow.orc.write_table(rows, sink)
    elif form == "avro":
        fields = [{"name": "i", "type": "int"}, {"name": "s", "type": ["null", "string"]}]
        fastavro.writer(sink, {"type": "record", "name": "r", "fields": fields}, rows.to_pylist())
    else:
        with (pa.ipc.new_file if form == "feather" else pa.ipc.new_stream)(sink, rows.schema) as writer:
            writer.write_table(rows)
    return sink.getvalue()


@pytest.mark.parametrize(
    "form", ["csv", "tsv", "json", "jsonl", "ndjson", "parquet", "orc", "avro", "arrow", "feather"]
)
@pytest.mark.parametrize("source", ["file", "upper", "gzip", "named", "stdin", "stdin-gzip"])
def test_files_of_each_format(
    run: Run, tmp_path: Path, table: Any, monkeypatch: pytest.MonkeyPatch, form: str, source: str
) -> None:
    is_text = form in ("csv", "tsv", "json", "jsonl", "ndjson")
    if "gzip" in source and not is_text:
        pytest.skip("only text is compressed as a whole")
    content = gzip.compress(_bytes_of(form)) if "gzip" in source else _bytes_of(form)
    given = {"ndjson": "json", "feather": "arrow"}.get(form, form)
    if source.startswith("stdin"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        arguments = ["-", "--format", given]
    else:
        path = tmp_path / {"upper": f"x.{form.upper()}", "gzip": f"x.{form}.gz", "named": "x.data"}.get(
            source, f"x.{form}"
        )
        path.write_bytes(content)
        arguments = [str(path), *(("--format", given) if source == "named" else ())]
    code, out, err = run("append", table.location, *arguments)
    assert (code, err, out.startswith("1 rows in 1 files")) == (0, "", True)
    assert table.refresh().scan(selected_fields=("i", "s")).to_arrow().to_pylist() == [{"i": 1, "s": "x"}]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["x.txt"], (2, "pass --format; the known suffixes are .csv, .tsv, .json")),
        (["x.parquet.gz"], (2, "cannot be determined from its name")),
        (["x"], (2, "cannot be determined from its name")),
        (["-"], (2, "the format of standard input is not given; pass --format: csv")),
        (["-", "-", "--format", "csv"], (2, "standard input is given twice")),
        (["no.csv"], (3, "file no.csv does not exist")),
        (["x.parquet", "--delimiter", ";"], (2, "--delimiter applies to CSV files")),
        (["x.csv", "--delimiter", ";;"], (2, "--delimiter must be one ASCII character")),
        (["x.csv", "--delimiter", '"'], (2, "--delimiter must be one ASCII character")),
        (["x.csv", "--format", "xml"], (2, "'xml' is not one of")),
    ],
)
def test_wrong_arguments_of_append(
    run: Run, tmp_path: Path, table: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], answer: tuple[int, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x.csv", "x.parquet"):
        (tmp_path / name).write_bytes(_bytes_of(name[2:]))
    found, out, err = run("append", table.location, *arguments)
    assert (found, answer[1] in err, out) == (answer[0], True, ""), err


@pytest.mark.parametrize("delimiter", [";", "|", r"\t", "\t", " "])
def test_delimiters(run: Run, tmp_path: Path, table: Any, delimiter: str) -> None:
    character = "\t" if delimiter == r"\t" else delimiter
    path = _file(tmp_path, "x.csv", f'i{character}s\n1{character}"a{character}b"\n')
    assert run("append", table.location, path, "--delimiter", delimiter)[0] == 0
    assert table.refresh().scan(selected_fields=("i", "s")).to_arrow().to_pylist() == [{"i": 1, "s": f"a{character}b"}]


def test_large_files_are_read_in_batches(run: Run, tmp_path: Path, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_read_csv", "_read_json"):
        monkeypatch.setattr(f"frazil.cli.{module}._BLOCK_BYTES", 256)
    numbers = range(1000)
    lines = {
        "csv": ["i,s", *(f'{n},"a\n\n{n}"\n' if n % 7 == 0 else f"{n},{n}" for n in numbers)],
        "json": [json.dumps({"i": n} if n < 500 else {"i": n, "s": str(n)}) for n in numbers],
    }
    for form, written in lines.items():
        path = _file(tmp_path, f"x.{form}", "\n".join(written) + "\n")
        code, out, err = run("append", table.location, path)
        assert (code, err, out.startswith("1000 rows")) == (0, "", True)
        assert sorted(table.refresh().scan(selected_fields=("i",)).to_arrow()["i"].to_pylist()) == list(numbers)
        table.refresh().delete("true")
        bad = f"{path.read_text()}x,x\n" if form == "csv" else f'{path.read_text()}{{"i": "x"}}\n'
        line = bad.count("\n")
        code, _, err = run("append", table.location, _file(tmp_path, f"x.{form}", bad))
        assert (code, f"line {line}: the value of `i` does not fit int32: 'x'" in err) == (2, True), err
        table = table.refresh()


def test_rows_longer_than_a_block_are_refused(
    run: Run, tmp_path: Path, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.cli._read_csv._BLOCK_BYTES", 1 << 20)
    code, _, err = run("append", table.location, _file(tmp_path, "x.csv", f"i,s\n1,{'x' * (3 << 20)}\n"))
    assert (code, "x.csv, line 2: a row is longer than 1 MiB" in err) == (2, True)


def test_changes_of_paimon_tables_have_row_kinds(run: Run, tmp_path: Path) -> None:
    made = frazil.create_table(tmp_path / "p", {"id": "INT", "s": "STRING"}, format="paimon", primary_keys=["id"])
    assert run("append", made.location, _file(tmp_path, "x.csv", "id,s\n1,a\n2,b\n"))[0] == 0
    assert run("append", made.location, _file(tmp_path, "y.csv", "_ROW_KIND,id,s\n-D,1,a\n+I,3,\n"))[0] == 0
    assert run("append", made.location, _file(tmp_path, "z.json", '{"_ROW_KIND": "-D", "id": 2, "s": "b"}\n'))[0] == 0
    assert made.scan().to_arrow().to_pylist() == [{"id": 3, "s": None}]

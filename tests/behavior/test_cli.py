"""Tests of the command `frazil`: its output, its changes, and its exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
from frazil.cli import main
from frazil.cli._app import COMMANDS

GOLDEN = Path(__file__).parents[1] / "golden"
PAIMON = str(GOLDEN / "paimon" / "g.db" / "cl_lookup_avro")
DAY_S = 86_400

Run = "Callable[..., tuple[int, str, str]]"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process; return its exit code and both outputs."""

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main([str(one) for one in arguments])
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def table(tmp_path: Path) -> Any:
    made = frazil.create_table(tmp_path / "t", {"id": "long", "p": "string"}, partition_by=["p"])
    for number in range(6):
        made.append([{"id": number, "p": "ab"[number % 2]}])
    return made


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    code = "import sys; from frazil.cli import main; main(['--help']); print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.endswith("False\n")
    for name, command in COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert command.summary.split()[0] in done.stdout


def test_every_command_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run: Run, name: str) -> None:
    code, out, _ = run(name, "--help")
    assert code == 0
    assert out.startswith(f"Usage: frazil {name} ")


def test_a_table_is_described(run: Run, table: Any) -> None:
    code, out, _ = run("describe", table.location)
    assert code == 0
    for text in ("iceberg", table.location, "p: identity", "6", "id", "int64"):
        assert text in out
    code, out, _ = run("describe", PAIMON)
    assert (code, "primary keys" in out, "paimon" in out) == (0, True, True)
    code, out, _ = run("describe", f"{table.location}$files")
    assert (code, "file_path" in out) == (0, True)
    assert run("schema", table.location)[1].splitlines() == ["id  int64", "p   string"]


def test_rows_are_read_in_each_form(run: Run, tmp_path: Path, table: Any) -> None:
    code, out, _ = run("scan", table.location, "-f", "id < 3 and p = 'a'", "-o", "json")
    assert (code, sorted((json.loads(line) for line in out.splitlines()), key=lambda row: row["id"])) == (
        0,
        [{"id": 0, "p": "a"}, {"id": 2, "p": "a"}],
    )
    _, out, _ = run("scan", table.location, "-c", "id", "-o", "csv")
    assert sorted(csv.reader(io.StringIO(out))) == [["0"], ["1"], ["2"], ["3"], ["4"], ["5"], ["id"]]
    _, out, _ = run("scan", table.location, "-n", "1")
    assert out.splitlines()[0].split() == ["id", "p"]
    path = tmp_path / "rows.arrow"
    with path.open("wb") as file:
        command = [sys.executable, "-m", "frazil", "scan", table.location, "-o", "arrow"]
        subprocess.run(command, stdout=file, check=True)  # noqa: S603
    assert pa.ipc.open_stream(path.read_bytes()).read_all().num_rows == 6
    assert run("count", table.location, "-f", "p = 'a'")[1] == "3\n"
    first = table.snapshots()[0]
    assert run("count", table.location, "--snapshot-id", str(first.snapshot_id))[1] == "1\n"
    assert run("count", table.location, "--as-of", str(first.timestamp_ms))[1] == "1\n"
    assert run("count", table.location, "--ref", "main")[1] == "6\n"
    assert run("count", f"{table.location}$snapshots")[1] == "6\n"
    assert "6 of 6 files" in run("explain", table.location)[1]
    _, out, _ = run("changes", table.location, "--from", str(table.snapshots()[3].snapshot_id), "-o", "json")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [4, 5]


def test_values_of_every_type_are_written(run: Run, tmp_path: Path) -> None:
    row = {
        "f": float("nan"),
        "b": b"\x00\xff",
        "d": "2024-02-29",
        "n": None,
        "s": {"x": [1, None], "y": "a\nb"},
        "m": [("k", 1.5)],
    }
    schema = pa.schema(
        [
            ("f", pa.float64()),
            ("b", pa.binary()),
            ("d", pa.string()),
            ("n", pa.int32()),
            ("s", pa.struct([("x", pa.list_(pa.int32())), ("y", pa.string())])),
            ("m", pa.map_(pa.string(), pa.float64())),
        ]
    )
    made = frazil.create_table(tmp_path / "v", schema)
    made.append(pa.Table.from_pylist([row], schema=schema))
    _, out, _ = run("scan", made.location, "-o", "json")
    assert json.loads(out, parse_constant=pytest.fail) == {
        "f": "nan",
        "b": "AP8=",
        "d": "2024-02-29",
        "n": None,
        "s": {"x": [1, None], "y": "a\nb"},
        "m": [["k", 1.5]],
    }
    _, out, _ = run("scan", made.location, "-o", "csv")
    assert list(csv.reader(io.StringIO(out)))[1] == [
        "nan",
        "AP8=",
        "2024-02-29",
        "",
        '{"x": [1, null], "y": "a\\nb"}',
        '[["k", 1.5]]',
    ]
    _, out, _ = run("scan", made.location)
    assert (len(out.splitlines()), "NULL" in out) == (3, True)


def test_long_tables_are_cut_for_people_only(run: Run, tmp_path: Path) -> None:
    made = frazil.create_table(tmp_path / "long", {"id": "long"})
    made.append(pa.table({"id": range(1000)}))
    _, out, err = run("scan", made.location)
    assert (len(out.splitlines()), "first 100 rows" in err) == (102, True)
    assert len(run("scan", made.location, "-o", "json")[1].splitlines()) == 1000


def test_metadata_tables_are_listed_and_read(run: Run, table: Any) -> None:
    assert "snapshots" in run("inspect", table.location)[1].split()
    _, out, _ = run("inspect", table.location, "files", "-c", "record_count, content", "-o", "json")
    assert [json.loads(line) for line in out.splitlines()] == [{"record_count": 1, "content": 0}] * 6
    assert len(run("files", table.location, "-f", "partition.p = 'a'")[1].splitlines()) == 2 + 3
    assert len(run("snapshots", table.location)[1].splitlines()) == 2 + 6
    code, _, err = run("inspect", table.location, "filez")
    assert (code, "files" in err) == (2, True)


def test_rows_of_paimon_tables_are_deleted(run: Run, tmp_path: Path) -> None:
    options = {"bucket": 1}
    table = frazil.create_table(tmp_path / "p", {"id": "INT"}, format="paimon", primary_keys=["id"], options=options)
    table.append([{"id": 1}, {"id": 2}])
    code, out, _ = run("delete", table.location, "id = 1", "--yes")
    assert (code, out) == (0, "1 rows deleted, snapshot 2\n")
    assert table.scan().to_arrow()["id"].to_pylist() == [2]


def test_rows_are_appended_and_deleted(run: Run, tmp_path: Path, table: Any) -> None:
    pq.write_table(pa.table({"id": [10, 11], "p": ["a", "b"]}), tmp_path / "x.parquet")
    (tmp_path / "y.csv").write_text("id,p\n12,c\n", encoding="utf-8")
    code, out, _ = run("append", table.location, str(tmp_path / "x.parquet"), str(tmp_path / "y.csv"))
    assert (code, out.startswith("3 rows in 3 files")) == (0, True)
    code, out, err = run("delete", table.location, "id >= 10")
    assert (code, "--yes" in err, table.refresh().scan().count()) == (4, True, 9)
    code, out, _ = run("delete", table.location, "id >= 10", "--yes")
    assert (code, out.startswith("3 rows deleted"), table.refresh().scan().count()) == (0, True, 6)
    for file, message in [
        ("no.parquet", "no.parquet does not exist"),
        (__file__, "cannot be determined from its name"),
        (str(tmp_path / "bad.json"), "bad.json, line 1: a JSON object is expected"),
    ]:
        (tmp_path / "bad.json").write_text("{", encoding="utf-8")
        code, _, err = run("append", table.location, file)
        assert (code in (2, 3), message in err) == (True, True)


def test_a_table_is_maintained(run: Run, table: Any) -> None:
    code, out, _ = run("compact", table.location, "--min-input-files", "2", "--dry-run")
    assert (code, out.startswith("6 files")) == (0, True)
    assert table.refresh().current_snapshot().snapshot_id == table.current_snapshot().snapshot_id
    code, out, _ = run("compact", table.location, "--min-input-files", "2", "--target-size", "64MB")
    assert (code, "6 files" in out.splitlines()[1], "-> 2 files" in out) == (0, True, True)
    code, out, err = run("expire", table.location, "--older-than", "0m")
    assert (code, "6 snapshots" in out, "--yes" in err) == (4, True, True)
    code, out, _ = run("expire", table.location, "--older-than", "0m", "--dry-run")
    assert (code, len(table.refresh().snapshots())) == (0, 7)
    code, out, _ = run("expire", table.location, "--older-than", "0m", "--yes")
    assert (code, "6 snapshots removed" in out, len(table.refresh().snapshots())) == (0, True, 1)
    left = Path(table.location, "data", "left")
    left.write_bytes(b"x")
    os.utime(left, (time.time() - 10 * DAY_S,) * 2)
    code, out, _ = run("orphans", table.location, "-d", "-o", "json")
    assert (code, json.loads(out)) == (0, {"location": str(left), "size_bytes": 1})
    code, out, _ = run("orphans", table.location, "--yes")
    assert (code, "1 files deleted" in out, left.exists()) == (0, True, False)
    assert run("orphans", table.location, "--older-than", "1h")[0] == 2


def test_tables_are_found_by_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = frazil.load_catalog("lake", type="local", path=str(tmp_path / "lake"))
    catalog.create_namespace("ns")
    catalog.create_table("ns.t", {"id": "long"}).append([{"id": 1}])
    path = ("-p", "type=local", "-p", f"path={tmp_path / 'lake'}")
    assert run("count", "ns.t", *path)[1] == "1\n"
    assert run("ls", *path)[1] == "ns.\n"
    assert run("ls", "ns", *path)[1] == "ns.t\n"
    monkeypatch.setenv("FRAZIL_CATALOG__MY_LAKE__TYPE", "local")
    monkeypatch.setenv("FRAZIL_CATALOG__MY_LAKE__PATH", str(tmp_path / "lake"))
    assert run("ls")[1].splitlines() == ["my-lake"]
    assert run("ls", "my-lake")[1] == "ns.\n"
    assert run("ls", "my-lake.ns")[1] == "ns.t\n"
    assert run("count", "my-lake.ns.t")[1] == "1\n"
    assert run("count", "ns.t", "--catalog", "my-lake")[1] == "1\n"
    assert run("scan", "my-lake.ns.t$snapshots", "-c", "operation", "-o", "csv")[1].split() == ["operation", "append"]
    code, _, err = run("count", "ns.t")
    assert (code, "'ns.t' is neither an existing path nor a name" in err, "my-lake" in err) == (2, True, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["scam"], 2, "No such command 'scam'"),
        (["scan"], 2, "Missing argument 'TABLE'"),
        (["scan", "{t}", "-o", "xml"], 2, "'xml' is not one of"),
        (["scan", "{t}", "-f", "nothing = 1"], 2, "nothing"),
        (["scan", "{t}", "-c", "nothing"], 2, "nothing"),
        (["scan", "{t}", "--ref", "nope"], 3, "nope"),
        (["scan", "{t}", "--as-of", "yesterday"], 2, "yesterday"),
        (["scan", "{t}$files", "--ref", "main"], 2, "metadata tables can only be read in their current state"),
        (["scan", "{t}/data"], 3, "pass the folder of the table"),
        (["scan", "/no/such/table"], 3, "the folder does not exist"),
        (["scan", "ns.t", "-p", "type"], 2, "KEY=VALUE"),
        (["scan", "ns.t", "-p", "type=local"], 2, "path"),
        (["compact", "{t}", "--target-size", "big"], 2, "--target-size must be a number of bytes such as 512MB"),
        (["compact", PAIMON, "--all"], 2, "for Paimon tables; the only option for them is --filter"),
        (["orphans", PAIMON, "--location", "/x"], 2, "does not accept --location for Paimon tables"),
        (["expire", PAIMON, "--snapshot-id", "1"], 2, "does not accept --snapshot-id for Paimon tables"),
        (["delete", "{t}", "id ="], 2, "id ="),
        (["expire", "{t}", "--retain-last", "0"], 2, "retain_last is 0"),
    ],
)
def test_invalid_usage_reports_the_error(run: Run, table: Any, arguments: list[str], code: int, message: str) -> None:
    found, out, err = run(*(one.replace("{t}", table.location) for one in arguments))
    assert (found, out) == (code, "")
    assert message.lower() in err.lower()
    assert "Traceback" not in err
    assert table.refresh().metadata_location == table.metadata_location


def test_closed_pipe_is_not_an_error(table: Any) -> None:
    command = f"'{sys.executable}' -m frazil scan '{table.location}' -o json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)  # noqa: S603, S607
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


WITH_A_TABLE = [name for name in COMMANDS if name != "ls"]
READS_METADATA_TABLES = {"count", "describe", "explain", "scan", "schema"}
MORE = {"append": ["{x}"], "delete": ["true", "--yes"]}


@pytest.mark.parametrize("name", WITH_A_TABLE)
@pytest.mark.parametrize("place", ["path", "catalog", "view"])
def test_commands_on_a_metadata_table(run: Run, tmp_path: Path, table: Any, name: str, place: str) -> None:
    pq.write_table(pa.table({"id": [1], "p": ["a"]}), tmp_path / "x.parquet")
    catalog = frazil.load_catalog("lake", type="local", path=str(tmp_path / "lake"))
    catalog.create_namespace("ns")
    catalog.create_table("ns.t", {"id": "long"})
    given = {
        "path": [f"{table.location}$files"],
        "catalog": ["ns.t.files", "-p", "type=local", "-p", f"path={tmp_path / 'lake'}"],
        "view": [f"{PAIMON}$ro"],
    }[place]
    code, _, err = run(name, *given, *(one.replace("{x}", str(tmp_path / "x.parquet")) for one in MORE.get(name, [])))
    if name in READS_METADATA_TABLES:
        assert (code, err) == (0, "")
        return
    owner = {"path": table.location, "catalog": "ns.t", "view": PAIMON}[place]
    assert code == 4
    assert err == (
        f"frazil: {given[0]!r} is a metadata table, which is read-only; "
        f"use `frazil scan`, or use the table itself: {owner}\n"
    )


def test_system_tables_of_a_catalog_have_no_table_of_their_own(run: Run, tmp_path: Path) -> None:
    path = ("-p", "type=paimon", "-p", f"warehouse={tmp_path}")
    code, _, err = run("compact", "sys.all_tables", *path)
    assert (code, "'sys.all_tables' is a metadata table" in err, "itself" in err) == (4, True, False)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (frazil.errors.CommitStateUnknownError("the answer was lost"), 6),
        (frazil.errors.CommitConflictError("another writer committed first"), 5),
        (frazil.errors.CommitValidationError("the table has changed"), 4),
        (frazil.errors.UnavailableError("the service is down"), 5),
    ],
)
def test_a_commit_that_may_have_happened_has_an_exit_code_of_its_own(
    run: Run, tmp_path: Path, table: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    pq.write_table(pa.table({"id": [1], "p": ["a"]}), tmp_path / "x.parquet")
    monkeypatch.setattr("frazil.iceberg.Table.append", fails)
    assert run("append", table.location, str(tmp_path / "x.parquet")) == (code, "", f"frazil: {error}\n")
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"| {code} |" in page
    assert f" {code} " in " ".join(run("--help")[1].split())


@pytest.mark.parametrize("key", ["name", "properties", "self", "cls", "identifier", "catalog"])
def test_properties_may_have_any_name(run: Run, tmp_path: Path, key: str) -> None:
    frazil.load_catalog("lake", type="local", path=str(tmp_path / "lake")).create_namespace("ns")
    path = ("-p", "type=local", "-p", f"path={tmp_path / 'lake'}", "-p", f"{key}=x")
    assert run("ls", *path) == (0, "ns.\n", "")
    code, _, err = run("count", "ns.t", *path)
    assert (code, "ns.t" in err) == (3, True)


NASTY = "a\x1b[31m\tb\nc\x7f\x9b\u202e\u2028é"
SHOWN = "a\\x1b[31m\\tb\\nc\\x7f\\x9b\\u202e\\u2028é"


def test_control_characters_do_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    made = frazil.create_table(tmp_path / "t", {NASTY: "string", "s": "string"}, properties={NASTY: NASTY})
    rows = pa.table({NASTY: [NASTY], "s": [NASTY]})
    made.append(rows)
    _, out, _ = run("scan", made.location)
    assert out.splitlines()[0].split("  ")[0] == SHOWN
    assert out.splitlines()[2].split("  ")[0] == SHOWN
    for command in ("describe", "schema"):
        _, out, err = run(command, made.location)
        assert (SHOWN in out, err, all(one.isprintable() for one in out.split("\n"))) == (True, "", True)
    for command in (["scan", made.location, "-f", f"{NASTY} = 1"], ["scan", made.location, f"--{NASTY}"], [NASTY]):
        _, out, err = run(*command)
        assert (out, all(one.isprintable() for one in err.split("\n"))) == ("", True)
    assert json.loads(run("scan", made.location, "-o", "json")[1]) == {NASTY: NASTY, "s": NASTY}
    assert list(csv.reader(io.StringIO(run("scan", made.location, "-o", "csv")[1], newline="")))[1] == [NASTY, NASTY]


def test_rows_are_limited_wherever_they_are_listed(run: Run, table: Any) -> None:
    for command in (["snapshots"], ["files"], ["changes"], ["inspect", "{t}", "history"]):
        arguments = [one.replace("{t}", table.location) for one in (command if len(command) > 1 else [*command, "{t}"])]
        for limit in (0, 2):
            code, out, err = run(*arguments, "-n", str(limit))
            assert (code, len(out.splitlines()), err) == (0, 2 + limit, "")


def test_a_filter_of_delete_is_an_argument_or_an_option(run: Run, table: Any) -> None:
    for filters in ([], ["id = 1", "-f", "id = 2"], [""], ["-f", " "]):
        code, _, err = run("delete", table.location, *filters, "--yes")
        assert (code, "filter" in err.lower(), table.refresh().scan().count()) == (2, True, 6)
    assert run("delete", table.location, "-f", "id = 1", "--yes")[0] == 0
    assert run("delete", table.location, "id = 2", "--yes")[0] == 0
    assert table.refresh().scan().count() == 4


@pytest.mark.parametrize("command", ["scan", "count", "explain", "changes", "files", "compact"])
def test_an_empty_filter_is_refused(run: Run, table: Any, command: str) -> None:
    code, out, err = run(command, table.location, "-f", "")
    assert (code, out, err) == (2, "", "frazil: the filter is empty; use `true` for all rows\n")


def test_compact_accepts_yes_and_tells_when_nothing_is_to_do(run: Run, tmp_path: Path, table: Any) -> None:
    assert run("compact", table.location, "--min-input-files", "2", "--yes")[0] == 0
    made = frazil.create_table(tmp_path / "p", {"id": "BIGINT"}, format="paimon")
    assert run("compact", made.location, "--yes") == (0, "nothing to compact\n", "")
    assert run("compact", made.location, "--min-input-files", "2")[0] == 2


def test_snapshots_of_paimon_tables_expire(run: Run, tmp_path: Path) -> None:
    made = frazil.create_table(tmp_path / "p", {"id": "INT"}, format="paimon")
    for number in range(4):
        made.append([{"id": number}])
    arguments = ("expire", made.location, "--older-than", "0m", "--retain-last", "2")
    code, out, _ = run(*arguments, "--dry-run")
    assert (code, "2 snapshots; 4 manifest-list files" in out, len(made.snapshots())) == (0, True, 4)
    code, out, _ = run(*arguments, "--yes")
    assert (code, "2 snapshots removed, 4 files deleted" in out, len(made.snapshots())) == (0, True, 2)


@pytest.mark.parametrize("command", [["expire", "--older-than"], ["orphans", "--older-than"], ["scan", "--as-of"]])
@pytest.mark.parametrize("time", ["yesterday", "", "-5", "1.5d", "99999999999d", "9" * 30, "²", "2024-13-01T00:00:00Z"])
def test_a_wrong_time_is_answered_with_the_forms(run: Run, table: Any, command: list[str], time: str) -> None:
    name, option = command
    code, out, err = run(name, table.location, f"{option}={time}")
    assert (code, out) == (2, "")
    assert f"{option} is {time!r}, expected a time such as 2024-02-29T12:00:00Z, an age such as 7d" in err


def test_locations_are_absolute(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in ("paimon", "iceberg"):
        frazil.create_table(tmp_path / kind, {"id": "BIGINT" if kind == "paimon" else "long"}, format=kind)
        _, out, _ = run("describe", kind)
        assert out.splitlines()[1].split() == ["location", str(tmp_path / kind)]


def test_catalogs_that_are_not_configured(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if "CATALOG__" in name]:
        monkeypatch.delenv(name)
    for command in (["count", "a.b"], ["ls", "nope"]):
        code, _, err = run(*command)
        assert (code, "no catalog is configured" in err, "none" in err) == (2, True, False)


def test_files_with_types_that_do_not_fit_are_refused(run: Run, tmp_path: Path, table: Any) -> None:
    for name, value in (("x", 1), ("y", "one")):
        pq.write_table(pa.table({"id": [value], "p": ["a"]}), tmp_path / f"{name}.parquet")
    code, _, err = run("append", table.location, str(tmp_path / "x.parquet"), str(tmp_path / "y.parquet"))
    assert (code, "cannot be converted to long" in err, table.refresh().scan().count()) == (2, True, 6)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("output", ["table", "json", "csv", "arrow"])
def test_output_that_cannot_be_written_is_an_error(table: Any, output: str) -> None:
    command = f"'{sys.executable}' -m frazil scan '{table.location}' -o {output} > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)  # noqa: S603, S607
    assert (done.returncode, "cannot be written" in done.stderr, "Traceback" in done.stderr) == (1, True, False)

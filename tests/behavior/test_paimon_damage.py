"""Tests of damaged Paimon tables: the result is an error or exactly the rows of the intact table."""

from __future__ import annotations

import copy as copies
import datetime
import io
import json
import shutil
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
from frazil import _native, errors
from frazil.files.read.open import open_data_file
from support.cases import GOLDEN, SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from frazil.paimon import Table

VECTORS = "pk_dv_orc"
PARQUET = "pk_levels_writeonly"

HEADER = {
    "type": "record",
    "name": "header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
    ],
}

Record = dict[str, Any]


class Copy:
    """A copy of a golden table whose snapshot, manifests and files a test may change."""

    def __init__(self, name: str, folder: Path) -> None:
        found = [GOLDEN / "paimon" / name, *(SHARED / "golden" / "paimon").glob(f"*.db/{name}")]
        original = next((path for path in found if path.is_dir()), None)
        if original is None:
            pytest.skip(f"the golden table {name} is not here")
        self.root = folder / "d.db" / name
        shutil.copytree(original, self.root, copy_function=shutil.copyfile)
        for path in [self.root, *self.root.rglob("*")]:
            path.chmod(0o755)
        self.last = max(int(path.name.removeprefix("snapshot-")) for path in self.root.glob("snapshot/snapshot-*"))

    def open(self, **options: Any) -> Table:
        return frazil.load_table(str(self.root), format="paimon", **options)

    def lines(self, **options: Any) -> list[str]:
        return sorted(str(row) for row in self.open(**options).scan().to_arrow().to_pylist())

    def snapshot_file(self) -> Path:
        return self.root / "snapshot" / f"snapshot-{self.last}"

    def snapshot(self) -> Record:
        content: Record = json.loads(self.snapshot_file().read_bytes())
        return content

    def edit_snapshot(self, **fields: Any) -> None:
        self.snapshot_file().write_text(json.dumps(self.snapshot() | fields), encoding="utf-8")

    def lists(self) -> list[Path]:
        return [self.manifest(self.snapshot()[key]) for key in ("baseManifestList", "deltaManifestList")]

    def manifest(self, name: str) -> Path:
        return self.root / "manifest" / name

    def live(self) -> tuple[Path, Record]:
        """Return the entry of a live file and the manifest that adds it, with the highest level first."""
        added: dict[tuple[Any, ...], tuple[Path, Record]] = {}
        for path in (self.manifest(record["_FILE_NAME"]) for one in self.lists() for record in read_avro(one)[1]):
            for entry in read_avro(path)[1]:
                identity = (
                    entry["_PARTITION"],
                    entry["_BUCKET"],
                    entry["_FILE"]["_LEVEL"],
                    entry["_FILE"]["_FILE_NAME"],
                )
                if entry["_KIND"] == 0:
                    added[identity] = path, entry
                else:
                    del added[identity]
        return max(added.values(), key=lambda found: found[1]["_FILE"]["_LEVEL"])

    def edit_list(self, edit: Callable[[Record], object]) -> None:
        """Edit the manifest list entry of the manifest with the live file."""
        manifest = self.live()[0].name
        for path in self.lists():
            edit_avro(path, lambda records: [edit(r) for r in records if r["_FILE_NAME"] == manifest])

    def edit_entry(self, edit: Callable[[Record], object]) -> None:
        """Edit the entry of the live file."""
        path, entry = self.live()
        edit_avro(path, lambda entries: [edit(found) for found in entries if found == entry])

    def edit_entries(self, edit: Callable[[list[Record], Record], object]) -> None:
        path, entry = self.live()
        edit_avro(path, lambda entries: edit(entries, entry))

    def edit_index(self, edit: Callable[[Record], object]) -> None:
        """Edit the deletion vectors of the snapshot."""
        edit_avro(self.index_manifest(), lambda entries: [edit(entry) for entry in entries])

    def file(self) -> Path:
        """Return the location of the live data file."""
        name = self.live()[1]["_FILE"]["_FILE_NAME"]
        return next(self.root.rglob(name))

    def index_manifest(self) -> Path:
        return self.manifest(self.snapshot()["indexManifest"])

    def vectors(self) -> list[Path]:
        """Return the index files that have deletion vectors."""
        entries = read_avro(self.index_manifest())[1]
        return [self.root / "index" / entry["_FILE_NAME"] for entry in entries if entry["_DELETIONS_VECTORS_RANGES"]]


def read_avro(path: Path) -> tuple[Record, list[Record]]:
    """Return the header and the records of an Avro container with any codec."""
    source = io.BytesIO(path.read_bytes())
    header: Any = fastavro.schemaless_reader(source, HEADER, None)
    schema = fastavro.parse_schema(json.loads(header["meta"]["avro.schema"]))
    codec = header["meta"].get("avro.codec", b"null")
    records: list[Any] = []
    while source.tell() < len(source.getbuffer()):
        count, size = (int(str(fastavro.schemaless_reader(source, "long", None))) for _ in range(2))
        block = source.read(size)
        if codec == b"zstandard":
            block = pa.CompressedInputStream(pa.BufferReader(block), "zstd").read()
        assert source.read(16) == header["sync"]
        stored = io.BytesIO(block)
        records += [fastavro.schemaless_reader(stored, schema, None) for _ in range(count)]
    return header, records


def edit_avro(path: Path, edit: Callable[[list[Record]], object]) -> None:
    header, records = read_avro(path)
    edit(records)
    with path.open("wb") as file:
        fastavro.writer(file, json.loads(header["meta"]["avro.schema"]), records)


def cut(path: Path, share: float = 0.6) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x55
    path.write_bytes(content)


def file(**fields: Any) -> Callable[[Copy], None]:
    return lambda copy: copy.edit_entry(lambda entry: entry["_FILE"].update(fields))


def named(prefix: str) -> Callable[[Copy], None]:
    """Replace the name of the live data file by a path that refers to the same file."""
    return lambda copy: copy.edit_entry(
        lambda entry: entry["_FILE"].update(_FILE_NAME=prefix + entry["_FILE"]["_FILE_NAME"])
    )


def vectors(damage: Callable[[Path], object]) -> Callable[[Copy], object]:
    return lambda copy: [damage(path) for path in copy.vectors()]


def twice(entries: list[Record], live: Record) -> None:
    entries.append(copies.deepcopy(live))


def climbing_list(copy: Copy) -> None:
    copy.edit_list(lambda record: record.update(_FILE_NAME="../manifest/" + record["_FILE_NAME"]))


def climbing_index(copy: Copy) -> None:
    copy.edit_index(lambda entry: entry.update(_FILE_NAME="../index/" + entry["_FILE_NAME"]))


MANIFEST = errors.CorruptManifestError
DAMAGES: list[tuple[str, str, Callable[[Copy], object], type[Exception]]] = [
    ("snapshot cut", PARQUET, lambda c: cut(c.snapshot_file()), errors.CorruptMetadataError),
    ("snapshot empty", PARQUET, lambda c: cut(c.snapshot_file(), 0), errors.CorruptMetadataError),
    ("snapshot of another id", PARQUET, lambda c: c.edit_snapshot(id=99), errors.CorruptMetadataError),
    ("list of a path", PARQUET, lambda c: c.edit_snapshot(deltaManifestList="../x"), errors.CorruptMetadataError),
    ("list missing", PARQUET, lambda c: c.lists()[0].unlink(), errors.MissingFileError),
    ("list cut", PARQUET, lambda c: cut(c.lists()[1]), MANIFEST),
    ("manifest missing", PARQUET, lambda c: c.live()[0].unlink(), errors.MissingFileError),
    ("manifest cut", PARQUET, lambda c: cut(c.live()[0], 0.9), MANIFEST),
    ("manifest by a path", PARQUET, climbing_list, MANIFEST),
    ("data file by a path", PARQUET, named("../bucket-0/"), MANIFEST),
    ("data file by an absolute path", PARQUET, named("/var/"), MANIFEST),
    ("data file without a name", PARQUET, file(_FILE_NAME=""), MANIFEST),
    ("data file that is a folder", PARQUET, file(_FILE_NAME=".."), MANIFEST),
    ("extra file by a path", PARQUET, file(_EXTRA_FILES=["../x.index"]), MANIFEST),
    ("external path elsewhere", PARQUET, file(_EXTERNAL_PATH="file:/etc/hostname"), errors.PathNotAllowedError),
    ("external path on the web", PARQUET, file(_EXTERNAL_PATH="http://169.254.169.254/x"), errors.PathNotAllowedError),
    ("kind 9", PARQUET, lambda c: c.edit_entry(lambda entry: entry.update(_KIND=9)), MANIFEST),
    ("fewer rows", PARQUET, file(_ROW_COUNT=1), errors.CorruptDataFileError),
    ("far too many rows", PARQUET, file(_ROW_COUNT=2**62), errors.CorruptDataFileError),
    ("entry twice", PARQUET, lambda c: c.edit_entries(twice), MANIFEST),
    ("schema of nobody", PARQUET, file(_SCHEMA_ID=4242), errors.CorruptMetadataError),
    ("data file missing", PARQUET, lambda c: c.file().unlink(), errors.MissingFileError),
    ("data file cut", PARQUET, lambda c: cut(c.file()), errors.CorruptDataFileError),
    ("ORC file cut", VECTORS, lambda c: cut(c.file()), errors.CorruptDataFileError),
    ("index manifest missing", VECTORS, lambda c: c.index_manifest().unlink(), errors.MissingFileError),
    ("vectors by a path", VECTORS, climbing_index, MANIFEST),
    ("vectors missing", VECTORS, vectors(lambda path: path.unlink()), errors.MissingFileError),
    ("vectors of version 0", VECTORS, vectors(lambda path: flip(path, 0)), errors.UnsupportedError),
    ("vectors without magic", VECTORS, vectors(lambda path: flip(path, 5)), errors.CorruptDeletesError),
    ("vectors with a flipped bit", VECTORS, vectors(lambda path: flip(path, -5)), errors.CorruptDeletesError),
]


@pytest.mark.parametrize(
    ("name", "damage", "error"), [damage[1:] for damage in DAMAGES], ids=[damage[0] for damage in DAMAGES]
)
def test_damage_is_named(
    tmp_path: Path, name: str, damage: Callable[[Copy], object], error: type[errors.FrazilError]
) -> None:
    copy = Copy(name, tmp_path)
    assert copy.lines()
    damage(copy)
    with pytest.raises(error) as caught:
        copy.lines()
    assert caught.value.context.get("file") or caught.value.context, caught.value


@pytest.fixture
def allowed() -> Iterator[list[str]]:
    before = list(frazil.config.allowed_locations)
    yield frazil.config.allowed_locations
    frazil.config.allowed_locations = before


@pytest.fixture
def elsewhere(tmp_path: Path) -> Callable[[Copy], Path]:
    """Move the live data file out of the table, to the location of its external path."""

    def move(copy: Copy) -> Path:
        path = copy.file()
        outside = tmp_path / "outside" / path.name
        outside.parent.mkdir()
        path.rename(outside)
        copy.edit_entry(lambda entry: entry["_FILE"].update(_EXTERNAL_PATH=f"file:{outside}"))
        return outside

    return move


def test_an_external_path_is_read_where_it_was_allowed(
    tmp_path: Path, elsewhere: Callable[[Copy], Path], allowed: list[str]
) -> None:
    copy = Copy(PARQUET, tmp_path)
    rows = copy.lines()
    outside = elsewhere(copy)
    with pytest.raises(errors.PathNotAllowedError):
        copy.lines()
    allowed.append(str(outside.parent))
    assert copy.lines() == rows


def test_an_external_path_is_read_where_it_was_relocated(tmp_path: Path, elsewhere: Callable[[Copy], Path]) -> None:
    copy = Copy(PARQUET, tmp_path)
    rows = copy.lines()
    outside = elsewhere(copy)
    assert copy.lines(relocate={str(outside.parent): str(outside.parent)}) == rows
    moved = outside.parent.rename(tmp_path / "moved")
    assert copy.lines(relocate={str(outside.parent): str(moved)}) == rows


@pytest.mark.parametrize("name", ["a/b", "../main", "..\\x", "/", " "])
def test_a_branch_or_tag_by_a_path_is_refused(tmp_path: Path, name: str) -> None:
    table = Copy(PARQUET, tmp_path).open()
    for use in (
        lambda: table.with_branch(name),
        lambda: table.scan(ref=name),
        lambda: table.scan(options={"scan.tag-name": name}).to_arrow(),
        lambda: table.scan(options={"scan.version": name}).to_arrow(),
    ):
        with pytest.raises((errors.InvalidArgumentError, errors.NoSuchSnapshotError)):
            use()


FAR = [datetime.datetime(year, 1, 1) for year in (2020, 9999, 1, 1600)]  # noqa: DTZ001 - wall clocks


def int96(folder: Path, columns: dict[str, pa.Array], **options: Any) -> list[pa.RecordBatch]:
    """Write columns as INT96 and read them as nanoseconds."""
    path = str(folder / "int96.parquet")
    pq.write_table(pa.table(columns), path, use_deprecated_int96_timestamps=True, **options)
    files = _native.Files(str(folder), [], [], {})
    with open_data_file(files, path, "PARQUET", int96_unit="ns") as data:
        wanted = list(range(len(pq.ParquetFile(path).schema))), list(range(len(columns)))
        return [batch for _, batch, _ in data.batches(wanted, None) if batch is not None]


@pytest.mark.parametrize("rows", [1, 3, 1024])
def test_far_int96_timestamps_do_not_wrap_around(tmp_path: Path, rows: int) -> None:
    near = pa.array([FAR[0]] * 5, pa.timestamp("us"))
    columns = {"id": pa.array(range(5)), "near": near}
    assert all(batch.schema.field("near").type == pa.timestamp("ns") for batch in int96(tmp_path, columns))
    columns["far"] = pa.array([*FAR, None], pa.timestamp("us"))
    with pytest.raises(errors.UnsupportedError, match=r"does not fit.*column: far.*1677"):
        int96(tmp_path, columns, row_group_size=rows)


def test_times_before_1970_of_the_java_writer_are_read(tmp_path: Path) -> None:
    """Java stores a day and a negative time of day, which pyarrow reads as microseconds of the year 2554."""
    found = Copy("bucket_default_all_types", tmp_path).open().scan(selected_fields=["f_ts9"]).to_arrow().column("f_ts9")
    assert -999_999_999 in found.cast(pa.int64()).to_pylist()


NESTED_TIMES: dict[str, tuple[pa.DataType, Callable[[datetime.datetime], Any]]] = {
    "list": (pa.list_(pa.timestamp("us")), lambda when: [when]),
    "map": (pa.map_(pa.string(), pa.timestamp("us")), lambda when: [("k", when)]),
    "key": (pa.map_(pa.timestamp("us"), pa.int32()), lambda when: [(when, 1)]),
    "struct with a map": (
        pa.struct([("t", pa.timestamp("us")), ("m", pa.map_(pa.string(), pa.int32()))]),
        lambda when: {"t": when, "m": [("k", 1)]},
    ),
}


@pytest.mark.parametrize("nesting", NESTED_TIMES)
def test_far_int96_timestamps_inside_a_column_are_refused(tmp_path: Path, nesting: str) -> None:
    kind, value = NESTED_TIMES[nesting]
    values = pa.array([value(when) for when in FAR], kind)
    assert int96(tmp_path, {"near": values.slice(0, 1)})[0].num_rows == 1
    with pytest.raises(errors.UnsupportedError, match=r"'far'.*1677"):
        int96(tmp_path, {"far": values})

"""Tests of damaged tables: the result is an error or exactly the rows of the intact table."""

from __future__ import annotations

import copy as copies
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from support.canonical import canonical_rows, lines
from support.copies import Copy, live

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

POSITIONS = "del_pos_file_parquet_part"
VECTORS = "dv_spark_parquet_part"
EQUALITY = "del_eq_sequence"
ORC = "del_pos_partition_orc_part"
AVRO = "dv_spark_avro_part"

Damage = tuple[str, str, "Callable[[Copy], object]", type[Exception] | None]


def cut(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x55
    path.write_bytes(content)


def write(path: Path, at: int, content: bytes) -> None:
    whole = bytearray(path.read_bytes())
    whole[at : at + len(content)] = content
    path.write_bytes(whole)


def vector(copy: Copy) -> tuple[Path, int]:
    """Return a Puffin file and the offset of its first live deletion vector."""
    found: list[tuple[Path, int]] = []
    copy.edit_manifest(
        lambda entries: found.append(
            (copy.local(live(entries)["data_file"]["file_path"]), live(entries)["data_file"]["content_offset"])
        ),
        1,
    )
    return found[0]


def vector_damage(at: int) -> Callable[[Copy], None]:
    def damage(copy: Copy) -> None:
        path, offset = vector(copy)
        flip(path, offset + at)

    return damage


def file_damage(manifest: int = 0, **fields: Any) -> Callable[[Copy], None]:
    return lambda copy: copy.edit_file(lambda file: file.update(fields), manifest)


def entry_damage(**fields: Any) -> Callable[[Copy], None]:
    return lambda copy: copy.edit_manifest(lambda entries: live(entries).update(fields))


def without_sequence_number(copy: Copy) -> None:
    """Remove a sequence number that is not inherited: only ADDED entries inherit one."""
    entry_damage(status=0, sequence_number=None, file_sequence_number=None)(copy)


def without_sequence_number_or_version(copy: Copy) -> None:
    without_sequence_number(copy)
    copy.forget_version()


def all_manifests(damage: Callable[[Path], None]) -> Callable[[Copy], None]:
    def damage_all(copy: Copy) -> None:
        for path in copy.manifests():
            damage(path)

    return damage_all


def current_snapshot(content: dict[str, Any]) -> dict[str, Any]:
    current = content["current-snapshot-id"]
    return next(found for found in content["snapshots"] if found["snapshot-id"] == current)


def nested(content: dict[str, Any]) -> None:
    deep: Any = "int"
    for number in range(400):
        deep = {"type": "list", "element-id": 1000 + number, "element-required": False, "element": deep}
    content["schemas"][-1]["fields"].append({"id": 900, "name": "deep", "required": False, "type": deep})


def cyclic(content: dict[str, Any]) -> None:
    """Make two snapshots each other's parent."""
    first, last = content["snapshots"][0], content["snapshots"][-1]
    first["parent-snapshot-id"], last["parent-snapshot-id"] = last["snapshot-id"], first["snapshot-id"]


def same_ids(content: dict[str, Any]) -> None:
    for schema in content["schemas"]:
        schema["fields"][1]["id"] = schema["fields"][0]["id"]


def twice(entries: list[dict[str, Any]]) -> None:
    entries.append(copies.deepcopy(live(entries)))


def metadata(edit: Callable[[dict[str, Any]], object]) -> Callable[[Copy], None]:
    return lambda copy: copy.edit_metadata(edit)


DAMAGES: list[Damage] = [
    ("metadata cut", POSITIONS, lambda c: cut(c.metadata_file, 0.5), errors.CorruptMetadataError),
    ("metadata of zeros", POSITIONS, lambda c: c.metadata_file.write_bytes(bytes(999)), errors.CorruptMetadataError),
    ("metadata is a list", POSITIONS, lambda c: c.metadata_file.write_text("[]"), errors.CorruptMetadataError),
    ("metadata nested", POSITIONS, lambda c: c.metadata_file.write_text("[" * 10**6), errors.FrazilError),
    ("two columns of one id", POSITIONS, metadata(same_ids), errors.FrazilError),
    ("schema nested 400 deep", POSITIONS, metadata(nested), None),
    ("no schemas", POSITIONS, metadata(lambda m: m.update(schemas=[])), errors.CorruptMetadataError),
    ("no such schema", POSITIONS, metadata(lambda m: m.update({"current-schema-id": 99})), errors.CorruptMetadataError),
    ("no such snapshot", POSITIONS, metadata(lambda m: m.update({"current-snapshot-id": 99})), errors.FrazilError),
    ("snapshots in a circle", POSITIONS, metadata(cyclic), None),
    ("spec of no field", POSITIONS, metadata(lambda m: m["partition-specs"][0].update(fields=3)), errors.FrazilError),
    (
        "manifest list is another's",
        POSITIONS,
        metadata(lambda m: current_snapshot(m).update({"manifest-list": "x.avro"})),
        errors.FrazilError,
    ),
    ("manifest list missing", POSITIONS, lambda c: c.manifest_list().unlink(), errors.MissingFileError),
    ("manifest list cut", POSITIONS, lambda c: cut(c.manifest_list(), 0.7), errors.CorruptManifestError),
    ("manifest list empty", POSITIONS, lambda c: cut(c.manifest_list(), 0), errors.CorruptManifestError),
    ("manifest list without magic", POSITIONS, lambda c: flip(c.manifest_list(), 0), errors.CorruptManifestError),
    ("manifest missing", POSITIONS, lambda c: c.manifests()[0].unlink(), errors.MissingFileError),
    ("delete manifest missing", POSITIONS, lambda c: c.manifests(1)[0].unlink(), errors.MissingFileError),
    ("manifest cut", POSITIONS, all_manifests(lambda path: cut(path, 0.9)), errors.CorruptManifestError),
    ("manifest with a flipped end", POSITIONS, all_manifests(lambda path: flip(path, -1)), errors.CorruptManifestError),
    (
        "manifest twice",
        POSITIONS,
        lambda c: c.edit_list(lambda records: records.append(copies.deepcopy(records[0]))),
        errors.FrazilError,
    ),
    ("entry twice", EQUALITY, lambda c: c.edit_manifest(twice), errors.FrazilError),
    ("status 7", POSITIONS, entry_damage(status=7), errors.CorruptManifestError),
    ("existing without sequence number", EQUALITY, without_sequence_number, errors.CorruptManifestError),
    ("the same without version", EQUALITY, without_sequence_number_or_version, errors.CorruptManifestError),
    ("manifests without version", EQUALITY, Copy.forget_version, None),
    ("content 9", POSITIONS, file_damage(content=9), errors.CorruptManifestError),
    ("unknown format", POSITIONS, file_damage(file_format="EXE"), errors.FrazilError),
    ("negative record count", POSITIONS, file_damage(record_count=-1), errors.CorruptManifestError),
    ("wrong record count", POSITIONS, file_damage(record_count=10**12), errors.FrazilError),
    ("negative file size", POSITIONS, file_damage(file_size_in_bytes=-1), None),
    ("data file missing", POSITIONS, lambda c: c.file().unlink(), errors.MissingFileError),
    ("data file cut", POSITIONS, lambda c: cut(c.file(), 0.6), errors.CorruptDataFileError),
    ("data file empty", POSITIONS, lambda c: cut(c.file(), 0), errors.CorruptDataFileError),
    ("data file of text", POSITIONS, lambda c: c.file().write_text("id,c\n1,a\n"), errors.CorruptDataFileError),
    ("ORC file cut", ORC, lambda c: cut(c.file(), 0.6), errors.CorruptDataFileError),
    ("ORC file without magic at the end", ORC, lambda c: flip(c.file(), -2), None),
    ("ORC file with another length at the end", ORC, lambda c: flip(c.file(), -1), errors.CorruptDataFileError),
    ("Avro file cut", AVRO, lambda c: cut(c.file(), 0.8), errors.CorruptDataFileError),
    ("Avro file without sync", AVRO, lambda c: flip(c.file(), -3), errors.CorruptDataFileError),
    ("position deletes missing", POSITIONS, lambda c: c.file(1).unlink(), errors.MissingFileError),
    ("position deletes cut", POSITIONS, lambda c: cut(c.file(1), 0.6), errors.CorruptDeletesError),
    ("position deletes in ORC cut", ORC, lambda c: cut(c.file(1), 0.6), errors.CorruptDeletesError),
    ("equality deletes cut", EQUALITY, lambda c: cut(c.file(1), 0.6), errors.CorruptDeletesError),
    ("equality deletes of no column", EQUALITY, file_damage(1, equality_ids=[999]), errors.FrazilError),
    ("equality deletes without ids", EQUALITY, file_damage(1, equality_ids=None), errors.FrazilError),
    ("vector cut", VECTORS, lambda c: cut(vector(c)[0], 0.1), errors.CorruptDeletesError),
    ("vector missing", VECTORS, lambda c: vector(c)[0].unlink(), errors.MissingFileError),
    ("vector of another length", VECTORS, vector_damage(0), errors.CorruptDeletesError),
    ("vector without magic", VECTORS, vector_damage(4), errors.CorruptDeletesError),
    ("vector with a flipped bit", VECTORS, vector_damage(12), errors.CorruptDeletesError),
    ("vector beyond the file", VECTORS, file_damage(1, content_offset=2**40), errors.CorruptDeletesError),
    ("vector at a negative offset", VECTORS, file_damage(1, content_offset=-4), errors.FrazilError),
    ("vector of a huge size", VECTORS, file_damage(1, content_size_in_bytes=2**62), errors.FrazilError),
    ("vector of no file", VECTORS, file_damage(1, referenced_data_file=None), errors.FrazilError),
]


@pytest.mark.parametrize(
    ("name", "damage", "error"), [damage[1:] for damage in DAMAGES], ids=[damage[0] for damage in DAMAGES]
)
def test_damage_is_named_or_harmless(
    tmp_path: Path, name: str, damage: Callable[[Copy], object], error: type[Exception] | None
) -> None:
    copy = Copy(name, tmp_path)
    whole = lines(canonical_rows(copy.open().scan().to_arrow()))
    damage(copy)
    if error is not None:
        with pytest.raises(error) as caught:
            copy.open().scan().to_arrow()
        assert not isinstance(caught.value, errors.InternalError)
        return
    try:
        rows = lines(canonical_rows(copy.open().scan().to_arrow()))
    except frazil.FrazilError as failure:
        assert not isinstance(failure, errors.InternalError)  # noqa: PT017 - rows are an answer too
        return
    assert rows == whole


def test_a_block_that_inflates_to_much_more_is_refused(tmp_path: Path) -> None:
    copy = Copy(POSITIONS, tmp_path)
    path = copy.manifest_list()
    content = path.read_bytes()
    sync = content[-16:]
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    block = b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    header = content[: content.index(sync) + 16]
    path.write_bytes(header + zigzag(10) + zigzag(len(block)) + block + sync)
    with pytest.raises((errors.LimitExceededError, errors.CorruptManifestError)):
        copy.open().scan().to_arrow()


@pytest.mark.parametrize("count", [2**62, -(2**63), 10**9])
def test_a_count_of_entries_is_not_believed(tmp_path: Path, count: int) -> None:
    copy = Copy(POSITIONS, tmp_path)
    path = copy.manifest_list()
    content = path.read_bytes()
    sync = content[-16:]
    start = content.index(sync) + 16
    end = start + 1
    while content[end - 1] & 0x80:
        end += 1
    path.write_bytes(content[:start] + zigzag(count) + content[end:])
    with pytest.raises(frazil.FrazilError) as caught:
        copy.open().scan().to_arrow()
    assert not isinstance(caught.value, errors.InternalError)


def test_a_length_in_a_parquet_footer_is_not_believed(tmp_path: Path) -> None:
    copy = Copy(POSITIONS, tmp_path)
    for length in (0, 2**31 - 1, 2**32 - 1):
        write(copy.file(), copy.file().stat().st_size - 8, struct.pack("<I", length))
        with pytest.raises(errors.CorruptDataFileError):
            copy.open().scan().to_arrow()


def zigzag(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63) if number < 0 else number << 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])

"""Write Paimon's (Java) merges of random manifest lists: `python -m histories.paimon.manifest_merge FILE`.

`rust/paimon/testdata/manifest_merge.txt` is such a file of 1,000 lists; the Rust crate must merge them the same way. A
line has the options, the manifests before, and those after:

    target-size min-count full-size | size:entries ... > number or [entries] ...

`+7b` is the entry that adds file 7 of partition b, `-7b` the one that deletes it; the partition `n` is NULL. After the
merge, a kept manifest is represented by its number in the list before, and a new one by its entries in brackets.
"""

from __future__ import annotations

import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from histories.paimon.java_process import start
from histories.paimon.oracle import FOLDER

COUNT = 1000
PARTITIONS = "abcdn"

Entry = tuple[str, int, str]
"""`+` or `-`, the number of the file, and the partition."""


@dataclass(frozen=True)
class Case:
    """The input of a merge: the manifests and the options."""

    target: int
    least: int
    full: int
    manifests: list[list[Entry]]
    paddings: list[int]


def random_case(rng: random.Random) -> Case:
    """Return manifests whose entries delete only files that were added before."""
    target = rng.choice([3000, 6000, 20_000])
    live: list[Entry] = []
    deletes = rng.choice([0.0, 0.1, 0.5])
    manifests: list[list[Entry]] = []
    number = 0
    for _ in range(rng.randrange(1, rng.choice([4, 12]))):
        entries: list[Entry] = []
        places = rng.sample(PARTITIONS, rng.randrange(1, 3))
        before = [entry for entry in live if entry[2] in places]
        for _ in range(rng.randrange(1, 6)):
            if before and rng.random() < deletes:
                file = before.pop(rng.randrange(len(before)))
                live.remove(file)
                entries.append(("-", *file[1:]))
            else:
                number += 1
                entries.append(("+", number, rng.choice(places)))
        live.extend(entry for entry in entries if entry[0] == "+")
        manifests.append(entries)
    most = rng.choice([1000, 10_000, 30_000])
    paddings = [rng.randrange(most) for _ in manifests]
    return Case(target, rng.randrange(2, 7), rng.randrange(1000, 6 * target), manifests, paddings)


class Merger:
    """Java's merge class on manifests of a table in a folder."""

    def __init__(self, folder: str) -> None:
        """Create the table, which is partitioned by numbers."""
        from histories.paimon.java_values import java

        types = java("paimon.types.DataTypes")
        schema = java("paimon.schema.Schema").newBuilder().column("k", types.INT()).column("p", types.INT())
        location = java("paimon.fs.Path")(folder)
        files = java("paimon.fs.local.LocalFileIO").create()
        java("paimon.schema.SchemaManager")(files, location).createTable(schema.partitionKeys("p").build())
        table = java("paimon.table.FileStoreTableFactory").create(files, location)
        self._partition_type = table.schema().logicalPartitionType()
        self._manifests = table.store().manifestFileFactory().create()
        self._kinds = {sign: java("paimon.manifest.FileKind").fromByteValue(at) for at, sign in enumerate("+-")}
        self._java = java
        self._row = java("paimon.data.BinaryRow")
        self._row_writer = java("paimon.data.BinaryRowWriter")

    def merge(self, case: Case) -> tuple[list[int], list[int | list[Entry]]]:
        """Return the lengths of the manifests before the merge, and the manifests after it."""
        before = [self._write(*manifest) for manifest in zip(case.manifests, case.paddings, strict=True)]
        names = [str(manifest.fileName()) for manifest in before]
        inputs = self._java("java.util.ArrayList")(before)
        options = (case.target, case.least, case.full, self._partition_type, None)
        merger = self._java("paimon.operation.ManifestFileMerger")
        after: list[int | list[Entry]] = []
        for manifest in merger.merge(inputs, self._manifests, *options):
            name = str(manifest.fileName())
            after.append(names.index(name) if name in names else self._read(manifest))
        return [int(manifest.fileSize()) for manifest in before], after

    def _write(self, entries: list[Entry], padding: int) -> Any:
        (meta,) = self._manifests.write(self._java("java.util.ArrayList")([self._entry(*entry) for entry in entries]))
        numbers = (meta.numAddedFiles(), meta.numDeletedFiles(), meta.partitionStats(), meta.schemaId())
        ranges = (meta.minBucket(), meta.maxBucket(), meta.minLevel(), meta.maxLevel(), None, None)
        return type(meta)(meta.fileName(), meta.fileSize() + padding, *numbers, *ranges)

    def _entry(self, sign: str, number: int, place: str) -> Any:
        partition = self._row(1)
        writer = self._row_writer(partition)
        if place == "n":
            writer.setNullAt(0)
        else:
            writer.writeInt(0, PARTITIONS.index(place))
        writer.complete()
        stats = self._java("paimon.stats.SimpleStats").EMPTY_STATS
        none = self._java("java.util.Collections").emptyList()
        file = self._java("paimon.io.DataFileMeta").forAppend(
            f"{number}", 1, 1, stats, 0, 0, 0, none, None, None, None, None, None, None
        )
        return self._java("paimon.manifest.ManifestEntry").create(self._kinds[sign], partition, 0, -1, file)

    def _read(self, manifest: Any) -> list[Entry]:
        entries: list[Entry] = []
        for entry in self._manifests.read(manifest.fileName(), manifest.fileSize()):
            row = entry.partition()
            place = "n" if row.isNullAt(0) else PARTITIONS[row.getInt(0)]
            sign = "-" if entry.kind() == self._kinds["-"] else "+"
            entries.append((sign, int(str(entry.fileName())), place))
        return entries


def text(entries: list[Entry]) -> str:
    """Return the form of entries in a line."""
    return "".join(f"{sign}{number}{place}" for sign, number, place in entries)


def line(case: Case, sizes: list[int], after: list[int | list[Entry]]) -> str:
    """Return the line of a case."""
    before = (f"{size}:{text(entries)}" for size, entries in zip(sizes, case.manifests, strict=True))
    result = (str(part) if isinstance(part, int) else f"[{text(part)}]" for part in after)
    return f"{case.target} {case.least} {case.full} | {' '.join(before)} > {' '.join(result)}".rstrip()


def main(target: Path) -> None:
    """Write the file."""
    start(FOLDER)
    rng = random.Random(34)  # noqa: S311 - test data
    with tempfile.TemporaryDirectory() as folder:
        merger = Merger(f"{folder}/t")
        cases = [random_case(rng) for _ in range(COUNT)]
        target.write_text("".join(f"{line(case, *merger.merge(case))}\n" for case in cases))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

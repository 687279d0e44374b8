"""Write Paimon's (Java) picks in random buckets: `python -m histories.paimon.compaction_picks FILE`.

`rust/paimon/testdata/compaction_picks.txt` is such a file of 1,000 picks; the Rust crate must pick the same files. A
line has the options of the table, the state of the writer, the files of the bucket, and Java's pick:

    options | hour age delays | files > unit | was-full delays
    options | full            | files > unit

* The age is that of the last full compaction in milliseconds, or `-` if there was none. Delays are the picks without a
  result since level 0 was last compacted. `was-full` is 1 if Java treats the pick as a full compaction.
* A file is `level/bytes/min sequence/max sequence/created/name/min key/max key`.
* The unit is its output level, `!` if each file is rewritten separately, and the numbers of its files; `-` for none.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from histories.paimon.java_process import start
from histories.paimon.oracle import FOLDER

COUNT = 1000
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class File:
    """A data file of a bucket."""

    level: int
    size: int
    sequences: tuple[int, int]
    created: int
    name: str
    keys: tuple[int, int]

    def __str__(self) -> str:
        """Return the form of the file in a line."""
        numbers = (self.level, self.size, *self.sequences, self.created, self.name, *self.keys)
        return "/".join(str(number) for number in numbers)


@dataclass(frozen=True)
class Case:
    """The input of a pick: the files and the options."""

    options: dict[str, str]
    full: bool
    hour: int
    age_ms: int | None
    delays: int
    files: list[File]


def random_case(rng: random.Random) -> Case:
    """Return a random case; most buckets are realistic."""
    options = random_options(rng)
    age = None if rng.random() < 0.3 else rng.choice([10, 50, 70, 600]) * 60_000
    return Case(options, rng.random() < 0.1, rng.randrange(24), age, rng.randrange(4), random_files(rng))


def random_options(rng: random.Random) -> dict[str, str]:
    """Return random options; each is usually unset."""
    choices = {
        "num-sorted-run.compaction-trigger": [1, 2, 3, 4, 8],
        "num-levels": [2, 3, 4, 9],
        "compaction.max-size-amplification-percent": [0, 25, 100, 1000, 100_000],
        "compaction.size-ratio": [-50, 0, 7, 33, 100, 400],
        "compaction.optimization-interval": ["1 h"],
        "compaction.total-size-threshold": ["1 kb", "10 kb"],
        "compaction.incremental-size-threshold": ["1 kb", "100 kb"],
        "compaction.force-up-level-0": ["true"],
    }
    options = {name: str(rng.choice(values)) for name, values in choices.items() if rng.random() < 0.25}
    if rng.random() < 0.3:
        hours = {"start": rng.randrange(-1, 24), "end": rng.randrange(-1, 24)}
        options |= {f"compaction.offpeak.{name}.hour": str(hour) for name, hour in hours.items()}
        options["compaction.offpeak-ratio"] = str(rng.choice([10, 50, 300]))
    if rng.random() < 0.3:
        looks_up = {"changelog-producer": "lookup", "merge-engine": "first-row", "deletion-vectors.enabled": "true"}
        name = rng.choice([*looks_up, "force-lookup"])
        options[name] = looks_up.get(name, "true")
        if rng.random() < 0.7:
            options["lookup-compact"] = rng.choice(["gentle", "radical"])
        if rng.random() < 0.5:
            options["lookup-compact.max-interval"] = str(rng.randrange(1, 6))
    return options


def random_files(rng: random.Random) -> list[File]:
    """Return the files of a bucket in random order."""
    files = []
    size = rng.choice([1000, 1000, 10_000, 1 << 44])
    levels = [0] * rng.randrange(rng.choice([2, 5, 12])) + rng.sample(range(1, 7), rng.randrange(4))
    growth = 1 if size == 1 << 44 else rng.choice([1, 1, 2, 5])
    for level in levels:
        key = rng.randrange(100)
        for _ in range(1 if level == 0 else rng.randrange(1, 4)):
            first = rng.randrange(9)
            sequences = (first, first + rng.randrange(3))
            keys = (key, key + rng.randrange(9))
            key = keys[1] + rng.randrange(1, 3)
            lengths = [size, size * 101 // 100, size + rng.randrange(-60, 60), rng.randrange(size)]
            length = rng.choice(lengths) * growth**level
            name = f"{rng.choice('ab')}{len(files)}"
            files.append(File(level, length, sequences, rng.randrange(3), name, keys))
    rng.shuffle(files)
    return files


class Compaction:
    """Java's classes."""

    def __init__(self) -> None:
        """Load the classes."""
        from histories.paimon.java_values import java

        self._java = java
        self._core_options = java("paimon.CoreOptions")
        self._file = java("paimon.io.DataFileMeta")
        self._stats = java("paimon.stats.SimpleStats").EMPTY_STATS
        self._none = java("java.util.Collections").emptyList()
        self._row = java("paimon.data.BinaryRow")
        self._row_writer = java("paimon.data.BinaryRowWriter")
        types = java("paimon.types.RowType").of(java("paimon.types.IntType")())
        generator = java("paimon.codegen.CodeGenUtils")
        self._keys = generator.newRecordComparator(types.getFieldTypes(), [0], True)  # noqa: FBT003 - as Java has it

    def pick(self, case: Case) -> str:
        """Return Java's pick in the form of a line."""
        options = self._core_options(self._java("java.util.HashMap")(case.options))
        files = self._java("java.util.ArrayList")([self._meta(file) for file in case.files])
        levels = self._java("paimon.mergetree.Levels")(self._keys, files, options.numLevels())
        runs, count = levels.levelSortedRuns(), levels.numberOfLevels()
        names = [file.name for file in case.files]
        if case.full:
            strategy = self._java("paimon.mergetree.compact.CompactStrategy")
            return unit_text(strategy.pickFullCompaction(count, runs, None, None, case.hour % 2 == 1), names)
        strategy = self._strategy(options)
        universal = _field(strategy, "universal") or strategy
        early = _field(universal, "earlyFullCompact")
        now = int(self._java("java.lang.System").currentTimeMillis())
        if early is not None and case.age_ms is not None:
            _set(early, "lastFullCompaction", self._java("java.lang.Long")(now - case.age_ms))
        counter = _field(strategy, "compactTriggerCount")
        if counter is not None:
            counter.set(case.delays)
        self._set_hour(case.hour)
        unit = strategy.pick(count, runs)
        if int(self._java("java.time.LocalDateTime").now().getHour()) != case.hour:
            raise RuntimeError("an hour began; start again")
        last = None if early is None else _field(early, "lastFullCompaction")
        full = int(last is not None and int(last) >= now)
        return f"{unit_text(unit, names)} | {full} {case.delays if counter is None else int(counter.get())}"

    def _strategy(self, options: Any) -> Any:
        factory = self._java("paimon.mergetree.compact.MergeTreeCompactManagerFactory")
        made = factory(*[None] * 6, options, *[None] * 8)
        method = made.getClass().getDeclaredMethod("createCompactStrategy", self._core_options.class_)
        method.setAccessible(True)
        return method.invoke(made, options)

    def _set_hour(self, hour: int) -> None:
        zones = self._java("java.util.TimeZone")
        offset = (hour - dt.datetime.now(dt.UTC).hour + 12) % 24 - 12
        zones.setDefault(zones.getTimeZone(f"GMT{offset:+03d}:00"))

    def _meta(self, file: File) -> Any:
        keys = [self._key(key) for key in file.keys]
        stats = (self._stats, self._stats)
        created = self._java("paimon.data.Timestamp").fromEpochMillis(file.created)
        rest = (None, None, None, None, None, None, None)
        place = (*file.sequences, 0, file.level, self._none, created)
        return self._file.create(file.name, file.size, 1, *keys, *stats, *place, *rest)

    def _key(self, key: int) -> Any:
        row = self._row(1)
        writer = self._row_writer(row)
        writer.writeInt(0, key)
        writer.complete()
        return row


def unit_text(unit: Any, names: list[str]) -> str:
    """Return a unit in the form of a line; Java drops units without files or with one file in place."""
    if not unit.isPresent():
        return "-"
    unit = unit.get()
    files = list(unit.files())
    in_place = len(files) == 1 and files[0].level() == unit.outputLevel()
    if not files or (in_place and not unit.fileRewrite()):
        return "-"
    numbers = " ".join(str(names.index(str(file.fileName()))) for file in files)
    return f"{unit.outputLevel()}{'!' if unit.fileRewrite() else ''} {numbers}"


def _declared(item: Any, name: str) -> Any:
    found = [field for field in item.getClass().getDeclaredFields() if str(field.getName()) == name]
    for field in found:
        field.setAccessible(True)
    return found[0] if found else None


def _field(item: Any, name: str) -> Any:
    field = _declared(item, name)
    return None if field is None else field.get(item)


def _set(item: Any, name: str, value: Any) -> None:
    _declared(item, name).set(item, value)


def line(case: Case, picked: str) -> str:
    """Return the line of a case."""
    options = ",".join(f"{name}={value}" for name, value in case.options.items())
    state = f"{case.hour} {'-' if case.age_ms is None else case.age_ms} {case.delays}"
    if case.full:
        state = "full!" if case.hour % 2 == 1 else "full"
    return f"{options} | {state} | {' '.join(str(file) for file in case.files)} > {picked}"


def main(target: Path) -> None:
    """Write the file."""
    start(FOLDER)
    rng = random.Random(51)  # noqa: S311 - test data
    compaction = Compaction()
    cases = [random_case(rng) for _ in range(COUNT)]
    target.write_text("".join(f"{line(case, compaction.pick(case))}\n" for case in cases))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Random tables: columns, keys and options."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from histories.names import RESERVED, new_name
from histories.paimon.history import Column, Create, Type
from histories.paimon.known import readable_in_orc, writable_in_avro
from histories.paimon.values import KEYS, LTZ, NUMBERS, PARTITIONS, TEXTS, atom, random_type

if TYPE_CHECKING:
    from random import Random

ALL_KINDS = ("+I", "+I", "+I", "+I", "+U", "-U", "-D", "-D")
ADDING = ("+I", "+I", "+I", "+U")
_ENTRY = Type("ROW", parts=(Type("INT"), Type("STRING"), Type("BIGINT")), names=("k", "s", "n"))
NESTED_UPDATE = Type("ARRAY", parts=(_ENTRY,))
PAIMON_NAMES = ("_KEY", "KEY_a", "_ROW_KIND", "_KIND", "_VALUE", "_PARTITION", "_BUCKET", "level", "_row_number")
"""Names similar to those of Paimon's system columns, which Java rejects."""

RETRACTS = (
    *("sum", "product", "collect", "last_value", "last_non_null_value", "merge_map", "nested_update", "primary-key"),
)
"""Functions that support retracts."""


@dataclass
class Plan:
    """A table during its creation, and the rows that may be written to it."""

    columns: list[Column] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    partitions: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("+I",)
    tied: set[str] = field(default_factory=set)
    """The columns that options reference."""
    ignoring: bool = False
    """Whether a function ignores records that retract."""

    def create(self) -> Create:
        """Return the step that creates the table."""
        options = tuple(sorted(self.options.items()))
        return Create(tuple(self.columns), tuple(self.keys), tuple(self.partitions), options)

    @property
    def values(self) -> list[Column]:
        """Return the columns that are neither keys nor partition columns."""
        return [column for column in self.columns if column.name not in {*self.keys, *self.partitions}]

    def type_of(self, name: str) -> Type:
        """Return the type of a column."""
        return next(column.type for column in self.columns if column.name == name)


def random_table(rng: Random) -> Plan:
    """Return a random table."""
    plan = Plan()
    taken: set[str] = set()
    keyed = rng.random() < 0.75
    formats = _formats(rng, plan.options)
    avro = "avro" in formats
    if keyed:
        for _ in range(rng.choice((1, 1, 2))):
            plan.keys.append(_name(rng, taken, avro))
            plan.columns.append(Column(plan.keys[-1], atom(rng, KEYS, nullable=False, avro=avro)))
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        plan.partitions.append(_name(rng, taken, avro))
        plan.columns.append(Column(plan.partitions[-1], atom(rng, PARTITIONS, nullable=not keyed)))
    crossing = bool(plan.partitions) and rng.random() < 0.1
    if keyed and not crossing:
        plan.keys += plan.partitions
    for _ in range(rng.randint(1, 6)):
        plan.columns.append(Column(_name(rng, taken, avro), random_type(rng, avro=avro)))
    if formats == {"parquet"} and rng.random() < 0.1:
        plan.columns.append(Column(_name(rng, taken, avro), Type("VARIANT")))
    rng.shuffle(plan.columns)
    if keyed:
        _keyed(rng, plan, taken)
    else:
        _append(rng, plan)
    _layout(rng, plan)
    return plan


def _name(rng: Random, taken: set[str], avro: bool) -> str:  # noqa: FBT001
    return new_column(rng, taken, avro=avro)


def new_column(rng: Random, taken: set[str], *, avro: bool) -> str:
    """Reserve and return an unused name, compared case-insensitively, that the file formats can write."""
    while True:
        name = new_name(rng, taken, 0.2, (*RESERVED, *PAIMON_NAMES))
        # Any table may get ORC files, because the option can be changed.
        fits = name.strip() and readable_in_orc(name) and (not avro or writable_in_avro(name))
        if fits and name.lower() not in taken:
            taken.update((name, name.lower()))
            return name


def _tame(name: str) -> bool:
    """Return whether options can reference a column: they separate names with commas and dots."""
    return not set(name) & set(",.") and name.strip() == name


# File formats, statistics, indexes


def _formats(rng: Random, options: dict[str, str]) -> set[str]:
    formats = [rng.choice(("parquet", "orc", "avro"))]
    if rng.random() < 0.8:
        options["file.format"] = formats[0]
    else:
        formats = ["parquet"]
    if rng.random() < 0.15:
        formats += [rng.choice(("parquet", "orc", "avro")) for _ in range(2)]
        options["file.format.per.level"] = f"0:{formats[1]},5:{formats[2]}"
    if rng.random() < 0.1:
        formats.append(rng.choice(("parquet", "orc", "avro")))
        options["changelog-file.format"] = formats[-1]
    if rng.random() < 0.15:
        options["file.compression"] = rng.choice(("null", "deflate") if "avro" in formats else ("none", "lz4", "zlib"))
        if options["file.compression"] == "zlib" and "parquet" in formats:
            options["file.compression"] = "gzip" if "orc" not in formats else "zstd"
    return set(formats)


_LAYOUT = (
    (0.2, "metadata.stats-mode", ("none", "counts", "truncate(4)", "full")),
    (0.1, "metadata.stats-dense-store", ("false",)),
    (0.05, "metadata.stats-keep-first-n-columns", ("0", "1", "2")),
    (0.2, "manifest.format", ("avro", "orc", "parquet")),
    (0.2, "manifest.merge-min-count", ("2", "3")),
    (0.1, "manifest.full-compaction-threshold-size", ("1 kb",)),
    (0.08, "data-file.path-directory", ("data", "a/b")),
    (0.05, "data-file.prefix", ("part-", "x")),
    (0.05, "changelog-file.prefix", ("log-",)),
    (0.05, "file.suffix.include.compression", ("true",)),
    (0.05, "index-file-in-data-file-dir", ("true",)),
    (0.1, "file-index.in-manifest-threshold", ("1 b", "1 mb")),
    (0.1, "write-buffer-spillable", ("true", "false")),
    (0.1, "snapshot.num-retained.max", ("3", "6")),
    (0.1, "read.batch-size", ("1", "3")),
    (0.05, "source.split.target-size", ("1 b",)),
    (0.05, "source.split.open-file-cost", ("1 b",)),
    (0.1, "parquet.enable.dictionary", ("false",)),
    (0.05, "orc.timestamp-ltz.legacy.type", ("false",)),
    (0.05, "dynamic-partition-overwrite", ("false",)),
)


def _layout(rng: Random, plan: Plan) -> None:
    for chance, key, values in _LAYOUT:
        if rng.random() < chance:
            plan.options.setdefault(key, rng.choice(values))
    _retention(rng, plan)
    for column in plan.values:
        if rng.random() < 0.05 and _tame(column.name):
            plan.options[f"fields.{column.name}.stats-mode"] = rng.choice(("none", "counts", "full", "truncate(1)"))
            plan.tied.add(column.name)
    if rng.random() < 0.25:
        _file_index(rng, plan)


def _retention(rng: Random, plan: Plan) -> None:
    if "snapshot.num-retained.max" in plan.options:
        plan.options["snapshot.num-retained.min"] = "1"
        if rng.random() < 0.3:
            plan.options.update({"changelog.num-retained.max": "20", "changelog.num-retained.min": "10"})
    if plan.partitions and rng.random() < 0.2:
        plan.options["partition.legacy-name"] = "false"
    if rng.random() < 0.5:
        plan.options["alter-column-null-to-not-null.disabled"] = "false"
    if plan.partitions and rng.random() < 0.1:
        plan.options["partition.default-name"] = "nothing"


_INDEXED = {
    "bloom-filter": {*NUMBERS, *TEXTS, "DATE", "TIMESTAMP", LTZ, "BYTES"} - {"DECIMAL"},
    "bitmap": {*NUMBERS, *TEXTS, "BOOLEAN", "DATE", "TIMESTAMP", LTZ} - {"FLOAT", "DOUBLE", "DECIMAL"},
    "bsi": {"TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIMESTAMP", LTZ},
    "range-bitmap": {*NUMBERS, *TEXTS, "BOOLEAN", "DATE", "TIMESTAMP", LTZ} - {"DECIMAL"},
}


def _file_index(rng: Random, plan: Plan) -> None:
    index = rng.choice(tuple(_INDEXED))
    names = [
        column.name
        for column in plan.columns
        if column.type.root in _INDEXED[index] and _tame(column.name) and max(column.type.numbers, default=0) <= 300
    ]
    kinds = {name: plan.type_of(name) for name in names}
    names = [name for name, kind in kinds.items() if kind.root not in ("TIMESTAMP", LTZ) or kind.numbers[0] <= 6]
    if names:
        chosen = rng.sample(names, min(len(names), 2))
        plan.options[f"file-index.{index}.columns"] = ",".join(chosen)
        plan.tied.update(chosen)


# Append tables


def _append(rng: Random, plan: Plan) -> None:
    bucket_keys = [column for column in plan.values if column.type.root in KEYS and _tame(column.name)]
    if bucket_keys and rng.random() < 0.5:
        chosen = rng.sample(bucket_keys, min(len(bucket_keys), rng.choice((1, 1, 2))))
        plan.options["bucket"] = str(rng.choice((1, 2, 3)))
        plan.options["bucket-key"] = ",".join(column.name for column in chosen)
        plan.tied.update(column.name for column in chosen)
        _bucket_function(rng, plan, chosen)
    if rng.random() < 0.35:
        plan.options["deletion-vectors.enabled"] = "true"
        plan.options["deletion-vectors.bitmap64"] = rng.choice(("true", "false"))
    elif "bucket" not in plan.options and rng.random() < 0.15:
        plan.options["row-tracking.enabled"] = "true"
    plan.options["compaction.min.file-num"] = rng.choice(("2", "3"))


def _bucket_function(rng: Random, plan: Plan, columns: list[Column]) -> None:
    if len(columns) == 1 and columns[0].type.root in ("INT", "BIGINT") and rng.random() < 0.3:
        plan.options["bucket-function.type"] = "mod"
    elif rng.random() < 0.2 and not any(column.type.root in ("TIMESTAMP", LTZ) for column in columns):
        plan.options["bucket-function.type"] = "hive"


# Tables with primary keys


def _keyed(rng: Random, plan: Plan, taken: set[str]) -> None:
    engine = rng.choice((*("deduplicate", "partial-update", "aggregation") * 2, "first-row"))
    options = plan.options
    if engine != "deduplicate" or rng.random() < 0.2:
        options["merge-engine"] = engine
    _buckets(rng, plan)
    _producers(rng, plan, engine)
    _compaction(rng, plan)
    _ENGINES[engine](rng, plan, taken)
    if rng.random() < 0.2:
        options["data-file.thin-mode"] = "true"
    if not set(plan.partitions) <= set(plan.keys):
        options.pop("sequence.field", None)
    if rng.random() < 0.05:
        options["ignore-update-before"] = "true"
    if engine == "deduplicate" and rng.random() < 0.06:
        name = _plain_name(taken)
        plan.columns.append(Column(name, Type("STRING", nullable=False)))
        options["rowkind.field"] = name
        plan.tied.add(name)
        plan.kinds = ("+I",)


def _plain_name(taken: set[str]) -> str:
    name = next(f"c{number}" for number in range(100) if f"c{number}" not in taken)
    taken.add(name)
    return name


def _buckets(rng: Random, plan: Plan) -> None:
    crossing = not set(plan.partitions) <= set(plan.keys)
    bucket = "-1" if crossing else rng.choice(("1", "1", "1", "2", "3", "-1", "-2"))
    if bucket != "-1" or rng.random() < 0.5:
        plan.options["bucket"] = bucket
    if bucket == "-1" and rng.random() < 0.7:
        plan.options["dynamic-bucket.target-row-num"] = rng.choice(("1", "3", "10"))
    own = [plan.type_of(name) for name in plan.keys if name not in plan.partitions]
    if bucket in ("1", "2", "3"):
        _bucket_function(rng, plan, [Column("", kind) for kind in own])


def _producers(rng: Random, plan: Plan, engine: str) -> None:
    choices = ["none", "none", "none", "lookup", "lookup", "full-compaction"]
    if engine == "deduplicate":
        choices += ["input", "input"]
    if engine == "first-row":
        choices = ["none", "lookup"]
    producer = rng.choice(choices)
    if producer != "none":
        plan.options["changelog-producer"] = producer
    if engine != "first-row" and producer in ("none", "lookup") and rng.random() < 0.25:
        plan.options["deletion-vectors.enabled"] = "true"
        plan.options["deletion-vectors.bitmap64"] = rng.choice(("true", "false"))
    elif rng.random() < 0.05:
        plan.options["force-lookup"] = "true"
    if producer != "none" and rng.random() < 0.3:
        plan.options["changelog-producer.row-deduplicate"] = "true"
    if producer == "full-compaction" and rng.random() < 0.5:
        plan.options["full-compaction.delta-commits"] = rng.choice(("1", "2", "3"))


_COMPACTION = (
    (0.6, "num-sorted-run.compaction-trigger", ("1", "2", "2", "3", "5", "50")),
    (0.2, "num-levels", ("2", "3", "4", "6")),
    (0.2, "compaction.size-ratio", ("0", "10", "100")),
    (0.2, "compaction.max-size-amplification-percent", ("10", "500")),
    (0.15, "write-only", ("true",)),
    (0.1, "sort-engine", ("min-heap", "loser-tree")),
    (0.1, "compaction.force-up-level-0", ("true",)),
    (0.1, "lookup-wait", ("false",)),
    (0.1, "lookup-compact", ("gentle", "radical")),
)


def _compaction(rng: Random, plan: Plan) -> None:
    for chance, key, values in _COMPACTION:
        if rng.random() < chance:
            plan.options[key] = rng.choice(values)
    times = [column for column in plan.values if column.type.root in ("INT", "BIGINT", "TIMESTAMP", LTZ)]
    times = [column for column in times if _tame(column.name) and column.name not in plan.tied]
    if times and rng.random() < 0.15:
        chosen = rng.choice(times).name
        plan.options |= {"record-level.expire-time": "100 d", "record-level.time-field": chosen}
        plan.tied.add(chosen)


def _sequence(rng: Random, plan: Plan) -> None:
    roots = (*NUMBERS, *TEXTS, "DATE", "TIMESTAMP", LTZ, "BOOLEAN")
    choices = [column for column in plan.values if column.type.root in roots]
    choices = [column for column in choices if _tame(column.name) and column.name not in plan.tied]
    if choices:
        chosen = rng.sample(choices, min(len(choices), rng.choice((1, 1, 2))))
        plan.options["sequence.field"] = ",".join(column.name for column in chosen)
        if rng.random() < 0.3:
            plan.options["sequence.field.sort-order"] = "descending"
        plan.tied.update(column.name for column in chosen)


def _deduplicate(rng: Random, plan: Plan, _taken: set[str]) -> None:
    plan.kinds = ALL_KINDS
    if rng.random() < 0.3:
        _sequence(rng, plan)
    if rng.random() < 0.1:
        plan.options["ignore-delete"] = "true"


def _first_row(rng: Random, plan: Plan, _taken: set[str]) -> None:
    plan.kinds = ("+I",)
    if rng.random() < 0.4:
        plan.options["ignore-delete"] = "true"
        plan.kinds = ("+I", "+I", "-D")


# Aggregate functions

_ANY = ("last_value", "last_non_null_value", "first_value", "first_non_null_value")


def _functions(kind: Type) -> list[str]:
    """Return the functions that support a type."""
    found = [*_ANY, "primary-key"]
    if kind.root in NUMBERS:
        found += ["sum", "sum", "product", "max", "min"]
    elif kind.root in (*TEXTS, "DATE", "TIMESTAMP", LTZ):
        found += ["max", "min"]
    elif kind.root == "BOOLEAN":
        found += ["bool_and", "bool_or"]
    elif kind.root == "ARRAY":
        found += ["collect", "collect"]
    elif kind.root == "MAP":
        found += ["merge_map", "merge_map"]
    if kind.root == "STRING":
        found += ["listagg", "listagg"]
    if kind == NESTED_UPDATE:
        found = ["nested_update", "nested_update", *found]
    return found


def _function(rng: Random, plan: Plan, column: Column) -> str:
    """Choose a function for a column, with its options."""
    function = rng.choice(_functions(column.type))
    prefix = f"fields.{column.name}"
    plan.options[f"{prefix}.aggregate-function"] = function
    if function == "listagg" and rng.random() < 0.4:
        plan.options[f"{prefix}.list-agg-delimiter"] = rng.choice((";", "::", ""))
    if function in ("listagg", "collect") and rng.random() < 0.4:
        plan.options[f"{prefix}.distinct"] = "true"
    if function == "nested_update" and rng.random() < 0.7:
        plan.options[f"{prefix}.nested-key"] = "k"
        if rng.random() < 0.3:
            plan.options[f"{prefix}.count-limit"] = "2"
    if rng.random() < 0.15:
        plan.options[f"{prefix}.ignore-retract"] = "true"
        plan.ignoring = True
    plan.tied.add(column.name)
    return function


def _aggregation(rng: Random, plan: Plan, taken: set[str]) -> None:
    if rng.random() < 0.3:
        plan.columns.append(Column(_plain_name(taken), NESTED_UPDATE))
    retractable = True
    if rng.random() < 0.2:
        default = rng.choice(("last_non_null_value", "last_value", "first_value", "first_non_null_value"))
        plan.options["fields.default-aggregate-function"] = default
        retractable = default in RETRACTS
    if rng.random() < 0.2:
        _sequence(rng, plan)
    for column in plan.values:
        if column.name not in plan.tied and _tame(column.name) and rng.random() < 0.75:
            function = _function(rng, plan, column)
            retractable &= function in RETRACTS or f"fields.{column.name}.ignore-retract" in plan.options
    _retracts(rng, plan, "aggregation.remove-record-on-delete", retractable=retractable)


def _retracts(rng: Random, plan: Plan, removing: str, *, retractable: bool) -> None:
    chosen = rng.random()
    plan.kinds = ADDING
    if chosen < 0.15:
        plan.options["ignore-delete"] = "true"
        plan.kinds = ALL_KINDS
    elif chosen < 0.3 and not plan.ignoring and not any("sequence-group" in key for key in plan.options):
        plan.options[removing] = "true"
        plan.kinds = ("+I", "+I", "+I", "+U", "-D")
    elif retractable:
        plan.kinds = ALL_KINDS


def _partial_update(rng: Random, plan: Plan, taken: set[str]) -> None:
    for column in list(plan.columns):
        # A record that updates some columns leaves the remaining ones NULL.
        if column.name not in plan.keys and not column.type.nullable and rng.random() < 0.9:
            plan.columns[plan.columns.index(column)] = replace(column, type=replace(column.type, nullable=True))
    if rng.random() < 0.2:
        plan.columns.append(Column(_plain_name(taken), NESTED_UPDATE))
    if rng.random() < 0.15:
        _sequence(rng, plan)
    groups = [_group(rng, plan) for _ in range(rng.choice((0, 1, 1, 2)))]
    groups = [group for group in groups if group]
    retractable = bool(groups)
    if rng.random() < 0.1:
        plan.options["fields.default-aggregate-function"] = "last_non_null_value"
    for column in plan.values:
        function = plan.options.get(f"fields.{column.name}.aggregate-function")
        ignored = f"fields.{column.name}.ignore-retract" in plan.options
        retractable &= function is None or function in RETRACTS or ignored
    if groups and rng.random() < 0.2:
        plan.options["partial-update.remove-record-on-sequence-group"] = rng.choice(groups)[0]
        plan.kinds = ALL_KINDS
    else:
        _retracts(rng, plan, "partial-update.remove-record-on-delete", retractable=retractable)


def _group(rng: Random, plan: Plan) -> list[str]:
    """Create a sequence group of free columns; return its sequence fields."""
    free = [column for column in plan.values if _tame(column.name) and column.name not in plan.tied]
    orders = [column for column in free if column.type.root in (*NUMBERS, *TEXTS, "DATE", "TIMESTAMP", LTZ)]
    if not orders or len(free) < 2:
        return []
    order = rng.sample(orders, min(len(orders), rng.choice((1, 1, 1, 2))))
    members = [column for column in free if column not in order]
    members = rng.sample(members, min(len(members), rng.choice((1, 1, 2, 3))))
    if not members:
        return []
    names = [column.name for column in order]
    plan.options[f"fields.{','.join(names)}.sequence-group"] = ",".join(column.name for column in members)
    plan.tied.update(names)
    for column in members:
        if rng.random() < 0.4:
            _function(rng, plan, column)
        plan.tied.add(column.name)
    return names


_ENGINES = {
    "deduplicate": _deduplicate,
    "first-row": _first_row,
    "aggregation": _aggregation,
    "partial-update": _partial_update,
}

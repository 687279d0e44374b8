"""Random tables, and the profiles of their histories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from histories.iceberg.history import (
    AddColumn,
    EvolveSchema,
    EvolveSpec,
    NewTable,
    SetProperties,
    SetRequired,
    Term,
    Transaction,
    WidenColumn,
)
from histories.iceberg.partitions import transforms_of
from histories.names import RESERVED, is_plain
from histories.schemas import V1_TYPES, V3_TYPES, Shape, random_schema
from histories.types import Simple, Struct, leaves, walk
from histories.values import ORC, YEAR_9999_DAY, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from histories.iceberg.history import Step
    from histories.types import Type


@dataclass(frozen=True)
class Profile:
    """The profile of a history: its values, the formats of files, and the contents of schemas."""

    limits: Limits
    formats: tuple[str, ...]
    shape: Shape


def random_profile(random: Random, version: int) -> Profile:
    """Return a random profile."""
    formats = random.choice((("parquet",), ("parquet",), ("orc",), ("avro",), ("parquet", "orc", "avro")))
    types = V1_TYPES if version < 3 else V1_TYPES + V3_TYPES
    hostile = random.choice((0.0, 0.0, 0.3, 0.8))
    return Profile(ORC if "orc" in formats else Limits(), formats, Shape(types, hostile, RESERVED))


def random_table(random: Random) -> tuple[NewTable, Profile]:
    """Return a table and the profile of its history."""
    version = random.choice((1, 2, 2, 3, 3))
    profile = random_profile(random, version)
    columns = random_schema(random, profile.shape)
    terms: list[Term] = []
    while random.random() < 0.45 and len(terms) < 3:
        term = random_term(random, columns)
        if term is not None and not any(known.path == term.path for known in terms):
            terms.append(term)
    return NewTable(columns, version, tuple(terms), random_properties(random, profile)), profile


NOT_IN_SPARK = ("time", *V3_TYPES)
JAVA_DAYS = (-100_000, YEAR_9999_DAY)
"""Calendars differ before 1696."""


def java_table(random: Random) -> tuple[NewTable, Profile]:
    """Return a table that Spark can read, and the profile of its history."""
    while True:
        table, profile = random_table(random)
        limits = replace(profile.limits, days=(JAVA_DAYS[0], profile.limits.days[1]))
        types = tuple(name for name in V1_TYPES if name not in NOT_IN_SPARK)
        # Spark looks up names case-insensitively.
        profile = replace(profile, limits=limits, shape=Shape(types, 0.0))
        # Java rejects merge-on-read in v1, where frazil rewrites files.
        if table.version > 1 and _spark_reads(table):
            return table, profile


def spark_takes(step: Step) -> bool:
    """Return whether Spark can read a table after a step, with all its properties, types and names."""
    match step:
        case EvolveSchema(changes=changes):
            added = [Struct((one.field,)) for one in changes if isinstance(one, AddColumn)]
            widened = [one.type for one in changes if isinstance(one, WidenColumn)]
            required = any(one.required and len(one.path) > 1 for one in changes if isinstance(one, SetRequired))
            return not required and all(_has_spark_types(one) for one in (*added, *widened))
        case EvolveSpec(added=terms):
            return all(len(term.path) == 1 for term in terms)
        case SetProperties(properties=properties):
            return _has_spark_properties(properties)
        case Transaction(steps=steps, meanwhile=meanwhile):
            return all(spark_takes(one) for one in (*steps, *meanwhile))
    return True


def _spark_reads(table: NewTable) -> bool:
    # Java (1.11): ORC files become unreadable if a partition field is a nested column.
    has_nested_terms = any(len(term.path) > 1 for term in table.partition_by)
    return _has_spark_types(table.columns) and _has_spark_properties(table.properties) and not has_nested_terms


def _has_spark_types(columns: Type) -> bool:
    kinds = list(walk(columns))
    if {kind.name for kind in kinds if isinstance(kind, Simple)} & set(NOT_IN_SPARK):
        return False
    structs = [kind for kind in kinds if isinstance(kind, Struct)]
    if not all(is_plain(one.name) and one.name not in RESERVED for struct in structs for one in struct.fields):
        return False
    # Spark's Arrow result has NULL for a required field of a NULL struct, which pyarrow rejects.
    return not any(one.required for struct in structs if struct is not columns for one in struct.fields)


def _has_spark_properties(properties: Sequence[tuple[str, str]]) -> bool:
    # Java (1.11) has no codec for brotli, and fails on a page of format v2 without values.
    return not {("write.parquet.compression-codec", "brotli"), ("write.parquet.page-version", "v2")} & set(properties)


def random_term(random: Random, columns: Struct) -> Term | None:
    """Return a partition field, or None if no column can be its source."""
    # In Spark, names with dots refer to nested columns.
    paths = [(path, kind) for path, kind in leaves(columns) if all(_can_be_named(name) for name in path)]
    if not paths:
        return None
    path, kind = random.choice(paths)
    return Term(path, random.choice(transforms_of(kind)))


def _can_be_named(name: str) -> bool:
    return name.isidentifier()


MODES = ("copy-on-write", "merge-on-read")
CHOICES: dict[str, tuple[str, ...]] = {
    "write.metadata.metrics.default": ("none", "counts", "truncate(4)", "truncate(1)", "full"),
    "write.target-file-size-bytes": ("1000", "3000"),
    "write.parquet.row-group-size-bytes": ("200", "1000"),
    "write.parquet.page-row-limit": ("2",),
    "write.parquet.page-version": ("v2",),
    "write.parquet.compression-codec": ("uncompressed", "snappy", "gzip", "lz4", "brotli"),
    "write.orc.compression-codec": ("none", "zstd"),
    "write.avro.compression-codec": ("uncompressed", "zstd", "snappy"),
    "write.delete.granularity": ("partition",),
    "write.object-storage.enabled": ("true",),
    "write.metadata.compression-codec": ("gzip",),
    "commit.manifest.min-count-to-merge": ("2", "3"),
    "commit.manifest-merge.enabled": ("false",),
    "commit.manifest.target-size-bytes": ("3000",),
    "write.manifest.compression-codec": ("snappy",),
}


def random_properties(random: Random, profile: Profile) -> tuple[tuple[str, str], ...]:
    """Return some properties of a table."""
    found = {"write.format.default": random.choice(profile.formats)}
    for operation in ("delete", "update", "merge"):
        if random.random() < 0.7:
            found[f"write.{operation}.mode"] = random.choice(MODES)
    for name, values in CHOICES.items():
        if random.random() < 0.15:
            found[name] = random.choice(values)
    return tuple(found.items())

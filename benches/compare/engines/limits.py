"""The limits of the machine: programs of `benches/rust` that do only the necessary work, on one core.

They run in a separate process, which reports its own time.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Target

PACKAGES = ()
# Whether the figures are those that the program prints.
SAYS_FIGURES = True
DEFLATE_LEVEL = "1"


def walk(target: Target) -> Callable[[], dict[str, Any]]:
    """Decompress the manifests of a table, for data and deletes, and visit every entry."""
    return partial(_limit, "walk", str(target.folder))


def walk_of_day(target: Target) -> Callable[[], dict[str, Any]]:
    """Do the same as `walk` for as many manifests as contain the day that `filter_partition` selects."""
    manifests = sorted(target.folder.glob("metadata/*-m*.avro"))
    return partial(_limit, "walk", *map(str, manifests[: target.record.get("F1_manifests", 2)]))


def repack(target: Target) -> Callable[[], dict[str, Any]]:
    """Decompress the manifests of a table and compress them again, at the level that frazil uses."""
    return partial(_limit, "repack", DEFLATE_LEVEL, str(target.folder))


def bandwidth(_: Target) -> Callable[[], dict[str, Any]]:
    return partial(_limit, "bandwidth")


def bucket_int64(_: Target) -> Callable[[], dict[str, Any]]:
    return partial(_limit, "hash-i64")


def bucket_string(_: Target) -> Callable[[], dict[str, Any]]:
    return partial(_limit, "hash-str16")


def deletion_mask(_: Target) -> Callable[[], dict[str, Any]]:
    return partial(_limit, "mask")


def probe_int64(_: Target) -> Callable[[], dict[str, Any]]:
    return partial(_limit, "probe-i64")


def probe_string(_: Target) -> Callable[[], dict[str, Any]]:
    return partial(_limit, "probe-str")


def _limit(name: str, *arguments: str) -> dict[str, Any]:
    program = os.environ["BENCH_LIMITS"]
    done = subprocess.run([program, name, *arguments], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout.splitlines()[-1])
    return {"wall_s": said["cpu_s"], "cpu_s": said["cpu_s"], "rise_mib": said["rss_mib"]}

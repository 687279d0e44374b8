"""What the machine allows: loops of `benches/rust` that do the bare work and nothing else, on one core.

They run in a process of their own, which says how long they took.
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
# The figures are those that the program prints.
SAYS_FIGURES = True
DEFLATE_LEVEL = "1"


def walk(target: Target) -> Callable[[], dict[str, Any]]:
    """Inflate the manifests of a table, data and deletes, and walk every entry."""
    return partial(_limit, "walk", str(target.folder))


def walk_of_day(target: Target) -> Callable[[], dict[str, Any]]:
    """The same for as many manifests as hold the day that `filter_partition` asks for."""
    manifests = sorted(target.folder.glob("metadata/*-m*.avro"))
    return partial(_limit, "walk", *map(str, manifests[: target.record.get("F1_manifests", 2)]))


def repack(target: Target) -> Callable[[], dict[str, Any]]:
    """Inflate the manifests of a table and deflate them again, at the level that frazil writes."""
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

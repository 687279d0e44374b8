"""Tests of concurrent writers of a table in an object store."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import frazil
from support.object_store import object_store

if TYPE_CHECKING:
    from pathlib import Path

WRITERS, APPENDS = 4, 10

WRITER = """
import json, sys
import frazil
number, appends, properties = json.loads(sys.argv[1])
catalog = frazil.load_catalog("c", **properties)
for at in range(appends):
    catalog.load_table("ns.t").append([{"writer": number, "at": at}])
"""


@pytest.mark.slow
def test_appends_of_several_processes_to_a_hadoop_catalog_all_succeed(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    with object_store(tmp_path) as server:
        properties = {"type": "hadoop", "warehouse": "s3://bucket/wh", **server.properties}
        catalog = frazil.load_catalog("c", **properties)
        catalog.create_table("ns.t", pa.schema([("writer", pa.int64()), ("at", pa.int64())]))
        writers = [
            subprocess.Popen(  # noqa: S603 - this Python
                [sys.executable, "-c", WRITER, json.dumps([number, APPENDS, properties])], stderr=subprocess.PIPE
            )
            for number in range(WRITERS)
        ]
        failures = [writer.communicate(timeout=120)[1].decode() for writer in writers]
        assert [writer.returncode for writer in writers] == [0] * WRITERS, failures
        rows = catalog.load_table("ns.t").scan().to_arrow().to_pylist()
    expected = [(number, at) for number in range(WRITERS) for at in range(APPENDS)]
    assert sorted((row["writer"], row["at"]) for row in rows) == expected

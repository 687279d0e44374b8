"""Tests in which Iceberg (Java) continues frazil's tables, and frazil reads and continues the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.java_checks import check_metadata, check_rows
from support.written import CHOSEN, MOR, SUBSET, WRITTEN, Written

if TYPE_CHECKING:
    from pathlib import Path

    from support.java import Java

STEPS: dict[str, str] = {
    "append": "insert into {name} by name select * except (id), id + 1000 as id from {name} where id < 7",
    "delete": "delete from {name} where id % 5 = 1",
    "merge": "merge into {name} t using (select * except (id), if(id % 2 = 0, id, id + 2000) as id from {name} "
    "where id < 12) s on t.id = s.id when matched then update set * when not matched then insert *",
    "files": "call java.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))",
    "deletes": "call java.system.rewrite_position_delete_files(table => '{name}', options => "
    "map('rewrite-all', 'true'))",
    "manifests": "call java.system.rewrite_manifests('{name}')",
    "expire": "call java.system.expire_snapshots(table => '{name}', older_than => timestamp '2100-01-01 00:00:00', "
    "retain_last => 1)",
}

ORDERS = [
    ("delete", "append", "files"),
    ("merge", "manifests", "delete"),
    ("append", "expire", "merge"),
    ("deletes", "manifests", "expire"),
    ("files", "merge", "expire"),
]
"""Each table gets one of these changes, and a different one in each version."""

IN_EVERY_RUN = {"upgraded_v2", "column_added_v3", "spec_evolved_v3"}


@pytest.mark.parametrize(
    "written",
    [written for written in CHOSEN if CHOSEN is not SUBSET or written.identifier in IN_EVERY_RUN],
    ids=lambda written: written.identifier,
)
def test_java_continues_writing(java: Java, warehouse: Path, written: Written) -> None:
    table = written.make(warehouse / "on")
    name = f"java.on.{written.identifier}"
    # Java rejects merge-on-read in v1, where frazil rewrites files.
    table.set_properties(MOR if written.version > 1 else dict.fromkeys(MOR, "copy-on-write"))
    for step in ORDERS[WRITTEN.index(written) % len(ORDERS)]:
        java.sql(STEPS[step].format(name=name))
        table = table.refresh()
        check_rows(java, table, name, signs=not written.known("java"))
    ids = table.scan(selected_fields=("id",)).to_arrow().column("id").to_pylist()
    table.append([{"id": 5000}])
    table.delete(f"id = {min(ids, default=0)}")
    table.update({"id": "id + 1"}, f"id = {max(ids, default=0)}")
    check_rows(java, table, name, signs=not written.known("java"))
    check_metadata(java, table, name, dangling=True)

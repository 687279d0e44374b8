"""Tests of the counts of kept and pruned files in `Plan.explain`."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.paimon._scan import Plan

NOTHING = dict.fromkeys(
    (
        "manifests",
        "manifests_skipped",
        "entries_skipped_by_partition",
        "files",
        "files_skipped_by_bucket",
        "files_skipped_by_stats",
        "files_skipped_by_limit",
        "files_unchanged",
        "files_excluded_by_index",
        "files_planned",
        "deletion_vectors",
        "splits",
        "splits_raw",
        "splits_merged",
    ),
    0,
)


class Native:
    """A native plan with these metrics."""

    def __init__(self, metrics: dict[str, int]) -> None:
        self._metrics = metrics

    def metrics(self) -> dict[str, int]:
        return NOTHING | self._metrics


def plan(**metrics: int) -> Plan:
    native: Any = Native(metrics)
    return Plan(native)


@pytest.mark.parametrize(
    ("metrics", "line"),
    [
        ({}, "0 of 0 files in 0 splits; pruned: nothing; 0 deletion vectors"),
        (
            {"files": 2, "files_planned": 2, "splits": 1, "splits_raw": 1, "level_min": 0, "level_max": 0},
            "2 of 2 files in 1 splits (1 raw); pruned: nothing; 0 deletion vectors",
        ),
        (
            {
                "manifests": 5,
                "manifests_skipped": 2,
                "entries_skipped_by_partition": 7,
                "files": 12,
                "files_skipped_by_bucket": 4,
                "files_skipped_by_stats": 5,
                "files_planned": 3,
                "deletion_vectors": 1,
                "splits": 2,
                "splits_raw": 1,
                "splits_merged": 1,
                "level_min": 0,
                "level_max": 5,
            },
            (
                "3 of 12 files in 2 splits (1 raw, 1 merged) on levels 0 to 5; pruned: 2 of 5 manifests,"
                " 7 entries by partition, 4 files by bucket, 5 files by keys, bounds and indexes; 1 deletion vectors"
            ),
        ),
    ],
)
def test_explain_summarizes_reads_and_skips_in_one_line(metrics: dict[str, int], line: str) -> None:
    assert plan(**metrics).explain() == line
    assert repr(plan(**metrics)) == f"<frazil.paimon.Plan {line}>"

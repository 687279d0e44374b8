"""Run histories by seed: `python -m histories.paimon 17` replays one, `python -m histories.paimon 0 2000` runs many.

With `--twins`, each history is also run on a table of which frazil performs some steps (`twins.py`). A failure is
printed with its seed and a smaller history, unless `--whole` is set.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from histories.paimon.compare import compare
from histories.paimon.generate import random_history
from histories.paimon.oracle import Oracle, OracleError
from histories.paimon.shrink import shrink
from histories.paimon.twins import compare_twins, random_twin, smaller


def main() -> int:
    """Run the histories, and return whether one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("end", type=int, nargs="?")
    parser.add_argument("--whole", action="store_true", help="print the history as it is")
    parser.add_argument("--place", type=Path, help="make the tables in this folder and leave the last one there")
    parser.add_argument("--twins", action="store_true", help="write a twin of each table with frazil")
    asked = parser.parse_args()
    end = asked.first + 1 if asked.end is None else asked.end
    with tempfile.TemporaryDirectory() as folder:
        oracle = Oracle(asked.place or Path(folder) / "warehouse")
        counts: Counter[str] = Counter()
        for seed in range(asked.first, end):
            counts += carry_out(seed, oracle, TWINS if asked.twins else READS, whole=asked.whole)
        oracle.close()
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return int(counts["failed"] > 0)


READS = (random_history, compare, shrink)
TWINS = (random_twin, compare_twins, smaller)


def carry_out(seed: int, oracle: Oracle, kind: Any, *, whole: bool = False) -> Counter[str]:
    """Run one history, print the differences, and return the counts."""
    make, compare_all, make_smaller = kind
    history = make(seed)
    try:
        found = compare_all(history, oracle)
    except OracleError as error:
        print(f"seed {seed}: Java failed: {error}\n{history}")
        return Counter(histories=1, unanswered=1)
    counts = Counter(histories=1, made=int(found.outcome.created), reads=found.reads, unread=found.unread)
    if found.failures:
        counts["failed"] += 1
        failure = found.failures[0]
        print(f"seed {seed}, {len(found.failures)} failures, the first: {failure}", flush=True)
        if whole:
            print(history, flush=True)
        else:
            print(*make_smaller(history, failure, oracle), sep="\n", flush=True)
    return counts


if __name__ == "__main__":
    raise SystemExit(main())

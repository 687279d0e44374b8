"""Compare frazil with limits and peers: `python benches/compare/run.py [--full] [--row B6 ...]`. See README.md.

Prints a table with `ok` or `short` for each row. Exits with 1 if a row could not be measured; with `--strict`, also if
a row is short of its mark.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import documents
import report
import rows
import runner

ROOT = Path(__file__).resolve().parents[2]
BENCH = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "bench"


def main() -> int:
    arguments = parse()
    chosen = rows.select(arguments.row, full=arguments.full)
    setting = runner.Setting(
        tables=str(arguments.tables.resolve()),
        peers={name: str(arguments.environments / name / "bin" / "python") for name in ("peers", "pypaimon")},
        rounds=arguments.rounds or (7 if arguments.full else 5),
        full=arguments.full,
        timeout_s=1800 if arguments.full else 180,
    )
    os.environ["BENCH_LIMITS"] = str(arguments.limits.resolve())
    results = runner.run(chosen, setting)
    verdicts = [report.judge(row, results, setting.index, full=arguments.full) for row in chosen]
    print(report.terminal(verdicts))
    documents.save(BENCH / ("results-full.json" if arguments.full else "results.json"), results)
    if arguments.document:
        documents.document(ROOT / "docs" / "benchmarks.md", verdicts, results)
    failed = (report.OPEN, report.SHORT) if arguments.strict else (report.OPEN,)
    return int(any(verdict.state in failed for verdict in verdicts))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="include all peers, regardless of the time it takes")
    parser.add_argument("--strict", action="store_true", help="fail if a row is short of its mark")
    parser.add_argument("--row", action="append", default=[], help="only these rows; B9 also means B9v and B9x2")
    parser.add_argument("--document", action="store_true", help="write docs/benchmarks.md and its picture")
    parser.add_argument("--rounds", type=int, help="maximum number of rounds")
    parser.add_argument("--tables", type=Path, default=os.environ.get("BENCH_TABLES") or BENCH / "tables")
    parser.add_argument("--environments", type=Path, default=BENCH, help="the folder of the environments of peers")
    parser.add_argument("--limits", type=Path, default=BENCH / "limits", help="the limits program of benches/rust")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

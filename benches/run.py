"""Time opening, planning and reading: `python benches/run.py [folder of tables ...]`.

Without folders it times the golden tables, which are small: what is measured is the cost of a table, not of a row.
With folders (for example of the benchmark tables, one table in each) it also says how much memory each step took.
CPU seconds are of all threads; every line is the best of several runs in one fresh process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden" / "iceberg"
GOLDEN_TABLES = ("del_pos_file_parquet_part", "dv_spark_parquet_part", "del_eq_sequence", "pevo_v2_three_specs")
STEPS = ("open", "plan", "read")

# One process for each measurement, so that peak memory and caches are its own.
CODE = """
import json, resource, sys, time
import pyarrow
import frazil
step, path, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = frazil.load_table(path)
def run():
    if step == "open":
        return len(frazil.load_table(path).snapshots())
    if step == "plan":
        return sum(batch.num_rows for batch in table.scan().plan().to_arrow_batch_reader())
    return sum(batch.num_rows for batch in table.scan().to_arrow_batch_reader())
best = None
for _ in range(runs):
    wall, cpu = time.perf_counter(), time.process_time()
    count = run()
    took = (time.perf_counter() - wall, time.process_time() - cpu)
    best = min(best or took, took)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"count": count, "wall": best[0], "cpu": best[1], "mib": (peak - base) / 1024}))
"""


def main() -> int:
    """Time the steps on every table."""
    folders = [Path(argument) for argument in sys.argv[1:]] or [GOLDEN / name for name in GOLDEN_TABLES]
    runs = 3 if len(sys.argv) > 1 else 20
    print(f"{os.cpu_count()} processors, best of {runs}")
    print(f"{'table':<32} {'step':<5} {'count':>9} {'wall ms':>10} {'cpu ms':>10} {'peak MiB':>9}")
    failed = False
    for folder in folders:
        for step in STEPS:
            command = [sys.executable, "-c", CODE, step, str(folder), str(runs)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own text
            if run.returncode:
                failed = True
                print(f"{folder.name:<32} {step:<5} failed: {run.stderr.strip().splitlines()[-1]}")
                continue
            got = json.loads(run.stdout)
            times = f"{got['wall'] * 1000:>10.2f} {got['cpu'] * 1000:>10.2f}"
            print(f"{folder.name:<32} {step:<5} {got['count']:>9} {times} {got['mib']:>9.1f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

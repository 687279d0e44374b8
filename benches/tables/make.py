"""Write benchmark tables: `python benches/tables/make.py --out FOLDER [--tables W,T1,...] [--scale X]`.

Iceberg, for planning (without data files):
  W     10 files, for warm-up
  T1    1,000,000 files in 200 manifests; 20 columns with full metrics, day(ts) and bucket(64, id)
  T1s   100,000 files
  T2    100,000 files, 20,000 position delete files, 2,000 equality delete files
  T2p   T2 without the equality delete files
  TH    10 files and 5,000 snapshots

Iceberg, for reading (20,000,000 rows of 5 columns in 20 files):
  T3r   without deletes
  T3    10 % of the rows deleted by position delete files
  T4    the same rows deleted by deletion vectors in a Puffin file
  T5    1,000,000 equality deletes by an integer
  T5b   1,000,000 equality deletes by a string

Paimon:
  P20k  20,000 files of 10 columns with full statistics in 200 manifests and 100 partitions, without data files
  PM    one bucket of a primary-key table: 5 sorted runs of level 0 x 1,000,000 rows whose keys overlap
  PA    the rows of PM without a key

The same arguments produce the same bytes. `FOLDER/index.json` records the location of each table, the expected numbers
of files and rows, and the filters for planning. An existing table of the same size is not rewritten.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import paimon
import wide

import rows

if TYPE_CHECKING:
    from collections.abc import Callable

RECIPE = 1  # another number regenerates every table
WIDE = {
    "W": wide.Size(10),
    "T1": wide.Size(1_000_000),
    "T1s": wide.Size(100_000),
    "T2": wide.Size(100_000, position_deletes=20_000, equality_deletes=2_000),
    "T2p": wide.Size(100_000, position_deletes=20_000),
    "TH": wide.Size(10, snapshots=5_000),
}


def makers(out: Path, scale: float) -> dict[str, tuple[Path, Callable[[Path], dict[str, Any]]]]:
    """Return the folder and the writer of each table by name."""
    data = rows.Rows.scaled(out / "shared_data", scale)
    database = out / "bench.db"
    return {
        **{name: (out / name, partial(wide.make, size=size.scaled(scale))) for name, size in WIDE.items()},
        **{name: (out / name, partial(rows.make, rows=data, name=name)) for name in rows.KINDS},
        "P20k": (database / "p20k", partial(paimon.make_planned, scale=scale)),
        "PM": (database / "pm", partial(paimon.make_rows, scale=scale, merged=True)),
        "PA": (database / "pa", partial(paimon.make_rows, scale=scale, merged=False)),
    }


def main() -> None:
    """Write the requested tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--tables", help="comma-separated names; all by default")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the full size; 0.02 is enough for a test")
    arguments = parser.parse_args()
    out, scale = arguments.out.resolve(), arguments.scale
    known = makers(out, scale)
    names = arguments.tables.split(",") if arguments.tables else list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown tables {', '.join(unknown)}; known tables are {', '.join(known)}")
    out.mkdir(parents=True, exist_ok=True)
    index_file = out / "index.json"
    index = json.loads(index_file.read_text()) if index_file.exists() else {}
    for name in names:
        folder, make = known[name]
        made_by = {"recipe": RECIPE, "scale": scale}
        if folder.exists() and index.get(name, {}).get("made_by") == made_by:
            print(f"{name}: already exists", flush=True)
            continue
        start = time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        index[name] = {"made_by": made_by, **make(folder)}
        index_file.write_text(json.dumps(index, indent=1))
        print(f"{name}: {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()

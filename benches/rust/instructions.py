"""Count the instructions of each kernel: `python benches/rust/instructions.py [NAME ...]`.

This guard needs Valgrind but no clock. It fails if a kernel takes more instructions than `baselines/instructions.tsv`
records. The numbers apply to one compiler and one profile; for another compiler they are only printed. If more
instructions are justified, `FRAZIL_ACCEPT_BASELINES=1` updates the baselines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
BASELINES = FOLDER / "baselines" / "instructions.tsv"
ACCEPT = "FRAZIL_ACCEPT_BASELINES"
TOLERANCE = 0.03
# The number of runs, of which the minimum counts, because hash tables have a different seed in each.
RUNS = 4
PROFILE = "profiling"
COUNTED = "frazil_counted"


def main() -> int:
    """Count, and compare or accept."""
    if not shutil.which("valgrind"):
        print("valgrind is not installed: instructions are not counted")
        return 0
    binary = build()
    names = sys.argv[1:] or run(str(binary)).split()
    compiler = run("rustc", "--version").strip()
    known_compiler, baselines = read()
    now = {name: min(count(binary, name) for _ in range(RUNS)) for name in names}
    exceeded = []
    for name, instructions in now.items():
        baseline = baselines.get(name)
        ratio = f"{instructions / baseline:8.3f}" if baseline else "       -"
        print(f"{name:<28} {instructions:>14,} {ratio}", flush=True)
        if baseline is None or instructions > baseline * (1 + TOLERANCE):
            exceeded.append(f"  {name}: {instructions:,} instructions, baseline {baseline or 'none'}")
    if os.environ.get(ACCEPT):
        write(compiler, baselines | now)
        return 0
    if compiler != known_compiler:
        print(f"baselines are for {known_compiler}, but this is {compiler}: not compared")
        return 0
    if exceeded:
        print(f"kernels exceed their baseline of {BASELINES} by more than {TOLERANCE:.0%}:", *exceeded, sep="\n")
        print(f"If this is justified, update them: {ACCEPT}=1 python benches/rust/instructions.py")
    return bool(exceeded)


def build() -> Path:
    """Build the program that runs one kernel, and return its path."""
    command = ["cargo", "build", "--locked", "--quiet", "--profile", PROFILE, "--package", "frazil-benches"]
    subprocess.run([*command, "--example", "once"], check=True, cwd=FOLDER)
    target = re.search(r'"target_directory":"([^"]+)"', run("cargo", "metadata", "--no-deps", "--format-version=1"))
    assert target
    return Path(target[1]) / PROFILE / "examples" / "once"


def count(binary: Path, kernel: str) -> int:
    """Return the instructions of one run, without those for creating the input."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--tool=callgrind", f"--toggle-collect={COUNTED}", f"--callgrind-out-file={folder}/out"]
        command = ["valgrind", *options, str(binary), kernel]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    assert collected, done.stderr
    return int(collected[1])


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=FOLDER).stdout


def read() -> tuple[str, dict[str, int]]:
    """Return the compiler of the baselines, and the baselines."""
    if not BASELINES.exists():
        return "nothing", {}
    compiler, *lines = BASELINES.read_text().splitlines()
    pairs = [line.split("\t") for line in lines]
    return compiler, {name: int(instructions) for name, instructions in pairs}


def write(compiler: str, baselines: dict[str, int]) -> None:
    lines = [compiler, *(f"{name}\t{instructions}" for name, instructions in baselines.items())]
    BASELINES.write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    sys.exit(main())

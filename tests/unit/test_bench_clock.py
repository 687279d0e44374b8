"""Tests of the clock of `benches/python`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benches" / "python"))

from clock import Clock
from clock import __file__ as clock_file

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")

BURN_S = 0.2
BURN = f"""
import time
start = time.process_time()
while time.process_time() < start + {BURN_S}: pass
print("burnt", flush=True)
"""
WAIT = "input()"
SLACK_S = 0.05  # CPU times of processes have a resolution of a hundredth of a second.


def test_children_that_ended_count() -> None:
    with Clock() as clock:
        subprocess.run([sys.executable, "-c", BURN], check=True, capture_output=True)  # noqa: S603
    assert clock.cpu_s > BURN_S - SLACK_S


@pytest.mark.parametrize("below", [False, True], ids=["child", "grandchild"])
def test_descendants_that_run_count(below: bool) -> None:  # noqa: FBT001
    code = f"{WAIT}\n{BURN}\n{WAIT}"
    if below:
        code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdin is not None
        assert process.stdout is not None
        with Clock() as clock:
            process.stdin.write(b"go\n")
            process.stdin.flush()
            process.stdout.readline()
        assert clock.cpu_s > BURN_S - SLACK_S
        process.communicate(b"done\n")


def test_sleep_does_not_count_as_cpu_time() -> None:
    with Clock() as clock:
        subprocess.run(["sleep", "0.2"], check=True)  # noqa: S607
    assert clock.cpu_s < clock.wall_s / 2


MEMORY = """
from clock import Clock
from clock import __file__ as clock_file
kept = bytearray(b"x" * (64 << 20))
with Clock() as clock:
    held = bytearray(b"x" * (32 << 20))
    del held
print(len(kept) == 64 << 20, clock.rise_mib)
"""


def test_memory_is_the_peak_increase_even_if_freed_later() -> None:
    # A process that reuses memory that it has freed does not grow.
    command = [sys.executable, "-c", MEMORY]
    done = subprocess.run(command, cwd=Path(clock_file).parent, capture_output=True, text=True, check=True)  # noqa: S603
    kept, rise_mib = done.stdout.split()
    assert kept == "True"
    assert 30 < float(rise_mib) < 90

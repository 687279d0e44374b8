"""Copy the checkout into the cache of CI, where builds survive from run to run.

The copy has a fixed place on a machine, so that a fresh clone finds the dependencies built. Files are compared by
content, and a file that differs gets the current time. Cargo compares times, so it rebuilds exactly the crates that
changed, even if the files of the clone are older than the build.
"""

from __future__ import annotations

import fcntl
import filecmp
import os
import platform
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILDS = ("target", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "spark-warehouse")
"""The folders that the copy keeps although the checkout does not have them."""

CACHES = ("__pycache__",)

NATIVE = "python/frazil/_native.abi3.so"
COPY = "fräzil frazil"
"""The name of the copy: a space, a letter beyond ASCII and the name of the package find unquoted paths."""


def cache_folder(checkout: Path) -> Path:
    """Return the folder of the cache: `FRAZIL_CI_CACHE`, or `frazil/ci` in the user's cache folder.

    Without a home folder, it is in the checkout.
    """
    if chosen := os.environ.get("FRAZIL_CI_CACHE"):
        return Path(chosen).absolute()
    if user := os.environ.get("XDG_CACHE_HOME"):
        return Path(user).absolute() / "frazil" / "ci"
    try:
        return Path.home() / ".cache" / "frazil" / "ci"
    except RuntimeError:
        return checkout / "target" / "ci"


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Hold the cache, so that two runs do not change one copy; wait for the other run."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another run that uses {cache}", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def copy_checkout(checkout: Path, cache: Path) -> tuple[Path, bool]:
    """Make the copy equal to the checkout, with uncommitted changes; return it, and whether it has builds."""
    copy = cache / COPY
    copy.mkdir(parents=True, exist_ok=True)
    forget_other_interpreters(cache, copy)
    warm = (copy / "target" / "debug").is_dir() and (copy / ".venv").is_dir()
    wanted = files_of(checkout)
    for path in list(walk(copy)):
        if str(path.relative_to(copy)) not in wanted:
            remove(path)
    for name in wanted:
        refresh(checkout / name, copy / name)
    return copy, warm


def files_of(checkout: Path) -> set[str]:
    """Return the files that git has or would commit; in the copy, which is not a repository, all files but builds."""
    if not (checkout / ".git").exists():
        return {str(path.relative_to(checkout)) for path in walk(checkout)}
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    listed = subprocess.run(command, cwd=checkout, capture_output=True, check=True).stdout
    return {name for name in os.fsdecode(listed).split("\0") if name and (checkout / name).is_file()}


def walk(copy: Path) -> Iterator[Path]:
    """Yield all files of the copy but builds, and the symbolic links to folders."""
    for folder, folders, files in os.walk(copy):
        here = Path(folder)
        folders[:] = [name for name in folders if name not in (BUILDS if here == copy else CACHES)]
        yield from (here / name for name in files if str((here / name).relative_to(copy)) != NATIVE)
        yield from (here / name for name in folders if (here / name).is_symlink())


def refresh(source: Path, target: Path) -> None:
    """Copy a file if its content or its permission to run differs, with the current time."""
    if target.is_file() and filecmp.cmp(source, target, shallow=False):
        if os.access(source, os.X_OK) == os.access(target, os.X_OK):
            return
    elif target.is_dir():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    shutil.copymode(source, target)


def remove(path: Path) -> None:
    """Remove a file and the folders that it leaves empty, in which tests could find modules that no longer exist."""
    path.unlink()
    for folder in path.parents:
        try:
            folder.rmdir()
        except OSError:
            return


def forget_other_interpreters(cache: Path, copy: Path) -> None:
    """Remove the environments if this interpreter did not make them: their links lead to another one, or to none."""
    this = f"{sys.base_prefix} {platform.python_version()} {platform.machine()} {copy}"
    stamp = cache / "interpreter"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != this:
        for environment in (copy / ".venv", *(copy / "target").glob("*/bin")):
            shutil.rmtree(environment if environment.name == ".venv" else environment.parent, ignore_errors=True)
        stamp.write_text(this, encoding="utf-8")

"""Create an environment of peers: `python benches/compare/install.py FOLDER REQUIREMENTS...`.

A peer that cannot be installed is not a failure: it is reported here, and its rows of the benchmark show it as missing.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path


def main() -> None:
    folder, *files = map(Path, sys.argv[1:])
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    for file in files:
        if pip_install(python, "--requirement", str(file)):
            continue
        print(f"{file} cannot be installed as a whole; trying each line separately", file=sys.stderr)
        lines = [line.strip() for line in file.read_text().splitlines()]
        for requirement in filter(None, (line.partition("#")[0].strip() for line in lines)):
            if not pip_install(python, requirement):
                print(f"{requirement} cannot be installed; its rows will report this", file=sys.stderr)


def pip_install(python: Path, *what: str) -> bool:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    main()

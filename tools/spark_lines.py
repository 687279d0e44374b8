"""Print the lowest and the latest pyspark minor releases that the extra `spark` allows, except that of the tools."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = re.compile(r"pyspark>=(\d+\.\d+),<(\d+)\.(\d+)")


def main() -> None:
    """Read the range from the metadata, and the release used by the tools from their constraints."""
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirement = next(one for one in metadata["project"]["optional-dependencies"]["spark"] if "pyspark" in one)
    found = REQUIREMENT.fullmatch(requirement)
    if found is None:
        message = f"pyproject.toml: the extra spark requires {requirement!r}, expected pyspark>=A.B,<C.D"
        raise SystemExit(message)
    constraints = (ROOT / "tools" / "constraints.txt").read_text(encoding="utf-8")
    tools = re.search(r"^pyspark==(\d+\.\d+)", constraints, re.MULTILINE)
    lines = [found[1], f"{found[2]}.{int(found[3]) - 1}"]
    print(" ".join(line for line in dict.fromkeys(lines) if tools is None or line != tools[1]))


if __name__ == "__main__":
    main()

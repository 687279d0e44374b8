"""Write the documentation pages that list facts about the library: features and table properties.

`python tools/document_facts.py` writes the pages; with `--check` it prints those that are outdated and exits with 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from frazil import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCS = Path(__file__).resolve().parent.parent / "docs"

SPEC_MAP = """# Specification map

The parts of the specifications that frazil supports, section by section.
Each section lists the modules that implement it (below `rust/` unless they are Python files), the golden tables or
tests that prove it, and the support for reading and writing.
Golden tables are in `tests/golden` and in the larger collection next to the repository.
`python tools/document_facts.py` writes this page from `features.rs` of both crates.

## Iceberg

Sections of the [Iceberg table specification](https://iceberg.apache.org/spec/).

{iceberg}

## Paimon

Sections of the [Paimon specification](https://paimon.apache.org/docs/1.4/concepts/spec/overview/) and, for topics that
it does not cover, of the Paimon documentation.

{paimon}
"""

PROPERTIES = """# Table properties

The Iceberg table properties that frazil knows.
Values are checked when a property is set.
Unknown properties are kept; a name that is probably misspelt, such as `write.delet.mode`, emits a `UserWarning`.
Properties that are not used are for other engines.
`python tools/document_facts.py` writes this page from `rust/iceberg/src/properties.rs`.

{properties}
"""


def main() -> int:
    """Write the pages, or compare them with the current content."""
    pages = {DOCS / "spec-map.md": spec_map(), DOCS / "properties.md": properties()}
    if "--check" not in sys.argv[1:]:
        for path, text in pages.items():
            path.write_text(text, encoding="utf-8")
        return 0
    old = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in old:
        print(f"error: {path.relative_to(DOCS.parent)} is outdated: run tools/document_facts.py")
    return bool(old)


def spec_map() -> str:
    """Return the page of features."""
    return SPEC_MAP.format(iceberg=features(_native.iceberg_features()), paimon=features(_native.paimon_features()))


def features(found: list[_native.SpecFeature]) -> str:
    """Return the feature table of one format."""
    rows = [(f.section, code(f.modules), code(f.proof), f.read, f.write) for f in found]
    return table(("section", "modules", "proof", "read", "written"), rows)


def properties() -> str:
    """Return the page of table properties."""
    rows = [
        (
            code([f"{known.key}<column>" if known.is_of_column else known.key]),
            known.values,
            "" if known.default is None else code([known.default]),
            "yes" if known.is_used else "no",
            known.doc,
        )
        for known in _native.table_properties()
    ]
    return PROPERTIES.format(properties=table(("property", "values", "default", "used", "meaning"), rows))


def code(names: list[str]) -> str:
    """Return names as code."""
    return ", ".join(f"`{name}`" for name in names)


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ("---",) * len(header), *rows))


if __name__ == "__main__":
    sys.exit(main())

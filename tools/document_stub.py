"""Write the docstrings of the stub `_native.pyi` from those of the native module, which Rust documents.

`python tools/document_stub.py` writes them; with `--check` it prints what is outdated or missing and exits with 1.
A definition that the native module does not document, such as a protocol, keeps the docstring in the stub.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frazil import _native

if TYPE_CHECKING:
    from collections.abc import Iterator

STUB = Path(__file__).resolve().parent.parent / "python" / "frazil" / "_native.pyi"
COLUMNS = 120

Definition = ast.ClassDef | ast.FunctionDef


def main() -> int:
    """Write the stub, or compare it with the native module."""
    text = STUB.read_text(encoding="utf-8")
    documented, missing = document(text)
    for name in missing:
        print(f"error: {STUB.name}: {name} has no documentation: document it in Rust")
    if "--check" not in sys.argv[1:]:
        STUB.write_text(documented, encoding="utf-8")
    elif documented != text:
        print(f"error: {STUB.name} is outdated: run tools/document_stub.py")
        return 1
    return bool(missing)


def document(text: str) -> tuple[str, list[str]]:
    """Return a stub with docstrings, and the names of the definitions that have none."""
    lines = text.split("\n")
    missing = []
    for name, node in sorted(definitions(ast.parse(text).body), key=lambda found: -found[1].lineno):
        written = ast.get_docstring(node)
        summary = native_summary(name, is_function=isinstance(node, ast.FunctionDef)) or written
        if summary is None:
            missing.append(name)
            continue
        first = node.body[0]
        end = first.end_lineno or first.lineno
        indent = " " * (node.col_offset + 4)
        docstring = "\n".join(docstring_lines(summary, indent))
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            # The body is a docstring or an ellipsis, perhaps at the end of the line of the signature.
            head = lines[first.lineno - 1][: first.col_offset].rstrip()
            lines[first.lineno - 1 : end] = [*([head] if head else []), docstring]
        else:
            decorators = getattr(first, "decorator_list", [])
            lines.insert(min(one.lineno for one in [first, *decorators]) - 1, docstring)
    return "\n".join(lines), missing[::-1]


def definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield the classes, functions and methods of a stub with their qualified names."""
    for node in body:
        if isinstance(node, Definition):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body, f"{prefix}{node.name}.")


def native_summary(name: str, *, is_function: bool) -> str | None:
    """Return the first paragraph of the documentation of a native object; None if it has none."""
    found: Any = _native
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, type) else getattr(found, part, None)
    doc = getattr(getattr(found, "__func__", found), "__doc__", None)
    # Python itself documents special methods such as `__len__`.
    if not doc or name.rpartition(".")[2].startswith("__"):
        return None
    summary = " ".join(doc.split("\n\n")[0].split())
    summary = re.sub(r"\[(`[^`]*`)\](\([^)]*\))?", r"\1", summary).replace("`Self::", "`")
    return imperative(summary) if is_function else summary


def imperative(sentence: str) -> str:
    """Return a sentence in the mood of Python: Rust's "Returns …" becomes "Return …"."""
    verb, space, rest = sentence.partition(" ")
    if verb.endswith("ies"):
        verb = verb.removesuffix("ies") + "y"
    elif verb.endswith(("ches", "shes", "sses", "xes")):
        verb = verb.removesuffix("es")
    elif verb.endswith("s") and not verb.endswith("ss"):
        verb = verb.removesuffix("s")
    return verb + space + rest


def docstring_lines(summary: str, indent: str) -> list[str]:
    """Return the lines of a docstring, wrapped if it is long."""
    quote = '"""'
    if len(indent) + len(summary) + 2 * len(quote) <= COLUMNS:
        return [f"{indent}{quote}{summary}{quote}"]
    # The formatter joins a single line and its closing quotes even if the result is too long.
    wrapped = textwrap.wrap(
        quote + summary,
        COLUMNS - len(quote),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [*wrapped, indent + quote]


if __name__ == "__main__":
    sys.exit(main())

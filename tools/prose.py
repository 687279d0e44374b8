"""Extract the prose of this repository: docstrings, comments, messages and Markdown, one passage at a time."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parent.parent

Kind = Literal["doc", "comment", "message", "markdown"]

_WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z`{'(]")
_ITEM = re.compile(r"[*-] |\d+\. |\*{0,2}\w+: |#|\|")
_LINT = re.compile(r"#\s*(noqa|type:|ruff|!|fmt:)")
_RUST_TOKEN = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<raw>b?r(?P<hash>#*)".*?"(?P=hash))"""
    r"""|(?P<string>b?"(?:[^"\\]|\\.)*")|(?P<char>b?'(?:[^'\\]|\\.[^']*)')""",
    re.DOTALL,
)
_RUST_COMMENT = re.compile(r"\s*(?P<mark>///|//!|//)(?!/) ?(?P<text>.*)")
_TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*(?:pub\S* )?mod \w+ \{", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, a list item or a message, at lines `first` to `last` of a file, counted from 1."""

    path: Path
    first: int
    last: int
    kind: Kind
    text: str

    @property
    def sentence(self) -> str:
        """The text in one line."""
        return " ".join(self.text.split())


def passages(paths: Iterable[Path]) -> Iterator[Passage]:
    """Yield the passages of Rust, Python and Markdown files; other files have none."""
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".rs":
            yield from _rust(path, text)
        elif path.suffix in {".py", ".pyi"}:
            yield from _python(path, text)
        elif path.suffix == ".md":
            yield from _markdown(path, text)


def sources() -> list[Path]:
    """Return the files of the repository that hold prose, except data of tests.

    Folders are walked without git, because CI checks a copy that git ignores.
    """
    folders = (".github", "benches", "docs", "fuzz", "python", "rust", "tests", "tools")
    found = [*ROOT.glob("*.md"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    golden = ROOT / "tests" / "golden"
    return [path for path in found if path.suffix in {".rs", ".py", ".pyi", ".md"} and not path.is_relative_to(golden)]


def _is_test(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts if path.is_relative_to(ROOT) else path.parts
    return "tests" in parts or path.stem.endswith(("tests", "_test"))


def _paragraphs(path: Path, first: int, lines: list[str], kind: Kind) -> Iterator[Passage]:
    """Split lines of documentation at empty lines and list items; leave out fenced code."""
    start, gathered, fenced = 0, list[str](), False
    for number, line in enumerate([*lines, ""]):
        stripped = line.strip()
        fence = stripped.startswith(("```", "~~~"))
        fenced ^= fence
        code = not stripped or fence or fenced
        if gathered and (code or _ITEM.match(stripped)):
            yield Passage(path, first + start, first + number - 1, kind, "\n".join(gathered))
            gathered = []
        if not code:
            start = start if gathered else number
            gathered.append(line)


def _without_examples(lines: list[str]) -> list[str]:
    """Blank the examples of a docstring with their output."""
    kept, example = list[str](), False
    for line in lines:
        example = bool(line.strip()) and (example or line.strip().startswith(">>>"))
        kept.append("" if example else line)
    return kept


def _rust(path: Path, text: str) -> Iterator[Passage]:
    lines = text.split("\n")
    comments = list[tuple[int, re.Match[str]]]()
    shipped = 0 if _is_test(path) else _end_of_shipped_code(text)
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    for token in _RUST_TOKEN.finditer(text):
        number = bisect(starts, token.start()) - 1
        if token["line"] is not None:
            if whole := _RUST_COMMENT.fullmatch(lines[number]):
                comments.append((number, whole))
            else:
                yield from _paragraphs(path, number + 1, [token["line"].lstrip("/!").strip()], "comment")
        elif token["string"] is not None and token.start() < shipped:
            content = re.sub(r"\\\n\s*", "", token["string"].lstrip("b")[1:-1])
            if _WORDS.search(content):
                yield Passage(path, number + 1, number + 1 + token.group().count("\n"), "message", content)
    for group in _consecutive(comments):
        first, comment = group[0]
        kind: Kind = "comment" if comment["mark"] == "//" else "doc"
        texts = [one["text"] for _, one in group]
        yield from _paragraphs(path, first + 1, texts, kind)


def _consecutive(comments: list[tuple[int, re.Match[str]]]) -> Iterator[list[tuple[int, re.Match[str]]]]:
    """Split comments, each with its line, into those on consecutive lines with the same mark."""
    group = list[tuple[int, re.Match[str]]]()
    for number, comment in comments:
        if group and (number != group[-1][0] + 1 or comment["mark"] != group[-1][1]["mark"]):
            yield group
            group = []
        group.append((number, comment))
    if group:
        yield group


def _end_of_shipped_code(text: str) -> int:
    found = _TEST_MODULE.search(text)
    return found.start() if found else len(text)


def _python(path: Path, text: str) -> Iterator[Passage]:
    tree = ast.parse(text)
    lines = text.split("\n")
    docs = set[tuple[int, int]]()
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for index, statement in enumerate(body):
            value = statement.value if isinstance(statement, ast.Expr) else None
            if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
                continue
            if (index == 0 and isinstance(node, holders)) or isinstance(body[index - 1], ast.AnnAssign | ast.Assign):
                docs.add((value.lineno, value.col_offset))
                last = value.end_lineno or value.lineno
                inner = lines[value.lineno - 1 : last]
                inner[0] = re.sub(r'^\s*[rR]?"""', "", inner[0])
                inner[-1] = re.sub(r'"""\s*(#.*)?$', "", inner[-1])
                yield from _paragraphs(path, value.lineno, _without_examples(inner), "doc")
    yield from _python_comments(path, text, lines)
    if not _is_test(path):
        yield from _python_messages(path, tree, text, docs)


def _python_comments(path: Path, text: str, lines: list[str]) -> Iterator[Passage]:
    group: list[str] = []
    first = column = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or _LINT.match(token.string):
            continue
        row, offset = token.start
        content = token.string.lstrip("#").removeprefix(" ").split("# noqa")[0].rstrip()
        whole = lines[row - 1].lstrip().startswith("#")
        if group and not (whole and row == first + len(group) and offset == column):
            yield from _paragraphs(path, first, group, "comment")
            group = []
        if whole:
            if not group:
                first, column = row, offset
            group.append(content)
        else:
            yield from _paragraphs(path, row, [content], "comment")
    yield from _paragraphs(path, first, group, "comment")


def _python_messages(path: Path, tree: ast.Module, text: str, docs: set[tuple[int, int]]) -> Iterator[Passage]:
    inside, lines = set[int](), text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside.update(id(child) for child in ast.walk(node) if child is not node)
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr | ast.Constant) or id(node) in inside:
            continue
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            continue
        if (node.lineno, node.col_offset) in docs:
            continue
        content = _content(_segment(lines, node))
        if _WORDS.search(content):
            yield Passage(path, node.lineno, node.end_lineno or node.lineno, "message", content)


def _segment(lines: list[str], node: ast.expr) -> str:
    """Return the source of a literal; offsets of nodes count bytes."""
    last = node.end_lineno or node.lineno
    found = lines[node.lineno - 1 : last]
    found[-1] = found[-1].encode()[: node.end_col_offset].decode()
    found[0] = found[0].encode()[node.col_offset :].decode()
    return "\n".join(found)


def _content(segment: str) -> str:
    """Join the parts of a literal as they are written, without quotes."""
    parts = list[str]()
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({segment})").readline):
            if token.type == tokenize.STRING:
                body = token.string.lstrip("rRbBfFuU")
                width = 3 if body.startswith(('"""', "'''")) else 1
                parts.append(body[width:-width])
    except tokenize.TokenError:
        return ""
    return "".join(parts)


def _markdown(path: Path, text: str) -> Iterator[Passage]:
    fenced = False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and line.strip():
            yield Passage(path, number, number, "markdown", line)

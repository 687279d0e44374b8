"""Check the prose of docstrings, comments, messages and Markdown against a table of forms to avoid.

`python tools/check_prose.py` prints each passage with a form of `FORMS`, and exits with 1 if there is one. With
`--rooms` it prints counts by folder instead; with paths it checks only these files.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prose import ROOT, Kind, passages, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prose import Passage

SENTENCE_WORDS = 30
MARKDOWN_COLUMNS = 120
TEXT: tuple[Kind, ...] = ("doc", "comment", "message", "markdown")
PROSE: tuple[Kind, ...] = ("doc", "comment", "markdown")


@dataclass(frozen=True)
class Form:
    """A form to avoid, as a regular expression, and the plain form to use instead."""

    pattern: str
    instead: str
    kinds: tuple[Kind, ...] = field(default=TEXT, kw_only=True)


FORMS = (
    Form(r"(?<!\b[Tt]here )\b(is|are|was|were) no (?!longer|more|less|other)\b", "is not a …, has no …, does not …"),
    Form(r"(?<!\b[Tt]here )\b(is|are) none\b(?! of|,)", "is not one, does not exist"),
    Form(r"\bthere (is|are) not\b", "does not exist"),
    Form(r"^Gives?\b", "Return …", kinds=("doc",)),
    Form(r"\b(lies|lie)\b", "is, are"),
    Form(r"\b(stands|stand)\b(?! (for|alone))", "is, are"),
    Form(r"\bbeside\b", "next to, besides"),
    Form(r"(?<!left )\bbehind\b(?! (a|UTC))", "after"),
    Form(r"\bso many\b", "that many, or the number"),
    Form(r"(^|[.;:] |because |that )([Ww]hoever|[Ww]hatever)\b", "any …, everything that …"),
    Form(r"\bnames (it|them|the|a|an|no|its|one|another)\b", "references, identifies, contains"),
    Form(r"\blook(s|ed) at\b", "inspect, read, examine"),
    Form(r"\bpassed over\b", "skipped"),
    Form(r"\bworth (it|its)\b", "name the benefit"),
    Form(r"\b(goes|go)\b(?! (through|back|beyond|above|to|into|from|on|up|down|over|via))", "is removed"),
    Form(r"\bcomes\b(?! (from|first|last|with|before|after|next))", "is added"),
    Form(r"\banew\b", "again"),
    Form(r"\bof its own\b", "a separate …"),
    Form(r"\bby hand\b", "manually, or explicitly"),
    Form(r"\bfor nothing\b", "in vain, or without effect"),
    Form(r"\bmeanwhile\b", "concurrently, since then"),
    Form(r"\bno text\b", "not a string"),
    Form(r"\bwhole number", "integer"),
    Form(r"^What (?!is|are|was|were|does|do|can|happens)\w+", "a noun: The …", kinds=PROSE),
    Form(r"[.;:] What (?!is|are|was|were|does|do|can|happens)\w+", "a noun: The …", kinds=PROSE),
    Form(r"^(Their|Theirs|Those|They|It|He|His)\b", "name the noun", kinds=("comment",)),
    Form(r"\b(hard|easy|cheap|dear) to (come|get) by\b", "rare, common"),
)
_FORMS = [(re.compile(form.pattern), form) for form in FORMS]
_CODE = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]*>")
_ALIGNED = re.compile(r"\n +(?=\S+ {2,}\S)")
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+")


def main() -> int:
    """Check the files in the arguments, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, help="files to check; all by default")
    parser.add_argument("--rooms", action="store_true", help="print the number of findings by folder")
    arguments = parser.parse_args()
    known = set(sources())
    paths = [path.resolve() for path in arguments.paths] or sorted(known)
    found = [(passage, why) for passage in passages(path for path in paths if path in known) for why in faults(passage)]
    if arguments.rooms:
        rooms = Counter("/".join(passage.path.relative_to(ROOT).parts[:2]) for passage, _ in found)
        for room, count in sorted(rooms.items()):
            print(f"{count:5} {room}")
    else:
        for passage, why in found:
            print(f"{passage.path.relative_to(ROOT)}:{passage.first}: {why}: {passage.sentence[:160]}")
    print(f"prose: {len(found)} findings" if found else "prose: no findings")
    return bool(found)


def faults(passage: Passage) -> Iterator[str]:
    """Yield what to change in a passage."""
    if passage.path == Path(__file__).resolve():
        return
    words = _CODE.sub("`code`", " ".join(_ALIGNED.sub(". ", passage.text).split()))
    for pattern, form in _FORMS:
        if passage.kind in form.kinds and (match := pattern.search(words)):
            yield f"instead of “{match.group().strip()}” write: {form.instead}"
    if passage.kind == "message":
        return
    table = passage.text.lstrip().startswith("|")
    longest = max((len(sentence.split()) for sentence in _SENTENCE_END.split(words)), default=0)
    if longest > SENTENCE_WORDS and not table:
        yield f"a sentence of {longest} words (at most {SENTENCE_WORDS})"
    if passage.kind == "markdown" and not table and len(passage.text) > MARKDOWN_COLUMNS:
        yield f"a line of {len(passage.text)} columns (at most {MARKDOWN_COLUMNS})"


if __name__ == "__main__":
    sys.exit(main())

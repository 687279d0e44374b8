"""Draws the rows: a bar for frazil and a dot for each peer, as multiples of the limit, on a log scale."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from report import label

if TYPE_CHECKING:
    from report import Verdict

LABELS, PLOT, LINE, TOP, LETTER = 330, 560, 26, 44, 6
WIDTH = LABELS + PLOT + 40
# The start of the axis, which ends at a power of ten.
LEAST = 0.1
INK, GRID, OURS, PEER, MARK = "#1f2328", "#d8dee4", "#2f6f9f", "#9a6a2f", "#b42318"


def picture(verdicts: list[Verdict]) -> str:
    """Draw the rows that are compared with another figure and in which less is better."""
    drawn = [verdict for verdict in verdicts if verdict.ratio and verdict.row.against and not verdict.row.mark.at_least]
    ratios = [peer.ratio.median for verdict in drawn for peer in verdict.peers if peer.ratio]
    most = 10 ** math.ceil(math.log10(max([10.0, *ratios, *(v.ratio.median for v in drawn if v.ratio)])))
    height = TOP + LINE * len(drawn) + 40
    parts = [*_axis(most, height)]
    for number, verdict in enumerate(drawn):
        parts += _row(verdict, TOP + LINE * number, most)
    key = f"bar: frazil; dot: peer; red line: mark; 1 is the limit or the stated reference ({len(drawn)} rows)"
    parts.append(_text(LABELS, height - 10, key))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', *parts, "</svg>", ""])


def place(ratio: float, most: float) -> float:
    """Return the distance from the left for a ratio."""
    share = math.log10(max(ratio, LEAST) / LEAST) / math.log10(most / LEAST)
    return round(LABELS + PLOT * share, 1)


def _axis(most: float, height: int) -> list[str]:
    parts = []
    for power in range(round(math.log10(LEAST)), round(math.log10(most)) + 1):
        x, ratio = place(10.0**power, most), 10.0**power
        width = 2 if power == 0 else 1
        parts.append(
            f'<line x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{height - 34}" stroke="{GRID}" stroke-width="{width}"/>'
        )
        parts.append(_text(x, TOP - 16, f"{ratio:g}x", anchor="middle"))
    return parts


def _row(verdict: Verdict, y: int, most: float) -> list[str]:
    ratio, mark = verdict.ratio, verdict.row.mark
    if ratio is None:
        return []
    start, middle = place(LEAST, most), y + LINE // 2 - 3
    said = f"{verdict.row.id} {verdict.row.title}: {ratio}, {mark}"
    bar = f'x="{start}" y="{y}" width="{max(1.0, place(ratio.median, most) - start):.1f}" height="{LINE - 8}"'
    mark_x = place(mark.ratio, most)
    parts = [
        _text(LABELS - 8, middle + 4, f"{verdict.row.id}  {verdict.row.title}", anchor="end"),
        f'<rect {bar} fill="{OURS}"><title>{escape(said)}</title></rect>',
        f'<line x1="{mark_x}" y1="{y - 2}" x2="{mark_x}" y2="{y + LINE - 6}" stroke="{MARK}" stroke-width="2"/>',
    ]
    dots = sorted((place(peer.ratio.median, most), label(peer.engine)) for peer in verdict.peers if peer.ratio)
    parts += [f'<circle cx="{x}" cy="{middle}" r="4" fill="{PEER}"/>' for x, _ in dots]
    for number, (x, name) in enumerate(dots):
        following = dots[number + 1 : number + 2]
        if following and following[0][0] < x + 10 + LETTER * len(name):
            dots[number + 1] = (following[0][0], f"{name}, {following[0][1]}")  # one label for adjacent dots
        else:
            parts.append(_text(x + 7, middle + 4, name, size=10))
    return parts


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x}" y="{y}" fill="{INK}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'

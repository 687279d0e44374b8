"""Computes verdicts from measurements, and formats tables for the terminal and for the documentation."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rows import Row, Work
    from runner import Results

OK, SHORT, OPEN = "ok", "short", "open"


@dataclass(frozen=True)
class Ratio:
    """The median of the rounds and their range."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Ratio:
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.least:.3g}-{self.most:.3g})"


@dataclass(frozen=True)
class Peer:
    """Another engine: its ratio and median figure, or the reason why there is none."""

    engine: str
    ratio: Ratio | None
    figure: float | None
    failure: str = ""


@dataclass(frozen=True)
class Verdict:
    """The result of a row: `ok` or `short` of its mark, or `open` if a measurement failed."""

    row: Row
    state: str
    ratio: Ratio | None
    ours: float | None
    against: float | None
    peers: tuple[Peer, ...]
    failure: str = ""

    @property
    def fastest_peer(self) -> Peer | None:
        measured = [peer for peer in self.peers if peer.figure is not None]
        return min(measured, key=lambda peer: peer.figure or 0.0, default=None)


def judge(row: Row, results: Results, index: Mapping[str, Any], *, full: bool) -> Verdict:
    ours, against, failure = _figures_of(row, results, index)
    ratio = None if failure else _ratio(ours, against)
    state = OPEN if ratio is None else OK if row.mark.holds(ratio.median) else SHORT
    peers = tuple(_peer(engine, row, results, index) for engine in row.peer_names(full=full))
    return Verdict(row, state, ratio, _median(ours), _median(against), peers, failure)


def _figures_of(row: Row, results: Results, index: Mapping[str, Any]) -> tuple[list[float], list[float], str]:
    """Return the numerators and denominators of all rounds, and the reason why some are missing."""
    works = [work for work in (row.ours, row.less, row.against) if work]
    failure = next(
        (f"{work.engine} {work.job} {work.table}: {why}" for work in works if (why := results[work].why)), ""
    )
    ours = _figures(row.ours, row, results, index)
    if row.less:
        less = _figures(row.less, row, results, index)
        ours = [whole - part for whole, part in zip(ours, less, strict=False)]
    return ours, _figures(row.against, row, results, index) if row.against else [], failure


def _figures(work: Work, row: Row, results: Results, index: Mapping[str, Any]) -> list[float]:
    if results[work].why:
        return []
    share = index[work.table][row.per] if row.per else 1
    return [run[row.figure] / share for run in results[work].runs]


def _ratio(ours: list[float], against: list[float]) -> Ratio:
    """Divide round by round, so that figures are compared that were measured within seconds."""
    pairs = zip(ours, against, strict=False)
    return Ratio.of([one / other for one, other in pairs] if against else ours)


def _peer(engine: str, row: Row, results: Results, index: Mapping[str, Any]) -> Peer:
    ours, against, _ = _figures_of(row.of_peer(engine), results, index)
    failure = next((why for work in row.of_peer(engine).own if (why := results[work].why)), "")
    if failure:
        return Peer(engine, None, None, failure)
    return Peer(engine, _ratio(ours, against) if against else None, statistics.median(ours))


def _median(values: list[float] | None) -> float | None:
    return statistics.median(values) if values else None


UNITS = {"cpu_s": "s", "wall_s": "s wall", "rise_mib": "MiB"}


def quantity(value: float | None, row: Row) -> str:
    """Format a figure with a suitable unit."""
    if value is None:
        return "-"
    if row.per:
        return f"{value * 1e6:.3g} µs each"
    if row.figure == "rise_mib":
        return f"{value:.0f} MiB"
    unit = " wall" if row.figure == "wall_s" else ""
    return f"{value * 1e3:.3g} ms{unit}" if value < 0.1 else f"{value:.3g} s{unit}"


def cells(verdict: Verdict) -> list[str]:
    row = verdict.row
    against = f"{quantity(verdict.against, row)} ({label(row.against.engine)})" if row.against else "-"
    return [
        row.id,
        row.title,
        quantity(verdict.ours, row),
        against,
        str(verdict.ratio or "-"),
        str(row.mark),
        verdict.state,
        "; ".join(_peer_text(peer, verdict) for peer in verdict.peers) or "-",
    ]


def _peer_text(peer: Peer, verdict: Verdict) -> str:
    if peer.figure is None:
        return f"{label(peer.engine)}: {peer.failure}"
    times = f" = {peer.figure / verdict.ours:.3g}x" if verdict.ours and verdict.ours > 0 else ""
    return f"{label(peer.engine)} {quantity(peer.figure, verdict.row)}{times}"


def label(engine: str) -> str:
    """Return the display name of an engine."""
    return {"limits": "limit", "pyarrow": "pyarrow, bare files", "spark_parquet": "Spark's Parquet"}.get(
        engine, engine.replace("_", "-")
    )


HEAD = ["row", "what", "frazil", "against", "ratio", "mark", "", "peers (times frazil)"]


def terminal(verdicts: list[Verdict]) -> str:
    lines = [HEAD, *map(cells, verdicts)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD) - 1)]
    text = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]) for line in lines
    ]
    notes = [f"{verdict.row.id} is open: {verdict.failure}" for verdict in verdicts if verdict.failure]
    return "\n".join(line.rstrip() for line in text + notes)


def markdown(verdicts: list[Verdict]) -> str:
    lines = [HEAD, ["---"] * len(HEAD), *map(cells, verdicts)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)

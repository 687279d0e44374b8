"""Tests in which frazil and Java change the tags and branches of a Paimon table in turns."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from histories.paimon.history import (
    Branch,
    Column,
    Create,
    DropBranch,
    DropTag,
    Expire,
    FastForward,
    History,
    Rollback,
    Step,
    Tag,
    Type,
    Write,
)
from histories.paimon.oracle import Oracle, missing
from histories.paimon.reads import Outcome, Read, Rows
from interop.conftest import WHOLE
from support.canonical import canonical_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLUMNS = (Column("id", Type("BIGINT", nullable=False)), Column("name", Type("STRING")), Column("p", Type("INT")))
MAIN = "main"


@pytest.fixture
def java(tmp_path: Path) -> Iterator[Oracle]:
    if lack := missing():
        if WHOLE:
            pytest.fail(lack)
        pytest.skip(f"tags and branches that Java reads: {lack}")
    made = Oracle(tmp_path / "wh")
    yield made
    made.close()


def write(chance: Random, branch: str = MAIN) -> Write:
    rows = [("+I", chance.randrange(20), f"v{chance.randrange(100)}", chance.randrange(2)) for _ in range(6)]
    return Write(("id", "name", "p"), tuple(rows), branch=branch)


def check(java: Oracle, steps: tuple[Step, ...] = ()) -> Outcome:
    """Perform steps in Java; check that both have the same references, and read the same rows at each."""
    outcome = java.adopt(steps, "t")
    table = frazil.load_table(str(java.table))
    assert sorted(outcome.snapshots) == sorted([MAIN, *table.branches()])
    reads, own = [], []
    for branch in outcome.snapshots:
        ours = table.with_branch(branch)
        assert {name: tag.snapshot_id for name, tag in ours.tags().items()} == outcome.tags[branch]
        assert [one.snapshot_id for one in ours.snapshots()] == [id_ for id_, _ in outcome.snapshots[branch]]
        refs: list[dict[str, Any]] = [{"options": {"scan.tag-name": name}} for name in outcome.tags[branch]]
        refs += [{"options": {"scan.snapshot-id": str(id_)}} for id_, _ in outcome.snapshots[branch]]
        for ref in refs:
            reads.append(Read(branch=branch, options=tuple(ref["options"].items())))
            own.append(canonical_rows(ours.scan(**ref).to_arrow()))
    for read, theirs, rows in zip(reads, java.read(reads), own, strict=True):
        assert isinstance(theirs, Rows), (read, theirs)
        assert sorted(theirs.rows, key=repr) == sorted(rows, key=repr), read
    return outcome


@pytest.mark.parametrize("keys", [(), ("id", "p")])
def test_java_goes_on_with_tags_and_branches(java: Oracle, keys: tuple[str, ...]) -> None:
    chance = Random(7)  # noqa: S311 - not cryptography
    create = Create(COLUMNS, primary_keys=keys, partition_keys=("p",), options=(("bucket", "1" if keys else "-1"),))
    java.run(History(0, create, tuple(write(chance) for _ in range(4))))
    references = frazil.load_table(str(java.table)).manage_snapshots()
    references.create_tag(2, "two").create_tag(None, "v é_x", max_ref_age_ms=90_061_001).create_tag(1, "one")
    references.create_branch("two", "dev").create_branch(None, "empty").commit()
    check(java, (write(chance, "dev"), write(chance, "empty"), write(chance), Expire(1), DropTag("one")))
    frazil.load_table(str(java.table)).manage_snapshots().rename_tag("two", "zwei").rename_branch("dev", "d2").commit()
    check(java, (write(chance, "d2"), Branch("fromtag", "zwei"), FastForward("d2"), Tag("java")))
    frazil.load_table(str(java.table)).manage_snapshots().remove_tag("java").remove_branch("empty").commit()
    check(java, (Rollback("zwei"), DropBranch("fromtag"), Branch("empty")))


@pytest.mark.parametrize("seed", range(12 if not WHOLE else 40))
def test_random_changes_in_turns(java: Oracle, seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - as above
    keys = chance.choice([(), ("id", "p")])
    create = Create(COLUMNS, primary_keys=keys, partition_keys=("p",), options=(("bucket", "1" if keys else "-1"),))
    java.run(History(0, create, (write(chance), write(chance))))
    for number in range(8):
        table = frazil.load_table(str(java.table))
        tags, branches = list(table.tags()), table.branches()
        ids = [snapshot.snapshot_id for snapshot in table.snapshots()]
        references = table.manage_snapshots()
        if chance.random() < 0.6:
            references.create_tag(chance.choice(ids), f"t{number}")
        if tags and chance.random() < 0.5:
            references.remove_tag(chance.choice(tags))
        elif tags and chance.random() < 0.5:
            references.replace_tag(chance.choice(tags), chance.choice(ids))
        elif tags and chance.random() < 0.5:
            references.create_branch(chance.choice(tags), f"b{number}")
        if branches and chance.random() < 0.4:
            references.remove_branch(chance.choice(branches))
        references.commit()
        steps: list[Step] = [write(chance, chance.choice([MAIN, *frazil.load_table(str(java.table)).branches()]))]
        if chance.random() < 0.5:
            steps.append(Expire(chance.randrange(1, 3)))
        if chance.random() < 0.3:
            steps.append(Tag(f"j{number}"))
        check(java, tuple(steps))

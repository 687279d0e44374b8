"""Write Paimon's (Java) dynamic buckets of random keys: `python -m histories.paimon.bucket_assignments FILE`.

`rust/paimon/testdata/bucket_assignments.txt` is such a file of 200 partitions; the Rust crate must assign the same
buckets. A line has the options, the hashes of the existing buckets, and the hashes of new rows with Java's buckets:

    target-row-num max-buckets | bucket:hash,hash … | hash>bucket …

A line ends before the first key for which Java chooses a random bucket, because there may be no more buckets.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from histories.paimon.java_process import start
from histories.paimon.oracle import FOLDER

COUNT = 200
LIMITS = (-(1 << 31), (1 << 31) - 1)


def random_line(rng: random.Random) -> str:
    """Return the line of a random partition."""
    target, most = rng.choice((1, 2, 5, 20)), rng.choice((-1, -1, 3, 8))
    pool = [rng.randint(*LIMITS) for _ in range(rng.choice((5, 60)))]
    places = rng.sample(range(most if most > 0 else 12), rng.choice((0, 0, 1, 3)))
    known = {place: rng.sample(pool, rng.randint(1, min(target, 4))) for place in places}
    seen: dict[int, int] = {}
    once = {place: [one for one in hashes if seen.setdefault(one, place) == place] for place, hashes in known.items()}
    known = {place: hashes for place, hashes in once.items() if hashes}
    rows = [rng.choice(pool) for _ in range(80)]
    found = " ".join(f"{key_hash}>{bucket}" for key_hash, bucket in assigned(known, target, most, rows))
    shown = " ".join(f"{place}:{','.join(map(str, hashes))}" for place, hashes in known.items())
    return f"{target} {most} | {shown} | {found}"


def assigned(known: dict[int, list[int]], target: int, most: int, rows: list[int]) -> list[tuple[int, int]]:
    """Return the hashes of rows, and their buckets by Java's `PartitionIndex`."""
    import jpype

    from histories.paimon.java_values import java

    buckets = java("paimon.utils.Int2ShortHashMap")()
    counts = jpype.JClass("java.util.HashMap")()
    for place, hashes in known.items():
        for key_hash in hashes:
            buckets.put(key_hash, place)
        counts.put(jpype.JInt(place), jpype.JLong(len(hashes)))
    index = java("paimon.index.PartitionIndex")(buckets, counts, target)
    all_buckets = jpype.JProxy("java.util.function.IntPredicate", dict={"test": lambda _: True})
    greatest, found = 0, []
    for key_hash in rows:
        is_full = all(count >= target for count in dict(index.nonFullBucketInformation).values())
        # Java also adds no bucket after the one with the greatest number, even if lower numbers are unused.
        is_last = index.totalBucketSet.size() == most or greatest == most - 1
        if not index.hash2Bucket.containsKey(key_hash) and is_full and is_last:
            break
        bucket = int(index.assign(key_hash, all_buckets, most, greatest))
        greatest = max(greatest, bucket)
        found.append((key_hash, bucket))
    return found


def main(target: Path) -> None:
    """Write the file."""
    start(FOLDER)
    rng = random.Random(52)  # noqa: S311 - test data
    target.write_text("".join(f"{random_line(rng)}\n" for _ in range(COUNT)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

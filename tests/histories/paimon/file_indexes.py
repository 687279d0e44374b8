"""Write Paimon's (Java) file indexes of random columns: `python -m histories.paimon.file_indexes FILE`.

`rust/paimon/testdata/file_indexes.txt` is such a file; the Rust crate must write the same bytes. A line has the type of
the index, the type and the options of the column, its values, and the bytes:

    kind | type | options | values > bytes

`7*3` is a value of three rows, `n` is NULL. Numbers are in the unit of their type (unscaled, days, milliseconds of the
day, milliseconds to nanoseconds since the epoch). Floats are their bits; strings and bytes are hexadecimal after `x`.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

from histories.paimon.java_process import start
from histories.paimon.oracle import FOLDER

ROUNDS = 3
FLOATS = ["0000000000000000", "bff8000000000000", "7ff8000000000000", "7ff0000000000000", "8000000000000000"]
SMALL = [0, 1, -1, 5, -7, 100, -128, 127]
TEXTS = ["x", "x61", "x6162", "xc3bc", "xf09f9880", "xefbd9e", "x" + "7a" * 40]
NUMBERS = [*SMALL, 300, -301, 1 << 20, -(1 << 30)]
LONGS = [*NUMBERS, (1 << 63) - 1, 1 - (1 << 63), 1_700_000_000_123]
TIMES = [*NUMBERS, 1_700_000_000_123_456_789, -1001, 999, 1000]

TYPES: dict[str, list[Any]] = {
    "BOOLEAN": [0, 1],
    "TINYINT": SMALL,
    "SMALLINT": [*SMALL, 300, -301],
    "INT": NUMBERS,
    "BIGINT": LONGS,
    "DATE": NUMBERS,
    "TIME(3)": [0, 1, 86_399_999, 1000],
    "FLOAT": [0, -1077936128, 2143289344, 2139095040, -2147483648, 1065353216],
    "DOUBLE": [int.from_bytes(bytes.fromhex(bits), signed=True) for bits in FLOATS],
    "DECIMAL(10, 2)": [*SMALL, 9_999_999_999],
    "TIMESTAMP(3)": NUMBERS,
    "TIMESTAMP(6)": NUMBERS,
    "TIMESTAMP(9)": TIMES,
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": NUMBERS,
    "STRING": TEXTS,
    "BYTES": TEXTS,
}
_OF_BITS = {
    "FLOAT": ("java.lang.Float", "intBitsToFloat"),
    "DOUBLE": ("java.lang.Double", "longBitsToDouble"),
}
_TEXTS = ("STRING", "BYTES")
KINDS: dict[str, list[str]] = {
    "bloom-filter": [name for name in TYPES if name not in ("BOOLEAN", "DECIMAL(10, 2)")],
    "bitmap": [name for name in TYPES if name not in ("BYTES", "DECIMAL(10, 2)")],
    "bsi": [name for name in TYPES if name not in ("BOOLEAN", "FLOAT", "DOUBLE", *_TEXTS)],
    "range-bitmap": [name for name in TYPES if name not in ("BYTES", "TIMESTAMP(9)")],
}
OPTIONS: dict[str, list[dict[str, str]]] = {
    "bloom-filter": [{"items": "10"}, {"items": "100", "fpp": "0.01"}, {"items": "7", "fpp": "0.5"}],
    "bitmap": [{}, {"version": "1"}, {"index-block-size": "64 b"}],
    "bsi": [{}, {}, {}],
    "range-bitmap": [{}, {"chunk-size": "0 b"}, {"chunk-size": "16 b"}],
}

Rows = list[tuple[Any, int]]


def random_rows(rng: random.Random, values: list[Any]) -> Rows:
    """Return values with the number of consecutive rows that have them."""
    shape = rng.randrange(8)
    if shape == 0:
        return [(None, rng.randrange(1, 9))]
    if shape == 1:
        return [(value, 1) for value in values]
    most = rng.choice([1, 1, 5, 6000])
    picked = [*values, None]
    return [(rng.choice(picked), rng.randrange(1, most + 1)) for _ in range(rng.randrange(1, 25))]


def java_value(value: Any, kind: str) -> Any:
    """Return the Java object for a value."""
    import jpype

    from histories.paimon.java_values import java

    if value is None:
        return None
    root, _, rest = kind.partition("(")
    if root in _TEXTS:
        found = java("paimon.data.BinaryString").fromBytes(jpype.JArray(jpype.JByte)(bytes.fromhex(value[1:])))
        return found if root == "STRING" else found.toBytes()
    if root == "TIMESTAMP":
        per_second = 10 ** int(rest[0])
        per_ms = per_second // 1000
        nanos = value % per_ms * (1_000_000 // per_ms)
        return java("paimon.data.Timestamp").fromEpochMillis(value // per_ms, nanos)
    if root == "DECIMAL":
        return java("paimon.data.Decimal").fromUnscaledLong(value, 10, 2)
    if root in _OF_BITS:
        box, convert = _OF_BITS[root]
        return java(box)(getattr(java(box), convert)(value))
    boxes = {"BOOLEAN": "Boolean", "TINYINT": "Byte", "SMALLINT": "Short", "BIGINT": "Long"}
    return java(f"java.lang.{boxes.get(root, 'Integer')}")(value)


def body(kind: str, type_name: str, options: dict[str, str], rows: Rows) -> str:
    """Return the bytes that Java writes, in hexadecimal."""
    from histories.paimon.java_values import java

    data_type = java("paimon.types.DataTypeJsonParser").parseAtomicTypeSQLString(type_name)
    texts = java("paimon.options.Options")(java("java.util.HashMap")(options))
    writer = java("paimon.fileindex.FileIndexer").create(kind, data_type, texts).createWriter()
    for value, count in rows:
        held = java_value(value, type_name)
        for _ in range(count):
            writer.writeRecord(held)
    return bytes(writer.serializedBytes()).hex()


def line(kind: str, type_name: str, options: dict[str, str], rows: Rows) -> str:
    """Return the line of a column."""
    values = " ".join(f"{'n' if value is None else value}{'' if count == 1 else f'*{count}'}" for value, count in rows)
    texts = ",".join(f"{name}={value}" for name, value in options.items())
    return f"{kind} | {type_name} | {texts} | {values} > {body(kind, type_name, options, rows)}"


def main(target: Path) -> None:
    """Write the file."""
    start(FOLDER)
    rng = random.Random(68)  # noqa: S311 - test data
    lines: list[str] = []
    for kind, types in KINDS.items():
        for type_name in types:
            for options in OPTIONS[kind]:
                shapes = [random_rows(rng, TYPES[type_name]) for _ in range(ROUNDS)]
                lines += [line(kind, type_name, options, rows) for rows in shapes]
    target.write_text("".join(f"{text}\n" for text in lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Random Paimon types, and random values of them."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from histories.paimon.history import Type
from histories.paimon.known import AVRO_DIGITS, writable_in_avro

if TYPE_CHECKING:
    from random import Random

LTZ = "TIMESTAMP WITH LOCAL TIME ZONE"
INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
NUMBERS = (*INTEGERS, "FLOAT", "DOUBLE", "DECIMAL")
TEXTS = ("STRING", "VARCHAR", "CHAR")
ATOMS = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "INT", "BIGINT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DECIMAL"),
    *("STRING", "STRING", "VARCHAR", "CHAR", "BINARY", "VARBINARY", "BYTES", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP"),
    LTZ,
)
KEYS = tuple(atom for atom in ATOMS if atom not in ("FLOAT", "DOUBLE"))
"""Types of keys; see `known` for the two excluded ones."""
PARTITIONS = (
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "STRING",
    "STRING",
    "VARCHAR",
    "CHAR",
    "DATE",
    "DECIMAL",
)

_FIELDS = ("x", "y", "z", "a b", "key", "value", "é", "X1", "element", "_pos")
_NANOSECONDS = 6
"""The number of digits above which timestamps must fit 64 bits of nanoseconds, as in Arrow."""


# Types


def atom(rng: Random, choice: tuple[str, ...] = ATOMS, *, nullable: bool = True, avro: bool = False) -> Type:
    """Return a type without nested types."""
    root = rng.choice(choice)
    numbers: tuple[int, ...] = ()
    if root == "DECIMAL":
        precision = rng.choice((1, 5, 9, 10, 18, 19, 38))
        numbers = (precision, rng.choice((0, precision // 2, precision)))
    elif root in ("TIMESTAMP", LTZ):
        digits = rng.choice((0, 3, 3, 6, 6, 9, rng.randrange(10)))
        numbers = (min(digits, AVRO_DIGITS) if avro else digits,)
    elif root == "TIME":
        numbers = (rng.choice((0, 3)),)
    elif root in ("CHAR", "VARCHAR", "BINARY", "VARBINARY"):
        numbers = (rng.choice((1, 3, 10, 300)),)
    return Type(root, numbers, nullable)


def random_type(rng: Random, depth: int = 2, *, avro: bool = False) -> Type:
    """Return a random type with at most `depth` levels of nested types."""
    if depth == 0 or rng.random() < 0.7:
        return atom(rng, nullable=rng.random() < 0.92, avro=avro)
    root = rng.choice(("ARRAY", "ROW", "ROW", "MAP", *([] if avro else ["MULTISET"])))
    if root == "ROW":
        choices = [name for name in _FIELDS if not avro or writable_in_avro(name)]
        names = tuple(rng.sample(choices, rng.randint(1, 3)))
        return Type(root, parts=tuple(random_type(rng, depth - 1, avro=avro) for _ in names), names=names)
    if root == "ARRAY":
        return Type(root, parts=(random_type(rng, depth - 1, avro=avro),))
    key = atom(rng, ("STRING", "STRING", "INT", "BIGINT", "DATE"), nullable=False)
    if root == "MULTISET":
        return Type(root, parts=(key,))
    return Type(root, parts=(key, random_type(rng, depth - 1, avro=avro)))


# Values


def random_value(rng: Random, kind: Type, nulls: float = 0.2) -> Any:
    """Return a value of a type, often a boundary value; NULL with a probability, if the type allows it."""
    if kind.nullable and rng.random() < nulls:
        return None
    if kind.root == "ARRAY":
        return tuple(random_value(rng, kind.parts[0], nulls) for _ in range(rng.choice((0, 1, 1, 2, 3))))
    if kind.root in ("MAP", "MULTISET"):
        keys = {random_value(rng, kind.parts[0]) for _ in range(rng.choice((0, 1, 2, 3)))}
        values = kind.parts[1] if kind.root == "MAP" else None
        return tuple(
            (key, random_value(rng, values, nulls) if values else rng.randint(1, 3)) for key in sorted(keys, key=repr)
        )
    if kind.root == "ROW":
        return tuple(random_value(rng, part, nulls) for part in kind.parts)
    return _atom_value(rng, kind)


_VARIANTS = ("null", "true", "1", "-1.5", "1e300", '"a"', '""', "[]", "{}", '[1,null,"x"]', '{"b":{"a":[1]},"a":null}')
"""Variants as JSON."""
_CHOICES: dict[str, tuple[Any, ...]] = {"VARIANT": _VARIANTS, "BOOLEAN": (True, False)}


def _atom_value(rng: Random, kind: Type) -> Any:
    root = kind.root
    if root in _CHOICES:
        return rng.choice(_CHOICES[root])
    if root in INTEGERS:
        return _integer(rng, 2 ** (INTEGERS[root] - 1))
    if root in ("FLOAT", "DOUBLE"):
        return _float(rng, root)
    if root == "DECIMAL":
        return _decimal(rng, *kind.numbers)
    if root in TEXTS:
        return _text(rng, *kind.numbers)
    return _bytes(rng, *kind.numbers) if root in ("BINARY", "VARBINARY", "BYTES") else _moment(rng, kind)


def _integer(rng: Random, top: int) -> int:
    return rng.choice((0, 1, 2, 3, -1, 7, 10, 100, top - 1, -top, rng.randint(-top, top - 1)))


def _bytes(rng: Random, size: int = 40) -> bytes:
    return rng.choice((b"", b"\0", b"\xff", b"abc", b"\xff" * 20, rng.randbytes(rng.randint(0, 20))))[:size]


def _float(rng: Random, root: str) -> float:
    wide = (1e300, 5e-324, 1.7976931348623157e308) if root == "DOUBLE" else (3.4028234663852886e38, 1e-45)
    whole = float(rng.randint(-1000, 1000))
    special = (0.0, -0.0, 1.0, -1.5, 0.5, float("nan"), float("inf"), float("-inf"), *wide)
    return rng.choice((*special, whole, whole / 8))


def _decimal(rng: Random, precision: int, scale: int) -> str:
    top = 10**precision - 1
    number = rng.choice((0, 1, -1, 5, top, -top, rng.randint(-top, top), rng.randint(-9, 9) * 10**scale % (top + 1)))
    digits = str(abs(number)).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return f"{'-' if number < 0 else ''}{whole}{'.' if fraction else ''}{fraction}"


_WORDS = (
    *("", "a", "ab", "ab ", " ", "b", "B", "é", "😀", "null", "'", '"', "\\", "a,b", "%", "_", "\n", "1", "-7", "true"),
    *("2024-01-01", "a" * 16, "a" * 15 + "b", "a" * 16 + "c", "\uffff" * 17, "😀" * 17, "a=b/c"),
    "__DEFAULT_PARTITION__",
)


def _text(rng: Random, size: int = 400) -> str:
    random_word = "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(1, 12)))
    return rng.choice((*_WORDS, random_word))[:size]


_DAYS = ("1970-01-01", "1969-12-31", "2024-02-29", "1582-10-04", "1582-10-10", "1582-10-15", "1900-01-01", "2000-01-01")
_CLOCKS = ("00:00:00", "12:34:56.789123456", "23:59:59.999999999", "00:00:00.000001", "00:00:00.001", "23:59:59.000001")


def _moment(rng: Random, kind: Type) -> str:
    digits = kind.numbers[0] if kind.numbers else 0
    days = ("1970-01-01", "1969-12-31", "2024-02-29", "1900-01-01", "1678-01-01", "2262-04-10")
    if kind.root == "DATE" or (kind.root != "TIME" and digits <= _NANOSECONDS):
        # ORC's calendar shifts the first days of year 1 to a year that Python does not support.
        first = "0001-01-01" if kind.root == "DATE" else "0002-01-01"
        days = (*_DAYS, first, "9999-12-31", f"{rng.randint(2, 9999):04d}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}")
    day, clock = rng.choice(days), rng.choice(_CLOCKS)
    if kind.root == "DATE":
        return day
    whole, _, fraction = clock.partition(".")
    fraction = fraction[: min(digits, 3) if kind.root == "TIME" else digits]
    clock = f"{whole}.{fraction}" if fraction else whole
    return clock if kind.root == "TIME" else f"{day}T{clock}"

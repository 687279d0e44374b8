from __future__ import annotations

import pytest

from frazil.errors import InvalidArgument, Unsupported
from frazil.spark.options import parse, quote_name, split_names


def options(**given: str) -> dict[str, str]:
    return {"path": "/t"} | {name.replace("_", "-"): value for name, value in given.items()}


def test_names_are_compared_without_case() -> None:
    parsed = parse({"PATH": "/t", "Snapshot-ID": "7", "Case-Sensitive": "FALSE"})
    assert (parsed.path, parsed.snapshot, parsed.case_sensitive) == ("/t", ("id", 7), False)


@pytest.mark.parametrize(
    ("given", "snapshot"),
    [
        ({"snapshot-id": "7"}, ("id", 7)),
        ({"as-of-timestamp": "1700000000000"}, ("as_of", 1_700_000_000_000)),
        ({"branch": "b"}, ("ref", "b")),
        ({"tag": "t"}, ("ref", "t")),
        ({"ref": "r"}, ("ref", "r")),
        ({"versionAsOf": "7"}, ("id", 7)),
        ({"versionAsOf": "main"}, ("ref", "main")),
        ({"timestampAsOf": "1970-01-01 00:00:01"}, ("as_of", 1000)),
        ({"timestampAsOf": "1970-01-01T01:00:01.5+01:00"}, ("as_of", 1500)),
        ({}, None),
    ],
)
def test_a_state_is_named_in_the_words_of_spark(given: dict[str, str], snapshot: tuple[str, object]) -> None:
    assert parse({"path": "/t"} | given).snapshot == snapshot


def test_sizes_relocations_and_storage_options() -> None:
    parsed = parse(
        options(split_size="1000", file_open_cost="0", relocate='{"hdfs://nn/t": "/t"}', batch_size="10")
        | {"s3.secret-access-key": "hidden", "adls.account-name": "a", "locality": "true"}
    )
    assert (parsed.split_bytes, parsed.open_cost_bytes, parsed.batch_rows) == (1000, 0, 10)
    assert parsed.relocate == {"hdfs://nn/t": "/t"}
    assert parsed.properties == {"s3.secret-access-key": "hidden", "adls.account-name": "a"}
    assert "hidden" not in repr(parsed)


def test_columns_and_metadata_columns_are_one_choice() -> None:
    assert parse(options(columns='id, "a, b"', metadata_columns="_file")).columns == ("id", "a, b", "_file")
    assert parse(options(metadata_columns="_file,_pos")).columns == ("*", "_file", "_pos")


@pytest.mark.parametrize("name", ["a", "s.x", "a, b", ' a "b" ', "", "`", "'", "été"])
def test_a_quoted_name_is_read_back(name: str) -> None:
    assert split_names(f"x, {quote_name(name)}, y") == ["x", name, "y"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"snapshot_id": "7"}, "unknown option `snapshot_id`: did you mean `snapshot-id`?"),
        ({"versionAsOff": "7"}, "did you mean `versionAsOf`?"),
        ({"qqq": "7"}, "unknown option `qqq`"),
        ({"snapshot-id": "7", "tag": "t"}, "`snapshot-id` and `tag` exclude each other"),
        ({"branch": "b", "timestampAsOf": "2024-01-01"}, "`branch` and `timestampAsOf` exclude each other"),
        ({"start-snapshot-id": "1", "ref": "r"}, "`start-snapshot-id` and `ref` exclude each other"),
        ({"end-snapshot-id": "1", "snapshot-id": "2"}, "`end-snapshot-id` and `snapshot-id` exclude each other"),
        ({"end-snapshot-id": "1"}, "needs `start-snapshot-id`"),
        ({"snapshot-id": "seven"}, "option `snapshot-id` is 'seven', expected a number"),
        ({"snapshot-id": str(1 << 63)}, "expected a number"),
        ({"split-size": "0"}, "expected a number from 1"),
        ({"limit": "-1"}, "expected a number from 0"),
        ({"case-sensitive": "maybe"}, "expected true or false"),
        ({"timestamp-ns-mode": "nanos"}, "expected one of error, micros, long"),
        ({"timestampAsOf": "yesterday"}, "expected a timestamp"),
        ({"relocate": "{"}, "option `relocate` is no JSON"),
        ({"relocate": '{"a": 1}'}, "JSON object"),
        ({"relocate": "[]"}, "JSON object"),
        ({"columns": "a,,b"}, "a name is missing"),
        ({"columns": '"a'}, "a quote is not closed"),
        ({"columns": '"a" b'}, "separated by commas"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse({"path": "/t"} | given)
    assert words in str(caught.value)


def test_a_table_must_be_named() -> None:
    with pytest.raises(InvalidArgument, match="the option `path`"):
        parse({})


@pytest.mark.parametrize("name", ["start-timestamp", "stream-from-timestamp", "streaming-max-files-per-micro-batch"])
def test_what_only_the_connector_of_java_has_is_unsupported(name: str) -> None:
    with pytest.raises(Unsupported, match=name):
        parse({"path": "/t", name: "1"})

from __future__ import annotations

import pytest

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.spark import _iceberg as iceberg
from frazil.spark import _paimon as paimon
from frazil.spark._options import parse, quote_name, split_names


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
        ({"tag": "t"}, ("tag", "t")),
        ({"ref": "r"}, ("ref", "r")),
        ({"versionAsOf": "7"}, ("version", "7")),
        ({"timestampAsOf": "1970-01-01 00:00:01"}, ("as_of", 1000)),
        ({"timestampAsOf": "1970-01-01T01:00:01.5+01:00"}, ("as_of", 1500)),
        ({}, None),
    ],
)
def test_a_state_is_named_in_the_words_of_spark(given: dict[str, str], snapshot: tuple[str, object]) -> None:
    assert parse({"path": "/t"} | given).snapshot == snapshot


@pytest.mark.parametrize(
    ("given", "of_iceberg", "of_paimon"),
    [
        ({"snapshot-id": "7"}, {"snapshot_id": 7}, {"snapshot_id": 7, "options": {}}),
        ({"as-of-timestamp": "5"}, {"as_of": 5}, {"as_of": 5, "options": {}}),
        ({"branch": "b"}, {"ref": "b"}, {"options": {"branch": "b"}}),
        ({"tag": "t"}, {"ref": "t"}, {"options": {"scan.tag-name": "t"}}),
        ({"ref": "r"}, {"ref": "r"}, {"ref": "r", "options": {}}),
        ({"versionAsOf": "7"}, {"snapshot_id": 7}, {"options": {"scan.version": "7"}}),
        ({"versionAsOf": "main"}, {"ref": "main"}, {"options": {"scan.version": "main"}}),
        ({}, {}, {"options": {}}),
    ],
)
def test_each_format_has_its_way_to_a_state(
    given: dict[str, str], of_iceberg: dict[str, object], of_paimon: dict[str, object]
) -> None:
    asked = parse({"path": "/t"} | given)
    assert iceberg.scan_arguments(asked) == ({}, of_iceberg)
    assert paimon.scan_arguments(asked) == of_paimon


@pytest.mark.parametrize(
    "given",
    [
        {"scan.snapshot-id": "7", "branch": "b"},
        {"scan.mode": "compacted-full"},
        {"incremental-between": "1,2", "incremental-between-scan-mode": "delta"},
        {"source.split.target-size": "1 mb", "source.split.open-file-cost": "0"},
        {"read.batch-size": "1024", "scan.manifest.parallelism": "4", "read.allow.fullScan": "true"},
        {"file-index.read.enabled": "false", "merge-engine": "first-row", "write-buffer-size": "1 mb"},
        {"fields.v.aggregate-function": "sum", "num-sorted-run.stop-trigger": "9"},
    ],
)
def test_options_of_paimon_pass_as_they_are(given: dict[str, str]) -> None:
    expected = {name.lower(): value for name, value in given.items()}
    assert paimon.scan_arguments(parse({"path": "/t"} | given)) == {"options": expected}


def test_sizes_have_the_name_that_paimon_has_for_them() -> None:
    asked = parse(options(split_size="1000", file_open_cost="0"))
    sizes = {"source.split.target-size": "1000", "source.split.open-file-cost": "0"}
    assert paimon.scan_arguments(asked) == {"options": sizes}


def test_appended_rows_have_two_ends() -> None:
    found = iceberg.scan_arguments(parse(options(start_snapshot_id="1", end_snapshot_id="2")))
    assert found == ({"from_snapshot_id_exclusive": 1, "to_snapshot_id_inclusive": 2}, {})


def test_sizes_relocations_and_storage_options() -> None:
    parsed = parse(
        options(split_size="1000", file_open_cost="0", relocate='{"hdfs://nn/t": "/t"}', batch_size="10")
        | {"s3.secret-access-key": "hidden", "adls.account-name": "a", "locality": "true"}
    )
    assert (parsed.split_bytes, parsed.open_cost_bytes, parsed.batch_rows) == (1000, 0, 10)
    assert parsed.relocate == {"hdfs://nn/t": "/t"}
    assert parsed.storage == {"s3.secret-access-key": "hidden", "adls.account-name": "a"}
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
        ({"snapshot-id": "7", "tag": "t"}, "`snapshot-id` and `tag` are mutually exclusive"),
        ({"branch": "b", "timestampAsOf": "2024-01-01"}, "`branch` and `timestampAsOf` are mutually exclusive"),
        ({"start-snapshot-id": "1", "ref": "r"}, "`start-snapshot-id` and `ref` are mutually exclusive"),
        ({"end-snapshot-id": "1", "snapshot-id": "2"}, "`end-snapshot-id` and `snapshot-id` are mutually exclusive"),
        ({"end-snapshot-id": "1"}, "the option `end-snapshot-id` requires `start-snapshot-id`"),
        ({"snapshot-id": "seven"}, "option `snapshot-id` is 'seven', expected a number"),
        ({"snapshot-id": str(1 << 63)}, "expected a number"),
        ({"split-size": "0"}, "expected a number from 1"),
        ({"limit": "-1"}, "expected a number from 0"),
        ({"case-sensitive": "maybe"}, "expected true or false"),
        ({"timestamp-ns-mode": "nanos"}, "expected one of error, micros, long"),
        ({"timestampAsOf": "yesterday"}, "expected a timestamp"),
        ({"relocate": "{"}, "option `relocate` is not valid JSON"),
        ({"relocate": '{"a": 1}'}, "JSON object"),
        ({"relocate": "[]"}, "JSON object"),
        ({"columns": "a,,b"}, "a column name is missing in"),
        ({"columns": '"a'}, "a quote is not closed"),
        ({"columns": '"a" b'}, "separated by commas"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        iceberg.scan_arguments(parse({"path": "/t"} | given))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scan.snapshotid": "7"}, "unknown option `scan.snapshotid`: did you mean `scan.snapshot-id`?"),
        ({"incremental-betwen": "1,2"}, "did you mean `incremental-between`?"),
        ({"qqq": "7"}, "unknown option `qqq`"),
        ({"start-snapshot-id": "7"}, "unknown option `start-snapshot-id`"),
        ({"snapshot-id": "7", "scan.tag-name": "t"}, "`snapshot-id` and `scan.tag-name` are mutually exclusive"),
        ({"ref": "r", "incremental-between": "1,2"}, "`ref` and `incremental-between` are mutually exclusive"),
        (
            {"split-size": "1", "source.split.target-size": "1"},
            "`split-size` and `source.split.target-size` are mutually exclusive",
        ),
    ],
)
def test_a_wrong_option_of_paimon_is_named(given: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        paimon.scan_arguments(parse({"path": "/t"} | given))
    assert words in str(caught.value)


def test_a_table_must_be_named() -> None:
    with pytest.raises(InvalidArgumentError, match="the option `path`"):
        parse({})


@pytest.mark.parametrize("name", ["start-timestamp", "stream-from-timestamp", "streaming-max-files-per-micro-batch"])
def test_options_specific_to_the_iceberg_connector_are_unsupported(name: str) -> None:
    with pytest.raises(UnsupportedError, match=name):
        iceberg.scan_arguments(parse({"path": "/t", name: "1"}))


@pytest.mark.parametrize("name", ["read.changelog", "read.stream.maxFilesPerTrigger", "consumer-id", "table"])
def test_options_specific_to_the_paimon_connector_are_unsupported(name: str) -> None:
    with pytest.raises(UnsupportedError, match=name.lower()):
        paimon.scan_arguments(parse({"path": "/t", name: "1"}))

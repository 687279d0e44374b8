"""Tests that secrets never occur in text that frazil produces: messages, reprs, task wire forms, tracebacks."""

from __future__ import annotations

import pickle
import traceback
from typing import TYPE_CHECKING

import pytest

import frazil
from support.copies import Copy

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "AKIACANARYSECRET"
NAME = "del_pos_file_parquet_part"
PROPERTIES = {
    "s3.access-key-id": CANARY,
    "s3.secret-access-key": CANARY,
    "s3.session-token": CANARY,
    "gcs.oauth2.token": CANARY,
    "adls.sas-token": CANARY,
    "token": CANARY,
    "credential": f"user:{CANARY}",
}


def text_of(error: BaseException) -> str:
    context = str(getattr(error, "context", "")) + str(getattr(error, "hint", ""))
    return str(error) + repr(error) + context + "".join(traceback.format_exception(error))


def test_properties_are_in_no_text(tmp_path: Path) -> None:
    copy = Copy(NAME, tmp_path)
    table = copy.open(storage=PROPERTIES)
    scan = table.scan("id > 3")
    tasks = list(scan.plan_files())
    texts = [repr(table), repr(scan), repr(scan.plan()), *map(repr, tasks), *(str(task.to_bytes()) for task in tasks)]
    texts += [str(pickle.dumps(task)) for task in tasks]
    copy.file().unlink()
    with pytest.raises(frazil.FrazilError) as caught:
        table.scan().to_arrow()
    texts.append(text_of(caught.value))
    assert not [text for text in texts if CANARY in text]


@pytest.mark.parametrize(
    "location",
    [
        f"https://user:{CANARY}@example.invalid/table",
        f"https://example.invalid/table?sig={CANARY}&X-Amz-Signature={CANARY}",
        f"s3://key:{CANARY}@bucket/table",
        f"ftp://user:{CANARY}@host/table",
        f"unknown://user:{CANARY}@host/table",
    ],
)
def test_locations_are_shown_without_their_secrets(location: str) -> None:
    # Nothing exists there: the first request fails, or no request is sent.
    with pytest.raises(frazil.FrazilError) as caught:
        frazil.load_table(location, storage=PROPERTIES | {"s3.endpoint": "http://127.0.0.1:9"})
    assert CANARY not in text_of(caught.value).replace(location, "")


WITHOUT_SCHEME = [
    f"user:{CANARY}@host/db",
    f"user:{CANARY}@host",
    f"//user:{CANARY}@host:5432/db",
    f"postgresql:user:{CANARY}@host/db",
    f"host/db?user=me&password={CANARY}",
    f"host=h password={CANARY} dbname=x",
    f"HTTPS://user:{CANARY}@host/db",
]


def use_of(place: str, location: str, root: Path) -> None:
    """Use a location as the location of a table, or in an option."""
    if place == "external":
        options = {"data-file.external-paths": location, "data-file.external-paths.strategy": "round-robin"}
        frazil.create_table(root / "t", {"id": "INT"}, format="paimon", options=options).append([{"id": 1}])
    elif place == "data":
        properties = {"write.data.path": location, "write.metadata.path": location}
        frazil.create_table(root / "t", {"id": "int"}, properties=properties).append([{"id": 1}])
    elif place == "new":
        frazil.create_table(location, {"id": "nonsense"})
    else:
        frazil.load_table(location)


@pytest.mark.parametrize("location", WITHOUT_SCHEME)
@pytest.mark.parametrize("place", ["table", "new", "external", "data"])
def test_locations_without_a_scheme_are_shown_without_their_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = []
    try:
        use_of(place, location, tmp_path)
    except frazil.FrazilError as error:
        texts.append(text_of(error))
    assert texts or place == "data", "some names of folders are odd, but valid"
    assert CANARY not in str(texts)


def test_errors_keep_non_secret_text() -> None:
    for text in (
        "the folder /data/a@b of table db.t (branch: x@y) is at 2024-01-01T00:00:00",
        "abfs://container@account.dfs.core.windows.net/k?x=1",
        "hdfs://user@host:9000/x@y, set secret-key or token",
    ):
        error = frazil.FrazilError(text, context={"file": text}, hint=text)
        assert (error.message, error.context, error.hint) == (text, {"file": text}, text)


@pytest.mark.parametrize("place", ["file_path", "location"])
def test_recorded_locations_are_shown_without_their_secrets(tmp_path: Path, place: str) -> None:
    copy = Copy(NAME, tmp_path)
    uri = f"https://user:{CANARY}@example.invalid/data.parquet?sig={CANARY}"
    if place == "file_path":
        copy.edit_file(lambda file: file.update(file_path=uri))
    else:
        copy.edit_metadata(lambda content: content.update({"location": uri, "schemas": []}))
    with pytest.raises(frazil.FrazilError) as caught:
        copy.open().scan().to_arrow()
    assert CANARY not in text_of(caught.value)


def test_table_properties_are_not_in_errors(tmp_path: Path) -> None:
    copy = Copy(NAME, tmp_path)
    copy.edit_metadata(lambda content: content.update({"properties": {"fs.s3.key": CANARY}, "schemas": 3}))
    with pytest.raises(frazil.FrazilError) as caught:
        copy.open()
    assert CANARY not in text_of(caught.value)

"""No secret is in any text that frazil makes: messages, representations, the wire form of tasks, tracebacks."""

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
    # Nothing is there: the first request fails, or nothing is asked at all.
    with pytest.raises(frazil.FrazilError) as caught:
        frazil.load_table(location, storage=PROPERTIES | {"s3.endpoint": "http://127.0.0.1:9"})
    assert CANARY not in text_of(caught.value).replace(location, "")


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

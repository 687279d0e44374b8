"""Tests of ``frazil.errors``: names, bases, text, pickling, and agreement with the error kinds of the Rust core."""

from __future__ import annotations

import copy
import errno
import pickle
import re
from pathlib import Path

import pytest

from frazil import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]
BUILT_IN_BASES = {
    "InvalidArgumentError": ValueError,
    "NotFoundError": LookupError,
    "UnsupportedError": NotImplementedError,
    "MissingFileError": FileNotFoundError,
    "LimitExceededError": MemoryError,
    "StorageError": OSError,
}
PARENTS = {
    "NotFoundError": {"NoSuchTableError", "NoSuchNamespaceError", "NoSuchSnapshotError"},
    "CorruptDataError": {"CorruptMetadataError", "CorruptManifestError", "CorruptDataFileError", "CorruptDeletesError"},
    "CommitError": {"CommitConflictError", "CommitStateUnknownError", "CommitValidationError"},
    "CatalogError": {"UnauthorizedError", "ForbiddenError", "UnavailableError"},
}
ERROR_RS = Path(__file__).parents[2] / "rust" / "core" / "src" / "error.rs"


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_keeps_text_context_and_hint_through_pickle_and_copy(cls: type[errors.FrazilError]) -> None:
    error = cls("what failed (file: /t/f)", context={"file": "/t/f", "offset": "17"}, hint="re-copy it")
    error.add_note("while reading")
    copies = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]  # noqa: S301 - our own bytes
    for same in [error, copy.copy(error), *copies]:
        assert type(same) is cls
        assert same.message == "what failed (file: /t/f)"
        assert str(same) == "what failed (file: /t/f); re-copy it"
        assert same.kind == cls.__name__
        assert same.context == {"file": "/t/f", "offset": "17"}
        assert same.hint == "re-copy it"
        assert same.__notes__ == ["while reading"]
        assert same.args == ("what failed (file: /t/f)",)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_is_documented_and_needs_a_message_alone(cls: type[errors.FrazilError]) -> None:
    assert cls.__doc__
    assert issubclass(cls, errors.FrazilError)
    error = cls("what failed")
    assert (str(error), error.context, error.hint) == ("what failed", {}, None)


@pytest.mark.parametrize(("name", "base"), BUILT_IN_BASES.items())
def test_errors_are_caught_by_their_built_in_bases(name: str, base: type[Exception]) -> None:
    with pytest.raises(base, match="what failed"):
        raise getattr(errors, name)("what failed")


@pytest.mark.parametrize(("parent", "children"), PARENTS.items())
def test_the_tree_is_the_documented_one(parent: str, children: set[str]) -> None:
    assert {cls.__name__ for cls in getattr(errors, parent).__subclasses__()} == children


def test_a_missing_file_answers_as_the_built_in_does() -> None:
    error = errors.MissingFileError("the file does not exist", context={"file": "/t/f"})
    assert (error.errno, error.filename, str(error)) == (errno.ENOENT, "/t/f", "the file does not exist")


def test_classes_and_kinds_of_the_core_are_the_same_names() -> None:
    kinds = set(re.findall(r"Self::\w+ => \"(\w+)\"", ERROR_RS.read_text(encoding="utf-8")))
    assert kinds
    only_bases = {"FrazilError", "CommitError"}
    assert kinds == set(errors.__all__) - only_bases

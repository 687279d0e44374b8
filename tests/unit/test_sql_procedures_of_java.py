"""Tests that procedures of CALL have the parameters and result columns that the Java classes declare."""

from __future__ import annotations

import json

import pytest

from frazil.sql._procedures import TABLES
from support.cases import GOLDEN

OF_EARLIER_RELEASES = {"refresh_object_table"}

JAVA = json.loads((GOLDEN / "procedures.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("table_format", ["iceberg", "paimon"])
def test_all_procedures_of_java_are_known(table_format: str) -> None:
    _, procedures = TABLES[table_format]
    assert sorted(set(procedures) - OF_EARLIER_RELEASES) == sorted(JAVA[table_format])
    for procedure in procedures.values():
        assert (procedure.act is None) == (procedure.instead is not None), procedure.name


@pytest.mark.parametrize(
    ("table_format", "name"), [(table_format, name) for table_format, found in JAVA.items() for name in found]
)
def test_parameters_and_columns_are_those_of_java(table_format: str, name: str) -> None:
    procedure = TABLES[table_format][1][name]
    expected = JAVA[table_format][name]
    assert [[one.name, one.kind, one.required] for one in procedure.parameters] == expected["parameters"]
    columns = []
    for column in procedure.columns:
        column_name, _, kind = column.partition(" ")
        columns.append([column_name, kind.removesuffix(" NOT NULL"), not kind.endswith(" NOT NULL")])
    assert columns == expected["columns"]
    for parameter in procedure.parameters:
        assert not (parameter.required and parameter.default is not None), parameter.name

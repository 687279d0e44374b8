"""Parsing of ALTER TABLE, ALTER NAMESPACE and COMMENT ON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from frazil.sql import _alterations as alter
from frazil.sql._column_types import column_type
from frazil.sql._parse_insert import partition_values
from frazil.sql._parse_parts import partition_field, properties, separated, sort_keys
from frazil.sql._statements import AlterNamespace, AlterTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from frazil.sql._parts import SortKey
    from frazil.sql._reader import Name, Reader

    Changes = Iterator[alter.Alteration]

_NAMESPACES = ("NAMESPACE", "DATABASE", "SCHEMA")
_UNITS_MS = {"DAYS": 86_400_000, "HOURS": 3_600_000, "MINUTES": 60_000}
_AFTER_DEFAULT = ("COMMENT", "FIRST", "AFTER", "NOT")


def alter_table(reader: Reader) -> AlterTable:
    """Parse ALTER TABLE.

    Raises:
        UnsupportedError: The statement has an unsupported form.

    >>> from frazil.sql._reader import Reader
    >>> [one] = alter_table(Reader("ALTER TABLE t ADD PARTITION FIELD bucket(8, id) AS b")).changes
    >>> one.field.transform, str(one.field.column), one.field.number, one.name
    ('bucket', 'id', 8, 'b')
    """
    reader.expect("ALTER", "TABLE")
    name = reader.name("the name of a table")
    for words, read in _FORMS:
        if reader.accept(*words):
            return AlterTable(name, tuple(read(reader)))
    for word, read in _OF_FLINK.items():
        if reader.at(word, "("):
            reader.accept(word)
            return AlterTable(name, tuple(read(reader)))
    for words, (problem, hint) in _REJECTED.items():
        if reader.at(*words):
            reader.reject(f"{problem} is not supported", hint)
    return reader.fail("expected a change, such as ADD COLUMN, SET TBLPROPERTIES or RENAME TO")


def alter_namespace(reader: Reader) -> AlterNamespace:
    """Parse `ALTER NAMESPACE name SET …`."""
    reader.expect("ALTER")
    reader.take("NAMESPACE")
    name = reader.name("the name of a namespace")
    removes = reader.accept("UNSET")
    if not removes:
        reader.expect("SET")
    if not removes and reader.accept("LOCATION"):
        return AlterNamespace(name, {"location": reader.string("the location")})
    if reader.accept_any("DBPROPERTIES", "PROPERTIES") is None:
        reader.fail("expected PROPERTIES or DBPROPERTIES")
    if removes:
        return AlterNamespace(name, removals=tuple(_keys(reader)))
    return AlterNamespace(name, properties(reader))


def comment_on(reader: Reader) -> AlterTable | AlterNamespace | None:
    """Parse COMMENT ON of a table or a namespace; None for other objects."""
    begin = reader.mark()
    reader.expect("COMMENT", "ON")
    what = reader.accept_any("TABLE", *_NAMESPACES)
    if what is None:
        reader.back_to(begin)
        return None
    name = reader.name("a name")
    reader.expect("IS")
    comment = None if reader.accept("NULL") else reader.string("the comment")
    if what != "TABLE":
        return AlterNamespace(name, {"comment": comment or ""})
    if comment is None:
        return AlterTable(name, (alter.UnsetProperties(("comment",)),))
    return AlterTable(name, (alter.SetProperties({"comment": comment}),))


def _add_columns(reader: Reader) -> Changes:
    is_list = reader.accept("(")
    yield from separated(reader, _add_column)
    if is_list:
        reader.expect(")")


def _add_column(reader: Reader) -> alter.AddColumn:
    path = reader.name("the name of a column")
    first = reader.peek()
    found = column_type(reader)
    type_text = "" if first is None else reader.since(first).text
    required, comment, default, position = False, None, None, None
    taken: set[str] = set()
    while word := _clause(reader, taken, "NOT", "COMMENT", "DEFAULT", "FIRST", "AFTER"):
        if word == "NOT":
            reader.expect("NULL")
            required = True
        elif word == "COMMENT":
            comment = reader.string("the comment")
        elif word == "DEFAULT":
            default = reader.until(*_AFTER_DEFAULT, what="a default")
        else:
            position = _position(reader, word)
    return alter.AddColumn(path, found, type_text, required, comment, default, position)


def _alter_columns(reader: Reader) -> Changes:
    reader.accept("COLUMN")
    yield from separated(reader, _alter_column)


def _alter_column(reader: Reader) -> alter.AlterColumn:
    path = reader.name("the name of a column")
    word = reader.accept_any("TYPE", "COMMENT", "SET", "DROP", "FIRST", "AFTER")
    if word == "TYPE":
        return alter.AlterColumn(path, type=column_type(reader))
    if word == "COMMENT":
        return alter.AlterColumn(path, comment=reader.string("the comment"))
    if word in ("SET", "DROP"):
        return _attribute(reader, path, sets=word == "SET")
    if word is None:
        reader.fail("expected TYPE, COMMENT, SET, DROP, FIRST or AFTER")
    return alter.AlterColumn(path, position=_position(reader, word))


def _attribute(reader: Reader, path: Name, *, sets: bool) -> alter.AlterColumn:
    if reader.accept("NOT", "NULL"):
        return alter.AlterColumn(path, required=sets)
    if not reader.accept("DEFAULT"):
        reader.fail("expected NOT NULL or DEFAULT")
    return alter.AlterColumn(path, default=reader.until(what="a default") if sets else "unset")


def _change_column(reader: Reader) -> Changes:
    """Parse Hive's form: `CHANGE COLUMN a a type COMMENT … FIRST`."""
    reader.accept("COLUMN")
    path = reader.name("the name of a column")
    place = reader.mark()
    name = reader.identifier("the name of the column again")
    if name.lower() != path.parts[-1].lower():
        reader.back_to(place)
        reader.reject("renaming a column with CHANGE COLUMN is not supported", f"use RENAME COLUMN {path} TO {name}")
    found, comment, position = column_type(reader), None, None
    taken: set[str] = set()
    while word := _clause(reader, taken, "COMMENT", "FIRST", "AFTER"):
        if word == "COMMENT":
            comment = reader.string("the comment")
        else:
            position = _position(reader, word)
    yield alter.AlterColumn(path, type=found, comment=comment, position=position)


def _clause(reader: Reader, taken: set[str], *words: str) -> str | None:
    """Accept the first word of a clause of a column, and record it; each clause can occur once."""
    place = reader.mark()
    word = reader.accept_any(*words)
    if word is None:
        return None
    kind = "FIRST" if word == "AFTER" else word
    if kind in taken:
        reader.back_to(place)
        reader.fail(f"{'the position' if kind == 'FIRST' else word} is specified twice")
    taken.add(kind)
    return word


def _position(reader: Reader, word: str) -> alter.Position:
    return alter.Position(None if word == "FIRST" else reader.identifier("a column"))


def _drop_columns(reader: Reader) -> Changes:
    if_exists = reader.accept("IF", "EXISTS")
    is_list = reader.accept("(")
    for path in separated(reader, lambda reader: reader.name("the name of a column")):
        yield alter.DropColumn(path, if_exists)
    if is_list:
        reader.expect(")")


def _rename_column(reader: Reader) -> Changes:
    path = reader.name("the name of a column")
    reader.expect("TO")
    yield alter.RenameColumn(path, reader.identifier("the new name"))


def _add_partition_field(reader: Reader) -> Changes:
    yield alter.AddPartitionField(partition_field(reader), _field_name(reader))


def _drop_partition_field(reader: Reader) -> Changes:
    yield alter.DropPartitionField(partition_field(reader))


def _replace_partition_field(reader: Reader) -> Changes:
    old = partition_field(reader)
    reader.expect("WITH")
    yield alter.ReplacePartitionField(old, partition_field(reader), _field_name(reader))


def _field_name(reader: Reader) -> str | None:
    return reader.identifier("the name of the partition field") if reader.accept("AS") else None


def _write(reader: Reader) -> Changes:
    """Parse the clauses of WRITE, in any order (Iceberg, `IcebergSqlExtensions.g4`: `writeSpec`)."""
    is_hash, ordering = False, None
    keys: tuple[SortKey, ...] = ()
    while not reader.at_end:
        if not is_hash and reader.accept("DISTRIBUTED", "BY", "PARTITION"):
            is_hash = True
        elif ordering is None and reader.accept("UNORDERED"):
            ordering = "UNORDERED"
        elif ordering is None and (reader.at("LOCALLY", "ORDERED", "BY") or reader.at("ORDERED", "BY")):
            ordering = "LOCALLY" if reader.accept("LOCALLY") else "ORDERED"
            reader.expect("ORDERED", "BY")
            keys = tuple(sort_keys(reader))
        else:
            reader.fail("expected [LOCALLY] ORDERED BY, UNORDERED or DISTRIBUTED BY PARTITION")
    if not is_hash and ordering is None:
        reader.fail("expected [LOCALLY] ORDERED BY, UNORDERED or DISTRIBUTED BY PARTITION")
    distributions: dict[str | None, Literal["none", "range"]] = {"UNORDERED": "none", "ORDERED": "range"}
    yield alter.WriteOrder(keys, "hash" if is_hash else distributions.get(ordering))


def _set_identifier_fields(reader: Reader) -> Changes:
    yield alter.SetIdentifierFields(tuple(_paths(reader)))


def _drop_identifier_fields(reader: Reader) -> Changes:
    yield alter.DropIdentifierFields(tuple(_paths(reader)))


def _paths(reader: Reader) -> Iterator[Name]:
    return separated(reader, lambda reader: reader.name("the name of a column"))


def _reference(kind: Literal["branch", "tag"], *, creates: bool, replaces: bool) -> Callable[[Reader], Changes]:
    def read(reader: Reader) -> Changes:
        if_not_exists = not replaces and reader.accept("IF", "NOT", "EXISTS")
        name = reader.identifier(f"the name of a {kind}")
        snapshot_id = reader.whole_number("a snapshot id") if reader.accept("AS", "OF", "VERSION") else None
        ref_age = _age(reader) if reader.accept("RETAIN") else None
        count, snapshot_age = None, None
        if kind == "branch" and reader.accept("WITH", "SNAPSHOT", "RETENTION"):
            following = reader.peek(1)
            if following is not None and following.is_word("SNAPSHOTS"):
                count = reader.whole_number("a number of snapshots")
                reader.expect("SNAPSHOTS")
            if count is None or not reader.at_end:
                snapshot_age = _age(reader)
        yield alter.SetReference(
            kind, name, creates, replaces, if_not_exists, snapshot_id, ref_age, snapshot_age, count
        )

    return read


def _drop_reference(kind: Literal["branch", "tag"]) -> Callable[[Reader], Changes]:
    def read(reader: Reader) -> Changes:
        if_exists = reader.accept("IF", "EXISTS")
        yield alter.DropReference(kind, reader.identifier(f"the name of a {kind}"), if_exists)

    return read


def _age(reader: Reader) -> int:
    """Parse a retention time such as `7 DAYS`, and return it in milliseconds."""
    place = reader.mark()
    number = reader.whole_number("a number")
    if number == 0:
        reader.back_to(place)
        reader.fail("the retention time must be greater than 0")
    unit = reader.accept_any(*_UNITS_MS)
    if unit is None:
        reader.fail("expected DAYS, HOURS or MINUTES")
    return number * _UNITS_MS[unit]


def _set_properties(reader: Reader) -> Changes:
    yield alter.SetProperties(properties(reader))


def _unset_properties(reader: Reader) -> Changes:
    reader.accept("IF", "EXISTS")
    yield alter.UnsetProperties(tuple(_keys(reader)))


def _keys(reader: Reader) -> Iterator[str]:
    reader.expect("(")
    yield from separated(reader, _key)
    reader.expect(")")


def _key(reader: Reader) -> str:
    token = reader.peek()
    if token is not None and token.kind == "string":
        return reader.string("a key")
    return ".".join(reader.name("a key").parts)


def _set_location(reader: Reader) -> Changes:
    yield alter.SetLocation(reader.string("the location"))


def _rename_table(reader: Reader) -> Changes:
    yield alter.RenameTable(reader.name("the new name"))


def _rename_tag(reader: Reader) -> Changes:
    name = reader.identifier("the name of a tag")
    reader.expect("TO")
    yield alter.RenameTag(name, reader.identifier("the new name"))


def _modify_columns(reader: Reader) -> Changes:
    """Parse the columns of MODIFY, as in Flink: each with its type, and with a comment or a position.

    >>> from frazil.sql._reader import Reader
    >>> alter_table(Reader("ALTER TABLE t MODIFY (a BIGINT COMMENT 'x' FIRST)")).changes[0].comment
    'x'
    """
    is_list = reader.accept("(")
    for one in separated(reader, _add_column):
        required = True if one.required else None
        yield alter.AlterColumn(one.path, one.type, required, one.comment, one.default, one.position)
    if is_list:
        reader.expect(")")


def _drop_partitions(reader: Reader, *, if_exists: bool = False) -> Changes:
    found = [tuple(partition_values(reader))]
    while reader.accept(","):
        reader.expect("PARTITION")
        found.append(tuple(partition_values(reader)))
    yield alter.DropPartitions(tuple(found), if_exists)
    reader.accept("PURGE")


_FORMS: tuple[tuple[tuple[str, ...], Callable[[Reader], Changes]], ...] = (
    (("ADD", "PARTITION", "FIELD"), _add_partition_field),
    (("ADD", "COLUMN"), _add_columns),
    (("ADD", "COLUMNS"), _add_columns),
    (("ALTER",), _alter_columns),
    (("CHANGE",), _change_column),
    (("CREATE", "BRANCH"), _reference("branch", creates=True, replaces=False)),
    (("CREATE", "OR", "REPLACE", "BRANCH"), _reference("branch", creates=True, replaces=True)),
    (("REPLACE", "BRANCH"), _reference("branch", creates=False, replaces=True)),
    (("CREATE", "TAG"), _reference("tag", creates=True, replaces=False)),
    (("CREATE", "OR", "REPLACE", "TAG"), _reference("tag", creates=True, replaces=True)),
    (("REPLACE", "TAG"), _reference("tag", creates=False, replaces=True)),
    (("DROP", "BRANCH"), _drop_reference("branch")),
    (("DROP", "TAG"), _drop_reference("tag")),
    (("DROP", "PARTITION", "FIELD"), _drop_partition_field),
    (("DROP", "IDENTIFIER", "FIELDS"), _drop_identifier_fields),
    (("DROP", "PARTITION"), _drop_partitions),
    (("DROP", "IF", "EXISTS", "PARTITION"), lambda reader: _drop_partitions(reader, if_exists=True)),
    (("DROP", "COLUMN"), _drop_columns),
    (("DROP", "COLUMNS"), _drop_columns),
    (("RENAME", "COLUMN"), _rename_column),
    (("RENAME", "TO"), _rename_table),
    (("RENAME", "TAG"), _rename_tag),
    (("REPLACE", "PARTITION", "FIELD"), _replace_partition_field),
    (("SET", "IDENTIFIER", "FIELDS"), _set_identifier_fields),
    (("SET", "TBLPROPERTIES"), _set_properties),
    (("SET", "LOCATION"), _set_location),
    (("UNSET", "TBLPROPERTIES"), _unset_properties),
    (("WRITE",), _write),
    # Flink's forms of ADD COLUMN, ALTER COLUMN, SET TBLPROPERTIES and UNSET TBLPROPERTIES.
    (("MODIFY",), _modify_columns),
    (("RESET",), _unset_properties),
)
"""The keywords after the table name, with the parsers of the text that follows them."""

_OF_FLINK = {"ADD": _add_columns, "SET": _set_properties}
"""Keywords that are followed by a list in parentheses, as in Flink."""

_REJECTED = {
    ("REPLACE", "COLUMNS"): ("REPLACE COLUMNS", "use ADD, DROP and ALTER COLUMN, which keep the other columns"),
    ("ADD", "PARTITION"): ("ADD PARTITION", "omit it: writing rows creates their partitions"),
    ("ADD", "IF"): ("ADD PARTITION", "omit it: writing rows creates their partitions"),
    ("ADD", "CONSTRAINT"): ("ADD CONSTRAINT", None),
    ("DROP", "CONSTRAINT"): ("DROP CONSTRAINT", None),
    ("PARTITION",): ("changing a single partition", None),
    ("RECOVER", "PARTITIONS"): ("RECOVER PARTITIONS", "omit it: the metadata of the table lists all of its files"),
    ("CLUSTER", "BY"): ("CLUSTER BY", "use ADD PARTITION FIELD bucket(8, id), or WRITE ORDERED BY"),
    ("SET", "SERDE"): ("SET SERDE", "set the property `write.format.default`"),
    ("SET", "SERDEPROPERTIES"): ("SET SERDEPROPERTIES", "use SET TBLPROPERTIES"),
    ("UNSET", "SERDEPROPERTIES"): ("UNSET SERDEPROPERTIES", "use UNSET TBLPROPERTIES"),
}
"""Forms of ALTER TABLE in Spark that lake tables do not support, with hints."""

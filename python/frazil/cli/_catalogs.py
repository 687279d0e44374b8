"""Commands that list catalogs."""

from __future__ import annotations

import click

from frazil.catalog._identifiers import dotted
from frazil.catalog._settings import configured_names
from frazil.cli._names import open_catalog
from frazil.cli._terminal import say


@click.command()
@click.argument("name", required=False)
@click.option("--catalog", metavar="NAME", help="The catalog, instead of the first level of NAME.")
@click.option("--property", "-p", "properties", multiple=True, metavar="KEY=VALUE", help="A catalog property.")
def ls(name: str | None, catalog: str | None, properties: tuple[str, ...]) -> None:
    """List the contents of NAME: the namespaces of a catalog, or the namespaces and tables of a namespace.

    Without a name, list the configured catalogs. Namespaces are shown with a trailing dot.
    """
    if name is None and catalog is None and not properties:
        for known in configured_names():
            say(known)
        return
    rest = name or ""
    if catalog is None and not properties:
        catalog, _, rest = rest.partition(".")
    opened = open_catalog(catalog, properties)
    for namespace in opened.list_namespaces(rest):
        say(f"{dotted(namespace)}.")
    for table in opened.list_tables(rest):
        say(dotted(table))

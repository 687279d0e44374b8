"""The command `frazil`: inspect tables, read and write rows, and maintain tables from a shell."""

from frazil.cli._app import main

__all__ = ["main"]

"""The commands, and how they end."""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from frazil import errors
from frazil._native import __version__
from frazil.cli._terminal import say

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "main"]


class Command(NamedTuple):
    """Where a command is, and what it does in one line."""

    module: str
    summary: str


COMMANDS = {
    "ls": Command("_catalogs", "List catalogs, namespaces or tables."),
    "describe": Command("_look", "Show what a table is: schema, partitions, snapshots, properties."),
    "schema": Command("_look", "Show the columns of a table."),
    "snapshots": Command("_look", "List the snapshots of a table."),
    "files": Command("_look", "List the data and delete files of a table."),
    "inspect": Command("_look", "Read a metadata table or system table; without a name, list them."),
    "scan": Command("_rows", "Read rows."),
    "count": Command("_rows", "Count rows."),
    "explain": Command("_rows", "Show which files a filter leaves out."),
    "changes": Command("_rows", "Read the changes between two snapshots."),
    "append": Command("_rows", "Append the rows of Parquet, CSV, JSON or Arrow files."),
    "delete": Command("_rows", "Delete the rows that match a filter."),
    "compact": Command("_care", "Write data files again that are too short, too long or full of deletes."),
    "expire": Command("_care", "Remove old snapshots, and the files that only they need."),
    "orphans": Command("_care", "Delete files that nothing in a table names."),
}

_CODES: tuple[tuple[type[errors.FrazilError], int], ...] = (
    (errors.InvalidArgumentError, 2),
    (errors.NotFoundError, 3),
    (errors.UnsupportedError, 4),
    (errors.PathNotAllowedError, 4),
    (errors.UnauthorizedError, 4),
    (errors.ForbiddenError, 4),
    (errors.LimitExceededError, 4),
    (errors.CommitValidationError, 4),
    (errors.MissingFileError, 3),
    (errors.CommitStateUnknownError, 6),
    (errors.CommitError, 5),
    (errors.UnavailableError, 5),
    (errors.StorageError, 5),
    (errors.CorruptDataError, 1),
)
"""The exit code of an error: that of the first of these that it is, and 1 for others."""

_INTERRUPTED = 130
"""What shells return for a command that Ctrl-C ended."""


class _Group(click.Group):
    """Imports a command when it is run: `--help` waits for no library."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as of `click.Group`
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"frazil.cli.{COMMANDS[cmd_name].module}")
        found: click.Command = getattr(module, cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in COMMANDS.items()])


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="frazil")
def _app() -> None:
    """Work with Apache Iceberg and Apache Paimon tables.

    A table is a path or a URI, such as `s3://lake/events`, or a name in a configured catalog, such as
    `prod.sales.orders`. `$files` at its end names a metadata table.

    Exit codes: 0 done, 1 damaged or unexpected, 2 wrong use, 3 not found, 4 refused, 5 failed and may work later,
    6 the outcome of the commit is unknown: look at the table before you try again.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    try:
        _app.main(args=None if arguments is None else list(arguments), prog_name="frazil", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        for line in shown.getvalue().rstrip("\n").split("\n"):
            say(line, err=True)
        return error.exit_code
    except errors.FrazilError as error:
        say(f"frazil: {error}", err=True)
        return next((code for kind, code in _CODES if isinstance(error, kind)), 1)
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever reads, such as `head`, has enough.
        _close_output()
    except OSError as error:
        say(f"frazil: the output cannot be written: {error.strerror or error}", err=True)
        _close_output()
        return 1
    return 0


def _close_output() -> None:
    """Drop what is left to write: the interpreter would complain when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

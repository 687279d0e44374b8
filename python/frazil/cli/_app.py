"""The commands and their exit codes."""

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
    """The module and the one-line description of a command."""

    module: str
    summary: str


COMMANDS = {
    "ls": Command("_catalogs", "List catalogs, namespaces or tables."),
    "describe": Command("_inspection", "Show the schema, partitions, snapshots and properties of a table."),
    "schema": Command("_inspection", "Show the columns of a table."),
    "snapshots": Command("_inspection", "List the snapshots of a table."),
    "files": Command("_inspection", "List the data and delete files of a table."),
    "inspect": Command("_inspection", "Read a metadata table or system table; without a name, list them."),
    "scan": Command("_data", "Read rows."),
    "count": Command("_data", "Count rows."),
    "explain": Command("_data", "Show which files a filter skips."),
    "changes": Command("_data", "Read the changes between two snapshots."),
    "append": Command("_data", "Append the rows of CSV, JSON, Parquet, ORC, Avro or Arrow files."),
    "delete": Command("_data", "Delete the rows that match a filter."),
    "compact": Command("_maintenance", "Rewrite data files that are too small, too large or have many deletes."),
    "expire": Command("_maintenance", "Remove old snapshots and the files that only they reference."),
    "orphans": Command("_maintenance", "Delete orphan files, which the table does not reference."),
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
"""The exit codes by error class; the first matching class applies, and other errors exit with 1."""

_INTERRUPTED = 130
"""The exit code that shells use for a command ended by Ctrl-C."""


class _Group(click.Group):
    """A group that imports a command only when it is run, so that `--help` is fast."""

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
    `prod.sales.orders`. A suffix such as `$files` selects a metadata table.

    Exit codes: 0 success, 1 damaged data or unexpected error, 2 invalid usage, 3 not found, 4 refused, 5 failed but may
    succeed later,
    6 the outcome of the commit is unknown: check the table before you try again.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
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
        # The reader of the output, such as `head`, has closed the pipe.
        _close_output()
    except OSError as error:
        say(f"frazil: the output cannot be written: {error.strerror or error}", err=True)
        _close_output()
        return 1
    return 0


def _close_output() -> None:
    """Discard the remaining output, because the interpreter would report an error when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

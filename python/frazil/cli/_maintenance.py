"""Commands that maintain a table; they show a plan first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from frazil.cli._names import moment, of_table, open_table, row_filter_of, size
from frazil.cli._output import human_size, output_option, write_rows
from frazil.cli._terminal import confirmed, say
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from frazil.iceberg import ExpireSnapshots
    from frazil.paimon import ExpireSnapshots as PaimonExpireSnapshots
    from frazil.paimon import Table as PaimonTable

_DRY_RUN = click.option("--dry-run", "-d", is_flag=True, help="Only show the plan.")
_MIN_INPUT_FILES = 5
_YES = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")


@click.command()
@of_table
@click.option("--filter", "-f", "row_filter", metavar="SQL", help="Only files that may contain matching rows.")
@click.option("--all", "rewrite_all", is_flag=True, help="Rewrite all files.")
@click.option("--target-size", metavar="SIZE", help="The size of new files, such as 512MB.")
@click.option(
    "--min-input-files",
    type=int,
    help=(f"Skip partitions with fewer such files.  [default: {_MIN_INPUT_FILES}]"),
)
@click.option("--max-commits", type=int, help="The maximum number of commits.  [default: 1]")
@_DRY_RUN
@click.option("--yes", "-y", is_flag=True, help="Accepted for consistency with other commands; compact never asks.")
def compact(
    table: str,
    row_filter: str | None,
    rewrite_all: bool,
    target_size: str | None,
    min_input_files: int | None,
    max_commits: int | None,
    dry_run: bool,
    yes: bool,  # noqa: ARG001 - there is nothing to ask
    **place: Any,
) -> None:
    """Rewrite data files of TABLE that are too small, too large or have many deletes.

    For a Paimon table, the files of each bucket are merged into fewer files, and a filter applies to partitions.
    """
    opened = open_table(table, **place)
    chosen = row_filter_of(row_filter)
    if opened.format == "paimon":
        given = {
            "--all": rewrite_all,
            "--target-size": target_size is not None,
            "--min-input-files": min_input_files is not None,
            "--max-commits": max_commits is not None,
            "--dry-run": dry_run,
        }
        if wrong := next((option for option, is_given in given.items() if is_given), None):
            message = f"compact does not accept {wrong} for Paimon tables; the only option for them is --filter"
            raise InvalidArgumentError(message, hint=f"omit {wrong}")
        _compact_buckets(opened, chosen)
        return
    plan = opened.rewrite_data_files(
        chosen,
        rewrite_all=rewrite_all,
        target_file_size_bytes=size("--target-size", target_size),
        min_input_files=_MIN_INPUT_FILES if min_input_files is None else min_input_files,
        max_commits=1 if max_commits is None else max_commits,
    )
    say(
        f"{plan.input_files} files, {human_size(plan.input_bytes)}, in {plan.groups.num_rows} groups "
        f"-> about {plan.output_files} files"
    )
    if dry_run or not plan.input_files:
        return
    result = plan.apply()
    say(
        f"{result.rewritten_files} files, {human_size(result.rewritten_bytes)} -> {result.added_files} files, "
        f"{human_size(result.added_bytes)}; {result.removed_delete_files} delete files removed; {result.seconds:.1f} s"
    )
    if result.refused_groups:
        say(f"{result.refused_groups} groups were not rewritten because concurrent writers changed them", err=True)
    if result.failures:
        say(f"{result.failed_groups} groups were not committed", err=True)
        raise result.failures[0]


def _compact_buckets(table: PaimonTable, row_filter: str | bool) -> None:
    done = table.compact(where=row_filter)
    if done.snapshot_id is None:
        say("nothing to compact")
        return
    say(f"{done.removed_files} files -> {done.added_files} files, snapshot {done.snapshot_id}")


@click.command()
@of_table
@click.option(
    "--older-than",
    metavar="TIME",
    help="2024-02-29T12:00:00Z, or 7d for days ago; by default 5 days, or the options of a Paimon table.",
)
@click.option("--retain-last", type=int, metavar="N", help="Keep at least this many snapshots of each branch.")
@click.option("--snapshot-id", "snapshot_ids", type=int, multiple=True, metavar="ID", help="A snapshot to expire.")
@_DRY_RUN
@_YES
def expire(
    table: str,
    older_than: str | None,
    retain_last: int | None,
    snapshot_ids: tuple[int, ...],
    dry_run: bool,
    yes: bool,
    **place: Any,
) -> None:
    """Remove old snapshots of TABLE and the files that only they reference."""
    opened = open_table(table, **place)
    before = moment("--older-than", older_than)
    if opened.format == "paimon":
        if snapshot_ids:
            message = "expire does not accept --snapshot-id for Paimon tables, whose oldest snapshots expire"
            raise InvalidArgumentError(message, hint="use --older-than or --retain-last")
        _expire(table, opened.expire_snapshots(before, retain_min=retain_last), "", dry_run=dry_run, yes=yes)
        return
    plan = opened.expire_snapshots(before, retain_last=retain_last, snapshot_ids=snapshot_ids)
    refs = f", branches and tags: {', '.join(plan.refs)}" if plan.refs else ""
    _expire(table, plan, refs, dry_run=dry_run, yes=yes)


def _expire(table: str, plan: ExpireSnapshots | PaimonExpireSnapshots, refs: str, *, dry_run: bool, yes: bool) -> None:
    """Show what expires, and apply the plan."""
    kinds = ", ".join(f"{count} {kind}" for kind, (count, _) in plan.by_kind().items()) or "no"
    say(f"{len(plan.snapshot_ids)} snapshots{refs}; {kinds} files, {human_size(plan.size_bytes)}")
    if dry_run or not (plan.snapshot_ids or refs):
        return
    confirmed(f"remove them from {table} and delete the files", yes=yes)
    result = plan.apply()
    deleted = sum(result.deleted_files.values())
    say(f"{len(result.snapshot_ids)} snapshots removed, {deleted} files deleted; {result.seconds:.1f} s")


@click.command()
@of_table
@click.option(
    "--older-than",
    metavar="TIME",
    help="2024-02-29T12:00:00Z, or 7d for days ago; by default 3 days, for a Paimon table 1 day.",
)
@click.option("--location", metavar="FOLDER", help="The folder to search, instead of that of the table.")
@click.option(
    "--force", is_flag=True, help=("Delete the files even if they are more than half of the bytes in the folder.")
)
@_DRY_RUN
@_YES
@output_option
def orphans(
    table: str,
    older_than: str | None,
    location: str | None,
    force: bool,
    dry_run: bool,
    yes: bool,
    output: str,
    **place: Any,
) -> None:
    """Delete orphan files of TABLE, such as those of failed writes."""
    import pyarrow as pa

    opened = open_table(table, **place)
    before = moment("--older-than", older_than)
    if opened.format == "paimon":
        if location is not None:
            message = "orphans does not accept --location for Paimon tables"
            raise InvalidArgumentError(message, hint="omit --location: the folder of the table is searched")
        plan = opened.remove_orphan_files(before, force=force)
    else:
        plan = opened.remove_orphan_files(before, location=location, force=force)
    found = pa.Table.from_batches([plan.files]).select(["location", "size_bytes"])
    if dry_run:
        write_rows(found, output)
        return
    say(f"{found.num_rows} files, {human_size(plan.size_bytes)}")
    if not found.num_rows:
        return
    confirmed(f"delete them from the folder of {table}", yes=yes)
    result = plan.apply()
    say(f"{result.deleted_files} files deleted, {human_size(result.deleted_bytes)}; {result.seconds:.1f} s")

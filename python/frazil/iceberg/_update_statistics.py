"""Changes to the statistics files that a table registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from frazil._arguments import whole_number
from frazil._change import Change
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing import Self


class UpdateStatistics(Change):
    """Registers Puffin files with statistics of snapshots, and removes them (spec: "Table Statistics").

    The files themselves are neither read nor deleted.
    """

    _update = "statistics"

    def set_statistics(self, statistics_file: Mapping[str, Any] | Any) -> Self:
        """Register a file, which replaces that of the same snapshot.

        Args:
            statistics_file: A mapping with the field names of the specification, such as `snapshot-id` and
                `statistics-path`, or a `StatisticsFile` of PyIceberg.

        Raises:
            InvalidArgumentError: The argument is not a mapping. On commit: a field is missing or has another type.
            NoSuchSnapshotError: On commit: the table does not have the snapshot.
        """
        dump = getattr(statistics_file, "model_dump", None)
        fields = statistics_file if dump is None else dump(by_alias=True, exclude_none=True, mode="json")
        if not isinstance(fields, Mapping):
            message = f"statistics_file must be a mapping of fields, not {statistics_file!r}"
            raise InvalidArgumentError(message, hint="pass the fields of a statistics file in the specification")
        return self._then("set", file=dict(fields))

    def remove_statistics(self, snapshot_id: int) -> Self:
        """Remove the statistics file of a snapshot. A snapshot without one is not an error."""
        return self._then("remove", snapshot_id=whole_number("snapshot_id", snapshot_id))

"""frazil: the jobs of `benches/python`."""

from jobs import *  # noqa: F403 - every job
from writes import *  # noqa: F403

PACKAGES = ("frazil",)

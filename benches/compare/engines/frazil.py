"""frazil: the jobs of `benches/python`."""

from jobs import *  # noqa: F403 - every job

PACKAGES = ("frazil",)

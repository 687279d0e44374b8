"""The entry point of `python -m frazil`, which runs the command `frazil`."""

import sys

from frazil.cli import main

sys.exit(main())

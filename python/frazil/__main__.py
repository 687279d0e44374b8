"""`python -m frazil` is the command `frazil`."""

import sys

from frazil.cli import main

sys.exit(main())

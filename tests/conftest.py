"""What all tests need."""

from __future__ import annotations

import signal

# A shell turns Ctrl-C off for what it begins in the background, and so for the processes that tests begin.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

"""How hard property tests look, by ``HYPOTHESIS_PROFILE``; and no signal is ignored.

``dev`` (the default) draws a few examples anew each time. ``ci`` draws more, the same for the same tests,
so that a change is judged by what it did; ``explore`` draws many anew, to find what nobody has thought of.
"""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("dev", max_examples=30, deadline=None)
settings.register_profile("ci", max_examples=120, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", max_examples=600, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# Background jobs are started with SIGINT ignored, nohup's with SIGHUP, and what tests start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

"""How hard property tests look: ``HYPOTHESIS_PROFILE=dev`` (the default) or ``ci``. No signal is ignored."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("dev", max_examples=30, deadline=None)
settings.register_profile("ci", max_examples=120, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# Background jobs are started with SIGINT ignored, nohup's with SIGHUP, and what tests start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

"""How hard property tests look, by ``HYPOTHESIS_PROFILE``; no signal is ignored, and no time lost.

``dev`` (the default) draws a few examples anew each time. ``ci`` draws more, the same for the same tests,
so that a change is judged by what it did; ``explore`` draws many anew, to find what nobody has thought of.
"""

from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import settings

settings.register_profile("dev", max_examples=30, deadline=None)
settings.register_profile("ci", max_examples=120, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", max_examples=600, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# Nobody's own settings decide what tests see.
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"
for variable in ("CPUCTL_MACHINE", "CPUCTL_KUBELET_VERSION"):
    os.environ.pop(variable, None)

# Background jobs are started with SIGINT ignored, nohup's with SIGHUP, and what tests start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Fifteen thousand tests are collected before the first runs, and live to the end: a search for garbage that
# looks at each of them again and again takes a third of the time of collecting them.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()

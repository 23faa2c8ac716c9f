"""Settings for all tests: Hypothesis profiles, environment, temporary files, signals, garbage collection.

``HYPOTHESIS_PROFILE`` is ``dev`` (the default: a few new examples each time), ``ci`` (more examples, the
same ones for the same tests, so that failures result from the change) or ``explore`` (many new examples).
"""

from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import settings

_SHARED_MEMORY = "/dev/shm"  # noqa: S108  # a mount point, not a file of a predictable name


def _holds_temporary_files(path: str) -> bool:
    """Whether ``path`` has 4 GiB free and lets tests run what they write (in containers, often neither)."""
    try:
        system = os.statvfs(path)
    except OSError:
        return False
    free = system.f_bavail * system.f_frsize
    return free >= 4 << 30 and not system.f_flag & os.ST_NOEXEC and os.access(path, os.W_OK)


settings.register_profile("dev", max_examples=20, deadline=None)
settings.register_profile("ci", max_examples=120, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", max_examples=600, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# Tests do not depend on the user's own settings.
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"
for variable in ("CPUCTL_MACHINE", "CPUCTL_KUBELET_VERSION"):
    os.environ.pop(variable, None)

# ext4 does not reuse the inodes of files deleted in the last seconds, and searches past them for each new
# file: on disk, a fifth of a run goes there. The default tests hold some 100 MiB at once.
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and _holds_temporary_files(_SHARED_MEMORY):
    os.environ["PYTEST_DEBUG_TEMPROOT"] = _SHARED_MEMORY

# Background jobs are started with SIGINT ignored, nohup's with SIGHUP, and what tests start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Fifteen thousand tests are collected before the first one runs, and stay in memory until the end: garbage
# collection, which visits them again and again, would take a third of the collection time.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()

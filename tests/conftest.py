"""How hard property tests look: ``HYPOTHESIS_PROFILE=dev`` (the default) or ``ci``."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("dev", max_examples=30, deadline=None)
settings.register_profile("ci", max_examples=120, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

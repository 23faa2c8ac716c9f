"""Decisions and findings as plain data, in the shapes of ``cpuctl/answers``."""

from __future__ import annotations

from typing import Final

API_VERSION: Final = "cpuctl/v1alpha1"
"""The version of every published answer; its schemas are printed by ``cpuctl schema``."""

"""Which feature gates a kubelet runs with, and how bad ones end its start.

Rule: ``cmd/kubelet/app/server.go`` and the defaulting of the configuration, which tries the file's gates on
top of the flags' and panics where that fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cpuctl.golang.text import GoError
from cpuctl.kubelet.gates.feature_gates import FeatureGates

STAGE = "featureGates"
_FLAGS = "failed to set feature gates from initial flags-based config: "
_PANIC = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "


class BadGatesError(GoError):
    """The gates cannot be set: the kubelet's error, what it logs, and whether it crashes with it."""

    def __init__(self, error: str, *, logged: str, crash: bool) -> None:
        super().__init__(error)
        self.logged = logged
        self.crash = crash


def gates_at_start(
    minor: int,
    in_files: Iterable[Mapping[str, bool]],
    in_flags: Mapping[str, bool],
    *,
    patch: int | None = None,
    turned: frozenset[str] = frozenset(),
) -> FeatureGates:
    """Set gates as the kubelet does; flags win per gate. Raise BadGatesError where it gives up.

    *in_files* are the gates of the main file, and then those with drop-ins merged: each is tried.
    """
    release = FeatureGates(minor, patch=patch, turned=turned)
    by_flags = _set(release, in_flags, crash=False)
    last: Mapping[str, bool] = {}
    for last in in_files:
        if release.release.defaults_by_gates:
            _set(by_flags, last, crash=True)
    return _set(release, {**last, **in_flags}, crash=False)


def _set(gates: FeatureGates, settings: Mapping[str, bool], *, crash: bool) -> FeatureGates:
    try:
        return gates.with_overrides(settings)
    except GoError as error:
        text = f"{_PANIC}{error}" if crash else str(error)
        logged = text if crash else f"{_FLAGS}{error}"
        raise BadGatesError(text, logged=logged, crash=crash) from None

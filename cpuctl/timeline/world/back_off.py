"""How long a kubelet waits before it starts a container again.

Rule: kubelet v1.36 ``newCrashLoopBackOff`` and ``doBackOff``, and client-go's ``flowcontrol.Backoff``: the
first start comes at once, the next 10 s after the container's end, then twice as long each time, up to 5
minutes; a container that has run for twice the longest wait begins anew. Times are nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cpuctl.golang.durations import MINUTE, SECOND, parse_duration
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.timeline.world.scale_downs import Key

_FIRST, _LONGEST = 10 * SECOND, 5 * MINUTE
_REDUCED_FIRST, _REDUCED_LONGEST = SECOND, MINUTE


@dataclass(slots=True)
class BackOffs:
    """The waits of one kubelet, which it keeps in memory: how long, and since when, by UID and container."""

    first: int = _FIRST
    longest: int = _LONGEST
    known: dict[Key, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, config: KubeletConfiguration, gates: FeatureGates) -> BackOffs:
        """Read a kubelet's bounds."""
        reduced = gates.enabled("ReduceDefaultCrashLoopBackOffDecay")
        first, longest = (_REDUCED_FIRST, _REDUCED_LONGEST) if reduced else (_FIRST, _LONGEST)
        if gates.enabled("KubeletCrashLoopBackOffMax"):
            settings = config.others.get("crashLoopBackOff")
            period = settings.get("maxContainerRestartPeriod") if isinstance(settings, dict) else None
            longest = parse_duration(str(period)) if period else _LONGEST
        return cls(min(first, longest), longest)

    def until(self, key: Key, ended: int) -> int:
        """Tell when a container that ended at a time may start again."""
        if key not in self.known or self._expired(key, ended):
            return ended
        return ended + self.known[key][0]

    def start(self, key: Key, ended: int, now: int) -> None:
        """Note that a container starts again."""
        fresh = key not in self.known or self._expired(key, ended)
        wait = self.first if fresh else min(self.known[key][0] * 2, self.longest)
        self.known[key] = wait, now

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone."""
        self.known = {key: known for key, known in self.known.items() if key[0] != uid}

    def _expired(self, key: Key, ended: int) -> bool:
        return ended - self.known[key][1] > 2 * self.longest

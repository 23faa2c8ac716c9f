"""A difference between kubelet releases: where it shows, before and after, and the evidence for it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from cpuctl.kubelet.version import effective_patch

Evidence: TypeAlias = Literal["verified", "documented", "preview"]
"""The evidence for a difference: recorded answers, documents and source, or only an announcement."""

Area: TypeAlias = Literal[
    "configuration",
    "admission",
    "topology manager",
    "exclusive CPUs",
    "distribution across NUMA nodes",
    "distribution across cores",
    "state files",
    "pod-level resources",
    "memory",
    "in-place resize",
    "autoscaling",
]
"""The part of a node in which a difference shows."""


DECIDING = frozenset(
    {
        "admission",
        "topology manager",
        "exclusive CPUs",
        "distribution across NUMA nodes",
        "distribution across cores",
        "memory",
        "pod-level resources",
    }
)
"""Areas in which a kubelet decides on pods."""


class Difference(NamedTuple):
    """What changes in 1.*since*, and in backports: ``patches`` are the first patches with the change.

    An older minor that is not in ``patches`` never got it. ``source`` is a pull request of
    kubernetes/kubernetes, a KEP or a source file; ``gate`` is the feature gate that it depends on, if any:
    one that is on by default since then, or alpha. ``cases`` are recorded answers that it decides:
    "1.33/assignment take-p-743" is a case of a file below ``fixtures/conformance``.
    """

    since: int
    area: Area
    before: str
    after: str
    source: str
    evidence: Evidence
    gate: str = ""
    patches: Mapping[int, int] = {}
    cases: tuple[str, ...] = ()

    @property
    def recorded_on(self) -> tuple[str, ...]:
        """The releases whose recorded answers show it, from the oldest."""
        return tuple(sorted({case.partition("/")[0] for case in self.cases}))

    @property
    def begin(self) -> str:
        """The releases that introduced it: ``1.34, 1.33.7``; older minors never got it."""
        older = (f"1.{minor}.{patch}" for minor, patch in sorted(self.patches.items(), reverse=True))
        return ", ".join((f"1.{self.since}", *older))

    def known_in(self, minor: int) -> bool:
        """Return whether some patch of a minor has it."""
        return minor >= self.since or minor in self.patches

    def holds(self, minor: int, patch: int | None = None) -> bool:
        """Return whether a release has it; without a patch, whether the minor's last known patch has it."""
        if minor >= self.since:
            return True
        return minor in self.patches and effective_patch(minor, patch) >= self.patches[minor]

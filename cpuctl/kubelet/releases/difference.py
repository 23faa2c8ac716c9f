"""What a difference between kubelet releases is: where it shows, before and after, and how it is known."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from cpuctl.kubelet.version import effective_patch

Evidence: TypeAlias = Literal["verified", "documented", "preview"]
"""How a difference is known: from recorded answers, from documents and source, or only announced."""

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
"""Which part of a node a difference shows in."""


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
    """What changes from 1.*since* on, and by backports: ``patches`` are the first patches that have it.

    An older minor that is not in ``patches`` never got it. ``source`` is a pull request of
    kubernetes/kubernetes, a KEP or a source file; ``gate`` the feature gate that it depends on, if it does:
    one that is on by default from then on, or alpha. ``cases`` are recorded answers that it decides:
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
        """Name the releases that brought it: ``1.34, 1.33.7``; older minors never got it."""
        older = (f"1.{minor}.{patch}" for minor, patch in sorted(self.patches.items(), reverse=True))
        return ", ".join((f"1.{self.since}", *older))

    def known_in(self, minor: int) -> bool:
        """Return whether some patch of a minor has it."""
        return minor >= self.since or minor in self.patches

    def holds(self, minor: int, patch: int | None = None) -> bool:
        """Return whether a release has it; without a patch the last one of the minor that is known."""
        if minor >= self.since:
            return True
        return minor in self.patches and effective_patch(minor, patch) >= self.patches[minor]

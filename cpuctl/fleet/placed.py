"""The outcome for pods that are planned on a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpuctl.engine.outcome import Admitted

if TYPE_CHECKING:
    from cpuctl.engine.admission import Admission
    from cpuctl.fleet.claims import ServedClaims
    from cpuctl.fleet.topology_plugin import PluginView
    from cpuctl.pods.model import StoredPod


class Fitting(NamedTuple):
    """Where else a pod would be admitted: how many nodes were tried, how many of them admit it, and which."""

    tried: int
    admitting: int
    nodes: tuple[str, ...]


class Placed(NamedTuple):
    """The outcome for a pod; if no kubelet decides on it, the message says why.

    There is no message if it is sent to a node whose kubelet is unknown. ``plugin`` is None if the scheduler
    has none.
    """

    pod: StoredPod
    node: str | None = None
    message: str = ""
    admission: Admission | None = None
    fitting: Fitting | None = None
    plugin: PluginView | None = None
    claims: ServedClaims | None = None

    @property
    def admitted(self) -> bool:
        """Whether a kubelet admits it."""
        return self.admission is not None and isinstance(self.admission.verdict, Admitted)

    @property
    def runs(self) -> bool:
        """Whether it is admitted, and nothing known keeps it from starting."""
        return self.admitted and not (self.claims and self.claims.problem)

    @property
    def scheduled(self) -> bool:
        """Whether it is sent to a node whose kubelet's decision is unknown."""
        return self.admission is None and self.node is not None and not self.message


class Share(NamedTuple):
    """Nodes with the same outcome for a DaemonSet's pod."""

    placed: Placed
    nodes: tuple[str, ...]


class Everywhere(NamedTuple):
    """The outcome for a DaemonSet: where its pods go, where they already run, and which nodes get none."""

    pod: StoredPod
    shares: tuple[Share, ...]
    running: tuple[str, ...]
    left_out: tuple[str, ...]

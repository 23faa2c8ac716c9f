"""What-if: a number of CPUs that never become exclusive, so that the shared pool is never empty.

Source: KEP-4540 (strict-cpu-reservation), archived option 1, ``numMinSharedCPUs``. The KEP leaves open which
CPUs these are, so only their number is set here. In the KEP, the scheduler keeps pods off the node if there
are too few ``exclusive-cpu``; here, the kubelet rejects them.
"""

from __future__ import annotations

from cpuctl.policies.model import CPU, PodView, Policy, View


class MinShared(Policy):
    """Keep some unreserved CPUs in the shared pool.

    ``cpus`` is their number. Of 64 CPUs with 6 reserved and ``cpus=4``, 54 can be exclusive.
    """

    source = "KEP-4540, archived option 1 (numMinSharedCPUs)"

    def __init__(self, cpus: int = 4) -> None:
        self.cpus = cpus

    def filter(self, pod: PodView, cpu: CPU, view: View) -> bool:
        """Offer no CPUs to a pod that would leave too few."""
        held = sum(len(each.cpus) for each in view.holders if each.uid == pod.uid)
        left = len(view.shared - view.reserved)
        return left - max(pod.cpus - held, 0) >= self.cpus

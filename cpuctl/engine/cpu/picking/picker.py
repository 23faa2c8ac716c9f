"""One picker for all needs of the CPU Manager: reserved set, exclusive containers, slices of a pod.

Rule: kubelet v1.36 ``policy_static.go``: the policy options determine the picker once, and the same one
is used for every pick.
"""

from __future__ import annotations

from cpuctl.engine.cpu.picking.distributed import Dealing, take_distributed
from cpuctl.engine.cpu.picking.packed import PickerRules, Spread, picker_rules, take_packed
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.outcome import PickResult
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.records import Record, replace


class Picker(Record):
    """A topology, and how the policy options pick CPUs from it."""

    topology: CPUTopology
    distribute: bool
    prefer_uncore: bool
    dealing: Dealing

    @classmethod
    def of(cls, topology: CPUTopology, options: CPUPolicyOptions, release: Behaviours) -> Picker:
        """Choose the picker of a policy, under the rules of a kubelet release."""
        rules = picker_rules(release, align_by_socket=options.align_by_socket)
        return cls(
            topology=topology,
            distribute=options.distribute_cpus_across_numa,
            prefer_uncore=options.prefer_align_cpus_by_uncorecache,
            dealing=Dealing(
                group_size=topology.cpus_per_core if options.full_pcpus_only else 1,
                spread=_spread(options, rules),
                rules=rules,
            ),
        )

    def pick(self, offered: CPUMask, count: int, *, hint_width: int = 0) -> PickResult:
        """Pick *count* CPUs from the *offered* mask; *hint_width* as in ``Dealing``."""
        if self.distribute:
            dealing = replace(self.dealing, hint_width=hint_width)
            return take_distributed(self.topology, offered, count, dealing)
        spread, uncore, rules = self.dealing.spread, self.prefer_uncore, self.dealing.rules
        return take_packed(self.topology, offered, count, spread=spread, prefer_uncore=uncore, rules=rules)


def _spread(options: CPUPolicyOptions, rules: PickerRules) -> Spread:
    return Spread.by(rules) if options.distribute_cpus_across_cores else Spread.OFF

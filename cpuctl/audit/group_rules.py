"""By what a kubelet writes the values of control groups, and how its files say them."""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.audit.picture import Picture
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import Driver
from cpuctl.pods.cgroups.files import CgroupHost, WeightFormula, v1_files, v2_files
from cpuctl.pods.cgroups.values import CgroupSettings, CgroupValues
from cpuctl.pods.rules import NodeRules


class Room(NamedTuple):
    """What all pods of a node may take together; ``memory`` in bytes, None where it is not known."""

    milli_cpu: int
    memory: int | None


class Rules(NamedTuple):
    """By what a kubelet writes cgroup values.

    ``formula`` is None where the runtime is not known, ``room`` where the configuration is not;
    ``qos_reserved``: the gate QOSReserved bounds the memory of QoS classes.
    """

    node: NodeRules
    settings: CgroupSettings
    formula: WeightFormula | None = None
    room: Room | None = None
    qos_reserved: bool = False


def file_texts(
    picture: Picture,
    group: Cgroup,
    values: CgroupValues,
    settings: CgroupSettings,
    formula: WeightFormula | None,
) -> dict[str, tuple[str, ...]]:
    """Write values as the files of a group may have them; more than one text where the runtime decides."""
    systemd = group.role.driver is Driver.SYSTEMD
    host = CgroupHost(systemd=systemd, memory_page=settings.memory_page)
    if picture.hierarchies is not None and picture.hierarchies.version == 1:
        return {name: (file.text,) for name, file in v1_files(values, host).items()}
    formulas = (formula,) if formula else tuple(WeightFormula)
    texts: dict[str, tuple[str, ...]] = {}
    for each in formulas:
        for name, file in v2_files(values, each, host).items():
            texts[name] = tuple(dict.fromkeys((*texts.get(name, ()), file.text)))
    return texts

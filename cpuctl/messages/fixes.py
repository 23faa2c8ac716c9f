"""What a message means and what to do about it, as precisely as the values in it allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cpuctl.cpuset import CPUSet
from cpuctl.golang.text import GoError
from cpuctl.kubelet.policy_options import MAX_NODES, SCALE_DELAY
from cpuctl.phrases import named

Values = Mapping[str, str]
"""The values of a message's placeholders, by their names."""

_KEPT = {
    "cpu": ("CPU", "reservedSystemCPUs, kubeReserved, systemReserved"),
    "memory": ("memory", "kubeReserved, systemReserved, evictionHard"),
    "ephemeral-storage": ("ephemeral storage", "kubeReserved, systemReserved, evictionHard"),
}
"""Resources of which a node keeps a part from pods: their names, and the settings for that part."""

_VALUES = {
    MAX_NODES: 'a whole number such as "16"',
    SCALE_DELAY: 'a duration such as "5s"',
}
"""The values of policy options that are no booleans."""


_STAGES = ("alpha", "beta")


def for_resource(first: str) -> Callable[[Values], str]:
    """Return the function that names what helps for the ``resource`` in a message, after what helps anyway.

    What it returns is empty if the message names none.
    """

    def fix(values: Values) -> str:
        resource = values.get("resource", "")
        return f"{first}, {_less_or_more(resource)}" if resource else ""

    return fix


def _less_or_more(resource: str) -> str:
    if kept := _KEPT.get(resource):
        name, settings = kept
        return f"request less {name}, or reserve less of it on the node ({settings})"
    if resource.startswith("hugepages-"):
        return f"request fewer huge pages, or allocate more {resource} on the node"
    return f"request less, or check that the device plugin of {resource} is running"


def if_whole_cores(text: str) -> Callable[[Values], str]:
    """Return the function that returns *text* if the CPUs in a message are those of whole cores.

    Up to 1.31, a kubelet says that they are not, too, if no core is completely free.
    """

    def told(values: Values) -> str:
        try:
            split = int(values["requested"]) % int(values["perCore"])
        except (ValueError, ZeroDivisionError):  # more digits than Python converts
            return ""
        return "" if split else text

    return told


def for_option_value(values: Values) -> str:
    """Return how to write the value of a policy option that is no boolean; empty for the others."""
    name = values.get("option", "").strip('"')
    return f"set {name} to {_VALUES[name]}, in quotes" if name in _VALUES else ""


def for_gated_option(gates: str) -> Callable[[Values], str]:
    """Return the function that names the gate for the ``stage`` in a message; *gates* begins its name.

    What it returns is empty for an unknown stage.
    """

    def fix(values: Values) -> str:
        stage = values.get("stage", "").lower().removesuffix("-level")
        gate = f"{gates}{stage.capitalize()}Options"
        return f"set featureGates: {{{gate}: true}}, or remove the option" if stage in _STAGES else ""

    return fix


def for_grace_period(values: Values) -> str:
    """Return the setting for the signal in a message; empty if it names none."""
    signal = values.get("signal", "")
    return f"set evictionSoftGracePeriod: {{{signal}: 1m30s}}" if signal else ""


def for_offline_cpus(values: Values) -> str:
    """Return how to keep as many of the reserved CPUs as possible; empty if they cannot be read."""
    try:
        reserved, online = (CPUSet.parse(values.get(name, "")) for name in ("reserved", "online"))
    except (GoError, ValueError):
        return ""
    gone, left = reserved - online, reserved & online
    if not (gone and online):
        return ""
    bring = f"bring {named(gone)} online if this machine has {'it' if len(gone) == 1 else 'them'}"
    if not left or left == online:
        return f"{bring}, or list other CPUs in reservedSystemCPUs"
    return f"{bring}, or set reservedSystemCPUs: {_as_text(left)}"


def _as_text(cpus: CPUSet) -> str:
    """Write CPUs as YAML: digits alone would be a number, which no kubelet reads as text."""
    return f'"{cpus}"' if str(cpus).isdigit() else str(cpus)

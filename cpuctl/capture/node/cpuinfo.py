"""/proc/cpuinfo without what readers of the topology have no use for: flags, bugs, serial numbers."""

from __future__ import annotations

_X86 = ("processor", "vendor_id", "cpu family", "model", "model name", "stepping", "physical id", "siblings")
_ALSO_X86 = ("core id", "cpu cores", "apicid")
_ARM = ("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Processor")
_OTHERS = ("cpu", "cpu model", "uarch", "family", "revision", "hart")

_KEPT_KEYS = frozenset((*_X86, *_ALSO_X86, *_ARM, *_OTHERS))


def reduced_cpuinfo(text: str) -> str:
    """Keep the lines that name processors and their place, and the blank lines between processors."""
    kept = (line for line in text.splitlines() if not line or line.partition(":")[0].strip() in _KEPT_KEYS)
    return "".join(f"{line}\n" for line in kept)

"""Small pieces of English: numbers with their nouns, sets of CPUs, lists of names, amounts of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cpuctl.cpuset import CPUSet


def named(members: CPUSet, noun: str = "CPU") -> str:
    """Write ``CPU 3`` or ``CPUs 3-5``."""
    return f"{noun}{'s' if len(members) > 1 else ''} {members}"


def are(members: CPUSet, noun: str = "CPU") -> str:
    """Write ``CPU 3 is`` or ``CPUs 3-5 are``."""
    return f"{named(members, noun)} {'are' if len(members) > 1 else 'is'}"


def have(members: CPUSet, noun: str = "CPU") -> str:
    """Write ``CPU 3 has`` or ``CPUs 3-5 have``."""
    return f"{named(members, noun)} {'have' if len(members) > 1 else 'has'}"


def some_of(names: Sequence[str], most: int = 3) -> str:
    """Write the first of many names: ``a, b, c, ...``."""
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])])


def counted(count: int, noun: str) -> str:
    """Write ``1 CPU``, ``2 CPUs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def any_of(names: Iterable[str]) -> str:
    """Write alternatives: ``a``, ``a or b``, ``a, b or c``."""
    return _listed([*names], " or ")


def all_of(names: Iterable[str]) -> str:
    """Write things that belong together: ``a``, ``a and b``, ``a, b and c``."""
    return _listed([*names], " and ")


def _listed(names: Sequence[str], last: str) -> str:
    return last.join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def taken_text(cpus: CPUSet) -> str:
    """Say of exclusive CPUs that they are not only their pod's: ``is reserved or held by another pod``."""
    return f"{'is' if len(cpus) == 1 else 'are'} reserved or held by another pod"


def few(names: Sequence[str], count: int = 0, *, most: int = 3) -> str:
    """Write the first names and how many more there are; *count* is the total if *names* is incomplete."""
    shown = ", ".join(names[:most])
    more = max(count, len(names)) - most
    return f"{shown} and {more} more" if more > 0 else shown


MORE = "..."
"""The placeholder for omitted parts."""
POLICY_NONE = "the CPU Manager policy is none"
"""Why no container gets exclusive CPUs, whatever it requests."""


def elided(name: str, length: int) -> str:
    """Elide the middle of a longer name: most names that differ do so at one of their ends."""
    if len(name) <= length:
        return name
    shown = length - len(MORE)
    return f"{name[: shown - shown // 2]}{MORE}{name[len(name) - shown // 2 :]}"


def byte_text(amount: int) -> str:
    """Write bytes as people do, with at most one decimal: ``512Mi``, ``1.5Gi``."""
    for power, unit in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if amount >= 1 << power:
            return f"{amount / (1 << power):.1f}".removesuffix(".0") + unit
    return str(amount)


REPAIR_STEPS = "stop the kubelet, run sudo cpuctl checkpoint repair --yes, and start the kubelet again"
"""What to do after a setting is changed with which the state files were written."""


NO_CPU_MANAGER = "set cpuManagerPolicy: none, without cpuManagerPolicyOptions, and remove cpu_manager_state"
"""What to do if a driver assigns CPUs: policy none rejects options, and state files of another policy."""


def installing(extra: str) -> str:
    """Write how to add an optional part of cpuctl, which is on no package index."""
    return f"pip install '.[{extra}]' in cpuctl's source directory"


def not_among_manifests(kind: str, name: str, namespace: str = "") -> str:
    """Say that an object is missing from the input, and how to add it."""
    where = f" -n {namespace}" if namespace else ""
    return f"is not among the manifests (add it to -f: kubectl get {kind.lower()}{where} {name} -o yaml)"

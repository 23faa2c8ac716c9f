"""The content of a machine's picture, from answers: every CPU, its location and its owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import full_name, holder_name, kubelet_text
from cpuctl.exports.outcomes import pod_counts_text, start_sentence, what_if_sentence
from cpuctl.exports.text_width import bounded
from cpuctl.phrases import byte_text, counted, named
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.answers import topology as answers
    from cpuctl.answers.checkpoint import CheckpointDump, CPUHolder
    from cpuctl.answers.decisions import Pod
    from cpuctl.answers.plan import NotStartedPlan, PlanPicture, StartedPlan
    from cpuctl.answers.topology import HeldCPU, PicturedCPU, Topology
    from cpuctl.answers.values import Sources

    Marked = HeldCPU | PicturedCPU
    Row = answers.CPU | Marked


_COUNTED: Final[Sequence[tuple[Literal["sockets", "numaNodes", "l3Caches", "cores"], str]]] = (
    ("sockets", "socket"),
    ("numaNodes", "NUMA node"),
    ("l3Caches", "L3 cache"),
    ("cores", "core"),
)
_REFUSALS_SHOWN = 4
_LONGEST_NAME = 400
"""The maximum length of a name: a broken file may have any, and it is repeated in every CPU of its owner."""


class CPUUse(StrEnum):
    """The use of a CPU; ``plain``: owners are unknown."""

    PLAIN = "plain"
    SHARED = "shared"
    RESERVED = "reserved"
    OWNED = "owned"
    NONE = "nobody"
    OFFLINE = "offline"


class CPU(NamedTuple):
    """A CPU: its row of the answer, its use, and the marks of its owners, the main one first.

    ``disputed``: it has several owners, or an owner and the shared pool.
    """

    row: Row
    use: CPUUse
    marks: tuple[str, ...] = ()
    disputed: bool = False

    @property
    def number(self) -> int:
        """The CPU's number."""
        return int(self.row["cpu"])

    @property
    def claimed_offline(self) -> bool:
        """Whether the CPU is offline although an owner or the shared pool has it."""
        return not self.row["online"] and bool(self.marks or self.row.get("shared"))


class CPUOwner(NamedTuple):
    """An owner of CPUs: its letters, its name, and its CPUs as a list."""

    mark: str
    name: str
    cpus: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """A picture's content: ``lines`` are below the title, ``captions`` after the names of NUMA nodes."""

    title: str
    lines: tuple[str, ...]
    cpus: tuple[CPU, ...]
    owners: tuple[CPUOwner, ...] = ()
    captions: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def having(self, use: CPUUse) -> CPUSet:
        """Return the CPUs with this use."""
        return CPUSet.of(cpu.number for cpu in self.cpus if cpu.use is use)

    def flagged(self, flag: str) -> CPUSet:
        """Return the CPUs that are ``isolated`` or ``efficiency``."""
        return CPUSet.of(cpu.number for cpu in self.cpus if flag in flags_of(cpu.row))


def flags_of(row: Row) -> tuple[str, ...]:
    """Return a CPU's special properties according to the answer."""
    isolated = ("isolated",) if row.get("isolated") else ()
    return (*isolated, "efficiency") if row.get("type") == "efficiency" else isolated


def topology_facts(topology: Topology) -> MachineFacts:
    """Return the facts of a machine in the answer of ``cpuctl topology``."""
    summary, rows = topology["summary"], topology["cpus"]
    drawn = CPUSet.of(row["cpu"] for row in rows)
    size = ", ".join(counted(n, noun) for key, noun in _COUNTED if (n := summary[key]) is not None)
    every = len(drawn) == len(CPUSet.parse(summary["online"]) | CPUSet.parse(summary["offline"]))
    memory = {node["id"]: node["memoryBytes"] for node in topology["numaNodes"]}
    return MachineFacts(
        title=summary["model"] or "Machine",
        lines=(
            f"{size}, {counted(summary['cpus'], 'CPU')} online",
            *_origin(topology["sources"]),
            *([] if every else [f"only CPUs {drawn} are drawn"]),
        ),
        cpus=_ownerless(rows),
        captions={number: byte_text(size) for number, size in memory.items() if size},
        notes=(*bare_nodes(topology),),
    )


def bare_nodes(topology: Topology) -> Iterator[str]:
    """Name the NUMA nodes without CPUs, which no CPU's location shows, and their memory."""
    for node in topology["numaNodes"]:
        if not node["cpus"]:
            memory = f", {byte_text(node['memoryBytes'])} of memory" if node["memoryBytes"] else ""
            yield f"NUMA node {node['id']}: no CPUs{memory}"


def dump_facts(dump: CheckpointDump, reserved: str = "") -> MachineFacts:
    """Return the owners of CPUs in the answer of ``cpuctl checkpoint dump --map``, and the reserved CPUs."""
    picture, cpus = dump["map"], dump["cpus"]
    found = _cpus(picture["cpus"], CPUSet.parse(reserved))
    return MachineFacts(
        title="CPUs in the kubelet's state file",
        lines=(
            f"{counted(cpus['exclusiveCPUs'], 'exclusive CPU')}, {cpus['sharedCPUs']} in the shared pool",
            *(file["source"] for file in dump["files"] if file["file"] == CPU_FILE),
            *_origin(dump["sources"]),
        ),
        cpus=found,
        owners=_owners(cpus["holders"]),
        captions=_captions(found, "shared"),
        notes=tuple(_not_running(found, picture["notOnMachine"])),
    )


def _not_running(cpus: Iterable[CPU], absent: str) -> Iterator[str]:
    """Name the CPUs in a state file that are offline or missing: they keep a kubelet from starting."""
    see = "(see cpuctl checkpoint verify)"
    if offline := CPUSet.of(cpu.number for cpu in cpus if cpu.claimed_offline):
        yield f"offline, but in the state file: {named(offline)} {see}"
    if absent:
        yield f"not on this machine, but in the state file: {named(CPUSet.parse(absent))} {see}"


def plan_facts(plan: StartedPlan | NotStartedPlan, picture: PlanPicture) -> MachineFacts:
    """Return the facts of the node after a plan: *picture* has its CPUs and holders in the form of a dump."""
    started = "node" in plan
    reserved = CPUSet.parse(plan["node"].get("reservedCPUs", "")) if "node" in plan else CPUSet()
    found = _cpus(picture["cpus"], reserved) if started else _ownerless(picture["cpus"])
    return MachineFacts(
        title="CPUs after the plan" if started else "The kubelet does not start",
        lines=(*_what_if(plan), *_plan_lines(plan), *_origin(plan["sources"])),
        cpus=found,
        owners=_owners(picture["holders"]),
        captions=_captions(found, "free") if started else {},
    )


def _what_if(plan: StartedPlan | NotStartedPlan) -> Iterator[str]:
    if "node" in plan and "policy" in plan["kubelet"]:
        yield what_if_sentence(plan["kubelet"]["policy"])


def _ownerless(rows: Iterable[Row]) -> tuple[CPU, ...]:
    return tuple(CPU(row, CPUUse.PLAIN if row["online"] else CPUUse.OFFLINE) for row in rows)


def _cpus(rows: Iterable[Marked], reserved: CPUSet) -> tuple[CPU, ...]:
    return tuple(_cpu(row, reserved=row["cpu"] in reserved) for row in rows)


def _cpu(row: Marked, *, reserved: bool) -> CPU:
    marks = tuple(row["marks"])
    if marks:
        return CPU(row, CPUUse.OWNED, marks, disputed=len(marks) > 1 or row["shared"] or reserved)
    if not row["online"]:
        return CPU(row, CPUUse.OFFLINE)
    if reserved:
        return CPU(row, CPUUse.RESERVED)
    return CPU(row, CPUUse.SHARED if row["shared"] else CPUUse.NONE)


def _owners(holders: Iterable[CPUHolder]) -> tuple[CPUOwner, ...]:
    listed = list(holders)
    return tuple(
        CPUOwner(
            holder["mark"],
            bounded(holder_name(holder) + _sharers(holder, listed), _LONGEST_NAME),
            holder["cpus"],
        )
        for holder in listed
    )


def _sharers(holder: CPUHolder, holders: Sequence[CPUHolder]) -> str:
    """Name the containers in the pool of a pod that holds CPUs as a whole (KEP-5526): all with the same."""
    if holder["holding"] != "pod":
        return ""
    mine = [
        (name, each["cpus"])
        for each in holders
        if each["podUID"] == holder["podUID"] and (name := each["container"])
    ]
    counts = Counter(cpus for _, cpus in mine)
    names = [name for name, cpus in mine if counts[cpus] > 1]
    return f", its pool shared by {', '.join(names)}" if names else ""


def _captions(cpus: Iterable[CPU], word: str) -> dict[int, str]:
    """Count the free CPUs on each NUMA node."""
    all_of: dict[int, int] = {}
    left: dict[int, int] = {}
    for cpu in cpus:
        node = cpu.row["node"]
        if node is not None:
            all_of[node] = all_of.get(node, 0) + 1
            left[node] = left.get(node, 0) + (cpu.use is CPUUse.SHARED)
    return {node: f"{left[node]} of {count} {word}" for node, count in all_of.items()}


def _origin(sources: Sources) -> Iterator[str]:
    machine = sources.get("machine")
    if machine is not None:
        yield f"machine: {'this host' if machine['from'] == 'live' else machine['value']}"


def _plan_lines(plan: StartedPlan | NotStartedPlan) -> Iterator[str]:
    if "node" not in plan:
        yield start_sentence(plan["start"], "The kubelet")
        return
    yield pod_counts_text(plan["summary"])
    yield from _refusals(plan["pods"])
    yield kubelet_text(plan["kubelet"])


def _refusals(pods: Sequence[Pod]) -> Iterator[str]:
    refused = [pod for pod in pods if pod["outcome"] != "Admitted"]
    for pod in refused[:_REFUSALS_SHOWN]:
        name = full_name(pod)
        yield f"not admitted: {name} ({pod.get('reason') or pod.get('fault') or 'undetermined'})"
    if (more := len(refused) - _REFUSALS_SHOWN) > 0:
        yield f"not admitted: {more} more"

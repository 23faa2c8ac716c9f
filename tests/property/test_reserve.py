"""A kubelet starts with the proposed reservations: on any machine, with any amounts, in every spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, reject
from hypothesis import strategies as st

from cpuctl.answering.config.reserve_answer import reserve_document
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import StartRefused
from cpuctl.engine.reserve import (
    CPUReserve,
    MemoryReserve,
    NoProposal,
    Proposal,
    ReserveRequest,
    Spread,
    memory_available,
    propose,
)
from cpuctl.engine.start import Started, check_start
from cpuctl.kubelet.configuration.loading import ConfigSources, load_configuration
from cpuctl.kubelet.flags.command_line import read_flags
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.operations.reserve import Reserved
from cpuctl.records import replace
from tests.support.drawn_machines import nested_machines, regular_machines, tangled_machines
from tests.support.topologies import machine_info

if TYPE_CHECKING:
    from cpuctl.answers.config import Header

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
MIB = 1 << 20
AMOUNTS = st.sampled_from(
    ["1", "100Mi", "1.5Gi", "0.5Gi", "1e9", "1073741825", "1500m", "2G", "3Ti", "1000Ti"]
)
THRESHOLDS = st.sampled_from(["0%", "1%", "5%", "7%", "33.3%", "100Mi", "1.5Gi", "99999999"])
SIZES = st.sampled_from([0, 700 * MIB, 1 << 30, 4 << 30, 64 << 30, (64 << 30) + 4096, 1500 << 40])
PAGES = st.dictionaries(st.sampled_from([64, 2048]), st.integers(0, 200), max_size=2)


@st.composite
def machines(draw: st.DrawFn) -> MachineInfo:
    """Draw a machine with memory; the machine's total is not always the sum of its nodes."""
    drawn = draw(regular_machines() | nested_machines() | tangled_machines())
    info = machine_info(drawn.cores, unlisted_cpus=drawn.unlisted_cpus)
    nodes = tuple(replace(node, memory_bytes=draw(SIZES), hugepages=draw(PAGES)) for node in info.nodes)
    besides = draw(st.sampled_from([0, 0, 123456, 1 << 30]))
    return replace(info, nodes=nodes, memory_bytes=sum(node.memory_bytes for node in nodes) + besides)


@st.composite
def configurations(draw: st.DrawFn) -> str:
    """Draw what is reserved, as the text of a configuration."""
    lines = [HEAD + f"cpuManagerPolicy: {draw(st.sampled_from(['none', 'static']))}"]
    for field in ("kubeReserved", "systemReserved"):
        amounts = {"cpu": '"1"', "memory": f'"{draw(AMOUNTS)}"'}
        named = draw(st.sets(st.sampled_from(sorted(amounts))))
        lines.append(f"{field}: {{{', '.join(f'{name}: {amounts[name]}' for name in sorted(named))}}}")
    lines.append(f'evictionHard: {{memory.available: "{draw(THRESHOLDS)}"}}')
    return "\n".join(lines) + "\n"


@st.composite
def reserve_requests(draw: st.DrawFn, info: MachineInfo) -> ReserveRequest:
    cpus = CPUReserve(
        count=draw(st.integers(1, 4)), per_numa=draw(st.booleans()), whole_cores=draw(st.booleans())
    )
    spread = draw(st.sampled_from(Spread))
    named = draw(st.sampled_from([None, *(node.id for node in info.nodes)])) if spread == "one-node" else None
    return ReserveRequest(cpus=draw(st.none() | st.just(cpus)), memory=MemoryReserve(spread, named))


def loaded_kubelet(text: str, *flags: str) -> Kubelet:
    sources = ConfigSources(main=(text, "kubelet.yaml"), flags=read_flags(flags))
    return Kubelet(version=KubeletVersion(36), config=load_configuration(sources).config)


@given(st.data(), machines(), configurations())
def test_a_kubelet_starts_with_what_is_proposed(data: st.DataObject, info: MachineInfo, text: str) -> None:
    """As values, as lines pasted into the file, and as flags."""
    request = data.draw(reserve_requests(info))
    try:
        found = propose(info, loaded_kubelet(text), request)
    except ValueError:
        reject()  # not as many CPUs
    if isinstance(found, NoProposal):
        return
    loaded = load_configuration(ConfigSources(main=(text, "kubelet.yaml")))
    head: Header = {"sources": {}, "kubelet": {"version": "1.36"}}
    answer = reserve_document(loaded, Reserved(found, ()), head)
    assert "proposal" in answer
    proposal = answer["proposal"]
    pasted = loaded_kubelet(text + proposal["snippet"].removeprefix(HEAD))
    flagged = loaded_kubelet(text, *proposal["flags"])
    assert pasted.config == flagged.config
    assert pasted.config.memory_manager_policy == "Static"
    for kubelet in (replace(pasted, config=found.config), pasted, flagged):
        started = check_start(info, kubelet)
        assert isinstance(started, Started)
        assert started.memory_policy is not None
        assert reserved(started) == started.reserved["memory"].nano // 10**9


def reserved(started: Started) -> int:
    assert started.memory_policy is not None
    return sum(node.memory_map["memory"].system_reserved for node in started.memory_policy.tables.values())


@given(st.data(), machines(), configurations())
def test_a_proposal_is_missing_only_if_there_can_be_none(
    data: st.DataObject, info: MachineInfo, text: str
) -> None:
    """Without a proposal, no reserved memory could make that kubelet start."""
    kubelet = loaded_kubelet(text)
    request = ReserveRequest(memory=data.draw(reserve_requests(info)).memory)
    found = propose(info, kubelet, request)
    if isinstance(found, Proposal):
        return
    started = check_start(info, kubelet)
    if not info.memory_bytes or not isinstance(started, Started):
        return
    nano = started.reserved["memory"].nano if "memory" in started.reserved else 0
    space = memory_available(info)
    assert request.memory is not None
    node = request.memory.node
    places = [space[node]] if node is not None else list(space.values())
    enough = max(places) if request.memory.spread == "one-node" else sum(places)
    overdrawn = any(
        sum(kib * 1024 * count for kib, count in each.hugepages.items()) > each.memory_bytes
        for each in info.nodes
    )
    assert nano <= 0 or nano % 10**9 or nano // 10**9 > enough or overdrawn


@given(st.data(), machines(), st.integers(1, 8), st.booleans(), st.booleans())
def test_chosen_cpus_are_on_the_machine_and_leave_some(
    data: st.DataObject, info: MachineInfo, count: int, per_numa: bool, whole: bool
) -> None:
    request = ReserveRequest(cpus=CPUReserve(count=count, per_numa=per_numa, whole_cores=whole))
    kubelet = loaded_kubelet(HEAD + "cpuManagerPolicy: static\nevictionHard: {memory.available: 0%}\n")
    try:
        found = propose(info, kubelet, request)
    except ValueError:
        return
    if isinstance(found, NoProposal):
        # cAdvisor's total differs from its list: more may be reserved than the total.
        assert info.num_cpus < sum(len(core.threads) for node in info.nodes for core in node.cores)
        assert isinstance(found.outcome, StartRefused)
        assert found.outcome.stage == "nodeAllocatable"
        return
    assert found.cpus is not None
    assert found.started.policy is not None
    assert found.started.policy.reserved == found.cpus.cpus
    assert found.cpus.cpus.bit_count() >= count
    if whole:
        cores = CPUTopology.discover(info).cores.values()
        assert all(found.cpus.cpus & core in (0, core) for core in cores)

"""Every recorded start on state files, checked by ``verify_states``, and the files, repaired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.inspection import inspect_state
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile
from cpuctl.checkpoints.reader import StateReader
from cpuctl.diagnostics import Severity
from cpuctl.engine.outcome import KubeletFault, StartRefused, Undetermined
from cpuctl.engine.start import Started, start_managers
from cpuctl.engine.state_checks.file_findings import FoundFile, FoundStates
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS
from cpuctl.engine.state_checks.verify import StateVerdict, verify_states
from cpuctl.engine.state_moves import NotRepaired
from cpuctl.engine.state_repair import (
    CPURules,
    MemoryRules,
    RepairAction,
    repair_cpu_state,
    repair_memory_state,
)
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.machine_info import MachineInfo
from tests.conformance.corpus import Json, Recorded, version_of
from tests.conformance.machines import machine_info
from tests.conformance.node_scenario import _Scenario
from tests.conformance.node_start import kubelet_of, state_reader

_FILES = {"cpuManagerStart": "cpu_manager_state", "memoryManagerStart": "memory_manager_state"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A start on files: the kubelet and its machine, and the verdict before the start."""

    name: str
    info: MachineInfo
    kubelet: Kubelet
    reader: StateReader
    texts: tuple[str | None, str | None]
    verdict: StateVerdict
    answer: Json


def starts_on_files(recorded: Recorded) -> Iterator[Asked]:
    """Play a scenario and yield its starts on files, each with the recorded answer."""
    scenario = _Asking(recorded.case)
    scenario.play()
    later = (step["start"] for step in recorded.expect["steps"] if "start" in step)
    # A kubelet that never comes back has no further starts.
    for place, (requested, answer) in enumerate(
        zip(scenario.requested, [recorded.expect["start"], *later], strict=False)
    ):
        if requested is not None:
            name = f"{recorded.name}, start {place}"
            info, kubelet, reader, texts = requested
            verdict = verify_states(info, kubelet, found(texts, reader))
            yield Asked(name, info, kubelet, reader, texts, verdict, answer)


def verdict_on_own_files(recorded: Recorded) -> StateVerdict | None:
    """Verify the last CPU state of a scenario in which only one kubelet, with one configuration, made it."""
    case, text = recorded.case, recorded.expect.get("final", {}).get("cpuManagerState")
    others = (step["kubelet"] for step in case.get("steps", ()) if "kubelet" in step)
    if not text or "cpuManagerState" in case or any(other != case["kubelet"] for other in others):
        return None
    version = version_of(case)
    kubelet, reader = kubelet_of(case["kubelet"], version), state_reader(case["kubelet"], version)
    return verify_states(machine_info(case["machine"]), kubelet, found((text, None), reader))


_Question = tuple[MachineInfo, Kubelet, StateReader, tuple[str | None, str | None]]


class _Asking(_Scenario):
    """Records every start; None is one without files, or with a configuration that cannot be loaded."""

    def __init__(self, case: Json) -> None:
        super().__init__(case)
        self.requested: list[_Question | None] = []

    def _start(self) -> Json:
        self.requested.append(self._question())
        return super()._start()

    def _question(self) -> _Question | None:
        texts = self.files.cpu, self.files.memory
        try:
            kubelet = kubelet_of(self.kubelet, self.version)
        except ConfigRefusedError:
            return None
        if texts == (None, None):
            return None
        return machine_info(self.machine), kubelet, state_reader(self.kubelet, self.version), texts


def found(texts: tuple[str | None, str | None], reader: StateReader) -> FoundStates:
    """Read files as a kubelet finds them."""
    cpu, memory = texts
    return FoundStates(
        cpu=None if cpu is None else FoundFile(read=read_cpu_state(cpu, reader), whole=_cpus(cpu)),
        memory=None
        if memory is None
        else FoundFile(read=read_memory_state(memory, reader), whole=_memory(memory)),
    )


def _cpus(text: str) -> CPUStateFile | None:
    whole = inspect_state(text).state
    return whole if isinstance(whole, CPUStateFile) else None


def _memory(text: str) -> MemoryStateFile | None:
    whole = inspect_state(text).state
    return whole if isinstance(whole, MemoryStateFile) else None


def disagreement(requested: Asked) -> str:
    """Return how a verdict differs from what the kubelet did, empty if it does not."""
    stated: Json
    match requested.verdict.start:
        case Started():
            stated = {"ok": True}
        case StartRefused(stage=stage, error=error):
            stated = {"ok": False, "stage": stage, "error": error}
        case KubeletFault(why=why):
            stated = {"ok": False, "stage": "panic", "error": why}
        case Undetermined(text=why):
            return f"undetermined: {why}"
    did = {name: requested.answer[name] for name in stated if name in requested.answer}
    if stated != did:
        return f"said {stated}, the kubelet: {did}"
    return _odd_findings(requested.verdict, requested.answer)


def _odd_findings(verdict: StateVerdict, answer: Json) -> str:
    """Check errors against the start: one for a file that the kubelet rejects, none if it starts."""
    errors = {
        each.place.file_name: each.message for each in verdict.findings if each.severity is Severity.ERROR
    }
    if answer["ok"] and errors:
        return f"starts in spite of {errors}"
    file = _FILES.get(answer.get("stage", ""))
    return f"no finding about {file}: {answer['error']}" if file and file not in errors else ""


@dataclass(frozen=True, slots=True)
class RepairedFiles:
    """Both files after a repair, what was done to them, and whether the kubelet starts on them."""

    texts: tuple[str | None, str | None]
    actions: tuple[RepairAction, ...]
    verdict: StateVerdict


def repaired(requested: Asked) -> RepairedFiles | NotRepaired | None:
    """Repair the files; return None if the configuration or a file's contents rule a repair out."""
    managers = start_managers(requested.info, requested.kubelet)
    if not isinstance(managers, Started):
        return None
    reader, (cpu, memory) = requested.reader, requested.texts
    actions: tuple[RepairAction, ...] = ()
    if cpu is not None:
        rules = CPURules(
            policy=managers.policy, keeps_pods=reader.keeps_pods, keeps_baselines=reader.keeps_baselines
        )
        state = _cpus(cpu)
        if state is None:
            return None
        cpus = repair_cpu_state(state, rules, UNKNOWN_OWNERS)
        if isinstance(cpus, NotRepaired):
            return cpus
        cpu, actions = write_cpu_state(cpus.state, reader), cpus.actions
    if memory is not None:
        fresh = managers.memory_policy.tables if managers.memory_policy else None
        held = _memory(memory)
        if held is None:
            return None
        blocks = repair_memory_state(
            held, MemoryRules(fresh=fresh, keeps_pods=reader.keeps_pods), UNKNOWN_OWNERS
        )
        if isinstance(blocks, NotRepaired):
            return blocks
        memory, actions = write_memory_state(blocks.state, reader), (*actions, *blocks.actions)
    texts = cpu, memory
    return RepairedFiles(
        texts, actions, verify_states(requested.info, requested.kubelet, found(texts, reader))
    )

"""Whole-node scenarios: a kubelet starts, pods come and go, it restarts on its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.memory_state import write_memory_state_of_none
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.documents import Cursor, load_documents
from cpuctl.engine.admission import Admission, Admitted
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import KubeletFault, Rejected, StartRefused, Undetermined
from cpuctl.pods.decoding import decode_pod
from cpuctl.pods.defaulting import with_api_defaults
from cpuctl.pods.model import Pod
from tests.conformance.corpus import Json
from tests.conformance.hint_answers import merged, provider_calls
from tests.conformance.node_start import start_kubelet, started_answer


def node_scenario(case: Json) -> Json:
    """Play one scenario and answer as the recordings do."""
    return _Scenario(case).play()


class _Scenario:
    """The node, its two files as text, and what the steps answered so far."""

    def __init__(self, case: Json) -> None:
        self.case = case
        self.kubelet: Json = case["kubelet"]
        self.machine: Json = case["machine"]
        self.minor = int(case.get("kubeletVersion", "1.36").removeprefix("1."))
        self.cpu_file: str | None = case.get("cpuManagerState")
        self.memory_file: str | None = case.get("memoryManagerState")
        self.node: Node | None = None
        self.active: list[Pod] = []
        self.pods: dict[str, Pod] = {}
        self.written: CPUStateFile | None = None

    def play(self) -> Json:
        answer: Json = {"start": self._start(), "steps": []}
        for step in self.case["steps"]:
            result = self._step(step)
            answer["steps"].append(result)
            self._save()
            if "hang" in result:
                return {"start": answer["start"], "steps": answer["steps"][:-1], "hang": True}
        return answer | {"final": self._files()}

    def _start(self) -> Json:
        self.node = None
        started = start_kubelet(self.machine, self.kubelet, self.minor)
        if not isinstance(started, Node):
            return _not_started(started)
        saved = None if self.cpu_file is None else read_cpu_state(self.cpu_file)
        self.written = saved if isinstance(saved, CPUStateFile) else None
        refused = started.restore(saved)
        if refused is not None:
            return _not_started(refused)
        self.node = started
        # The Memory Manager starts after the CPU Manager, so a refusal there leaves no file of its own.
        self.memory_file = self.memory_file or write_memory_state_of_none()
        self._save()
        return started_answer(started, self.machine, self.kubelet, self.minor)

    def _save(self) -> None:
        """Write the file as the kubelet does: at once when the state changes, else never."""
        if self.node is not None and (self.cpu_file is None or self.node.state_file() != self.written):
            self.written = self.node.state_file()
            self.cpu_file = write_cpu_state(self.written)

    def _files(self) -> Json:
        files = {"cpuManagerState": self.cpu_file, "memoryManagerState": self.memory_file}
        return {name: text for name, text in files.items() if text is not None}

    def _step(self, step: Json) -> Json:
        if step["op"] == "restart":
            return self._restart(step)
        if self.node is None:
            return {"skipped": True}
        step_taken = STEPS.get(step["op"])
        return {"unknownStep": step["op"]} if step_taken is None else step_taken(self, self.node, step)

    def _restart(self, step: Json) -> Json:
        self.active = list(self.node.active.values()) if self.node else self.active
        self.kubelet = step.get("kubelet") or self.kubelet
        self.machine = step.get("machine") or self.machine
        self.cpu_file = step.get("cpuManagerState", self.cpu_file)
        self.memory_file = step.get("memoryManagerState", self.memory_file)
        answer: Json = {"start": self._start()}
        if self.node is None:
            return answer
        self.node.resume(self.active)
        if step.get("readmit"):
            answer["readmitted"] = [
                _admission(self.node, admission) | {"podUID": admission.pod.uid}
                for admission in self.node.readmit(self.active)
            ]
        return answer

    def _admit(self, node: Node, step: Json) -> Json:
        pod = read_pod(step)
        self.pods[pod.uid] = pod
        admission = node.admit(pod)
        if isinstance(admission.verdict, KubeletFault):
            return {"hang": True}
        hints = {"hints": provider_calls(admission.asked)} if step.get("wantHints") else {}
        return _admission(node, admission) | hints

    def _hints(self, node: Node, step: Json) -> Json:
        pod = read_pod(step)
        asked = [*(node.ask(pod, container) for container in pod.all_containers), node.ask(pod, None)]
        return {"hints": provider_calls(asked), "merged": [merged(each) for each in asked]}

    def _collect(self, node: Node, _step: Json) -> Json:
        node.clean_up()
        return _default_set(node)

    def _remove_pod(self, node: Node, step: Json) -> Json:
        node.remove(step["podUID"])
        if step.get("gc"):
            node.clean_up()
        return _default_set(node)

    def _remove_container(self, node: Node, step: Json) -> Json:
        node.remove_container(step["podUID"], step["container"])
        return self._container_state(node, step)

    def _container_state(self, node: Node, step: Json) -> Json:
        return _containers(node, self.pods[step["podUID"]])

    def _state(self, node: Node, _step: Json) -> Json:
        return self._files() | _default_set(node)


STEPS: Mapping[str, Callable[[_Scenario, Node, Json], Json]] = MappingProxyType(
    {
        "admit": _Scenario._admit,
        "gc": _Scenario._collect,
        "hints": _Scenario._hints,
        "removeContainer": _Scenario._remove_container,
        "removePod": _Scenario._remove_pod,
        "restart": lambda scenario, _node, step: scenario._restart(step),
        "startContainer": _Scenario._container_state,
        "state": _Scenario._state,
    }
)


def read_pod(step: Json) -> Pod:
    """Decode a step's pod, defaulted and with canonical quantities as the step says."""
    document = load_documents(json.dumps(_with_names(step["pod"])), "case")[0]
    pod = decode_pod(Cursor.at_root(document))
    return with_api_defaults(pod) if step.get("defaults") else pod


def _with_names(pod: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def _not_started(result: StartRefused | KubeletFault | Undetermined) -> Json:
    match result:
        case StartRefused(stage=stage, error=error):
            return {"ok": False, "stage": stage, "error": error}
        case KubeletFault(why=why):
            return {"ok": False, "stage": "panic", "error": why}
        case Undetermined(why=why):
            return {"undetermined": why}


def _admission(node: Node, admission: Admission) -> Json:
    answer = _containers(node, admission.pod) | {"admitted": isinstance(admission.verdict, Admitted)}
    if admission.asked:
        answer["merged"] = [merged(each) for each in admission.asked]
    if isinstance(admission.verdict, Rejected):
        answer |= {"reason": str(admission.verdict.reason), "message": admission.verdict.message}
    return answer


def _containers(node: Node, pod: Pod) -> Json:
    assigned = {each.name: node.state.assigned(pod.uid, each.name) for each in pod.all_containers}
    return _default_set(node) | {
        "containers": {name: _container(node, cpus) for name, cpus in assigned.items()},
        "podCPUQuotaDisabled": any(cpus is not None for cpus in assigned.values()),
    }


def _container(node: Node, cpus: int | None) -> Json:
    return {
        "assigned": cpus is not None,
        "cpuset": _pool(node) if cpus is None else str(CPUSet(cpus)),
        "isolation": "host" if cpus is None else "container",
        "cpuQuotaDisabled": cpus is not None,
    }


def _default_set(node: Node) -> Json:
    return {"defaultCPUSet": _pool(node)}


def _pool(node: Node) -> str:
    return str(node.state_file().default_cpu_set)

"""Whole-node scenarios: a kubelet starts, pods are admitted and removed, it restarts on its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.engine.admission import Admission
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, FaultKind, KubeletFault, Rejected, StartRefused, Undetermined
from cpuctl.engine.placement import Isolation, cpuset_mems, isolation_of
from cpuctl.engine.start import NotStarted
from cpuctl.pods.model import Container, StoredPod
from cpuctl.pods.reading.pods import decode_pod
from cpuctl.pods.stored import as_sent
from tests.conformance.corpus import Json, version_of
from tests.conformance.hint_answers import merged, provider_calls, undetermined
from tests.conformance.node_start import start_kubelet, start_managers_only, started_answer, state_reader
from tests.conformance.resize_steps import resize, resize_answer, resized_pod, restore_baselines
from tests.conformance.state_files import StateFiles
from tests.support.pods import stored


def node_scenario(case: Json) -> Json:
    """Play one scenario and return answers in the form of the recordings."""
    return _Scenario(case).play()


class _Scenario:
    """The node, its state files, and what the steps answered so far."""

    def __init__(self, case: Json) -> None:
        self.case = case
        self.kubelet: Json = case["kubelet"]
        self.machine: Json = case["machine"]
        self.version = version_of(case)
        self.files = StateFiles(state_reader(self.kubelet, self.version))
        self.files.replaced(case)
        self.node: Node | None = None
        self.active: list[StoredPod] = []
        self.pods: dict[str, StoredPod] = {}
        self.manifests: dict[str, Json] = {}

    def play(self) -> Json:
        answer: Json = {"start": self._start(), "steps": []}
        for step in self.case["steps"]:
            result = self._step(step)
            answer["steps"].append(result)
            if self.node is not None:
                self.files.save(self.node)
            if "hang" in result:
                return {"start": answer["start"], "steps": answer["steps"][:-1], "hang": True}
            if "panic" in result:
                break
        return answer | {"final": self.files.texts()}

    def _start(self) -> Json:
        self.node = None
        self.files.reader = state_reader(self.kubelet, self.version)
        started = start_kubelet(self.machine, self.kubelet, self.version)
        last_check = isinstance(started, StartRefused) and started.stage == "nodeAllocatable"
        node = start_managers_only(self.machine, self.kubelet, self.version) if last_check else started
        refused = self._restore(node) if isinstance(node, Node) else None
        if refused is not None:
            return _not_started(refused)
        if not isinstance(started, Node):
            return _not_started(started)
        self.node = started
        return started_answer(started, self.machine, self.kubelet, self.version)

    def _restore(self, node: Node) -> NotStarted | None:
        """Let the managers read and write their files, the CPU Manager first."""
        refused = node.restore(*self.files.load())
        if refused is None:
            self.files.save(node)
        elif isinstance(refused, StartRefused) and refused.stage == "memoryManagerStart":
            self.files.save_cpu(node.cpu.state_file())
        return refused

    def _step(self, step: Json) -> Json:
        if step["op"] == "restart":
            return self._restart(step)
        if self.node is None:
            return {"skipped": True}
        step_taken = STEPS.get(step["op"])
        return {"unknownStep": step["op"]} if step_taken is None else step_taken(self, self.node, step)

    def _restart(self, step: Json) -> Json:
        baselines = self.node.cpu.state.baselines if self.node else {}
        self.active = list(self.node.active.values()) if self.node else self.active
        self.kubelet = step.get("kubelet") or self.kubelet
        self.machine = step.get("machine") or self.machine
        self.files.replaced(step)
        answer: Json = {"start": self._start()}
        if self.node is None:
            return answer
        self.node.resume(self.active)
        restore_baselines(self.node, step, baselines)
        if step.get("readmit"):
            answer["readmitted"] = [
                _admission(self.node, admission) | {"podUID": admission.pod.uid}
                for admission in self.node.readmit(self.active)
            ]
        return answer

    def _admit(self, node: Node, step: Json) -> Json:
        pod = read_pod(step)
        self.pods[pod.uid], self.manifests[pod.uid] = pod, step["pod"]
        admission = node.admit(pod)
        if isinstance(admission.verdict, KubeletFault):
            crash = admission.verdict.kind is FaultKind.CRASH
            return {"panic": admission.verdict.why} if crash else {"hang": True}
        if isinstance(admission.verdict, Undetermined):
            return undetermined(admission.verdict)
        hints = {"hints": provider_calls(admission.hint_rounds)} if step.get("wantHints") else {}
        return _admission(node, admission) | hints

    def _resize(self, node: Node, step: Json) -> Json:
        uid = step["podUID"]
        if uid not in node.active:
            return {"error": "pod not active"}
        manifest = resized_pod(self.manifests[uid], step)
        result = resize(node, read_pod({"pod": manifest}), step)
        if isinstance(result.verdict, Admitted):
            self.pods[uid], self.manifests[uid] = node.active[uid], manifest
        return resize_answer(result, _containers(node, self.pods[uid]), node, step)

    def _hints(self, node: Node, step: Json) -> Json:
        pod = read_pod(step)
        requested = [*(node.ask(pod, container) for container in pod.all_containers), node.ask(pod, None)]
        return {"hints": provider_calls(requested), "merged": [merged(each) for each in requested]}

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

    def _start_container(self, node: Node, step: Json) -> Json:
        node.start_container(self.pods[step["podUID"]], step["container"])
        return self._container_state(node, step)

    def _container_state(self, node: Node, step: Json) -> Json:
        return _containers(node, self.pods[step["podUID"]])

    def _state(self, node: Node, _step: Json) -> Json:
        return self.files.texts() | _default_set(node)


STEPS: Mapping[str, Callable[[_Scenario, Node, Json], Json]] = MappingProxyType(
    {
        "admit": _Scenario._admit,
        "gc": _Scenario._collect,
        "hints": _Scenario._hints,
        "resize": _Scenario._resize,
        "removeContainer": _Scenario._remove_container,
        "removePod": _Scenario._remove_pod,
        "restart": lambda scenario, _node, step: scenario._restart(step),
        "startContainer": _Scenario._start_container,
        "state": _Scenario._state,
    }
)


def read_pod(step: Json) -> StoredPod:
    """Decode a step's pod, defaulted and with canonical quantities as the step says."""
    document = load_documents(json.dumps(_with_names(step["pod"])), "case")[0]
    pod = decode_pod(Cursor.at_root(document))
    static = step.get("static", False)
    if step.get("defaults"):
        return stored(pod._replace(static=static))._replace(static=pod.static)
    # The recorder also gave the kubelet's code pods without defaults.
    return StoredPod(pod if static else as_sent(pod))


def _with_names(pod: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def _not_started(result: NotStarted) -> Json:
    match result:
        case StartRefused(stage=stage, error=error):
            return {"ok": False, "stage": stage, "error": error}
        case KubeletFault(why=why):
            return {"ok": False, "stage": "panic", "error": why}
        case Undetermined():
            return undetermined(result)


def _admission(node: Node, admission: Admission) -> Json:
    answer = _containers(node, admission.pod) | {"admitted": isinstance(admission.verdict, Admitted)}
    if admission.hint_rounds:
        answer["merged"] = [merged(each) for each in admission.hint_rounds]
    if isinstance(admission.verdict, Rejected):
        answer |= {"reason": str(admission.verdict.reason), "message": admission.verdict.message}
    return answer


def _containers(node: Node, pod: StoredPod) -> Json:
    divided = node.cpu.rules.divides(pod)
    cpus = {each.name: _cpus(node, pod, each) for each in pod.all_containers}
    own = [each["isolation"] == "container" for each in cpus.values()]
    answer = _default_set(node) | {
        "containers": {name: values | _memory(node, pod, name) for name, values in cpus.items()},
        "podCPUQuotaDisabled": all(own) if divided else any(own),
    }
    if (held := node.cpu.state.pod_entries.get(pod.uid)) is not None:
        answer["podCPUSet"] = str(CPUSet(held))
    if (blocks := node.memory.state.pod_blocks.get(pod.uid)) is not None:
        answer["podMemory"] = [_block(block) for block in blocks]
    return answer


def _cpus(node: Node, pod: StoredPod, container: Container) -> Json:
    cpus = node.cpu.state.assigned(pod.uid, container.name)
    divided = node.cpu.rules.divides(pod)
    isolation = isolation_of(container, assigned=cpus is not None, divided=divided)
    return {
        "assigned": cpus is not None,
        "cpuset": _pool(node) if cpus is None else str(CPUSet(cpus)),
        "isolation": str(isolation),
        "cpuQuotaDisabled": isolation is Isolation.CONTAINER,
    }


def _memory(node: Node, pod: StoredPod, container: str) -> Json:
    if node.memory.policy is None:
        return {}
    blocks = node.memory.state.assigned(pod.uid, container)
    return {
        "memory": None if blocks is None else [_block(block) for block in blocks],
        "cpusetMems": cpuset_mems(blocks or ()),
    }


def _block(block: MemoryBlock) -> Json:
    return {"numa": list(block.numa_affinity), "type": block.type, "size": block.size}


def _default_set(node: Node) -> Json:
    return {"defaultCPUSet": _pool(node)}


def _pool(node: Node) -> str:
    return str(node.cpu.state_file().default_cpu_set)

"""What ``cpuctl resize`` asks of the engine, and what is worth a warning about its answer."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cpuctl.cli.output import Document
    from cpuctl.engine.node import Node
    from cpuctl.engine.resize.handler import ResizePath
    from cpuctl.engine.resize.pending import Attempted
    from cpuctl.engine.resize.running import ResizeWish
    from cpuctl.engine.resize.semantics import Semantics
    from cpuctl.operations.planning import Planning
    from cpuctl.operations.resize_node import ResizeInputs, Scene
    from cpuctl.pods.cgroups.values import CgroupSettings
    from cpuctl.pods.model import Pod


class ResizeAnswer(NamedTuple):
    """An answer, and the node afterwards; None where the kubelet does not start."""

    document: Document
    node: Node | None


def resized(planning: Planning, words: ResizeInputs, semantics: Semantics) -> ResizeAnswer:
    """Resize what the words name, on the node that they name."""
    from cpuctl.cli.answers.resize.resize_answer import Resizes, not_started_document, resize_document
    from cpuctl.engine.resize.pending import resize_all
    from cpuctl.operations.resize_node import Scene, resize_path, set_scene
    from cpuctl.operations.resize_requests import read_wishes
    from cpuctl.operations.state_writing import state_texts

    scene = set_scene(planning)
    if not isinstance(scene, Scene):
        return ResizeAnswer(not_started_document(scene, planning.head()), None)
    path = resize_path(planning, scene, words, semantics)
    assert path.server is not None
    wishes = read_wishes(planning, scene, words, path.server)
    stored = [wish for wish in wishes if wish.desired.uid not in scene.never_stored]
    done = [*_never_stored(wishes, scene), *resize_all(scene.node, stored, path)]
    resizes = Resizes(
        done=done,
        node=scene.node,
        path=path,
        settings=_settings(planning, scene),
        state_file=state_texts(scene.node, planning.kubelet)["cpu_manager_state"],
    )
    document = resize_document(resizes, planning.head(), _warnings(scene.node, done, path))
    pods = [{**pod, "fix": _fix(pod, planning, words) or None} for pod in document["pods"]]
    return ResizeAnswer({**document, "pods": pods}, scene.node)


def _fix(pod: Document, planning: Planning, words: ResizeInputs) -> str:
    """Write the option that switches on what a resize lacks, with the gates that were given; else nothing."""
    gate = pod["needsGate"]
    if gate is None:
        return ""
    # An API server of which nothing is said has the kubelet's gates.
    apart = pod["decidedBy"] == "apiServer" and bool(words.server_gates or words.server_version)
    option, given = "--feature-gates", planning.words.kubelet.gates
    if apart:
        option, given = "--apiserver-feature-gates", words.server_gates
    others = (each for each in given.split(",") if each and each.partition("=")[0].strip() != gate)
    return shlex.join([option, ",".join((*others, f"{gate}=true"))])


def _never_stored(wishes: Iterable[ResizeWish], scene: Scene) -> Iterator[Attempted]:
    """Tell of pods that there are none to resize of, as no API server stores them."""
    from cpuctl.engine.outcome import Forbidden
    from cpuctl.engine.resize.outcome import Judge, ResizeOutcome, Ruling
    from cpuctl.engine.resize.pending import Attempted

    for wish in wishes:
        if refusals := scene.never_stored.get(wish.desired.uid):
            message = f"the pod itself is never stored: {'; '.join(refusals)}"
            outcome = ResizeOutcome(
                wish=wish,
                ruling=Ruling.FORBIDDEN,
                judge=Judge.API_SERVER,
                verdict=Forbidden(refusals),
                message=message,
            )
            yield Attempted(outcome, None)


def pending_resize(planning: Planning, uid: str) -> Document | None:
    """Describe what becomes of the resize that is pending of a pod that runs; None where there is none."""
    from cpuctl.cli.answers.resize.resize_answer import decision_document
    from cpuctl.engine.resize.pending import resize_all
    from cpuctl.engine.resize.running import ResizeWish
    from cpuctl.engine.resize.semantics import Semantics
    from cpuctl.inputs.sources import Sources
    from cpuctl.operations.resize_node import ResizeInputs, Scene, resize_path, set_scene

    planning = planning._replace(wanted=(), sources=Sources())
    scene = set_scene(planning)
    if not isinstance(scene, Scene):
        return None
    wishes = [ResizeWish(each, each.spec) for each in scene.pods if each.spec.uid == uid]
    wishes = [wish for wish in wishes if wish.is_new and uid in scene.node.active]
    path = resize_path(planning, scene, ResizeInputs(), Semantics.KEP)
    found = [decision_document(each, path.kubelet.release) for each in resize_all(scene.node, wishes, path)]
    return found[0] | {"command": planning.words.command_with(("resize",), ())} if found else None


def _settings(planning: Planning, scene: Scene) -> CgroupSettings:
    from cpuctl.engine.pod_rules import cgroup_settings

    return cgroup_settings(planning.kubelet.config, scene.gates)


def _warnings(node: Node, done: Sequence[Attempted], path: ResizePath) -> Iterator[str]:
    """Say what follows later from what is granted now."""
    from cpuctl.engine.resize.outcome import Ruling

    granted = [each.outcome for each in done if each.outcome.ruling.accepted]
    idle = [each for each in granted if each.ruling is Ruling.NO_EFFECT]
    for outcome in idle:
        names, pod = ", ".join(outcome.unfollowed), outcome.wish.desired.full_name
        yield (
            f"{pod}: weight, quota and memory limit follow, the exclusive CPUs of {names} do not "
            "(kubernetes issue 140031)"
        )
    yield from _after_restart(node, [each.wish.desired.uid for each in idle])
    if any(each.preview for each in granted) and not node.cpu.keeps_baselines:
        yield (
            f"kubelet 1.{path.kubelet.minor} does not write down what was promised at admission: after a "
            "restart what a container has then counts as promised"
        )
    for outcome in granted:
        yield from _less_memory(outcome.wish.running.allocated, outcome.wish.desired, path)


def _after_restart(node: Node, uids: Sequence[str]) -> Iterator[str]:
    from cpuctl.engine.outcome import Rejected
    from cpuctl.engine.resize.pending import refused_after_restart

    for uid, verdict in refused_after_restart(node, uids).items():
        why = f"{verdict.reason}: {verdict.message}" if isinstance(verdict, Rejected) else "cannot be said"
        yield f"{node.active[uid].full_name}: a kubelet that restarts now ends the pod ({why})"


def _less_memory(before: Pod, after: Pod, path: ResizePath) -> Iterator[str]:
    """Name containers whose memory limit shrinks, which a kubelet may not be able to carry out."""
    limits = {each.name: each.resources.limits.get("memory") for each in before.all_containers}
    for each in after.all_containers:
        old, new = limits.get(each.name), each.resources.limits.get("memory")
        if path.kubelet.conditions and old is not None and new is not None and new < old:
            yield (
                f"{after.full_name}: the memory limit of {each.name} is lowered only while it uses less than "
                f"{new}; until then PodResizeInProgress says Error"
            )

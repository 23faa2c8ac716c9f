"""What is to change of the pods that run: by ``--set``, by edited manifests, or what is pending already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cpuctl.errors import InputError, UsageError
from cpuctl.operations.resize_amounts import parse_set, target

if TYPE_CHECKING:
    from cpuctl.engine.resize.running import ResizeWish
    from cpuctl.engine.resize.server_side import ResizeServer
    from cpuctl.operations.planning import Planning
    from cpuctl.operations.resize_node import ResizeInputs, Scene
    from cpuctl.pods.model import Pod

_WHAT = "say what is to change with --set POD/CONTAINER:cpu=6 or --to edited.yaml"


def read_wishes(
    planning: Planning, scene: Scene, words: ResizeInputs, server: ResizeServer
) -> list[ResizeWish]:
    """Collect what is to change, one wish a pod, as *server* would store it.

    Without a word, these are the resizes that are pending already.

    Raise UsageError for nothing to change or two ways of saying it, InputError for a pod that is not
    admitted.
    """
    from cpuctl.engine.resize.running import ResizeWish

    if words.amounts and words.edited:
        raise UsageError("--set and --to cannot be used together", hint="write everything into --to's file")
    if words.amounts:
        wishes = _by_amounts(scene, words.amounts, server)
    elif words.edited:
        wishes = _by_manifests(planning, scene, words.edited, server)
    else:
        wishes = [ResizeWish(each, each.spec) for each in scene.pods]
        wishes = [wish for wish in wishes if wish.is_new]
    if not wishes:
        raise UsageError("nothing to resize: no pod is to have other resources", hint=_WHAT)
    for wish in wishes:
        if wish.desired.uid not in scene.node.active and wish.desired.uid not in scene.never_stored:
            message = f"pod {wish.desired.full_name} is not admitted here, so it cannot be resized"
            raise InputError(message, hint="cpuctl explain tells why it is not")
    return wishes


def _by_amounts(scene: Scene, texts: Sequence[str], server: ResizeServer) -> list[ResizeWish]:
    from cpuctl.engine.resize.running import POD, ResizeWish, with_requirements
    from cpuctl.pods.model import ResourceRequirements

    pods = [each.spec for each in scene.pods]
    desired: dict[int, Pod] = {}
    for text in texts:
        words = parse_set(text)
        place, container = target(words, pods)
        pod = desired.get(place, pods[place])
        resources = {POD: pod.resources} | {each.name: each.resources for each in pod.all_containers}
        changed = words.change(resources[container] or ResourceRequirements())
        desired[place] = with_requirements(pod, {container: changed})
    return [ResizeWish(scene.pods[place], server.stored(pods[place], pod)) for place, pod in desired.items()]


def _by_manifests(
    planning: Planning, scene: Scene, names: Sequence[str], server: ResizeServer
) -> list[ResizeWish]:
    """Match manifests with the pods that run, by UID or by name; those that ask for the same are left out."""
    from cpuctl.engine.resize.running import ResizeWish
    from cpuctl.inputs.pods import load_pods

    by_uid = {each.spec.uid: each for each in scene.pods}
    by_name = {each.spec.full_name: each for each in scene.pods}
    wishes = []
    for pod in load_pods(names, (), planning.sources).pods:
        running = by_uid.get(pod.uid) or by_name.get(pod.full_name)
        if running is None:
            message = f"pod {pod.full_name} does not run here"
            raise InputError(message, where=str(pod.origin), hint="name it with --pods or -f, too")
        wish = ResizeWish(running, server.stored(running.spec, _edited(running.spec, pod)))
        if wish.is_new:
            wishes.append(wish)
    return wishes


def _edited(spec: Pod, edited: Pod) -> Pod:
    """Take containers and resources from the edited pod, everything else from the one that runs."""
    return spec._replace(
        containers=edited.containers,
        init_containers=edited.init_containers,
        resources=edited.resources,
    )

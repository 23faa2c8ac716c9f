"""Which pod, and perhaps container, a word on the command line means."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cpuctl.pods.model import StoredPod

_WHERE = "POD"
_SHOWN = 5


class PodChoice(NamedTuple):
    """A pod by its place among those that come or (``running``) that run, and perhaps a container."""

    place: int
    container: str = ""
    running: bool = False


def choose_pod(
    text: str, wanted: Sequence[StoredPod], running: Sequence[StoredPod], ended: Sequence[str] = ()
) -> PodChoice:
    """Find the pod that ``NAME``, ``NAMESPACE/NAME``, ``NAMESPACE/NAME/CONTAINER`` or a UID means.

    Pods that come are looked at first. Raise UsageError where there is none or more than one, and for one of
    those that have *ended*.
    """
    name, container = _split(text)
    for pods, are_running in ((wanted, False), (running, True)):
        places = [place for place, pod in enumerate(pods) if name in (pod.uid, pod.name, pod.full_name)]
        if len(places) > 1:
            raise _ambiguous(text, [pods[place] for place in places])
        if places:
            _check_container(pods[places[0]], container)
            return PodChoice(places[0], container, are_running)
    if gone := [each for each in ended if name in (each, each.rpartition("/")[2])]:
        raise UsageError(f"pod {gone[0]} has ended", where=_WHERE, hint="explain it with --include-completed")
    raise _unknown(text, (*wanted, *running))


def _split(text: str) -> tuple[str, str]:
    parts = text.split("/")
    if len(parts) > 3 or not all(parts):
        hint = "write NAME, NAMESPACE/NAME or NAMESPACE/NAME/CONTAINER"
        raise UsageError(f"expected the name of a pod, found {text!r}", where=_WHERE, hint=hint)
    return "/".join(parts[:2]), parts[2] if len(parts) == 3 else ""


def _check_container(pod: StoredPod, name: str) -> None:
    names = [container.name for container in pod.all_containers]
    if name and name not in names:
        message = f"pod {pod.full_name} has no container {name!r}"
        raise UsageError(message, where=_WHERE, hint=f"it has {few_names(names)}")


def _ambiguous(text: str, pods: Sequence[StoredPod]) -> UsageError:
    message = f"{text!r} can be {len(pods)} pods: {few_names(_told(pods))}"
    return UsageError(message, where=_WHERE, hint="name one with its namespace, or by its UID")


def _told(pods: Sequence[StoredPod]) -> Iterator[str]:
    """Name pods; those that share a namespace, too, by their UIDs."""
    names = [pod.full_name for pod in pods]
    return (
        f"{pod.full_name} (UID {pod.uid})" if names.count(pod.full_name) > 1 else pod.full_name
        for pod in pods
    )


def _unknown(text: str, pods: Sequence[StoredPod]) -> UsageError:
    from cpuctl.spelling import nearest

    names = list(dict.fromkeys(pod.full_name for pod in pods))
    meant = nearest(text, (*names, *(pod.name for pod in pods)))
    hint = f"did you mean {meant}?" if meant else f"there are {few_names(names)}" if names else ""
    return UsageError(f"there is no pod {text!r}", where=_WHERE, hint=hint)


def few_names(names: Iterable[str]) -> str:
    """List the first few names, and count the others."""
    names = list(names)
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"

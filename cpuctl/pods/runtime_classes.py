"""RuntimeClasses: the overhead that the API server's admission sets in new pods.

Rule: ``plugin/pkg/admission/runtimeclass``. It only acts when a pod is created.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from shlex import quote

from cpuctl.phrases import few
from cpuctl.pods.defaulting import Step
from cpuctl.pods.model import Pod, RuntimeClass
from cpuctl.quantity import Quantity


def with_runtime_classes(pods: Sequence[Pod], classes: Iterable[RuntimeClass]) -> tuple[Pod, ...]:
    """Return the pods with the RuntimeClasses that they name, if these are among *classes*."""
    known: Mapping[str, RuntimeClass] = {each.name: each for each in classes}
    return tuple(_with_class(pod, known) for pod in pods) if known else tuple(pods)


def _with_class(pod: Pod, known: Mapping[str, RuntimeClass]) -> Pod:
    named = pod.runtime_class
    return pod if named is None else pod._replace(runtime_class=known.get(named.name, named))


def overhead_steps(pod: Pod) -> Iterator[Step]:
    """Yield the change by the RuntimeClass of a new pod; one with another overhead is refused instead."""
    named = pod.runtime_class
    if named is not None and named.overhead and not pod.overhead:
        rule = f"the overhead of RuntimeClass {named.name}"
        yield Step(rule, partial(_with_overhead, overhead=named.overhead))


def _with_overhead(pod: Pod, overhead: Mapping[str, Quantity]) -> Pod:
    return pod._replace(overhead=overhead)


def overhead_refusal(pod: Pod) -> str:
    """Return the refusal of a new pod whose overhead is not that of its RuntimeClass; empty without any."""
    named = pod.runtime_class
    if named is None or not named.known or not pod.overhead or pod.overhead == named.overhead:
        return ""
    if named.overhead is None:
        why = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
    else:
        why = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    return f"pod rejected: {why}"


def unknown_classes(pods: Iterable[Pod]) -> tuple[str, ...]:
    """Return the names of unknown RuntimeClasses that may set the overhead of new pods, each once."""
    named = (
        pod.runtime_class
        for pod in pods
        if not (pod.overhead or pod.phase or pod.static or pod.virtual_machine)
    )
    return tuple(dict.fromkeys(each.name for each in named if each is not None and not each.known))


def uncounted_overhead(names: Sequence[str]) -> str:
    """Return the warning about unknown RuntimeClasses with these *names*, and how to specify them."""
    which = "RuntimeClasses" if names[1:] else "RuntimeClass"
    command = f"kubectl get runtimeclass {'NAME' if names[1:] else quote(names[0])} -o yaml"
    return (
        f"the overhead of pods with {which} {few(names)} is unknown and not counted: specify the {which} "
        f"with -f ({command})"
    )

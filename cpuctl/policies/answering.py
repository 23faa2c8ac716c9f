"""Questions to a policy in the form that its process receives, and its answers, with masks as texts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.policies.cycle import Report, evicted, kept, order, selection, writes
from cpuctl.policies.model import (
    STEPS,
    ContainerView,
    Elements,
    Failure,
    Holder,
    PodView,
    Policy,
    Rejection,
    Topology,
    Usage,
    View,
)

Answer = dict[str, Any]
"""The types that JSON can represent."""
Kind = Literal["describe", "text", "filter", "select", "sort", "post_filter", "allocate", "deallocate"]
_NONE: Mapping[str, str] = MappingProxyType({})


class OptionError(Exception):
    """An option that a policy does not have, or a value that it does not accept."""


class Question(NamedTuple):
    """One question; sets of CPUs are masks. The fields are described in ``View``."""

    kind: Kind
    elements: Elements | None = None
    pod: PodView | None = None
    container: ContainerView | None = None
    free: int = 0
    need: int = 0
    shared: int = 0
    reserved: int = 0
    nodes: tuple[int, ...] | None = None
    kubelet: int = 0
    holders: tuple[tuple[str, str, int], ...] = ()
    usage: tuple[tuple[int, str, int, int], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    release: tuple[int, int | None] = (36, None)
    running: tuple[PodView, ...] = ()
    pods: tuple[PodView, ...] = ()
    cpus: int = 0


class Server:
    """Answers questions in the process of a policy; *options* are the policy's, by name."""

    def __init__(
        self, policy: Policy, options: Mapping[str, str] = _NONE, *, as_kubelet: bool = False
    ) -> None:
        self.policy = policy
        self.options = options
        self.as_kubelet = as_kubelet
        self._elements: Elements | None = None
        self._topology = Topology(Elements({}, {}, {}, {}, 0, 0, 0))

    def __call__(self, question: Question, tell: Report) -> Answer:
        """Answer one question; *tell* is called before every step."""
        if question.kind == "describe":
            return self._description()
        if question.kind == "text":
            return {"text": _text_of(type(self.policy))}
        view, policy = self._view(question), self.policy
        match question.kind:
            case "filter":
                assert question.pod is not None
                return {"cpus": f"{kept(policy, question.pod, view, tell):x}"}
            case "select":
                return self._selected(view, tell)
            case "sort":
                return {"uids": order(policy, question.pods, view, tell)}
            case "post_filter":
                assert question.pod is not None
                return {"uids": evicted(policy, question.pod, view, tell)}
            case _:
                tell(question.kind)
                getattr(policy, question.kind)(CPUSet(question.cpus), view)
                return {}

    def _description(self) -> Answer:
        kind = type(self.policy)
        return {
            "doc": (inspect.getdoc(kind) or "").replace("``", ""),
            "source": str(kind.source),
            "alignment": str(kind.alignment),
            "steps": [step for step in STEPS if writes(self.policy, step)],
            "options": dict(self.options),
        }

    def _selected(self, view: View, tell: Report) -> Answer:
        try:
            found = selection(self.policy, view, tell, as_kubelet=self.as_kubelet)
        except Rejection as rejection:
            return {"rejected": str(rejection)}
        except Failure as failure:
            return {"failed": failure.why, "crash": failure.crash, "where": failure.where}
        return {
            "scores": {str(cpu): score for cpu, score in found.scores.items()},
            "sets": [[f"{each.cpus:x}", each.score] for each in found.sets],
            "winner": found.winner,
        }

    def _view(self, question: Question) -> View:
        if question.elements is not None and question.elements != self._elements:
            self._elements, self._topology = question.elements, Topology(question.elements)
        usage: dict[int, dict[str, Usage]] = {}
        for node, resource, assigned, allocatable in question.usage:
            usage.setdefault(node, {})[resource] = Usage(assigned, allocatable)
        return View(
            topology=self._topology,
            free=CPUSet(question.free),
            need=question.need,
            container=question.container,
            shared=CPUSet(question.shared),
            reserved=CPUSet(question.reserved),
            nodes=None if question.nodes is None else frozenset(question.nodes),
            kubelet=CPUSet(question.kubelet),
            holders=tuple(Holder(uid, name, CPUSet(cpus)) for uid, name, cpus in question.holders),
            usage=MappingProxyType({node: MappingProxyType(each) for node, each in usage.items()}),
            settings=MappingProxyType(dict(question.settings)),
            release=question.release,
            running=question.running,
        )


def _text_of(kind: type[Policy]) -> str:
    module = inspect.getmodule(kind)
    try:
        return inspect.getsource(module) if module is not None else ""
    except OSError:
        return ""


def option_defaults(kind: Callable[..., Policy]) -> dict[str, str]:
    """Return the options of a policy with their defaults as text."""
    try:
        return {name: _text(value) for name, value in options_of(kind).items()}
    except TypeError:  # generated by a program, with other signatures
        return {}


def options_of(kind: Callable[..., Policy]) -> dict[str, object]:
    """Return the options of a policy with their defaults.

    Raise TypeError for a parameter of ``__init__`` without a default, or whose default is not a plain value.
    """
    found: dict[str, object] = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        plain = isinstance(parameter.default, bool | int | float | str)
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or not plain:
            raise TypeError(
                f"option {name} of {kind} must have a default value of type bool, int, float or str"
            )
        found[name.replace("_", "-")] = parameter.default
    return found


def constructed(kind: Callable[..., Policy], given: Mapping[str, str] = _NONE) -> Policy:
    """Construct a policy with options as text; raise OptionError for an unknown or invalid one.

    Raise TypeError if the object is not a policy.
    """
    known = options_of(kind)
    values: dict[str, object] = {}
    for name, text in given.items():
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise OptionError(f"unknown option {name}: {has}")
        choices = _choices(kind, name)
        if choices and text not in choices:
            raise OptionError(f"{name}: expected one of {', '.join(choices)}, found {text!r}")
        values[name.replace("-", "_")] = _read(name, text, known[name])
    policy = kind(**values)
    if not isinstance(policy, Policy):
        raise TypeError(f"{kind} is not a cpuctl.Policy")
    return policy


def _choices(kind: Callable[..., Policy], option: str) -> Sequence[str]:
    """Return the only values of an option; empty for any, or if a policy uses the name for something else."""
    choices = getattr(kind, "choices", None)
    return choices.get(option, ()) if isinstance(choices, Mapping) else ()


def _read(name: str, text: str, default: object) -> object:
    if isinstance(default, bool):
        if text in ("true", "false"):
            return text == "true"
        raise OptionError(f"{name}: expected true or false, found {text!r}")
    if isinstance(default, int | float):
        try:
            return type(default)(text)
        except ValueError:
            kind = "a number" if isinstance(default, float) else "a whole number"
            raise OptionError(f"{name}: expected {kind}, found {text!r}") from None
    return text


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

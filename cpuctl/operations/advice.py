"""The settings that serve pods best on a machine: each one that a kubelet accepts is tried on the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from cpuctl import option_names
from cpuctl.diagnostics import Severity
from cpuctl.engine.capacity.service import Service, service_of, unbeaten
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Forbidden, KubeletFault, Undetermined
from cpuctl.engine.start import Started
from cpuctl.errors import CpuctlError, PolicyError, UsageError
from cpuctl.inputs.configuration import load_setup
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.starting_state import StartingState
from cpuctl.kubelet.policy_options import VARIED
from cpuctl.operations.advised_settings import Choice, Equivalence, LeftOut, Space
from cpuctl.operations.configuration import check_kubelet
from cpuctl.phrases import few
from cpuctl.records import replace
from cpuctl.spelling import did_you_mean

if TYPE_CHECKING:
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.capacity.probe import Progress
    from cpuctl.engine.start import NotStarted
    from cpuctl.inputs.configuration import KubeletSetup
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.configuration.drop_ins import DropInSource
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.operations.policies import ChosenPolicy

BUDGET = 2000
"""The default number of settings to try."""
Ended = Literal["all", "budget", "stopped"]


class AdviceOptions(NamedTuple):
    """The extent of a search: the most settings to try, and whether to include policies that no kubelet has.

    Settings in ``keep`` are not varied.
    """

    budget: int = BUDGET
    what_if: bool = False
    keep: frozenset[str] = frozenset()


def read_kept(names: Iterable[str]) -> frozenset[str]:
    """Read the names of settings to keep; raise UsageError for one that is never varied."""
    for name in names:
        if name not in VARIED:
            hint = did_you_mean(name, VARIED, f"expected one of {', '.join(VARIED)}")
            raise UsageError(f"unknown setting {name!r}", where=option_names.KEEP, hint=hint)
    return frozenset(names)


class Tried(NamedTuple):
    """Settings that were tried, how they serve the pods, and the names of the pods that are not admitted.

    ``forbidden`` are those among them that the API server rejects.
    """

    choice: Choice
    service: Service
    not_admitted: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    policy: ChosenPolicy | None = None


class Proposed(NamedTuple):
    """Settings that no others beat; ``others`` is how many of those tried reach the same figures."""

    tried: Tried
    others: int


class Advice(NamedTuple):
    """The result: the current settings (or why the kubelet does not start), and those to choose from.

    Of the ``possible`` settings, ``equivalent`` have the same effect as others, with ``refused`` the kubelet
    does not start, with ``undetermined`` this is unknown (``why_undetermined``: each reason once), and with
    ``failed`` it hangs or crashes.
    ``current_unbeaten``: nothing that was tried beats the current settings.
    """

    current: Tried | NotStarted
    current_unbeaten: bool
    proposed: tuple[Proposed, ...]
    left_out: tuple[LeftOut, ...]
    possible: int
    equivalent: int
    refused: int
    undetermined: int
    why_undetermined: tuple[str, ...]
    failed: int
    tried: int
    ended: Ended


def advise(
    planning: Planning,
    options: AdviceOptions,
    progress: Progress,
    stopped: Callable[[], bool] = lambda: False,
) -> Advice:
    """Try settings, those closest to the current ones first, until all are tried or the budget is used up.

    Running pods are admitted first, then the others in their order. *stopped* is called before each setting.
    """
    plugins = dict(_plugins()) if options.what_if else {}
    source = planning.source
    space = Space(source.machine, source.info, planning.kubelet, plugins=tuple(plugins), keep=options.keep)
    choices = space.choices()
    try:
        search = _Search(planning, plugins, space.left_out)
        as_is = next((each for each in choices if not each.changes), Choice(planning.kubelet.config))
        current = search.try_current(as_is)
        if isinstance(current, Tried) and (names := current.forbidden):
            planning.sources.warn(f"the API server rejects {few(names)}, which no kubelet setting changes")
        changed = [each for each in choices if each.changes and search.is_compatible(each)]
        ended = search.run(changed, options.budget, progress, stopped)
        return search.advice(current, len(choices), ended)
    finally:
        for each in plugins.values():
            each.worker.stop()


def _plugins() -> Iterator[tuple[str, ChosenPolicy]]:
    """Load the policies that ship with cpuctl, except the one that represents the kubelet's own."""
    from cpuctl.operations.policies import choose_policy
    from cpuctl.policies.catalogue import SHIPPED

    return ((name, choose_policy(name)) for name in SHIPPED if name != "static")


@dataclass(slots=True)
class _Search:
    """A search: what was tried, and what happened to the rest."""

    planning: Planning
    plugins: dict[str, ChosenPolicy]
    left_out: list[LeftOut]
    equivalence: Equivalence | None = None
    found: list[Tried] = field(default_factory=list)
    seen: set[object] = field(default_factory=set)
    equivalent: int = 0
    refused: int = 0
    undetermined: int = 0
    why_undetermined: dict[str, None] = field(default_factory=dict)
    failed: int = 0
    tried: int = 0
    claims_cpus: bool = False

    def is_compatible(self, choice: Choice) -> bool:
        """Return whether settings go together with the driver that serves the pods' claims, if any."""
        if not self.claims_cpus or choice.config.cpu_manager_policy != "static":
            return True
        self._leave_out(
            "cpuManagerPolicy=static",
            "pods have claims for CPUs, so the dra.cpu driver assigns the same CPUs",
        )
        return False

    def try_current(self, choice: Choice) -> Tried | NotStarted:
        """Try the current settings; note whether the pods have claims for CPUs."""
        choice = choice._replace(config=self.planning.kubelet.config)
        node = self._start(choice, self.planning.sources)
        if not isinstance(node, Node):
            return node
        self.tried += 1
        self._is_new(choice, node)
        served = self._serve(choice, node)

        from cpuctl.operations.plan_inputs import claims_of

        claims = claims_of(node)
        self.claims_cpus = claims is not None and any(
            claim.cpus for pod in claims.pods.values() for claim in pod.claims
        )
        return served

    def run(
        self, choices: Sequence[Choice], budget: int, progress: Progress, stopped: Callable[[], bool]
    ) -> Ended:
        """Try settings one after another, as many as the budget allows."""
        most = min(budget, len(choices))
        for choice in choices:
            if stopped():
                return "stopped"
            if self._is_known(choice):
                self.equivalent += 1
                continue
            if self.tried >= budget:
                return "budget"
            progress("trying settings", self.tried, most)
            self._try(choice)
        return "all"

    def _is_known(self, choice: Choice) -> bool:
        return self.equivalence is not None and self._key(choice) in self.seen

    def _key(self, choice: Choice) -> tuple[object, ...]:
        assert self.equivalence is not None
        devices = self.planning.devices is not None
        return self.equivalence.key(choice, devices=devices), choice.config.reserved_system_cpus

    def _try(self, choice: Choice) -> None:
        node = self._start(choice, Sources())
        if isinstance(node, Undetermined):
            self.undetermined += 1
            self.why_undetermined[node.text] = None
            return
        if not isinstance(node, Node):
            self.refused += 1
            return
        if not self._is_new(choice, node):
            self.equivalent += 1
            return
        self.tried += 1
        try:
            served = self._serve(choice, node)
        except PolicyError as error:
            self._leave_out(f"policy={choice.policy}", str(error))
            return
        if isinstance(served, Tried):
            self.found.append(served)
        else:
            self.failed += 1

    def _is_new(self, choice: Choice, node: Node) -> bool:
        """Remember settings with which a kubelet has started; return whether none like them were tried."""
        if self.equivalence is None:
            pods = (*self.planning.initial.granted, *self.planning.incoming)
            self.equivalence = Equivalence(self.planning.source.info, node.topology, pods)
        key = self._key(choice)
        same = (key[0], node.policy.reserved if node.policy else None, _allocatable(node))
        new = same not in self.seen
        self.seen |= {key, same}
        return new

    def _leave_out(self, setting: str, why: str) -> None:
        if not any(each.setting == setting for each in self.left_out):
            self.left_out.append(LeftOut(setting, why))

    def _start(self, choice: Choice, sources: Sources) -> Node | NotStarted:
        planning = self.planning
        fresh = replace(planning, initial=StartingState(), policy=self.plugins.get(choice.policy))
        return fresh.start(replace(planning.kubelet, config=choice.config), sources)

    def _serve(self, choice: Choice, node: Node) -> Tried | KubeletFault:
        admissions = list(self._admissions(node))
        if node.fault is not None:
            return node.fault
        others = (each.pod.full_name for each in admissions if not isinstance(each.verdict, Admitted))
        forbidden = (each.pod.full_name for each in admissions if isinstance(each.verdict, Forbidden))
        service = service_of(node, admissions)
        policy = self.plugins.get(choice.policy)
        return Tried(choice, service, tuple(others), tuple(forbidden), policy)

    def _admissions(self, node: Node) -> Iterator[Admission]:
        """Admit the pods; running ones bypass the API server, which has already created them."""
        server, node.server = node.server, None
        for pod in self.planning.initial.granted:
            yield node.admit(pod)
        node.server = server
        for pod in node.in_order(self.planning.incoming):
            yield node.admit(pod)

    def advice(self, current: Tried | NotStarted, possible: int, ended: Ended) -> Advice:
        """Propose what nothing else beats and ``config check`` does not object to."""
        found = [current, *self.found] if isinstance(current, Tried) else self.found
        front = unbeaten((each, each.service) for each in found)
        checked = {id(current)}
        while unchecked := [each for each, _ in front if id(each) not in checked]:
            checked.update(map(id, unchecked))
            bad = [each for each in unchecked if not self._passes(each)]
            found = [each for each in found if not any(each is other for other in bad)]
            self.left_out += (LeftOut(", ".join(each.choice.changes), "config check objects") for each in bad)
            front = unbeaten((each, each.service) for each in found)
        equivalent = {service: sum(each.service == service for each in found) - 1 for _, service in front}
        return Advice(
            current=current,
            current_unbeaten=any(each is current for each, _ in front),
            proposed=tuple(
                Proposed(each, equivalent[service]) for each, service in front if each is not current
            ),
            left_out=tuple(self.left_out),
            possible=possible,
            equivalent=self.equivalent,
            refused=self.refused,
            undetermined=self.undetermined,
            why_undetermined=tuple(self.why_undetermined),
            failed=self.failed,
            tried=self.tried,
            ended=ended,
        )

    def _passes(self, tried: Tried) -> bool:
        """Return whether a check of the configuration finds no error beyond those it finds now."""
        now, kubelet = self.planning.loaded, self.planning.kubelet
        changed = replace(now, kubelet=replace(kubelet, config=tried.choice.config))
        outcome, lints = check_kubelet(self.planning.source, changed)
        if not isinstance(outcome, Started):
            return False
        errors = {each.code for each in lints if each.severity is Severity.ERROR}
        known = {each.code for each in check_kubelet(self.planning.source, now)[1]} if errors else set()
        return errors <= known


class _OneMoreDropIn(NamedTuple):
    """The drop-in files of a kubelet, followed by one more."""

    before: DropInSource | None
    text: str

    @property
    def name(self) -> str:
        """The name of the directory."""
        return self.before.name if self.before else "kubelet.conf.d"

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield all files, the new one last."""
        if self.before is not None:
            yield from self.before.files()
        yield f"{self.name}/advised.conf", self.text.encode()

    def left_out(self) -> Iterable[tuple[str, str]]:
        """Yield nothing: this was reported when the configuration was read."""
        return ()


def does_as_drop_in(setup: KubeletSetup, text: str, config: KubeletConfiguration) -> bool:
    """Return whether a kubelet that also reads *text* as its last drop-in file has exactly *config*.

    Flags override files, no file removes members of a mapping, and what else a file resets depends on the
    release: 1.28 merges whole files. So it is tried.
    """
    try:
        loaded = load_setup(replace(setup, drop_ins=_OneMoreDropIn(setup.drop_ins, text)), Sources())
    except CpuctlError:
        return False
    lost = any(each.code == "drop-in-default" for each in loaded.configuration.warnings)
    # Other fields are kept as texts, which merging may write differently: 2m becomes 2m0s.
    return replace(loaded.kubelet.config, others=config.others) == config and not lost


def _allocatable(node: Node) -> tuple[object, ...]:
    """Return the allocatable resources that pods have to fit into."""
    allocatable = node.allocatable
    return () if allocatable is None else (allocatable.pods, tuple(sorted(allocatable.amounts.items())))

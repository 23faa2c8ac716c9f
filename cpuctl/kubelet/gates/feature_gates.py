"""Feature gates of a kubelet: its release's defaults, overrides, and how invalid ones stop its start.

Rules and texts are those of ``k8s.io/component-base/featuregate``, ``cmd/kubelet/app/server.go`` and the
defaulting of the configuration, which tries the file's gates on top of the flags' and panics if that
fails.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from cpuctl.golang.text import GoError
from cpuctl.kubelet.gates.manager_gates import DEPENDENCIES, DEPENDENCIES_SINCE, MANAGER_GATES
from cpuctl.kubelet.gates.other_gates import LATER_DEPENDENCIES, OTHER_DEPENDENCIES, OTHER_GATES
from cpuctl.kubelet.releases.behaviours import Behaviours, behaviours
from cpuctl.kubelet.version import NEWEST, OLDEST
from cpuctl.records import Record

_TOKEN = re.compile(r"(?P<since>[0-9]+)(?P<stage>[abgdABGD-])(?P<locked>!?)(?P<doubt>\??)", re.ASCII)
_LAST_VERIFIED_MINOR = 37
_GROUPS = {"AllAlpha": "a", "AllBeta": "b"}


class GateStage(Record):
    """A gate in one release: ``stage`` is ``a``, ``b``, ``g`` or ``d`` (see ``manager_gates``)."""

    stage: str
    default: bool
    locked: bool
    verified: bool

    @property
    def effect(self) -> tuple[str, bool, bool]:
        """What differs for a kubelet: all but how well it is known."""
        return self.stage, self.default, self.locked


class FeatureGates(Record):
    """The gates of a kubelet 1.*minor*.*patch*; ``settings`` are those that a configuration sets.

    ``turned`` is passed to ``behaviours``.
    """

    minor: int
    settings: Mapping[str, bool] = {}
    patch: int | None = None
    turned: frozenset[str] = frozenset()

    @classmethod
    def for_minor(cls, minor: int) -> "FeatureGates":
        """Return the defaults of a release."""
        return cls(minor)

    @property
    def release(self) -> Behaviours:
        """How the kubelet behaves because of its release alone."""
        return behaviours(self.minor, self.patch, self.turned)

    def with_overrides(self, overrides: Mapping[str, bool]) -> "FeatureGates":
        """Set gates as the kubelet does; calls accumulate, and the last one wins per gate.

        Raise GoError with the kubelet's text for a gate that this release does not have, one that is locked
        to the other value, or one that is on while a gate it depends on is off.
        """
        gates = FeatureGates(self.minor, {**self.settings, **overrides}, self.patch, self.turned)
        problems = list(map(gates.refusal, gates.refused())) or list(gates._broken_dependencies())
        if problems:
            raise GoError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
        return gates

    def enabled(self, name: str) -> bool:
        """Return whether a feature is on: by its gate, or permanently once a release has removed the gate."""
        if name in self.settings:
            return self.settings[name]
        if name in _GROUPS:
            return False
        stage = self.stage(name)
        if stage is None:
            return _outlived_its_gate(name, self.minor)
        for group, letter in _GROUPS.items():
            if stage.stage == letter and group in self.settings:
                return self.settings[group]
        return stage.default

    def stage(self, name: str) -> GateStage | None:
        """Return a gate's stage in this release, None if the gate does not exist."""
        return _stage(name, self.minor)

    def is_unknown(self, name: str) -> bool:
        """Return whether a kubelet of this release exits if the gate is set to any value."""
        return name not in _GROUPS and self.stage(name) is None

    def verified(self, name: str) -> bool:
        """Return whether the gate's stage in this release is known from the kubelet itself."""
        stage = self.stage(name)
        return stage is not None and stage.verified

    def known(self) -> tuple[str, ...]:
        """List the gates of this release."""
        return _known(self.minor)

    def releases_with(self, name: str) -> str:
        """Return the releases that have a gate, ``1.27 to 1.34``; empty if none has it."""
        minors = [minor for minor in range(OLDEST, NEWEST + 1) if _stage(name, minor) is not None]
        if not minors:
            return ""
        first, last = f"1.{minors[0]}", f"1.{minors[-1]}"
        return first if first == last else f"{first} to {last}"

    def refusal(self, name: str) -> str:
        """Return the kubelet's error about how a gate is set, empty if it is unset or valid."""
        if name in _GROUPS or name not in self.settings:
            return ""
        stage, value = self.stage(name), self.settings[name]
        if stage is None:
            return f"unrecognized feature gate: {name}"
        if not stage.locked or stage.default == value:
            return ""
        to, locked = str(value).lower(), str(stage.default).lower()
        return f"cannot set feature gate {name} to {to}, feature is locked to {locked}"

    def refused(self) -> Iterator[str]:
        """Yield the gates that the kubelet's error names: most releases stop at the first one."""
        for name in sorted(self.settings):
            if self.refusal(name):
                yield name
                if self.stage(name) is None or not self.release.collects_locked_gates:
                    return

    def missing(self, name: str) -> tuple[str, ...]:
        """List a gate's dependencies that are off: with the gate alone, a kubelet would not start."""
        found: dict[str, None] = {}
        waiting = [name] if self.minor >= DEPENDENCIES_SINCE else []
        needs = dict(_dependencies())
        while waiting:
            gate = waiting.pop()
            off = (each for each in needs.get(gate, ()) if not self.enabled(each))
            new = [each for each in off if each not in found and self._depends(gate, each)]
            found |= dict.fromkeys(new)
            waiting += new
        return tuple(found)

    def _broken_dependencies(self) -> Iterator[str]:
        if self.minor < DEPENDENCIES_SINCE:
            return
        groups = not self.settings.keys().isdisjoint(_GROUPS)
        for name, needed in _dependencies():
            # The defaults of a release never break dependencies: only overrides can.
            if not groups and self.settings.keys().isdisjoint((name, *needed)):
                continue
            off = [gate for gate in needed if not self.enabled(gate) and self._depends(name, gate)]
            if off and self.enabled(name):
                yield f"{name} is enabled, but depends on features that are disabled: [{' '.join(off)}]"

    def _depends(self, name: str, needed: str) -> bool:
        return self.minor >= LATER_DEPENDENCIES.get((name, needed), DEPENDENCIES_SINCE)


@cache
def _dependencies() -> tuple[tuple[str, Sequence[str]], ...]:
    return tuple(sorted({**OTHER_DEPENDENCIES, **DEPENDENCIES}.items()))


def _outlived_its_gate(name: str, minor: int) -> bool:
    tokens = _reached(name, minor)
    return len(tokens) > 1 and tokens[-1]["stage"] == "-" and tokens[-2]["stage"] == "G"


@lru_cache(maxsize=1 << 14)  # more than all gates of all releases; names also come from configurations
def _stage(name: str, minor: int) -> GateStage | None:
    """Return the last stage that a gate has reached by a release."""
    reached = _reached(name, minor)
    if not reached or reached[-1]["stage"] == "-":
        return None
    token = reached[-1]
    return GateStage(
        stage=token["stage"].lower(),
        default=token["stage"].isupper(),
        locked=bool(token["locked"]),
        verified=not token["doubt"] and minor <= _verified_until(name),
    )


@cache
def _known(minor: int) -> tuple[str, ...]:
    return tuple(name for name in _table() if _stage(name, minor) is not None)


def _reached(name: str, minor: int) -> list[re.Match[str]]:
    """Return the stages of a gate up to a release, in order."""
    return [token for token in _TOKEN.finditer(_table().get(name, "")) if int(token["since"]) <= minor]


@cache
def _table() -> Mapping[str, str]:
    """Return the lines of both tables by gate: hundreds, of which one run reads only a few."""
    lines = (line.partition(" ") for line in (MANAGER_GATES + OTHER_GATES).split("\n") if line)
    return {name: stages for name, _, stages in lines}


def _verified_until(name: str) -> int:
    return _LAST_VERIFIED_MINOR if f"\n{name} " in MANAGER_GATES else _LAST_VERIFIED_MINOR - 1


STAGE = "featureGates"
_FLAGS = "failed to set feature gates from initial flags-based config: "
_PANIC = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "


def minors_with(names: Iterable[str], minor: int, others: Iterable[int]) -> Iterator[int]:
    """Yield those of *others* that have all gates that exist in any release, if *minor* does not.

    Gates that no release has are another component's, or mistakes: they are ignored.
    """
    named = sorted({*names} - {"AllAlpha", "AllBeta"})
    known = [name for name in named if any(_stage(name, each) for each in range(OLDEST, NEWEST + 1))]
    if not all(_stage(name, minor) for name in known):
        yield from (each for each in others if all(_stage(name, each) for name in known))


def gates_gone(names: Iterable[str], minor: int, assumed: int) -> list[str]:
    """List the gates that *assumed* has but *minor* does not."""
    return sorted(name for name in {*names} if _stage(name, assumed) and not _stage(name, minor))


class BadGatesError(GoError):
    """Gates that cannot be set: the kubelet's error, what it logs, and whether it crashes."""

    def __init__(self, error: str, *, logged: str, crash: bool) -> None:
        super().__init__(error)
        self.logged = logged
        self.crash = crash


def gates_at_start(
    minor: int,
    in_files: Iterable[Mapping[str, bool]],
    in_flags: Mapping[str, bool],
    *,
    patch: int | None = None,
    turned: frozenset[str] = frozenset(),
) -> FeatureGates:
    """Set gates as the kubelet does; flags win per gate. Raise BadGatesError if it exits.

    *in_files* are the gates of the main file, then those after merging drop-ins: each is tried.
    """
    release = FeatureGates(minor, patch=patch, turned=turned)
    by_flags = _set(release, in_flags, crash=False)
    last: Mapping[str, bool] = {}
    for last in in_files:
        if release.release.defaults_by_gates:
            _set(by_flags, last, crash=True)
    return _set(release, {**last, **in_flags}, crash=False)


def _set(gates: FeatureGates, settings: Mapping[str, bool], *, crash: bool) -> FeatureGates:
    try:
        return gates.with_overrides(settings)
    except GoError as error:
        text = f"{_PANIC}{error}" if crash else str(error)
        logged = text if crash else f"{_FLAGS}{error}"
        raise BadGatesError(text, logged=logged, crash=crash) from None

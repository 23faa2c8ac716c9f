"""The release assumed for a kubelet of unknown version: one that has its flags and feature gates.

A running kubelet accepts all of them, and the newest release may have dropped some.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.inputs.configuration import any_flags, load_setup
from cpuctl.kubelet.gates.feature_gates import gates_gone, minors_with
from cpuctl.kubelet.version import KubeletVersion, other_minors
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.inputs.configuration import Arguments, KubeletSetup, LoadedKubelet
    from cpuctl.inputs.sources import Sources


ASSUMED = "is assumed, the"
"""What every warning about an assumed release says."""


def load_assumed(setup: KubeletSetup, sources: Sources) -> LoadedKubelet:
    """Load a configuration as a kubelet of the release that *setup* assumes, or of the nearest possible one.

    That is one with all flags of the node's kubelet and all gates; those that no release knows are ignored.
    Raise ConfigRefusedError as ``load_setup`` does.
    """
    own = _own_flags(setup.arguments)
    setup = _with_all_flags(setup, own, sources)
    warnings_before = len(sources.warnings)
    loaded = load_setup(setup, sources)
    release = setup.version.minor
    known = _known_flags(own, release)
    minor = next(minors_with(_gates(loaded), release, _minors_with(known, release)), None)
    if minor is None:
        return loaded
    # These are reported again for the release that is assumed instead.
    del sources.warnings[warnings_before:]
    gone = gates_gone(_gates(loaded), release, minor)
    where = loaded.configuration.origin("featureGates", gone[0]).place
    why = f"{where}: kubelet {setup.version} has no feature gate {', '.join(gone)}"
    return load_setup(_assume(setup, minor, why, "with all of these gates", sources), sources)


def _with_all_flags(setup: KubeletSetup, own: Sequence[str], sources: Sources) -> KubeletSetup:
    version = setup.version
    known = _known_flags(own, version.minor)
    gone = [name for name in own if name not in known]
    if not gone or (minor := next(_minors_with(own, version.minor), None)) is None:
        return setup
    why = f"{setup.arguments.where}: kubelet {version} has no {', '.join(f'--{name}' for name in gone)}"
    return _assume(setup, minor, why, "with all of these flags", sources)


def _own_flags(arguments: Arguments) -> list[str]:
    """List the flags of the node's kubelet that some release has."""
    return _known_flags((*any_flags(arguments.own).names, *arguments.others), None)


def _known_flags(names: Collection[str], minor: int | None) -> list[str]:
    """Return the flags that a release has, or any release."""
    if not names:
        return []  # the usual case on most nodes: the table of flags takes a millisecond

    from cpuctl.kubelet.flags.table import flag_of

    return [name for name in names if flag_of(name, minor)]


def _assume(setup: KubeletSetup, minor: int, why: str, which: str, sources: Sources) -> KubeletSetup:
    nearest = "newest" if minor < setup.version.minor else "first"
    sources.warnings.append(
        f"{why}: 1.{minor} {ASSUMED} {nearest} version {which} (set the node's kubelet version with "
        "--kubelet-version)"
    )
    sources.add("kubeletVersion", f"1.{minor}", "default")
    return replace(setup, version=KubeletVersion(minor))


def _minors_with(flags: Collection[str], minor: int) -> Iterator[int]:
    """Yield the minors of releases other than *minor* that have all of these flags."""
    return (each for each in other_minors(minor) if len(_known_flags(flags, each)) == len(flags))


def _gates(loaded: LoadedKubelet) -> set[str]:
    return {*loaded.kubelet.gates_of_main_file, *loaded.kubelet.gates.settings}

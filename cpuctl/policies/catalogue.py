"""The known policies: those of cpuctl, of other installed packages, and of files.

A policy is written ``NAME[,OPTION=VALUE]...``, one in a file ``FILE.py:CLASS[,OPTION=VALUE]...``. Other
packages declare entry points in the group ``cpuctl.policies``. No code of a policy runs here: it is
imported in the process that answers for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from cpuctl import option_names
from cpuctl.errors import InputError, UsageError, unreadable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import ModuleType

    from cpuctl.policies.model import Policy

GROUP = "cpuctl.policies"
BUDGET = "budget"
"""The option that every policy has: the time limit of each question in seconds."""

Origin = Literal["shipped", "installed", "file", "program"]

SHIPPED: Mapping[str, tuple[str, str]] = {
    "static": ("cpuctl.policies.static", "Static"),
    "numa-allocation": ("cpuctl.policies.numa_allocation", "NUMAAllocation"),
    "min-shared": ("cpuctl.policies.min_shared", "MinShared"),
    "favour-cpus": ("cpuctl.policies.favour_cpus", "FavourCPUs"),
    "core-kinds": ("cpuctl.policies.core_kinds", "CoreKinds"),
    "koordinator": ("cpuctl.policies.koordinator", "Koordinator"),
    "katalyst": ("cpuctl.policies.katalyst", "Katalyst"),
}
"""The policies that come with cpuctl: module and class."""

_IN_FILE = re.compile(r"(?P<name>(?P<file>.+\.py):(?P<class>[^\W\d]\w*))(?:,(?P<options>.*))?", re.DOTALL)
_LOST = re.compile(r"[^,]*\.py(,.*)?", re.DOTALL)


class Plugin(NamedTuple):
    """A policy that was found: ``load`` imports its class, ``where`` is its file or package.

    ``as_kubelet``: it models the kubelet, and may assign CPUs that the kubelet assigns by mistake.
    """

    name: str
    origin: Origin
    where: str
    load: Callable[[], Callable[..., Policy]]
    options: Mapping[str, str] = {}
    budget: float | None = None
    as_kubelet: bool = False


def find(text: str, where: str = option_names.POLICY) -> Plugin:
    """Find the policy that *text* names; raise UsageError for an unknown name, InputError for a bad file.

    *where* is the option or argument that names it.
    """
    if found := _IN_FILE.fullmatch(text):
        plugin = _in_file(found["name"], Path(found["file"]), found["class"])
        return _with_options(plugin, found["options"] or "")
    if _LOST.fullmatch(text):
        raise UsageError(
            "the name of a class is missing",
            where=f"{where} {text}",
            hint="write FILE.py:CLASS",
        )
    name, _, options = text.partition(",")
    return _with_options(_named(name, where), options)


def known() -> tuple[Plugin, ...]:
    """Return the named policies: those of cpuctl, then those of other packages."""
    return (*(_shipped(name) for name in SHIPPED), *map(_installed, _entry_points()))


def _named(name: str, where: str) -> Plugin:
    if name in SHIPPED:
        return _shipped(name)
    found = [each for each in known() if each.name == name]
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} policies are named {name}: {', '.join(each.where for each in found)}",
            where=f"{where} {name}",
            hint="select one by its file: FILE.py:CLASS",
        )
    if not found:
        from cpuctl.kubelet.validation.rules import TOPOLOGY_POLICIES
        from cpuctl.spelling import did_you_mean

        names = sorted({each.name for each in known()})
        hint = did_you_mean(name, names, f"expected {', '.join(names)} or FILE.py:CLASS")
        if name in TOPOLOGY_POLICIES:
            hint = f"for the Topology Manager, set topologyManagerPolicy: {name} for the kubelet"
        raise UsageError(f"unknown policy {name!r}", where=where, hint=hint)
    return found[0]


def _shipped(name: str) -> Plugin:
    from importlib import import_module

    module, kind = SHIPPED[name]

    def load() -> Callable[..., Policy]:
        loaded: Callable[..., Policy] = getattr(import_module(module), kind)
        return loaded

    where = f"{module}:{kind}"
    return Plugin(name, "shipped", where, load, as_kubelet=name == "static")


def _entry_points() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)))


def _installed(entry: EntryPoint) -> Plugin:
    package = f" ({entry.dist.name} {entry.dist.version})" if entry.dist else ""
    return Plugin(entry.name, "installed", f"{entry.value}{package}", entry.load)


def _in_file(name: str, path: Path, kind: str) -> Plugin:
    try:
        path.open("rb").close()
    except OSError as error:
        raise unreadable(error, str(path)) from None
    if not path.is_file():
        raise InputError("is not a file", where=str(path))

    def load() -> Callable[..., Policy]:
        import sys
        from importlib.util import module_from_spec, spec_from_file_location

        spec = spec_from_file_location(f"cpuctl_policy_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        loaded: Callable[..., Policy] | None = getattr(module, kind, None)
        if loaded is None:
            raise _no_class(module, kind)
        return loaded

    return Plugin(name, "file", str(path), load)


def _no_class(module: ModuleType, name: str) -> Exception:
    from cpuctl.policies.answering import OptionError
    from cpuctl.policies.model import Policy

    own = (each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__)
    names = [each.__name__ for each in own if isinstance(each, type) and issubclass(each, Policy)]
    return OptionError(f"class {name} not found: it has {', '.join(names) or 'no policy'}")


def _with_options(plugin: Plugin, text: str) -> Plugin:
    options: dict[str, str] = {}
    for part in text.split(",") if text else ():
        name, equals, value = part.partition("=")
        where = f"{option_names.POLICY} {plugin.name}"
        if not (name and equals):
            raise UsageError(f"expected OPTION=VALUE, found {part!r}", where=where)
        if name in options:
            raise UsageError(f"{name} is set twice", where=where, hint=f"keep only {name}={value}")
        options[name] = value
    budget = options.pop(BUDGET, "")
    return plugin._replace(options=options, budget=_seconds(budget, plugin.name) if budget else None)


def _seconds(text: str, name: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 3600:
        problem = f"{BUDGET}: expected seconds, more than 0 and at most 3600, found {text!r}"
        raise UsageError(problem, where=f"{option_names.POLICY} {name}")
    return seconds

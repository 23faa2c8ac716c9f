"""Policies that the user names: finding, loading and describing them, and using them on a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.errors import CpuctlError, UsageError
from cpuctl.policies.answering import Question, Server, constructed, option_defaults
from cpuctl.policies.catalogue import Plugin, find, known
from cpuctl.policies.what_if import Description, Setting, SubstitutePolicy, describe
from cpuctl.policies.worker import BUDGET, Worker

if TYPE_CHECKING:
    from cpuctl.engine.node import Node
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.sources import MachineSource
    from cpuctl.policies.model import Policy

NO_EXCLUSIVE_CPUS = "the CPU Manager's policy is none here, so containers have no exclusive CPUs"
POLICY_UNUSED = "--policy is not used, because the CPU Manager's policy is none here"
AS_STATIC = (
    "to plan as if the policy were static, add --kubelet-args '--cpu-manager-policy=static "
    "--reserved-cpus=LIST' and, if there are state files, --state none"
)


class ChosenPolicy(NamedTuple):
    """A policy that was found, its description of itself, and the process that runs it."""

    plugin: Plugin
    description: Description
    worker: Worker

    @property
    def text(self) -> str:
        """Its Python source; empty if there is none."""
        return str(self.worker.ask(Question("text")).get("text", ""))

    def attach(self, node: Node, source: MachineSource, kubelet: Kubelet) -> None:
        """Use it in place of the kubelet's policy on a node."""
        setting = Setting.of(node.topology, source.info, source.machine.core_kinds, kubelet)
        as_kubelet = self.plugin.as_kubelet
        SubstitutePolicy(self.worker, self.description, setting, as_kubelet=as_kubelet).attach(node)


class KnownPolicy(NamedTuple):
    """A policy with a name; ``description`` is None if it cannot be loaded, and ``error`` says why."""

    plugin: Plugin
    description: Description | None
    error: str = ""


def known_policies() -> Iterator[KnownPolicy]:
    """Load every policy with a name, each in its own process."""
    for plugin in known():
        try:
            chosen = load_policy(plugin)
        except CpuctlError as error:
            yield KnownPolicy(plugin, None, str(error))
        else:
            chosen.worker.stop()
            yield KnownPolicy(plugin, chosen.description)


def write_start(name: str, *, force: bool) -> str:
    """Write a commented template for a policy, and return its path.

    Raise UsageError for a file that exists, unless *force* permits replacing it, or whose name does not end
    in ``.py``; NodeAccessError if it cannot be written.
    """
    from importlib.resources import files

    from cpuctl.capture.saving import save

    path = Path(name)
    if path.suffix != ".py":
        raise UsageError(f"expected a name that ends in .py, found {name!r}", hint="write FILE.py")
    text = files("cpuctl.policies").joinpath("start.txt").read_text(encoding="utf-8")
    text = text.replace("THIS_FILE.py", name)
    save(path, lambda file: file.write(text.encode()), replace=force, mode=0o644)
    return name


def choose_policy(text: str, where: str = option_names.POLICY) -> ChosenPolicy:
    """Find the policy that *text* names, by the option or argument *where*, and load it in its own process.

    Raise UsageError for an unknown policy or invalid options, PolicyError if it cannot be loaded.
    """
    return load_policy(find(text, where), where)


def choose_for_many(text: str) -> ChosenPolicy:
    """Find and load a policy for plans of more than one node or more than one moment.

    Raise UsageError also for one that evicts pods: nothing would recreate them.
    """
    chosen = choose_policy(text)
    if "post_filter" in chosen.description.steps:
        raise UsageError(
            "it may evict pods (post_filter), and what happens to them on other nodes or later is not "
            "computed",
            where=f"{option_names.POLICY} {chosen.plugin.name}",
            hint="cpuctl plan follows evictions on one node",
        )
    return chosen


def plugin_of(policy: Policy | type[Policy]) -> Plugin:
    """Return a class, or a policy with its options, as a found plugin; its options are not known."""
    kind = policy if isinstance(policy, type) else type(policy)
    where = f"{kind.__module__}:{kind.__qualname__}"

    def load() -> Callable[..., Policy]:
        return policy if isinstance(policy, type) else lambda: policy

    return Plugin(kind.__name__, "program", where, load)


def load_policy(plugin: Plugin, where: str = option_names.POLICY) -> ChosenPolicy:
    """Load a policy in its own process; raise PolicyError if that fails."""

    def serve() -> Server:
        kind = plugin.load()
        policy = constructed(kind, plugin.options)
        return Server(policy, option_defaults(kind), as_kubelet=plugin.as_kubelet)

    worker = Worker(plugin.name, serve, plugin.budget or BUDGET, where)
    return ChosenPolicy(plugin, describe(worker), worker)

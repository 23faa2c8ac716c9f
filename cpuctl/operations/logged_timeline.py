"""A kubelet's log as a timeline, with the machine, the kubelet and the pods that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpuctl.errors import InputError
from cpuctl.inputs.configuration import LIVE_MACHINE, KubeletInputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.inputs.sources import Sources
    from cpuctl.machine.sources import MachineSource
    from cpuctl.timeline.logs.history import LoggedHistory
    from cpuctl.timeline.model import KubeletSetup, Timeline

_EVENTS_HINT = "kubelets tell of pods from -v=2 on: journalctl -u kubelet -o json"


class LoggedNode(NamedTuple):
    """What a log is about and does not hold: machine, files of manifests, what the kubelet was told."""

    machine: str = ""
    filenames: Sequence[str] = ()
    kubelet: KubeletInputs = KubeletInputs()


def timeline_of_log(text: str, source: str, node: LoggedNode, sources: Sources) -> Timeline:
    """Read a log; what it lacks is a warning among the *sources*.

    Raise InputError for a log that tells nothing of decisions, or of a release that is not known.
    """
    from cpuctl.inputs.machine import load_machine
    from cpuctl.inputs.pods import load_pods
    from cpuctl.timeline.logs.events import read_events
    from cpuctl.timeline.logs.history import history_of
    from cpuctl.timeline.model import Timeline, TimelinePod
    from cpuctl.timeline.reading.kubelets import server_like

    sources.add("timeline", source, "given")
    machine = load_machine(node.machine or LIVE_MACHINE, sources)
    given = load_pods(node.filenames, (), sources, needed=False)
    pods = {pod.full_name: TimelinePod(pod) for pod in given.pods}

    def setup_of(version: str, where: str) -> KubeletSetup:
        return _setup(version, where, node.kubelet, machine, sources)

    history = history_of(read_events(text, source), source, pods, setup_of)
    if history is None:
        raise InputError("tells nothing of what a kubelet decided", where=source, hint=_EVENTS_HINT)
    _tell_gaps(history, sources)
    return Timeline(
        machine=machine,
        setup=history.setup,
        server=server_like(history.setup),
        moments=history.moments,
        until=history.moments[-1].at if history.moments else 0,
        description=f"what the kubelet of {source} did, and what it should have done",
        pods=pods,
        limit_ranges=given.limit_ranges,
        log=source,
    )


def _setup(
    version: str, where: str, told: KubeletInputs, machine: MachineSource, sources: Sources
) -> KubeletSetup:
    """Take the kubelet that the options tell of, in the release that the log names unless they do."""
    from cpuctl.inputs.kubelet import load_kubelet
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.timeline.model import KubeletSetup

    if version and not told.version:
        try:
            KubeletVersion.parse(version)
        except ValueError as error:
            raise InputError(str(error), where=where, hint="name a release with --kubelet-version") from None
        told = told._replace(version=version)
    kubelet = load_kubelet(told, sources, machine=machine).kubelet
    return KubeletSetup(kubelet=kubelet, release=kubelet.version)


def _tell_gaps(history: LoggedHistory, sources: Sources) -> None:
    """Say what the log or the manifests have not, and what that means for the differences."""
    from cpuctl.exports.wording import few

    if not history.from_start:
        sources.warnings.append(
            "the log does not begin with a start of the kubelet: the replay begins on an empty node"
        )
    if history.left_out:
        sources.warnings.append(f"without a manifest, and left out: {few(sorted(history.left_out))}")
    if pinned := sorted(name for name, cpus in history.left_out.items() if cpus):
        first = pinned[0]
        sources.warnings.append(
            f"of these {few(pinned)} got CPUs ({first}: {history.left_out[first]}): "
            "differences after that may come from it"
        )
    if history.kept:
        sources.warnings.append(
            f"{few(history.kept)} had CPUs from a state file that the log does not tell: the replay takes "
            "them anew"
        )
    if history.unseen:
        sources.warnings.append(f"the log does not tell of {few(history.unseen)}")

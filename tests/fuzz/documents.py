"""Parsers of documents: plain YAML and JSON, and everything that cpuctl reads from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cpuctl.checkpoints.claim_state import read_claims_state
from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.device_state import read_devices_state
from cpuctl.checkpoints.inspection import OTHER_FILES, inspect_state
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import UnreadableState
from cpuctl.checkpoints.pods_state import read_pods_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.checkpoints.status_state import read_status_state
from cpuctl.documents.loading import load_documents
from cpuctl.engine.outcome import StartRefused
from cpuctl.engine.pod_lints import KubeletView, PodLintSubject, lint_pod
from cpuctl.errors import CpuctlError
from cpuctl.kubelet.configuration.loading import ConfigSources, load_configuration
from cpuctl.kubelet.version import DEFAULT_VERSION
from cpuctl.machine.devices.reading import read_devices
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.machine_info import kubelet_view
from cpuctl.pods.reading.events import decode_events
from cpuctl.pods.reading.template import pods_from_template
from cpuctl.pods.reading.usage import decode_usage
from cpuctl.pods.validation.lint import lint_document
from cpuctl.timeline.log_events import read_events
from cpuctl.timeline.log_history import history_of
from cpuctl.timeline.model import Admit, ContainerEvent, KubeletSetup, Remove, Resize, TimelinePod
from cpuctl.timeline.reading.document import read_timeline
from cpuctl.timeline.runtime_history import runtime_history
from cpuctl.timeline.runtime_log import is_runtime_log, read_requests
from tests.fuzz.target import Target, files, text_of, texts
from tests.pods.validation.linting import rules
from tests.support.kubelet_config import read_kubelet_config
from tests.support.manifests import read_pods
from tests.support.state_files import CPU_STATE, MEMORY_STATE
from tests.timeline.replaying import OUTSIDE

_LOGGED = {
    f"shop/{name}": TimelinePod(pods_from_template(f"{name}=2,1Gi")[0]._replace(namespace="shop"))
    for name in ("web", "odd")
}
_LOGGED_SETUP = KubeletSetup(StartRefused(stage="", error=""), DEFAULT_VERSION)
_OLD = StateReader(minor=30)
_READERS = (
    _OLD,
    StateReader(minor=36, pod_level_managers=True),
    StateReader(minor=38, pod_level_managers=True, exclusive_resize=True),
)


_EVENT = (
    '{"kind": "Event", "reason": "TopologyAffinityError", "count": 3, "message": "no", "lastTimestamp": "T", '
    '"involvedObject": {"kind": "Pod", "name": "web", "uid": "u"}, "source": {"host": "n"}, "series": null}'
)


def run_events(data: bytes) -> None:
    with suppress(CpuctlError):
        events = decode_events(data, "fuzz")
        assert list(events) == sorted(events, key=lambda event: event.last, reverse=True)


def run_state(data: bytes) -> None:
    """A state that a kubelet loads stays the same when it is written and read back."""
    text = text_of(data)
    with suppress(CpuctlError):
        inspect_state(text)
    for name in OTHER_FILES:
        with suppress(CpuctlError):
            found = inspect_state(text, name)
            assert not found.resummed or all(
                each.ok for each in inspect_state(found.resummed, name).checksums
            )
    for reader in _READERS:
        with suppress(CpuctlError):
            cpu = read_cpu_state(text, reader)
            if not isinstance(cpu, UnreadableState):
                assert read_cpu_state(write_cpu_state(cpu, reader), reader) == cpu
        with suppress(CpuctlError):
            memory = read_memory_state(text, reader)
            if not isinstance(memory, UnreadableState):
                assert read_memory_state(write_memory_state(memory, reader), reader) == memory
        for read in (read_pods_state, read_status_state, read_devices_state, read_claims_state):
            with suppress(CpuctlError):
                read(text, reader)


def run_config(data: bytes) -> None:
    with suppress(CpuctlError):
        read_kubelet_config(data, "fuzz", (27, 36, 38)[len(data) % 3])
    with suppress(CpuctlError):
        load_configuration(ConfigSources(main=(data, "fuzz")), DEFAULT_VERSION)


def run_cadvisor(data: bytes) -> None:
    with suppress(CpuctlError):
        machine, _, _ = read_printed(data, "fuzz")
        kubelet_view(machine)


def _reading(*parsers: Callable[[bytes], object]) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        for parse in parsers:
            with suppress(CpuctlError):
                parse(data)

    return run


def run_lint(data: bytes) -> None:
    with suppress(CpuctlError):
        for document in load_documents(data, "fuzz", last_wins=True):
            for linted in lint_document(document, rules()):
                if linted.pod is not None and linted.draft is not None:
                    list(lint_pod(PodLintSubject(linted.pod, linted.draft.spec, KubeletView())))


def _state_seeds() -> list[bytes]:
    recorded = Path(__file__).parents[2] / "fixtures/state_files/recorded.json"
    return [
        *(each["text"].encode() for each in json.loads(recorded.read_text())),
        *(write_cpu_state(CPU_STATE, reader).encode() for reader in _READERS),
        *(write_memory_state(MEMORY_STATE, reader).encode() for reader in _READERS),
    ]


def _cadvisor_seeds() -> list[bytes]:
    small = {
        "num_cores": 2,
        "num_sockets": 1,
        "memory_capacity": 8_000_000_000,
        "topology": [
            {
                "node_id": 0,
                "memory": 8_000_000_000,
                "hugepages": [{"page_size": 2048, "num_pages": 4}],
                "distances": [10],
                "cores": [
                    {
                        "core_id": 0,
                        "thread_ids": [0, 1],
                        "socket_id": 0,
                        "uncore_caches": [{"id": 0, "level": 3}],
                    }
                ],
                "caches": [{"id": 1, "level": 3, "type": "Unified", "size": 4096}],
            }
        ],
    }
    return [json.dumps(small).encode()]


def run_log(data: bytes) -> None:
    """The events of a log are in order of time, for any pods, with or without manifests."""
    history = history_of(read_events(text_of(data), "fuzz"), "fuzz", _LOGGED, lambda *_: _LOGGED_SETUP)
    times = [moment.at for moment in history.moments] if history is not None else []
    assert times == sorted(times)
    assert not times or times[0] >= 0


def run_requests(data: bytes) -> None:
    """The requests to a runtime are in order of time, and refer only to existing pods."""
    text = text_of(data)
    is_runtime_log(text)
    history = runtime_history(list(read_requests(text, "fuzz")), "fuzz", _LOGGED)
    if history is None:
        return
    times = [moment.at for moment in history.moments]
    assert times == sorted(times)
    assert not times or times[0] >= 0
    here: set[str] = set()
    for moment in history.moments:
        match moment.event:
            case Admit(pod=pod):
                here.add(pod.pod.full_name)
            case Remove(pod=name) | ContainerEvent(pod=name) | Resize(pod=name):
                assert name in here
            case _:
                pass


DOCUMENTS = {
    "yaml": Target(
        _reading(lambda data: load_documents(data, "fuzz")),
        texts(
            "a: [1, 2.5, ~]\n---\nb: &x {c: d}\ne: *x\n",
            '{"a": "\\ud800"}',
            "- |\n  x\n- >-\n  y\n",
            "%YAML 1.1\n---\n",
        ),
    ),
    "state": Target(run_state, _state_seeds),
    "config": Target(run_config, files("kubelet/*.yaml", "broken/kubelet-*/*.yaml")),
    "pods": Target(
        _reading(lambda data: read_pods(data, "fuzz")),
        files("pods/*.yaml", "pods/*.json", "broken/pods-*/*.yaml"),
    ),
    "lint": Target(run_lint, files("pods/*.yaml", "broken/pods-*/*.yaml", largest=1 << 12)),
    "cadvisor": Target(run_cadvisor, _cadvisor_seeds),
    "devices": Target(
        _reading(lambda data: read_devices(data, "fuzz")), files("devices/*", "broken/devices-*/*.yaml")
    ),
    "events": Target(run_events, texts(_EVENT, f'{{"kind": "EventList", "items": [{_EVENT}, {_EVENT}]}}')),
    "usage": Target(
        _reading(lambda data: decode_usage(data, "fuzz")),
        texts(
            "shop/web: 1Gi\n",
            '{"kind": "PodMetricsList", "items": [{"metadata": {"name": "a"}, "containers": []}]}',
        ),
    ),
    "timeline": Target(
        _reading(lambda data: read_timeline(data, "fuzz", OUTSIDE)),
        files("timelines/*.yaml", largest=1 << 13),
    ),
    "log": Target(
        _reading(run_log),
        files("logs/kubelet-*"),
    ),
    "requests": Target(_reading(run_requests), files("logs/runtime-*", largest=1 << 17)),
}

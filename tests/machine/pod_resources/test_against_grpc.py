"""The client against the reference implementation of gRPC (``make grpc``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.pod_resources.grpc_call import MAX_MESSAGE, call
from cpuctl.machine.pod_resources.live_answers import ask_kubelet, decode_allocatable_cpus, decode_list
from cpuctl.machine.pod_resources.model import ContainerAllocation, PodAllocation
from tests.machine.pod_resources.messages import ALLOCATABLE, LISTED, container, pod, pods

pytestmark = pytest.mark.grpc

LIST, ALL = "/v1.PodResourcesLister/List", "/v1.PodResourcesLister/GetAllocatableResources"
Answer = Callable[[bytes, Any], bytes]


@contextmanager
def serving(path: Path, **methods: Answer) -> Iterator[str]:
    import grpc

    handlers = {name: grpc.unary_unary_rpc_method_handler(answer) for name, answer in methods.items()}
    unlimited = [("grpc.max_send_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(2), options=unlimited)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("v1.PodResourcesLister", handlers),)
    )
    server.add_insecure_port(f"unix:{path}")
    server.start()
    try:
        yield str(path)
    finally:
        server.stop(None).wait()


def test_both_answers(tmp_path: Path) -> None:
    with serving(
        tmp_path / "s", List=lambda *_: LISTED, GetAllocatableResources=lambda *_: ALLOCATABLE
    ) as path:
        answer = ask_kubelet(path)
    assert (answer.pods, answer.allocatable) == (decode_list(LISTED), decode_allocatable_cpus(ALLOCATABLE))
    assert answer.problems == ()


def test_pods_that_are_not_listed_are_requested_separately(tmp_path: Path) -> None:
    requested = []

    def get(message: bytes, context: Any) -> bytes:
        import grpc

        requested.append(message)
        if b"gone" in message:
            context.abort(grpc.StatusCode.UNKNOWN, "pod gone in namespace ai not found")
        return pods(pod("ai", "late", container("main", cpus=(7, 8))))

    with serving(tmp_path / "s", List=lambda *_: LISTED, Get=get) as path:
        answer = ask_kubelet(path, ["ai/gone", "ai/late", "ai/train"])
    assert requested == [b"\n\x04gone\x12\x02ai", b"\n\x04late\x12\x02ai"]
    assert answer.alone == {
        "ai/gone": "rejected (gRPC status 2): pod gone in namespace ai not found",
        "ai/late": PodAllocation("ai", "late", (ContainerAllocation("main", CPUSet.parse("7-8")),)),
    }
    assert [each.full_name for each in answer.answered_pods] == ["ai/train", "kube-system/dns", "ai/late"]


def test_no_more_pods_are_requested_than_a_kubelet_answers_at_once(tmp_path: Path) -> None:
    def get(_message: bytes, _context: Any) -> bytes:
        return pods(pod("ai", "late"))

    with serving(tmp_path / "s", List=lambda *_: b"", Get=get) as path:
        assert len(ask_kubelet(path, [f"ai/{number}" for number in range(100)]).alone) == 8


def test_an_answer_in_many_frames(tmp_path: Path) -> None:
    many = pods(*(pod("load", f"pod-{n:06}", container("main", cpus=range(64))) for n in range(20_000)))
    with serving(tmp_path / "s", List=lambda *_: many) as path:
        assert call(path, LIST) == many


def test_a_disabled_method_leaves_the_other(tmp_path: Path) -> None:
    with serving(tmp_path / "s", List=lambda *_: LISTED) as path:
        answer = ask_kubelet(path)
    assert (answer.pods, answer.allocatable) == (decode_list(LISTED), None)
    (problem,) = answer.problems
    assert problem.startswith(
        f"{path}: {ALL}: rejected (gRPC status 12): Method not found! (this kubelet does"
    )


def test_a_refusal_is_reported_in_its_words(tmp_path: Path) -> None:
    def busy(_message: bytes, context: Any) -> bytes:
        import grpc

        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit: 100% (näh)")
        raise AssertionError

    with serving(tmp_path / "s", List=busy) as path, pytest.raises(InputError) as caught:
        call(path, LIST)
    assert caught.value.message == "rejected (gRPC status 8): rejected by rate limit: 100% (näh)"
    assert caught.value.hint.startswith("try again in a second")


def test_limits_on_time_and_size(tmp_path: Path) -> None:
    def slow(_message: bytes, _context: Any) -> bytes:
        time.sleep(1)
        return b""

    large = bytes(MAX_MESSAGE + 1)
    with serving(tmp_path / "s", List=slow, GetAllocatableResources=lambda *_: large) as path:
        with pytest.raises(InputError, match=r"no answer within 0\.2s"):
            call(path, LIST, seconds=0.2)
        with pytest.raises(InputError, match="the response is larger than 16 MiB"):
            call(path, ALL)

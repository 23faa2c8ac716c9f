"""Parsers of single values: CPU lists, quantities, Go's values, and those of kernels and command lines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from cpuctl.cpuset import CPUSet
from cpuctl.errors import CpuctlError
from cpuctl.golang import conversions as golang
from cpuctl.golang.durations import parse_duration
from cpuctl.golang.json_values import syntax_error_text
from cpuctl.inputs.configuration import any_flags, given_arguments
from cpuctl.inputs.kubelet import read_gates
from cpuctl.kubelet.configuration.setting_overrides import read_setting_overrides
from cpuctl.kubelet.reservations import parse_thresholds
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine import kernel_text
from cpuctl.machine.set_names import parse_cpu_names
from cpuctl.machine.synthetic import describe_synthetic, parse_synthetic
from cpuctl.nri.model import container_of, sandbox_of
from cpuctl.nri.protocol import (
    FramingError,
    Message,
    MessageReader,
    PieceReader,
    messages,
    pack_message,
    pack_piece,
    parsed,
)
from cpuctl.operations.resize_inputs import parse_set
from cpuctl.quantity import Quantity
from tests.fuzz.target import Target, text_of, texts


def run_cpuset(data: bytes) -> None:
    with suppress(ValueError):
        cpus = CPUSet.parse(text_of(data))
        assert CPUSet.parse(str(cpus)) == cpus


def read_arguments(text: str) -> None:
    any_flags(given_arguments(text.lstrip("@")))


def run_quantity(data: bytes) -> None:
    with suppress(ValueError):
        amount = Quantity.parse(text_of(data))
        written = str(amount.canonical())
        assert str(Quantity.parse(written).canonical()) == written


def run_synthetic(data: bytes) -> None:
    with suppress(CpuctlError):
        machine = parse_synthetic(text_of(data))
        with suppress(ValueError):
            again = parse_synthetic(describe_synthetic(machine))
            assert (again.online, again.sockets) == (machine.online, machine.sockets)


def run_frames(data: bytes) -> None:
    """Anything that a runtime sends on the plugin's socket is read, or rejected as an invalid frame."""
    pieces, readers = PieceReader(), {1: MessageReader(), 2: MessageReader()}
    half = len(data) // 2
    with suppress(FramingError):
        for part in (data[:half], data[half:]):
            for piece in pieces.feed(part):
                assert pack_piece(*piece) in data
                for message in readers.get(piece.connection, MessageReader()).feed(piece.payload):
                    request = parsed("Request", message.payload)
                    event = parsed("ContainerEvent", request.payload)
                    parsed("SynchronizeRequest", request.payload)
                    container_of(event.container, sandbox_of(event.pod))


def _frames() -> list[bytes]:
    event = messages()["ContainerEvent"](pod={"id": "p", "name": "web"}, container={"id": "c", "name": "app"})
    event.container.linux.resources.cpu.shares.value = 2048
    request = messages()["Request"](method="CreateContainer", payload=event.SerializeToString())
    message = pack_message(Message(1, 1, 0, request.SerializeToString()))
    return [pack_piece(1, message), pack_piece(1, message[:9]) + pack_piece(1, message[9:]), bytes(18)]


_MACHINE = parse_synthetic("2s4n8c2t,l3=8,isolated=2-3,offline=5")
_VALUES: tuple[Callable[[str], object], ...] = (
    golang.parse_bool,
    golang.parse_int,
    golang.parse_atoi,
    golang.parse_float32,
    parse_duration,
    syntax_error_text,
    lambda text: parse_thresholds({"memory.available": text}),
    KubeletVersion.parse,
)
_KERNEL: tuple[Callable[[str], object], ...] = (
    kernel_text.parse_cpu_list,
    kernel_text.parse_cpu_map,
    kernel_text.parse_number,
    kernel_text.parse_flag,
    kernel_text.parse_word,
    kernel_text.parse_size,
    kernel_text.parse_distances,
    kernel_text.parse_meminfo,
    kernel_text.parse_cpuinfo,
)
_WORDS: tuple[Callable[[str], object], ...] = (
    parse_set,
    read_gates,
    read_arguments,
    lambda text: read_setting_overrides(text, "--compare"),
    lambda text: parse_cpu_names(text, _MACHINE),
)


def _each_of(parsers: tuple[Callable[[str], object], ...]) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        text = text_of(data)
        for parse in parsers:
            with suppress(CpuctlError, ValueError):
                parse(text)

    return run


VALUES = {
    "cpuset": Target(run_cpuset, texts("0-3,8", "", " 1 , 2-5 ", "0-8191", "3-1", "0-3,,5")),
    "quantity": Target(run_quantity, texts("1", "1.5Gi", "100m", "1e3", "-0.1", "12E", "+.5u", "0x1")),
    "go-values": Target(
        _each_of(_VALUES), texts("true", "1h30m0.5s", "-1_000", "0x1p-2", '{"a": [1, null]}', "10%", "1.36.2")
    ),
    "kernel-text": Target(
        _each_of(_KERNEL),
        texts(
            "0-3,8\n",
            "ff,ffffffff\n",
            "32768K",
            "10 21 21\n",
            "Node 0 MemTotal:  16 kB\nNode 0 HugePages_Total: 1\n",
            "MemTotal: 123 kB\n",
            "processor\t: 0\nphysical id\t: 0\ncore id\t: 0\nmodel name\t: x\n\n",
        ),
    ),
    "synthetic": Target(
        run_synthetic,
        texts(
            "2s4n8c2t,l3=8",
            "0n4c,mem=1Gi",
            "1s2n4c,interleaved,near,hugepages-2Mi=1/-",
            "cores=0+8/1+9,sockets=0-3/4-7,nodes=0-2/3-7/252:,distances=10+21/21+10",
            "1s4c2t,offline=3+5,absent=6-7,isolated=2-3,nohz_full=2-3,pcores=0-1,ecores=2-3",
        ),
    ),
    "nri-frames": Target(run_frames, _frames),
    "words": Target(
        _each_of(_WORDS),
        texts(
            "shop/web/server:cpu=6,memory=8Gi/",
            "A=true,B=false",
            "--cpu-manager-policy=static --reserved-cpus='0,16' --v 2",
            "version=1.37,topologyManagerPolicy=restricted,featureGates.X=true",
            "node:1,core:5,l3:0,socket:0,isolated,0-3",
        ),
    ),
}

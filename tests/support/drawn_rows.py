"""Hypothesis strategies for the data of pictures: CPUs anywhere, owners with any name."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import strategies as st

from cpuctl.answers.topology import PicturedCPU
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import mark_of
from cpuctl.exports.machine_facts import CPU, CPUOwner, CPUUse, MachineFacts

HOSTILE = st.text(st.characters(), max_size=60) | st.sampled_from(
    [
        "</title><script>alert(1)</script>",
        "]]><!--",
        "&lt;&#0;&bogus;",
        "a\x00b\x1b[31m\x08",
        "shop/\u202egnp.exe\u202c",
        "\ud800 \ufffe \uffff",
        '" onload="alert(1)',
        "\u05e9\u05dc\u05d5\u05dd/\u0645\u0631\u062d\u0628\u0627",
        "\N{COMBINING ACUTE ACCENT}" * 40,
        "\u6f22\u5b57" * 30,
        "x" * 5000,
    ]
)


def cpu_row(cpu: int, **reported: Any) -> PicturedCPU:
    """Make an online CPU of which only the given facts are known."""
    unknown = dict.fromkeys(PicturedCPU.__annotations__)
    known = {"cpu": cpu, "online": True, "shared": False, "marks": [], "typeGuessed": False}
    return cast("PicturedCPU", {**unknown, **known, **reported})


@st.composite
def rows(draw: st.DrawFn, *, most: int = 24) -> list[PicturedCPU]:
    """Draw CPUs: in regular machines, and in ones that no vendor would build."""
    numbers = draw(st.lists(st.integers(0, 4000), min_size=1, max_size=most, unique=True))
    if draw(st.booleans()):
        few = st.none() | st.integers(0, 3)
        places = [draw(st.tuples(few, few, few, st.none() | st.integers(0, 9))) for _ in numbers]
    else:
        threads, cores, nodes = (draw(st.integers(1, most_of)) for most_of in (8, 6, 4))
        per_node = threads * cores
        places = [
            (n // (per_node * nodes), n // per_node, n // per_node, n // threads) for n in range(len(numbers))
        ]
    return [
        cpu_row(
            cpu,
            online=draw(st.integers(0, 9)) > 0,
            socket=socket,
            node=node,
            l3=l3,
            core=core,
            shared=draw(st.booleans()),
            isolated=draw(st.booleans()),
            type=draw(st.sampled_from([None, "efficiency", "performance"])),
        )
        for cpu, (socket, node, l3, core) in zip(sorted(numbers), places, strict=True)
    ]


@st.composite
def machines(draw: st.DrawFn) -> MachineFacts:
    """Draw a machine with owners, which need not be plausible."""
    drawn = draw(rows())
    owners = draw(st.lists(HOSTILE, max_size=9))
    cpus = tuple(_cpu(draw, row, len(owners)) for row in drawn)
    held = [CPUSet.of(cpu.number for cpu in cpus if mark_of(n) in cpu.marks) for n in range(len(owners))]
    return MachineFacts(
        title=draw(HOSTILE),
        lines=tuple(draw(st.lists(HOSTILE, max_size=2))),
        cpus=cpus,
        owners=tuple(CPUOwner(mark_of(n), name, str(held[n])) for n, name in enumerate(owners)),
        captions=dict.fromkeys(range(4), "12 of 16 free"),
        notes=tuple(draw(st.lists(HOSTILE, max_size=1))),
    )


def _cpu(draw: st.DrawFn, row: PicturedCPU, owners: int) -> CPU:
    if not row["online"]:
        return CPU(row, CPUUse.OFFLINE)
    use = draw(st.sampled_from([CPUUse.SHARED, CPUUse.RESERVED, CPUUse.NONE, CPUUse.PLAIN, CPUUse.OWNED]))
    if use is not CPUUse.OWNED or not owners:
        return CPU(row, use if use is not CPUUse.OWNED else CPUUse.SHARED)
    marks = draw(st.lists(st.integers(0, owners - 1), min_size=1, max_size=3, unique=True))
    return CPU(row, use, tuple(map(mark_of, marks)), disputed=len(marks) > 1)

"""Hypothesis strategies for machines: regular ones, uneven ones, and ones no vendor would build."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from hypothesis import strategies as st

from tests.support.naive_packed import Cpus, Machine
from tests.support.topologies import CoreAt

UNLISTED = st.sampled_from([0, 0, 0, 0, 1, 4, -1, -4])
"""The number of CPUs in the total that no core lists; if negative, more are listed than the total."""


@st.composite
def nested_machines(draw: st.DrawFn, *, nodes: tuple[int, int] = (1, 6)) -> Machine:
    """Draw sockets of NUMA nodes of cores, uneven in every size, ids and CPUs in any order."""
    cores_per_node = draw(st.lists(st.integers(1, 4), min_size=nodes[0], max_size=nodes[1]))
    nodes_per_socket = draw(st.integers(1, 4))
    places = [node for node, cores in enumerate(cores_per_node) for _ in range(cores)]
    numbered = draw(_numbered(draw(_threads(len(places)))))
    node_ids = draw(st.permutations(range(len(cores_per_node))))
    socket_ids = draw(st.permutations(range(len(cores_per_node))))
    cores_per_cache = draw(st.integers(0, 3))
    return Machine(
        [
            CoreAt(
                cpus,
                numa_node=node_ids[node],
                socket=socket_ids[node // nodes_per_socket],
                cache=100 * node + (index - places.index(node)) // cores_per_cache
                if cores_per_cache
                else None,
            )
            for index, (cpus, node) in enumerate(zip(numbered, places, strict=True))
        ],
        unlisted_cpus=draw(_unlisted(numbered)),
    )


@st.composite
def tangled_machines(draw: st.DrawFn) -> Machine:
    """Draw machines whose sockets, NUMA nodes and caches overlap."""
    few, cache = st.integers(0, 3), st.none() | st.integers(0, 3)
    numbered = draw(_numbered(draw(_threads(draw(st.integers(1, 8))))))
    cores = [CoreAt(cpus, draw(few), draw(few), draw(cache)) for cpus in numbered]
    return Machine(cores, unlisted_cpus=draw(_unlisted(numbered)))


@st.composite
def regular_machines(draw: st.DrawFn) -> Machine:
    """Draw machines whose averages are exact: all cores, NUMA nodes and sockets have the same size."""
    sockets, nodes, cores, threads = draw(
        st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4))
    )
    cores_per_cache = draw(st.sampled_from([0, 1, cores]))
    numbered = draw(_numbered([threads] * (sockets * nodes * cores)))
    return Machine(
        [
            CoreAt(
                cpus,
                numa_node=index // cores,
                socket=index // (nodes * cores),
                cache=index // cores_per_cache if cores_per_cache else None,
            )
            for index, cpus in enumerate(numbered)
        ]
    )


def offers(machine: Machine) -> st.SearchStrategy[Cpus]:
    """Draw free CPUs: a few, or all but a few."""
    some = st.frozensets(st.sampled_from(sorted(machine.cpus)))
    return some | some.map(lambda taken: machine.cpus - taken)


def _unlisted(numbered: Sequence[tuple[int, ...]]) -> st.SearchStrategy[int]:
    """Leave a machine at least one CPU."""
    total = sum(map(len, numbered))
    return UNLISTED.map(lambda unlisted: max(unlisted, 1 - total))


def _threads(cores: int) -> st.SearchStrategy[list[int]]:
    """Draw how many threads each core has; usually all have the same number."""
    same = st.integers(1, 4).map(lambda threads: [threads] * cores)
    return same | same | st.lists(st.integers(1, 4), min_size=cores, max_size=cores)


def _numbered(threads: Sequence[int]) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Number the threads of each core: in any order, next to each other, or siblings far apart."""
    total = sum(threads)
    slots = [(thread, core) for core, size in enumerate(threads) for thread in range(size)]
    far = {slot: cpu for cpu, slot in enumerate(sorted(slots))}
    apart = [tuple(far[thread, core] for thread in range(size)) for core, size in enumerate(threads)]
    return (
        st.just(apart)
        | st.just(_dealt(threads, range(total)))
        | st.permutations(range(total)).map(lambda cpus: _dealt(threads, cpus))
    )


def _dealt(threads: Sequence[int], cpus: Sequence[int]) -> list[tuple[int, ...]]:
    position = count()
    return [tuple(cpus[next(position)] for _ in range(size)) for size in threads]

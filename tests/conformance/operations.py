"""How each recorded operation uses the public engine API."""

from __future__ import annotations

import json

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.picking.distributed import Dealing, take_distributed
from cpuctl.engine.cpu.picking.packed import Spread, picker_rules, take_packed
from cpuctl.engine.cpu.topology import CPUTopology, cpu_labels
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.outcome import AllocationError, FaultKind, KubeletFault, Picked, PickResult, Undetermined
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.machine.foreign.cadvisor import decode_machine_info
from cpuctl.quantity import Quantity
from tests.conformance.corpus import Json, version_of
from tests.conformance.hint_answers import hint_list, undetermined
from tests.conformance.machines import machine_info


def cpu_set(case: Json) -> Json:
    """Parse a CPU list."""
    try:
        cpus = CPUSet.parse(case["cpuset"])
    except ValueError as error:
        return {"error": str(error)}
    return {"string": str(cpus), "size": len(cpus), "list": list(cpus)}


def quantity(case: Json) -> Json:
    """Parse a quantity, optionally add another, and return all its forms."""
    try:
        number = Quantity.parse(case["quantity"])
        if "add" in case:
            number += Quantity.parse(case["add"])
    except ValueError as error:
        return {"error": str(error)}
    exact = number.exact_int64
    return {
        "string": str(number),
        "format": str(number.format),
        "sign": number.sign,
        "value": str(number.value),
        "milliValue": str(number.milli_value),
        "asInt64": None if exact is None else str(exact),
        "integralCPU": number.is_integral_cpu,
    }


def discover(case: Json) -> Json:
    """Label the CPUs of a machine."""
    try:
        if "machine" in case:
            topology = CPUTopology.discover(machine_info(case["machine"]))
        else:
            recorded = Cursor.at_root(load_documents(json.dumps(case["machineInfo"]), "case")[0])
            topology = CPUTopology.discover(decode_machine_info(recorded))
    except ValueError as error:
        return {"error": str(error)}
    return topology_counts(topology) | {
        "cpusPerSocket": topology.cpus_per_socket,
        "cpusPerUncore": topology.cpus_per_uncore,
        "cpus": {str(cpu): list(labels) for cpu, labels in cpu_labels(topology).items()},
    }


def topology_counts(topology: CPUTopology) -> Json:
    """Report the totals every started node reports."""
    return {
        "numCPUs": topology.num_cpus,
        "numCores": topology.num_cores,
        "numSockets": topology.num_sockets,
        "numNUMANodes": topology.num_numa_nodes,
        "numUncoreCaches": topology.num_uncore_caches,
        "cpusPerCore": topology.cpus_per_core,
    }


def take_by_topology(case: Json) -> Json:
    """Pick CPUs from a free set."""
    return pick_answer(pick(CPUTopology.discover(machine_info(case["machine"])), case))


def pick(topology: CPUTopology, case: Json) -> PickResult:
    """Run the picker that the case names, under the rules of its minor."""
    offered, count = CPUMask(CPUSet.parse(case["available"]).mask), case["numCPUs"]
    rules = picker_rules(behaviours(*version_of(case)), align_by_socket=case.get("alignBySocket", False))
    spread = Spread.by(rules) if case.get("sorting") == "spread" else Spread.OFF
    if case["mode"] == "packed":
        uncore = case.get("preferUncore", False)
        return take_packed(topology, offered, count, spread=spread, prefer_uncore=uncore, rules=rules)
    dealing = Dealing(
        group_size=case.get("groupSize", 1),
        spread=spread,
        rules=rules,
        hint_width=case.get("hintNUMANodes", 0),
    )
    return take_distributed(topology, offered, count, dealing)


def pick_answer(result: PickResult) -> Json:
    """Write a picker's result as the recordings do."""
    match result:
        case Picked(cpus=cpus):
            return {"cpuset": str(CPUSet(cpus))}
        case AllocationError(message=message):
            return {"error": message}
        case KubeletFault(kind=FaultKind.CRASH, why=why):
            return {"panic": why}
        case KubeletFault():
            return {"hang": True}
        case Undetermined():
            return undetermined(result)


def cpu_hints(case: Json) -> Json:
    """Make CPU hints from explicit sets."""
    hints = CPUHints.generate(
        CPUTopology.discover(machine_info(case["machine"])),
        CPUMask(CPUSet.parse(case["available"]).mask),
        CPUMask(CPUSet.parse(case.get("reusable", "")).mask),
        case["numCPUs"],
        align_by_socket=case.get("alignBySocket", False),
    )
    return {"hints": hint_list(hints)}

"""The kubelet's rule that decided, as a value."""

from __future__ import annotations

from enum import StrEnum

from cpuctl.cpuset import CPUSet
from cpuctl.engine.masks import NodeMask
from cpuctl.quantity import Format, Quantity
from cpuctl.records import Record


class Rule(StrEnum):
    """The rules that can decide about a pod, by their names in answers."""

    ADMITTED = "admitted"
    NOT_ENOUGH = "notEnoughFree"
    WIDTH_FROM_CAPACITY = "widthFromCapacity"
    REUSE_BINDS = "reusedCPUs"
    LARGER_THAN_A_NODE = "largerThanOneNode"
    NO_SINGLE_NODE = "noSingleNode"
    MASK_INEQUALITY = "maskInequality"
    OTHER_ASSIGNMENT = "otherAssignment"
    GROUP_RULE = "groupRule"
    HUGE_PAGES_ALONE = "hugePagesAlone"
    QUANTITY_FORM = "quantityForm"
    NO_OWN_RESOURCES = "noOwnResources"
    NOTHING_ALLOCATED = "nothingAllocated"
    UNHEALTHY_DEVICES = "unhealthyDevices"
    WHOLE_CORES = "wholeCores"
    FREE_CORES = "freeCores"
    EMPTY_POOL = "emptyPool"
    OVER_BUDGET = "overBudget"
    NODE_FIT = "nodeFit"
    CLAIMS = "resourceClaims"
    POLICY = "policyInPlace"
    KUBELET_FAULT = "kubeletFault"
    API_SERVER = "apiServer"
    FAILED_BEFORE = "failedBefore"
    INPUT_LACKS = "missingInput"
    UNKNOWN = "unknown"


class Decision(Record):
    """The rule that decided, and the reason; ``container`` is empty for the pod as a whole.

    ``provider`` is the hint provider whose offer was decisive, if any.
    """

    rule: Rule
    why: str
    container: str = ""
    provider: str = ""


Blocked = tuple[Rule, str]
"""A rule and the reason for its result."""


def nodes_text(nodes: NodeMask) -> str:
    """Format a set of NUMA nodes: ``NUMA node 0``, ``NUMA nodes 0-1``."""
    return f"NUMA node{'s' if nodes.bit_count() != 1 else ''} {CPUSet(nodes)}"


def bytes_text(amount: int) -> str:
    """Format an amount of memory in whole Mi, rounded down: ``512Mi``, ``9Gi``."""
    return str(Quantity.from_value(amount >> 20 << 20, Format.BINARY_SI))

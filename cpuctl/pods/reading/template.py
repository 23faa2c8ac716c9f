"""Pods without YAML: ``web=4/4,2Gi/2Gi x3``, ``web=1/2``, ``web``, as the option ``-T`` accepts them."""

from __future__ import annotations

import re

from cpuctl.errors import UsageError
from cpuctl.pods.model import Container, Pod, ResourceRequirements
from cpuctl.quantity import Quantity

_POD_NAME = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_TEMPLATE = re.compile(
    rf"\s*(?P<name>{_POD_NAME})"
    r"(?:\s*=\s*(?P<cpu>[^,\sx][^,\s]*)?\s*(?:,\s*(?P<memory>[^,\sx][^,\s]*)?)?)?"
    r"(?:\s+x(?P<count>[0-9]{1,9}))?\s*",
    re.ASCII,
)
_NAME = re.compile(rf"{_POD_NAME}(?:\s.*)?", re.ASCII)
_FILES = (".yaml", ".yml", ".json")
_HINT = (
    "write name=REQUEST/LIMIT[,MEMORY-REQUEST/MEMORY-LIMIT][ xCOUNT], for example web=4/4,2Gi/2Gi x3; "
    "web=4/4, web=1/2 and web=1/ are Burstable, web alone is BestEffort"
)


def pods_from_template(text: str) -> tuple[Pod, ...]:
    """Return the pods that a template describes, with one container each.

    One amount is both request and limit (``4`` is ``4/4``), an empty side omits it (``4/``, ``/4``), a
    resource without amounts has neither (``,2Gi``), and a name alone requests nothing. So the amounts
    determine the QoS class: Guaranteed if equal for both resources, Burstable if not, BestEffort if absent.
    With ``xN`` the pods are called ``name-0`` and so on. They have no UIDs yet (see ``with_uids``).
    Raise UsageError for any other text.
    """
    found = _TEMPLATE.fullmatch(text)
    if found is None:
        name = text.partition("=")[0].strip()
        if name and not _NAME.fullmatch(name):
            expected = "expected lower-case letters, digits, - and ."
            raise _unusable(text, f'"{name}" is not a pod name: {expected}')
        raise _unusable(text, "not a pod template")
    if "=" not in text and found["name"].endswith(_FILES):
        raise _unusable(text, "this looks like a file name: use -f")
    container = Container(
        name=found["name"], resources=_resources(text, found["cpu"] or "", found["memory"] or "")
    )
    names = _replicas(text, found["name"], int(found["count"])) if found["count"] else [found["name"]]
    return tuple(Pod(name=name, containers=(container,), origin=f"-T '{text}'") for name in names)


def _replicas(text: str, name: str, count: int) -> list[str]:
    from cpuctl.pods.reading.workloads import MAX_REPLICAS

    if not 1 <= count <= MAX_REPLICAS:
        raise _unusable(text, f"expected 1 to {MAX_REPLICAS} pods, found {count}")
    return [f"{name}-{number}" for number in range(count)]


def _resources(text: str, cpu: str, memory: str) -> ResourceRequirements:
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    for resource, amounts in (("cpu", cpu), ("memory", memory)):
        request, slash, limit = amounts.partition("/")
        if request:
            requests[resource] = _quantity(text, request)
        if bound := limit if slash else request:
            limits[resource] = _quantity(text, bound)
    return ResourceRequirements(requests=requests, limits=limits)


def _quantity(text: str, amount: str) -> Quantity:
    try:
        return Quantity.parse(amount)
    except ValueError as error:
        raise _unusable(text, f'expected a quantity, found "{amount}": {error}') from None


def _unusable(text: str, message: str) -> UsageError:
    return UsageError(message, where=f"-T '{text}'", hint=_HINT)

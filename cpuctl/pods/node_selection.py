"""The nodes that a pod's own spec allows: node selector, node affinity and tolerations.

Rule: ``k8s.io/component-helpers/scheduling/corev1`` of 1.36 (``nodeaffinity``, ``helpers.go``).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cpuctl.golang.conversions import parse_atoi
from cpuctl.golang.text import GoError

_NAME = "metadata.name"


class Taint(NamedTuple):
    """A taint of a node, which repels pods that do not tolerate it."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{{{self.key}: {self.value}}}"


class Toleration(NamedTuple):
    """A toleration of a pod: an empty ``key`` matches every taint, an empty ``effect`` every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Return whether a pod with this toleration may run despite the taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.operator == "Exists" or (self.operator in ("", "Equal") and self.value == taint.value)


class Requirement(NamedTuple):
    """A requirement on a label or a field of the Node."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, values: Mapping[str, str]) -> bool:
        """Return whether labels meet it; a value that is not a number fails every comparison."""
        value = values.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return value is not None and _compares(self.operator, value, self.values)
            case _:
                return False


def _compares(operator: str, value: str, bounds: tuple[str, ...]) -> bool:
    try:
        number, (bound,) = parse_atoi(value), map(parse_atoi, bounds)
    except (GoError, ValueError):
        return False
    return number > bound if operator == "Gt" else number < bound


class Term(NamedTuple):
    """Requirements on labels and on ``metadata.name``: at least one, all of which must hold."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def holds(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a node meets it."""
        if not (self.labels or self.fields):
            return False
        fields = {_NAME: name}
        return all(each.holds(labels) for each in self.labels) and all(
            each.holds(fields) for each in self.fields
        )

    @property
    def names(self) -> frozenset[str] | None:
        """The names of the only nodes that can meet it; None if it lists none."""
        listed = [
            frozenset(each.values) for each in self.fields if each.key == _NAME and each.operator == "In"
        ]
        return frozenset.intersection(*listed) if listed else None


class NodeSelection(NamedTuple):
    """All of a pod's constraints and preferences about its node.

    ``required`` are terms of which one must hold, None without such an affinity. ``preferred`` are terms with
    their weights.
    """

    selector: Mapping[str, str] = {}
    required: tuple[Term, ...] | None = None
    preferred: tuple[tuple[int, Term], ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    @property
    def labels(self) -> frozenset[str]:
        """The keys of the node labels that it uses."""
        terms = (*(self.required or ()), *(term for _, term in self.preferred))
        return frozenset({*self.selector, *(each.key for term in terms for each in term.labels)})

    @property
    def looks_at_names(self) -> bool:
        """Whether it uses the names of nodes."""
        terms = (*(self.required or ()), *(term for _, term in self.preferred))
        return any(term.fields for term in terms)

    @property
    def names(self) -> frozenset[str] | None:
        """The names of the only nodes that a required affinity allows; None if it lists none."""
        listed = [each.names for each in self.required or ()]
        known = [names for names in listed if names is not None]
        return frozenset[str]().union(*known) if known and len(known) == len(listed) else None

    def selects(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether the pod may run on a node."""
        chosen = all(labels.get(key) == value for key, value in self.selector.items())
        return chosen and (self.required is None or any(each.holds(name, labels) for each in self.required))

    def preference(self, name: str, labels: Mapping[str, str]) -> int:
        """Sum up the weights of the preferred terms that a node meets."""
        return sum(weight for weight, term in self.preferred if term.holds(name, labels))

    def untolerated(self, taints: Iterable[Taint], effects: Iterable[str]) -> list[Taint]:
        """Return the taints with one of the *effects* that the pod does not tolerate."""
        wanted = set(effects)
        return [
            taint
            for taint in taints
            if taint.effect in wanted and not any(each.tolerates(taint) for each in self.tolerations)
        ]


ANY_NODE = NodeSelection()

"""Events by which kubelets report that they rejected a pod, as ``kubectl get events -o json`` prints them.

Rule: kubelet v1.36 ``rejectPod``, which gives an event the reason and the message of the pod's status; the
reasons are those of ``lifecycle``, ``cm/cpumanager``, ``cm/topologymanager`` and ``cm/admission``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError

REASONS = frozenset(
    {"TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError", "EmptyPodSharedPoolError"}
)
_OUT_OF = "OutOf"
"""The prefix to the name of the resource that a node lacks: OutOfcpu."""
_TABLE = "NAMESPACE "
_MOST_EVENTS = 100_000


class RejectionEvent(NamedTuple):
    """A kubelet's rejections of a pod, with their count and last time; times are RFC 3339 or empty."""

    namespace: str
    name: str
    uid: str
    reason: str
    message: str
    times: int
    last: str
    node: str

    @property
    def full_name(self) -> str:
        """The pod as ``NAMESPACE/NAME``."""
        return f"{self.namespace}/{self.name}"

    def is_of(self, uid: str, full_name: str) -> bool:
        """Return whether it concerns a pod: by UID or, if that is missing or derived, by name."""
        return self.uid == uid or full_name == self.full_name


def decode_events(text: str | bytes, source: str) -> tuple[RejectionEvent, ...]:
    """Return the rejections among events, the latest first; all other events are skipped.

    Raise InputError for input without any event, and with its location for an invalid event.
    """
    _refuse_table(text, source)
    events: list[Cursor] = []
    for document in load_documents(text, source):
        events += _events(Cursor.at_root(document), "")
        if len(events) > _MOST_EVENTS:
            raise InputError(f"more than {_MOST_EVENTS:,} events", where=source)
    if not events:
        hint = "get them with kubectl get events -A -o json"
        raise InputError("no events: expected an Event, or a list of events", where=source, hint=hint)
    found = [rejection for event in events if (rejection := _rejection(event))]
    return tuple(sorted(found, key=lambda event: event.last, reverse=True))


def _refuse_table(text: str | bytes, source: str) -> None:
    head = text[: len(_TABLE)].decode("utf-8", "replace") if isinstance(text, bytes) else text[: len(_TABLE)]
    if head.startswith(("NAMESPACE ", "LAST SEEN ")):
        from shlex import quote

        from cpuctl.documents.files import file_argument

        file = quote(file_argument(source))
        hint = f"add -o json to kubectl, or cpuctl explain --message - < {file} explains its messages"
        raise InputError("found a kubectl table, expected events", where=source, hint=hint)


def _events(cursor: Cursor, kind_in_list: str) -> Iterator[Cursor]:
    kind = cursor.optional("kind", Cursor.text, "") or kind_in_list
    if kind.endswith("List") and cursor.get("items") is not None:
        for item in cursor.required("items").items():
            yield from _events(item, kind.removesuffix("List"))
    elif kind == "Event":
        yield cursor


def _rejection(event: Cursor) -> RejectionEvent | None:
    """Read an event of ``v1`` or of ``events.k8s.io/v1``, which have different names for the same fields."""
    reason = event.optional("reason", Cursor.text, "")
    pod = event.get("involvedObject") or event.get("regarding")
    if pod is None or pod.optional("kind", Cursor.text, "") != "Pod" or not rejects(reason):
        return None
    source = event.get("source") or event.get("deprecatedSource")
    series = event.get("series")
    return RejectionEvent(
        namespace=pod.optional("namespace", Cursor.text, "default"),
        name=pod.required("name").text(),
        uid=pod.optional("uid", Cursor.text, ""),
        reason=reason,
        message=_first(event, "message", "note"),
        times=(series or event).optional("count", _count, 1),
        last=_first(event, "lastTimestamp", "deprecatedLastTimestamp", "eventTime"),
        node=(source.optional("host", Cursor.text, "") if source else "")
        or event.optional("reportingInstance", Cursor.text, ""),
    )


def rejects(reason: str) -> bool:
    """Return whether a kubelet gives this reason when it rejects a pod for lack of resources."""
    return reason in REASONS or (reason.startswith(_OUT_OF) and reason != _OUT_OF)


def _first(event: Cursor, *names: str) -> str:
    return next((text for name in names if (text := event.optional(name, Cursor.text, ""))), "")


def _count(value: Cursor) -> int:
    return value.integer(minimum=0, maximum=1 << 31)

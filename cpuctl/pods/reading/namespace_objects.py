"""LimitRange and ResourceQuota objects, read as the API server stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cpuctl.documents.cursor import Cursor
from cpuctl.pods.limit_ranges import LimitRange, LimitRangeItem
from cpuctl.pods.reading.pods import decode_name, decode_namespace
from cpuctl.pods.resource_quotas import ResourceQuota, Scope
from cpuctl.quantity import Quantity

NamespaceObject = LimitRange | ResourceQuota

_OPERATORS = ("Exists", "DoesNotExist", "In", "NotIn")


def decode_namespace_object(cursor: Cursor, kind: str) -> NamespaceObject:
    """Read either of the two; raise InputError with the location of a missing or invalid value."""
    return _limit_range(cursor) if kind == "LimitRange" else _resource_quota(cursor)


def by_kind(
    objects: Sequence[NamespaceObject],
) -> tuple[tuple[LimitRange, ...], tuple[ResourceQuota, ...]]:
    """Separate them by kind, in order."""
    return (
        tuple(item for item in objects if isinstance(item, LimitRange)),
        tuple(item for item in objects if isinstance(item, ResourceQuota)),
    )


def _limit_range(cursor: Cursor) -> LimitRange:
    metadata = cursor.required("metadata")
    items = cursor.required("spec").required("limits").items()
    return LimitRange(
        name=decode_name(metadata),
        namespace=decode_namespace(metadata),
        items=tuple(_item(item).with_defaults() for item in items),
        origin=cursor.origin,
    )


def _resource_quota(cursor: Cursor) -> ResourceQuota:
    metadata, spec, status = cursor.required("metadata"), cursor.required("spec"), cursor.get("status")
    names = spec.optional("scopes", Cursor.texts, ())
    return ResourceQuota(
        name=decode_name(metadata),
        namespace=decode_namespace(metadata),
        hard=spec.optional("hard", _amounts, {}),
        used=status.optional("used", _amounts, None) if status is not None else None,
        scopes=(*(Scope(name) for name in names), *spec.optional("scopeSelector", _selectors, ())),
        origin=cursor.origin,
    )


def _item(item: Cursor) -> LimitRangeItem:
    return LimitRangeItem(
        type=item.required("type").text(),
        min=item.optional("min", _amounts, {}),
        max=item.optional("max", _amounts, {}),
        default=item.optional("default", _amounts, {}),
        default_request=item.optional("defaultRequest", _amounts, {}),
        max_ratio=item.optional("maxLimitRequestRatio", _amounts, {}),
    )


def _selectors(selector: Cursor) -> tuple[Scope, ...]:
    return tuple(_scope(item) for item in selector.optional("matchExpressions", Cursor.items, []))


def _scope(expression: Cursor) -> Scope:
    return Scope(
        name=expression.required("scopeName").text(),
        operator=expression.required("operator").one_of(_OPERATORS),
        values=expression.optional("values", Cursor.texts, ()),
    )


def _amounts(amounts: Cursor) -> Mapping[str, Quantity]:
    return {name: amount.quantity().rounded_up_to_milli() for name, amount in amounts.members().items()}

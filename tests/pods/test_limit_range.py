"""LimitRange; texts are those of an API server of 1.37."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.limit_ranges import LimitRange, LimitRangeItem
from cpuctl.pods.model import Pod
from tests.support.pods import amounts, app, init, manifest, resources, sidecar, texts


def item(kind: str = "Container", **lists: str) -> LimitRangeItem:
    return LimitRangeItem(type=kind, **{name: amounts(text) for name, text in lists.items()}).with_defaults()


def limit_range(*items: LimitRangeItem) -> LimitRange:
    return LimitRange(name="bounds", items=items)


@dataclass(frozen=True)
class Defaults:
    """The resulting default limits and requests of containers."""

    name: str
    given: LimitRangeItem
    limits: str
    requests: str


DEFAULTS = [
    Defaults("as given", item(default="cpu=2", default_request="cpu=1"), "cpu=2", "cpu=1"),
    Defaults("limit from max", item(max="cpu=4"), "cpu=4", "cpu=4"),
    Defaults("request from limit", item(default="cpu=2", max="cpu=4", min="cpu=1"), "cpu=2", "cpu=2"),
    Defaults("request from min", item(min="cpu=1"), "", "cpu=1"),
    Defaults("pods have none", item("Pod", max="cpu=4", min="cpu=1"), "", ""),
]


@pytest.mark.parametrize("case", DEFAULTS, ids=lambda case: case.name)
def test_defaults_of_an_item(case: Defaults) -> None:
    assert dict(case.given.default) == amounts(case.limits)
    assert dict(case.given.default_request) == amounts(case.requests)


def test_defaults_apply_to_every_container_without_values() -> None:
    step = limit_range(item(default="cpu=2 memory=1Gi", default_request="cpu=1 memory=1Gi")).step()
    filled = step.apply(manifest(app("cpu=3"), init("", "cpu=4"), sidecar()))
    found = [
        (texts(dict(each.resources.requests)), texts(dict(each.resources.limits)))
        for each in filled.all_containers
    ]
    assert found == [
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "4", "memory": "1Gi"}),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}),
        ({"cpu": "3", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}),
    ]
    assert step.rule == "the default of LimitRange bounds"


def test_the_last_item_takes_precedence() -> None:
    step = limit_range(item(default="cpu=2"), item(default="cpu=3"), item("Pod", default="cpu=9")).step()
    assert texts(dict(step.apply(manifest(app())).containers[0].resources.limits)) == {"cpu": "3"}


@dataclass(frozen=True)
class Refused:
    """The violations of an item by a pod."""

    name: str
    item: LimitRangeItem
    pod: Pod
    want: list[str]


def bare(kind: str = "Container", **lists: str) -> LimitRangeItem:
    return LimitRangeItem(type=kind, **{name: amounts(text) for name, text in lists.items()})


MAX, MIN, RATIO = bare(max="cpu=1"), bare(min="cpu=50m"), bare(max_ratio="cpu=4")
POD_MAX = bare("Pod", max="cpu=2")
REFUSED = [
    Refused("within bounds", MAX, manifest(app("cpu=1", "cpu=1")), []),
    Refused(
        "limit above",
        MAX,
        manifest(app("", "cpu=1500m")),
        ["maximum cpu usage per Container is 1, but limit is 1500m"],
    ),
    Refused(
        "no limit",
        MAX,
        manifest(app("cpu=1")),
        ["maximum cpu usage per Container is 1.  No limit is specified"],
    ),
    Refused(
        "request above",
        MAX,
        manifest(app("cpu=2", "cpu=1")),
        ["maximum cpu usage per Container is 1, but request is 2"],
    ),
    Refused(
        "request below",
        MIN,
        manifest(app("cpu=20m")),
        ["minimum cpu usage per Container is 50m, but request is 20m"],
    ),
    Refused(
        "no request",
        MIN,
        manifest(app("", "cpu=1")),
        ["minimum cpu usage per Container is 50m.  No request is specified"],
    ),
    Refused(
        "limit below",
        MIN,
        manifest(app("cpu=50m", "cpu=20m")),
        ["minimum cpu usage per Container is 50m, but limit is 20m"],
    ),
    Refused(
        "too steep",
        RATIO,
        manifest(app("cpu=200m", "cpu=1")),
        ["cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000"],
    ),
    Refused("just not too steep", RATIO, manifest(app("cpu=250m", "cpu=1")), []),
    Refused(
        "not a whole number",
        RATIO,
        manifest(app("cpu=3", "cpu=20")),
        ["cpu max limit to request ratio per Container is 4, but provided ratio is 6.666667"],
    ),
    Refused(
        "nothing to divide by",
        RATIO,
        manifest(app("cpu=0", "cpu=1")),
        ["cpu max limit to request ratio per Container is 4, but no request is specified or request is 0"],
    ),
    Refused(
        "nothing to divide",
        RATIO,
        manifest(app("cpu=1")),
        ["cpu max limit to request ratio per Container is 4, but no limit is specified or limit is 0"],
    ),
    Refused(
        "init containers, too",
        MAX,
        manifest(app("", "cpu=1"), init("", "cpu=2")),
        ["maximum cpu usage per Container is 1, but limit is 2"],
    ),
    Refused(
        "each reason once",
        MAX,
        manifest(app("", "cpu=2", name="a"), app("", "cpu=2", name="b")),
        ["maximum cpu usage per Container is 1, but limit is 2"],
    ),
    Refused(
        "pod above",
        POD_MAX,
        manifest(app("", "cpu=1", name="a"), app("", "cpu=2", name="b")),
        ["maximum cpu usage per Pod is 2, but limit is 3"],
    ),
    Refused(
        "pod-level amounts win",
        POD_MAX,
        manifest(app("", "cpu=1"), pod_level=resources("", "cpu=3")),
        ["maximum cpu usage per Pod is 2, but limit is 3"],
    ),
    Refused(
        "but not of huge pages",
        bare("Pod", max="hugepages-2Mi=64Mi"),
        manifest(app("", "hugepages-2Mi=32Mi"), pod_level=resources("", "hugepages-2Mi=128Mi")),
        [],
    ),
    Refused("overhead does not count", POD_MAX, manifest(app("", "cpu=2"), overhead="cpu=1"), []),
    Refused("claims are not pods", bare("PersistentVolumeClaim", max="storage=1Gi"), manifest(app()), []),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_violations(case: Refused) -> None:
    assert limit_range(case.item).violations(case.pod) == case.want


def test_an_object_with_defaults_for_pods_is_rejected_itself() -> None:
    refused = limit_range(item(), item("Pod", default="cpu=1", default_request="cpu=1"))
    assert refused.problems == (
        "spec.limits[1].default: Forbidden: may not be specified when `type` is 'Pod'",
        "spec.limits[1].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
    )


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (
            LimitRangeItem(type="container"),
            'type: Invalid value: "container": must be a standard limit type or fully qualified',
        ),
        (LimitRangeItem(type="example.com/x"), ""),
        (item("PersistentVolumeClaim", max="storage=1Gi"), ""),
        (
            item("PersistentVolumeClaim", default="cpu=2"),
            (
                "limits: Required value: either minimum or maximum storage value is required, but neither "
                "was provided"
            ),
        ),
        (
            LimitRangeItem(type="Container", min=amounts("storage=2")),
            'min[storage]: Invalid value: "storage": must be a standard resource for containers',
        ),
    ],
    ids=lambda value: value.type if isinstance(value, LimitRangeItem) else None,
)
def test_types_and_names_of_resources_must_be_known(wrong: LimitRangeItem, problem: str) -> None:
    assert limit_range(wrong).problems == ((f"spec.limits[0].{problem}",) if problem else ())


def test_many_items_are_judged_in_one_pass() -> None:
    """Otherwise a large file would take minutes."""
    asked = []

    class Watched(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            asked.append(other)
            return super().__eq__(other)

        __hash__ = str.__hash__

    many = tuple(LimitRangeItem(type=Watched(f"example.com/{number}")) for number in range(500))
    assert limit_range(*many).problems == ()
    assert len(asked) < 20 * len(many)


def test_an_object_has_one_item_per_type() -> None:
    refused = limit_range(item(max="cpu=2"), item("Pod", max="cpu=4"), item(max="cpu=3"))
    assert refused.problems == ('spec.limits[2].type: Duplicate value: "Container"',)


@dataclass(frozen=True)
class Disorder:
    """Bounds and defaults that contradict each other, and the API server's messages."""

    item: LimitRangeItem
    want: tuple[str, ...]


def invalid(field: str, shown: str, words: str) -> str:
    return f'spec.limits[0].{field}[cpu]: Invalid value: "{shown}": {words}'


DISORDERS = [
    Disorder(
        item("Pod", min="cpu=2", max="cpu=1"),
        (invalid("min", "2", "min value 2 is greater than max value 1"),),
    ),
    Disorder(
        item(min="cpu=2", default="cpu=3", default_request="cpu=1"),
        (invalid("defaultRequest", "1", "min value 2 is greater than default request value 1"),),
    ),
    Disorder(
        item(max="cpu=2", default="cpu=1", default_request="cpu=1500m"),
        (
            invalid(
                "defaultRequest", "1500m", "default request value 1500m is greater than default limit value 1"
            ),
        ),
    ),
    Disorder(
        item(max="cpu=2", default="cpu=3", default_request="cpu=1"),
        (invalid("default", "2", "default value 3 is greater than max value 2"),),
    ),
    Disorder(
        item(min="cpu=2", default="cpu=1", default_request="cpu=2"),
        (
            invalid("defaultRequest", "2", "default request value 2 is greater than default limit value 1"),
            invalid("default", "2", "min value 2 is greater than default value 1"),
        ),
    ),
    Disorder(
        item("Pod", max_ratio="cpu=500m"),
        (invalid("maxLimitRequestRatio", "500m", "ratio 500m is less than 1"),),
    ),
    Disorder(item(min="cpu=1", max="cpu=4", default="cpu=2", default_request="cpu=2", max_ratio="cpu=2"), ()),
    Disorder(
        item("Pod", min="cpu=300m", max="cpu=1", max_ratio="cpu=4"),
        (invalid("maxLimitRequestRatio", "4", "ratio 4 is greater than max/min = 3.333333"),),
    ),
    Disorder(
        item("Pod", min="cpu=1", max="cpu=9P", max_ratio="cpu=10P"),
        (
            invalid(
                "maxLimitRequestRatio",
                "10P",
                "ratio 10P is greater than max/min = 9000000000000000.000000",
            ),
        ),
    ),
    Disorder(item("Pod", min="cpu=0", max="cpu=1", max_ratio="cpu=4"), ()),
    Disorder(item(default="cpu=2", default_request="cpu=1"), ()),
    Disorder(
        item(default="hugepages-2Mi=4Mi", default_request="hugepages-2Mi=2Mi"),
        (
            (
                'spec.limits[0].defaultRequest[hugepages-2Mi]: Invalid value: "2Mi": default value 4Mi must '
                "equal to defaultRequest value 2Mi in hugepages-2Mi"
            ),
        ),
    ),
    Disorder(
        item(max="example.com/gpu=2", default_request="example.com/gpu=1"),
        (
            (
                'spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: "1": default value 2 must '
                "equal to defaultRequest value 1 in example.com/gpu"
            ),
        ),
    ),
]


@pytest.mark.parametrize("case", DISORDERS, ids=lambda case: " ".join(case.want)[:60])
def test_bounds_and_defaults_must_agree(case: Disorder) -> None:
    assert limit_range(case.item).problems == case.want


def test_no_ratio_is_too_large() -> None:
    (text,) = limit_range(RATIO).violations(manifest(app("cpu=1n", "cpu=1e299")))
    assert text.endswith(f"provided ratio is 1{'0' * 308}.000000")

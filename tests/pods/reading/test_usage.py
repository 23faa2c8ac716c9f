from __future__ import annotations

import json

import pytest

from cpuctl.errors import InputError
from cpuctl.pods.reading.usage import decode_usage

MI = 1 << 20


def metrics(name: str, *amounts: str) -> dict[str, object]:
    containers = [{"name": f"c{n}", "usage": {"cpu": "1m", "memory": each}} for n, each in enumerate(amounts)]
    return {"kind": "PodMetrics", "metadata": {"name": name, "namespace": "shop"}, "containers": containers}


def test_a_hand_written_list() -> None:
    assert decode_usage("shop/web: 5Mi\nother: 1k\n", "usage") == {"shop/web": 5 * MI, "default/other": 1000}


def test_metrics_add_up_containers() -> None:
    text = json.dumps({"kind": "PodMetricsList", "items": [metrics("a", "1Mi", "2Mi"), metrics("b", "4Ki")]})
    assert decode_usage(text, "usage") == {"shop/a": 3 * MI, "shop/b": 4096}
    assert decode_usage(json.dumps(metrics("a", "1Mi")), "usage") == {"shop/a": MI}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("web: much", 'usage:1: web: expected a quantity, found the string "much"'),
        ("[1]", "usage:1: expected a mapping, found a list"),
        ("kind: Pod", 'usage:1: kind: expected one of PodMetrics, PodMetricsList, found the string "Pod"'),
        ("{kind: PodMetrics, metadata: {name: a}}", "containers is missing"),
        (
            "{kind: PodMetrics, metadata: {name: a}, containers: [{usage: {}}]}",
            "containers[0].usage: memory is missing",
        ),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_usage(text, "usage")
    assert message in str(caught.value)

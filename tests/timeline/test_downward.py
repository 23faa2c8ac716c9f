"""``assigned.cpuset`` if CPUs belong to the pod as a whole (KEP-5526 together with KEP-6122)."""

from __future__ import annotations

from typing import Any

from cpuctl.timeline.world.entries import EntryKind
from tests.timeline.replaying import config, container, play, reported


def divided() -> dict[str, Any]:
    """Make a pod of four CPUs: two of app, the rest for log."""
    items = [
        {"path": name, "resourceFieldRef": {"containerName": name, "resource": "assigned.cpuset"}}
        for name in ("app", "log")
    ]
    two, four = {"cpu": 2, "memory": "1Gi"}, {"cpu": 4, "memory": "4Gi"}
    return {
        "metadata": {"name": "divided"},
        "spec": {
            "resources": {"requests": four, "limits": four},
            "containers": [{"name": "app", "resources": {"limits": two}}, {"name": "log"}],
            "volumes": [{"name": "podinfo", "downwardAPI": {"items": items}}],
        },
    }


def test_a_container_in_its_pods_pool_reads_nothing() -> None:
    """The state file has the pool as its entry; KEP-6122 exposes exclusive CPUs only."""
    simulation = play(
        {"at": "0s", "admit": "divided"},
        kubelet={
            "version": "1.37",
            "config": config(
                cpuManagerPolicyOptions={},
                featureGates={"PodLevelResourceManagers": True},
                topologyManagerPolicy="best-effort",
                topologyManagerScope="pod",
            ),
        },
        pods=[divided()],
        until="1s",
    )
    app, log = (container(simulation, f"divided/{name}") for name in ("app", "log"))
    assert app["downward"] == app["cgroup"] == "1,11"
    assert (log["downward"], log["cgroup"]) == ("", "2,12")
    (entry,) = (each for each in reported(simulation, EntryKind.VOLUME_WRITTEN) if each.container == "log")
    assert entry.text.endswith('"": CPUs 2,12 are its pod\'s pool; it has no CPUs of its own (KEP-6122)')

"""The owner of a cgroup, by every source of names, the best first."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cgroups.container_logs import LogName, by_container_id, log_names
from cpuctl.cgroups.groups import Cgroup, CpusetValues, CpuValues, MemoryValues
from cpuctl.cgroups.names import role_of
from cpuctl.cgroups.owners import ContainerRole, KnownNames, NameSource, Owner, find_owners
from cpuctl.cpuset import CPUSet
from cpuctl.pods.model import Container, ContainerKind, Pod
from cpuctl.pods.running import ContainerStatus, RunState
from cpuctl.records import replace

UID = "1111-22"
POD = "/kubepods.slice/kubepods-pod1111_22.slice"
ONE, TWO, THREE = "1" * 64, "2" * 64, "3" * 64


def group(path: str, cpus: str = "") -> Cgroup:
    role = role_of(path)
    assert role is not None
    return Cgroup(
        path=path,
        role=role,
        cpuset=CpusetValues(cpus=CPUSet.parse(cpus)),
        cpu=CpuValues(),
        memory=MemoryValues(),
    )


def scope(container: str, cpus: str = "", runtime: str = "cri-containerd") -> Cgroup:
    return group(f"{POD}/{runtime}-{container}.scope", cpus)


def status(name: str, container: str, **more: object) -> ContainerStatus:
    reported = ContainerStatus(
        name=name, state=RunState.RUNNING, runtime="containerd", container_id=container
    )
    return replace(reported, **more)  # type: ignore[arg-type]  # of the fields' types


def pod(*statuses: ContainerStatus) -> Pod:
    return Pod(
        name="web-0",
        namespace="shop",
        uid=UID,
        init_containers=(
            Container(name="setup", kind=ContainerKind.INIT),
            Container(name="proxy", kind=ContainerKind.SIDECAR),
        ),
        containers=(Container(name="app"),),
        statuses=statuses,
    )


@dataclass(frozen=True)
class Case:
    name: str
    groups: tuple[Cgroup, ...]
    known: KnownNames
    want: str
    part: ContainerRole
    known_by: NameSource | None


CASES = [
    Case(
        "the pod's status",
        (scope(ONE),),
        KnownNames(pods={UID: pod(status("app", ONE))}),
        "shop/web-0/app", ContainerRole.APP, NameSource.STATUS,
    ),
    Case(
        "a sidecar",
        (scope(ONE),),
        KnownNames(pods={UID: pod(status("proxy", ONE))}),
        "shop/web-0/proxy", ContainerRole.SIDECAR, NameSource.STATUS,
    ),
    Case(
        "an ephemeral container",
        (scope(ONE),),
        KnownNames(pods={UID: pod(status("debug", ONE, ephemeral=True))}),
        "shop/web-0/debug", ContainerRole.EPHEMERAL, NameSource.STATUS,
    ),
    Case(
        "the link to a log, when the status is older",
        (scope(ONE),),
        KnownNames(pods={UID: pod(status("app", TWO))}, logs={ONE: LogName("web-0", "shop", "setup", ONE)}),
        "shop/web-0/setup", ContainerRole.INIT, NameSource.LOG,
    ),
    Case(
        "the link to a log alone",
        (scope(ONE),),
        KnownNames(logs={ONE: LogName("web-0", "shop", "app", ONE)}),
        "shop/web-0/app", ContainerRole.UNKNOWN, NameSource.LOG,
    ),
    Case(
        "a sandbox by its process",
        (scope(ONE),),
        KnownNames(sandboxes=frozenset({ONE})),
        f"{UID}/sandbox", ContainerRole.SANDBOX, NameSource.PROCESS,
    ),
    Case(
        "a sandbox by being left over",
        (scope(ONE), scope(TWO)),
        KnownNames(pods={UID: pod(status("app", TWO))}),
        "shop/web-0/sandbox", ContainerRole.SANDBOX, NameSource.STATUS,
    ),
    Case(
        "left over while another one is missing",
        (scope(ONE), scope(TWO)),
        KnownNames(pods={UID: pod(status("app", TWO), status("proxy", THREE))}),
        f"shop/web-0/{ONE[:12]}", ContainerRole.UNKNOWN, None,
    ),
    Case(
        "CPUs that the state gives once",
        (scope(ONE, "2-3"), scope(TWO, "0-1")),
        KnownNames(assigned={UID: {"app": CPUSet.parse("2-3"), "proxy": CPUSet.parse("4")}}),
        f"{UID}/app", ContainerRole.UNKNOWN, NameSource.STATE,
    ),
    Case(
        "CPUs that the state gives twice",
        (scope(ONE, "2-3"),),
        KnownNames(assigned={UID: {"app": CPUSet.parse("2-3"), "setup": CPUSet.parse("2-3")}}),
        f"{UID}/{ONE[:12]}", ContainerRole.UNKNOWN, None,
    ),
    Case(
        "CPUs of two groups",
        (scope(ONE, "2-3"), scope(TWO, "2-3")),
        KnownNames(assigned={UID: {"app": CPUSet.parse("2-3")}}),
        f"{UID}/{ONE[:12]}", ContainerRole.UNKNOWN, None,
    ),
    Case(
        "CPUs of a container known by another source",
        (scope(ONE, "2-3"), scope(TWO, "2-3")),
        KnownNames(
            logs={TWO: LogName("web-0", "shop", "app", TWO)}, assigned={UID: {"app": CPUSet.parse("2-3")}}
        ),
        f"shop/web-0/{ONE[:12]}", ContainerRole.UNKNOWN, None,
    ),
    Case("nothing", (scope(ONE),), KnownNames(), f"{UID}/{ONE[:12]}", ContainerRole.UNKNOWN, None),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_container_is_named_by(case: Case) -> None:
    owner = find_owners(case.groups, case.known)[case.groups[0].path]
    assert (str(owner), owner.part, owner.known_by) == (case.want, case.part, case.known_by)


def test_groups_around_a_container_have_its_pod() -> None:
    groups = [
        group("/kubepods.slice"),
        group(POD),
        scope(ONE),
        group(f"{scope(ONE).path}/container"),
        group(f"{POD}/crio-conmon-{ONE}.scope"),
        group(f"{POD}/somebody-elses.scope"),
    ]
    owners = find_owners(groups, KnownNames(logs={ONE: LogName("web-0", "shop", "app", ONE)}))
    below = {path.removeprefix(POD): str(owner) for path, owner in owners.items()}
    assert below == {
        "": "shop/web-0",
        f"/cri-containerd-{ONE}.scope": "shop/web-0/app",
        f"/cri-containerd-{ONE}.scope/container": "shop/web-0/app",
        f"/crio-conmon-{ONE}.scope": f"shop/web-0/{ONE[:12]}",
        "/somebody-elses.scope": "shop/web-0",
    }


@pytest.mark.parametrize(
    ("name", "runtime"),
    [
        (f"cri-containerd-{ONE}.scope", "containerd"),
        (f"crio-{ONE}.scope", "cri-o"),
        (f"docker-{ONE}.scope", "docker"),
        (ONE, "containerd"),
    ],
)
def test_every_runtime_is_recognized(name: str, runtime: str) -> None:
    """A plain name shows no runtime; the status then does."""
    one = group(f"{POD}/{name}")
    owner = find_owners([one], KnownNames(pods={UID: pod(status("app", ONE))}))[one.path]
    assert owner == Owner(
        uid=UID,
        namespace="shop",
        pod="web-0",
        container="app",
        container_id=ONE,
        runtime=runtime,
        part=ContainerRole.APP,
        known_by=NameSource.STATUS,
    )


LINKS = {
    f"web-0_shop_ship-log-{ONE}.log": LogName("web-0", "shop", "ship-log", ONE),
    f"a.b-c.d_kube-system_x-{ONE}.log": LogName("a.b-c.d", "kube-system", "x", ONE),
}


@pytest.mark.parametrize("name", LINKS)
def test_links_to_logs_are_read_and_written_the_same(name: str) -> None:
    assert by_container_id([name]) == {ONE: LINKS[name]}
    assert str(LINKS[name]) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x.log",
        f"web_shop-{ONE}.log",
        f"a_b_c-{ONE}",
        f"A_b_c-{ONE}.log",
        f"a_b_c_d-{ONE}.log",
        f"a_b_c-{ONE[:-1]}.log",
    ],
)
def test_other_names_are_skipped(name: str) -> None:
    assert list(log_names([name])) == []

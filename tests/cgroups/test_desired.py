"""Which CPUs containers should have, and what may prevent it: values in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from cpuctl.cgroups.desired import (
    Assignment,
    ContainerReference,
    DesiredGroup,
    RunningContainer,
    by_assignment,
    by_reference,
)
from cpuctl.cgroups.groups import Cgroup, CpusetValues, CpuValues, MemoryValues, driver_quota
from cpuctl.cgroups.names import Driver, Level, Role
from cpuctl.cgroups.objections import ApplyContext, Override, find_objections
from cpuctl.cgroups.owners import ContainerRole, Owner
from cpuctl.cgroups.writes import plan_quotas, plan_writes
from cpuctl.cpuset import CPUSet

ID = "0123456789abcdef"


def cpus(text: str) -> CPUSet:
    return CPUSet.parse(text)


def group(path: str, own: str = "", effective: str = "0-7", **more: object) -> Cgroup:
    level = Level.CONTAINER if path.count("/") >= 3 else Level.POD
    values = CpusetValues(cpus=cpus(own), effective=cpus(effective or own))
    made = Cgroup(
        path=path,
        role=Role(level=level, driver=Driver.CGROUPFS),
        cpuset=values,
        cpu=CpuValues(),
        memory=MemoryValues(),
    )
    return made._replace(**more)  # type: ignore[arg-type]


def member(
    pod: str, container: str = "app", own: str = "0-7", part: ContainerRole = ContainerRole.APP
) -> RunningContainer:
    owner = Owner(
        uid=f"uid-{pod}", namespace="shop", pod=pod, container=container, container_id=ID, part=part
    )
    return RunningContainer(owner=owner, group=group(f"/kubepods/{pod}/{container or ID}", own, own))


def test_containers_without_exclusive_cpus_get_the_pool() -> None:
    found = by_assignment(
        [member("web"), member("db"), member("db", part=ContainerRole.SANDBOX)],
        Assignment(own={ContainerReference("uid-db", "app"): cpus("2-3")}, pool=cpus("0-1,4-7")),
    )
    assert [(one.owner.pod, str(one.cpus), one.exclusive) for one in found.groups] == [
        ("web", "0-1,4-7", False),
        ("db", "2-3", True),
    ]


def test_an_unnamed_container_is_left_out_if_its_pod_has_exclusive_cpus() -> None:
    own = {ContainerReference("shop/db", "app"): cpus("2-3")}
    found = by_assignment([member("db", ""), member("web", "")], Assignment(own=own, pool=cpus("0")))
    assert [one.owner.pod for one in found.groups] == ["web"]
    assert [each.subject for each in found.left_out] == ["shop/db/0123456789ab"]


def test_a_pod_that_does_not_run_is_reported() -> None:
    own = {ContainerReference("shop/db", "app"): cpus("2"), ContainerReference("shop/web", "init"): cpus("3")}
    found = by_assignment([member("web")], Assignment(own=own))
    assert [each.subject for each in found.left_out] == ["shop/db/app"]


@pytest.mark.parametrize("name", [("shop/db", "app"), ("uid-db", "app"), ("shop/db", ID[:12])])
def test_a_container_is_found_by_each_of_its_names(name: tuple[str, str]) -> None:
    found = by_reference(
        [member("web"), member("db")], {ContainerReference(*name): cpus("5")}, {"uid-db": {"app": cpus("1")}}
    )
    assert [(one.owner.pod, str(one.cpus), one.exclusive) for one in found.groups] == [("db", "5", True)]


def test_an_unknown_name_is_not_a_container() -> None:
    with pytest.raises(LookupError, match="shop/db/app"):
        by_reference([member("web")], {ContainerReference("shop/db", "app"): cpus("5")}, {})


class Case(NamedTuple):
    name: str
    wanted: str
    code: str
    shared: bool = False
    forced: Override | None = None


OBJECTIONS = [
    Case("free CPUs", "4-5", ""),
    Case("its own", "2-3", ""),
    Case("an offline one", "5,8", "offline"),
    Case("an offline one, forced", "5,8", "", forced=Override.OFFLINE),
    Case("reserved", "0,4", "reserved"),
    Case("reserved, forced", "0,4", "", forced=Override.RESERVED),
    Case("reserved as a part of the pool", "0,4", "", shared=True),
    Case("another's", "5-6", "exclusive"),
    Case("another's, forced", "5-6", "", forced=Override.EXCLUSIVE),
    Case("outside the groups above", "7", "outside"),
]


@pytest.mark.parametrize("case", OBJECTIONS, ids=lambda case: case.name)
def test_objections(case: Case) -> None:
    me, other = member("db"), member("web")
    situation = ApplyContext(
        online=cpus("0-7"),
        reserved=cpus("0"),
        reach=cpus("0-6"),
        members=[me, other],
        held={"uid-db": {"app": cpus("2-3")}, "uid-web": {"app": cpus("6")}},
    )
    wanted = DesiredGroup(path=me.group.path, owner=me.owner, cpus=cpus(case.wanted), shared=case.shared)
    found = find_objections([wanted], situation, [case.forced] if case.forced else [])
    assert [each.code for each in found] == ([case.code] if case.code else [])


def test_offline_cpus_cannot_be_forced_in_version_1() -> None:
    one = member("db")
    wanted = DesiredGroup(path=one.group.path, owner=one.owner, cpus=cpus("9"))
    for kept in (True, False):
        situation = ApplyContext(online=cpus("0-7"), members=[one], takes_offline=kept)
        (objection,) = find_objections([wanted], situation)
        assert (objection.force, objection.impossible) == (Override.OFFLINE, not kept)


def test_two_containers_may_swap_exclusive_cpus() -> None:
    db, web = member("db"), member("web")
    held = {"uid-db": {"app": cpus("2")}, "uid-web": {"app": cpus("3")}}
    found = by_reference(
        [db, web],
        {ContainerReference("shop/db", "app"): cpus("3"), ContainerReference("shop/web", "app"): cpus("2")},
        held,
    )
    situation = ApplyContext(online=cpus("0-7"), members=[db, web], held=held)
    assert find_objections(found.groups, situation) == []
    assert [each.code for each in find_objections(found.groups[:1], situation)] == ["exclusive"]


@pytest.mark.parametrize(
    ("path", "state", "objects"),
    [
        ("/kubepods/db", "root", True),
        ("/kubepods/other", "isolated", True),
        ("/kubepods/other", "isolated invalid (Cpu list is not exclusive)", False),
        ("/kubepods/other", "member", False),
    ],
)
def test_partitions(path: str, state: str, objects: bool) -> None:
    me = member("db")
    partition = group(path, "2", cpuset=CpusetValues(cpus=cpus("2"), effective=cpus("2"), partition=state))
    situation = ApplyContext(online=cpus("0-7"), groups={path: partition}, members=[me])
    wanted = DesiredGroup(path=me.group.path, owner=me.owner, cpus=cpus("2-3"))
    assert bool(find_objections([wanted], situation)) is objects


def written(tree: Mapping[str, Cgroup], version: int = 2, **wanted: str) -> list[str]:
    owner = Owner(uid="")
    targets = [
        DesiredGroup(path=f"/kubepods/{pod}/app", owner=owner, cpus=cpus(text))
        for pod, text in wanted.items()
    ]
    return [f"{w.path} {w.before or '-'}>{w.after}" for w in plan_writes(tree, targets, version)]


def tree(*groups: Cgroup) -> dict[str, Cgroup]:
    return {each.path: each for each in groups}


def test_an_inherited_list_is_written_before_anything_else_grows() -> None:
    here = tree(
        group("/kubepods/a", "0-3", "0-3"),
        group("/kubepods/a/app", "", "0-3"),
        group("/kubepods/b", "", "0-7"),
        group("/kubepods/b/app", "4-7", "4-7"),
    )
    assert written(here, a="0-3", b="4-5") == ["/kubepods/a/app ->0-3", "/kubepods/b/app 4-7>4-5"]


def test_a_shared_container_without_a_list_loses_cpus_before_they_are_reassigned() -> None:
    here = tree(group("/kubepods/a/app", "", "0-7"), group("/kubepods/b/app", "0-7", "0-7"))
    assert written(here, a="0-3", b="4-7") == ["/kubepods/b/app 0-7>4-7", "/kubepods/a/app ->0-3"]
    here = tree(group("/kubepods/a/app", "", "0-7"), group("/kubepods/b/app", "4-5", "4-5"))
    assert written(here, a="0-3", b="4-7") == ["/kubepods/a/app ->0-3", "/kubepods/b/app 4-5>4-7"]


def test_child_groups_of_a_container_follow_it() -> None:
    here = tree(
        group("/kubepods/a/app", "0-7", "0-7"),
        group("/kubepods/a/app/alike", "0-7", "0-7"),
        group("/kubepods/a/app/alike/deep", "6", "6"),
        group("/kubepods/a/app/narrow", "1-3", "1-3"),
        group("/kubepods/a/app/without", "", "0-7"),
    )
    writes = written(here, a="2-3")
    assert writes == [
        "/kubepods/a/app/narrow 1-3>2-3",
        "/kubepods/a/app/alike 0-7>2-3,6",
        "/kubepods/a/app 0-7>2-3,6",
        "/kubepods/a/app/alike/deep 6>2-3",
        "/kubepods/a/app/alike 2-3,6>2-3",
        "/kubepods/a/app 2-3,6>2-3",
    ]


def test_a_container_with_child_groups_releases_its_cpus_before_another_gets_them() -> None:
    """On v1, threads also run in the container's own cgroup."""
    here = tree(
        group("/kubepods/a", "0-3", "0-3"),
        group("/kubepods/a/app", "0-3", "0-3"),
        group("/kubepods/a/app/init", "0-3", "0-3"),
        group("/kubepods/b", "0-3", "0-3"),
        group("/kubepods/b/app", "0", "0"),
    )
    assert written(here, version=1, a="0-1", b="2-3") == [
        "/kubepods/a/app/init 0-3>0-1",
        "/kubepods/a/app 0-3>0-1",
        "/kubepods/b/app 0>2-3",
    ]


def test_a_group_without_the_controller_cannot_have_a_list() -> None:
    bare = group("/kubepods/a/app", "0-7", "0-7")
    here = tree(bare._replace(cpuset=CpusetValues()))
    with pytest.raises(ValueError, match="/kubepods/a/app has no cpuset: the cpuset controller is disabled"):
        written(here, a="2-3")


def test_empty_parents_on_v1_are_filled_first() -> None:
    here = tree(group("/kubepods/a", "", ""), group("/kubepods/a/app", "", ""))
    assert written(here, version=1, a="2") == ["/kubepods/a ->2", "/kubepods/a/app ->2"]


def with_quota(path: str, quota: int | None) -> Cgroup:
    return group(path, "0", cpu=CpuValues(quota=quota, period=100_000))


def test_quotas_are_loosened_from_above_and_tightened_from_below() -> None:
    here = tree(with_quota("/k/a", 100_000), with_quota("/k/a/app", 50_000))
    up = plan_quotas(here, {"/k/a": None, "/k/a/app": None}, 2)
    assert [(each.path, each.before, each.after) for each in up] == [
        ("/k/a", "100000 100000", "max 100000"),
        ("/k/a/app", "50000 100000", "max 100000"),
    ]
    down = plan_quotas(here, {"/k/a": 20_000, "/k/a/app": 10_000}, 1)
    assert [(each.path, each.before, each.after) for each in down] == [
        ("/k/a/app", "50000", "10000"),
        ("/k/a", "100000", "20000"),
    ]
    assert plan_quotas(here, {"/k/a": 100_000}, 2) == []


@pytest.mark.parametrize(("quota", "rounded"), [(1500, 2000), (200_000, 200_000), (1, 1000)])
def test_systemd_knows_hundredths_of_a_cpu(quota: int, rounded: int) -> None:
    assert driver_quota(quota, 100_000, Driver.SYSTEMD) == rounded
    assert driver_quota(quota, 100_000, Driver.CGROUPFS) == quota

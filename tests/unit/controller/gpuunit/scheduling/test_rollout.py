"""The old pod of a rollout stays until its place is kept for the new one."""

from typing import Any

import pytest

from controller.gpuunit.scheduling.rollout import gives_way, is_giving_way
from controller.gpuunit.workload import Workload
from tests.support.builders.gpu_units import a_unit
from tests.support.builders.workloads import a_pod, a_workload, pending, running

OLD = running("old", "gpu-0")
MOUNTS = [{"name": "data", "mountPath": "/data"}]


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(a_workload(pending(nominatedNodeName="gpu-0"), previous=(OLD,)), id="kept"),
        pytest.param(
            a_workload(pending(), previous=(OLD,), giving_way=True), id="begun, and not complete"
        ),
        pytest.param(
            a_workload(running("new"), previous=(OLD,), giving_way=True), id="the old one still is"
        ),
    ],
)
def test_the_old_pod_gives_way(workload: Workload) -> None:
    assert gives_way(a_unit(), workload)


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(Workload(), id="nothing is there"),
        pytest.param(a_workload(running()), id="no rollout"),
        pytest.param(a_workload(pending(), previous=(OLD,)), id="no place is kept"),
        pytest.param(
            a_workload(pending(nominatedNodeName="gpu-1"), previous=(OLD,)), id="another place"
        ),
        pytest.param(
            a_workload(
                pending(nominatedNodeName="gpu-0", requests={"memory": "1Gi"}), previous=(OLD,)
            ),
            id="too little room",
        ),
        pytest.param(a_workload(a_pod("new", node="gpu-1"), previous=(OLD,)), id="it has a place"),
        pytest.param(
            a_workload(
                pending(nominatedNodeName="gpu-0"), previous=(running("old", deleted=True),)
            ),
            id="it goes already",
        ),
        pytest.param(
            a_workload(pending(nominatedNodeName="gpu-0"), previous=(OLD,), generation=2),
            id="not observed",
        ),
        pytest.param(a_workload(running("new"), giving_way=True), id="complete"),
    ],
)
def test_the_old_pod_stays(workload: Workload) -> None:
    assert not gives_way(a_unit(), workload)


def test_a_volume_on_the_old_node_lets_the_old_pod_go_for_a_new_one_elsewhere() -> None:
    workload = a_workload(a_pod("new", node="gpu-1"), previous=(OLD,))
    assert gives_way(a_unit(storageMounts=MOUNTS), workload)


def test_a_volume_alone_does_not_while_the_new_pod_has_no_place() -> None:
    assert not gives_way(a_unit(storageMounts=MOUNTS), a_workload(pending(), previous=(OLD,)))


@pytest.mark.parametrize(
    ("spec", "giving_way"),
    [
        ({}, False),
        ({"strategy": {"type": "Recreate"}}, False),
        ({"strategy": {"rollingUpdate": None}}, False),
        ({"strategy": {"rollingUpdate": {"maxUnavailable": 0}}}, False),
        ({"strategy": {"rollingUpdate": {"maxUnavailable": 1}}}, True),
    ],
)
def test_the_deployment_tells_whether_it_was_told(spec: dict[str, Any], giving_way: bool) -> None:
    assert is_giving_way(spec) is giving_way

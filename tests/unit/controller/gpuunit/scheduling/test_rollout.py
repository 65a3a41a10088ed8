"""Tests of the rollout: the old pod stays until the new pod has its nomination."""

from typing import Any

import pytest

from controller.gpuunit.scheduling.rollout import (
    is_stopping_old_pod_first,
    should_stop_old_pod_first,
)
from controller.gpuunit.workload import Workload
from tests.support.builders.gpu_units import new_unit
from tests.support.builders.workloads import new_pod, new_workload, pending_pod, running_pod

OLD = running_pod("old", "gpu-0")
MOUNTS = [{"name": "data", "mountPath": "/data"}]


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(
            new_workload(pending_pod(nominatedNodeName="gpu-0"), previous=(OLD,)), id="nominated"
        ),
        pytest.param(
            new_workload(pending_pod(), previous=(OLD,), allow_unavailable=True),
            id="in progress",
        ),
        pytest.param(
            new_workload(running_pod("new"), previous=(OLD,), allow_unavailable=True),
            id="the old pod still exists",
        ),
    ],
)
def test_the_old_pod_is_stopped_first(workload: Workload) -> None:
    assert should_stop_old_pod_first(new_unit(), workload)


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(Workload(), id="no workload"),
        pytest.param(new_workload(running_pod()), id="no rollout"),
        pytest.param(new_workload(pending_pod(), previous=(OLD,)), id="not nominated"),
        pytest.param(
            new_workload(pending_pod(nominatedNodeName="gpu-1"), previous=(OLD,)),
            id="nominated to another node",
        ),
        pytest.param(
            new_workload(
                pending_pod(nominatedNodeName="gpu-0", requests={"memory": "1Gi"}), previous=(OLD,)
            ),
            id="requests more than the old pod",
        ),
        pytest.param(
            new_workload(new_pod("new", node="gpu-1"), previous=(OLD,)), id="already scheduled"
        ),
        pytest.param(
            new_workload(
                pending_pod(nominatedNodeName="gpu-0"), previous=(running_pod("old", deleted=True),)
            ),
            id="the old pod is terminating",
        ),
        pytest.param(
            new_workload(pending_pod(nominatedNodeName="gpu-0"), previous=(OLD,), generation=2),
            id="not observed",
        ),
        pytest.param(new_workload(running_pod("new"), allow_unavailable=True), id="complete"),
    ],
)
def test_the_old_pod_is_kept(workload: Workload) -> None:
    assert not should_stop_old_pod_first(new_unit(), workload)


def test_the_old_pod_with_a_storage_is_stopped_for_a_new_pod_on_another_node() -> None:
    workload = new_workload(new_pod("new", node="gpu-1"), previous=(OLD,))
    assert should_stop_old_pod_first(new_unit(storageMounts=MOUNTS), workload)


def test_the_old_pod_with_a_storage_is_kept_while_the_new_pod_has_no_node() -> None:
    assert not should_stop_old_pod_first(
        new_unit(storageMounts=MOUNTS), new_workload(pending_pod(), previous=(OLD,))
    )


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
def test_stopping_the_old_pod_first_is_read_from_the_deployment_strategy(
    spec: dict[str, Any], giving_way: bool
) -> None:
    assert is_stopping_old_pod_first(spec) is giving_way

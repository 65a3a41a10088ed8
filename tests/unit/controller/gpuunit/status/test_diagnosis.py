"""Tests of the pod diagnosis: the message is that of the component that knows the cause."""

from typing import Any

import pytest

from controller.gpuunit.status.diagnosis import diagnose_workload, progress_message
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.workload import Workload
from shared.k8s.pod import Pod
from shared.v1alpha1.reasons import UnitReason
from tests.support.builders.workloads import (
    READY_NODES,
    new_deployment,
    new_node,
    new_pod,
    new_workload,
    pending_pod,
    pod_with_container_status,
    running_pod,
)

STARTUP_FAILED = UnitReason.POD_STARTUP_FAILED
ENDED = {"exitCode": 3, "reason": "Error", "message": "no model\n"}


def waiting(reason: str, message: str = "", **more: Any) -> Pod:
    return pod_with_container_status(
        state={"waiting": {"reason": reason, "message": message}}, **more
    )


def test_an_unschedulable_pod_has_the_scheduler_message() -> None:
    message = UnitReadiness.progressing(UnitReason.POD_UNSCHEDULABLE, "0/4 nodes are available")
    assert diagnose_workload(new_workload(pending_pod()), READY_NODES) == message


def test_a_nominated_pod_has_no_problem_until_the_nomination_is_lost() -> None:
    workload = new_workload(pending_pod(nominatedNodeName="gpu-0"))
    assert diagnose_workload(workload, READY_NODES, awaits_nominated_node=True) is None
    assert diagnose_workload(workload, READY_NODES) == diagnose_workload(
        new_workload(pending_pod()), READY_NODES
    )


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(new_pod(), id="not scheduled yet"),
        pytest.param(running_pod(), id="runs"),
        pytest.param(waiting("ContainerCreating"), id="is being created"),
        pytest.param(waiting("PodInitializing"), id="is being prepared"),
        pytest.param(
            pod_with_container_status(ready=True, restartCount=1, lastState={"terminated": ENDED}),
            id="has recovered",
        ),
        pytest.param(
            pod_with_container_status(state={"terminated": {"exitCode": 0}}), id="succeeded"
        ),
    ],
)
def test_healthy_pods_have_no_problem(pod: Pod) -> None:
    assert diagnose_workload(new_workload(pod), READY_NODES) is None


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
def test_an_image_that_cannot_be_pulled_is_a_failure(reason: str) -> None:
    problem = diagnose_workload(new_workload(waiting(reason, "not found")), READY_NODES)
    assert problem == UnitReadiness.failed(STARTUP_FAILED, f"{reason}: not found")


def test_a_waiting_container_is_progressing() -> None:
    pod = waiting("CreateContainerConfigError", 'secret "keys" not found')
    message = 'CreateContainerConfigError: secret "keys" not found'
    assert diagnose_workload(new_workload(pod), READY_NODES) == UnitReadiness.progressing(
        STARTUP_FAILED, message
    )


@pytest.mark.parametrize("state", [{"waiting": {"reason": "CrashLoopBackOff"}}, {}])
def test_a_crash_loop_has_the_same_message_while_waiting_and_while_running(
    state: dict[str, Any],
) -> None:
    pod = pod_with_container_status(state=state, restartCount=2, lastState={"terminated": ENDED})
    message = "CrashLoopBackOff: container unit ended with Error, exit code 3: no model"
    assert diagnose_workload(new_workload(pod), READY_NODES) == UnitReadiness.failed(
        STARTUP_FAILED, message
    )


def test_a_first_crash_is_not_a_loop_yet() -> None:
    pod = pod_with_container_status(state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}})
    message = "container unit ended with OOMKilled, exit code 137"
    assert diagnose_workload(new_workload(pod), READY_NODES) == UnitReadiness.progressing(
        STARTUP_FAILED, message
    )


def test_a_crash_loop_without_termination_data_reports_that() -> None:
    message = "CrashLoopBackOff: container unit ended with unknown reason"
    assert diagnose_workload(
        new_workload(waiting("CrashLoopBackOff")), READY_NODES
    ) == UnitReadiness.failed(STARTUP_FAILED, message)


def test_an_image_error_is_reported_before_a_crash_of_another_container() -> None:
    crashed = {"name": "unit", "restartCount": 1, "lastState": {"terminated": ENDED}}
    unpulled = {"name": "sidecar", "state": {"waiting": {"reason": "ErrImagePull"}}}
    pod = new_pod(node="gpu-0", initContainerStatuses=[crashed], containerStatuses=[unpulled])
    problem = diagnose_workload(new_workload(pod), READY_NODES)
    assert problem == UnitReadiness.failed(STARTUP_FAILED, "ErrImagePull")


@pytest.mark.parametrize(
    ("nodes", "state"), [({}, "is gone"), ({"gpu-0": new_node(ready=False)}, "is not ready")]
)
def test_a_lost_node_is_reported(nodes: dict[str, Any], state: str) -> None:
    problem = diagnose_workload(new_workload(new_pod(node="gpu-0")), nodes)
    assert problem is not None
    assert problem.message.startswith(f"node gpu-0 {state}: ")


def test_refused_pods_are_reported_from_the_deployment_condition() -> None:
    condition = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "exceeded quota",
    }
    problem = diagnose_workload(new_workload(conditions=[condition]), READY_NODES)
    assert problem == UnitReadiness.progressing(STARTUP_FAILED, "FailedCreate: exceeded quota")


def test_an_old_refusal_is_ignored_while_a_pod_exists() -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    assert (
        diagnose_workload(new_workload(running_pod(), conditions=[condition]), READY_NODES) is None
    )


def test_a_paused_deployment_is_reported_only_while_it_blocks_a_rollout() -> None:
    problem = diagnose_workload(new_workload(paused=True), READY_NODES)
    assert problem is not None
    assert problem.message.startswith("Deployment unit-one is paused")
    assert diagnose_workload(new_workload(paused=True, updatedReplicas=1), READY_NODES) is None


def test_a_unit_without_a_deployment_has_no_problem_yet() -> None:
    assert diagnose_workload(Workload(), READY_NODES) is None


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        ((), "the pod is being started"),
        ((new_pod(),), "the pod is being started"),
        ((pending_pod(nominatedNodeName="gpu-1"),), "resources on node gpu-1 are being freed"),
        ((waiting("ContainerCreating"),), "the container is being created on node gpu-0"),
        (
            (new_pod(node="gpu-0", phase="Running"),),
            "the container runs on node gpu-0 and is not ready yet",
        ),
    ],
)
def test_the_progress_message_describes_the_stage_of_the_pod(
    pods: tuple[Pod, ...], message: str
) -> None:
    assert progress_message(Workload(new_deployment(), pods)) == message

"""Readiness of a unit as the worker of a function, from its pods and its own readiness."""

from typing import ClassVar

from controller.gpuunit.resources.sidecar import WORKER_CONTAINER
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.workload import Workload
from shared.k8s.pod import ContainerStatus, Pod
from shared.k8s.readiness import Readiness
from shared.v1alpha1 import names
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit, ServerlessSpec
from shared.v1alpha1.phases import UnitPhase, WorkerPhase
from shared.v1alpha1.reasons import UnitReason, WorkerReason


class WorkerReadiness(Readiness[WorkerPhase, WorkerReason]):
    """Readiness of a unit as the worker of a function, as its status reports it."""

    __slots__ = ()

    ELLIPSIS: ClassVar[str] = "..."


def missing_function_readiness(unit: GPUUnit, function: Function | None) -> UnitReadiness | None:
    """Report that the function of a worker is missing; None if it exists.

    Without the function the activator does not write the Secret that the pod needs.
    """
    if unit.spec.serverless is None or function is not None:
        return None
    message = f"Function {unit.spec.serverless.function_name} does not exist yet"
    return UnitReadiness.progressing(UnitReason.UNIT_PROGRESSING, message)


def worker_readiness(
    serverless: ServerlessSpec,
    readiness: UnitReadiness,
    workload: Workload,
    function: Function | None,
) -> WorkerReadiness:
    """Decide the readiness of the worker; ready means that the queue and the framework respond."""
    if readiness.is_ready:
        message = f"the worker accepts invocations of {serverless.function_name}"
        return WorkerReadiness(WorkerPhase.READY, WorkerReason.WORKER_READY, message)
    if readiness.phase is UnitPhase.FAILED:
        return WorkerReadiness(WorkerPhase.FAILED, WorkerReason.WORKER_FAILED, readiness.message)
    if function is None and not workload.current_pods:
        return WorkerReadiness(
            WorkerPhase.PENDING, WorkerReason.FUNCTION_MISSING, readiness.message
        )
    if any(
        is_container_running(status)
        for pod in workload.current_pods
        for status in worker_container_statuses(pod)
    ):
        message = "the worker is running; it waits for the queue and the framework to respond"
        return WorkerReadiness(WorkerPhase.STARTING, WorkerReason.WORKER_NOT_READY, message)
    secret = names.queue_secret_name(serverless.function_name)
    message = f"{readiness.message}; it needs Secret {secret}, which the activator writes"
    return WorkerReadiness.new(WorkerPhase.PENDING, WorkerReason.WORKER_STARTING, message)


def worker_container_statuses(pod: Pod) -> list[ContainerStatus]:
    """Return the status of the worker's container; empty before it was created."""
    return [item for item in pod.status.init_container_statuses if item.name == WORKER_CONTAINER]


def is_container_running(container: ContainerStatus) -> bool:
    """Return whether the container neither waits nor has ended."""
    return container.state.waiting is None and container.state.terminated is None

"""How a unit is as the worker of a function: pure, from its pods and the unit's verdict."""

from dataclasses import dataclass

from controller.gpuunit.resources.sidecar import NAME
from controller.gpuunit.status.readiness import Verdict, cut
from controller.gpuunit.workload import Workload
from shared.k8s.pod import ContainerStatus, Pod
from shared.v1alpha1 import names
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit, Serverless
from shared.v1alpha1.phases import UnitPhase, WorkerPhase
from shared.v1alpha1.reasons import UnitReason, WorkerReason


@dataclass(frozen=True, slots=True)
class WorkerVerdict:
    """What the status says of the worker."""

    phase: WorkerPhase
    reason: WorkerReason
    message: str


def missing_function(unit: GPUUnit, function: Function | None) -> Verdict | None:
    """What a worker waits for: without its function nobody writes the Secret of its queue."""
    if unit.spec.serverless is None or function is not None:
        return None
    said = f"Function {unit.spec.serverless.request_id} does not exist (yet)"
    return Verdict.progressing(UnitReason.UNIT_PROGRESSING, said)


def worker_verdict(
    serverless: Serverless, verdict: Verdict, workload: Workload, function: Function | None
) -> WorkerVerdict:
    """How far along the worker is; ready means that the queue and the framework both answer."""
    if verdict.phase is UnitPhase.READY:
        said = f"the worker takes invocations of {serverless.request_id}"
        return WorkerVerdict(WorkerPhase.READY, WorkerReason.WORKER_READY, said)
    if verdict.phase is UnitPhase.FAILED:
        return WorkerVerdict(WorkerPhase.FAILED, WorkerReason.WORKER_FAILED, verdict.message)
    if function is None and not workload.current:
        return WorkerVerdict(WorkerPhase.PENDING, WorkerReason.FUNCTION_MISSING, verdict.message)
    if any(is_running(found) for pod in workload.current for found in workers(pod)):
        said = "the worker runs, and waits for the queue and the framework to answer"
        return WorkerVerdict(WorkerPhase.STARTING, WorkerReason.WORKER_NOT_READY, said)
    secret = names.queue_secret(serverless.request_id)
    said = f"{verdict.message}; it needs Secret {secret}, which the activator writes"
    return WorkerVerdict(WorkerPhase.PENDING, WorkerReason.WORKER_STARTING, cut(said))


def workers(pod: Pod) -> list[ContainerStatus]:
    return [found for found in pod.status.init_container_statuses if found.name == NAME]


def is_running(found: ContainerStatus) -> bool:
    return found.state.waiting is None and found.state.terminated is None

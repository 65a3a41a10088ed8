"""Hand-off from stock to a user's unit.

A unit is admitted once, by its operation. Its pod is nominated to the node of the stock, and only
then the stock is deleted.
"""

from contextlib import suppress
from typing import TypeVar

from controller.caches import BY_OWNER, Caches
from controller.gpuunit.handoff.handoff_check import HandoffCheck, HandoffDecision, check_handoff
from controller.gpuunit.observation import Observation, Reservation
from controller.gpuunit.pod_requests import has_no_gpu_for
from controller.gpuunit.source_stock import SourceStock
from controller.gpuunit.workload import Workload, observe_workload
from controller.kinds import DEPLOYMENTS, GPU_UNITS, OPERATIONS, PODS, REPLICA_SETS
from controller.object_reader import ObjectReader
from controller.runtime import (
    Clock,
    ConflictError,
    EventRecorder,
    Kind,
    NotFoundError,
    Object,
    Preconditions,
    Writer,
    key_of,
    object_reference,
)
from shared.k8s.pod import Pod
from shared.time import format_timestamp
from shared.v1alpha1 import gpuunit, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, succeeded_status
from shared.v1alpha1.reasons import EventReason

T = TypeVar("T", bound=Object)


class Handoff:
    """Hand-off that admits units and consumes stock.

    Each write has a precondition, so that the late write of a stalled controller does no harm.
    """

    def __init__(
        self,
        caches: Caches,
        reader: ObjectReader,
        writer: Writer,
        recorder: EventRecorder,
        clock: Clock,
    ) -> None:
        self._caches = caches
        self._reader = reader
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def admit(self, unit: GPUUnit, source_stock: SourceStock) -> HandoffCheck:
        """Complete the operation with this unit and mark the unit as admitted.

        Return the decision and its reason. A unit is rejected only after its operation and its
        stock were read from the server.
        """
        operation = self._reader.cached_operation(source_stock.operation_id)
        stock = self._reader.cached_stock(source_stock.name)
        admission = check_handoff(unit, source_stock, operation, stock)
        if admission.decision in (HandoffDecision.STRAY, HandoffDecision.STOCK_LOST):
            operation = await self._reader.live_operation(source_stock.operation_id)
            stock = await self._reader.live_stock(source_stock.name)
            admission = check_handoff(unit, source_stock, operation, stock)
        if admission.decision is HandoffDecision.ELIGIBLE and operation is not None:
            await self._complete_operation(operation, unit)
        if (
            admission.decision in (HandoffDecision.ELIGIBLE, HandoffDecision.ADMITTED)
            and stock is not None
        ):
            await self._mark_admitted(
                unit, workload_node_name(observe_workload(self._caches, stock))
            )
        return admission

    async def delete_stray(self, unit: GPUUnit, message: str) -> None:
        """Delete a unit that no operation lists; another unit may get its name."""
        meta = unit.metadata
        self._recorder.warning(
            object_reference(GPU_UNITS, unit), EventReason.STRAY_DELETED, message
        )
        preconditions = Preconditions(uid=meta.uid, resource_version=meta.resource_version)
        await self._writer.delete(GPU_UNITS, key_of(unit), preconditions)

    async def consume_stock(self, observation: Observation) -> None:
        """Delete the stock once the unit can no longer lose its node."""
        reservation, unit = observation.reservation, observation.unit
        if reservation is None or not is_stock_claim_counted(reservation):
            return
        if not is_stock_releasable(observation.workload, observation.reserved_pods):
            return
        meta = reservation.stock.metadata
        preconditions = Preconditions(uid=meta.uid, resource_version=meta.resource_version)
        await self._writer.delete(GPU_UNITS, key_of(reservation.stock), preconditions)
        node_name = workload_node_name(reservation.workload) or "no node"
        message = f"replaced stock unit {meta.name} on {node_name}"
        self._recorder.normal(object_reference(GPU_UNITS, unit), EventReason.CONSUMED, message)
        await self._delete_workload(reservation.workload)

    async def _delete_workload(self, stock_workload: Workload) -> None:
        """Delete the workload now: the garbage collector would do it too, but a user waits.

        The Deployment is deleted first, so that no controller replaces the pods.
        """
        deployment = stock_workload.deployment
        if deployment is None:
            return
        meta = deployment.metadata
        revisions = self._caches.replica_sets.by_index(meta.namespace, BY_OWNER, meta.uid)
        await self._delete(DEPLOYMENTS, deployment)
        for revision in revisions:
            await self._delete(REPLICA_SETS, revision)
        for pod in (*stock_workload.current_pods, *stock_workload.retained_previous_pods):
            await self._delete(PODS, pod)

    async def _delete(self, kind: Kind[T], target: T) -> None:
        """Delete the object with this uid; it may be deleted already."""
        preconditions = Preconditions(uid=target.metadata.uid)
        with suppress(NotFoundError, ConflictError):
            await self._writer.delete(kind, key_of(target), preconditions)

    async def _complete_operation(self, operation: Operation, unit: GPUUnit) -> None:
        """Record the unit as the result of its operation."""
        now = format_timestamp(self._clock.now())
        status = {
            **succeeded_status(gpuunit.KIND, unit.metadata),
            "message": None,
            "updatedAt": now,
            "finishedAt": now,
        }
        version = {"resourceVersion": operation.metadata.resource_version}
        body = {"metadata": version, "status": status}
        await self._writer.patch(OPERATIONS, key_of(operation), body, "status")

    async def _mark_admitted(self, unit: GPUUnit, node_name: str) -> None:
        """Annotate the unit with the node of the stock, which its pods prefer from then on."""
        meta = unit.metadata
        body = {
            "metadata": {"uid": meta.uid, "annotations": {wellknown.ADMITTED_ANNOTATION: node_name}}
        }
        await self._writer.patch(GPU_UNITS, key_of(unit), body)


def scheduled_pods(pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """Return the pods that are on a node."""
    return tuple(pod for pod in pods if pod.spec.node_name)


def is_stock_claim_counted(reservation: Reservation) -> bool:
    """Return whether the pool has recorded the stock claim: only then the pool counts it."""
    pool = reservation.pool
    return pool is None or reservation.stock.metadata.uid in pool.status.claimed


def workload_node_name(workload: Workload) -> str:
    """Return the node of the first scheduled pod; empty if there is none."""
    return next((pod.spec.node_name for pod in workload.scheduled_pods), "")


def is_stock_releasable(workload: Workload, stock_pods: tuple[Pod, ...]) -> bool:
    """Return whether the stock can be deleted without the risk that another pod gets its GPUs."""
    if scheduled_pods(workload.current_pods) or not stock_pods:
        return bool(workload.current_pods)
    pending = workload.pending_pod
    if pending is None:
        return False
    is_nominated = any(
        pending.status.nominated_node_name == pod.spec.node_name for pod in stock_pods
    )
    return is_nominated or all(has_no_gpu_for(pod, pending) for pod in stock_pods)

"""The hand-off from stock to a user's unit, the controller's part.

A unit is admitted once, by its operation's record. It takes the place of its stock by being
nominated to the stock's node, and only then the stock is let go.
"""

from contextlib import suppress
from typing import TypeVar

from controller.caches import BY_OWNER, BY_UNIT, Caches
from controller.gpuunit.handoff.handoff_check import Admission, Entry, Source, is_held_for, judge
from controller.gpuunit.scheduling.nomination import holds_nothing_for
from controller.gpuunit.workload import Workload, observe
from controller.kinds import DEPLOYMENTS, GPU_UNITS, OPERATIONS, PODS, REPLICA_SETS
from controller.object_reader import Lookup
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Condition
from controller.runtime.client.kind import Kind, key_of
from controller.runtime.client.objects import Object
from controller.runtime.clock import Clock
from controller.runtime.errors import ConflictError, NotFoundError
from controller.runtime.events.event import reference
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from shared.k8s.conditions import timestamp
from shared.k8s.pod import Pod
from shared.v1alpha1 import gpuunit, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.reasons import EventReason

T = TypeVar("T", bound=Object)


class Handoff:
    """Every write is conditional, so a stalled controller that wakes up late does no harm."""

    def __init__(
        self, caches: Caches, lookup: Lookup, writer: Writer, recorder: EventRecorder, clock: Clock
    ) -> None:
        self._caches = caches
        self._lookup = lookup
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def admit(self, unit: GPUUnit, source: Source) -> Admission:
        """Close the record with this unit and mark it; or tell why not, having asked the server."""
        record, stock = self._lookup.record(source.operation_id), self._lookup.stock(source.name)
        admission = judge(unit, source, record, stock)
        if admission.entry in (Entry.STRAY, Entry.LOST):
            record = await self._lookup.live_record(source.operation_id)
            stock = await self._lookup.live_stock(source.name)
            admission = judge(unit, source, record, stock)
        if admission.entry is Entry.ELIGIBLE and record is not None:
            await self._close(record, unit)
        if admission.entry in (Entry.ELIGIBLE, Entry.ADMITTED) and stock is not None:
            await self._mark(unit, node_of(observe(self._caches, stock)))
        return admission

    async def delete_stray(self, unit: GPUUnit, why: str) -> None:
        """Nobody waits for this unit; its successor of the same name may."""
        meta = unit.metadata
        self._recorder.warning(reference(GPU_UNITS, unit), EventReason.STRAY_DELETED, why)
        condition = Condition(uid=meta.uid, resource_version=meta.resource_version)
        await self._writer.delete(GPU_UNITS, key_of(unit), condition)

    def holders(self, source: Source) -> tuple[Pod, ...]:
        """The pods of the stock that is kept for the unit, as long as it is there."""
        stock = self._lookup.stock(source.name)
        if stock is None or not is_held_for(stock, source):
            return ()
        return observe(self._caches, stock).seated

    def leaving(self, source: Source) -> tuple[Pod, ...]:
        """The pods of the stock, and those that still end after it was let go."""
        meta = self._lookup.stock_key(source.name)
        going = (
            pod
            for pod in self._caches.pods.by_index(meta.namespace, BY_UNIT, meta.name)
            if pod.metadata.deletion_timestamp is not None
        )
        return (*self.holders(source), *bound(tuple(going)))

    async def consume(self, unit: GPUUnit, source: Source, workload: Workload) -> None:
        """Let the stock go once its place is the unit's."""
        stock = self._lookup.stock(source.name)
        if stock is None or not is_held_for(stock, source) or not self._is_counted(stock):
            return
        reservation = observe(self._caches, stock)
        if not is_taken_over(workload, reservation.seated):
            return
        meta = stock.metadata
        condition = Condition(uid=meta.uid, resource_version=meta.resource_version)
        await self._writer.delete(GPU_UNITS, key_of(stock), condition)
        where = node_of(reservation) or "no node"
        said = f"took the place of stock {meta.name} on {where}"
        self._recorder.normal(reference(GPU_UNITS, unit), EventReason.CONSUMED, said)
        await self._take_down(reservation)

    async def _take_down(self, reservation: Workload) -> None:
        """Free the place now: the garbage collector would too, but a user waits for it.

        From the top, so that nobody replaces what is below.
        """
        deployment = reservation.deployment
        if deployment is None:
            return
        meta = deployment.metadata
        revisions = self._caches.replica_sets.by_index(meta.namespace, BY_OWNER, meta.uid)
        await self._delete(DEPLOYMENTS, deployment)
        for revision in revisions:
            await self._delete(REPLICA_SETS, revision)
        for pod in (*reservation.current, *reservation.standing):
            await self._delete(PODS, pod)

    async def _delete(self, kind: Kind[T], subject: T) -> None:
        """Exactly this one; if it is gone already, so much the better."""
        condition = Condition(uid=subject.metadata.uid)
        with suppress(NotFoundError, ConflictError):
            await self._writer.delete(kind, key_of(subject), condition)

    def _is_counted(self, stock: GPUUnit) -> bool:
        """Whether the stock's pool has noted the claim: it counts those that vanish afterwards."""
        name = stock.metadata.labels.get(wellknown.POOL_LABEL, "")
        pool = self._caches.pools.get(ObjectKey(stock.metadata.namespace, name))
        return pool is None or stock.metadata.uid in pool.status.claimed

    async def _close(self, record: Operation, unit: GPUUnit) -> None:
        now, meta = timestamp(self._clock.now()), unit.metadata
        made = {
            "kind": gpuunit.KIND,
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
        }
        status = {
            "phase": OperationPhase.SUCCEEDED.value,
            "message": None,
            "requested": 1,
            "created": 1,
            "objects": [made],
            "updatedAt": now,
            "finishedAt": now,
        }
        version = {"resourceVersion": record.metadata.resource_version}
        body = {"metadata": version, "status": status}
        await self._writer.patch(OPERATIONS, key_of(record), body, "status")

    async def _mark(self, unit: GPUUnit, node: str) -> None:
        """The mark holds the node of the stock, which the unit's pods prefer from then on."""
        meta = unit.metadata
        body = {"metadata": {"uid": meta.uid, "annotations": {wellknown.ADMITTED: node}}}
        await self._writer.patch(GPU_UNITS, key_of(unit), body)


def bound(pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
    return tuple(pod for pod in pods if pod.spec.node_name)


def node_of(workload: Workload) -> str:
    return next((pod.spec.node_name for pod in workload.seated), "")


def is_taken_over(workload: Workload, held: tuple[Pod, ...]) -> bool:
    """Whether the stock holds nothing more that the unit's pod could lose to somebody else."""
    if bound(workload.current) or not held:
        return bool(workload.current)
    pending = workload.pending
    if pending is None:
        return False
    is_kept = any(pending.status.nominated_node_name == pod.spec.node_name for pod in held)
    return is_kept or all(holds_nothing_for(pod, pending) for pod in held)

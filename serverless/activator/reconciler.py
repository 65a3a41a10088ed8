"""Brings each function to the number of workers that its queue needs, one step at a time."""

from typing import Final

import msgspec

from controller.runtime import (
    Cache,
    Clock,
    ConflictError,
    EventRecorder,
    NotFoundError,
    ObjectKey,
    ReconcileError,
    Result,
    Writer,
    key_of,
    object_reference,
)
from serverless.activator.kinds import FUNCTIONS
from serverless.activator.metrics import FunctionMetrics
from serverless.activator.scaling.cold_starts import ColdStartTimer
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState
from serverless.activator.scaling.plan import (
    RemovalReason,
    ScalingPlan,
    ScalingSnapshot,
    next_demand_history,
    plan_scaling,
)
from serverless.activator.scaling.snapshot import ScalingState, SnapshotReader, is_creating_worker
from serverless.activator.scaling.status import build_status, ready_message
from serverless.activator.scaling.worker_creation import CreateProgress, WorkerCreator
from serverless.activator.sweep.finalizer import (
    DeletePolicy,
    FunctionFinalizer,
    delete_policy_of,
    last_pass_wait_ms,
)
from serverless.activator.sweep.function_existence import FunctionExistence
from serverless.activator.workers.queue_resources import QueueResources
from serverless.activator.workers.runtime_api import RuntimeAPIClient
from serverless.activator.workers.worker_secrets import WorkerSecrets
from serverless.nats.errors import QueueError
from shared.k8s import merge_patch
from shared.time import now_ms
from shared.v1alpha1 import names
from shared.v1alpha1.function import Function, FunctionStatus
from shared.v1alpha1.phases import FunctionPhase
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.wellknown import QUEUE_FINALIZER

REQUEUE_SOON: Final = Result(requeue_after=0.5)
NEXT_STEP_SECONDS: Final = 1.0
NOT_READY_RECHECK_SECONDS: Final = 10.0
FINALIZE_RETRY_SECONDS: Final = 2.0


class FunctionReconciler:
    """Observes one function, changes at most one of its workers and writes its status."""

    def __init__(
        self,
        *,
        functions: Cache[Function],
        snapshot_reader: SnapshotReader,
        queue_resources: QueueResources,
        worker_secrets: WorkerSecrets,
        runtime_api: RuntimeAPIClient,
        worker_creator: WorkerCreator,
        finalizer: FunctionFinalizer,
        function_existence: FunctionExistence,
        cold_start_timer: ColdStartTimer,
        writer: Writer,
        recorder: EventRecorder,
        metrics: FunctionMetrics,
        clock: Clock,
    ) -> None:
        self._functions = functions
        self._snapshot_reader = snapshot_reader
        self._queue_resources = queue_resources
        self._worker_secrets = worker_secrets
        self._runtime_api = runtime_api
        self._worker_creator = worker_creator
        self._finalizer = finalizer
        self._function_existence = function_existence
        self._cold_start_timer = cold_start_timer
        self._writer = writer
        self._recorder = recorder
        self._metrics = metrics
        self._clock = clock
        self._scaling_states: dict[str, ScalingState] = {}

    async def reconcile(self, key: ObjectKey) -> Result:
        """Do one step; changes of the queue and of units trigger the next."""
        function = self._functions.get(key)
        try:
            if function is None:
                return await self._clean_up(key)
            if function.metadata.deletion_timestamp is not None:
                return await self._finalize(function)
            if QUEUE_FINALIZER not in function.metadata.finalizers:
                await self._set_finalizers(
                    function, (*function.metadata.finalizers, QUEUE_FINALIZER)
                )
                return REQUEUE_SOON
            return await self._scale(function)
        except QueueError as error:
            raise ReconcileError(str(error)) from error
        except (ConflictError, NotFoundError):
            return REQUEUE_SOON

    async def _clean_up(self, key: ObjectKey) -> Result:
        """Delete the queue resources of a function that, as the API server says, is deleted."""
        self._forget(key.name)
        if await self._function_existence.exists(key.name):
            return REQUEUE_SOON
        is_clean = await self._finalizer.clean_up(key.name)
        return Result() if is_clean else Result(requeue_after=NOT_READY_RECHECK_SECONDS)

    async def _finalize(self, function: Function) -> Result:
        if QUEUE_FINALIZER not in function.metadata.finalizers:
            return Result()
        if delete_policy_of(function) is DeletePolicy.DRAIN:
            await self._scale(function)
        if await self._finalizer.finalize(function):
            remaining = [name for name in function.metadata.finalizers if name != QUEUE_FINALIZER]
            latest = self._functions.get(key_of(function)) or function
            await self._set_finalizers(latest, remaining)
            self._forget(function.metadata.name)
            return Result()
        wait_seconds = last_pass_wait_ms(function, now_ms(self._clock)) / 1000
        is_drain = delete_policy_of(function) is DeletePolicy.DRAIN
        return Result(
            requeue_after=FINALIZE_RETRY_SECONDS
            if is_drain
            else max(wait_seconds, FINALIZE_RETRY_SECONDS)
        )

    async def _scale(self, function: Function) -> Result:
        consumer = await self._queue_resources.ensure(function)
        await self._worker_secrets.ensure_once(function)
        if consumer is None:
            return REQUEUE_SOON
        scaling_state = self._scaling_states.setdefault(function.metadata.name, ScalingState())
        snapshot = self._snapshot_reader.read(function, consumer.load, scaling_state)
        self._metrics.observe_workers(function.metadata.name, snapshot)
        plan = plan_scaling(snapshot)
        scaling_state.demand_history = next_demand_history(snapshot)
        create_progress = await self._execute(function, snapshot, plan, scaling_state)
        function = self._functions.get(key_of(function)) or function
        after = self._snapshot_reader.read(function, consumer.load, scaling_state)
        await self._update_status(function, after, plan, scaling_state, create_progress)
        await self._cold_start_timer.observe(function.metadata.name, snapshot, scaling_state)
        return Result(requeue_after=self._requeue_after_seconds(after, plan, scaling_state))

    async def _execute(
        self,
        function: Function,
        snapshot: ScalingSnapshot,
        plan: ScalingPlan,
        scaling_state: ScalingState,
    ) -> CreateProgress:
        """Create or delete at most one worker; return whether the last creation is finished."""
        if plan.remove is not None:
            await self._delete_worker(function, plan.remove, plan.reason, scaling_state)
        if is_creating_worker(function) and not snapshot.is_creating:
            self._report_created(function, scaling_state)
            return CreateProgress(is_finished=True)
        if snapshot.is_creating or plan.create:
            await self._worker_secrets.ensure(function)  # a worker does not start without it
            is_needed = snapshot.worker_count <= plan.desired
            return await self._worker_creator.create_worker(function, is_needed, scaling_state)
        scaling_state.create_failure = None
        return CreateProgress(is_finished=False)

    async def _delete_worker(
        self,
        function: Function,
        worker: ObservedWorker,
        reason: RemovalReason | None,
        scaling_state: ScalingState,
    ) -> None:
        if await self._runtime_api.delete(worker.name, worker.etag):
            scaling_state.deleted_etags.add(worker.etag)
            reference = object_reference(FUNCTIONS, function)
            message = f"deleted worker {worker.name}: {reason}"
            self._recorder.normal(reference, EventReason.SCALED_DOWN, message)

    def _report_created(self, function: Function, scaling_state: ScalingState) -> None:
        scaling_state.create_failure = None
        name = names.worker_name(function.metadata.name, function.status.worker_counter)
        message = f"created worker {name}"
        reference = object_reference(FUNCTIONS, function)
        self._recorder.normal(reference, EventReason.SCALED_UP, message)

    async def _update_status(
        self,
        function: Function,
        snapshot: ScalingSnapshot,
        plan: ScalingPlan,
        scaling_state: ScalingState,
        create_progress: CreateProgress,
    ) -> None:
        new = build_status(
            function, snapshot, plan.desired, scaling_state.create_failure, self._clock.now()
        )
        if create_progress.is_finished:
            new = msgspec.structs.replace(new, settled_counter=function.status.worker_counter)
        await self._write_status(function, new)

    async def _write_status(self, function: Function, status: FunctionStatus) -> None:
        changes = merge_patch.create_merge_patch(function.status, status)
        if not changes:
            return
        metadata = {"resourceVersion": function.metadata.resource_version}
        body = {"metadata": metadata, "status": changes}
        await self._writer.patch(FUNCTIONS, key_of(function), body, "status")
        is_bad = status.phase in (FunctionPhase.DEGRADED, FunctionPhase.FAILED)
        if is_bad and function.status.phase != status.phase:
            reference = object_reference(FUNCTIONS, function)
            self._recorder.warning(reference, EventReason.FAILED, ready_message(status))

    def _requeue_after_seconds(
        self, snapshot: ScalingSnapshot, plan: ScalingPlan, scaling_state: ScalingState
    ) -> float | None:
        """Return when to reconcile again without an event, or None."""
        delays = [] if plan.requeue_after_ms is None else [plan.requeue_after_ms / 1000]
        if scaling_state.create_failure is not None:
            delays.append(max(scaling_state.create_failure.retry_at - self._clock.monotonic(), 0.1))
        elif snapshot.is_creating or plan.create or plan.remove:
            delays.append(NEXT_STEP_SECONDS)
        if any(worker.state is not WorkerState.READY for worker in snapshot.workers):
            delays.append(NOT_READY_RECHECK_SECONDS)
        return min(delays, default=None)

    async def _set_finalizers(
        self, function: Function, finalizers: "tuple[str, ...] | list[str]"
    ) -> None:
        metadata = {"resourceVersion": function.metadata.resource_version}
        body = {"metadata": {**metadata, "finalizers": list(finalizers)}}
        await self._writer.patch(FUNCTIONS, key_of(function), body)

    def _forget(self, function_name: str) -> None:
        self._scaling_states.pop(function_name, None)
        self._snapshot_reader.forget(function_name)
        self._worker_secrets.forget(function_name)
        self._metrics.forget(function_name)

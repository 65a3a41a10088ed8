"""Creates workers so that a crash at any point neither loses nor duplicates one.

The number is written before the call. Until its operation is known to be finished the same number
is requested again, which returns the result of the first request.
"""

from dataclasses import dataclass

from controller.runtime import Clock, Writer, key_of
from serverless.activator.kinds import FUNCTIONS
from serverless.activator.scaling.snapshot import ScalingState, is_creating_worker
from serverless.activator.workers.create_backoff import next_create_failure
from serverless.activator.workers.runtime_api import Created, Pending, Rejected, RuntimeAPIClient
from serverless.activator.workers.worker_spec import WorkerSpec, build_worker_spec
from shared.v1alpha1.function import Function

ALREADY_EXISTS_CODE = "already_exists"
OPERATION_CONFLICT_CODE = "operation_conflict"


@dataclass(frozen=True, slots=True)
class CreateProgress:
    """Whether the creation of the last counted worker is finished."""

    is_finished: bool


class WorkerCreator:
    """Does one call in a step, for the open number or for the next one."""

    def __init__(self, api: RuntimeAPIClient, writer: Writer, clock: Clock) -> None:
        self._api = api
        self._writer = writer
        self._clock = clock

    async def create_worker(
        self, function: Function, is_needed: bool, scaling_state: ScalingState
    ) -> CreateProgress:
        """Request the last worker, or the next if that is finished; wait during a back-off."""
        failure = scaling_state.create_failure
        if failure is not None and self._clock.monotonic() < failure.retry_at:
            return CreateProgress(is_finished=failure.is_definite and not is_needed)
        if not is_creating_worker(function):
            function = await self._increment_counter(function)
        worker_spec = build_worker_spec(function, function.status.worker_counter)
        response = await self._api.create(worker_spec)
        if isinstance(response, Created):
            scaling_state.create_failure = None
            # If it is not deleted, it is finished once the cache contains the unit.
            return CreateProgress(is_finished=response.is_deleted)
        scaling_state.create_failure = next_create_failure(
            response, failure, self._clock.monotonic()
        )
        return CreateProgress(
            await self._is_finished(response, worker_spec)
            or self._is_no_longer_needed(scaling_state, is_needed)
        )

    async def _increment_counter(self, function: Function) -> Function:
        """Return the function with the next number; raises ConflictError if it has changed."""
        body = {
            "metadata": {"resourceVersion": function.metadata.resource_version},
            "status": {"workerCounter": function.status.worker_counter + 1},
        }
        return await self._writer.patch(FUNCTIONS, key_of(function), body, "status")

    async def _is_finished(self, response: Rejected | Pending, worker_spec: WorkerSpec) -> bool:
        """Whether the number is used up: its name is taken, or its operation had another body."""
        if isinstance(response, Pending):
            return False
        if response.code == OPERATION_CONFLICT_CODE:
            return await self._api.is_operation_finished(worker_spec)
        return response.code == ALREADY_EXISTS_CODE

    def _is_no_longer_needed(self, scaling_state: ScalingState, is_needed: bool) -> bool:
        """Whether no worker was created, and none is needed any more."""
        return (
            scaling_state.create_failure is not None
            and scaling_state.create_failure.is_definite
            and not is_needed
        )

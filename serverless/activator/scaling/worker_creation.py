"""Asks for workers so that a crash at any moment neither loses one nor makes one too many.

The number is written down before the call. Until its operation is known to be over the same
number is asked for again, which the API answers with what it made the first time.
"""

from dataclasses import dataclass

from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from controller.runtime.clock import Clock
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
    """Whether the making of the worker that was counted last is over."""

    is_finished: bool


class WorkerCreator:
    """One call a step, for the number that is open or else for the next."""

    def __init__(self, api: RuntimeAPIClient, writer: Writer, clock: Clock) -> None:
        self._api = api
        self._writer = writer
        self._clock = clock

    async def create_worker(
        self, function: Function, is_needed: bool, scaling_state: ScalingState
    ) -> CreateProgress:
        """Count one more if none is open, and ask for it unless it is too early to ask again."""
        known = scaling_state.create_failure
        if known is not None and self._clock.monotonic() < known.retry_at:
            return CreateProgress(is_finished=known.is_definite and not is_needed)
        if not is_creating_worker(function):
            function = await self._increment_counter(function)
        wanted = build_worker_spec(function, function.status.worker_counter)
        answer = await self._api.create(wanted)
        if isinstance(answer, Created):
            scaling_state.create_failure = None
            return CreateProgress(
                is_finished=answer.is_deleted
            )  # else once the cache shows the unit
        scaling_state.create_failure = next_create_failure(answer, known, self._clock.monotonic())
        return CreateProgress(
            await self._is_finished(answer, wanted)
            or self._is_no_longer_needed(scaling_state, is_needed)
        )

    async def _increment_counter(self, function: Function) -> Function:
        """The function with the next number written down; ConflictError if it has changed."""
        counted = {
            "metadata": {"resourceVersion": function.metadata.resource_version},
            "status": {"workerCounter": function.status.worker_counter + 1},
        }
        return await self._writer.patch(FUNCTIONS, key_of(function), counted, "status")

    async def _is_finished(self, response: Rejected | Pending, worker_spec: WorkerSpec) -> bool:
        """Whether the number is spent: its name is another's, or its operation had another body."""
        if isinstance(response, Pending):
            return False
        if response.code == OPERATION_CONFLICT_CODE:
            return await self._api.is_operation_finished(worker_spec)
        return response.code == ALREADY_EXISTS_CODE

    def _is_no_longer_needed(self, scaling_state: ScalingState, is_needed: bool) -> bool:
        """Whether nothing was made, and nothing shall be any more."""
        return (
            scaling_state.create_failure is not None
            and scaling_state.create_failure.is_definite
            and not is_needed
        )

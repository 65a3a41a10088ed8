"""The end of a function: what is queued is settled before the object goes."""

from enum import StrEnum
from typing import Final

from controller.runtime.clock import Clock
from serverless.activator.sweep.decision import Existence
from serverless.activator.sweep.invocation_store import InvocationStore, try_decode_record
from serverless.activator.sweep.settle import RecordSettler
from serverless.activator.sweep.sweep import MAX_PAGE_BYTES, MAX_PAGE_MESSAGES
from serverless.activator.timestamps import now_ms, parse_timestamp_ms
from serverless.activator.workers.queue_resources import QueueResources
from shared.invocation.record import InvocationRecord
from shared.v1alpha1.function import Function
from shared.v1alpha1.wellknown import ON_DELETE_ANNOTATION

# The API may accept for some seconds more; Kubernetes' times are cut to the second.
LAST_PASS_DELAY_MS: Final = 11_000


class DeletePolicy(StrEnum):
    """What becomes of queued invocations when their function is deleted."""

    DRAIN = "drain"
    PURGE = "purge"


def delete_policy_of(function: Function) -> DeletePolicy:
    """What was asked for; a plain delete purges."""
    is_drain = function.metadata.annotations.get(ON_DELETE_ANNOTATION) == DeletePolicy.DRAIN
    return DeletePolicy.DRAIN if is_drain else DeletePolicy.PURGE


def last_pass_wait_ms(function: Function, now: int) -> int:
    """How long until the last pass may begin."""
    return max(
        0, parse_timestamp_ms(function.metadata.deletion_timestamp) + LAST_PASS_DELAY_MS - now
    )


class FunctionFinalizer:
    """Passes over the records of a function until none is open, then takes its things away."""

    def __init__(
        self,
        invocation_store: InvocationStore,
        settler: RecordSettler,
        queue_resources: QueueResources,
        clock: Clock,
    ) -> None:
        self._invocation_store = invocation_store
        self._settler = settler
        self._queue_resources = queue_resources
        self._clock = clock

    async def finalize(self, function: Function) -> bool:
        """One pass; whether it was the last one and nothing of the function is left."""
        is_last = last_pass_wait_ms(function, now_ms(self._clock)) == 0
        left = await self._settle_records(function)
        if left or not is_last:
            return False
        await self._delete_queue_resources(function.metadata.name)
        return True

    async def clean_up(self, function_name: str) -> bool:
        """Take away what a function has left that went without its finalizer; whether all is gone.

        Its records are the sweep's, which also takes their messages away.
        """
        if not self._queue_resources.has_consumer(function_name):
            return True
        if await self._invocation_store.queued_invocation_ids(function_name):
            return False
        await self._delete_queue_resources(function_name)
        return True

    async def _delete_queue_resources(self, function_name: str) -> None:
        await self._invocation_store.dead_letter_calls(function_name)
        await self._queue_resources.delete(function_name)

    async def _settle_records(self, function: Function) -> int:
        """Settle what is open if it shall not be finished; how many records stay open."""
        is_purge = delete_policy_of(function) is DeletePolicy.PURGE

        async def home_of(_: str, __: InvocationRecord) -> Existence:
            return Existence.PURGING if is_purge else Existence.PRESENT

        left, sequence = 0, 1
        while page := await self._invocation_store.read_page(
            f"{function.metadata.name}.*", sequence, MAX_PAGE_MESSAGES, MAX_PAGE_BYTES
        ):
            for stored in page:
                record = try_decode_record(stored)
                if record is None or record.function_uid != function.metadata.uid:
                    continue
                left += not await self._settler.settle(stored, home_of)
            sequence = page[-1].sequence + 1
        return left

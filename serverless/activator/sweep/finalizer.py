"""Finalizes a function: settles its invocations before the object is deleted."""

from enum import StrEnum
from typing import Final

from controller.runtime import Clock
from serverless.activator.sweep.decision import Existence
from serverless.activator.sweep.invocation_store import InvocationStore, try_decode_record
from serverless.activator.sweep.settle import RecordSettler
from serverless.activator.sweep.sweep import MAX_PAGE_BYTES, MAX_PAGE_MESSAGES
from serverless.activator.workers.queue_resources import QueueResources
from shared.invocation.record import InvocationRecord
from shared.time import now_ms, timestamp_to_ms
from shared.v1alpha1.function import Function
from shared.v1alpha1.wellknown import ON_DELETE_ANNOTATION

# The API may accept invocations for some seconds more; Kubernetes' times have no fraction.
LAST_PASS_DELAY_MS: Final = 11_000


class DeletePolicy(StrEnum):
    """What happens to queued invocations when their function is deleted."""

    DRAIN = "drain"
    PURGE = "purge"


def delete_policy_of(function: Function) -> DeletePolicy:
    """Return the requested policy; the default is to purge."""
    is_drain = function.metadata.annotations.get(ON_DELETE_ANNOTATION) == DeletePolicy.DRAIN
    return DeletePolicy.DRAIN if is_drain else DeletePolicy.PURGE


def last_pass_wait_ms(function: Function, now: int) -> int:
    """Return how long to wait before the last pass."""
    return max(0, timestamp_to_ms(function.metadata.deletion_timestamp) + LAST_PASS_DELAY_MS - now)


class FunctionFinalizer:
    """Settles the records of a function until none is open, then deletes its resources."""

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
        """Do one pass; return whether it was the last and nothing is left."""
        is_last = last_pass_wait_ms(function, now_ms(self._clock)) == 0
        open_count = await self._settle_records(function)
        if open_count or not is_last:
            return False
        await self._delete_queue_resources(function.metadata.name)
        return True

    async def clean_up(self, function_name: str) -> bool:
        """Delete the resources of a function without a finalizer; return whether nothing is left.

        The sweep settles its records and deletes their messages.
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
        """Settle open records unless the function drains; return how many stay open."""
        is_purge = delete_policy_of(function) is DeletePolicy.PURGE

        async def existence_of(_: str, __: InvocationRecord) -> Existence:
            return Existence.PURGING if is_purge else Existence.PRESENT

        open_count, sequence = 0, 1
        while page := await self._invocation_store.read_page(
            f"{function.metadata.name}.*", sequence, MAX_PAGE_MESSAGES, MAX_PAGE_BYTES
        ):
            for stored in page:
                record = try_decode_record(stored)
                if record is None or record.function_uid != function.metadata.uid:
                    continue
                open_count += not await self._settler.settle(stored, existence_of)
            sequence = page[-1].sequence + 1
        return open_count

"""The end of a function: what is queued is settled before the object goes."""

from enum import StrEnum
from typing import Final

from controller.runtime.clock import Clock
from serverless.activator.sweep.decision import Home
from serverless.activator.sweep.invocation_store import Records, record_in
from serverless.activator.sweep.settle import Settling
from serverless.activator.sweep.sweep import PAGE, PAGE_BYTES
from serverless.activator.timestamps import ms_of, now_ms
from serverless.activator.workers.queue_resources import Outfit
from shared.invocation.record import Record
from shared.v1alpha1.function import Function
from shared.v1alpha1.wellknown import ON_DELETE

# The API may accept for some seconds more; Kubernetes' times are cut to the second.
LAST_PASS_MS: Final = 11_000


class Intent(StrEnum):
    """What becomes of queued invocations when their function is deleted."""

    DRAIN = "drain"
    PURGE = "purge"


def intent_of(function: Function) -> Intent:
    """What was asked for; a plain delete purges."""
    is_drain = function.metadata.annotations.get(ON_DELETE) == Intent.DRAIN
    return Intent.DRAIN if is_drain else Intent.PURGE


def wait_ms(function: Function, now: int) -> int:
    """How long until the last pass may begin."""
    return max(0, ms_of(function.metadata.deletion_timestamp) + LAST_PASS_MS - now)


class Ending:
    """Passes over the records of a function until none is open, then takes its things away."""

    def __init__(self, records: Records, settling: Settling, outfit: Outfit, clock: Clock) -> None:
        self._records = records
        self._settling = settling
        self._outfit = outfit
        self._clock = clock

    async def advance(self, function: Function) -> bool:
        """One pass; whether it was the last one and nothing of the function is left."""
        is_last = wait_ms(function, now_ms(self._clock)) == 0
        left = await self._pass(function)
        if left or not is_last:
            return False
        await self._take_away(function.metadata.name)
        return True

    async def clean_up(self, request_id: str) -> bool:
        """Take away what a function has left that went without its finalizer; whether all is gone.

        Its records are the sweep's, which also takes their messages away.
        """
        if not self._outfit.is_left(request_id):
            return True
        if await self._records.queued(request_id):
            return False
        await self._take_away(request_id)
        return True

    async def _take_away(self, request_id: str) -> None:
        await self._records.bury(request_id)
        await self._outfit.remove(request_id)

    async def _pass(self, function: Function) -> int:
        """Settle what is open if it shall not be finished; how many records stay open."""
        is_purge = intent_of(function) is Intent.PURGE

        async def home_of(_: str, __: Record) -> Home:
            return Home.PURGED if is_purge else Home.STANDS

        left, sequence = 0, 1
        while page := await self._records.page(
            f"{function.metadata.name}.*", sequence, PAGE, PAGE_BYTES
        ):
            for stored in page:
                record = record_in(stored)
                if record is None or record.function_uid != function.metadata.uid:
                    continue
                left += not await self._settling.settle(stored, home_of)
            sequence = page[-1].sequence + 1
        return left

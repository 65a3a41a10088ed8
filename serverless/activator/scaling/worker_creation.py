"""Asks for workers so that a crash at any moment neither loses one nor makes one too many.

The number is written down before the call. Until its operation is known to be over the same
number is asked for again, which the API answers with what it made the first time.
"""

from dataclasses import dataclass

from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from controller.runtime.clock import Clock
from serverless.activator.kinds import FUNCTIONS
from serverless.activator.scaling.snapshot import Memory, is_asking
from serverless.activator.workers.create_backoff import trouble
from serverless.activator.workers.runtime_api import Made, Refused, Unfinished, UnitsAPI
from serverless.activator.workers.worker_spec import Order, order
from shared.v1alpha1.function import Function

TAKEN = "already_exists"
OTHER_REQUEST = "operation_conflict"


@dataclass(frozen=True, slots=True)
class Settled:
    """Whether the making of the worker that was counted last is over."""

    is_over: bool


class Asking:
    """One call a step, for the number that is open or else for the next."""

    def __init__(self, api: UnitsAPI, writer: Writer, clock: Clock) -> None:
        self._api = api
        self._writer = writer
        self._clock = clock

    async def ask(self, function: Function, is_needed: bool, memory: Memory) -> Settled:
        """Count one more if none is open, and ask for it unless it is too early to ask again."""
        known = memory.trouble
        if known is not None and self._clock.monotonic() < known.again_at:
            return Settled(is_over=known.is_certain and not is_needed)
        if not is_asking(function):
            function = await self._count(function)
        wanted = order(function, function.status.worker_counter)
        answer = await self._api.create(wanted)
        if isinstance(answer, Made):
            memory.trouble = None
            return Settled(is_over=answer.is_gone)  # else once the cache shows the unit
        memory.trouble = trouble(answer, known, self._clock.monotonic())
        return Settled(await self._is_over(answer, wanted) or self._is_moot(memory, is_needed))

    async def _count(self, function: Function) -> Function:
        """The function with the next number written down; ConflictError if it has changed."""
        counted = {
            "metadata": {"resourceVersion": function.metadata.resource_version},
            "status": {"workerCounter": function.status.worker_counter + 1},
        }
        return await self._writer.patch(FUNCTIONS, key_of(function), counted, "status")

    async def _is_over(self, answer: Refused | Unfinished, wanted: Order) -> bool:
        """Whether the number is spent: its name is another's, or its operation had another body."""
        if isinstance(answer, Unfinished):
            return False
        if answer.code == OTHER_REQUEST:
            return await self._api.is_over(wanted)
        return answer.code == TAKEN

    def _is_moot(self, memory: Memory, is_needed: bool) -> bool:
        """Whether nothing was made, and nothing shall be any more."""
        return memory.trouble is not None and memory.trouble.is_certain and not is_needed

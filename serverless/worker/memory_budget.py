"""How many bytes of bodies a worker holds at once, and who waits for some to come free."""

import asyncio

from shared.invocation.limits import MAX_PAYLOAD_BYTES


class MemoryBudget:
    """So many bytes, which are taken in the order in which they were asked for."""

    def __init__(self, size: int = MAX_PAYLOAD_BYTES) -> None:
        self._size = size
        self._free_bytes = size
        self._acquire_lock = asyncio.Lock()
        self._released = asyncio.Event()

    async def acquire(self, size: int) -> int:
        """Wait until so many are free, or all if there are no more; how many were taken."""
        wanted = min(size, self._size)
        async with self._acquire_lock:
            while self._free_bytes < wanted:
                self._released.clear()
                await self._released.wait()
            self._free_bytes -= wanted
        return wanted

    def release(self, size: int) -> None:
        """They are free again."""
        self._free_bytes += size
        self._released.set()


class MemoryReservation:
    """What one attempt holds of a memory.

    It asks once: whoever holds some and waits for more may keep others waiting who do the same.
    """

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._held_bytes = 0

    async def acquire(self, size: int) -> None:
        """Hold so many bytes, once they are free."""
        self._held_bytes += await self._budget.acquire(size)

    def release(self) -> None:
        """Hold nothing any more."""
        self._budget.release(self._held_bytes)
        self._held_bytes = 0


class AttemptMemory:
    """What one attempt holds of both memories."""

    def __init__(self, payloads: MemoryBudget, responses: MemoryBudget) -> None:
        self.payload = MemoryReservation(payloads)
        self.response = MemoryReservation(responses)

    def release(self) -> None:
        """The attempt is over."""
        self.payload.release()
        self.response.release()


class MemoryBudgets:
    """Payloads and answers apart: a framework may read no payload before its answer is heard."""

    def __init__(self, size: int = MAX_PAYLOAD_BYTES) -> None:
        self._payloads = MemoryBudget(size)
        self._responses = MemoryBudget(size)

    def for_attempt(self) -> AttemptMemory:
        """For one attempt; nothing is taken yet."""
        return AttemptMemory(self._payloads, self._responses)

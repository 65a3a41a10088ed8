"""Limits how many bytes of bodies a worker holds at once."""

import asyncio

from shared.invocation.limits import MAX_PAYLOAD_BYTES


class MemoryBudget:
    """A number of bytes; waiting attempts get them in the order of their requests."""

    def __init__(self, size: int = MAX_PAYLOAD_BYTES) -> None:
        self._size = size
        self._free_bytes = size
        self._acquire_lock = asyncio.Lock()
        self._released = asyncio.Event()

    async def acquire(self, size: int) -> int:
        """Wait until `size` bytes are free, or all if it is larger; return how many."""
        granted = min(size, self._size)
        async with self._acquire_lock:
            while self._free_bytes < granted:
                self._released.clear()
                await self._released.wait()
            self._free_bytes -= granted
        return granted

    def release(self, size: int) -> None:
        """Make `size` bytes free again."""
        self._free_bytes += size
        self._released.set()


class MemoryReservation:
    """The bytes that one attempt holds of a budget.

    An attempt acquires once: attempts that hold some bytes and wait for more could block each
    other.
    """

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._reserved_bytes = 0

    async def acquire(self, size: int) -> None:
        """Wait until `size` bytes are free, and reserve them."""
        self._reserved_bytes += await self._budget.acquire(size)

    def release(self) -> None:
        """Release all reserved bytes."""
        self._budget.release(self._reserved_bytes)
        self._reserved_bytes = 0


class AttemptMemory:
    """The bytes that one attempt holds of both budgets."""

    def __init__(self, payloads: MemoryBudget, responses: MemoryBudget) -> None:
        self.payload = MemoryReservation(payloads)
        self.response = MemoryReservation(responses)

    def release(self) -> None:
        """Release all bytes when the attempt ends."""
        self.payload.release()
        self.response.release()


class MemoryBudgets:
    """Separate budgets for payloads and responses.

    A framework may stop reading its payload until its response is read, so one budget could block.
    """

    def __init__(self, size: int = MAX_PAYLOAD_BYTES) -> None:
        self._payloads = MemoryBudget(size)
        self._responses = MemoryBudget(size)

    def for_attempt(self) -> AttemptMemory:
        """Return the reservations of one attempt, with nothing acquired yet."""
        return AttemptMemory(self._payloads, self._responses)

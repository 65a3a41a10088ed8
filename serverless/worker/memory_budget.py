"""How many bytes of bodies a worker holds at once, and who waits for some to come free."""

import asyncio

from shared.invocation.limits import MAX_PAYLOAD_BYTES


class Memory:
    """So many bytes, which are taken in the order in which they were asked for."""

    def __init__(self, size: int = MAX_PAYLOAD_BYTES) -> None:
        self._size = size
        self._free = size
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    async def take(self, size: int) -> int:
        """Wait until so many are free, or all if there are no more; how many were taken."""
        wanted = min(size, self._size)
        async with self._turn:
            while self._free < wanted:
                self._freed.clear()
                await self._freed.wait()
            self._free -= wanted
        return wanted

    def give_back(self, size: int) -> None:
        """They are free again."""
        self._free += size
        self._freed.set()


class Part:
    """What one attempt holds of a memory.

    It asks once: whoever holds some and waits for more may keep others waiting who do the same.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._held = 0

    async def take(self, size: int) -> None:
        """Hold so many bytes, once they are free."""
        self._held += await self._memory.take(size)

    def give_back(self) -> None:
        """Hold nothing any more."""
        self._memory.give_back(self._held)
        self._held = 0


class Hold:
    """What one attempt holds of both memories."""

    def __init__(self, payloads: Memory, answers: Memory) -> None:
        self.payload = Part(payloads)
        self.answer = Part(answers)

    def give_back(self) -> None:
        """The attempt is over."""
        self.payload.give_back()
        self.answer.give_back()


class Memories:
    """Payloads and answers apart: a framework may read no payload before its answer is heard."""

    def __init__(self, size: int = MAX_PAYLOAD_BYTES) -> None:
        self._payloads = Memory(size)
        self._answers = Memory(size)

    def hold(self) -> Hold:
        """For one attempt; nothing is taken yet."""
        return Hold(self._payloads, self._answers)

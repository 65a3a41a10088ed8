"""API processes inside the test's own, each started again whenever it dies."""

import asyncio
from collections.abc import Callable

from apiserver.wiring import UseCases
from tests.support.faults.faulty_gateway import Killed


class Replicas:
    """`alive` are those that can be asked; `make` starts a new process."""

    def __init__(self, make: Callable[[], UseCases]) -> None:
        self._make = make
        self._is_closed = False
        self.alive: list[UseCases] = []

    def close(self) -> None:
        """Start no more processes; call this before `keep_one` is cancelled.

        A task group that is cancelled while its process dies raises Killed alone: the cancellation
        is lost.
        """
        self._is_closed = True

    async def keep_one(self) -> None:
        """Have one more process, until closed and cancelled."""
        while not self._is_closed:
            use_cases = self._make()
            try:
                async with asyncio.TaskGroup() as process:
                    process.create_task(use_cases.workshop.run())
                    process.create_task(use_cases.resumption.run())
                    await asyncio.sleep(0)
                    self.alive.append(use_cases)
            except* Killed:
                pass
            finally:
                if use_cases in self.alive:
                    self.alive.remove(use_cases)

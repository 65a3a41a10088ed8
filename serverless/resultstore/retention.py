"""Removes outcomes that were kept for long enough."""

import logging
from datetime import timedelta
from typing import Final

from controller.runtime.clock import Clock
from serverless.resultstore.store import NoStoreError, Store

ROUND_SECONDS: Final = 600.0
MOST_AT_ONCE: Final = 5000

log = logging.getLogger(__name__)


class Retention:
    """Looks every ten minutes; many small deletions, so that nobody waits for a large one."""

    def __init__(self, store: Store, seconds: float, clock: Clock) -> None:
        self._store = store
        self._kept = timedelta(seconds=seconds)
        self._clock = clock

    async def run(self) -> None:
        """Remove for ever."""
        await self._store.synced()
        while True:
            await self.round()
            await self._clock.sleep(ROUND_SECONDS)

    async def round(self) -> None:
        """Remove all that is due; what fails is due next time."""
        before = self._clock.now() - self._kept
        try:
            while await self._store.prune(before, MOST_AT_ONCE) == MOST_AT_ONCE:
                await self._clock.sleep(0)
        except NoStoreError as error:
            log.warning("not_pruned", extra={"error": str(error)})

"""Removes outcomes that were kept for long enough."""

import logging
from datetime import timedelta
from typing import Final

from controller.runtime.clock import Clock
from serverless.resultstore.store import OutcomeStore, StoreUnavailableError

INTERVAL_SECONDS: Final = 600.0
MAX_ROWS_PER_DELETE: Final = 5000

log = logging.getLogger(__name__)


class Retention:
    """Looks every ten minutes; many small deletions, so that nobody waits for a large one."""

    def __init__(self, store: OutcomeStore, retention_seconds: float, clock: Clock) -> None:
        self._store = store
        self._max_age = timedelta(seconds=retention_seconds)
        self._clock = clock

    async def run(self) -> None:
        """Remove for ever."""
        await self._store.synced()
        while True:
            await self.run_round()
            await self._clock.sleep(INTERVAL_SECONDS)

    async def run_round(self) -> None:
        """Remove all that is due; what fails is due next time."""
        before = self._clock.now() - self._max_age
        try:
            while await self._store.prune(before, MAX_ROWS_PER_DELETE) == MAX_ROWS_PER_DELETE:
                await self._clock.sleep(0)
        except StoreUnavailableError as error:
            log.warning("not_pruned", extra={"error": str(error)})

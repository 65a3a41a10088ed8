"""Deletes outcomes that are older than the retention."""

import logging
from datetime import timedelta
from typing import Final

from controller.runtime import Clock
from serverless.resultstore.store import OutcomeStore, StoreUnavailableError

INTERVAL_SECONDS: Final = 600.0
MAX_ROWS_PER_DELETE: Final = 5000

log = logging.getLogger(__name__)


class Retention:
    """Runs every ten minutes, with many small deletions that block other writers only shortly."""

    def __init__(self, store: OutcomeStore, retention_seconds: float, clock: Clock) -> None:
        self._store = store
        self._max_age = timedelta(seconds=retention_seconds)
        self._clock = clock

    async def run(self) -> None:
        """Delete until cancelled."""
        await self._store.synced()
        while True:
            await self.run_round()
            await self._clock.sleep(INTERVAL_SECONDS)

    async def run_round(self) -> None:
        """Delete all outcomes that are too old; after an error the next round does it."""
        before = self._clock.now() - self._max_age
        try:
            while await self._store.prune(before, MAX_ROWS_PER_DELETE) == MAX_ROWS_PER_DELETE:
                await self._clock.sleep(0)
        except StoreUnavailableError as error:
            log.warning("not_pruned", extra={"error": str(error)})

"""Credentials that follow their files: tokens and certificates are renewed under us."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from apiserver.clock import Clock
from apiserver.kube.access import Access
from apiserver.kube.kubeconfig import Load
from shared.config.loader import ConfigurationError

REREAD_INTERVAL: Final = 60.0

log = logging.getLogger(__name__)


class Credentials:
    """The current access to the API server; each reading is an object of its own."""

    def __init__(self, load: Load, first: Access, clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._lock = asyncio.Lock()
        self._read_at = clock.monotonic()
        self.current = first

    async def fresh(self) -> Access:
        """What to use now, read again when it is a minute old."""
        if self._clock.monotonic() - self._read_at >= REREAD_INTERVAL:
            await self.renew(self.current)
        return self.current

    async def renew(self, stale: Access) -> Access:
        """Read again at once, unless somebody has since `stale` was handed out."""
        async with self._lock:
            if self.current is stale:
                self.current = await self._read(stale)
                self._read_at = self._clock.monotonic()
        return self.current

    async def _read(self, stale: Access) -> Access:
        try:
            read = await self._load()
        except ConfigurationError as error:
            log.warning("credentials_not_read", extra={"error": str(error)})
            return replace(stale)  # files are briefly absent while they are replaced
        # The same certificates must keep the same context, or no connection is ever reused.
        return replace(read, context=stale.context) if read.tls == stale.tls else read

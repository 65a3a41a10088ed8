"""Access that follows its files: tokens and certificates are renewed under a running process."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from controller.runtime.client.kubeconfig import Access, Load
from controller.runtime.clock import Clock
from controller.runtime.errors import AccessError

REREAD_SECONDS: Final = 60.0

log = logging.getLogger(__name__)


class Credentials:
    """The access to use now; whoever was refused asks for a new one with what it had."""

    def __init__(self, load: Load, first: Access, clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._reading = asyncio.Lock()
        self._read_at = clock.monotonic()
        self.current = first

    async def fresh(self) -> Access:
        """What to use now, read again when it is a minute old."""
        if self._clock.monotonic() - self._read_at >= REREAD_SECONDS:
            return await self.renew(self.current)
        return self.current

    async def renew(self, stale: Access) -> Access:
        """Read again, unless somebody did since `stale` was handed out."""
        async with self._reading:
            if self.current is stale:
                self.current = await self._read(stale)
                self._read_at = self._clock.monotonic()
        return self.current

    async def _read(self, stale: Access) -> Access:
        try:
            read = await self._load()
        except AccessError as error:
            log.warning("credentials_not_read", extra={"error": str(error)})
            return replace(stale)  # files are briefly absent while they are replaced
        same = read.certificates == stale.certificates
        return replace(read, tls=stale.tls) if same else read  # one context keeps connections

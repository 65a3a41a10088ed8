"""Access that follows its files: tokens and certificates are renewed under a running process."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from controller.runtime.client.kubeconfig import ConfigLoader, RestConfig
from controller.runtime.clock import Clock
from controller.runtime.errors import KubeconfigError

RELOAD_INTERVAL_SECONDS: Final = 60.0

log = logging.getLogger(__name__)


class Credentials:
    """The access to use now; whoever was refused asks for a new one with what it had."""

    def __init__(self, load: ConfigLoader, initial: RestConfig, clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._reload_lock = asyncio.Lock()
        self._loaded_at = clock.monotonic()
        self.config = initial

    async def get_fresh(self) -> RestConfig:
        """What to use now, read again when it is a minute old."""
        if self._clock.monotonic() - self._loaded_at >= RELOAD_INTERVAL_SECONDS:
            return await self.reload(self.config)
        return self.config

    async def reload(self, stale: RestConfig) -> RestConfig:
        """Read again, unless somebody did since `stale` was handed out."""
        async with self._reload_lock:
            if self.config is stale:
                self.config = await self._load_or_keep(stale)
                self._loaded_at = self._clock.monotonic()
        return self.config

    async def _load_or_keep(self, stale: RestConfig) -> RestConfig:
        try:
            read = await self._load()
        except KubeconfigError as error:
            log.warning("credentials_not_read", extra={"error": str(error)})
            return replace(stale)  # files are briefly absent while they are replaced
        same = read.certificates_digest == stale.certificates_digest
        return (
            replace(read, ssl_context=stale.ssl_context) if same else read
        )  # one context keeps connections

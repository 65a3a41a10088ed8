"""Credentials that are reloaded, because tokens and certificates change while a process runs."""

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
    """The current server address and credentials; after a 401 the caller reloads them."""

    def __init__(self, load: ConfigLoader, initial: RestConfig, clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._reload_lock = asyncio.Lock()
        self._loaded_at = clock.monotonic()
        self.config = initial

    async def get_fresh(self) -> RestConfig:
        """Return the credentials; they are reloaded if they are older than a minute."""
        if self._clock.monotonic() - self._loaded_at >= RELOAD_INTERVAL_SECONDS:
            return await self.reload(self.config)
        return self.config

    async def reload(self, stale: RestConfig) -> RestConfig:
        """Reload the credentials, unless another task has replaced `stale` already."""
        async with self._reload_lock:
            if self.config is stale:
                self.config = await self._load_or_keep(stale)
                self._loaded_at = self._clock.monotonic()
        return self.config

    async def _load_or_keep(self, stale: RestConfig) -> RestConfig:
        try:
            loaded = await self._load()
        except KubeconfigError as error:
            log.warning("credentials_not_read", extra={"error": str(error)})
            return replace(stale)  # files are briefly absent while they are replaced
        if loaded.certificates_digest == stale.certificates_digest:
            return replace(loaded, ssl_context=stale.ssl_context)  # keeps the connections
        return loaded
